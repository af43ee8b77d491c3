"""Fits: manners, fields, simulations, files."""

import copy
import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import ergode as eg
from conftest import record

DOCS = Path(__file__).resolve().parents[2] / "docs"


def clone(estimator):
    """As scikit-learn clones: by the parameters, each of which must be kept as it was given."""
    parameters = estimator.get_params(deep=False)
    again = type(estimator)(**parameters)
    for name, value in parameters.items():
        assert getattr(again, name) is value
    return again


def test_parameters():
    model = eg.Langevin(recipe="weak", seed=3, options={"mobility.horizon": 2.0})
    assert repr(model) == "Langevin(recipe='weak', seed=3, options={'mobility.horizon': 2.0})"
    named = [p.name for p in inspect.signature(eg.Langevin).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert list(model.get_params()) == named
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert model.set_params(seed=4) is model
    assert (model.seed, again.seed) == (4, 3)
    with pytest.raises(eg.InputError, match="no parameter 'sed'; the parameters are recipe, seed"):
        model.set_params(sed=1)


def test_clone_by_scikit_learn(model):
    base = pytest.importorskip("sklearn.base")
    again = base.clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "results_")


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m.drift([[0, 0]]),
        lambda m: m.simulate(1.0),
        lambda m: m.validate(),
        lambda m: m.report(),
        lambda m: m.save("nowhere"),
        lambda m: m.figures("nowhere"),
        eg.plot.mobility,
        eg.plot.correlations,
    ],
)
def test_nothing_before_a_fit(use):
    with pytest.raises(eg.NotFittedError, match="call fit"):
        use(eg.Langevin())


def test_configuration_is_checked():
    def refused(message, **parameters):
        with pytest.raises(eg.InputError, match=message):
            eg.Langevin(**parameters).fit(np.zeros((9, 1)), dt=1)

    refused("options: mobility.recipe=\"best\"", recipe="best")
    refused("unknown key `horizons`", options={"mobility.horizons": 1})
    refused("is of type set", options={"seed": {1}})
    with pytest.raises(eg.InputError, match="no target y"):
        eg.Langevin().fit(np.zeros((9, 1)), [1], dt=1)


def test_errors_of_the_library_come_through(data):
    t = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.1, size=data.x.shape[1]))
    with pytest.raises(eg.InputError, match="even"):
        eg.Langevin(options={"delays.count": 1}).fit(data.x, t=t)
    with pytest.raises(eg.InputError, match="held_out"):
        eg.Langevin(held_out=2.0).fit(data)


def test_results(model, data):
    assert model.fit.__self__ is model
    assert model.results_["seed"] == 0
    assert model.results_["data"] == data.fingerprint()
    assert model.n_features_in_ == 2
    assert model.names_ == data.names
    assert model.config_["held_out"] == 0.25
    assert json.loads((model.run_ / "results.json").read_text()) == model.results_
    assert set(model.coefficients(standardised=True)) == set(model.results_["mobility"]["coefficients"])
    assert "fitted" in repr(model)
    assert "pass" in model._repr_html_()


@pytest.mark.parametrize(
    "recipe",
    ["semigroup", "auto"],
)
def test_fields_of_an_exactly_known_process(recipe):
    """s, M, D and the drift of an Ornstein-Uhlenbeck process, by the spread over independent records."""
    system = eg.systems.ou()
    models = [eg.Langevin(recipe=recipe).fit(record(seed=seed), exact=system) for seed in range(20, 28)]
    x = np.array([[0.7, -0.4], [-1.1, 0.2]])

    def largest_z(name, factor):
        found = np.array([getattr(model, name)(x) for model in models])
        exact = factor * getattr(system, name)(x)
        error = found.std(axis=0, ddof=1) / np.sqrt(len(models))
        return np.max(np.abs(found.mean(axis=0) - exact) / error)

    for name in ("score_function", "mobility", "diffusion", "drift"):
        assert largest_z(name, 1.0) < 5.0, name
        # The twin: the same field, ten percent larger.
        assert largest_z(name, 1.1) > 5.0, name
    assert set(models[0].results_["truth"]) >= {"score_rel_l2", "D_rel_l2"}


def test_errors_of_fields(model, tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 5, 2))
    for name in ("score_function", "drift", "mobility", "diffusion", "div_mobility"):
        field = getattr(model, name)
        values, errors = field(x, return_std=True)
        np.testing.assert_array_equal(values, field(x))
        assert errors.shape == values.shape and np.all(errors >= 0)
    assert np.all(model.drift(x, return_std=True)[1] > 0)
    # A model that was saved without them.
    folder = model.save(tmp_path / "run")
    description = json.loads((folder / "model.json").read_text())
    del description["mobility"]["linear"]["errors"]
    with pytest.raises(ValueError, match="changed after it was written"):
        (folder / "model.json").write_text(json.dumps(description))
        eg.load(folder)
    del description["description_checksum"]
    (folder / "model.json").write_text(json.dumps(description))
    old = eg.load(folder)
    np.testing.assert_array_equal(old.drift(x), model.drift(x))
    old.score_function(x, return_std=True)
    with pytest.raises(ValueError, match="error of drift is not known: the mobility"):
        old.drift(x, return_std=True)


