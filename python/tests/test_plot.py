"""Plots, and errors for what cannot be plotted."""

import numpy as np
import pytest
from matplotlib import pyplot

import ergode as eg


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_curves(model):
    figure = eg.plot.correlations(model, most=2)
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.lines] == [
        "held-out data",
        "learned model",
        "constant closure",
    ]
    # The band is two standard errors to either side.
    curve = max(model.validation_.curves(), key=eg.plot._misfit)
    band = axes.collections[0].get_paths()[0].get_extents()
    assert band.y1 == pytest.approx((curve.data + 2 * curve.error).max())
    for family in ("other_correlations", "spectra"):
        assert eg.plot.correlations(model.validation_, family=family).axes
    assert len(eg.plot.densities(model).axes) == 2


def test_mobility(model):
    # Four entries with their colour bars, and as many exact ones.
    assert len(eg.plot.mobility(model).axes) == 8
    assert len(eg.plot.mobility(model, exact=eg.systems.ou()).axes) == 16


def test_hovmoeller():
    spins = eg.systems.softspin().generate(time=0.5, trajectories=1, burn_in=0.0)
    figure = eg.plot.hovmoeller(spins, component=2, components=3)
    mesh = figure.axes[0].collections[0]
    np.testing.assert_array_equal(mesh.get_array(), spins.trajectories[0][:240, 2::3])
    with pytest.raises(eg.InputError, match="cannot divide"):
        eg.plot.hovmoeller(spins, component=3, components=3)


def test_structure(model):
    three = eg.systems.ou(mean=[0.0] * 3, drift=np.diag([1.0, 1.5, 2.0]), diffusion=np.eye(3))
    data = three.generate(time=40.0, save_every=0.2, trajectories=8)
    fitted = eg.Langevin(options={"simulate.dt": 0.02}).fit(data)
    figure = eg.plot.structure(fitted)
    image = figure.axes[0].images[0].get_array()
    assert image.shape == (3, 3)
    # M is the unit matrix, and in standardised coordinates the rates are its entries.
    rates = np.sqrt([1.0, 1.5, 2.0])
    assert np.abs(image / np.outer(rates, rates) - np.eye(3)).max() < 0.3
    with pytest.raises(eg.InputError, match="three coordinates or more"):
        eg.plot.structure(model)
    with pytest.raises(eg.InputError, match="cannot plot"):
        eg.plot.mobility(fitted)
