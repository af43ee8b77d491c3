"""Forecasts, dates, physics, comparison: what is wanted once a model is fitted."""

import json
import pickle
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import ergode as eg
import harness
from ergode._dates import Epoch, dates_of, numbers_of


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


SCRIPTS = (Path(__file__).parents[2] / "docs/forecast.md").read_text(encoding="utf-8").split("```python\n")[1:]


@pytest.mark.parametrize("k", range(4))
def test_scripts_of_the_page(k, capsys):
    code = SCRIPTS[k].split("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) < 25
    names = {}
    exec(code, names)
    assert capsys.readouterr().out
    if k == 0:
        table = names["table"]
        assert list(table.columns) == ["sst", "sst_sd", "sst_q05", "sst_q50", "sst_q95"]
        assert table.index[0] == pd.Timestamp("2020-01-01") and table.index[-1] == pd.Timestamp("2021-12-01")
        truth = 20 + 0.002 * np.arange(480, 504) + 3 * np.cos(2 * np.pi * np.arange(480, 504) / 12)
        assert np.abs(table["sst"].to_numpy()[6:] - truth[6:]).max() < 1.2
    if k == 1:
        there, check = names["there"], names["check"]
        assert there.route == "generator" and check.passages > 100
        assert abs(there.mean - check.mean) < 4 * np.hypot(there.stderr, check.stderr) + 0.05 * there.mean
    if k == 3:
        assert np.is_busday(names["ahead"].to_pandas().index.to_numpy().astype("M8[D]")).all()
        assert set(names["table"].to_pandas().index) == {"semigroup", "generator"}


@pytest.mark.parametrize(
    ("unit", "dates"),
    [
        ("M", pd.date_range("2000-01-31", periods=30, freq="ME")),
        ("M", pd.date_range("2000-01-15", periods=30, freq="D")),
        ("Y", pd.date_range("2000-01-01", periods=9, freq="YS")),
        ("B", pd.bdate_range("2000-01-03", periods=30)),
        ("D", pd.date_range("2000-01-01", periods=30, freq="6h")),
        ("h", pd.date_range("2000-01-01", periods=30, freq="90s")),
    ],
)
def test_dates_and_back(unit, dates):
    numbers, epoch = numbers_of(dates.to_numpy(), unit)
    assert numbers[0] == 0.0 or (unit == "M" and epoch.anchor is None)
    off = np.abs((dates_of(numbers, epoch) - dates.to_numpy()) / np.timedelta64(1, "s"))
    assert off.max() <= 1.0
    if epoch.anchor is not None or unit == "B":
        np.testing.assert_array_equal(np.diff(numbers), 1.0)


def test_dates_that_cannot_be():
    with pytest.raises(eg.InputError, match="weekend"):
        numbers_of(np.array(["2000-01-01"], dtype="M8[D]"), "B")
    with pytest.raises(eg.InputError, match="missing dates"):
        numbers_of(np.array(["NaT"], dtype="M8[D]"), "D")
    # A common date of time zero.
    table = pd.DataFrame(
        {"run": [0] * 5 + [1] * 5, "t": pd.date_range("2000-01-01", periods=10), "x": np.arange(10.0)}
    )
    ensemble = eg.Ensemble(table, id="run", t="t", time_unit="D")
    assert ensemble.t[1][0] == 5.0
    assert ensemble.dates[1][0] == np.datetime64("2000-01-06")
    assert dates_of([1.0], Epoch("2000-01", "Y", "0.0"))[0] == np.datetime64("2001-01-01")


@pytest.fixture(scope="module")
def seasonal():
    """A model of anomalies: a season and a trend taken off."""
    rng, n = np.random.default_rng(3), 600
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = 0.6 * noise[i - 1] + 0.8 * rng.normal()
    values = 5 + 0.01 * np.arange(n) + 2 * np.cos(2 * np.pi * np.arange(n) / 12) + noise
    frame = pd.DataFrame({"y": values}, index=pd.date_range("1950-01-31", periods=n, freq="ME"))
    options = {"cycle.period": 12, "trend": "linear"}
    return eg.Langevin(seed=0, options=options).fit(frame, time_unit="M"), frame


def test_records_and_anomalies_are_not_confused(seasonal):
    model, frame = seasonal
    anomaly = model.anomaly(frame)
    back = model.record(anomaly)
    np.testing.assert_allclose(back.x[0], frame.to_numpy(), atol=1e-9)
    assert list(back.dates[:2]) == [np.datetime64("1950-01-31"), np.datetime64("1950-02-28")]
    drift = model.drift(anomaly)
    np.testing.assert_allclose(model.drift(frame), drift[0], atol=1e-12)
    dates = frame.index.to_numpy()
    np.testing.assert_allclose(model.drift(frame["y"].to_numpy()[:, None], t=dates), drift[0], atol=1e-12)
    with pytest.warns(UserWarning, match="far outside the samples.*anomaly"):
        model.drift([500.0])
    # Other data of the same process, whose first date is another one.
    later = frame.iloc[120:]
    np.testing.assert_allclose(model.anomaly(later).x[0], anomaly.x[0][120:], atol=1e-9)
    ahead = model.forecast(later, horizon=3, trajectories=10)
    assert list(ahead.to_pandas().index) == list(pd.date_range("2000-01-31", periods=3, freq="ME"))
    assert ahead.to_xarray()["y"].dims == ("member", "time")
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.forecast(later, horizon=3, trajectories=10).mean, ahead.mean)


