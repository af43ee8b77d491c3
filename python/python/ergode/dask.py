"""Fits of records of any size, on Dask: chunks are summed up where they are, and no fit needs their rows.

A record is made by `from_xarray`, `from_dask_array` or `from_files`, and given to `ergode.Langevin().fit`. Two passes over
the chunks do the work: `Record.scale` decides what is collected, `Record.accumulate` collects it. To the client come
sums, the runs of complete rows, and an excerpt of bounded size (`keep`): the rows that a fit is validated against, and
whatever else in it needs rows.

Needs `pip install ergode[dask]`.
"""

# Dask has no types of its own.
# mypy: disable-error-code="no-untyped-call,attr-defined,arg-type"

from __future__ import annotations

import glob
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import InputError
from ._input import Form, How, clock, default_names, interval, texts, units_of
from ._sums import Sums

__all__ = ["Record", "from_dask_array", "from_files", "from_xarray"]

#: Numbers of the rows that come to the client, 32 MiB.
KEEP = 1 << 22
#: Sums that are merged at a time.
SPLIT_EVERY = 8

Stretch = tuple[int, int, int]
Array = NDArray[np.float64]


@dataclass
class _Chunk:
    """Consecutive rows of consecutive trajectories."""

    trajectory: int
    first: int
    rows: int
    count: int
    #: Delayed, (trajectory, time, coordinate).
    values: Any


@dataclass
class Record:
    """A record in chunks; see `from_xarray`, `from_dask_array` and `from_files`."""

    names: list[str]
    dt: float
    #: Rows of every trajectory, and the times of the first ones.
    rows: list[int]
    starts: list[float]
    units: dict[str, str] = field(default_factory=dict)
    time_unit: str | None = None
    keep: int = KEEP
    _chunks: list[_Chunk] = field(default_factory=list, repr=False)
    _form: Form = field(default_factory=Form, repr=False)

    def scale(self, config: str | None = None, progress: Any = None) -> str:
        """The plan of the sums, as text: scales, lags, degrees, blocks and what is held out. Two passes over the chunks.

        Parameters
        ----------
        config : str, optional
            Configuration of the fit as JSON [default: the one of `ergode.Langevin()`].
        """
        config = config or _core.configure(None, [])
        dim = len(self.names)
        stretches = _core.survey_excerpt(self.rows, dim, self.keep)
        look = _delayed(_look)
        found = _compute([look(c.values, c.trajectory, c.first, _common(c, stretches)) for c in self._chunks])
        runs: list[Stretch] = sorted(run for runs, _ in found for run in runs)
        pieces = {(k, first): rows for _, kept in found for k, first, rows in kept}
        values = [_assembled(stretch, pieces, dim) for stretch in stretches]
        times = [(self.starts[k] + first * self.dt, self.dt) for k, first, _ in stretches]
        excerpt = _core.Ensemble(values, times, self.names, False)
        draft = _core.SumsDraft(
            excerpt,
            self.keep,
            runs,
            config,
            [self.units.get(name, "") for name in self.names] if self.units else [],
            self.time_unit or "",
            self.dt,
            self.rows,
            self.starts,
            progress,
        )
        training = draft.training()
        scales = _delayed(_scales)
        parts = [scales(c.values, c.trajectory, c.first, _common(c, training)) for c in self._chunks]
        return draft.plan([part for parts in _compute(parts) for part in parts]).text()

    def accumulate(self, plan: str, split_every: int = SPLIT_EVERY) -> Sums:
        """The sums of a plan over all chunks, merged in a tree. One pass over the chunks."""
        if split_every < 2:
            raise InputError("split_every must be at least 2")
        halo = _core.SumsPlan(plan).halo
        text = _delayed(_same, pure=True)(plan)
        accumulate, merged, head = _delayed(_accumulate), _delayed(_merged), _delayed(_head)
        after: dict[tuple[int, int, int], _Chunk] = {(c.trajectory, c.count, c.first): c for c in self._chunks}
        sums = []
        for chunk in self._chunks:
            tail, reach, needed = [], chunk.first + chunk.rows, halo
            while needed > 0 and (chunk.trajectory, chunk.count, reach) in after:
                later = after[chunk.trajectory, chunk.count, reach]
                taken = min(needed, later.rows)
                # Cut where the chunk is, so that no more than the halo moves.
                tail.append(head(later.values, taken))
                needed, reach = needed - taken, reach + later.rows
            sums.append(accumulate(text, chunk.values, tail, chunk.trajectory, chunk.first))
        while len(sums) > 1:
            sums = [merged(sums[k : k + split_every]) for k in range(0, len(sums), split_every)]
        return Sums._of(_core.Sums.from_bytes(_compute(sums)[0]))


