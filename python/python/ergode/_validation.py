"""Comparison of a model with data that the fit did not use."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._check import Finding
from ._page import Page, badge, figure, listed, table

#: Families of curves, with descriptions.
FAMILIES = {
    "correlations": "correlations of the observables of a fit",
    "other_correlations": "correlations outside the fit",
    "marginals": "densities of the coordinates",
    "joints": "joint densities of consecutive coordinates",
    "spectra": "logarithms of power spectra",
    "passages": "logarithms of mean passage times",
}


@dataclass(frozen=True)
class Curve:
    """A curve of the data and of the models.

    Attributes
    ----------
    label : str
        Description.
    axes : tuple of (str, array)
        Arguments: name and points.
    data, error : array
        The data and their standard errors.
    models : dict of str to array
        The learned model and the constant closure.
    """

    label: str
    axes: tuple[tuple[str, NDArray[np.float64]], ...]
    data: NDArray[np.float64]
    error: NDArray[np.float64]
    models: dict[str, NDArray[np.float64]]


class Validation:
    """Simulations of a model compared with data; made by `Langevin.fit` and `Langevin.validate`.

    Each error is given as a multiple of its noise floor, the error of an independent record of the same
    size. An error of about 1 x the noise floor is as good as the data can show.

    Attributes
    ----------
    verdict : str
        "pass", "warn" or "fail".
    reasons : tuple of Finding
        Reasons for the verdict, the most severe first.
    rmse_over_floor : float
        Error on the correlations divided by their noise floor; NaN where nothing could be compared.
    notes : tuple of str
        What could not be compared, and why.
    summary : dict
        The entry "validation" of results.json.
    """

    def __init__(
        self, data: dict[str, Any], summary: dict[str, Any], html: str | Callable[[], str]
    ) -> None:
        self._data = data
        self._html = html
        self.summary = summary
        self.verdict: str = data["verdict"]
        self.reasons = tuple(Finding(**reason) for reason in data["reasons"])
        self.notes: tuple[str, ...] = tuple(data["notes"])
        over_floor = data["rmse_over_floor"]
        self.rmse_over_floor: float = float("nan") if over_floor is None else over_floor

    @cached_property
    def page(self) -> Page:
        """Page of densities, correlations, spectra and passage times with their noise floors."""
        return Page(self._html if isinstance(self._html, str) else self._html())

    def __reduce__(self) -> tuple[Any, ...]:
        return Validation, (self._data, self.summary, self.page.html)

    def to_dict(self) -> dict[str, Any]:
        """The validation as a dictionary."""
        return self._data

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file."""
        return self.page.save(path)

    def curves(self, family: str = "correlations") -> list[Curve]:
        """The curves of a family: correlations, other_correlations, marginals, joints, spectra, passages."""
        if family not in FAMILIES:
            raise _core.InputError(
                f"no family of curves {family!r}; the families are {', '.join(FAMILIES)}"
            )
        names = [rollout["name"] for rollout in self._data["rollouts"]]
        curves = []
        for curve in self._data[family]["curves"]:
            axes = tuple((axis["name"], np.asarray(axis["at"])) for axis in curve["axes"])
            shape = tuple(len(at) for _, at in axes)

            def shaped(values: list[float], shape: tuple[int, ...] = shape) -> NDArray[np.float64]:
                return np.asarray(values, dtype=float).reshape(shape)

            models = {n: shaped(r["values"]) for n, r in zip(names, curve["rollouts"])}
            data, error = shaped(curve["data"]), shaped(curve["error"])
            curves.append(Curve(curve["label"], axes, data, error, models))
        return curves

    def _rows(self) -> list[list[str]]:
        rows = []
        for family, meaning in FAMILIES.items():
            overall = self._data[family]["overall"]
            if overall:
                keys = ("value", "floor", "over_floor")
                rows.append([meaning, *(figure(overall[0][key]) for key in keys)])
        return rows

    def __repr__(self) -> str:
        lines = [f"{row[0]}: {row[3]} x the noise floor" for row in self._rows()]
        lines += [f"{reason.severity}: {reason.message}" for reason in self.reasons]
        return "\n".join([*lines, f"verdict: {self.verdict}"])

    def _repr_html_(self) -> str:
        headings = ("learned model and held-out data", "error", "noise floor", "error / floor")
        found = ((r.severity, f"{r.message} {r.advice}") for r in self.reasons)
        return f"Validation: {badge(self.verdict)}{table(headings, self._rows())}{listed(found)}"
