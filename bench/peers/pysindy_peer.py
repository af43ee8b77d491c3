"""PySINDy: sequentially thresholded least squares of forward increments, then of what is left of them for D.

PySINDy has no diffusion of its own; D is fitted by the same sparse regression to the products of residuals over 2 dt.
"""

import numpy as np
import protocol
import pysindy as ps


def regress(records, interval, targets, degree):
    """A sparse polynomial for each target."""
    model = ps.SINDy(
        feature_library=ps.PolynomialLibrary(degree=degree),
        optimizer=ps.STLSQ(threshold=0.02, alpha=1e-6),
    )
    model.fit(list(records), t=interval, x_dot=list(targets))
    return model


def fit(records, interval, states, degree):
    before, steps = records[:, :-1], np.diff(records, axis=1) / interval
    drift = regress(before, interval, steps, degree)
    dim = records.shape[-1]
    left = steps - np.stack([drift.predict(record) for record in before])
    rows, columns = np.tril_indices(dim)
    squares = left[..., rows] * left[..., columns] * interval / 2
    library = ps.PolynomialLibrary(degree=degree)
    features = np.asarray(library.fit_transform(before.reshape(-1, dim)))
    optimizer = ps.STLSQ(threshold=0.0, alpha=1e-6)
    optimizer.fit(features, squares.reshape(-1, len(rows)))
    values = np.asarray(library.transform(states)) @ optimizer.coef_.T
    diffusion = np.zeros((len(states), dim, dim))
    diffusion[:, rows, columns] = diffusion[:, columns, rows] = values
    return drift.predict(states), diffusion


protocol.run(fit)
