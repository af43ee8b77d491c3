"""Drift and diffusion of a record by StochasticForceInference with its defaults.

The folder that the argument names holds data.npz and task.json; answer.json is written beside them.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from SFI import OverdampedLangevinInference, TrajectoryCollection
from SFI.bases import monomials_up_to

folder = Path(sys.argv[1])
task = json.loads((folder / "task.json").read_text())
x = np.load(folder / "data.npz")["x"]
x = x.reshape(-1, *x.shape[-2:])
states, dim = np.asarray(task["states"]), x.shape[-1]

# Standardised coordinates, so that powers of different units can be added.
mean, spread = x.mean(axis=(0, 1)), x.std(axis=(0, 1))
z, states = (x - mean) / spread, (states - mean) / spread

start = time.perf_counter()
records = [TrajectoryCollection.from_arrays(X=record, dt=task["interval"]) for record in z]
inference = OverdampedLangevinInference(records[0].concat(records[1:]))
inference.compute_diffusion_constant()
inference.infer_force_linear(monomials_up_to(order=task["degree"], dim=dim, rank="vector"))
inference.infer_diffusion_linear(
    monomials_up_to(order=task["degree"], dim=dim, rank="symmetric_matrix")
)
seconds = time.perf_counter() - start

drift = np.asarray(inference.force_inferred(states)).reshape(-1, dim) * spread
diffusion = np.asarray(inference.diffusion_inferred(states)).reshape(-1, dim, dim)
diffusion = diffusion * spread[:, None] * spread


def plain(values):
    return [float(v) if np.isfinite(v) else None for v in values.ravel()]


answer = {"drift": plain(drift), "diffusion": plain(diffusion), "seconds": seconds}
(folder / "answer.json").write_text(json.dumps(answer))
