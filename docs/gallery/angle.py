"""Which way does it turn, and at what cost? A driven angle, seen a few times while it crosses a barrier."""

import matplotlib.pyplot as plt
import numpy as np
from _panels import correlation

import ergode as eg

# d theta = (F - U'(theta)) dt + sqrt(2 T) dW on a circle, U = cos 2 theta, F = 0.6, T = 0.5: a tilted washboard.
force, T, step, rng = 0.6, 0.5, 0.002, np.random.default_rng(5)
theta, kept = rng.uniform(0, 2 * np.pi, 24), []
for k in range(100_000):
    if k % 50 == 0:
        kept.append(theta)
    theta = theta + (force + 2 * np.sin(2 * theta)) * step + np.sqrt(2 * T * step) * rng.standard_normal(24)
data = eg.Ensemble(np.mod(np.array(kept).T, 2 * np.pi)[:, :, None], dt=50 * step, names=["theta"])
circle = {"theta": eg.circle(2 * np.pi)}
model = eg.Langevin(space=circle, options={"limits.seconds": 3000, "simulate.dt": 0.01}).fit(data)
print(model.validation_, model.equation(), sep="\n\n")

# Exact turns per unit of time by Stratonovich's formula.
z = np.linspace(0, 2 * np.pi, 4001)[:-1]
tilted = lambda at: np.cos(2 * at) - force * at
inner = np.array([np.mean(np.exp((tilted(at) - tilted(at - z)) / T)) for at in z])
exact = T * (1 - np.exp(-2 * np.pi * force / T)) / (np.mean(inner) * (2 * np.pi) ** 2)
turns = model.results_["validation"]["turns"]["theta"]
print(f"turns per unit of time: {turns}, exact {exact:.5f}")
print(f"entropy production: {model.entropy_production_}, exact {2 * np.pi * exact * force / T:.4f}")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
eg.plot.drift(model, ax=panels[0])
at = np.linspace(0, 2 * np.pi, 200)
panels[0].plot(at, force + 2 * np.sin(2 * at), "--", color="0.3", label="exact")
panels[0].legend(frameon=False)
eg.plot.diffusion(model, ax=panels[1])
panels[1].axhline(T, ls="--", color="0.3", label="exact")
panels[1].set_ylim(0, 1)
panels[1].legend(frameon=False)
correlation(panels[2], model)
figure.savefig("angle.png", dpi=110)