def from_dask_array(
    x: Any,
    dt: float,
    *,
    names: Sequence[str] | None = None,
    units: Any = None,
    time_unit: str | None = None,
    keep: int = KEEP,
) -> Record:
    """A record in a Dask array (time, dimension) or (trajectory, time, dimension), sampled every `dt`.

    Rows of NaN are gaps. `keep` is the most numbers of rows that come to the client.
    """
    if not _is_dask(x):
        raise InputError(f"expected a Dask array, not an object of type {type(x).__name__}; use ergode.Ensemble")
    array = x if x.ndim == 3 else x[None]
    if array.ndim != 3:
        raise InputError(
            f"a Dask array of shape {x.shape} has {x.ndim} axes; expected (time, dimension) or (trajectory, time, dimension)"
        )
    count, rows, dim = array.shape
    if any(math.isnan(n) for n in array.shape):
        raise InputError("the chunks of the Dask array have unknown sizes; call compute_chunk_sizes() first")
    if dim > rows:
        raise InputError(
            f"the array of shape {x.shape} has more coordinates ({dim}) than times ({rows}); the last axis must be that "
            "of the coordinates, the one before it that of time"
        )
    labels = default_names(dim) if names is None else texts(names, "names")
    if len(labels) != dim:
        raise InputError(f"{len(labels)} names for {dim} coordinates; pass one per coordinate")
    record = Record(labels, interval(dt), [rows] * count, [0.0] * count, units_of(units, labels), time_unit, _kept(keep))
    record._chunks = _chunks_of(array)
    return record


def from_xarray(
    data: Any,
    *,
    time: str = "time",
    trajectory: str | None = None,
    coordinate: str | None = None,
    time_unit: str | None = None,
    keep: int = KEEP,
) -> Record:
    """A record in an xarray Dataset, whose variables are coordinates, or in a DataArray with a dimension `coordinate`.

    Its variables are arrays of Dask, as `xarray.open_zarr` and `open_mfdataset` give them; `trajectory` is the
    dimension of members. Times must be even; dates need `time_unit`.
    """
    import dask.array

    if hasattr(data, "data_vars"):
        labels = [str(name) for name in data.data_vars]
        variables = [data[name] for name in data.data_vars]
    elif coordinate is not None:
        labels = [str(name) for name in np.asarray(data[coordinate])]
        variables = [data.isel({coordinate: j}) for j in range(data.sizes[coordinate])]
    else:
        labels, variables = [str(data.name or "x")], [data]
    order = [time] if trajectory is None else [trajectory, time]
    arrays = []
    for label, variable in zip(labels, variables):
        if set(variable.dims) != set(order):
            raise InputError(
                f"'{label}' has the dimensions {', '.join(map(str, variable.dims))}, but expected {', '.join(order)}; "
                "select or rename the others, or name them with time= and trajectory="
            )
        values = variable.transpose(*order).data
        arrays.append(values if _is_dask(values) else dask.array.from_array(values, chunks=-1))
    first = variables[0]
    if time not in first.coords:
        raise InputError(f"the dimension '{time}' has no coordinate with the times; assign one")
    how = How(time_unit=time_unit)
    times = clock(first[time].values, how, time)
    steps = np.diff(times)
    if len(steps) == 0 or not np.allclose(steps, steps.mean(), rtol=1e-6, atol=0.0):
        raise InputError("the times are not evenly spaced, which sums need; interpolate, or use ergode.Ensemble")
    step = (times[-1] - times[0]) / len(steps)
    stacked = dask.array.stack(arrays, axis=-1)
    units = {label: str(v.attrs["units"]) for label, v in zip(labels, variables) if "units" in v.attrs}
    record = from_dask_array(stacked, float(step), names=labels, units=units or None, time_unit=time_unit, keep=keep)
    record.starts = [float(times[0])] * len(record.rows)
    record._form = Form().dated(how)
    return record


