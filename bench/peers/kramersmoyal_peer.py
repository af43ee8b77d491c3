"""kramersmoyal: kernel estimates of the first two coefficients with its default bandwidth, averaged over trajectories by visits."""

import numpy as np
import protocol
from kramersmoyal import km
from scipy.spatial import KDTree

BINS = {1: [500], 2: [60, 60]}
POWERS = {1: [[0], [1], [2]], 2: [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]}


def fit(records, interval, states, degree):
    dim = records.shape[-1]
    if dim > 2:
        raise SystemExit("kramersmoyal has bins: one or two coordinates only")
    low, high = records.min(axis=(0, 1)), records.max(axis=(0, 1))
    bins = [np.linspace(low[i], high[i], BINS[dim][i] + 1) for i in range(dim)]
    total, weight = 0.0, 0.0
    for record in records:
        values, edges = km(record, bins=tuple(bins), powers=np.array(POWERS[dim]))
        visits = values[0]
        total, weight = total + values * visits, weight + visits
    # Where hardly a sample was, the nearest bin that was visited.
    visited = weight > 1e-3 * weight.max()
    values = total[:, visited] / weight[visited] / interval
    centres = np.stack([axis[visited] for axis in np.meshgrid(*edges, indexing="ij")], axis=-1)

    nearest = KDTree(centres).query(states)[1]
    drift = values[1 : 1 + dim, nearest].T
    diffusion = np.empty((len(states), dim, dim))
    for power, field in zip(POWERS[dim], values):
        if sum(power) == 2:
            i, j = np.repeat(np.arange(dim), power)
            # The package divides the moment by the factorials of the powers.
            diffusion[:, i, j] = diffusion[:, j, i] = field[nearest] / (2 if i != j else 1)
    # The second moment of an increment contains the square of its mean.
    diffusion -= drift[:, :, None] * drift[:, None, :] * interval / 2
    return drift, diffusion


protocol.run(fit)