def test_simulations_start_where_they_are_told(seasonal, model):
    dated, frame = seasonal
    run = dated.simulate(time=24, save_every=1.0, x0=frame.iloc[-1], trajectories=3)
    np.testing.assert_allclose(run.x[:, 0, 0], frame["y"].iloc[-1])
    assert run.dates[0] == np.datetime64("1999-12-31")
    with pytest.raises(eg.InputError, match="start="):
        dated.simulate(time=2, x0=[1.0])
    run = model.simulate(time=1.0, save_every=0.5, x0=[[0.5, -0.5], [1.0, 0.0]], trajectories=2, seed=3)
    np.testing.assert_allclose(run.x[:, 0], [[0.5, -0.5]] * 2 + [[1.0, 0.0]] * 2)
    with pytest.raises(eg.InputError, match="x0 of shape"):
        model.simulate(time=1.0, x0=[1.0, 2.0, 3.0])


def test_forecasts_of_arrays(model, data, cli, folder):
    ahead = model.forecast(data, horizon=1.0, trajectories=50, every=1000)
    assert ahead.members.shape == (len(ahead.starts), 50, 20, 2)
    table = ahead.to_pandas()
    assert table.index.names == ["start", "time"]
    np.testing.assert_allclose(table["x1"].to_numpy(), ahead.mean[..., 0].reshape(-1))
    assert ahead.to_xarray()["x1"].dims == ("start", "member", "lead")
    assert eg.plot.forecast(ahead, data, members=2).axes
    with pytest.raises(eg.InputError, match="'continue' or 'hold'"):
        model.forecast(data, horizon=1.0, trend="up")
    # The same by the command line.
    data.write(folder / "data.npz")
    model.save(folder / "run")
    out = cli("forecast", folder / "run", folder / "data.npz", "-o", folder / "ahead.npz", "--horizon", "1", "--json")
    assert len(json.loads(out)["starts"]) == 8
    written = eg.Ensemble.read(folder / "ahead.npz")
    assert written.names[:3] == ["x1", "x1_sd", "x1_q05"]
    found = model.forecast(data, horizon=1.0)
    np.testing.assert_allclose(written.x[:, :, 0], found.mean[..., 0], rtol=1e-9, atol=1e-12)


def test_physics_of_a_rotation(model):
    states = np.array([[0.0, 0.0], [0.5, -0.5]])
    potential, off = model.potential(states, return_path_difference=True)
    assert potential.shape == (2,) and np.all(off < 1e-9)
    np.testing.assert_allclose(np.exp(-potential), model.density(states))
    assert model.current(states).shape == (2, 2)
    assert len(model.rates()) == 4 and model.rates()[0].interval[0] < model.rates()[0].time
    assert model.entropy_production_[1] > 0
    ball = model.first_passage(([0.0, 0.0], 0.5), {"x1": (1.5, 9.0)})
    again = model.first_passage(lambda x: x @ x <= 0.25, lambda x: x[0] >= 1.5)
    assert ball.mean == pytest.approx(again.mean, rel=0.1)
    with pytest.raises(eg.InputError, match="name one"):
        model.first_passage((0, 1), (1, 2))
    with pytest.raises(ZeroDivisionError):
        model.first_passage(lambda x: 1 / 0, {"x1": (1.5, 9.0)})
    kick = model.response({"x1": 0.5}, time=1.0, save_every=0.25, trajectories=200)
    np.testing.assert_allclose(kick.mean[0], [0.5, 0.0], atol=1e-12)
    assert list(kick.to_pandas().columns) == ["x1", "x2"]


