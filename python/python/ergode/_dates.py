"""Dates as numbers in a unit of time, and numbers as dates again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import InputError

#: Units in words, for messages.
UNITS = (
    "'s', 'm' (minutes), 'h', 'D' (days), 'W', 'M' (calendar months), 'Y' (calendar years) or 'B' "
    "(business days)"
)
_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Epoch:
    """The date of time zero, and the unit of time.

    `anchor` is the day of the month of all dates, counted from 0, or "end" where all are the last day; None where
    they differ.
    """

    date: str
    unit: str
    anchor: str | None = None


def numbers_of(dates: NDArray[Any], unit: str, epoch: Epoch | None = None) -> tuple[NDArray[np.float64], Epoch]:
    """Dates as times since `epoch`, by default since the first date.

    Months and years are calendar months and years, so that monthly dates are evenly spaced; business days leave out
    Saturdays and Sundays.
    """
    dates = np.asarray(dates)
    flat = dates.reshape(-1)
    if np.isnat(flat).any():
        raise InputError("the times have missing dates (NaT); drop these rows")
    if unit in ("M", "Y"):
        months, part, anchor = _months(flat)
        if epoch is None:
            epoch = Epoch(str(flat[:1].astype("M8[M]")[0]), unit, anchor)
        if epoch.anchor is not None:
            part = np.zeros(len(flat))
        first = np.datetime64(epoch.date, "M").astype(np.int64)
        numbers = (months - first + part) / (12.0 if unit == "Y" else 1.0)
    elif unit == "B":
        days = flat.astype("M8[D]")
        if (flat != days).any():
            raise InputError("time_unit='B' counts business days, but the times have hours; use 'h' or 'D'")
        if not np.is_busday(days).all():
            weekend = days[~np.is_busday(days)][0]
            raise InputError(f"time_unit='B' counts business days, but {weekend} is a weekend; use 'D'")
        epoch = epoch or Epoch(str(days[0]), unit)
        numbers = np.busday_count(np.datetime64(epoch.date, "D"), days).astype(np.float64)
    else:
        epoch = epoch or Epoch(str(flat[0]), unit)
        try:
            one = np.timedelta64(1, unit)  # type: ignore[call-overload]
            numbers = (flat - np.datetime64(epoch.date)) / one
        except TypeError as error:
            raise InputError(f"time_unit={unit!r} is not supported ({error}); use {UNITS}") from None
    return np.asarray(numbers, dtype=np.float64).reshape(dates.shape), epoch


def _months(dates: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64], str | None]:
    """Whole months since 1970, the part of the month, and the day of the month that all dates share."""
    starts = dates.astype("M8[M]")
    months = starts.astype(np.int64)
    into = (dates - starts.astype("M8[D]")) / _DAY
    lengths = ((starts + 1).astype("M8[D]") - starts.astype("M8[D]")) / _DAY
    anchor = None
    if (into == lengths - 1).all():
        anchor = "end"
    elif (into == into[0]).all():
        anchor = repr(float(into[0]))
    return months, into / lengths, anchor


def dates_of(times: Any, epoch: Epoch) -> NDArray[np.datetime64]:
    """Times since the epoch as dates, to the second."""
    numbers = np.asarray(times, dtype=np.float64)
    if epoch.unit in ("M", "Y"):
        months = numbers * (12.0 if epoch.unit == "Y" else 1.0)
        whole = np.floor(months + 1e-6)
        starts = np.datetime64(epoch.date, "M") + whole.astype(np.int64)
        first, after = starts.astype("M8[D]"), (starts + 1).astype("M8[D]")
        lengths = (after - first) / _DAY
        if epoch.anchor == "end":
            into = lengths - 1.0
        elif epoch.anchor is not None:
            into = np.minimum(float(epoch.anchor), lengths - 1.0)
        else:
            into = np.maximum(months - whole, 0.0) * lengths
        return _seconds(first, into * 86400.0)
    if epoch.unit == "B":
        days = np.busday_offset(np.datetime64(epoch.date, "D"), np.rint(numbers).astype(np.int64))
        return np.asarray(days).astype("M8[s]")
    one = np.timedelta64(1, epoch.unit).astype("m8[ns]").astype(np.int64) / 1e9  # type: ignore[call-overload]
    return _seconds(np.datetime64(epoch.date), numbers * one)


def _seconds(start: Any, seconds: NDArray[np.float64]) -> NDArray[np.datetime64]:
    return np.asarray(start.astype("M8[s]") + np.rint(seconds).astype("m8[s]"))


def is_calendar(values: NDArray[Any]) -> bool:
    """True for dates of a climate model's calendar (cftime)."""
    return values.dtype.kind == "O" and values.size > 0 and hasattr(values.flat[0], "calendar")


def calendar_numbers(values: NDArray[Any], unit: str) -> NDArray[np.float64]:
    """Dates of cftime as times since the first one, in their own calendar."""
    first = values.flat[0]
    if unit in ("M", "Y"):
        months = np.asarray([12 * d.year + d.month for d in values.flat], dtype=np.float64)
        days = np.asarray([d.day for d in values.flat])
        if (days != days[0]).any() and unit == "M":
            months += (days - 1) / np.asarray([d.daysinmonth for d in values.flat])
        return np.asarray((months - months[0]) / (12.0 if unit == "Y" else 1.0))
    seconds = {"s": 1.0, "m": 60.0, "h": 3600.0, "D": 86400.0, "W": 604800.0}
    if unit not in seconds:
        raise InputError(f"time_unit={unit!r} is not supported for dates of a {first.calendar} calendar")
    return np.asarray([(d - first).total_seconds() for d in values.flat]) / seconds[unit]
