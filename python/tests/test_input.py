"""What arrays are understood as, and what is refused."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import ergode as eg

RNG = np.random.default_rng(0)
X3 = RNG.normal(size=(3, 50, 2))


def refused(message, *arguments, **keywords):
    with pytest.raises(eg.InputError, match=message) as caught:
        eg.Ensemble(*arguments, **keywords)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("x", "count", "dim"),
    [
        (X3[0, :, 0], 1, 1),
        (X3[0], 1, 2),
        (X3, 3, 2),
        ([X3[0], X3[1, :20], X3[2, :7]], 3, 2),
        ((X3[0], X3[1]), 2, 2),
        (X3[0, :, 0].tolist(), 1, 1),
        ((100 * X3).astype(int), 3, 2),
        (X3.astype(np.float32), 3, 2),
        (X3.astype(">f8"), 3, 2),
        (np.asfortranarray(X3), 3, 2),
        (X3[:, ::2], 3, 2),
        (X3[:, ::-1], 3, 2),
    ],
)
def test_arrays(x, count, dim):
    ensemble = eg.Ensemble(x, dt=0.1)
    assert (len(ensemble), ensemble.dim) == (count, dim)
    assert ensemble.dt == 0.1
    expected = x if isinstance(x, (list, tuple)) and np.ndim(x[0]) == 2 else None
    if expected is None:
        expected = np.asarray(x, dtype=float)
        expected = expected.reshape(count, -1, dim)
    for found, wanted in zip(ensemble.trajectories, expected):
        np.testing.assert_array_equal(found, np.asarray(wanted).astype(found.dtype))


def test_single_precision_is_kept():
    assert eg.Ensemble(X3.astype(np.float32), dt=1).x.dtype == np.float32


def test_unequal_lengths_come_back_as_lists():
    ensemble = eg.Ensemble([X3[0], X3[1, :20]], dt=0.5)
    assert [part.shape for part in ensemble.x] == [(50, 2), (20, 2)]
    assert [len(t) for t in ensemble.t] == [50, 20]


def test_gaps_by_nan_mask_and_masked_array():
    x = X3.copy()
    x[1, 10:12] = np.nan
    mask = np.isnan(x)
    by_nan = eg.Ensemble(x, dt=1)
    assert by_nan.samples == 148
    assert by_nan.segments[1:3] == [(1, slice(0, 10)), (1, slice(12, 50))]
    for other in (
        eg.Ensemble(X3, dt=1, mask=mask),
        eg.Ensemble(X3, dt=1, mask=mask.any(axis=-1)),
        eg.Ensemble(np.ma.masked_array(X3, mask), dt=1),
        eg.Ensemble(list(X3), dt=1, mask=list(mask)),
        eg.Ensemble([np.ma.masked_array(a, m) for a, m in zip(X3, mask)], dt=1),
    ):
        assert other.fingerprint() == by_nan.fingerprint()


def test_times():
    t = np.cumsum(RNG.uniform(0.1, 1, size=(3, 50)), axis=1)
    uneven = eg.Ensemble(X3, t=t)
    assert uneven.dt is None
    np.testing.assert_array_equal(uneven.t, t)
    shared = eg.Ensemble(X3, t=t[0])
    np.testing.assert_array_equal(shared.t, t[0])
    listed = eg.Ensemble(list(X3), t=list(t))
    assert listed.fingerprint() == uneven.fingerprint()
    # Times that are even up to rounding are even.
    assert eg.Ensemble(X3, t=np.arange(50) * 0.1).dt == pytest.approx(0.1, rel=1e-12)


def test_dates():
    t = np.datetime64("2020-01-01") + np.arange(50) * np.timedelta64(6, "h")
    ensemble = eg.Ensemble(X3[0], t=t, time_unit="D")
    assert ensemble.dt == pytest.approx(0.25)
    assert ensemble.time_unit == "D"
    refused("give time_unit=", X3[0], t=t)
    refused("time_unit='fortnight' is not supported", X3[0], t=t, time_unit="fortnight")


def test_names_and_units():
    ensemble = eg.Ensemble(X3, dt=1, names=["u", "v"], units={"u": "m"}, time_unit="s")
    assert ensemble.names == ["u", "v"]
    assert ensemble.units == {"u": "m"}
    assert eg.Ensemble(X3, dt=1, units="K").units == {"x": "K", "y": "K"}
    assert eg.Ensemble(X3, dt=1, units=["K", "m"]).units == {"x": "K", "y": "m"}
    assert "m" in ensemble._repr_html_()
    assert repr(ensemble) == "Ensemble(u, v; 150 samples in 3 trajectories, every 1 s)"


@pytest.mark.parametrize(
    ("message", "x", "how"),
    [
        ("give dt= for even times or t= for uneven", X3, {}),
        ("both dt and t", X3, {"dt": 1, "t": np.arange(50)}),
        ("more coordinates than times.*x.T", X3[0].T, {"dt": 1}),
        ("more coordinates than times.*moveaxis", np.moveaxis(X3, 1, 2), {"dt": 1}),
        ("has 4 axes", X3[None], {"dt": 1}),
        ("has 0 axes", np.array(1.0), {"dt": 1}),
        (r"entry 0 has shape \(50,\).*column_stack", [X3[0, :, 0], X3[0, :, 1]], {"dt": 1}),
        ("empty list", [], {"dt": 1}),
        ("column_stack", [[1.0, 2.0], [1.0]], {"dt": 1}),
        ("complex", X3 * 1j, {"dt": 1}),
        ("true or false", X3 > 0, {"dt": 1}),
        ("Python objects", X3.astype(object), {"dt": 1}),
        ("these are times", np.zeros((9, 1), "M8[s]"), {"dt": 1}),
        ("no numbers", np.array([["a"], ["b"]]), {"dt": 1}),
        ("dt must be positive", X3, {"dt": -1}),
        ("dt must be positive", X3, {"dt": np.nan}),
        ("one positive number", X3, {"dt": True}),
        ("one positive number", X3, {"dt": [1, 2]}),
        ("one positive number", X3, {"dt": "1"}),
        ("times of shapes", X3, {"t": np.arange(49)}),
        ("times of shapes", X3, {"t": [np.arange(50)]}),
        ("holds no times", X3, {"t": ["a"] * 50}),
        ("is not later than", X3, {"t": np.zeros(50)}),
        ("one is inf|infinite", np.where(X3 > 2, np.inf, X3), {"dt": 1}),
        ("a mask of shape", X3, {"dt": 1, "mask": np.zeros(4, bool)}),
        ("its type is", X3, {"dt": 1, "mask": np.zeros(X3.shape)}),
        ("one mask per trajectory", list(X3), {"dt": 1, "mask": [np.zeros(50, bool)]}),
        ("one name per coordinate", X3, {"dt": 1, "names": ["a"]}),
        ("both named", X3, {"dt": 1, "names": ["a", "a"]}),
        ("is a single string", X3, {"dt": 1, "names": "ab"}),
        ("are not coordinates", X3, {"dt": 1, "units": {"q": "m"}}),
        ("one per coordinate", X3, {"dt": 1, "units": ["m"]}),
        ("name columns", X3, {"t": "time"}),
        ("name columns", X3, {"dt": 1, "trajectory": "run"}),
        ("no trajectory|empty", np.zeros((0, 2)), {"dt": 1}),
    ],
)
def test_refusals(message, x, how):
    refused(f"(?s){message}", x, **how)


def test_an_ensemble_is_taken_as_it_is(data):
    refused("already", data)
    with pytest.raises(eg.InputError, match="dt cannot be changed"):
        eg.check(data, dt=0.1)


def test_parts_and_files(data, tmp_path):
    assert data.thin(4).dt == pytest.approx(0.2)
    assert data.select([2, 0]).x.shape[0] == 2
    assert data.burn_in(0.5).samples < data.samples
    assert data.burn_in(time=10.0).samples < data.samples
    fit, held_out = data.split(0.25)
    assert (len(fit), len(held_out)) == (6, 2)
    with pytest.raises(eg.InputError, match="either"):
        data.burn_in(0.1, time=1.0)
    with pytest.raises(eg.InputError, match="no trajectory 9"):
        data.select([9])
    data.write(tmp_path / "a.npz")
    again = eg.Ensemble.read(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.x, data.x)
    with pytest.raises(eg.InputError, match="absent.npz"):
        eg.Ensemble.read(tmp_path / "absent.npz")


def test_columns_of_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("day,a,sky,b\n0,1,rain,10\n1,2,sun,20\n")
    read = eg.Ensemble.read(tmp_path / "a.csv", columns=["b"], time="day")
    assert list(read.names) == ["b"] and read.samples == 2
    with pytest.raises(eg.InputError, match="no coordinate is named 'c'"):
        eg.Ensemble.read(tmp_path / "a.csv", columns=["c"], time="day")


def test_pickled(data):
    again = pickle.loads(pickle.dumps(data))
    assert again.fingerprint() == data.fingerprint()
    assert again.names == data.names


def address(array):
    return array.__array_interface__["data"][0]


def test_no_copy_of_c_contiguous_doubles():
    for x in (X3, X3[0], X3[0, :, 0], X3[:, ::2], X3[:, 5:40]):
        ensemble = eg.Ensemble(x, dt=1, copy=False)
        assert ensemble._core.shared == len(ensemble)
        assert address(ensemble.x) == address(x)
        assert not ensemble.x.flags.writeable
        # Slices share too.
        assert np.shares_memory(ensemble.thin(2).trajectories[0], x)
    assert address(eg.Ensemble(X3, dt=1, copy=True).x) != address(X3)


@pytest.mark.parametrize(
    "x",
    [X3.astype(np.float32), np.asfortranarray(X3), X3[:, ::-1], X3.astype(int), X3.tolist()[0][0]],
)
def test_copies_are_refused_on_request(x):
    refused("copy=False", x, dt=1, copy=False)


def test_memory_of_a_large_array_is_not_copied():
    """Measured in a separate process, by its peak memory."""
    script = """
import resource, numpy as np, ergode as eg
x = np.random.default_rng(0).normal(size=(4, 2_000_000, 2))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ensemble = eg.Ensemble(x, dt=0.1)
ensemble.fingerprint(); ensemble.x
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, x.nbytes // 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    grown, size = map(int, done.stdout.split())
    assert grown < 0.1 * size, (grown, size)


def test_shared_memory_outlives_the_array():
    x = X3.copy()
    ensemble = eg.Ensemble(x, dt=1)
    expected = ensemble.fingerprint()
    view = ensemble.x
    del x, ensemble
    np.testing.assert_array_equal(view, X3)
    assert eg.Ensemble(view, dt=1).fingerprint() == expected