def test_manners(model, data):
    assert "plot" in dir(eg) and not [name for name in dir(eg) if name.startswith("_") and name != "__version__"]
    assert 3 <= len(str(model).splitlines()) <= 8
    with pytest.warns(FutureWarning, match="score_kind"):
        assert eg.Langevin(score="auto").score_kind == "auto"
    assert eg.Langevin().set_params(score_kind="closed-form").get_params()["score_kind"] == "closed-form"
    with pytest.raises(TypeError, match="unexpected"):
        eg.Langevin(nothing=1)
    assert 0.0 < model.score(data) < 1.0
    assert len(list(data)) == 8 and len(data[2:4]) == 2 and len(eg.concatenate([data[0], data[1:3]])) == 3
    table = data.to_pandas()
    assert list(table.columns) == ["trajectory", "x1", "x2"] and len(table) == data.samples
    words = pd.DataFrame({"u": [1.0, 2.0, 3.0], "who": ["a", "b", "c"]})
    with pytest.warns(UserWarning, match="who hold text"):
        assert eg.Ensemble(words, dt=1.0).names == ["u"]


def test_comparisons(model):
    table = eg.compare({"a": model})
    assert table.to_pandas().loc["a", "verdict"] == model.validation_.verdict
    assert "verdict" in repr(table) and table.plot().axes


def test_plots(model, data):
    for draw in ("drift", "diffusion", "potential", "current", "phase_portrait", "timescales", "skill"):
        _, ax = pyplot.subplots()
        assert getattr(eg.plot, draw)(model, ax=ax) is ax.get_figure(), draw
    assert eg.plot.trajectory(data).axes[0].get_xlabel() == "time"
    assert eg.plot.spectrum(model).axes
    _, ax = pyplot.subplots()
    assert eg.plot.densities(model, ax=ax).axes == [ax]


def test_scikit_learn(data):
    selection = pytest.importorskip("sklearn.model_selection")
    from sklearn.base import clone

    estimator = eg.Langevin(seed=0)
    assert clone(estimator.set_params(held_out=0.3)).held_out == 0.3
    scores = selection.cross_val_score(eg.Langevin(seed=0), data, cv=2)
    assert scores.shape == (2,) and (scores > 0.0).all()


def test_coefficients_say_their_units(model):
    raw, standardised = model.coefficients(), model.coefficients(standardised=True)
    assert raw == model.coefficients_
    assert set(standardised) == set(model.results_["mobility"]["coefficients"])
    # b and D have errors whatever the recipe.
    assert all(error is not None and error > 0 for _, error in raw.values())
    scales = model.results_["equation"]["standardisation"]
    assert len(scales["mean"]) == len(scales["scale"]) == 2
    x = model.drift([[0.0, 0.0]])[0]
    assert raw["b[x1]: 1"][0] == pytest.approx(x[0], abs=1e-9)
    assert "units of the record" in model._repr_html_()


def test_frames_come_back_as_frames(model):
    frame = pd.DataFrame({"x2": [0.1, 0.2, 0.3], "x1": [0.5, 0.0, -0.5]}, index=pd.Index(["a", "b", "c"], name="cell"))
    states = frame[["x1", "x2"]].to_numpy()
    drift, error = model.drift(frame, return_std=True)
    for found, expected in zip((drift, error), model.drift(states, return_std=True)):
        assert list(found.columns) == ["x1", "x2"] and found.index.equals(frame.index)
        np.testing.assert_array_equal(found, expected)
    matrices = model.diffusion(frame)
    np.testing.assert_array_equal(matrices["x1"]["x2"], model.diffusion(states)[:, 0, 1])
    potential = model.potential(frame)
    assert isinstance(potential, pd.Series) and potential.index.equals(frame.index)
    np.testing.assert_array_equal(potential, model.potential(states))
    row = model.drift(frame.iloc[1])
    assert list(row.index) == ["x1", "x2"]
    np.testing.assert_array_equal(row, model.drift(states[1]))
    assert model.potential(frame.iloc[1]) == model.potential(states)[1]
    with pytest.raises(eg.InputError, match="no column 'x2'"):
        model.drift(frame[["x1"]])


