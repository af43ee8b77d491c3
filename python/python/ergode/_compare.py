"""Choice between models: tables of held-out errors, and cross-validation."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import InputError
from ._ensemble import Ensemble, ensemble_from
from ._page import figure, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._model import Langevin

#: Columns of the table of a comparison, with what they are.
COLUMNS = {
    "verdict": "verdict of the validation",
    "error": "error of correlations over the noise floor",
    "density": "error of densities over the noise floor",
    "skill": "1 - CRPS / CRPS of climatology, mean over leads and coordinates",
    "coefficients": "number of coefficients of the mobility",
    "recipe": "recipe of the mobility",
}


class Comparison:
    """Models side by side; made by `compare`.

    Attributes
    ----------
    rows : dict of str to dict
        For each model: verdict, error and density (over the noise floor), skill, coefficients, recipe.
    skills : dict of str to dict
        Forecast skill by lead.
    """

    def __init__(self, rows: dict[str, dict[str, Any]], skills: dict[str, dict[str, Any]]) -> None:
        self.rows, self.skills = rows, skills

    def to_pandas(self) -> Any:
        """One row for each model."""
        import pandas

        return pandas.DataFrame.from_dict(self.rows, orient="index", columns=list(COLUMNS))

    def plot(self, ax: Any = None) -> Figure:
        """CRPS against lead, over that of climatology, mean over the coordinates."""
        from . import plot

        figure: Figure = plot.skill(self.skills, ax=ax)
        return figure

    def __repr__(self) -> str:
        width = max(len(name) for name in self.rows) + 2
        lines = [" " * width + "".join(f"{column:>14}" for column in COLUMNS)]
        for name, row in self.rows.items():
            lines.append(f"{name:<{width}}" + "".join(f"{_shown(row[c]):>14}" for c in COLUMNS))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[name, *(_shown(row[c]) for c in COLUMNS)] for name, row in self.rows.items()]
        return table(("model", *COLUMNS), rows)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return figure(value) if isinstance(value, float) else str(value)


def compare(models: Mapping[str, Langevin], data: Any = None, **how: Any) -> Comparison:
    """Compare fitted models on other data of the same process, or without data by the validations of their fits.

    Parameters
    ----------
    models : mapping of str to Langevin
        Fitted models by name.
    data : Ensemble, or anything that `Ensemble` accepts, optional
        Data that none of the models was fitted to.
    **how
        Arguments of `Ensemble`.

    Examples
    --------
    >>> import ergode as eg
    >>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
    >>> models = {name: eg.Langevin(recipe=name).fit(data) for name in ("semigroup", "generator")}
    >>> sorted(eg.compare(models).rows)
    ['generator', 'semigroup']
    """
    if not models:
        raise InputError("no models to compare; give {'name': model, ...}")
    ensemble = None if data is None else ensemble_from(data, how)
    rows, skills = {}, {}
    for name, model in models.items():
        validation = model.validate(ensemble)
        skill = model.skill(ensemble)
        summary = validation.summary
        floor = summary["density_l1_floor"]
        rows[name] = {
            "verdict": validation.verdict,
            "error": summary["rmse_over_floor"],
            "density": summary["density_l1"] / floor if floor else None,
            "skill": None if skill is None else skill_score(skill),
            "coefficients": len(model.results_["mobility"]["coefficients"]),
            "recipe": model.results_["recipe"],
        }
        if skill is not None:
            skills[name] = skill
    return Comparison(rows, skills)


def skill_score(skill: dict[str, Any]) -> float:
    """1 - CRPS / CRPS of climatology, mean over leads and coordinates."""
    ratios = [
        np.asarray(of["model"]["crps"]) / np.asarray(of["climatology"]["crps"])
        for of in skill["coordinates"]
    ]
    return float(1.0 - np.mean(ratios))


def cross_validate(model: Langevin, data: Any, *, folds: int = 4, **how: Any) -> NDArray[np.float64]:
    """Scores of fits to all but one of `folds` parts of the data, each on the part that was left out.

    Parts are whole trajectories where there are enough of them, else stretches of equal length of each trajectory.
    The score is that of `Langevin.score`. The model itself is not changed.
    """
    ensemble = ensemble_from(data, how)
    if folds < 2:
        raise InputError(f"folds={folds}: cross-validation needs at least 2")
    parts = _parts(ensemble, folds)
    scores = []
    for k, held_out in enumerate(parts):
        rest = Ensemble.concatenate([part for j, part in enumerate(parts) if j != k])
        fresh = type(model)(**copy.deepcopy(model.get_params()))
        scores.append(fresh.set_params(run=None).fit(rest).score(held_out))
    return np.asarray(scores)


def _parts(ensemble: Ensemble, folds: int) -> list[Ensemble]:
    count = len(ensemble)
    if count >= folds:
        return [ensemble[list(range(k, count, folds))] for k in range(folds)]
    parts = []
    for k in range(folds):
        values: list[Any] = []
        times: list[Any] = []
        for j in range(count):
            rows, clock = ensemble._core.values(j), ensemble._core.times(j)
            first, last = k * len(rows) // folds, (k + 1) * len(rows) // folds
            values.append(rows[first:last])
            even = isinstance(clock, tuple)
            times.append((clock[0] + first * clock[1], clock[1]) if even else clock[first:last])
        parts.append(ensemble._like(_core.Ensemble(values, times, ensemble.names, False)))
    return parts
