"""A model beside data that it was not fitted to."""

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

#: Families of curves, and what each is.
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
    """One curve of the data with those of the models beside it.

    Attributes
    ----------
    label : str
        What it is.
    axes : tuple of (str, array)
        Its arguments: name and points.
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

    An error of about one noise floor, the error of an independent record of the same size, is as good as
    the data can tell.

    Attributes
    ----------
    verdict : str
        "pass", "warn" or "fail".
    reasons : tuple of Finding
        What led to it, the worst first.
    rmse_over_floor : float
        Error of the correlations over their noise floor.
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
        self.rmse_over_floor: float = data["rmse_over_floor"]

    @cached_property
    def page(self) -> Page:
        """Densities, correlations, spectra and passage times with their floors; drawn when first asked for."""
        return Page(self._html if isinstance(self._html, str) else self._html())

    def __reduce__(self) -> tuple[Any, ...]:
        return Validation, (self._data, self.summary, self.page.html)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return self._data

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file."""
        return self.page.save(path)

    def curves(self, family: str = "correlations") -> list[Curve]:
        """The curves of a family: correlations, other_correlations, marginals, joints, spectra, passages."""
        if family not in FAMILIES:
            raise _core.InputError(
                f"no family of curves is called {family!r}; there are {', '.join(FAMILIES)}"
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
        lines = [f"{row[0]}: error {row[3]} of the noise floor" for row in self._rows()]
        lines += [f"{reason.severity}: {reason.message}" for reason in self.reasons]
        return "\n".join([*lines, f"verdict: {self.verdict}"])

    def _repr_html_(self) -> str:
        headings = ("learned model beside data held out", "error", "noise floor", "error / floor")
        found = ((r.severity, f"{r.message} {r.advice}") for r in self.reasons)
        return f"Validation: {badge(self.verdict)}{table(headings, self._rows())}{listed(found)}"