def from_files(
    pattern: str | Sequence[str],
    dt: float | None = None,
    *,
    columns: Sequence[str] | None = None,
    keep: int = KEEP,
) -> Record:
    """A record in files of any format that `ergode` reads, in the order of their names; each is read on a worker.

    A file is a chunk of whole trajectories, and must fit into the memory of a worker.
    """
    paths = sorted(glob.glob(pattern)) if isinstance(pattern, str) else [str(path) for path in pattern]
    if not paths:
        raise InputError(f"{pattern} matches no file")
    listed = [] if columns is None else list(columns)
    facts = _compute([_delayed(_facts)(path, dt, listed) for path in paths])
    names, step = facts[0][0], facts[0][1]
    record = Record(names, step, [], [], keep=_kept(keep))
    for path, (own, other, trajectories) in zip(paths, facts):
        if own != names or abs(other - step) > 1e-9 * step:
            raise InputError(
                f"{path} has the coordinates {', '.join(own)} every {other}, but {paths[0]} {', '.join(names)} every {step}"
            )
        for j, (rows, start) in enumerate(trajectories):
            values = _delayed(_rows_of_file)(path, dt, listed, j)
            record._chunks.append(_Chunk(len(record.rows), 0, rows, 1, values))
            record.rows.append(rows)
            record.starts.append(start)
    return record


def refuse(data: Any) -> None:
    """Refuse an array of Dask where rows are wanted."""
    # What lies under an xarray object; an array of NumPy has no more to say, and no buffer where it holds dates.
    backed = _is_dask(data) or not isinstance(data, np.ndarray) and _is_dask(getattr(data, "data", None))
    if hasattr(data, "data_vars"):
        backed = any(_is_dask(data[name].data) for name in data.data_vars)
    if backed:
        raise InputError(
            "the data are chunks of Dask, which would all be loaded; use ergode.dask.from_xarray or from_dask_array, or "
            "call .compute() first"
        )


def _is_dask(data: Any) -> bool:
    return any(base.__module__.split(".")[0] == "dask" for base in type(data).__mro__)


def _kept(keep: int) -> int:
    if keep < 1000:
        raise InputError(f"keep = {keep} numbers are too few to validate a fit; keep at least 1000")
    return int(keep)


def _delayed(function: Any, pure: bool = False) -> Any:
    import dask

    return dask.delayed(function, pure=pure)


def _compute(tasks: list[Any]) -> list[Any]:
    import dask

    return list(dask.compute(*tasks))


def _chunks_of(array: Any) -> list[_Chunk]:
    """One chunk for every block of trajectories and times; a block has all coordinates."""
    array = array.rechunk({2: -1})
    blocks = array.to_delayed()[:, :, 0]
    chunks, trajectory = [], 0
    for i, count in enumerate(array.chunks[0]):
        first = 0
        for j, rows in enumerate(array.chunks[1]):
            if rows > 0 and count > 0:
                chunks.append(_Chunk(trajectory, first, int(rows), int(count), blocks[i, j]))
            first += int(rows)
        trajectory += int(count)
    return chunks


def _common(chunk: _Chunk, stretches: Sequence[Stretch]) -> list[Stretch]:
    """The parts of stretches in a chunk."""
    end = chunk.first + chunk.rows
    found = []
    for k, first, last in stretches:
        low, high = max(first, chunk.first), min(last, end)
        if chunk.trajectory <= k < chunk.trajectory + chunk.count and low < high:
            found.append((k, low, high))
    return found


