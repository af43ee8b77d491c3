"""Fits of records on Dask: the numbers of one process, whatever the chunks, without rows on the client."""

import json
import os
import subprocess
import time

import numpy as np
import pytest

import ergode as eg
from harness import command_line

dask = pytest.importorskip("dask")
array = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

DT = 0.1
#: A step, so that none is looked for.
OPTIONS = {"simulate.dt": 0.02, "simulate.trajectories": 8}


def gappy():
    """Three trajectories of the affine system with gaps, (trajectory, time, dimension)."""
    x = np.array(eg.systems.affine2d().generate(time=200.0, save_every=DT, trajectories=3, seed=5).x)
    for k in range(3):
        for row in (100, 101, 499, 500, 501, 1203):
            x[k, row + k, row % 2] = np.nan
    return x


def members():
    """Forty short members."""
    return np.array(eg.systems.ou().generate(time=40.0, save_every=DT, trajectories=40, seed=6).x)


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def numbers(model):
    """What must not depend on the chunks."""
    results = model.results_
    found = {name: (c["value"], c["stderr"]) for name, c in results["mobility"]["coefficients"].items()}
    for name in ("correlation_rmse", "noise_floor", "rmse_over_floor", "density_l1"):
        found[name] = (results["validation"][name], 0.0)
    found["stein"] = (results["score"]["stein_error"], 0.0)
    return found


def same(one, other, verdicts=True):
    one_numbers, other_numbers = numbers(one), numbers(other)
    assert one_numbers.keys() == other_numbers.keys()
    for name, (value, error) in one_numbers.items():
        scale = max(abs(value), error)
        off = max(abs(value - other_numbers[name][0]), abs(error - other_numbers[name][1]))
        assert off <= 1e-9 * scale, (name, value, other_numbers[name], off / scale)
    if verdicts:
        assert one.validation_.verdict == other.validation_.verdict


@pytest.fixture(scope="module")
def expected():
    return eg.Langevin(seed=0, options=OPTIONS).fit(gappy(), dt=DT)


CHUNKS = [(3, 2001, 2), (1, 500, 2), (2, 7, 1), (1, (100, 1, 1, 398, 1501), 2)]


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_chunks_do_not_change_the_fit(client, expected, chunks):
    if chunks[1] == 7:
        # Shorter than the longest lag; fewer of them, for time.
        chunks = (3, (7,) * 20 + (2001 - 140,), 1)
    record = eg.dask.from_dask_array(array.from_array(gappy(), chunks=chunks), DT)
    model = eg.Langevin(seed=0, options=OPTIONS).fit(record)
    same(expected, model)


def test_members_in_zarr_and_sums_on_the_command_line(client, folder):
    """A 40-member ensemble: one process, Dask, and `accumulate | merge | fit` give the same numbers."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    x = members()
    times = DT * np.arange(x.shape[1])
    dataset = xarray.Dataset(
        {name: (("member", "time"), x[:, :, j]) for j, name in enumerate(("u", "v"))}, coords={"time": times}
    )
    dataset.chunk({"member": 10, "time": 130}).to_zarr(folder / "a.zarr", zarr_format=2)
    opened = xarray.open_zarr(folder / "a.zarr")
    record = eg.dask.from_xarray(opened[["u", "v"]], trajectory="member")
    assert record.names == ["u", "v"] and len(record.rows) == 40
    model = eg.Langevin(seed=0, options=OPTIONS).fit(record)
    one = eg.Langevin(seed=0, options=OPTIONS).fit(x, dt=DT, names=["u", "v"])
    same(one, model)
    # The same from the command line, on a file.
    eg.Ensemble(x, dt=DT, names=["u", "v"]).write(folder / "a.npz")
    program = command_line()

    def run(*arguments):
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    settings = [part for key, value in OPTIONS.items() for part in ("--set", f"{key}={value}")]
    run("accumulate", "a.npz", "--write-plan", "plan.toml", *settings)
    cuts = [0, 1234, 9000, x.shape[0] * x.shape[1]]
    for k, (first, end) in enumerate(zip(cuts, cuts[1:])):
        run("accumulate", "a.npz", "--plan", "plan.toml", "--rows", f"{first}:{end}", "-o", f"{k}.sums")
    run("merge", "2.sums", "0.sums", "1.sums", "-o", "all.sums")
    run("fit", "all.sums", "-o", "run")
    same(one, eg.load(folder / "run"))
    # Parts in Python.
    whole = eg.merge(folder / "0.sums", folder / "1.sums", folder / "2.sums")
    assert whole.counted == (cuts[-1], cuts[-1])
    with pytest.raises(eg.InputError, match="counted twice"):
        eg.merge(folder / "0.sums", folder / "0.sums")


def test_files_are_chunks(client, expected, folder):
    for k, x in enumerate(gappy()):
        np.save(folder / f"{k}.npy", x)
    record = eg.dask.from_files(str(folder / "*.npy"), dt=DT)
    same(expected, eg.Langevin(seed=0, options=OPTIONS).fit(record))


def test_no_rows_but_a_bounded_excerpt_come_to_the_client(client):
    """Bytes that come to the client do not grow with the record."""
    received = []
    for repeat in (1, 4):
        x = np.concatenate([gappy()] * repeat)
        record = eg.dask.from_dask_array(array.from_array(x, chunks=(1, 500, 2)), DT, keep=3000)
        plan = record.scale()
        sums = record.accumulate(plan)
        # What the tasks returned: the sums, and the excerpt in them.
        received.append(len(sums.to_bytes()) - len(plan))
        # Whole stretches, so that the last may be too long.
        assert sum(rows.size for rows in _kept(sums)) <= 3060
    assert received[1] < 1.3 * received[0], received


def _kept(sums):
    content = sums.to_bytes()
    length = int.from_bytes(content[24:32], "little")
    described = json.loads(content[32 : 32 + length])
    return [np.empty((rows, 2)) for _, _, rows in described["excerpt"]]


def test_a_killed_worker_changes_nothing(client):
    x = gappy()
    slow = array.from_array(x, chunks=(1, 250, 2)).map_blocks(_late, dtype=float)
    record = eg.dask.from_dask_array(slow, DT)
    plan = record.scale()
    expected = record.accumulate(plan).to_bytes()
    pids = client.run(os.getpid)
    killed = next(iter(pids.values()))
    # Killed by its id, and only once: the nanny starts another.
    kill = dask.delayed(_kill_once)(killed)
    again = [dask.delayed(_after)(kill, chunk.values) for chunk in record._chunks]
    for chunk, values in zip(record._chunks, again):
        chunk.values = values
    assert record.accumulate(plan).to_bytes() == expected


def _late(block):
    time.sleep(0.01)
    return block


def _kill_once(pid):
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        pass
    return 0


def _after(_, block):
    return block


def test_wrong_input_is_refused(client):
    x = array.from_array(gappy(), chunks=(1, 500, 2))
    with pytest.raises(eg.InputError, match=r"eg.dask|ergode.dask.from_"):
        eg.Ensemble(x, dt=DT)
    with pytest.raises(eg.InputError, match="expected a Dask array"):
        eg.dask.from_dask_array(gappy(), DT)
    infinite = gappy()
    infinite[1, 700, 1] = np.inf
    record = eg.dask.from_dask_array(array.from_array(infinite, chunks=(1, 500, 2)), DT)
    with pytest.raises(eg.InputError, match="trajectory 1, row 700, coordinate 1"):
        record.scale()