def test_states_far_outside_warn_once(data):
    model = eg.Langevin(seed=0).fit(data)
    with pytest.warns(UserWarning, match="far outside the samples"):
        model.drift([[100.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.drift([[100.0, 0.0]])


@pytest.fixture(scope="module")
def tracks():
    """A long table of cells with ids, a text column, and values lost in one coordinate."""
    rng = np.random.default_rng(0)
    parts = []
    for k, count in enumerate((200, 300, 250)):
        values = np.cumsum(rng.normal(size=(count, 2)), axis=0)
        part = pd.DataFrame(values, columns=["u", "v"])
        part.insert(0, "cell", f"c{k}")
        part.insert(1, "hour", np.arange(count) * 0.5)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table.loc[[3, 400, 600], "u"] = np.nan
    return table


def test_ids_are_kept(tracks, folder, cli):
    data = eg.Ensemble(tracks, id="cell", t="hour", time_unit="h", units={"u": "um"})
    assert data.ids == ["c0", "c1", "c2"] and data[1:].ids == ["c1", "c2"]
    assert eg.concatenate([data[0], data[2]]).ids == ["c0", "c2"]
    assert [one.ids for one in data] == [["c0"], ["c1"], ["c2"]]
    # A lost value costs its row alone, and one in a hundred is no warning.
    assert data.samples == len(tracks) - 3 and not data.warnings
    assert list(data.to_pandas()["cell"].unique()) == data.ids
    data.write(folder / "a.csv")
    again = eg.Ensemble.read(folder / "a.csv")
    assert again.samples == data.samples and len(again) == 3
    data.write(folder / "a.nc")
    again = eg.Ensemble.read(folder / "a.nc")
    assert again.units == {"u": "um"} and again.time_unit == "h"
    wrong = tracks.copy()
    wrong.loc[250, "hour"] = -1.0
    with pytest.raises(eg.InputError, match=r"trajectory 1 \(c1\)"):
        eg.Ensemble(wrong, id="cell", t="hour")
    # Trajectories of different lengths one after another, there and back.
    ragged = data.to_xarray()
    assert ragged.dims == ("sample", "coordinate") and list(np.unique(ragged["cell"])) == data.ids
    again = eg.Ensemble(ragged.rename(cell="trajectory"))
    assert again.fingerprint() == data.fingerprint() and again.ids == data.ids
    assert again.units["u"] == "um" and again.time_unit == "h"


def test_dates_of_files(folder):
    frame = pd.DataFrame({"y": np.arange(30.0)}, index=pd.date_range("2000-01-31", periods=30, freq="ME"))
    data = eg.Ensemble(frame, time_unit="M")
    data.write(folder / "a.csv")
    again = eg.Ensemble.read(folder / "a.csv", time_unit="M")
    assert again.dt == 1.0 and again.fingerprint() == data.fingerprint()
    np.testing.assert_array_equal(again.dates, data.dates)
    days = eg.Ensemble.read(folder / "a.csv")
    assert days.time_unit == "D" and days.dates[1] == np.datetime64("2000-02-29")
    with pytest.raises(eg.InputError, match="are numbers"):
        eg.Ensemble(np.arange(9.0), dt=1).write(folder / "b.csv")
        eg.Ensemble.read(folder / "b.csv", time_unit="M")


@pytest.mark.parametrize("calendar", ["noleap", "360_day", "standard"])
@pytest.mark.parametrize(("freq", "unit"), [("MS", "M"), ("D", "D"), ("YS", "Y")])
def test_dates_of_climate_models(calendar, freq, unit):
    xarray = pytest.importorskip("xarray")
    dates = xarray.date_range("1999-11-01", periods=40, freq=freq, calendar=calendar, use_cftime=True)
    numbers, epoch = numbers_of(dates.to_numpy(), unit)
    np.testing.assert_allclose(np.diff(numbers), 1.0)
    assert list(dates_of(numbers, epoch)) == list(dates)
    array = xarray.DataArray(np.arange(40.0) % 7, dims="time", coords={"time": dates}, name="y")
    data = eg.Ensemble(array, time_unit=unit)
    assert data.dt == 1.0 and list(data.dates) == list(dates)
    assert list(data.to_xarray()["time"].values) == list(dates)


def test_months_by_their_middle_are_even():
    cftime = pytest.importorskip("cftime")
    dates = np.array(
        [cftime.DatetimeNoLeap(2000, month + 1, 1) for month in range(12)], dtype=object
    )
    middle = np.array([date + (date.daysinmonth * np.timedelta64(12, "h")).item() for date in dates], dtype=object)
    numbers, epoch = numbers_of(middle, "M")
    np.testing.assert_allclose(np.diff(numbers), 1.0)
    assert list(dates_of(numbers, epoch)) == list(middle)
    with pytest.raises(eg.InputError, match="calendar"):
        numbers_of(np.array(["2000-01-01"], dtype="M8[D]"), "M", epoch)


def test_forecasts_of_a_climate_model():
    xarray = pytest.importorskip("xarray")
    dates = xarray.date_range("1850-01-16", periods=360, freq="MS", calendar="360_day", use_cftime=True)
    rng, y = np.random.default_rng(2), np.zeros(360)
    for k in range(1, 360):
        y[k] = 0.7 * y[k - 1] + rng.normal()
    array = xarray.DataArray(y, dims="time", coords={"time": dates}, name="y")
    model = eg.Langevin().fit(array, time_unit="M")
    ahead = model.forecast(array, horizon=3, trajectories=8)
    assert [str(date)[:10] for date in ahead.dates[0]] == ["1880-02-01", "1880-03-01", "1880-04-01"]
    assert ahead.to_xarray()["time"].values[0].calendar == "360_day"
    assert ahead.to_pandas().index[0] == ahead.dates[0][0]
    assert eg.plot.forecast(ahead, eg.Ensemble(array, time_unit="M")).axes


def test_a_monthly_record_by_the_command_line(cli, folder):
    rng, n = np.random.default_rng(5), 480
    noise = np.zeros(n)
    for k in range(1, n):
        noise[k] = 0.6 * noise[k - 1] + 0.8 * rng.normal()
    months = pd.date_range("1980-01-31", periods=n, freq="ME")
    season = 20 + 0.002 * np.arange(n) + 3 * np.cos(2 * np.pi * np.arange(n) / 12)
    frame = pd.DataFrame({"sst": season + noise}, index=pd.Index(months, name="time"))
    frame.to_csv(folder / "monthly.csv")
    changes = ("--set", "cycle.period=12", "--set", 'trend="linear"')
    cli("fit", folder / "monthly.csv", "-o", folder / "run", "--time-unit", "M", *changes)
    cli("forecast", folder / "run", folder / "monthly.csv", "-o", folder / "ahead.csv", "--horizon", 24)
    written = pd.read_csv(folder / "ahead.csv", index_col="time", parse_dates=True)
    assert list(written.index) == list(pd.date_range("2020-01-31", periods=24, freq="ME"))
    truth = 20 + 0.002 * np.arange(n, n + 24) + 3 * np.cos(2 * np.pi * np.arange(n, n + 24) / 12)
    assert np.abs(written["sst"].to_numpy()[6:] - truth[6:]).max() < 1.2
    # Python fits the same, and each forecasts with the run of the other: up to the scatter of ensembles of 200.
    model = eg.Langevin(options={"cycle.period": 12, "trend": "linear"}).fit(frame, time_unit="M")
    found = model.forecast(frame, horizon=24).to_pandas()
    np.testing.assert_allclose(found["sst"], written["sst"], atol=0.4)
    assert list(found.index) == list(written.index)
    loaded = eg.load(folder / "run")
    means = loaded.forecast(frame, horizon=24).mean, model.forecast(frame, horizon=24).mean
    np.testing.assert_allclose(*means, atol=0.4)
    model.save(folder / "python")
    cli("forecast", folder / "python", folder / "monthly.csv", "-o", folder / "again.csv", "--horizon", 24)
    again = pd.read_csv(folder / "again.csv", index_col="time", parse_dates=True)
    assert list(again.index) == list(written.index)
    np.testing.assert_allclose(again["sst"], written["sst"], atol=0.4)
    program = harness.command_line()
    arguments = ("forecast", folder / "run", folder / "monthly.csv", "-o", folder / "b.csv", "--horizon", "2")
    done = subprocess.run([program, *arguments, "--time-unit", "D"], capture_output=True, text=True)
    assert done.returncode == 2 and "fitted with --time-unit M" in done.stderr


def test_tables_of_other_libraries():
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    columns = {"run": ["a"] * 20 + ["b"] * 30, "t": [*range(20), *range(30)], "x": [float(k % 7) for k in range(50)]}
    expected = eg.Ensemble(pd.DataFrame(columns), id="run", t="t")
    for table in (polars.DataFrame(columns), arrow.table(columns)):
        found = eg.Ensemble(table, id="run", t="t")
        assert found.fingerprint() == expected.fingerprint() and found.ids == ["a", "b"]


def test_an_equation_in_other_languages(model, folder):
    states = np.random.default_rng(1).normal(size=(1000, 2)) * 0.5
    drift, diffusion = model.drift(states), model.diffusion(states)
    size = max(np.abs(drift).max(), np.abs(diffusion).max())
    names = {}
    exec(model.equation().to_python(), names)
    np.testing.assert_allclose(names["drift"](states), drift, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(names["diffusion"](states), diffusion, rtol=0, atol=1e-12 * size)
    # In raw units digits are lost where means are large beside scales.
    sympy = pytest.importorskip("sympy")
    b, D = model.equation().sympy()
    symbols = sympy.symbols("x1 x2", real=True)
    for found, wanted in ((b, drift[..., None]), (D, diffusion)):
        values = sympy.lambdify(symbols, found)
        ours = np.array([values(*state) for state in states[:50]], dtype=float)
        np.testing.assert_allclose(ours, wanted[:50].reshape(ours.shape), rtol=0, atol=1e-9 * size)
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not there")
    source = model._required().equation("rust")
    points = ", ".join(f"[{a!r}, {b!r}]" for a, b in states.tolist())
    main = f"""
fn main() {{
    let states: [[f64; 2]; 1000] = [{points}];
    for x in states {{
        let (b, d) = (drift(x), diffusion(x));
        println!("{{:?}} {{:?}} {{:?}} {{:?}} {{:?}} {{:?}}", b[0], b[1], d[0][0], d[0][1], d[1][0], d[1][1]);
    }}
}}
"""
    (folder / "equation.rs").write_text(source + main, encoding="utf-8")
    subprocess.run(["rustc", "-o", folder / "equation", folder / "equation.rs"], check=True, capture_output=True)
    printed = subprocess.run([folder / "equation"], check=True, capture_output=True, text=True).stdout
    values = np.array([line.split() for line in printed.splitlines()], dtype=float)
    np.testing.assert_allclose(values[:, :2], drift, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(values[:, 2:].reshape(-1, 2, 2), diffusion, rtol=0, atol=1e-12 * size)


def test_an_estimator_as_scikit_learn_wants_it():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    for name in (
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_no_attributes_set_in_init",
        "check_set_params",
        "check_valid_tag_types",
    ):
        getattr(checks, name)("Langevin", eg.Langevin())
    # The others fit random rows without times, which is refused.
    with pytest.raises(eg.InputError, match="dt="):
        eg.Langevin().fit(np.random.default_rng(0).normal(size=(50, 2)))


def test_daily_records_with_holidays_have_forecast_skill():
    rng, days = np.random.default_rng(4), pd.bdate_range("2008-01-02", periods=3000)
    y = np.zeros(3000)
    for k in range(1, 3000):
        y[k] = 0.9 * y[k - 1] + 0.2 * rng.normal()
    frame = pd.DataFrame({"y": y}, index=days).drop(days[rng.choice(3000, 90, replace=False)])
    model = eg.Langevin(seed=0).fit(frame, time_unit="B")
    of = model.skill()["coordinates"][0]
    assert of["linear"] is None and 0.3 < of["model"]["crps"][0] / of["climatology"]["crps"][0] < 0.9
    assert model.score(frame, time_unit="B") > 0.1
    # The innovation is what the first day cannot know.
    lead = model.skill()["leads"].index(1.0)
    expected = 0.2 / np.sqrt(np.pi)
    assert abs(of["model"]["crps"][lead] / expected - 1) < 0.1