def _assembled(stretch: Stretch, pieces: dict[tuple[int, int], Array], dim: int) -> Array:
    """The rows of a stretch from those of the chunks."""
    k, first, end = stretch
    found = [np.empty((0, dim))]
    while first < end:
        rows = pieces[k, first]
        found.append(rows)
        first += len(rows)
    return np.concatenate(found)


# ----- work on chunks, on the workers


def _same(value: Any) -> Any:
    return value


def _numbers(block: Any) -> Array:
    return np.ascontiguousarray(block, dtype=np.float64)


def _head(block: Any, rows: int) -> Array:
    return _numbers(block[:, :rows])


def _look(block: Any, trajectory: int, first: int, stretches: list[Stretch]) -> tuple[list[Stretch], list[Any]]:
    """The runs of complete rows, and the rows of an excerpt."""
    values = _numbers(block)
    if np.isinf(values).any():
        k, i, j = np.argwhere(np.isinf(values))[0]
        raise InputError(
            f"trajectory {trajectory + k}, row {first + i}, coordinate {j} (counted from 0): the value is infinite; mark "
            "a missing sample with NaN"
        )
    runs = []
    for k, complete in enumerate(~np.isnan(values).any(axis=2)):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], complete, [False]]).astype(np.int8)))
        runs += [(trajectory + k, first + int(a), first + int(b)) for a, b in edges.reshape(-1, 2)]
    kept = [(k, low, values[k - trajectory, low - first : high - first].copy()) for k, low, high in stretches]
    return runs, kept


def _scales(block: Any, trajectory: int, first: int, stretches: list[Stretch]) -> list[Any]:
    """Count, means, sums of squared deviations, least and greatest values of complete rows."""
    values = _numbers(block)
    found = []
    for k, low, high in stretches:
        rows = values[k - trajectory, low - first : high - first]
        rows = rows[~np.isnan(rows).any(axis=1)]
        if len(rows):
            mean = rows.mean(axis=0)
            squares = ((rows - mean) ** 2).sum(axis=0)
            lists = (mean.tolist(), squares.tolist(), rows.min(axis=0).tolist(), rows.max(axis=0).tolist())
            found.append((float(len(rows)), *lists))
    return found


def _accumulate(plan: str, block: Any, tail: list[Array], trajectory: int, first: int) -> bytes:
    """The sums over a chunk; `tail` has the rows after it."""
    values = np.concatenate([_numbers(block), *tail], axis=1)
    rows = block.shape[1]
    pieces = [(trajectory + k, first, one, first, first + rows) for k, one in enumerate(values)]
    return _core.Sums.of_pieces(_core.SumsPlan(plan), pieces).to_bytes()


def _merged(parts: list[bytes]) -> bytes:
    whole = _core.Sums.from_bytes(parts[0])
    for part in parts[1:]:
        whole.merge(_core.Sums.from_bytes(part))
    return whole.to_bytes()


def _read(path: str, dt: float | None, columns: list[str]) -> _core.Ensemble:
    return _core.Ensemble.read(Path(path), dt, columns, None, None, None)


def _facts(path: str, dt: float | None, columns: list[str]) -> tuple[list[str], float, list[tuple[int, float]]]:
    """Names, interval, and rows and first time of every trajectory."""
    core = _read(path, dt, columns)
    step = core.sampling_interval
    if step is None:
        raise InputError(f"{path} is sampled unevenly, which sums do not support")
    found = []
    for k in range(len(core)):
        times = core.times(k)
        start = times[0] if isinstance(times, tuple) else float(times[0])
        found.append((len(core.values(k)), float(start)))
    return core.names, step, found


def _rows_of_file(path: str, dt: float | None, columns: list[str], trajectory: int) -> Array:
    return _numbers(_read(path, dt, columns).values(trajectory))[None]
