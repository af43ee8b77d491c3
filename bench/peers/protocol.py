"""What every peer is given and what it gives back, as files of a folder that `zoo peers` makes.

data.npz has the record `x` (trajectory, time, dimension); task.json the sampling interval, the states at which fields are
compared and the degree of polynomials. A peer writes answer.json: drift and diffusion at the states, D in the convention
dx = b dt + sqrt(2) Sigma dW with D = Sigma Sigma^T, and the seconds that the fit took.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np


def run(fit):
    """Calls fit(records, interval, states, degree) on standardised coordinates; it returns drift and diffusion."""
    folder = Path(sys.argv[1])
    task = json.loads((folder / "task.json").read_text())
    x = np.load(folder / "data.npz")["x"]
    x = x.reshape(-1, *x.shape[-2:])
    mean, spread = x.mean(axis=(0, 1)), x.std(axis=(0, 1))
    states = (np.asarray(task["states"]) - mean) / spread
    start = time.perf_counter()
    drift, diffusion = fit((x - mean) / spread, task["interval"], states, task["degree"])
    seconds = time.perf_counter() - start
    dim = x.shape[-1]
    drift = np.reshape(drift, (-1, dim)) * spread
    diffusion = np.reshape(diffusion, (-1, dim, dim)) * spread[:, None] * spread

    def plain(values):
        return [float(v) if np.isfinite(v) else None for v in values.ravel()]

    answer = {"drift": plain(drift), "diffusion": plain(diffusion), "seconds": seconds}
    (folder / "answer.json").write_text(json.dumps(answer))
