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

from . import _core
from ._compare import skill_score
from ._core import InputError
from ._dates import WORDS
from ._ensemble import Ensemble, ensemble_from, require_same
from ._equation import Equation
from ._fields import Fields
from ._forecast import Forecasting
from ._input import Form
from ._options import Options
from ._page import Page, badge, table
from ._params import Parameters
from ._physics import Physics
from ._progress import watching
from ._sums import Sums
from ._validation import Validation
from .systems import System

#: File of a run with the units of its record; the command line writes the same.
_ABOUT = "units.json"
#: Its name in earlier versions.
_EARLIER = "python.json"
#: Files that are not copied with a run.
_PRIVATE = ("lock", "score-training.json")


class Scratch:
    """A folder that is removed with the last model that uses it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ergode-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class NotFittedError(ValueError, AttributeError):
    """A model was used before it was fitted."""


class Langevin(Fields, Forecasting, Physics, Parameters):
    """Learn the Langevin equation dx = [M s + div M] dt + sqrt(2) Sigma dW from data.

    Parameters
    ----------
    recipe : {"auto", "semigroup", "generator", "weak", "paper"}, optional
        How to estimate the mobility M [default: "auto"].
    seed : int, optional
        Random seed [default: 0].
    held_out : float, optional
        Fraction of the data held out for the validation [default: 0.25].
    score_kind : {"auto", "closed-form", "denoising"}, optional
        How to estimate the score s [default: "auto"]. Formerly `score`, which is deprecated.
    sparse : bool, optional
        Keep only the terms of drift and diffusion that the data support [default: False].
    options : dict, optional
        Other configuration values by their dotted keys, such as {"mobility.horizon": 2.0}; `ergode.Options` has them
        all, with types.
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
        Content of results.json. `results_["equation"]["standardisation"]` has mean and scale of the coordinates that
        standardised coefficients belong to.
    coefficients_ : dict of str to (value, standard error)
        Coefficients of the equation in the units of the record, as `coefficients()`; empty for a model that is no
        polynomial, such as a network.
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
        score_kind: str | None = None,
        sparse: bool | None = None,
        options: Options | dict[str, Any] | None = None,
        space: dict[str, Any] | None = None,
        config: str | os.PathLike[str] | None = None,
        run: str | os.PathLike[str] | None = None,
        verbose: bool | None = None,
        **deprecated: Any,
    ) -> None:
        score_kind = _renamed(deprecated, score_kind)
        self.recipe = recipe
        self.seed = seed
        self.held_out = held_out
        self.score_kind = score_kind
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
        data : Ensemble, or anything that `Ensemble` accepts; a record of `ergode.dask`; or `Sums`
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
        if isinstance(data, Sums) or type(data).__module__ == "ergode.dask":
            if how or exact is not None:
                raise InputError("sums and records on Dask have their own times and names, and no exact system")
            return self._fit_sums(data, config)
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

    def _fit_sums(self, data: Any, config: str) -> Langevin:
        """Fit sums, or a record on Dask, which is summed up first."""
        form, units, time_unit = Form(), {}, None
        with watching(self.verbose) as progress:
            if isinstance(data, Sums):
                sums, config = data, self._changed(json.loads(data._core.plan().config()))
            else:
                form, units, time_unit = data._form, data.units, data.time_unit
                sums = data.accumulate(data.scale(config, progress))
            folder = Scratch() if self.run is None else None
            run = folder.path if folder is not None else Path(self.run or "")
            fitted = _core.fit_sums(sums._core, config, run, progress)
        about = {"units": units, "time_unit": time_unit, "form": asdict(form)}
        (run / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
        self._take(fitted, run, about, folder)
        self.sums_ = sums
        return self

    def _changed(self, config: dict[str, Any]) -> str:
        """The configuration of sums with the parameters that are given."""
        for key, value in self._given().items():
            *path, last = key.split(".")
            place = config
            for part in path:
                place = place[part]
            place[last] = value
        return json.dumps(config)

    def _configuration(self) -> str:
        given = self._given()
        toml = None if self.config is None else Path(self.config).read_text(encoding="utf-8")
        try:
            return _core.configure(toml, changes_of(given))
        except InputError as error:
            # The library names the option of the command line.
            raise InputError(str(error).replace("--set ", "options: ", 1)) from None

    def _given(self) -> dict[str, Any]:
        """Configuration values by their dotted keys."""
        changes: dict[str, Any] = {
            "mobility.recipe": self.recipe,
            "mobility.sparse": self.sparse,
            "seed": self.seed,
            "held_out": self.held_out,
            "score.kind": self.score_kind,
        }
        changes.update({f"space.{name}": where for name, where in (self.space or {}).items()})
        return {**(self.options or {}), **{k: v for k, v in changes.items() if v is not None}}

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
        self.validation_ = Validation(
            json.loads(fitted.validation()), results["validation"], fitted.validation_page
        )

    def set_params(self, **parameters: Any) -> Langevin:
        """Change parameters; fitted results stay until the next `fit`."""
        if "score" in parameters:
            parameters["score_kind"] = _renamed({"score": parameters.pop("score")}, None)
        return super().set_params(**parameters)

    def score(self, data: Any, y: None = None, **how: Any) -> float:
        """Skill of forecasts of other data: 1 - CRPS / CRPS of climatology, mean over leads and coordinates.

        1 is a perfect forecast and 0 that of climatology; larger is better, as scikit-learn wants it.
        """
        found = self.skill(data, **how)
        if found is None:
            raise InputError("the fit has no forecast skill; its report says why")
        return skill_score(found)

    def skill(self, data: Any = None, **how: Any) -> dict[str, Any] | None:
        """Scores of forecasts by lead, beside climatology, persistence and a linear inverse model.

        On other data of the same process; without data those of the held-out data of the fit, None where they
        could not be computed. The form is that of "skill" in results.json.
        """
        fitted = self._required()
        if data is None:
            found: dict[str, Any] | None = self.results_.get("skill")
            return found
        ensemble = self._record(data, how)
        with watching(self.verbose) as progress:
            text = _core.skill(fitted, ensemble._core, progress)
        result: dict[str, Any] = json.loads(text)
        return result

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # type: ignore[import-untyped]

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=True, three_d_array=True, allow_nan=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def _required(self) -> _core.Fitted:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                "this Langevin is not fitted; call fit(data) or ergode.load(folder) first"
            )
        return self._fitted

    # ----- the equation

    @property
    def coefficients_(self) -> dict[str, tuple[float, float | None]]:
        """Coefficients of the equation in the units of the record; empty for a model that is no polynomial."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this Langevin is not fitted; call fit(data) or ergode.load(folder) first")
        try:
            return self.coefficients()
        except InputError:
            return {}

    def coefficients(self, standardised: bool = False) -> dict[str, tuple[float, float | None]]:
        """Coefficients of the equation in the units of the record, "b[x]: x^2" or "D[x, y]: 1", with standard errors.

        Where a trend or a cycle was taken off they are those of the anomalies, in standard deviations of the cycle.
        Standard errors that are not known are None. With `standardised`, those of the mobility in coordinates of mean
        zero and unit variance, as in results.json; only these are known of a model that is no polynomial.
        """
        self._required()
        if standardised:
            entries = self.results_["mobility"]["coefficients"]
            return {name: (entry["value"], entry["stderr"]) for name, entry in entries.items()}
        equation = self.equation()
        found: dict[str, tuple[float, float | None]] = {}
        for name, terms in equation.drift.items():
            found.update({f"b[{name}]: {term['term']}": (term["value"], term["stderr"]) for term in terms})
        for entry, terms in equation.diffusion.items():
            label = f"D[{entry.replace(',', ', ')}]"
            found.update({f"{label}: {term['term']}": (term["value"], term["stderr"]) for term in terms})
        return found

    def equation(self) -> Equation:
        """Drift and diffusion as polynomials of the state, in its units, with standard errors.

        Prints as text, shows as a formula in notebooks; `.latex()` and `.to_python()` give source.
        """
        return Equation(self._required())

    # ----- simulation and validation

    def simulate(
        self,
        time: float,
        *,
        dt: float | None = None,
        save_every: float | None = None,
        trajectories: int = 1,
        seed: int = 0,
        x0: Any = None,
        start: Any = None,
        state: bool = False,
    ) -> Ensemble:
        """Simulate new trajectories, starting from states of the data or from `x0`.

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
            Number of independent trajectories; from each state of `x0` if it holds several.
        seed : int
            Random seed.
        x0 : array, Series or DataFrame, optional
            State to start from, or several (state, coordinate). With a trend or a cycle it is a row of the record
            at the time `start`.
        start : float or date, optional
            Time of the first sample, which sets the phase of a cycle [default: start of the record].
            Without `x0`, the output includes the trend only if all its times lie within the record.
        state : bool
            Return the whole state, including delayed coordinates, instead of the observed coordinates.

        Returns
        -------
        Ensemble
            Its `attrs` hold the simulation settings and the fractions of samples outside the support of
            the data and with indefinite diffusion. `data` is an xarray object if the fit used one.
        """
        fitted = self._required()
        start = self._start(x0, start)
        states = None if x0 is None else self._initial(x0, start, trajectories)
        with watching(self.verbose) as progress:
            if states is None:
                core, about, failures = fitted.simulate(
                    time, dt, save_every, trajectories, seed, start, state, progress
                )
            else:
                core, about, failures = _core.simulate_from(
                    fitted, states, time, dt, save_every, seed, start, state, progress
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
        known = [run / name for name in (_ABOUT, _EARLIER) if (run / name).exists()]
        if known:
            about = json.loads(known[0].read_text(encoding="utf-8"))
        self._take(fitted, run, about, folder)

    # ----- shown

    def __repr__(self) -> str:
        text = super().__repr__()
        if not self.__sklearn_is_fitted__():
            return text
        names = ", ".join(self.names_[:6]) + (", ..." if self.n_features_in_ > 6 else "")
        return f"{text}  # fitted: {names}; verdict {self.validation_.verdict}"

    def __str__(self) -> str:
        if not self.__sklearn_is_fitted__():
            return repr(self)
        return "\n".join(self._summary())

    def _summary(self) -> list[str]:
        """What a person wants, in eight lines."""
        lines = [f"Langevin equation of {', '.join(self.names_[:6])}, verdict {self.validation_.verdict}"]
        reasons = self.validation_.reasons
        if reasons:
            lines.append(f"  first reason: {reasons[0].message}")
        try:
            equation = [line for line in str(self.equation()).splitlines() if line.strip()]
            shown = equation[:3]
            if self._required().has_anomalies:
                sd = ", in standard deviations of the cycle" if self._has_cycle() else ""
                shown = [f"{shown[0]}   (anomalies{sd})", *shown[1:]]
            lines.extend(f"  {line}" for line in shown)
            if len(equation) > len(shown):
                lines[-1] += "  ..."
        except InputError:
            results = self.results_
            lines.append(f"  score: {results['score']['kind']}; mobility: {results['mobility']['kind']}")
        try:
            times = ", ".join(f"{rate.time:.3g} ± {rate.time_stderr:.1g}" for rate in self.rates()[:3])
            lines.append(f"  time scales: {times} {WORDS.get(self.time_unit_ or '', self.time_unit_ or '')}".rstrip())
        except InputError:
            pass
        skill = self.skill()
        if skill is not None:
            lines.append(f"  forecast skill: {skill_score(skill):.2f} (CRPS: 1 is perfect, 0 is climatology)")
        advice = reasons[0].advice if reasons and reasons[0].advice else ""
        lines.append(f"  next: {advice or 'model.report(show=True), model.forecast(data, horizon)'}")
        return lines[:8]

    def _of_what(self) -> str:
        return "anomalies" if self._required().has_anomalies else "record"

    def _repr_html_(self) -> str:
        text = html.escape(Parameters.__repr__(self))
        if not self.__sklearn_is_fitted__():
            return f"<code>{text}</code>, not fitted"
        results = self.results_
        try:
            known, heading = self.coefficients(), f"coefficient, in the units of the {self._of_what()}"
        except InputError:
            known, heading = self.coefficients(standardised=True), "coefficient of M, standardised"
        rows = [
            [name, f"{value:.4g}" + ("" if error is None else f" ± {error:.2g}")]
            for name, (value, error) in list(known.items())[:24]
        ]
        facts = (
            f"score: {results['score']['kind']}; mobility: {results['mobility']['kind']}, recipe "
            f"{results['recipe']}; error on held-out correlations: "
            f"{self.validation_.rmse_over_floor:.2f} x the noise floor"
        )
        shown = table((heading, "value"), rows) if rows else ""
        return f"<code>{text}</code> {badge(self.validation_.verdict)}<p>{html.escape(facts)}</p>{shown}"


def _renamed(deprecated: dict[str, Any], score_kind: str | None) -> str | None:
    """The value of a parameter that was called `score`."""
    unknown = [name for name in deprecated if name != "score"]
    if unknown:
        raise TypeError(f"Langevin() got an unexpected keyword argument {unknown[0]!r}")
    if "score" not in deprecated:
        return score_kind
    warnings.warn("the parameter score is called score_kind; score is a method", FutureWarning, stacklevel=3)
    value: str | None = deprecated["score"]
    return value if score_kind is None else score_kind


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
