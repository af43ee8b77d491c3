"""Panels that several figures of the gallery share."""

import numpy as np


def correlation(axes, model, number=0, scale=1.0, unit=""):
    """A correlation of held-out data, with two standard errors, and of simulations of the model."""
    curve = model.validation_.curves("correlations")[number]
    at = curve.axes[0][1] * scale
    band = curve.data - 2 * curve.error, curve.data + 2 * curve.error
    axes.fill_between(at, *band, alpha=0.25, lw=0)
    axes.plot(at, curve.data, label="held-out data")
    axes.plot(at, next(iter(curve.models.values())), "--", label="model")
    axes.set(title=f"held-out check: {model.validation_.verdict}", xlabel=f"lag{unit}", ylabel="correlation")
    axes.legend(frameon=False)


def error(learned, exact):
    """Relative error over the states, in percent."""
    return 100 * np.linalg.norm(learned - exact) / np.linalg.norm(exact)
