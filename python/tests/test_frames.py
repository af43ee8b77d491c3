"""Objects of pandas and xarray."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import ergode as eg

X = np.random.default_rng(0).normal(size=(3, 60, 2))
TIME = np.arange(60) * 0.5


def array(**changes):
    dims = changes.get("dims", ("member", "time", "variable"))
    coords = {"time": ("time", TIME, {"units": "days"}), "variable": ["u", "v"]}
    return xr.DataArray(X, dims=dims, coords=changes.get("coords", coords), attrs={"units": "m"})


def refused(message, *arguments, **keywords):
    with pytest.raises(eg.InputError, match=f"(?s){message}"):
        eg.Ensemble(*arguments, **keywords)


def test_neither_library_is_imported():
    script = (
        "import sys, numpy, ergode; ergode.Ensemble(numpy.zeros((9, 1)) + numpy.arange(9)[:, None], dt=1);"
        "print([m for m in ('pandas', 'xarray', 'matplotlib', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_data_array():
    ensemble = eg.Ensemble(array(), copy=False)
    assert ensemble.names == ["u", "v"]
    assert ensemble.units == {"u": "m", "v": "m"}
    assert ensemble.time_unit == "days"
    assert ensemble.dt == 0.5
    np.testing.assert_array_equal(ensemble.x, X)
    # The order of dimensions does not matter.
    moved = eg.Ensemble(array().transpose("variable", "time", "member"))
    assert moved.fingerprint() == ensemble.fingerprint()
    back = ensemble.data
    assert back.dims == ("member", "time", "variable")
    xr.testing.assert_equal(back.drop_vars("units"), array())
    assert list(back["units"].values) == ["m", "m"]
    assert eg.Ensemble(back).units == ensemble.units


def test_data_array_of_one_trajectory_and_one_coordinate():
    one = array().isel(member=0)
    assert eg.Ensemble(one).data.dims == ("time", "variable")
    scalar = one.isel(variable=0, drop=True).rename("height")
    ensemble = eg.Ensemble(scalar)
    assert ensemble.names == ["height"]
    assert (len(ensemble), ensemble.dim) == (1, 1)
    bare = one.drop_vars(["time", "variable"])
    assert eg.Ensemble(bare, dt=0.5).names == ["x", "y"]
    refused("give dt=", bare)


def test_dataset():
    data = array().drop_attrs().to_dataset(dim="variable")
    data["u"].attrs["units"] = "m"
    data["v"].attrs["units"] = "K"
    ensemble = eg.Ensemble(data)
    assert ensemble.units == {"u": "m", "v": "K"}
    np.testing.assert_array_equal(ensemble.x, X)
    back = ensemble.data
    assert isinstance(back, xr.Dataset)
    assert back["v"].attrs["units"] == "K"
    np.testing.assert_array_equal(back["u"].transpose("member", "time"), X[..., 0])


def test_masks_and_dates_of_xarray():
    mask = array().isnull()
    mask.loc[{"time": TIME[3]}] = True
    assert eg.Ensemble(array(), mask=mask).samples == 177
    dates = array().assign_coords(time=pd.date_range("2000-01-01", periods=60, freq="12h"))
    assert eg.Ensemble(dates, time_unit="D").dt == pytest.approx(0.5)
    refused("give time_unit=", dates)


def test_refused_of_xarray():
    refused("none is called time", array(dims=("member", "step", "variable"), coords={}))
    refused("at most one of each", array(dims=("lat", "time", "lon"), coords={}), dt=1)
    refused("hold times.*drop_vars", array(), dt=1)
    refused("rename the dimensions", array(), t="time")
    objects = array().assign_coords(time=[object() for _ in TIME])
    refused("are objects", objects)
    mixed = xr.Dataset({"u": (("time",), TIME), "v": (("time", "z"), X[0])})
    refused("different dimensions", mixed, dt=1)


def frame(**more):
    return pd.DataFrame({"u": X[0, :, 0], "v": X[0, :, 1], **more})


def test_data_frame():
    ensemble = eg.Ensemble(frame(), dt=0.5)
    assert ensemble.names == ["u", "v"]
    np.testing.assert_array_equal(ensemble.x[0], X[0])
    by_column = eg.Ensemble(frame(time=TIME), t="time")
    by_index = eg.Ensemble(frame().set_index(pd.Index(TIME, name="time")))
    dates = pd.date_range("2000-01-01", periods=60, freq="30min", tz="UTC")
    by_dates = eg.Ensemble(frame().set_index(dates), time_unit="h")
    by_array = eg.Ensemble(frame(), t=TIME)
    for other in (by_column, by_index, by_dates, by_array):
        assert other.fingerprint() == eg.Ensemble(X[0], t=TIME, names=["u", "v"]).fingerprint()
    assert eg.Ensemble(frame()["u"], dt=1).names == ["u"]
    gaps = frame()
    gaps.loc[5, "u"] = None
    assert eg.Ensemble(gaps, dt=1).samples == 59


def test_data_frame_of_trajectories():
    table = pd.concat([pd.DataFrame({"run": k, "t": TIME, "u": x[:, 0], "v": x[:, 1]}) for k, x in enumerate(X)])
    table = table.reset_index(drop=True)
    ensemble = eg.Ensemble(table, t="t", trajectory="run")
    np.testing.assert_array_equal(ensemble.x, X)
    assert ensemble.dt == 0.5


def test_refused_of_pandas():
    refused("named like times.*t='time'", frame(time=TIME), dt=1)
    refused("may be times or labels", frame().set_index(pd.Index(TIME, name="depth")))
    refused("dt is given, but the index", frame().set_index(pd.Index(TIME, name="time")), dt=1)
    refused("hold no numbers", frame(flag=True), dt=1)
    refused("several levels", frame().set_index(["u", "v"], append=True), dt=1)
    refused("no column 'q'", frame(), t="q")
    refused("no column 'q'", frame(), dt=1, trajectory="q")
    refused("is a pandas object", [frame(), frame()], dt=1)


def test_fields_and_simulations_come_back_as_xarray(data):
    dims = ("trajectory", "time", "variable")
    coords = {"time": ("time", data.t, {"units": "s"}), "variable": ["u", "v"]}
    record = xr.DataArray(data.x, dims=dims, coords=coords, attrs={"units": "m"})
    model = eg.Langevin().fit(record)
    assert model.units_ == {"u": "m", "v": "m"}
    states = record.isel(time=slice(0, 5))
    drift = model.drift(states)
    assert drift.dims == dims
    assert list(drift["variable"].values) == ["u", "v"]
    np.testing.assert_array_equal(drift.values, model.drift(states.values))
    mobility = model.mobility(states)
    assert mobility.dims == (*dims, "variable_j")
    # Coordinates in another order are put right by their names.
    xr.testing.assert_equal(model.drift(states.isel(variable=[1, 0])), drift)
    np.testing.assert_array_equal(model.drift(states.to_dataset(dim="variable")), drift)
    with pytest.raises(eg.InputError, match="same names"):
        model.drift(states.assign_coords(variable=["u", "w"]))
    simulated = model.simulate(1.0, dt=0.01, save_every=0.1, trajectories=2)
    assert simulated.data.dims == dims
    assert simulated.data["time"].attrs["units"] == "s"
    assert list(simulated.data["units"].values) == ["m", "m"]
    table = pd.DataFrame(states.values[0], columns=["u", "v"])
    np.testing.assert_array_equal(model.drift(table[["v", "u"]]), drift.values[0])
    other = eg.Ensemble(data.x, dt=data.dt, names=["v", "u"])
    with pytest.raises(eg.InputError, match="same order"):
        model.validate(other)
