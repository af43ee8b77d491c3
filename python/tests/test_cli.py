"""The same numbers as the command line."""

import json

import numpy as np
import pytest

import ergode as eg


@pytest.fixture(scope="module")
def runs(cli, data, tmp_path_factory):
    """The same fit by both."""
    folder = tmp_path_factory.mktemp("cli")
    np.savez(folder / "x.npz", x=data.x, t=data.t, names=np.array(data.names))
    cli("fit", folder / "x.npz", "-o", folder / "run", "--seed", 5)
    model = eg.Langevin(seed=5).fit(data.x, t=data.t, names=data.names)
    return folder, model


def test_results_to_all_digits(runs):
    folder, model = runs
    theirs = json.loads((folder / "run" / "results.json").read_text())
    ours = json.loads((model.run_ / "results.json").read_text())
    # How long it took is the only difference.
    assert theirs.pop("wall_s").keys() == ours.pop("wall_s").keys()
    assert ours == theirs
    for name in ("model.json", "model.safetensors", "config.toml"):
        assert (folder / "run" / name).read_bytes() == (model.run_ / name).read_bytes()


def test_other_seeds_give_other_numbers(runs, data):
    _, model = runs
    other = eg.Langevin(seed=6).fit(data)
    assert other.results_["validation"] != model.results_["validation"]


def test_fields_simulations_and_validations(cli, runs, data):
    folder, model = runs
    points = data.x[0, :3000]
    np.save(folder / "points.npy", points)
    cli("eval", folder / "run", "--points", folder / "points.npy", "-o", folder / "f.npz")
    with np.load(folder / "f.npz") as fields:
        for name in ("score", "drift", "mobility", "diffusion", "div_mobility"):
            method = model.score_function if name == "score" else getattr(model, name)
            values, errors = method(points, return_std=True)
            np.testing.assert_array_equal(values, fields[name], err_msg=name)
            np.testing.assert_allclose(errors, fields[f"{name}_stderr"], rtol=1e-13, err_msg=name)
    arguments = ("--time", 20, "--save-every", 0.1, "--trajectories", 5, "--seed", 9)
    cli("simulate", folder / "run", "-o", folder / "s.npz", *arguments)
    ours = model.simulate(20, save_every=0.1, trajectories=5, seed=9)
    with np.load(folder / "s.npz") as theirs:
        np.testing.assert_array_equal(ours.x, theirs["x"])
    printed = cli("validate", folder / "run", "--against", folder / "x.npz", "--json")
    assert json.loads(printed)["validation"] == model.validate(data).summary
    printed = cli("check", folder / "x.npz", "--json")
    assert json.loads(printed) == eg.check(data.x, t=data.t, names=data.names).to_dict()


def test_each_reads_the_other(cli, runs, tmp_path):
    folder, model = runs
    loaded = eg.load(folder / "run")
    assert loaded.coefficients_ == model.coefficients_
    model.save(tmp_path / "run")
    assert "verdict" in cli("validate", tmp_path / "run")


def test_reference_data(cli, tmp_path):
    cli("generate", "affine2d", "-o", tmp_path / "a.npz", "--time", 5, "--seed", 3)
    theirs = eg.Ensemble.read(tmp_path / "a.npz")
    np.testing.assert_array_equal(eg.systems.affine2d().generate(time=5, seed=3).x, theirs.x)


def test_benchmarks_are_those_of_the_command_line(cli, tmp_path):
    step = {"simulate.dt": 0.01}
    cli("reproduce", "cir", "-o", tmp_path / "theirs", "--time", 600, "--seed", 1, "--set", "simulate.dt=0.01")
    model = eg.reproduce("cir", time=600.0, seed=1, options=step, run=tmp_path / "ours")
    theirs = json.loads((tmp_path / "theirs" / "results.json").read_text())
    ours = model.results_
    assert [n["key"] for n in ours["reproduction"]["numbers"]][:1] == ["analytic_phi"]
    for results in (theirs, ours):
        del results["wall_s"], results["reproduction"]["seconds"]
    assert ours == theirs
    assert "Comparison with the paper" in model.report().html


def test_benchmarks_that_do_not_exist_are_refused():
    with pytest.raises(eg.InputError, match="unknown variant `lorenz`"):
        eg.reproduce("lorenz")
    with pytest.raises(eg.InputError, match="held_aut"):
        eg.reproduce("cir", options={"held_aut": 0.5})
