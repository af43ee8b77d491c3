"""Plots of fields, physics, records and forecasts; `ergode.plot` has them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._core import InputError
from ._dates import WORDS, is_calendar
from ._ensemble import Ensemble
from ._forecast import Forecast
from ._model import Langevin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours, the same in every plot and on the report page.
DATA = "0.25"
MODELS = ("C0", "C1", "C2", "C3")


def canvas(ax: Axes | None, size: tuple[float, float] = (4.5, 3.2)) -> tuple[Figure, Axes]:
    """The axes to draw on, and their figure."""
    if ax is not None:
        return ax.get_figure(), ax  # type: ignore[return-value]
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("ergode.plot needs Matplotlib: pip install 'ergode[plot]'") from error
    return pyplot.subplots(figsize=size, layout="constrained")


def with_unit(name: str, unit: str | None) -> str:
    """A label with its unit."""
    return f"{name} ({unit})" if unit else name


def _named(model: Langevin, i: int) -> str:
    return with_unit(model.names_[i], model._unit(i))


def _rate(model: Langevin, *coordinates: int) -> str | None:
    """The unit of a product of coordinates per unit of time; None where one is not known."""
    units, time = [model._unit(i) for i in coordinates], model.time_unit_
    if None in units or time is None:
        return None
    known = [str(unit) for unit in units]
    top = f"{known[0]}²" if len(known) == 2 and known[0] == known[1] else " ".join(known)
    return f"{top} / {_singular(WORDS.get(time, time))}"


def _singular(unit: str) -> str:
    return unit.removesuffix("s") if unit in WORDS.values() else unit


def time_label(unit: str | None, what: str = "time") -> str:
    """A time, or what is given, with the unit of time in words."""
    return with_unit(what, WORDS.get(unit, unit) if unit else None)


def _grid(model: Langevin, cells: int) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], NDArray[np.bool_]]:
    """Axes over the samples, the states (x, y, coordinate), and which are sampled."""
    low, high = model._required().bounds
    if len(low) > 2:
        raise InputError(
            f"cannot plot a field of {len(low)} coordinates; evaluate it along a line: model.drift(states)"
        )
    axes = [np.linspace(a, b, 4 * cells if len(low) == 1 else cells) for a, b in zip(low, high)]
    states = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return axes, states, np.asarray(model._required().sampled(states.reshape(-1, len(low)))).reshape(states.shape[:-1])


def _entry(values: Any, entry: tuple[int, ...]) -> NDArray[np.float64]:
    for index in reversed(entry):
        values = np.asarray(values)[..., index]
    return np.asarray(values, dtype=np.float64)


def _component(model: Langevin, field: str, entry: tuple[int, ...], ax: Axes | None, cells: int, label: str) -> Figure:
    axes, states, sampled = _grid(model, cells)
    figure, ax = canvas(ax)
    evaluate = getattr(model, field)
    try:
        pair = evaluate(states, return_std=True)
        value, error = (_entry(part, entry) for part in pair)
    except ValueError:
        value, error = _entry(evaluate(states), entry), None
    value = np.where(sampled, value, np.nan)
    if len(axes) == 1:
        if error is not None:
            ax.fill_between(axes[0], value - 2 * error, value + 2 * error, color=MODELS[0], alpha=0.25, linewidth=0)
        ax.plot(axes[0], value, color=MODELS[0])
        ax.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        ax.set_xlabel(_named(model, 0))
        ax.set_ylabel(label)
        return figure
    _coloured(figure, ax, model, axes, value, label, diverging=field == "drift")
    return figure


def _coloured(
    figure: Figure,
    ax: Axes,
    model: Langevin,
    axes: list[NDArray[np.float64]],
    value: NDArray[np.float64],
    label: str,
    diverging: bool = False,
) -> None:
    """A field as colours; a constant one as its number."""
    ax.set_xlabel(_named(model, 0))
    ax.set_ylabel(_named(model, 1))
    low, high = float(np.nanmin(value)), float(np.nanmax(value))
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        ax.set_xlim(axes[0][0], axes[0][-1])
        ax.set_ylim(axes[1][0], axes[1][-1])
        text = f"{label} = {0.5 * (low + high):.4g}\neverywhere"
        ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
        return
    how: dict[str, Any] = {"cmap": "viridis"}
    if diverging:
        most = max(abs(low), abs(high))
        how = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    mesh = ax.pcolormesh(axes[0], axes[1], np.ma.masked_invalid(value.T), shading="nearest", **how)
    figure.colorbar(mesh, ax=ax, label=label)


def drift(model: Langevin, ax: Axes | None = None, *, coordinate: int = 0, cells: int = 50) -> Figure:
    """The drift of a coordinate where there are samples, with two standard errors; one or two coordinates."""
    label = with_unit(f"drift of {model.names_[coordinate]}", _rate(model, coordinate))
    return _component(model, "drift", (coordinate,), ax, cells, label)


def diffusion(
    model: Langevin, ax: Axes | None = None, *, entry: tuple[int, int] = (0, 0), cells: int = 50
) -> Figure:
    """An entry of the diffusion D where there are samples, with two standard errors; one or two coordinates."""
    label = with_unit(f"D[{model.names_[entry[0]]}, {model.names_[entry[1]]}]", _rate(model, *entry))
    return _component(model, "diffusion", entry, ax, cells, label)


def potential(model: Langevin, ax: Axes | None = None, *, cells: int = 80) -> Figure:
    """The potential -ln p above its minimum, in kT, where there are samples; one or two coordinates."""
    axes, states, sampled = _grid(model, cells)
    figure, ax = canvas(ax)
    value = np.where(sampled, np.asarray(model.potential(states)).reshape(sampled.shape), np.nan)
    value = value - np.nanmin(value)
    if len(axes) == 1:
        ax.plot(axes[0], value, color=MODELS[0])
        ax.set_xlabel(_named(model, 0))
        ax.set_ylabel("potential (kT)")
    else:
        _coloured(figure, ax, model, axes, value, "potential (kT)")
    return figure


def current(model: Langevin, ax: Axes | None = None, *, cells: int = 18) -> Figure:
    """The probability current of two coordinates, on the density."""
    return _arrows(model, ax, cells, lambda states: model.current(states), "probability current")


def phase_portrait(model: Langevin, ax: Axes | None = None, *, cells: int = 18) -> Figure:
    """The drift of two coordinates as arrows, on the density; of one coordinate, the drift against the state."""
    if len(model.names_) == 1:
        return drift(model, ax)
    return _arrows(model, ax, cells, lambda states: model.drift(states), "drift")


def _arrows(model: Langevin, ax: Axes | None, cells: int, field: Any, title: str) -> Figure:
    if len(model.names_) != 2:
        raise InputError(f"arrows need two coordinates, and the model has {len(model.names_)}")
    figure, ax = canvas(ax, (4.5, 4.0))
    axes, states, sampled = _grid(model, 80)
    density = np.where(sampled, model.density(states), np.nan)
    ax.pcolormesh(axes[0], axes[1], density.T, cmap="Blues", shading="nearest", alpha=0.6)
    axes, states, sampled = _grid(model, cells)
    vectors = np.asarray(field(states))
    vectors[~sampled] = np.nan
    ax.quiver(states[..., 0], states[..., 1], vectors[..., 0], vectors[..., 1], color="0.15", angles="xy")
    ax.set_xlabel(_named(model, 0))
    ax.set_ylabel(_named(model, 1))
    ax.set_title(title, fontsize="small")
    return figure


def trajectory(
    data: Ensemble, ax: Axes | None = None, *, trajectory: int = 0, coordinate: int = 0, rows: int = 20_000
) -> Figure:
    """A coordinate of one trajectory, by date or time; of a long one the first rows, as the title then says."""
    figure, ax = canvas(ax, (6.0, 2.8))
    one = data[trajectory]
    count = len(one.trajectories[0])
    if count > rows:
        ax.set_title(f"the first {rows} of {count} rows", fontsize="small")
    clock: Any = _drawn(one.dates)
    dated = clock is not None
    clock = clock if dated else one.t
    ax.plot(clock[:rows], one.trajectories[0][:rows, coordinate], color=DATA, linewidth=0.9)
    ax.set_xlabel("" if dated else time_label(data.time_unit))
    name = data.names[coordinate]
    ax.set_ylabel(with_unit(name, data.units.get(name)))
    return figure


def _drawn(dates: Any) -> Any:
    """Dates that Matplotlib draws; those of cftime are drawn as numbers."""
    return None if dates is None or is_calendar(np.asarray(dates)) else dates


def forecast(
    ahead: Forecast,
    data: Ensemble | None = None,
    ax: Axes | None = None,
    *,
    coordinate: int = 0,
    start: int = 0,
    members: int = 0,
    rows: int = 120,
) -> Figure:
    """Mean and quantiles of a forecast, with the last rows of `data` before it and some members."""
    figure, ax = canvas(ax, (6.0, 3.2))
    dates = _drawn(ahead.dates)
    clock: Any = ahead.times[start] if dates is None else dates[start]
    if data is not None:
        one = data[ahead.starts[start][0]]
        row = ahead.starts[start][1] + 1
        past: Any = one.t if dates is None else one.dates
        first = max(row - rows, 0)
        ax.plot(past[first:row], one.trajectories[0][first:row, coordinate], color=DATA, label="record")
    outer = (min(ahead.quantiles, default=0.05), max(ahead.quantiles, default=0.95))
    low, high = (ahead.quantile(level)[start, :, coordinate] for level in outer)
    ax.fill_between(clock, low, high, color=MODELS[0], alpha=0.25, linewidth=0, label=f"{100 * outer[0]:g} to {100 * outer[1]:g} %")
    for k in range(min(members, ahead.members.shape[1])):
        ax.plot(clock, ahead.members[start, k, :, coordinate], color=MODELS[0], linewidth=0.5, alpha=0.5)
    ax.plot(clock, ahead.mean[start, :, coordinate], color=MODELS[0], label="mean")
    name = ahead.names[coordinate]
    ax.set_ylabel(with_unit(name, ahead.units.get(name)))
    ax.set_xlabel("" if dates is not None else time_label(ahead.time_unit))
    ax.legend(fontsize="x-small")
    return figure


def timescales(model: Langevin, ax: Axes | None = None) -> Figure:
    """Implied time scales of the fitted generator, with 95 % intervals, slowest first."""
    figure, ax = canvas(ax)
    rates = model.rates()
    at = np.arange(1, len(rates) + 1)
    times = np.asarray([rate.time for rate in rates])
    errors = np.abs(np.asarray([rate.interval for rate in rates]).T - times)
    ax.errorbar(at, times, yerr=errors, fmt="o", color=MODELS[0], capsize=3)
    ax.set_xticks(at)
    ax.set_yscale("log")
    ax.set_xlabel("mode")
    ax.set_ylabel(time_label(model.time_unit_, "time scale"))
    return figure


def skill(source: Langevin | dict[str, dict[str, Any]], ax: Axes | None = None) -> Figure:
    """CRPS of forecasts over that of climatology against lead, mean over the coordinates.

    `source` is a fitted model, or skills by name as `compare` has them.
    """
    if isinstance(source, Langevin):
        found = source.skill()
        if found is None:
            raise InputError("this fit has no forecast skill; its report says why")
        skills = {"model": found}
    else:
        skills = source
    figure, ax = canvas(ax)
    unit = source.time_unit_ if isinstance(source, Langevin) else None
    for k, (name, of) in enumerate(skills.items()):
        values = _relative(of, "model")
        if values is not None:
            ax.plot(of["leads"], values, "o-", color=MODELS[k % 4], markersize=3, label=name)
    first = next(iter(skills.values()))
    for kind, style in (("linear", "--"), ("persistence", ":")):
        values = _relative(first, kind)
        if values is not None:
            label = "linear inverse model" if kind == "linear" else kind
            ax.plot(first["leads"], values, style, color=DATA, label=label)
    ax.axhline(1.0, color="0.8", linewidth=0.8, zorder=0)
    ax.set_xscale("log")
    ax.set_xlabel(time_label(unit, "lead"))
    ax.set_ylabel("CRPS / CRPS of climatology")
    ax.legend(fontsize="x-small")
    return figure


def _relative(skill: dict[str, Any], kind: str) -> NDArray[np.float64] | None:
    parts = [of for of in skill["coordinates"] if of[kind] is not None]
    if not parts:
        return None
    ratios = [np.asarray(of[kind]["crps"]) / np.asarray(of["climatology"]["crps"]) for of in parts]
    return np.asarray(np.mean(ratios, axis=0), dtype=np.float64)
