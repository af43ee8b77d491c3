"""The check of a record before a fit."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._ensemble import Ensemble, ensemble_from
from ._page import Page, badge, figure, listed, table
from ._progress import watching


@dataclass(frozen=True)
class Finding:
    """A finding of a check or a validation.

    Attributes
    ----------
    kind : str
        Kind of finding, such as "trend", "coarse-sampling" or "non-markov".
    severity : str
        "info", "warn" or "fail".
    message : str
        What was found, with numbers.
    advice : str
        What to do.
    """

    kind: str
    severity: str
    message: str
    advice: str


class Check:
    """Result of `check`.

    Attributes
    ----------
    verdict : str
        "pass", "warn" or "fail".
    findings : tuple of Finding
        Findings, the most severe first.
    sampling_interval : float
        Time between samples; the mean if sampling is uneven.
    usable_lags : tuple of float
        First and last lag that a fit should use.
    coordinates : list of dict
        One entry per coordinate: name, mean, std, decorrelation_time, crossing_time, integrated_time,
        effective_samples, autocorrelation (lag, value, standard error), and what its samples show: bounds,
        angle, quantum (step of a lattice), outliers, tail_index, motion.
    curve : dict or None
        The curve or surface on which all samples lie: coordinates, degree, eigenvalue.
    second_order : tuple of str
        Coordinates whose noise enters through a velocity that is not observed.
    page : Page
        The findings as a page with figures.
    """

    def __init__(self, report: dict[str, Any], html: str) -> None:
        self._report = report
        self.page = Page(html)
        self.verdict: str = report["verdict"]
        self.findings = tuple(Finding(**finding) for finding in report["findings"])
        self.sampling_interval: float = report["sampling_interval"]
        self.usable_lags: tuple[float, float] = tuple(report["usable_lags"])
        self.coordinates: list[dict[str, Any]] = report["coordinates"]
        self.curve: dict[str, Any] | None = report["curve"]
        self.second_order: tuple[str, ...] = tuple(report["second_order"])

    def to_dict(self) -> dict[str, Any]:
        """The report as a dictionary, as printed by `ergode check --json`."""
        return self._report

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file."""
        return self.page.save(path)

    def _rows(self) -> list[list[str]]:
        keys = ("mean", "std", "decorrelation_time", "integrated_time", "effective_samples")
        return [[c["name"], *(figure(c[key]) for key in keys)] for c in self.coordinates]

    _HEADINGS = (
        "coordinate",
        "mean",
        "std",
        "decorrelation time",
        "integrated time",
        "effective samples",
    )

    def __repr__(self) -> str:
        report = self._report
        lines = [
            f"{report['samples']} samples in {report['trajectories']} trajectories, "
            f"sampling interval {figure(self.sampling_interval)}"
        ]
        for row in self._rows():
            named = (f"{name} {value}" for name, value in zip(self._HEADINGS[1:], row[1:]))
            lines.append(f"{row[0]}: " + ", ".join(named))
        for finding in self.findings:
            lines.append(f"{finding.severity}: {finding.message}\n  {finding.advice}")
        return "\n".join([*lines, f"verdict: {self.verdict}"])

    def _repr_html_(self) -> str:
        found = ((f.severity, f"{f.message} {f.advice}") for f in self.findings)
        return f"Check: {badge(self.verdict)}{table(self._HEADINGS, self._rows())}{listed(found)}"


def check(data: Any, *, verbose: bool | None = None, **how: Any) -> Check:
    """Check whether data suit a fit, and advise what to change.

    Parameters
    ----------
    data : Ensemble, or anything that `Ensemble` accepts
    verbose : bool, optional
        Show progress: True always, False never, None only on a terminal or in a notebook.
    **how
        Arguments of `Ensemble`: dt, t, names and so on.

    Examples
    --------
    >>> import ergode as eg
    >>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
    >>> found = eg.check(data)
    >>> found.verdict
    'pass'
    >>> [finding.kind for finding in found.findings]
    ['usable-lags']
    """
    ensemble = ensemble_from(data, how)
    with watching(verbose) as progress:
        report, html = _core.check(ensemble._core, _title(ensemble), progress)
    return Check(json.loads(report), html)


def _title(ensemble: Ensemble) -> str:
    return ", ".join(ensemble.names[:6]) + (", ..." if ensemble.dim > 6 else "")
