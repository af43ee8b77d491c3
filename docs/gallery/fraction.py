"""Does an allele drift at random? Drift and diffusion of its frequency, a fraction between 0 and 1."""

import matplotlib.pyplot as plt
import numpy as np
from _panels import correlation

import ergode as eg

# Wright-Fisher: 200 chromosomes, mutation 0.01 both ways, no selection; 40 populations, 1000 generations.
N, mutation, rng = 200, 0.01, np.random.default_rng(6)
p, kept = np.full(40, 0.5), []
for generation in range(1200):
    if generation >= 200:
        kept.append(p)
    p = rng.binomial(N, p * (1 - mutation) + (1 - p) * mutation) / N
data = eg.Ensemble(np.array(kept).T[:, :, None], dt=1.0, names=["p"])
print(eg.check(data))
model = eg.Langevin(options={"limits.seconds": 3000}).fit(data)
print(model.validation_, model.equation(), sep="\n\n")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
at = np.linspace(0.06, 0.94, 60)
drift = mutation * (1 - 2 * at)
diffusion = at * (1 - at) / (2 * N)
for axes, field, exact in ((panels[0], model.drift, drift), (panels[1], model.diffusion, diffusion)):
    mean, deviation = (np.ravel(value) for value in field(at[:, None], return_std=True))
    axes.fill_between(at, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25, lw=0)
    axes.plot(at, mean, label="learned")
    axes.plot(at, exact, "--", label="diffusion limit")
    axes.set(title=field.__name__, xlabel="frequency p")
    axes.legend(frameon=False)
correlation(panels[2], model, unit=" in generations")
figure.savefig("fraction.png", dpi=110)
