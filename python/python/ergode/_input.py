"""Interpretation of input arrays: trajectories (time, dimension), their times and names.

Ambiguous input raises an error that states the interpretation and how to correct it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import InputError
from ._dates import UNITS, Epoch, is_calendar, numbers_of

Times = tuple[float, float] | NDArray[np.float64]


@dataclass
class Form:
    """Form of the input, so that results can be returned in the same form."""

    kind: str = "numpy"
    time: str = "time"
    trajectory: str | None = None
    coordinate: str = "coordinate"
    #: Date of time zero and the day of the month of all dates, where the input had dates.
    origin: str | None = None
    anchor: str | None = None
    calendar: str | None = None

    def epoch(self, unit: str | None) -> Epoch | None:
        """The date of time zero, where it is known."""
        return None if self.origin is None or unit is None else Epoch(self.origin, unit, self.anchor, self.calendar)

    def dated(self, how: How) -> Form:
        """The same with the date of time zero that was found while times were read."""
        if how.epoch is not None:
            self.origin, self.anchor, self.calendar = how.epoch.date, how.epoch.anchor, how.epoch.calendar
        return self


@dataclass
class Record:
    """Interpreted input."""

    values: list[NDArray[Any]]
    times: list[Times]
    names: list[str] | None = None
    units: dict[str, str] = field(default_factory=dict)
    time_unit: str | None = None
    form: Form = field(default_factory=Form)
    copied: bool = False
    #: Names of the trajectories, where the data have them.
    ids: list[Any] | None = None


@dataclass
class How:
    """Arguments that describe the data."""

    dt: float | None = None
    t: Any = None
    names: Sequence[str] | None = None
    units: Any = None
    time_unit: str | None = None
    mask: Any = None
    trajectory: str | None = None
    columns: Sequence[str] | None = None
    #: Found with the first dates, and kept for all others.
    epoch: Epoch | None = None


def understand(data: Any, how: How) -> Record:
    """Interpret `data` as a record."""
    if "dask" in sys.modules:
        from .dask import refuse

        refuse(data)
    kind = library_of(data)
    if kind in ("polars", "pyarrow"):
        from ._frames import as_pandas

        data, kind = as_pandas(data), "pandas"
    if kind == "pandas":
        from ._frames import from_pandas

        return from_pandas(data, how)
    if how.columns is not None:
        raise InputError(
            f"columns= and id= name columns of a table, but the data are {described(data)}; select the coordinates "
            "before, and pass names="
        )
    if kind == "xarray":
        from ._frames import from_xarray

        return from_xarray(data, how)
    if isinstance(how.t, str) or how.trajectory is not None:
        raise InputError(
            "t= and trajectory= name columns of a pandas DataFrame, but the data are "
            f"{described(data)}; pass t= as an array of times, and trajectories as a list of arrays"
        )
    values, copied = trajectories(data, how.mask)
    record = Record(values, times_of(values, how), copied=copied)
    if how.names is not None:
        record.names = texts(how.names, "names")
    record.units = units_of(how.units, record.names or default_names(values[0].shape[1]))
    record.time_unit = how.time_unit
    record.form = record.form.dated(how)
    return record


def library_of(data: Any) -> str | None:
    """Library of `data`: "pandas", "xarray", "polars", "pyarrow" or None. Imports none of them."""
    for base in type(data).__mro__:
        library = base.__module__.split(".")[0]
        if library in ("pandas", "xarray", "polars", "pyarrow"):
            return library
    return None


def described(data: Any) -> str:
    """Short description of an object."""
    shape = getattr(data, "shape", None)
    if shape is not None:
        return f"an array of shape {tuple(shape)}"
    if isinstance(data, (list, tuple)):
        return f"a {type(data).__name__} of {len(data)}"
    return f"of type {type(data).__name__}"


def trajectories(data: Any, mask: Any = None) -> tuple[list[NDArray[Any]], bool]:
    """Arrays (time, dimension), and whether values were copied."""
    if isinstance(data, (list, tuple)) and not (data and all(np.isscalar(entry) for entry in data)):
        return from_list(data, mask)
    if np.ma.isMaskedArray(data):
        mask = joined(np.ma.getmaskarray(data), mask)
        data = np.ma.getdata(data)
    array, copied = numbers(data, "the data")
    if mask is not None:
        array, copied = masked(array, mask), True
    if array.ndim == 1:
        return [array[:, None]], copied
    if array.ndim == 2:
        rows, dim = array.shape
        if dim > rows > 0:
            raise InputError(
                f"the array of shape ({rows}, {dim}) was read as (time, dimension): {rows} times of "
                f"{dim} coordinates, more coordinates than times; if times run along the second axis, "
                "pass x.T for coordinates, or x[:, :, None] for trajectories of one coordinate"
            )
        return [array], copied
    if array.ndim == 3:
        count, rows, dim = array.shape
        if dim > rows > 0:
            raise InputError(
                f"the array of shape ({count}, {rows}, {dim}) was read as (trajectory, time, "
                f"dimension): {count} trajectories of {rows} times and {dim} coordinates, more coordinates "
                "than times; pass numpy.moveaxis(x, time_axis, 1) to move the times to the middle"
            )
        return [array[k] for k in range(count)], copied
    raise InputError(
        f"an array of shape {array.shape} has {array.ndim} axes; expected (time,), (time, dimension) or "
        "(trajectory, time, dimension)"
    )


def from_list(data: Sequence[Any], mask: Any) -> tuple[list[NDArray[Any]], bool]:
    """A list of trajectories, which may differ in length."""
    masks = [None] * len(data) if mask is None else list(mask)
    if len(masks) != len(data):
        raise InputError(
            f"a list of {len(data)} trajectories with {len(masks)} masks; pass one mask per trajectory"
        )
    values, any_copied = [], False
    for k, (entry, hidden) in enumerate(zip(data, masks)):
        library = library_of(entry)
        if library is not None:
            raise InputError(
                f"entry {k} of the list is a {library} object; pass arrays, for example "
                "[entry.to_numpy() for entry in data], with names= and t="
            )
        if np.ma.isMaskedArray(entry):
            hidden = joined(np.ma.getmaskarray(entry), hidden)
            entry = np.ma.getdata(entry)
        array, copied = numbers(entry, f"entry {k} of the list")
        if array.ndim != 2:
            raise InputError(
                f"a list was read as trajectories of shape (time, dimension), but entry {k} has shape "
                f"{array.shape}; pass [a[:, None] for a in x] for trajectories of one coordinate, or "
                "numpy.column_stack(x) for the coordinates of one trajectory"
            )
        if hidden is not None:
            array, copied = masked(array, hidden), True
        values.append(array)
        any_copied |= copied
    if not values:
        raise InputError("empty list: pass at least one trajectory")
    return values, any_copied


def numbers(data: Any, what: str) -> tuple[NDArray[Any], bool]:
    """Double or single precision, native, and whether values were copied."""
    if isinstance(data, np.ndarray):
        array = data
    else:
        try:
            array = np.asarray(data)
        except ValueError as error:
            raise InputError(
                f"cannot convert {what} to an array ({error}); pass trajectories of unequal length as a list "
                "of arrays (time, dimension)"
            ) from None
    kind = array.dtype.kind
    if kind in "iu":
        return array.astype(np.float64), True
    if kind == "f":
        wanted = np.float32 if array.dtype.itemsize == 4 else np.float64
        result = np.asarray(array, dtype=wanted)
        return result, isinstance(data, (list, tuple)) or not np.may_share_memory(result, array)
    reasons = {
        "c": "complex numbers; pass real and imaginary parts as two coordinates",
        "b": "true or false; convert with .astype(float) if intended",
        "O": "Python objects; convert to an array of numbers",
        "M": "dates; these are times, pass them as t=",
        "m": "time differences; these are times, pass them as t=",
    }
    raise InputError(f"{what} ({array.dtype}) holds {reasons.get(kind, 'no numbers')}")


def joined(first: NDArray[Any], second: Any) -> NDArray[Any]:
    """Missing if missing in either mask."""
    return first if second is None else first | mask_for(first.shape, second)


def mask_for(shape: tuple[int, ...], given: Any) -> NDArray[np.bool_]:
    """A mask of values, or of whole rows."""
    mask: NDArray[Any] = np.asarray(given)
    if mask.dtype != bool:
        raise InputError(f"a mask must be boolean, true where values are missing, but its type is {mask.dtype}")
    if mask.shape == shape:
        return mask
    if len(shape) > 1 and mask.shape == shape[:-1]:
        return np.broadcast_to(mask[..., None], shape)
    raise InputError(
        f"a mask of shape {mask.shape} for values of shape {shape}; expected one entry per value, or one per row"
    )


def masked(array: NDArray[Any], mask: Any) -> NDArray[Any]:
    """NaN where the mask is true."""
    return np.where(mask_for(array.shape, mask), array.dtype.type(np.nan), array)


def times_of(values: list[NDArray[Any]], how: How) -> list[Times]:
    """The times of every trajectory."""
    if how.dt is not None and how.t is not None:
        raise InputError("both dt and t are given; use dt for even times or t for uneven times")
    if how.dt is not None:
        return [(0.0, interval(how.dt))] * len(values)
    if how.t is None:
        raise InputError(
            f"{len(values)} trajectories, the first of shape {values[0].shape} (time, dimension), have no "
            "times; give dt= for even times or t= for uneven times"
        )
    lengths = [len(array) for array in values]
    if isinstance(how.t, (list, tuple)) and not all(np.isscalar(entry) for entry in how.t):
        given = [clock(entry, how, f"t[{k}]") for k, entry in enumerate(how.t)]
    else:
        array = clock(how.t, how, "t")
        given = list(array) if array.ndim == 2 else [array] * len(values)
    found = [entry.shape for entry in given]
    if found != [(length,) for length in lengths]:
        raise InputError(
            f"times of shapes {shortened(found)} for trajectories of {shortened(lengths)} rows; pass t of "
            "shape (time,) for all trajectories, (trajectory, time), or a list with one array per trajectory"
        )
    return list(given)


def shortened(items: list[Any]) -> str:
    """A list, shortened for a message."""
    if len(set(items)) == 1:
        return f"{len(items)} x {items[0]}" if len(items) > 1 else str(items[0])
    return ", ".join(map(str, items[:4])) + (", ..." if len(items) > 4 else "")


def interval(dt: Any) -> float:
    """A positive number."""
    if isinstance(dt, (bool, str, np.bool_)) or not np.isscalar(dt) or not np.isreal(dt):
        raise InputError(f"dt must be one positive number, the time between samples, not {dt!r}")
    value = float(np.real(dt))
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(f"dt must be positive and finite, not {dt!r}")
    return value


def clock(t: Any, how: How, what: str) -> NDArray[np.float64]:
    """Times as numbers; dates in the unit of time, from the first date of the record."""
    array = np.asarray(t)
    unit = how.time_unit
    if array.dtype.kind in "Mm" or is_calendar(array):
        if unit is None:
            raise InputError(
                f"{what} holds dates or time differences; give time_unit= ({UNITS}), the unit of all times and rates"
            )
        if array.dtype.kind in "MO":
            numbers, how.epoch = numbers_of(array, unit, how.epoch)
            return numbers
        try:
            return np.asarray(array / np.timedelta64(1, unit), dtype=np.float64)  # type: ignore[call-overload]
        except TypeError as error:
            raise InputError(f"time_unit={unit!r} is not supported ({error}); use {UNITS}") from None
    if array.dtype.kind not in "iuf":
        raise InputError(f"{what} ({array.dtype}) holds no times; pass numbers or dates")
    return np.asarray(array, dtype=np.float64)


def texts(names: Any, what: str) -> list[str]:
    """A list of names."""
    if isinstance(names, str):
        raise InputError(f"{what}={names!r} is a single string; pass a list with one per coordinate")
    return [str(name) for name in names]


def default_names(dim: int) -> list[str]:
    """Default names of coordinates."""
    return ["x", "y", "z"][:dim] if dim <= 3 else [f"x{j + 1}" for j in range(dim)]


def units_of(units: Any, names: list[str]) -> dict[str, str]:
    """Units by name of the coordinate, from a string for all, a list, or a mapping."""
    if units is None:
        return {}
    if isinstance(units, str):
        return dict.fromkeys(names, units)
    if isinstance(units, dict):
        unknown = [name for name in units if name not in names]
        if unknown:
            raise InputError(
                f"units for {', '.join(map(str, unknown))}, which are not coordinates; the coordinates are "
                f"{', '.join(names)}"
            )
        return {str(name): str(unit) for name, unit in units.items()}
    listed = texts(units, "units")
    if len(listed) != len(names):
        raise InputError(f"{len(listed)} units for {len(names)} coordinates; pass one per coordinate")
    return dict(zip(names, listed))
