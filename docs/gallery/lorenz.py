"""Can Lorenz' equations be found from samples so coarse that finite differences fail?"""

import matplotlib.pyplot as plt
import numpy as np
from _panels import error

import ergode as eg

system = eg.systems.lorenz63()
print(system)
data = system.generate(time=25, save_every=0.05, trajectories=16, seed=3)
model = eg.Langevin(recipe="generator", options={"limits.seconds": 3000}).fit(data)
print(model.validation_, model.equation(), sep="\n\n")


def exact(x):
    """Lorenz' equations."""
    x, y, z = np.moveaxis(x, -1, 0)
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=-1).reshape(-1, 3)


x = data.x.reshape(-1, 3)
print(f"error of the drift: {error(model.drift(x), exact(x)):.1f} %")
steps = np.diff(data.x, axis=1).reshape(-1, 3) / data.dt
print(f"error of finite differences: {error(steps, exact(data.x[:, :-1])):.0f} %")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
new = model.simulate(time=100, save_every=0.05, trajectories=1, seed=8).x.reshape(-1, 3)
for axes, title, path in ((panels[0], "data, every 0.05", data.x[0]), (panels[1], "simulated from the model", new)):
    axes.plot(path[:1200, 0], path[:1200, 2], ".-", lw=0.3, ms=2)
    axes.set(title=title, xlabel="x", ylabel="z")
for k, name in enumerate("xyz"):
    panels[2].plot(exact(x[::40])[:, k], model.drift(x[::40])[:, k], ".", ms=2, label=name)
panels[2].set(title="drift at samples", xlabel="exact", ylabel="learned")
panels[2].legend(frameon=False, markerscale=4)
figure.savefig("lorenz.png", dpi=110)
