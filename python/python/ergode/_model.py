"""Langevin equations learned from data."""

from __future__ import annotations

import html
import json
import os
import shutil
import tempfile
import warnings
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import InputError
from ._ensemble import Ensemble, ensemble_from, require_same
from ._input import Form, library_of
from ._page import Page, badge, table
from ._params import Parameters
from ._progress import watching
from ._validation import Validation
from .systems import System

#: File of this package in the run folder.
_ABOUT = "python.json"
#: Files that are not copied with a run.
_PRIVATE = ("lock", "score-training.json")


class Scratch:
    """A folder that is removed with the last model that uses it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ergode-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class NotFittedError(ValueError, AttributeError):
    """A model was used before it was fitted."""


class Langevin(Parameters):
    """Learn the Langevin equation dx = [M s + div M] dt + sqrt(2) Sigma dW from data.

    Parameters
    ----------
    recipe : {"auto", "semigroup", "generator", "weak", "paper"}, optional
        How to estimate the mobility M [default: "auto"].
    seed : int, optional
        Random seed [default: 0].
    held_out : float, optional
        Fraction of the data held out for the validation [default: 0.25].
    score : {"auto", "closed-form", "denoising"}, optional
        How to estimate the score s [default: "auto"].
    sparse : bool, optional
        Keep only the terms of drift and diffusion that the data support [default: False].
    options : dict, optional
        Other configuration values by their dotted keys, such as {"mobility.horizon": 2.0}.
    space : dict, optional
        Where coordinates live, by name: "auto", "line", or what `circle`, `interval`, `above` and `below` return,
        such as {"theta": eg.circle(2 * np.pi)} [default: what the check sees].
    config : path, optional
        Configuration file in TOML, such as config.toml of another run.
    run : path, optional
        Run folder. Call `fit` again with the same folder to resume an interrupted fit
        [default: a temporary folder; see `save`].
    verbose : bool, optional
        Show progress: True always, False never, None only on a terminal or in a notebook.

    Parameters that are None take their value from `config`, else the default of the command line.

    Attributes
    ----------
    results_ : dict
        Content of results.json.
    coefficients_ : dict of str to (value, standard error)
        Coefficients of the mobility by label; empty for a network.
    validation_ : Validation
        Comparison with the held-out data.
    config_ : dict
        Full configuration.
    names_ : list of str
        Names of the coordinates of the state: the observed ones, then their delays.
    units_, time_unit_ : dict, str or None
        Units of the data, if known.
    n_features_in_ : int
        Number of coordinates.
    run_ : Path
        The folder of the run.

    Notes
    -----
    Long computations release the interpreter lock, and Ctrl-C stops them. Signals reach only the main
    thread, so a fit in another thread continues. Fits in several threads share the cores.

    Examples
    --------
    >>> import ergode as eg
    >>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
    >>> model = eg.Langevin(seed=3).fit(data)
    >>> model.results_["seed"], model.validation_.verdict
    (3, 'pass')
    >>> new = model.simulate(time=10.0, dt=0.01, save_every=0.1, trajectories=4, seed=7)
    >>> new.x.shape
    (4, 101, 2)
    """

    def __init__(
        self,
        *,
        recipe: str | None = None,
        seed: int | None = None,
        held_out: float | None = None,
        score: str | None = None,
        sparse: bool | None = None,
        options: dict[str, Any] | None = None,
        space: dict[str, Any] | None = None,
        config: str | os.PathLike[str] | None = None,
        run: str | os.PathLike[str] | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.recipe = recipe
        self.seed = seed
        self.held_out = held_out
        self.score = score
        self.sparse = sparse
        self.options = options
        self.space = space
        self.config = config
        self.run = run
        self.verbose = verbose

    # ----- learning

    def fit(self, data: Any, y: None = None, *, exact: System | None = None, **how: Any) -> Langevin:
        """Check the data, learn score and mobility, validate on held-out data, and make the report.

        Parameters
        ----------
        data : Ensemble, or anything that `Ensemble` accepts
        y : None
            Ignored; for compatibility with scikit-learn.
        exact : System, optional
            Reference system of the data; the results then contain the exact errors under "truth".
        **how
            Arguments of `Ensemble`: dt, t, names and so on.

        Returns
        -------
        Langevin
            The fitted model itself.
        """
        if y is not None:
            raise InputError("a Langevin equation has no target y; pass times as dt= or t=")
        config = self._configuration()
        ensemble = ensemble_from(data, how)
        folder = Scratch() if self.run is None else None
        run = folder.path if folder is not None else Path(self.run or "")
        system = None if exact is None else exact._core
        with watching(self.verbose) as progress:
            fitted = _core.fit(ensemble._core, config, run, system, progress)
        about = {
            "units": ensemble.units,
            "time_unit": ensemble.time_unit,
            "form": asdict(ensemble._form),
        }
        (run / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
        self._take(fitted, run, about, folder)
        return self

    def _configuration(self) -> str:
        changes: dict[str, Any] = {
            "mobility.recipe": self.recipe,
            "mobility.sparse": self.sparse,
            "seed": self.seed,
            "held_out": self.held_out,
            "score.kind": self.score,
        }
        changes.update({f"space.{name}": where for name, where in (self.space or {}).items()})
        given = {**(self.options or {}), **{k: v for k, v in changes.items() if v is not None}}
        toml = None if self.config is None else Path(self.config).read_text(encoding="utf-8")
        try:
            return _core.configure(toml, changes_of(given))
        except InputError as error:
            # The library names the option of the command line.
            raise InputError(str(error).replace("--set ", "options: ", 1)) from None

    def _take(
        self,
        fitted: _core.Fitted,
        run: Path,
        about: dict[str, Any],
        folder: Scratch | None,
    ) -> None:
        results = json.loads(fitted.results())
        self._fitted = fitted
        self._folder = folder
        self._form = Form(**about["form"])
        self.run_ = run
        self.results_: dict[str, Any] = results
        self.config_: dict[str, Any] = json.loads(fitted.config())
        self.names_: list[str] = fitted.names
        self.units_: dict[str, str] = about["units"]
        self.time_unit_: str | None = about["time_unit"]
        self.n_features_in_ = len(self.names_)
        self.coefficients_: dict[str, tuple[float, float]] = {
            name: (entry["value"], entry["stderr"])
            for name, entry in results["mobility"]["coefficients"].items()
        }
        self.validation_ = Validation(
            json.loads(fitted.validation()), results["validation"], fitted.validation_page
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def _required(self) -> _core.Fitted:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                "this Langevin is not fitted; call fit(data) or ergode.load(folder) first"
            )
        return self._fitted

    # ----- fields

    def score_function(self, x: Any, return_std: bool = False) -> Any:
        """The score s = grad log p_ss, (..., dimension); `return_std` as for `drift`."""
        return self._field("score", x, return_std)

    def drift(self, x: Any, return_std: bool = False) -> Any:
        """The Ito drift M s + div M, (..., dimension).

        `x` is an array of states (..., dimension), for one coordinate also (n,), or an xarray object. The
        result has the same form. States are copied once, because the library stores coordinates
        contiguously.

        With `return_std`, return the drift and its standard error, both of the same form. The errors come
        from a block jackknife of the coefficients of score and mobility, at the chosen degrees. Networks
        have no standard errors: then a ValueError is raised.
        """
        return self._field("drift", x, return_std)

    def mobility(self, x: Any, return_std: bool = False) -> Any:
        """The mobility M = D + R, (..., dimension, dimension); `return_std` as for `drift`."""
        return self._field("mobility", x, return_std)

    def diffusion(self, x: Any, return_std: bool = False) -> Any:
        """The diffusion D = sym M = Sigma Sigma^T, (..., dimension, dimension); `return_std` as for `drift`."""
        return self._field("diffusion", x, return_std)

    def div_mobility(self, x: Any, return_std: bool = False) -> Any:
        """(div M)_i = sum_j d_j M_ij, (..., dimension); `return_std` as for `drift`."""
        return self._field("div_mobility", x, return_std)

    def equation(self) -> Equation:
        """Drift and diffusion as polynomials of the state, in its units, with standard errors.

        Prints as text, shows as a formula in notebooks; `.latex()` and `.to_python()` give source.
        """
        return Equation(self._required())

    def _field(self, field: str, x: Any, return_std: bool) -> Any:
        if not return_std:
            return self._evaluate(field, x)
        return self._evaluate(field, x), self._evaluate(field, x, error=True)

    def _evaluate(self, field: str, x: Any, error: bool = False) -> Any:
        fitted = self._required()
        dim = self.n_features_in_
        library = library_of(x)
        if library == "xarray":
            from ._frames import like_states, states_of

            states, holder, name = states_of(x, self.names_, self._form)
            values = _at_states(fitted, field, np.asarray(states, dtype=np.float64), error)
            what = f"{field}_stderr" if error else field
            return like_states(values, holder, name, self.names_, what)
        if library == "pandas":
            missing = [name for name in self.names_ if name not in x]
            if missing:
                raise InputError(
                    f"no column {missing[0]!r}; the coordinates of the model are {', '.join(self.names_)}"
                )
            x = x[self.names_].to_numpy()
        states = np.asarray(x, dtype=np.float64)
        if dim == 1 and states.ndim <= 1:
            return _at_states(fitted, field, states[..., None], error).reshape(states.shape)
        if states.ndim == 0 or states.shape[-1] != dim:
            raise InputError(
                f"states of shape {states.shape}: the last axis must hold the {dim} coordinates "
                f"{', '.join(self.names_)}"
            )
        return _at_states(fitted, field, states, error)

    # ----- simulation and validation

    def simulate(
        self,
        time: float,
        *,
        dt: float | None = None,
        save_every: float | None = None,
        trajectories: int = 1,
        seed: int = 0,
        start: float | None = None,
        state: bool = False,
    ) -> Ensemble:
        """Simulate new trajectories, starting from states of the data.

        Parameters
        ----------
        time : float
            Length of each trajectory.
        dt : float, optional
            Time step [default: the one that the validation used]. A model that was not validated gets a
            step of small weak error. The scheme is that of the validation.
        save_every : float, optional
            Interval between saved samples [default: the time step]. Without `dt`, the step is shortened so
            that a whole number of steps fits.
        trajectories : int
            Number of independent trajectories.
        seed : int
            Random seed.
        start : float, optional
            Time of the first sample, which sets the phase of a cycle [default: start of the record].
            The output includes the trend only if all its times lie within the record.
        state : bool
            Return the whole state, including delayed coordinates, instead of the observed coordinates.

        Returns
        -------
        Ensemble
            Its `attrs` hold the simulation settings and the fractions of samples outside the support of
            the data and with indefinite diffusion. `data` is an xarray object if the fit used one.
        """
        fitted = self._required()
        with watching(self.verbose) as progress:
            core, about, failures = fitted.simulate(
                time, dt, save_every, trajectories, seed, start, state, progress
            )
        if failures:
            warnings.warn(
                f"{len(failures)} of {trajectories} trajectories failed and are NaN from the failure on; "
                f"{failures[0]}",
                RuntimeWarning,
                stacklevel=2,
            )
        ensemble = Ensemble._wrap(core, self.units_, self.time_unit_, self._form)
        ensemble.attrs = json.loads(about)
        return ensemble

    def validate(self, data: Any = None, **how: Any) -> Validation:
        """Validate on another record of the same process; without data, return the validation of the fit.

        Examples
        --------
        >>> import ergode as eg
        >>> ou = eg.systems.ou()
        >>> data = ou.generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
        >>> other = ou.generate(time=200.0, save_every=0.05, trajectories=8, seed=2)
        >>> eg.Langevin().fit(data).validate(other).verdict
        'pass'
        """
        fitted = self._required()
        if data is None:
            return self.validation_
        ensemble = ensemble_from(data, how)
        require_same(ensemble, self._required().observed_names)
        with watching(self.verbose) as progress:
            validation, summary, page = fitted.validate(ensemble._core, progress)
        return Validation(json.loads(validation), json.loads(summary), page)

    def report(self, path: str | os.PathLike[str] | None = None, *, show: bool = False) -> Page:
        """The report page: verdict, equation, fields, validation. `path` saves it, `show` opens it."""
        page = Page(self._required().page())
        if path is not None:
            page.save(path)
        if show:
            page.show()
        return page

    def figures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write every figure of the report as an SVG file."""
        return self._required().write_figures(folder)

    # ----- files

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Copy the run folder (model, configuration, results, report); the command line can read it.

        Examples
        --------
        >>> import ergode as eg, tempfile, pathlib
        >>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "run"
        >>> saved = eg.Langevin().fit(data).save(folder)
        >>> sorted(entry.name for entry in saved.iterdir())[:3]
        ['config.toml', 'constant', 'log.jsonl']
        >>> eg.load(folder).names_
        ['x1', 'x2']
        """
        self._required()
        target = Path(path)
        if target.exists() and not overwrite:
            raise InputError(f"{target} exists; choose another folder, or pass overwrite=True")
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            ignored = shutil.ignore_patterns(*_PRIVATE)
            shutil.copytree(self.run_, beside, ignore=ignored, dirs_exist_ok=True)
            beside.chmod(0o755)
            if target.exists():
                if not (target / "model.json").exists():
                    raise InputError(f"{target} is not the folder of a run; it was not overwritten")
                shutil.rmtree(target)
            beside.replace(target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        return target

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"params": self.get_params()}
        if self.__sklearn_is_fitted__():
            state["files"] = {
                str(file.relative_to(self.run_)): file.read_bytes()
                for file in sorted(self.run_.rglob("*"))
                if file.is_file() and file.name not in _PRIVATE
            }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state["params"].items():
            setattr(self, name, value)
        if "files" in state:
            folder = Scratch()
            for name, content in state["files"].items():
                file = folder.path / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            self._read(folder.path, folder)

    @classmethod
    def _of_run(cls, run: Path, folder: Scratch | None) -> Langevin:
        """Load a run, with parameters that would repeat it."""
        model = cls(config=run / "config.toml")
        model._read(run, folder)
        return model

    def _read(self, run: Path, folder: Scratch | None) -> None:
        fitted = _core.load(run)
        about: dict[str, Any] = {"units": {}, "time_unit": None, "form": {}}
        if (run / _ABOUT).exists():
            about = json.loads((run / _ABOUT).read_text(encoding="utf-8"))
        self._take(fitted, run, about, folder)

    # ----- shown

    def __repr__(self) -> str:
        text = super().__repr__()
        if not self.__sklearn_is_fitted__():
            return text
        names = ", ".join(self.names_[:6]) + (", ..." if self.n_features_in_ > 6 else "")
        return f"{text}  # fitted: {names}; verdict {self.validation_.verdict}"

    def _repr_html_(self) -> str:
        text = html.escape(Parameters.__repr__(self))
        if not self.__sklearn_is_fitted__():
            return f"<code>{text}</code>, not fitted"
        results = self.results_
        rows = [
            [name, f"{value:.4g} ± {error:.2g}"]
            for name, (value, error) in list(self.coefficients_.items())[:24]
        ]
        facts = (
            f"score: {results['score']['kind']}; mobility: {results['mobility']['kind']}, recipe "
            f"{results['recipe']}; error on held-out correlations: "
            f"{self.validation_.rmse_over_floor:.2f} x the noise floor"
        )
        shown = table(("coefficient of M", "value"), rows) if rows else ""
        return f"<code>{text}</code> {badge(self.validation_.verdict)}<p>{html.escape(facts)}</p>{shown}"


class Equation:
    """A learned equation in the forms that a person or another program reads."""

    def __init__(self, fitted: _core.Fitted) -> None:
        self._fitted = fitted
        self._text = fitted.equation("text")
        terms = json.loads(fitted.results())["equation"]
        self.drift: dict[str, list[dict[str, Any]]] = terms["drift"]
        self.diffusion: dict[str, list[dict[str, Any]]] = terms["diffusion"]

    def latex(self) -> str:
        """LaTeX; terms below two standard errors are left out."""
        return self._fitted.equation("latex")

    def to_python(self) -> str:
        """Source of a module with `drift`, `diffusion` and `simulate` that needs only NumPy."""
        return self._fitted.equation("python")

    def __repr__(self) -> str:
        return self._text

    def _repr_latex_(self) -> str:
        body = self.latex().replace("align*", "aligned")
        return f"$$\n{body}$$"


def _at_states(
    fitted: _core.Fitted, field: str, states: NDArray[np.float64], error: bool
) -> NDArray[np.float64]:
    """Values of a field, or their standard errors, at states (..., dimension)."""
    dim = states.shape[-1]
    evaluate = fitted.standard_error if error else fitted.evaluate
    values = evaluate(field, states.reshape(-1, dim))
    return values.reshape(states.shape[:-1] + values.shape[1:])


def changes_of(options: dict[str, Any]) -> list[str]:
    """Configuration changes in the form of the library, `key=value`."""
    return [f"{key}={_json(key, value)}" for key, value in options.items()]


def _json(key: str, value: Any) -> str:
    """A value of the configuration."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return json.dumps(value)
    except TypeError:
        raise InputError(
            f"options: {key} is of type {type(value).__name__}; expected a number, string or list"
        ) from None


def load(path: str | os.PathLike[str]) -> Langevin:
    """Load a run written by `Langevin.save` or `ergode fit`.

    Its parameters are those of the run, so `fit` would repeat it.
    """
    return Langevin._of_run(Path(path), None)
