"""Plots with Matplotlib (`pip install ergode[plot]`); every function returns a figure.

>>> import matplotlib; matplotlib.use("Agg")
>>> import ergode as eg
>>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
>>> model = eg.Langevin().fit(data)
>>> len(eg.plot.correlations(model).axes), len(eg.plot.densities(model.validation_).axes)
(9, 2)
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._core import InputError
from ._dates import WORDS
from ._ensemble import Ensemble
from ._model import Langevin
from ._plots import (
    canvas,
    current,
    diffusion,
    drift,
    forecast,
    phase_portrait,
    potential,
    skill,
    time_label,
    timescales,
    trajectory,
    with_unit,
)
from ._validation import Curve, Validation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .systems import System

__all__ = [
    "correlations",
    "current",
    "densities",
    "diffusion",
    "drift",
    "forecast",
    "hovmoeller",
    "mobility",
    "phase_portrait",
    "potential",
    "skill",
    "spectrum",
    "structure",
    "timescales",
    "trajectory",
]

#: Colours, the same in every plot and on the report page.
_DATA = "0.25"
_MODELS = ("C0", "C1", "C2", "C3")


def _panels(count: int, columns: int, size: tuple[float, float] = (3.2, 2.4)) -> tuple[Figure, list[Axes]]:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("ergode.plot needs Matplotlib: pip install 'ergode[plot]'") from error
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    figure, axes = pyplot.subplots(
        rows,
        columns,
        figsize=(size[0] * columns, size[1] * rows),
        squeeze=False,
        layout="constrained",
    )
    flat = list(axes.flat)
    for unused in flat[count:]:
        unused.remove()
    return figure, flat[:count]


def _validation(source: Langevin | Validation) -> Validation:
    return source if isinstance(source, Validation) else source.validate()


def correlations(
    source: Langevin | Validation, ax: Axes | None = None, *, family: str = "correlations", most: int = 9
) -> Figure:
    """Correlations of data and models; the band is two standard errors of the data.

    `family` is "correlations", "other_correlations" or "spectra". At most `most` curves are drawn, those with
    the largest errors first; on given axes the first of them alone.
    """
    curves = [curve for curve in _validation(source).curves(family) if len(curve.axes) == 1]
    curves = sorted(curves, key=_misfit, reverse=True)[:most]
    unit = source.time_unit_ if isinstance(source, Langevin) else None
    if family == "spectra":
        unit = None if unit is None else f"1/{WORDS.get(unit, unit)}"
        return _lines(source, curves, with_unit("frequency", unit), "ln power", ax)
    return _lines(source, curves, time_label(unit, "lag"), "correlation", ax)


def spectrum(source: Langevin | Validation, ax: Axes | None = None, *, most: int = 9) -> Figure:
    """Logarithms of the power spectra of data and models; as `correlations` otherwise."""
    return correlations(source, ax, family="spectra", most=most)


def densities(source: Langevin | Validation, ax: Axes | None = None, *, most: int = 9) -> Figure:
    """Densities of the coordinates of data and models; the band is two standard errors of the data.

    On given axes the first coordinate alone.
    """
    return _lines(source, _validation(source).curves("marginals")[:most], None, "probability of a cell", ax)


def _misfit(curve: Curve) -> float:
    model = next(iter(curve.models.values()))
    scale = math.sqrt(float(np.mean(curve.error**2))) or 1.0
    return float(np.sqrt(np.mean((model - curve.data) ** 2))) / scale


def _lines(
    source: Langevin | Validation, curves: list[Curve], along: str | None, up: str, ax: Axes | None = None
) -> Figure:
    if not curves:
        notes = "; ".join(_validation(source).notes) or "its data do not allow them"
        raise InputError(f"this validation has no such curves: {notes}")
    units = {}
    if isinstance(source, Langevin):
        units = {name: source._unit(i) for i, name in enumerate(source.names_)}
    figure, panels = (canvas(ax)[0], [ax]) if ax is not None else _panels(len(curves), 3)
    for axes, curve in zip(panels, curves):
        name, at = curve.axes[0]
        low, high = curve.data - 2 * curve.error, curve.data + 2 * curve.error
        axes.fill_between(at, low, high, color=_DATA, alpha=0.25, linewidth=0)
        axes.plot(at, curve.data, color=_DATA, label="held-out data")
        for colour, (model, values) in zip(_MODELS, curve.models.items()):
            axes.plot(at, values, color=colour, linestyle="--", label=model)
        axes.set_xlabel(along or with_unit(name, units.get(name)))
        axes.set_ylabel(up)
        if along is not None:
            axes.set_title(curve.label, fontsize="small")
    panels[0].legend(fontsize="x-small")
    return figure


def mobility(model: Langevin, *, exact: System | None = None, cells: int = 60) -> Figure:
    """The entries of M over the range of the data, for one or two coordinates; with the exact ones, if given."""
    names = model.names_ if hasattr(model, "names_") else []
    if len(names) not in (1, 2):
        model._required()
        raise InputError(
            f"cannot plot the mobility in {len(names)} coordinates; structure(model) plots its mean"
        )
    ranges = [curve.axes[0][1] for curve in model.validation_.curves("marginals")]
    if len(names) == 1:
        return _mobility_1d(model, exact, ranges[0], cells)
    x, y = (np.linspace(at[0], at[-1], cells) for at in ranges)
    states = np.stack(np.meshgrid(x, y), axis=-1)
    fields: list[tuple[str, NDArray[np.float64]]] = [("", model.mobility(states))]
    if exact is not None:
        fields.append(("exact ", exact.mobility(states)))
    figure, panels = _panels(4 * len(fields), 4)
    for entry in range(4):
        i, j = divmod(entry, 2)
        most = max(float(np.abs(values[..., i, j]).max()) for _, values in fields) or 1.0
        for k, (title, values) in enumerate(fields):
            axes = panels[4 * k + entry]
            mesh = axes.pcolormesh(x, y, values[..., i, j], cmap="RdBu_r", vmin=-most, vmax=most)
            axes.set_title(f"{title}M[{names[i]}, {names[j]}]", fontsize="small")
            axes.set_xlabel(names[0])
            axes.set_ylabel(names[1])
            figure.colorbar(mesh, ax=axes)
    return figure


def _mobility_1d(
    model: Langevin, exact: System | None, at: NDArray[np.float64], cells: int
) -> Figure:
    figure, (axes,) = _panels(1, 1, (4.0, 3.0))
    x = np.linspace(at[0], at[-1], 4 * cells)
    axes.plot(x, model.mobility(x), color=_MODELS[0], label="model")
    if exact is not None:
        axes.plot(x, exact.mobility(x[:, None])[:, 0, 0], color=_DATA, linestyle=":", label="exact")
        axes.legend(fontsize="small")
    axes.set_xlabel(model.names_[0])
    axes.set_ylabel("M")
    return figure


def hovmoeller(
    data: Ensemble, *, trajectory: int = 0, component: int = 0, components: int = 1, rows: int = 240
) -> Figure:
    """A field in space and time: sites on the horizontal axis, time on the vertical axis.

    Draws component number `component` of the `components` coordinates per site, over the first `rows` samples.
    """
    if not 0 <= component < components or data.dim % components:
        raise InputError(
            f"cannot divide {data.dim} coordinates into sites of {components} components and draw component {component}"
        )
    values = data.trajectories[trajectory][:rows, component::components]
    times = data.t if isinstance(data.t, np.ndarray) else data.t[trajectory]
    figure, (axes,) = _panels(1, 1, (4.5, 4.5))
    most = float(np.nanmax(np.abs(values))) or 1.0
    sites = np.arange(values.shape[1])
    mesh = axes.pcolormesh(
        sites, times[: len(values)], values, cmap="RdBu_r", vmin=-most, vmax=most, shading="nearest"
    )
    axes.set_xlabel("site")
    axes.set_ylabel("time" + (f" ({data.time_unit})" if data.time_unit else ""))
    figure.colorbar(mesh, ax=axes, label=data.names[component])
    return figure


def structure(model: Langevin) -> Figure:
    """Structure of the mobility: its mean, and its spread over horizons.

    Entries that are large on the left and small on the right are significant. For models with three
    coordinates or more.
    """
    page: dict[str, Any] = json.loads(model._required().page_data())
    parts = [part for s in page["sections"] if s["id"] == "structure" for part in s["parts"]]
    grids = [part["figure"] for part in parts if "figure" in part]
    if not grids:
        raise InputError(
            "this run has no structure diagnostic; it needs three coordinates or more"
        )
    matrices = grids[0]["panels"]
    figure, panels = _panels(len(matrices), 2, (4.5, 4.0))
    for axes, panel in zip(panels, matrices):
        content = panel["content"]
        values = _matrix(content["values"])
        diverging = content["colours"]["palette"] == "diverging"
        most = float(np.nanmax(np.abs(values))) or 1.0
        palette, low = ("RdBu_r", -most) if diverging else ("viridis", 0.0)
        image = axes.imshow(values, cmap=palette, vmin=low, vmax=most)
        if len(values) <= 24:
            axes.set_xticks(range(len(values)), content["columns"], rotation=90, fontsize="x-small")
            axes.set_yticks(range(len(values)), content["rows"], fontsize="x-small")
        axes.set_title(panel["title"], fontsize="small")
        figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def _matrix(rows: list[list[float | None]]) -> NDArray[np.float64]:
    """A matrix of the page, where NaN is null."""
    return np.asarray([[math.nan if v is None else v for v in row] for row in rows], dtype=float)
