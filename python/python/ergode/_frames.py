"""Input and output of pandas and xarray objects; imported only when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._core import InputError
from ._dates import dates_of, is_calendar
from ._input import (
    Form,
    How,
    Record,
    clock,
    default_names,
    masked,
    numbers,
    texts,
    times_of,
    units_of,
)

if TYPE_CHECKING:
    import xarray

    from ._ensemble import Ensemble

#: Dimensions and columns that hold times, and dimensions that count trajectories.
TIMES = ("time", "t")
TRAJECTORIES = ("trajectory", "member", "realization", "ensemble", "run", "sample", "number")


def from_pandas(data: Any, how: How) -> Record:
    """Columns are coordinates; the index, or a column, holds the times."""
    frame = data.to_frame(name="x" if data.name is None else data.name) if data.ndim == 1 else data
    if frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        raise InputError(
            "the table has an index with several levels; use frame.reset_index() and name the column that "
            "identifies the trajectory: trajectory='column'"
        )
    groups = _groups(frame, how.trajectory)
    columns = _columns(frame, how)
    suspects = [c for c in columns if str(c).lower() in TIMES]
    if suspects:
        raise InputError(
            f"column {suspects[0]!r} would be read as a coordinate, but is named like times; pass "
            f"t={str(suspects[0])!r} to use it as times, or rename it"
        )
    wrong = [str(c) for c in columns if frame[c].dtype.kind not in "iuf"]
    if wrong or not columns:
        raise InputError(
            f"columns {', '.join(wrong)} hold no numbers; drop them" if wrong else "the table has no column of values"
        )
    values, times = [], []
    for _, group in groups:
        array, _ = numbers(group[columns].to_numpy(dtype=np.float64, na_value=np.nan), "the table")
        values.append(array)
        times.append(_index_times(group, how))
    if how.mask is not None:
        if how.trajectory is not None:
            raise InputError("mask= and trajectory= cannot be combined; set missing values to NaN")
        values = [masked(values[0], how.mask)]
    names = texts(columns, "columns") if how.names is None else texts(how.names, "names")
    # Without times in the table, use dt= or t=.
    if all(t is None for t in times):
        given = times_of(values, how)
    elif how.dt is not None:
        raise InputError(
            f"dt is given, but the index ({frame.index.name or type(frame.index).__name__}) holds times; "
            "omit dt, or use frame.reset_index(drop=True)"
        )
    else:
        given = [t for t in times if t is not None]
    form, units = Form("pandas", trajectory=how.trajectory).dated(how), units_of(how.units, names)
    ids = None if how.trajectory is None else [key for key, _ in groups]
    return Record(values, given, names, units, how.time_unit, form, copied=True, ids=ids)


def as_pandas(data: Any) -> Any:
    """A table of Polars or PyArrow as a DataFrame."""
    import pandas

    names = data.column_names if hasattr(data, "column_names") else data.columns
    return pandas.DataFrame({name: data[name].to_numpy() for name in names})


def _columns(frame: Any, how: How) -> list[Any]:
    """The columns that hold coordinates; text is left out with a warning."""
    if how.columns is not None:
        missing = [c for c in how.columns if c not in frame.columns]
        if missing:
            raise InputError(
                f"no column {missing[0]!r}; the columns are {', '.join(map(str, frame.columns))}"
            )
        return list(how.columns)
    columns = [c for c in frame.columns if c not in (how.trajectory, _column(how.t))]
    words = [c for c in columns if frame[c].dtype.kind not in "iufM" and _is_text(frame[c])]
    if words and len(words) < len(columns):
        import warnings

        warnings.warn(
            f"columns {', '.join(map(str, words))} hold text and are left out; id= names the column that identifies "
            "the trajectory, columns= the coordinates",
            UserWarning,
            stacklevel=5,
        )
        columns = [c for c in columns if c not in words]
    return columns


def _is_text(column: Any) -> bool:
    known = column.dropna()
    return len(known) > 0 and isinstance(known.iloc[0], str)


def _column(t: Any) -> Any:
    return t if isinstance(t, str) else None


def _groups(frame: Any, trajectory: str | None) -> list[tuple[Any, Any]]:
    """The rows of every trajectory."""
    if trajectory is None:
        return [(None, frame)]
    if trajectory not in frame.columns:
        raise InputError(
            f"no column {trajectory!r}; the columns are {', '.join(map(str, frame.columns))}"
        )
    return list(frame.groupby(trajectory, sort=False))


def _index_times(frame: Any, how: How) -> NDArray[np.float64] | None:
    """Times from a column or the index, if there are any."""
    if isinstance(how.t, str):
        if how.t not in frame.columns:
            raise InputError(f"no column {how.t!r}; the columns are {', '.join(map(str, frame.columns))}")
        return clock(frame[how.t].to_numpy(), how, f"column {how.t!r}")
    if how.t is not None:
        return None
    index = frame.index
    if type(index).__name__ == "PeriodIndex":
        index = index.to_timestamp()
    if getattr(index, "tz", None) is not None:
        index = index.tz_convert(None)
    if type(index).__name__ == "RangeIndex":
        return None
    named = str(index.name).lower() in TIMES
    if index.dtype.kind in "Mm" or (named and index.dtype.kind in "iuf"):
        return clock(np.asarray(index), how, "the index")
    if how.trajectory is not None and how.dt is not None and index.dtype.kind in "iu":
        return None
    raise InputError(
        f"the index ({index.dtype}, named {index.name!r}) may be times or labels of rows; pass "
        "t=frame.index.to_numpy() if they are times, else use frame.reset_index(drop=True) with dt="
    )


def from_xarray(data: Any, how: How) -> Record:
    """Dimensions are identified by their names."""
    if how.trajectory is not None or isinstance(how.t, str):
        raise InputError(
            "t= and trajectory= name columns of a table; for xarray rename the dimensions, for example "
            "data.rename({'old': 'time'})"
        )
    dataset = type(data).__name__ == "Dataset"
    if dataset:
        array, units = _stacked(data)
    else:
        array, units = data, {}
    if _ragged(array) is not None:
        return _from_ragged(array, units, how, dataset)
    time, trajectory, coordinate = _dimensions(array, dataset)
    order = [d for d in (trajectory, time, coordinate) if d is not None]
    block = array.transpose(*order)
    raw = block.values
    values, copied = numbers(raw, "the data")
    if how.mask is not None:
        mask = how.mask
        if hasattr(mask, "dims"):
            mask = mask.transpose(*[d for d in order if d in mask.dims]).values
        values, copied = masked(values, mask), True
    if coordinate is None:
        values = values[..., None]
    rows = [values] if trajectory is None else [values[k] for k in range(len(values))]
    names = _names(array, coordinate, how)
    if how.units is not None:
        units = units_of(how.units, names or [])
    elif not dataset:
        units = _array_units(array, coordinate, names)
    times, unit = _times(array, time, rows, how)
    form = Form("dataset" if dataset else "xarray", time, trajectory, coordinate or "coordinate")
    ids = None
    if trajectory is not None and trajectory in array.coords:
        ids = array.coords[trajectory].values.tolist()
    return Record(rows, times, names, units, unit, form.dated(how), copied=copied or dataset, ids=ids)


def _ragged(array: Any) -> tuple[str, str, str] | None:
    """Dimension of samples with its times and trajectories, of trajectories one after another."""
    for dim in map(str, array.dims):
        beside = [str(name) for name, of in array.coords.items() if of.dims == (dim,) and name != dim]
        times = [name for name in beside if name.lower() in TIMES]
        ids = [name for name in beside if name.lower() in TRAJECTORIES]
        if len(times) == 1 and len(ids) == 1:
            return dim, times[0], ids[0]
    return None


def _from_ragged(array: Any, units: dict[str, str], how: How, dataset: bool) -> Record:
    """Trajectories one after another along one dimension, as `to_xarray` gives those of different lengths."""
    dim, time, trajectory = _ragged(array) or ("", "", "")
    others = [str(d) for d in array.dims if d != dim]
    if len(others) > 1 or how.mask is not None or how.dt is not None or how.t is not None:
        raise InputError(
            f"trajectories along {dim!r} with times {time!r} take no mask=, dt= or t=, and one dimension of coordinates "
            f"beside it; found {others}"
        )
    block, _ = numbers(array.transpose(dim, ...).values, "the data")
    block = block[:, None] if block.ndim == 1 else block
    coordinate = others[0] if others else None
    names = _names(array, coordinate, how)
    units = units_of(how.units, names or []) if how.units is not None else units
    units = units or _array_units(array, coordinate, names)
    labels, clock_of = array.coords[trajectory].values, array.coords[time]
    ids = list(dict.fromkeys(labels.tolist()))
    clocks = clock(clock_of.values, how, f"the coordinate {time!r}")
    unit = how.time_unit or clock_of.attrs.get("units")
    form = Form("dataset" if dataset else "xarray", time, trajectory, coordinate or "coordinate").dated(how)
    parts = [labels == one for one in ids]
    return Record(
        [block[part] for part in parts],
        [clocks[part] for part in parts],
        names,
        units,
        None if unit is None else str(unit),
        form,
        copied=True,
        ids=ids,
    )


def _stacked(data: Any) -> tuple[Any, dict[str, str]]:
    """The variables of a dataset as coordinates of one array."""
    variables = list(data.data_vars)
    if not variables:
        raise InputError("the dataset has no variables; each variable is a coordinate")
    dims = {name: set(data[name].dims) for name in variables}
    odd = [n for n in variables if dims[n] != dims[variables[0]]]
    if odd:
        raise InputError(
            f"the variables {variables[0]!r} {tuple(data[variables[0]].dims)} and {odd[0]!r} "
            f"{tuple(data[odd[0]].dims)} have different dimensions; select those that belong together: "
            f"data[[{variables[0]!r}, ...]]"
        )
    units = {str(n): str(data[n].attrs["units"]) for n in variables if "units" in data[n].attrs}
    return data.to_array(dim="coordinate"), units


def _dimensions(array: Any, dataset: bool) -> tuple[str, str | None, str | None]:
    """Which dimension is the time, which counts trajectories, which the coordinates."""
    dims = [str(d) for d in array.dims]
    shown = "(" + ", ".join(dims) + ")"
    times = [d for d in dims if d.lower() in TIMES]
    if len(times) != 1:
        found = "none is" if not times else f"{' and '.join(times)} are both"
        raise InputError(
            f"of the dimensions {shown}, {found} called time; rename the time dimension: "
            "data.rename({'old': 'time'})"
        )
    others = [d for d in dims if d not in times]
    members = [d for d in others if d.lower() in TRAJECTORIES]
    rest = [d for d in others if d not in members]
    if len(members) > 1 or len(rest) > 1:
        raise InputError(
            f"the dimensions {shown} were read as time {times[0]!r}, trajectories "
            f"{members or 'none'} and coordinates {rest or 'none'}; at most one of each is allowed: rename the "
            "dimension of independent runs to 'trajectory', and stack others into one, for example "
            "data.stack(coordinate=('lat', 'lon'))"
        )
    if dataset and not rest:
        raise InputError("cannot interpret the dataset; pass a DataArray")
    return times[0], members[0] if members else None, rest[0] if rest else None


def _names(array: Any, coordinate: str | None, how: How) -> list[str] | None:
    if how.names is not None:
        return texts(how.names, "names")
    if coordinate is None:
        return [str(array.name)] if array.name is not None else None
    if coordinate in array.coords:
        return texts(array.coords[coordinate].values, "names")
    return None


def _array_units(array: Any, coordinate: str | None, names: list[str] | None) -> dict[str, str]:
    """Units of the coordinates, or of the whole array."""
    if names is None:
        size = 1 if coordinate is None else array.sizes[coordinate]
        names = default_names(size)
    if coordinate is not None and "units" in array.coords:
        beside = array.coords["units"]
        if beside.dims == (coordinate,):
            return dict(zip(names, texts(beside.values, "units")))
    if "units" in array.attrs:
        return dict.fromkeys(names, str(array.attrs["units"]))
    return {}


def _times(array: Any, time: str, rows: list[NDArray[Any]], how: How) -> tuple[list[Any], str | None]:
    """Times from the coordinate of the dimension, or from dt= or t=."""
    if time not in array.coords:
        return times_of(rows, how), how.time_unit
    if how.dt is not None or how.t is not None:
        raise InputError(
            f"the data hold times (coordinate {time!r}), and dt or t is given too; omit it, or use "
            f"data.drop_vars({time!r})"
        )
    values = array.coords[time].values
    if values.dtype.kind == "O" and not is_calendar(values):
        raise InputError(
            f"the times {time!r} are objects ({type(values.flat[0]).__name__}); convert them to numbers or "
            f"to datetime64, or use data.drop_vars({time!r}) and pass dt="
        )
    times = clock(values, how, f"the coordinate {time!r}")
    unit = how.time_unit or array.coords[time].attrs.get("units")
    return [times] * len(rows), None if unit is None else str(unit)


def to_xarray(ensemble: Ensemble) -> xarray.DataArray | xarray.Dataset:
    """The values with names, units and times."""
    import xarray

    form, names, units = ensemble._form, ensemble.names, ensemble.units
    x, t = ensemble.x, ensemble.t
    if not isinstance(x, np.ndarray) or not isinstance(t, np.ndarray):
        return _to_ragged(ensemble)
    trajectory = form.trajectory or "trajectory"
    dims = [trajectory, form.time, form.coordinate]
    if form.kind in ("xarray", "dataset") and form.trajectory is None and len(x) == 1:
        dims, x = dims[1:], x[0]
    clock_attrs = {} if ensemble.time_unit is None else {"units": ensemble.time_unit}
    epoch = form.epoch(ensemble.time_unit)
    if epoch is not None:
        t, clock_attrs = stamps(dates_of(t, epoch)), {}
    coords: dict[str, Any] = {
        form.time: (form.time, t, clock_attrs),
        form.coordinate: (form.coordinate, names),
    }
    if ensemble.ids is not None and trajectory in dims:
        coords[trajectory] = (trajectory, ensemble.ids)
    if units:
        coords["units"] = (form.coordinate, [units.get(name, "") for name in names])
    array = xarray.DataArray(x, dims=dims, coords=coords, attrs=dict(ensemble.attrs))
    if form.kind != "dataset":
        return array
    dataset = array.drop_vars("units", errors="ignore").to_dataset(dim=form.coordinate)
    for name, unit in units.items():
        dataset[name].attrs["units"] = unit
    return dataset


def _to_ragged(ensemble: Ensemble) -> xarray.DataArray:
    """Trajectories of different times, one after another, with the trajectory of each sample as a coordinate."""
    import xarray

    form, names = ensemble._form, ensemble.names
    parts = ensemble.trajectories
    epoch = form.epoch(ensemble.time_unit)
    times = np.concatenate([_clock(ensemble, k) for k in range(len(parts))])
    attrs = {} if ensemble.time_unit is None or epoch is not None else {"units": ensemble.time_unit}
    labels = ensemble.ids or list(range(len(parts)))
    ids = np.repeat(np.asarray(labels), [len(part) for part in parts])
    times = times if epoch is None else stamps(dates_of(times, epoch))
    coords: dict[str, Any] = {
        form.time: ("sample", times, attrs),
        form.trajectory or "trajectory": ("sample", ids),
        form.coordinate: (form.coordinate, names),
    }
    if ensemble.units:
        coords["units"] = (form.coordinate, [ensemble.units.get(name, "") for name in names])
    return xarray.DataArray(np.concatenate(parts), dims=["sample", form.coordinate], coords=coords)


def _clock(ensemble: Ensemble, k: int) -> NDArray[np.float64]:
    """The times of a trajectory."""
    given = ensemble._core.times(k)
    count = len(ensemble._core.values(k))
    return given[0] + given[1] * np.arange(count, dtype=np.float64) if isinstance(given, tuple) else given


def stamps(dates: NDArray[Any]) -> NDArray[Any]:
    """Dates in the precision that xarray has; those of cftime as they are."""
    return dates if is_calendar(dates) else dates.astype("M8[ns]")


def to_pandas(ensemble: Ensemble) -> Any:
    """One row for each sample, by date or time; a column with the trajectory where there are several."""
    import pandas

    epoch = ensemble._form.epoch(ensemble.time_unit)
    frames = []
    label = ensemble._form.trajectory or "trajectory"
    for k, values in enumerate(ensemble.trajectories):
        times = _clock(ensemble, k)
        index = pandas.Index(times if epoch is None else dates_of(times, epoch), name="time")
        frame = pandas.DataFrame(np.asarray(values, dtype=np.float64), columns=ensemble.names, index=index)
        if len(ensemble) > 1 or ensemble.ids is not None:
            frame.insert(0, label, k if ensemble.ids is None else ensemble.ids[k])
        frames.append(frame)
    return pandas.concat(frames) if len(frames) > 1 else frames[0]


def write_text(ensemble: Ensemble, path: Any) -> None:
    """A table with dates and names of trajectories; it appears complete or not at all."""
    import csv
    import os
    import tempfile

    epoch = ensemble._form.epoch(ensemble.time_unit)
    target = os.fspath(path)
    label = ["id"] if ensemble.ids is not None or len(ensemble) > 1 else []
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(target) or ".", prefix=".ergode-")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="\t" if target.endswith(".tsv") else ",", lineterminator="\n")
            table.writerow([*label, "time", *ensemble.names])
            for k, values in enumerate(ensemble.trajectories):
                times = _clock(ensemble, k)
                clock = map(repr, times.tolist()) if epoch is None else map(str, dates_of(times, epoch))
                name = [ensemble.ids[k] if ensemble.ids is not None else k] if label else []
                for time, row in zip(clock, values.tolist()):
                    table.writerow([*name, time, *("" if v != v else repr(v) for v in row)])
        os.chmod(beside, 0o644)
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def rows_of(x: Any, names: list[str]) -> NDArray[np.float64]:
    """States (..., dimension) of a frame, of a row of one, or of a column of a single coordinate."""
    if x.ndim == 1 and len(names) == 1 and names[0] not in x.index:
        return np.asarray(x.to_numpy(dtype=np.float64)[:, None])
    missing = [name for name in names if name not in (x.index if x.ndim == 1 else x.columns)]
    if missing:
        raise InputError(f"no column {missing[0]!r}; the coordinates of the model are {', '.join(names)}")
    return np.asarray(x[names].to_numpy(dtype=np.float64))


def like_rows(values: NDArray[Any], x: Any, names: list[str], what: str) -> Any:
    """Numbers, vectors or matrices at the states of `rows_of`, with the index of `x`."""
    import pandas

    if x.ndim == 1 and not (len(names) == 1 and names[0] not in x.index):
        if values.ndim == 0:
            return float(values)
        columns: Any = names if values.ndim == 1 else pandas.MultiIndex.from_product([names, names])
        return pandas.Series(values.reshape(-1), index=columns, name=what)
    if x.ndim == 1 or values.ndim == 1:
        return pandas.Series(values.reshape(-1), index=x.index, name=what)
    columns = names if values.ndim == 2 else pandas.MultiIndex.from_product([names, names])
    return pandas.DataFrame(values.reshape(len(x), -1), index=x.index, columns=columns)


def states_of(x: Any, names: list[str], form: Form) -> tuple[NDArray[Any], Any, str]:
    """States (..., dimension) of an xarray object, the object with its coordinates last, their dimension."""
    if type(x).__name__ == "Dataset":
        missing = [name for name in names if name not in x.data_vars]
        if missing:
            raise InputError(f"the dataset has no variable {missing[0]!r}; the model has {', '.join(names)}")
        x = x[names].to_array(dim="coordinate")
    candidates = [d for d in x.dims if d == form.coordinate and x.sizes[d] == len(names)]
    candidates = candidates or [d for d in x.dims if x.sizes[d] == len(names)]
    if len(candidates) != 1:
        raise InputError(
            f"of the dimensions {tuple(x.dims)} with sizes {tuple(x.sizes.values())}, one must hold the "
            f"{len(names)} coordinates {', '.join(names)}; rename it to {form.coordinate!r}"
        )
    dim = str(candidates[0])
    if dim in x.coords:
        labels = texts(x.coords[dim].values, "names")
        if sorted(labels) == sorted(names):
            x = x.isel({dim: [labels.index(name) for name in names]})
        elif any(not label.lstrip("-").isdigit() for label in labels):
            raise InputError(
                f"the states have coordinates {', '.join(labels)}, the model has {', '.join(names)}; use the "
                "same names"
            )
    x = x.transpose(..., dim)
    return x.values, x, dim


def times_in(x: Any, dim: str) -> Any:
    """The times of the states of `states_of`, in a shape that goes with them; None without times."""
    times = [d for d in x.dims if str(d).lower() in TIMES and d in x.coords]
    if not times:
        return None
    values = x.coords[times[0]].values
    others = [d for d in x.dims if d != dim]
    shape = [len(values) if d == times[0] else 1 for d in others]
    return values.reshape(shape)


def like_states(values: NDArray[Any], x: Any, dim: str, names: list[str], what: str) -> xarray.DataArray:
    """Vectors or matrices at the states of `states_of`, with the coordinates of the states."""
    import xarray

    others = [d for d in x.dims if d != dim]
    extra = values.ndim - len(others)
    dims = [*others, dim, f"{dim}_j"][: len(others) + extra]
    coords = {n: c for n, c in x.coords.items() if dim not in c.dims}
    coords[dim] = (dim, names)
    if extra > 1:
        coords[f"{dim}_j"] = (f"{dim}_j", names)
    return xarray.DataArray(values, dims=dims, coords=coords, name=what)
