"""What the Python package adds to the time of a fit and of a simulation.

    python bench/overhead.py [ERGODE]

The time of a fit outside the library is what its own clock, "wall_s" of the results, does not see. Simulations are
compared with the command line ERGODE ("ergode"), which also starts and writes a file. The least of several runs.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import ergode as eg


def least(work, times=5):
    """The shortest time of `work`, and what it gave last."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return best, result


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "ergode"
    data = eg.systems.affine2d().generate(time=600.0)
    model = eg.Langevin(seed=0, verbose=False)
    shares = []
    for _ in range(4):
        wall, _ = least(lambda: model.fit(data.x, dt=0.01), times=1)
        inside = model.results_["wall_s"]["total"]
        shares.append((wall - inside) / inside)
    print(f"fit: {inside:.2f} s in the library, {100 * min(shares):.2f} % outside it")
    with tempfile.TemporaryDirectory() as folder:
        run, file = Path(folder) / "run", Path(folder) / "x.npy"
        model.save(run)
        protocol = {"time": 6000.0, "dt": 5e-3, "save_every": 0.1, "trajectories": 64, "seed": 1}
        options = [f"--{key.replace('_', '-')}={value}" for key, value in protocol.items()]
        command = [program, "simulate", str(run), "-o", str(file), *options]
        ours, simulation = least(lambda: model.simulate(**protocol))
        theirs, _ = least(lambda: subprocess.run(command, check=True, capture_output=True))
        assert np.array_equal(np.load(file), simulation.x)
    print(f"simulate: {ours:.2f} s, by the command line {theirs:.2f} s")


if __name__ == "__main__":
    main()
