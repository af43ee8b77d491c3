"""Can the equation of a noisy oscillator be read off a dozen samples per turn?"""

import matplotlib.pyplot as plt
import numpy as np
from _panels import correlation, error

import ergode as eg

system = eg.systems.limit_cycle()
data = system.generate(time=200, save_every=0.2, trajectories=16, seed=1)
model = eg.Langevin(seed=0, options={"limits.seconds": 3000}).fit(data)
x = data.x.reshape(-1, 2)
print(model.validation_, model.equation(), sep="\n\n")
turn = system.parameters["omega"] * np.stack([-x[:, 1], x[:, 0]], axis=1)
exact = x * (1 - np.sum(x**2, axis=1, keepdims=True)) + turn
print(system, f"error of the drift: {error(model.drift(x), exact):.1f} %", sep="\n")

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
left.plot(*data.x[0, :150].T, ".-", lw=0.5, ms=3)
left.set(title="data", xlabel="x", ylabel="y", aspect="equal")
sides = [np.linspace(*np.quantile(column, [0.001, 0.999]), 17) for column in x.T]
states = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
visited = [np.min(np.linalg.norm(x - state, axis=1)) < 0.05 for state in states]
states = states[visited]
trace = np.trace(model.diffusion(states), axis1=1, axis2=2)
arrows = middle.quiver(*states.T, *model.drift(states).T, trace, cmap="viridis")
figure.colorbar(arrows, ax=middle, label="trace of D")
middle.set(title="learned drift and diffusion", xlabel="x", aspect="equal")
correlation(right, model)
figure.savefig("limit-cycle.png", dpi=110)
