"""Forecasts, and the way between record and state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._base import Base
from ._core import InputError
from ._dates import Epoch, as_dates, dates_of, numbers_of
from ._ensemble import Ensemble, ensemble_from, require_same
from ._progress import watching

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Forecast:
    """An ensemble forecast in the units and at the times of the record.

    Attributes
    ----------
    members : array
        Values, (start, member, lead, coordinate); NaN after a member diverged.
    leads : array
        Times after the start.
    times : array
        Times of the values, (start, lead).
    starts : list of (trajectory, row, time)
        The samples that forecasts start from.
    names : list of str
        Names of the coordinates.
    out_of_support : float
        Fraction of the values outside the support of the data.
    """

    def __init__(
        self,
        members: NDArray[np.float64],
        leads: NDArray[np.float64],
        starts: list[tuple[int, int, float]],
        names: list[str],
        quantiles: tuple[float, ...],
        units: dict[str, str],
        time_unit: str | None,
        epoch: Epoch | None,
        out_of_support: float,
    ) -> None:
        self.members, self.leads, self.starts, self.names = members, leads, starts, names
        self.quantiles, self.units, self.time_unit = quantiles, units, time_unit
        self.out_of_support = out_of_support
        self._epoch = epoch
        self.times = np.asarray([time for _, _, time in starts])[:, None] + leads

    @property
    def dates(self) -> NDArray[Any] | None:
        """Dates of the values, (start, lead), where the record has dates: datetime64, or cftime if the record's are."""
        return None if self._epoch is None else dates_of(self.times, self._epoch)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of the members, (start, lead, coordinate)."""
        return np.asarray(np.nanmean(self.members, axis=1))

    @property
    def std(self) -> NDArray[np.float64]:
        """Standard deviation of the members, (start, lead, coordinate)."""
        return np.asarray(np.nanstd(self.members, axis=1, ddof=1))

    def quantile(self, level: float) -> NDArray[np.float64]:
        """A quantile of the members, (start, lead, coordinate)."""
        return np.asarray(np.nanquantile(self.members, level, axis=1))

    def _fields(self) -> dict[str, NDArray[np.float64]]:
        fields = {"": self.mean, "_sd": self.std}
        for level in self.quantiles:
            fields[_suffix(level)] = self.quantile(level)
        return fields

    def to_pandas(self) -> pandas.DataFrame:
        """Mean `x`, standard deviation `x_sd` and quantiles `x_q05`.. by date or time.

        With several starts the index has the levels "start" (number of the forecast) and time.
        """
        import pandas

        clock = self.times if self._epoch is None else self.dates
        assert clock is not None
        fields, count = self._fields(), len(self.starts)
        columns = {
            f"{name}{suffix}": values[:, :, i].reshape(-1)
            for i, name in enumerate(self.names)
            for suffix, values in fields.items()
        }
        name = "time"
        if count == 1:
            index: Any = pandas.Index(clock[0], name=name)
        else:
            start = np.repeat(np.arange(count), len(self.leads))
            index = pandas.MultiIndex.from_arrays([start, clock.reshape(-1)], names=["start", name])
        return pandas.DataFrame(columns, index=index)

    def to_xarray(self) -> xarray.Dataset:
        """The members, one variable for each coordinate, (start, member, lead), with the times as a coordinate.

        With one start the dimensions are (member, time).
        """
        import xarray

        from ._frames import stamps

        clock = self.times if self._epoch is None else self.dates
        assert clock is not None
        clock = stamps(clock) if self._epoch is not None else clock
        attrs = {} if self.time_unit is None or self._epoch is not None else {"units": self.time_unit}
        data: dict[str, Any] = {}
        for i, name in enumerate(self.names):
            unit = {"units": self.units[name]} if name in self.units else {}
            if len(self.starts) == 1:
                data[name] = (("member", "time"), self.members[0, :, :, i], unit)
            else:
                data[name] = (("start", "member", "lead"), self.members[..., i], unit)
        if len(self.starts) == 1:
            return xarray.Dataset(data, coords={"time": ("time", clock[0], attrs)})
        coords = {"time": (("start", "lead"), clock, attrs), "lead": ("lead", self.leads)}
        return xarray.Dataset(data, coords=coords)

    def plot(self, ax: Axes | None = None, **how: Any) -> Figure:
        """Draw the forecast; see `ergode.plot.forecast`."""
        from . import plot

        figure: Figure = plot.forecast(self, ax=ax, **how)
        return figure

    def __repr__(self) -> str:
        count = len(self.starts)
        from_ = "1 start" if count == 1 else f"{count} starts"
        clock = self.times if self._epoch is None else self.dates
        assert clock is not None
        return (
            f"Forecast({', '.join(self.names[:6])}; {len(self.leads)} times, {clock.min()} to {clock.max()}, "
            f"from {from_}, {self.members.shape[1]} members)"
        )


def _suffix(level: float) -> str:
    """`_q05` for 0.05, `_q99_5` for 0.995."""
    percent = f"{100.0 * level:.6f}".rstrip("0").rstrip(".")
    whole, _, part = percent.partition(".")
    return f"_q{whole:0>2}" + (f"_{part}" if part else "")


class Forecasting(Base):
    """Forecasts of a fitted model, and the way between record and state."""

    def forecast(
        self,
        data: Any,
        horizon: float,
        *,
        trajectories: int = 200,
        quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
        every: int | None = None,
        interval: float | None = None,
        trend: str = "continue",
        seed: int = 0,
        **how: Any,
    ) -> Forecast:
        """Forecast a record with an ensemble of trajectories of the model.

        Parameters
        ----------
        data : Ensemble, or anything that `Ensemble` accepts
            The record; forecasts start from the last complete row of each trajectory.
        horizon : float
            How far ahead, in units of time of the record.
        trajectories : int
            Members of the ensemble.
        quantiles : tuple of float
            Quantiles in tables and plots.
        every : int, optional
            Forecast from every so many rows instead of the last one.
        interval : float, optional
            Time from one forecast value to the next [default: the sampling interval].
        trend : {"continue", "hold"}
            Whether the trend goes on after the end of the fitted record, or keeps its last value.
        seed : int
            Random seed.
        **how
            Arguments of `Ensemble`: dt, t, time_unit and so on.

        Examples
        --------
        >>> import ergode as eg
        >>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
        >>> ahead = eg.Langevin(seed=0).fit(data).forecast(data, horizon=1.0)
        >>> ahead.members.shape, ahead.mean.shape
        ((8, 200, 20, 2), (8, 20, 2))
        """
        fitted = self._required()
        if trend not in ("continue", "hold"):
            raise InputError(f"trend={trend!r} is not supported; use 'continue' or 'hold'")
        ensemble = self._record(data, how)
        config = {
            "horizon": float(horizon),
            "interval": interval,
            "trajectories": trajectories,
            "every": every,
            "trend": trend,
            "seed": seed,
        }
        with watching(self.verbose) as progress:
            members, leads, starts, outside, failures = _core.forecast(
                fitted, ensemble._core, json.dumps(config), progress
            )
        if failures:
            import warnings

            warnings.warn(f"{failures} members of the forecast diverged", RuntimeWarning, stacklevel=2)
        epoch = self._form.epoch(self.time_unit_) or ensemble._form.epoch(ensemble.time_unit)
        return Forecast(
            members,
            np.asarray(leads),
            starts,
            fitted.observed_names,
            tuple(quantiles),
            ensemble.units or self.units_,
            self.time_unit_ or ensemble.time_unit,
            epoch,
            outside,
        )

    def anomaly(self, data: Any, **how: Any) -> Ensemble:
        """The record without its trend and its cycle: what `drift` and the other fields of such a model take.

        Without trend and cycle it is the record itself.
        """
        ensemble = self._record(data, how)
        found = ensemble._like(_core.anomaly(self._required(), ensemble._core))
        found._form, found.time_unit = self._form, self.time_unit_ or ensemble.time_unit
        found.attrs = {"anomaly": True}
        return found

    def record(self, anomaly: Any, t: Any = None, *, trend: str = "continue") -> Any:
        """Anomalies with trend and cycle at their times, in the units of the record; the inverse of `anomaly`.

        `anomaly` is an Ensemble, or an array (time, coordinate) or (time,) with times or dates `t`; the result has
        the same form.
        """
        fitted, hold = self._required(), trend == "hold"
        if isinstance(anomaly, Ensemble):
            return anomaly._like(_core.record(fitted, anomaly._core, hold))
        values = np.asarray(anomaly, dtype=np.float64)
        rows = values.reshape(-1, len(fitted.observed_names))
        core = _core.Ensemble([np.array(rows)], [self._times(t, len(rows))], fitted.observed_names, False)
        return np.array(_core.record(fitted, core, hold).values(0)).reshape(values.shape)

    def _times(self, t: Any, count: int) -> NDArray[np.float64]:
        """Numbers or dates as increasing times of the model."""
        if t is None:
            raise InputError("the times of the rows are needed: pass t=, as numbers or dates")
        times = np.atleast_1d(np.asarray(t))
        if times.dtype.kind in "MOU":
            times = self._date_numbers(as_dates(times))
        times = times.astype(np.float64)
        if times.shape != (count,):
            raise InputError(f"times of shape {times.shape} for {count} rows; pass one time for each row")
        return times

    def _date_numbers(self, dates: NDArray[Any]) -> NDArray[np.float64]:
        epoch = self._form.epoch(self.time_unit_)
        if epoch is None:
            raise InputError("the model was fitted to times that are numbers, not dates; pass numbers")
        return numbers_of(dates, epoch.unit, epoch)[0]

    def _record(self, data: Any, how: dict[str, Any]) -> Ensemble:
        """Data with the coordinates of the model, at times that count from the model's first date."""
        fitted = self._required()
        if isinstance(data, (list, tuple)) and data and all(isinstance(one, Ensemble) for one in data):
            data = Ensemble.concatenate(data)
        mine = self._form.epoch(self.time_unit_)
        if mine is not None and not isinstance(data, Ensemble):
            how = {"time_unit": mine.unit, **how}
        ensemble = ensemble_from(data, how)
        if ensemble.dim <= len(fitted.observed_names):
            require_same(ensemble, fitted.observed_names)
        theirs = ensemble._form.epoch(ensemble.time_unit)
        if mine is None or theirs is None or mine == theirs:
            return ensemble
        if mine.unit != theirs.unit:
            raise InputError(
                f"the times of the data are in {theirs.unit!r}, those of the model in {mine.unit!r}; pass "
                f"time_unit={mine.unit!r}"
            )
        first = dates_of([0.0], theirs)
        shift = float(numbers_of(first, mine.unit, mine)[0][0])
        count = range(len(ensemble))
        clocks = [ensemble._core.times(k) for k in count]
        moved = [
            (clock[0] + shift, clock[1]) if isinstance(clock, tuple) else clock + shift for clock in clocks
        ]
        values = [ensemble._core.values(k) for k in count]
        return ensemble._like(_core.Ensemble(values, moved, ensemble.names, False))
