"""Learned Langevin equations."""

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

#: What the package itself keeps beside the files of a run.
_ABOUT = "python.json"
#: Files of a run that are of no use outside it.
_PRIVATE = ("lock", "score-training.json")


class Scratch:
    """A folder that is removed with the last model that uses it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ergode-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class NotFittedError(ValueError, AttributeError):
    """Something was asked of a model before it was fitted."""


class Langevin(Parameters):
    """The equation dx = [M s + div M] dt + sqrt(2) Sigma dW, learned from data.

    Parameters
    ----------
    recipe : {"auto", "semigroup", "weak", "paper"}, optional
        How the mobility M is found.
    seed : int, optional
        The one seed of all random numbers.
    held_out : float, optional
        Fraction of the data that no fit sees, kept for the validation.
    score : {"auto", "closed-form", "denoising"}, optional
        How the score s is found.
    options : dict, optional
        Anything else of the configuration by its dotted key, such as {"mobility.horizon": 2.0}.
    config : path, optional
        A configuration in TOML, such as the config.toml of another run.
    run : path, optional
        Folder of the run. A fit that was stopped goes on from what the folder holds. Without it a
        temporary folder is used; see `save`.
    verbose : bool, optional
        Progress: None shows it where somebody watches, True always, False never.

    What is None is as in `config`, or as the command line has it.

    Attributes
    ----------
    results_ : dict
        The content of results.json.
    coefficients_ : dict of str to (value, standard error)
        Coefficients of the mobility by label; none for a network.
    validation_ : Validation
        The comparison with the data held out.
    config_ : dict
        The whole configuration.
    names_ : list of str
        Names of the coordinates of the state: the observed ones, then their delays.
    units_, time_unit_ : dict, str or None
        Units of the data, where known.
    n_features_in_ : int
        Number of coordinates.
    run_ : Path
        The folder of the run.

    Notes
    -----
    Long work releases the interpreter lock, and Ctrl-C stops it; signals reach the main thread only, so
    that a fit in another thread goes on. Fits in several threads share the cores.

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
        options: dict[str, Any] | None = None,
        config: str | os.PathLike[str] | None = None,
        run: str | os.PathLike[str] | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.recipe = recipe
        self.seed = seed
        self.held_out = held_out
        self.score = score
        self.options = options
        self.config = config
        self.run = run
        self.verbose = verbose

    # ----- learning

    def fit(self, data: Any, y: None = None, *, exact: System | None = None, **how: Any) -> Langevin:
        """Check the data, learn score and mobility, validate on data held out, make the report.

        Parameters
        ----------
        data : Ensemble, or anything that `Ensemble` takes
        y : None
            There for the sake of scikit-learn; not used.
        exact : System, optional
            The reference system that the data are of; results then hold the errors under "truth".
        **how
            As for `Ensemble`: dt, t, names and so on.

        Returns
        -------
        Langevin
            This object.
        """
        if y is not None:
            raise InputError("a Langevin equation has no target y; times are given by dt= or t=")
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
        changes = {
            "mobility.recipe": self.recipe,
            "seed": self.seed,
            "held_out": self.held_out,
            "score.kind": self.score,
        }
        given = {**(self.options or {}), **{k: v for k, v in changes.items() if v is not None}}
        toml = None if self.config is None else Path(self.config).read_text(encoding="utf-8")
        try:
            return _core.configure(toml, changes_of(given))
        except InputError as error:
            # The library speaks of the option of the command line.
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
                "this Langevin is not fitted yet; call fit(data) first, or ergode.load(folder)"
            )
        return self._fitted

    # ----- fields

    def score_function(self, x: Any) -> Any:
        """The score s = grad log p_ss, (..., dimension)."""
        return self._evaluate("score", x)

    def drift(self, x: Any) -> Any:
        """The Ito drift M s + div M, (..., dimension).

        `x` is an array of states (..., dimension), for one coordinate also (n,), or an xarray object, and
        the result is of the same kind. States are copied once: the library runs over them fastest, NumPy
        slowest.
        """
        return self._evaluate("drift", x)

    def mobility(self, x: Any) -> Any:
        """The mobility M = D + R, (..., dimension, dimension)."""
        return self._evaluate("mobility", x)

    def diffusion(self, x: Any) -> Any:
        """The diffusion D = sym M = Sigma Sigma^T, (..., dimension, dimension)."""
        return self._evaluate("diffusion", x)

    def div_mobility(self, x: Any) -> Any:
        """(div M)_i = sum_j d_j M_ij, (..., dimension)."""
        return self._evaluate("div_mobility", x)

    def _evaluate(self, field: str, x: Any) -> Any:
        fitted = self._required()
        dim = self.n_features_in_
        library = library_of(x)
        if library == "xarray":
            from ._frames import like_states, states_of

            states, holder, name = states_of(x, self.names_, self._form)
            values = _at_states(fitted, field, np.asarray(states, dtype=np.float64))
            return like_states(values, holder, name, self.names_, field)
        if library == "pandas":
            missing = [name for name in self.names_ if name not in x]
            if missing:
                raise InputError(
                    f"there is no column {missing[0]!r}; the model has {', '.join(self.names_)}"
                )
            x = x[self.names_].to_numpy()
        states = np.asarray(x, dtype=np.float64)
        if dim == 1 and states.ndim <= 1:
            return _at_states(fitted, field, states[..., None]).reshape(states.shape)
        if states.ndim == 0 or states.shape[-1] != dim:
            raise InputError(
                f"states of shape {states.shape}: the last axis must hold the {dim} coordinates "
                f"{', '.join(self.names_)}"
            )
        return _at_states(fitted, field, states)

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
        """New trajectories, started from states of the data.

        Parameters
        ----------
        time : float
            Length of each trajectory.
        dt : float, optional
            Step of the scheme; found by coupled runs where none is given.
        save_every : float, optional
            Interval between samples; one step where none is given.
        trajectories : int
            How many, independent of each other.
        seed : int
            The one seed of all random numbers.
        start : float, optional
            Time of the first sample, which sets the phase of a cycle; that of the record where none is
            given. A trend is part of the result where all times lie in the record, else it is left out.
        state : bool
            The whole state, delayed coordinates and all, instead of what would be observed of it.

        Returns
        -------
        Ensemble
            Its `attrs` tell the protocol and the fractions of samples outside the support of the data
            and of indefinite diffusion; `data` is an xarray object where the fit was to one.
        """
        fitted = self._required()
        with watching(self.verbose) as progress:
            core, about, failures = fitted.simulate(
                time, dt, save_every, trajectories, seed, start, state, progress
            )
        if failures:
            warnings.warn(
                f"{len(failures)} of {trajectories} trajectories failed and are NaN from there on; "
                f"{failures[0]}",
                RuntimeWarning,
                stacklevel=2,
            )
        ensemble = Ensemble._wrap(core, self.units_, self.time_unit_, self._form)
        ensemble.attrs = json.loads(about)
        return ensemble

    def validate(self, data: Any = None, **how: Any) -> Validation:
        """Compare with other data of the same process; without data, what the fit found on those held out.

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
        """The page of the fit: verdict, equation, fields, validation; written to `path`, opened with `show`."""
        page = Page(self._required().page())
        if path is not None:
            page.save(path)
        if show:
            page.show()
        return page

    def figures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write every figure of the report as SVG."""
        return self._required().write_figures(folder)

    # ----- files

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Copy the folder of the run: model, configuration, results, report; the command line reads it too.

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
            raise InputError(f"{target} exists; give another folder, or overwrite=True")
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            ignored = shutil.ignore_patterns(*_PRIVATE)
            shutil.copytree(self.run_, beside, ignore=ignored, dirs_exist_ok=True)
            beside.chmod(0o755)
            if target.exists():
                if not (target / "model.json").exists():
                    raise InputError(f"{target} is not the folder of a run, and stays as it is")
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
        """A run that is there, with parameters that would repeat it."""
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
            f"{results['recipe']}; correlations of data held out: error "
            f"{self.validation_.rmse_over_floor:.2f} of the noise floor"
        )
        shown = table(("coefficient of M", "value"), rows) if rows else ""
        return f"<code>{text}</code> {badge(self.validation_.verdict)}<p>{html.escape(facts)}</p>{shown}"


def _at_states(fitted: _core.Fitted, field: str, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values at states (..., dimension)."""
    dim = states.shape[-1]
    values = fitted.evaluate(field, states.reshape(-1, dim))
    return values.reshape(states.shape[:-1] + values.shape[1:])


def changes_of(options: dict[str, Any]) -> list[str]:
    """Changes to a configuration as the library takes them, `key=value`."""
    return [f"{key}={_json(key, value)}" for key, value in options.items()]


def _json(key: str, value: Any) -> str:
    """A value of the configuration."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return json.dumps(value)
    except TypeError:
        raise InputError(
            f"options: {key} is of type {type(value).__name__}; give numbers, texts, lists"
        ) from None


def load(path: str | os.PathLike[str]) -> Langevin:
    """Read a run that `Langevin.save` or `ergode fit` wrote.

    The parameters are those of the run: `fit` would repeat it.
    """
    return Langevin._of_run(Path(path), None)