def test_the_drift_of_a_mobility_agrees_with_the_score(data):
    """Recipe weak makes the drift with the score, recipe semigroup with averages of M alone."""
    x = np.random.default_rng(0).normal(size=(3, 5, 2))

    def with_score(model):
        along = np.einsum("...ij,...j->...i", model.mobility(x), model.score_function(x))
        return along + model.div_mobility(x)

    weak = eg.Langevin(recipe="weak").fit(data)
    np.testing.assert_allclose(weak.drift(x), with_score(weak), atol=1e-12)
    model = eg.Langevin(recipe="semigroup").fit(data)
    drift, error = model.drift(x, return_std=True)
    assert not np.allclose(drift, with_score(model), atol=1e-12)
    assert np.all(np.abs(drift - with_score(model)) < 5 * error)


def test_fields_are_consistent(model):
    x = np.random.default_rng(0).normal(size=(3, 5, 2))
    s, m, d = model.score_function(x), model.mobility(x), model.diffusion(x)
    assert (s.shape, m.shape) == ((3, 5, 2), (3, 5, 2, 2))
    np.testing.assert_allclose(d, 0.5 * (m + np.swapaxes(m, -1, -2)), atol=1e-14)
    # div M by central differences.
    step = 1e-5
    div = sum(
        (model.mobility(x + step * e) - model.mobility(x - step * e))[..., :, j] / (2 * step)
        for j, e in enumerate(np.eye(2))
    )
    np.testing.assert_allclose(model.div_mobility(x), div, atol=1e-7)
    # One state, many states, other layouts.
    np.testing.assert_array_equal(model.drift(x[0, 0]), model.drift(x)[0, 0])
    np.testing.assert_array_equal(model.drift(np.asfortranarray(x)), model.drift(x))
    many = np.tile(x.reshape(-1, 2), (300, 1))
    np.testing.assert_array_equal(model.drift(many)[:15], model.drift(x).reshape(-1, 2))
    assert model.drift(np.zeros((0, 2))).shape == (0, 2)
    for wrong in (1.0, [1.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(eg.InputError, match="the last axis must hold the 2 coordinates"):
            model.drift(wrong)


def test_one_coordinate(tmp_path):
    system = eg.systems.ou(mean=[0.0], drift=[[1.0]], diffusion=[[1.0]])
    data = system.generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
    model = eg.Langevin().fit(data)
    x = np.linspace(0.5, 2, 7)
    assert model.drift(x).shape == (7,)
    assert model.mobility(x).shape == (7,)
    np.testing.assert_array_equal(model.mobility(x[:, None])[:, 0, 0], model.mobility(x))
    assert len(eg.plot.mobility(model, exact=system).axes) == 1


def test_simulations(model):
    how = {"dt": 0.01, "save_every": 0.1, "trajectories": 3}
    run = model.simulate(5.0, seed=1, **how)
    assert run.x.shape == (3, 51, 2)
    assert run.names == model.names_
    assert run.attrs["protocol"]["dt"] == 0.01
    np.testing.assert_array_equal(run.x, model.simulate(5.0, seed=1, **how).x)
    assert not np.array_equal(run.x, model.simulate(5.0, seed=2, **how).x)
    assert model.simulate(1.0, save_every=0.1).dt == pytest.approx(0.1)
    plain = model.simulate(1.0).attrs["protocol"]
    assert plain["dt"] == model.results_["validation"]["dt"]
    validated = json.loads((model.run_ / "model.json").read_text())["validated_step"]
    assert plain["scheme"] == validated["scheme"]
    # Values of a simulation are not copied on their way to NumPy.
    assert run.x.__array_interface__["data"] == run.x.__array_interface__["data"]
    assert np.shares_memory(run.x, run.trajectories[1])
    with pytest.raises(eg.InputError, match="trajectories must be at least 1"):
        model.simulate(1.0, dt=0.01, trajectories=0)
    with pytest.raises(eg.InputError):
        model.simulate(1.0, dt=-0.01)


def test_validation(model, tmp_path):
    other = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=2)
    assert model.validate() is model.validation_
    validation = model.validate(other)
    assert validation.verdict == "pass"
    assert validation.summary["verdict"] == "pass"
    curve = validation.curves()[0]
    assert curve.data.shape == curve.error.shape == curve.axes[0][1].shape
    assert list(curve.models) == ["learned model", "constant closure"]
    assert validation.curves("joints")[0].data.ndim == 2
    assert "noise floor" in repr(validation)
    assert "<table>" in validation._repr_html_()
    assert pickle.loads(pickle.dumps(validation)).page.html == validation.page.html
    assert validation.to_html(tmp_path / "v.html").read_text().startswith("<!")
    with pytest.raises(eg.InputError, match="no family"):
        validation.curves("moments")
    with pytest.raises(eg.InputError, match="3 coordinates, the model 2"):
        model.validate(np.random.default_rng(0).normal(size=(99, 3)), dt=1)
    # A planted defect: the same process four times as fast must not pass.
    assert model.validate(other.x, dt=other.dt / 4).verdict == "fail"


def test_check(data, tmp_path):
    found = eg.check(data)
    assert found.verdict == "pass"
    assert found.coordinates[0]["name"] == data.names[0]
    assert found.to_dict()["samples"] == data.samples
    assert found.to_html(tmp_path / "c.html").exists()
    assert "verdict: pass" in repr(found)
    assert "<table>" in found._repr_html_()
    walk = np.cumsum(np.random.default_rng(0).normal(size=(2000, 1)), axis=0)
    assert eg.check(walk, dt=1.0).verdict == "fail"


def test_report(model, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = model.report(tmp_path / "r.html", show=True)
    assert opened == [(tmp_path / "r.html").as_uri()]
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page.html
    assert page._repr_html_().startswith("<iframe")
    assert model.report().show().exists()
    assert all(file.suffix == ".svg" for file in model.figures(tmp_path / "figures"))


def same(a, b):
    assert a.results_ == b.results_
    assert a.validation_.to_dict() == b.validation_.to_dict()
    assert a.config_ == b.config_
    x = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_array_equal(a.drift(x), b.drift(x))
    np.testing.assert_array_equal(a.simulate(1.0, dt=0.01).x, b.simulate(1.0, dt=0.01).x)
    assert a.report().html == b.report().html


def test_saved_and_loaded(model, tmp_path):
    folder = model.save(tmp_path / "deep" / "run")
    same(eg.load(folder), model)
    assert not (folder / "stages" / "lock").exists()
    with pytest.raises(eg.InputError, match="exists"):
        model.save(folder)
    same(eg.load(model.save(folder, overwrite=True)), model)
    # A loaded model is saved again, and a fit with its parameters repeats it.
    same(eg.load(eg.load(folder).save(tmp_path / "again")), model)
    (tmp_path / "other").mkdir()
    with pytest.raises(eg.InputError, match="not the folder of a run"):
        model.save(tmp_path / "other", overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "deep", "other"]
    with pytest.raises(eg.InputError, match="finished `ergode fit`"):
        eg.load(tmp_path / "other")


def test_pickled(model):
    same(pickle.loads(pickle.dumps(model)), model)
    same(copy.deepcopy(model), model)
    bare = pickle.loads(pickle.dumps(eg.Langevin(seed=5)))
    assert bare.seed == 5
    assert not hasattr(bare, "results_")
    for error in (eg.InputError("a"), eg.NumericalError("b"), eg.NotFittedError("c")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and again.args == error.args


def test_run_folder(data, tmp_path):
    first = eg.Langevin(run=tmp_path / "run").fit(data)
    assert first.run_ == tmp_path / "run"
    # Finished stages in the folder are reused.
    again = eg.Langevin(run=tmp_path / "run").fit(data)
    assert again.results_ == first.results_
    other = eg.Langevin(config=first.run_ / "config.toml", seed=1).fit(data)
    assert other.results_["seed"] == 1


def test_systems():
    makers = set(eg.systems.__all__) - {"System", "names"}
    assert set(eg.systems.names()) == {name.replace("_", "-") for name in makers}
    for name in sorted(makers):
        system = getattr(eg.systems, name)()
        again = pickle.loads(pickle.dumps(system))
        assert repr(again) == repr(system)
        data = system.generate(time=1.0, trajectories=2, burn_in=0.0, seed=3)
        assert data.names == system.coordinates
        assert system.drift(data.x[0, :2]).shape == (2, data.dim)
    with pytest.raises(eg.InputError, match="unknown parameter"):
        eg.systems.ou(speed=1)
    with pytest.raises(eg.InputError, match="no scheme"):
        eg.systems.ou().generate(scheme="heun")
    with pytest.raises(eg.InputError, match="the last axis"):
        eg.systems.ou().drift([1.0, 2.0, 3.0])


def test_seasons_are_part_of_the_model():
    data = eg.Ensemble.read(DOCS / "data" / "nino.csv", columns=["nino34"])
    model = eg.Langevin(options={"cycle.period": 12}).fit(data)
    climatology = model.results_["validation"]["climatology"]
    assert climatology["period"] == 12 and climatology["mean_worst_z"] < 4.5
    made = model.simulate(1200.0, save_every=1.0, trajectories=4, start=732.0)
    x = np.asarray(made.x).reshape(4, -1)
    # The first sample is in January, the coldest months; May is the warmest.
    assert x[:, 4::12].mean() - x[:, 0::12].mean() > 0.8
    state = model.simulate(1200.0, save_every=1.0, start=732.0, state=True)
    assert abs(np.asarray(state.x).mean()) < 0.5
