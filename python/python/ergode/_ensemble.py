"""Trajectories of the same coordinates."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from . import _core
from ._core import InputError
from ._dates import dates_of, numbers_of
from ._input import Form, How, default_names, understand
from ._page import figure, table

if TYPE_CHECKING:
    import pandas
    import xarray


class Ensemble:
    """Checked trajectories of the same coordinates.

    Parameters
    ----------
    data : array, list of arrays, DataFrame (pandas, Polars), pyarrow.Table, xarray.DataArray or xarray.Dataset
        (time,), (time, dimension) or (trajectory, time, dimension); a list of (time, dimension) arrays of
        any lengths; a table whose columns are coordinates; an xarray object with a dimension "time".
        A row with NaN is a gap: pairs of samples never cross it. Masked arrays are supported.
    dt : float, optional
        Time between samples.
    t : array, list of arrays or str, optional
        Times instead of `dt`: (time,) for all trajectories, (trajectory, time), or a list; the name of a
        column of a DataFrame. Dates need `time_unit`.
    names : sequence of str, optional
        Names of the coordinates [default: those of the DataFrame or xarray object].
    units : str, sequence or mapping, optional
        Units of the coordinates, kept with the data.
    time_unit : str, optional
        Unit of time, kept with the data; dates are converted to numbers in this unit ("s", "m", "h", "D", "W"),
        in calendar months or years ("M", "Y") or business days ("B"), counted from the first date.
    mask : array of bool, optional
        True where values, or whole rows, are missing, as in numpy.ma.
    columns : sequence of str, optional
        Columns of a table that are coordinates [default: all that hold numbers].
    id, trajectory : str, optional
        Column of a table that identifies the trajectory.
    copy : bool, optional
        None shares the memory of double-precision arrays whose coordinates are adjacent (C order) and
        copies others; True always copies; False raises an error if a copy is needed. Do not write to an
        array while an ensemble shares it.

    Examples
    --------
    >>> import numpy as np, ergode as eg
    >>> x = np.cumsum(np.random.default_rng(0).normal(size=(3, 100, 2)), axis=1)
    >>> ensemble = eg.Ensemble(x, dt=0.1, names=["u", "v"])
    >>> len(ensemble), ensemble.dim, ensemble.samples, ensemble.dt
    (3, 2, 300, 0.1)
    >>> np.shares_memory(ensemble.x, x)
    True
    >>> eg.Ensemble(x[0].T, dt=0.1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ergode.InputError: the array of shape (2, 100) was read as (time, dimension): ...
    """

    def __init__(
        self,
        data: Any,
        *,
        dt: float | None = None,
        t: Any = None,
        names: Sequence[str] | None = None,
        units: Any = None,
        time_unit: str | None = None,
        mask: Any = None,
        trajectory: str | None = None,
        columns: Sequence[str] | None = None,
        id: str | None = None,
        copy: bool | None = None,
    ) -> None:
        if isinstance(data, Ensemble):
            raise InputError("the data are already an Ensemble; use it directly")
        if id is not None and trajectory is not None:
            raise InputError("id and trajectory mean the same; give one of them")
        how = How(dt, t, names, units, time_unit, mask, trajectory or id, columns)
        record = understand(data, how)
        again = copy is True and not record.copied
        try:
            core = _core.Ensemble(record.values, record.times, record.names, again)
        except InputError as error:
            raise InputError(_with_ids(str(error), record.ids)) from None
        if copy is False and (record.copied or core.shared < len(core)):
            raise InputError(
                "copy=False, but these data need a copy: only double-precision arrays whose coordinates "
                "are adjacent in memory (C order), without mask, can be shared"
            )
        self._set(core, record.units, record.time_unit, record.form, record.names is not None, record.ids)

    def _set(
        self,
        core: _core.Ensemble,
        units: dict[str, str],
        time_unit: str | None,
        form: Form,
        named: bool,
        ids: list[Any] | None = None,
    ) -> None:
        self._core = core
        self._form = form
        self._named = named
        #: Units by name of the coordinate, if known.
        self.units = dict(units)
        #: Unit of time, if known.
        self.time_unit = time_unit
        #: Names of the trajectories, where the data have them: the values of the column `id`.
        self.ids = ids
        #: Further information, such as the settings of a simulation.
        self.attrs: dict[str, Any] = {}

    @classmethod
    def _wrap(
        cls,
        core: _core.Ensemble,
        units: dict[str, str] | None = None,
        time_unit: str | None = None,
        form: Form | None = None,
    ) -> Ensemble:
        ensemble = cls.__new__(cls)
        ensemble._set(core, units or {}, time_unit, form or Form(), True)
        return ensemble

    def _like(self, core: _core.Ensemble, which: Sequence[int] | None = None) -> Ensemble:
        """Others of the same coordinates; the trajectories `which`, else all where there are as many."""
        ensemble = Ensemble._wrap(core, self.units, self.time_unit, self._form)
        ensemble._named = self._named
        if self.ids is not None and which is not None:
            ensemble.ids = [self.ids[k] for k in which]
        elif self.ids is not None and len(core) == len(self):
            ensemble.ids = self.ids
        return ensemble

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        dt: float | None = None,
        columns: Sequence[str] = (),
        time: str | None = None,
        trajectory: str | None = None,
        array: str | None = None,
        time_unit: str | None = None,
    ) -> Ensemble:
        """Read a file (.npz .npy .csv .tsv .parquet .zarr .h5 .nc), a folder of files or a pattern with * and ?.

        Parameters
        ----------
        path : path
            File, folder or pattern.
        dt : float, optional
            Sampling interval, for files without times.
        columns : sequence of str, optional
            Coordinates to read, in this order [default: all].
        time : str, optional
            Table column with the times [default: t or time]; `--time-column` of the command line.
        trajectory : str, optional
            Table column that identifies the trajectory [default: trajectory, traj, id or run].
        array : str, optional
            Array with the values, for files with several arrays [default: x].
        time_unit : str, optional
            Unit that dates of a .csv or .tsv file are counted in, as in `Ensemble` [default: "D"].
        """
        core = _core.Ensemble.read(path, dt, list(columns), time, trajectory, array)
        coordinates, clock = core.units or ([], "")
        dated = clock == "days" and not coordinates
        if dated:
            return cls._wrap(*_dated(core, time_unit or "D"))
        if time_unit is not None:
            raise InputError(f"time_unit={time_unit!r} counts dates, but the times of {os.fspath(path)} are numbers")
        units = {name: unit for name, unit in zip(core.names, coordinates) if unit}
        return cls._wrap(core, units, clock or None)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write to a file: .npz, .npy, .csv, .tsv, .parquet, .zarr, .h5 or .nc.

        Units are kept by .zarr, .h5 and .nc; dates and the names of trajectories by .csv and .tsv, and in other formats
        times are numbers in `time_unit`.
        """
        if str(path).endswith((".csv", ".tsv")) and (self.ids is not None or self._form.origin is not None):
            from ._frames import write_text

            write_text(self, path)
            return
        core = self._core
        if self.units or self.time_unit:
            units = [self.units.get(name, "") for name in self.names] if self.units else []
            core = core.with_units(units, self.time_unit or "")
        core.write(path)

    def __len__(self) -> int:
        """Number of trajectories."""
        return len(self._core)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self._core.dim

    @property
    def samples(self) -> int:
        """Number of complete rows, without gaps."""
        return self._core.samples

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return self._core.names

    @property
    def dt(self) -> float | None:
        """Time between samples; None if it varies."""
        return self._core.sampling_interval

    @property
    def warnings(self) -> list[str]:
        """Possible problems with the data that do not prevent their use."""
        return [_with_ids(warning, self.ids) for warning in self._core.warnings]

    @property
    def segments(self) -> list[tuple[int, slice]]:
        """The stretches without gaps: trajectory and rows."""
        return [(k, slice(start, end)) for k, start, end in self._core.segments]

    @property
    def trajectories(self) -> list[NDArray[Any]]:
        """The values of every trajectory, (time, dimension), read only and not copied."""
        return [self._core.values(k) for k in range(len(self))]

    @property
    def x(self) -> NDArray[Any] | list[NDArray[Any]]:
        """The values, read only: (trajectory, time, dimension), or a list if lengths differ.

        Not copied if the trajectories are adjacent in memory, as those of one array or of a simulation.
        """
        parts = self.trajectories
        first = parts[0]
        if any(part.shape != first.shape or part.dtype != first.dtype for part in parts):
            return parts
        at = [part.__array_interface__["data"][0] for part in parts]
        step = at[1] - at[0] if len(at) > 1 else first.nbytes
        even = all(b - a == step for a, b in zip(at, at[1:]))
        if step > 0 and even and all(part.strides == first.strides for part in parts):
            shape, strides = (len(parts), *first.shape), (step, *first.strides)
            return as_strided(first, shape, strides, writeable=False)
        stacked = np.stack(parts)
        stacked.setflags(write=False)
        return stacked

    @property
    def t(self) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """The times: (time,) if all trajectories share them, else a list."""
        clocks = [self._core.times(k) for k in range(len(self))]
        lengths = [len(part) for part in self.trajectories]
        times: list[NDArray[np.float64]] = [
            clock[0] + np.arange(n, dtype=np.float64) * clock[1] if isinstance(clock, tuple) else clock
            for clock, n in zip(clocks, lengths)
        ]
        same = all(np.array_equal(times[0], other) for other in times[1:])
        return times[0] if same else times

    @property
    def data(self) -> Any:
        """The values in the form of the input: an xarray object for xarray input, else `x`."""
        return self.to_xarray() if self._form.kind in ("xarray", "dataset") else self.x

    def to_xarray(self) -> xarray.DataArray | xarray.Dataset:
        """The values with names, units and times.

        Trajectories of different times stand one after another along a dimension "sample", with time and trajectory
        as coordinates.
        """
        from ._frames import to_xarray

        return to_xarray(self)

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each sample, by date or time; a column with the trajectory, or its id, where there are several."""
        from ._frames import to_pandas

        frame: pandas.DataFrame = to_pandas(self)
        return frame

    @property
    def dates(self) -> Any:
        """The times as dates, in the form of `t`; None where the input had no dates."""
        epoch = self._form.epoch(self.time_unit)
        if epoch is None:
            return None
        t = self.t
        return dates_of(t, epoch) if isinstance(t, np.ndarray) else [dates_of(one, epoch) for one in t]

    def __iter__(self) -> Iterator[Ensemble]:
        """The trajectories, each as an ensemble of one."""
        return (self.select([k]) for k in range(len(self)))

    def __getitem__(self, which: Any) -> Ensemble:
        """One trajectory by its index, or several by a slice, indices or booleans. Values are shared."""
        indices = np.arange(len(self))[which]
        return self.select([int(k) for k in np.atleast_1d(indices)])

    @staticmethod
    def concatenate(ensembles: Sequence[Ensemble]) -> Ensemble:
        """The trajectories of several ensembles of the same coordinates, in their order."""
        if not ensembles:
            raise InputError("no ensembles to concatenate")
        first = ensembles[0]
        for other in ensembles[1:]:
            if other.names != first.names:
                raise InputError(
                    f"the coordinates differ: {', '.join(first.names)} and {', '.join(other.names)}"
                )
            if other._form.origin != first._form.origin or other.time_unit != first.time_unit:
                raise InputError("the times count from different dates or in different units")
        parts = [(one._core, k) for one in ensembles for k in range(len(one))]
        values = [core.values(k) for core, k in parts]
        times = [core.times(k) for core, k in parts]
        found = first._like(_core.Ensemble(values, times, first.names, False), [])
        known = [one.ids for one in ensembles]
        ids = [label for labels in known for label in labels or []]
        found.ids = ids if None not in known and len(set(ids)) == len(ids) else None
        return found

    def burn_in(self, fraction: float | None = None, *, time: float | None = None) -> Ensemble:
        """Drop the start of each trajectory: a fraction of its rows, or a time. Values are shared."""
        return self._like(self._core.burn_in(fraction, time))

    def thin(self, every: int) -> Ensemble:
        """Keep every `every`-th row. Values are shared, and no pair of samples crosses a gap."""
        return self._like(self._core.thin(every))

    def select(self, indices: Sequence[int]) -> Ensemble:
        """Select trajectories by index. Values are shared."""
        which = [int(k) for k in indices]
        return self._like(self._core.select(which), which)

    def split(self, fraction: float, gap: float = 0.0) -> tuple[Ensemble, Ensemble]:
        """Split into data for a fit and a held-out `fraction` for validation, as the option `held_out` does."""
        fit, test = self._core.split(fraction, gap)
        return self._like(fit), self._like(test)

    def fingerprint(self) -> str:
        """Hash of names, times and values, as in results.json."""
        return self._core.fingerprint()

    def __getstate__(self) -> dict[str, Any]:
        count = range(len(self))
        return {
            "values": [np.array(self._core.values(k)) for k in count],
            "times": [self._core.times(k) for k in count],
            "names": self.names,
            "rest": (self.units, self.time_unit, self._form, self._named, self.ids, self.attrs),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        core = _core.Ensemble(state["values"], state["times"], state["names"], False)
        units, time_unit, form, named, ids, attrs = state["rest"]
        self._set(core, units, time_unit, form, named, ids)
        self.attrs = attrs

    def _summary(self) -> str:
        plural = "y" if len(self) == 1 else "ies"
        dt = self.dt
        every = "at uneven times" if dt is None else f"every {figure(dt)}"
        unit = f" {self.time_unit}" if self.time_unit and dt is not None else ""
        return f"{self.samples} samples in {len(self)} trajector{plural}, {every}{unit}"

    def __repr__(self) -> str:
        names = ", ".join(self.names[:6]) + (", ..." if self.dim > 6 else "")
        return f"Ensemble({names}; {self._summary()})"

    def _repr_html_(self) -> str:
        rows = [[name, self.units.get(name, "")] for name in self.names[:12]]
        return f"Ensemble: {self._summary()}{table(('coordinate', 'unit'), rows)}"


def _with_ids(message: str, ids: list[Any] | None) -> str:
    """A message that says the ids of the trajectories that it counts."""
    if ids is None:
        return message

    def named(found: re.Match[str]) -> str:
        k = int(found[1])
        return f"{found[0]} ({ids[k]})" if k < len(ids) else found[0]

    return re.sub(r"trajectory (\d+)", named, message)


def _dated(core: _core.Ensemble, unit: str) -> tuple[_core.Ensemble, dict[str, str], str, Form]:
    """A record of times in days since 1970 with its dates counted in `unit`."""
    epoch, clocks, values = None, [], []
    for k in range(len(core)):
        clock = core.times(k)
        values.append(core.values(k))
        count = len(values[-1])
        days = clock[0] + clock[1] * np.arange(count) if isinstance(clock, tuple) else clock
        dates = np.datetime64("1970-01-01T00:00:00") + np.rint(days * 86400.0).astype("m8[s]")
        numbers, epoch = numbers_of(dates, unit, epoch)
        clocks.append(numbers)
    assert epoch is not None
    form = Form(origin=epoch.date, anchor=epoch.anchor)
    return _core.Ensemble(values, clocks, core.names, False), {}, unit, form


def ensemble_from(data: Any, how: dict[str, Any]) -> Ensemble:
    """Return an ensemble unchanged, or make one from data or from a list of ensembles."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, Ensemble) for one in data):
        data = Ensemble.concatenate(data)
    if not isinstance(data, Ensemble):
        return Ensemble(data, **how)
    given = [name for name, value in how.items() if value is not None]
    if given:
        raise InputError(
            f"{', '.join(given)} cannot be changed in an Ensemble; pass it when you create the Ensemble"
        )
    return data


def require_same(ensemble: Ensemble, names: list[str]) -> None:
    """Raise an error if the coordinates of the data differ from those of the model."""
    if ensemble.dim != len(names):
        raise InputError(
            f"the data have {ensemble.dim} coordinates, the model {len(names)} ({', '.join(names)})"
        )
    if ensemble._named and ensemble.names != names and names != default_names(len(names)):
        raise InputError(
            f"the data have coordinates {', '.join(ensemble.names)}, the model has "
            f"{', '.join(names)}; use the same names in the same order"
        )
