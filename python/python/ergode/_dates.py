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
#: Units as they are read.
WORDS = {"m": "min", "D": "days", "W": "weeks", "M": "months", "Y": "years", "B": "business days"}
_DAY = np.timedelta64(1, "D")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "D": 86400.0, "W": 604800.0}


@dataclass(frozen=True)
class Epoch:
    """The date of time zero, and the unit of time.

    `anchor` is the day of the month of all dates, counted from 0, or "end" where all are the last day; None where
    they differ. `calendar` is that of cftime, None for dates of NumPy.
    """

    date: str
    unit: str
    anchor: str | None = None
    calendar: str | None = None


def numbers_of(dates: NDArray[Any], unit: str, epoch: Epoch | None = None) -> tuple[NDArray[np.float64], Epoch]:
    """Dates as times since `epoch`, by default since the first date.

    Months and years are calendar months and years, so that monthly dates are evenly spaced; business days leave out
    Saturdays and Sundays.
    """
    dates = np.asarray(dates)
    flat = dates.reshape(-1)
    calendar = str(flat[0].calendar) if is_calendar(dates) else None
    if epoch is not None and epoch.calendar != calendar:
        names = [name or "standard (datetime64)" for name in (calendar, epoch.calendar)]
        raise InputError(f"the dates are of the calendar {names[0]}, but the first ones are of {names[1]}")
    if calendar is None and np.isnat(flat).any():
        raise InputError("the times have missing dates (NaT); drop these rows")
    if unit in ("M", "Y"):
        months, part, anchor = _months(flat) if calendar is None else _calendar_months(flat)
        if epoch is None:
            year, month = divmod(int(months[0]), 12)
            epoch = Epoch(f"{1970 + year:04d}-{month + 1:02d}", unit, anchor, calendar)
        if epoch.anchor is not None and anchor is not None:
            part = np.zeros(len(flat))
        year, month = map(int, epoch.date.split("-")[:2])
        numbers = (months - (12 * (year - 1970) + month - 1) + part) / (12.0 if unit == "Y" else 1.0)
    elif calendar is not None:
        epoch = epoch or Epoch(flat[0].isoformat(), unit, None, calendar)
        if unit not in _SECONDS:
            raise InputError(f"time_unit={unit!r} is not supported for dates of the calendar {calendar}; use {UNITS}")
        start = _calendar_date(epoch)
        numbers = np.asarray([(date - start).total_seconds() for date in flat]) / _SECONDS[unit]
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
    return months, into / lengths, _anchor(into, lengths)


def _calendar_months(dates: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64], str | None]:
    """As `_months`, of dates of cftime."""
    months = np.asarray([12 * (date.year - 1970) + date.month - 1 for date in dates], dtype=np.int64)
    clock = [date.hour * 3600 + date.minute * 60 + date.second + date.microsecond * 1e-6 for date in dates]
    into = np.asarray([date.day - 1 for date in dates]) + np.asarray(clock) / 86400.0
    lengths = np.asarray([date.daysinmonth for date in dates], dtype=np.float64)
    return months, into / lengths, _anchor(into, lengths)


def _anchor(into: NDArray[np.float64], lengths: NDArray[np.float64]) -> str | None:
    """What days of the month have in common."""
    if (into == lengths - 1).all():
        return "end"
    return repr(float(into[0])) if (into == into[0]).all() else None


def _calendar_date(epoch: Epoch) -> Any:
    """The date of time zero in the calendar of cftime."""
    day, _, clock = epoch.date.partition("T")
    year, month, *rest = map(int, day.split("-"))
    hour, minute, second = (int(float(part)) for part in (clock or "0:0:0").split(":"))
    return _calendar_type(epoch)(year, month, *(rest or [1]), hour, minute, second)


def _calendar_type(epoch: Epoch) -> Any:
    import cftime  # type: ignore[import-untyped]

    names = {
        "standard": "DatetimeGregorian",
        "gregorian": "DatetimeGregorian",
        "proleptic_gregorian": "DatetimeProlepticGregorian",
        "julian": "DatetimeJulian",
        "noleap": "DatetimeNoLeap",
        "365_day": "DatetimeNoLeap",
        "all_leap": "DatetimeAllLeap",
        "366_day": "DatetimeAllLeap",
        "360_day": "Datetime360Day",
    }
    return getattr(cftime, names[str(epoch.calendar)])


def _calendar_dates(numbers: NDArray[np.float64], epoch: Epoch) -> NDArray[Any]:
    """As `dates_of`, in a calendar of cftime."""
    from datetime import timedelta

    start, found = _calendar_date(epoch), []
    for number in numbers.reshape(-1):
        if epoch.unit not in ("M", "Y"):
            found.append(start + timedelta(seconds=round(number * _SECONDS[epoch.unit])))
            continue
        months = number * (12.0 if epoch.unit == "Y" else 1.0)
        whole = int(np.floor(months + 1e-6))
        year, month = divmod(12 * start.year + start.month - 1 + whole, 12)
        first = type(start)(year, month + 1, 1)
        into = (months - whole) * first.daysinmonth
        if epoch.anchor is not None:
            last = first.daysinmonth - 1.0
            into = last if epoch.anchor == "end" else min(float(epoch.anchor), last)
        found.append(first + timedelta(seconds=round(max(into, 0.0) * 86400.0)))
    dates = np.empty(len(found), dtype=object)
    dates[:] = found
    return dates.reshape(numbers.shape)


def dates_of(times: Any, epoch: Epoch) -> NDArray[Any]:
    """Times since the epoch as dates, to the second: datetime64, or cftime where the record had such dates."""
    numbers = np.asarray(times, dtype=np.float64)
    if epoch.calendar is not None:
        return _calendar_dates(numbers, epoch)
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


def as_dates(times: Any) -> NDArray[Any]:
    """Dates of any kind, texts among them, as datetime64 or cftime."""
    array = np.asarray(times)
    return array if is_calendar(array) else array.astype("M8[s]")
