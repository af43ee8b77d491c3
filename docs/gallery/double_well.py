"""How often does a particle cross a barrier, from a record that saw only some crossings?"""

import matplotlib.pyplot as plt
import numpy as np
from _panels import correlation

import ergode as eg

# dx = (x - x^3) dt + sqrt(2 T) dW with T = 0.1, as in any text-book; Euler steps of 0.005, every 40th kept.
T, step, rng = 0.1, 0.005, np.random.default_rng(4)
x, kept = rng.choice([-1.0, 1.0], 16), []
for k in range(80_000):
    if k % 40 == 0:
        kept.append(x)
    x = x + (x - x**3) * step + np.sqrt(2 * T * step) * rng.standard_normal(16)
data = eg.Ensemble(np.array(kept).T[:, :, None], dt=40 * step)
model = eg.Langevin(options={"limits.seconds": 3000}).fit(data)
print(model.validation_, model.equation(), sep="\n\n")

# Passages from -1 to 1 and back. Exact mean time: 1/T int_-1^1 exp(U(y)/T) int_-inf^y exp(-U(z)/T) dz dy.
z = np.linspace(-3, 1, 40_001)
U = z**4 / 4 - z**2 / 2
inner = np.cumsum(np.exp(-U / T)) * (z[1] - z[0])
exact = np.sum((np.exp(U / T) * inner)[z >= -1]) * (z[1] - z[0]) / T
paths = model.simulate(time=5000, save_every=0.05, trajectories=64, seed=2).x[:, :, 0]
passages = sum(np.sum(np.diff(np.sign(path[np.abs(path) > 1])) != 0) for path in paths)
print(f"mean passage time: model {64 * 5000 / passages:.1f}, exact {exact:.1f}")

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
left.plot(data.dt * np.arange(1000), data.x[0, :1000, 0], lw=0.6)
left.set(title="data", xlabel="time", ylabel="x")
at = np.linspace(-1.6, 1.6, 81)
mean, deviation = (value[:, 0] for value in model.drift(at[:, None], return_std=True))
middle.fill_between(at, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25, lw=0)
middle.plot(at, mean, label="learned")
middle.plot(at, at - at**3, "--", label="exact")
middle.set(title="drift", xlabel="x")
middle.legend(frameon=False)
correlation(right, model)
figure.savefig("double-well.png", dpi=110)
