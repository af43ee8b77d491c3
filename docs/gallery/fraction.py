"""Drift or selection? The diffusion and the drift of an allele frequency, a fraction between 0 and 1."""

import matplotlib.pyplot as plt
import numpy as np
from _panels import correlation

import ergode as eg

# Wright-Fisher: 200 chromosomes, mutation 0.01 both ways, selection 0.02; 40 populations, 1000 generations.
N, mutation, selection, rng = 200, 0.01, 0.02, np.random.default_rng(6)
p, kept = np.full(40, 0.5), []
for generation in range(1200):
    if generation >= 200:
        kept.append(p)
    chosen = p * (1 + selection) / (1 + selection * p)
    p = rng.binomial(N, chosen * (1 - mutation) + (1 - chosen) * mutation) / N
data = eg.Ensemble(np.array(kept).T[:, :, None], dt=1.0, names=["p"])
print(eg.check(data))
model = eg.Langevin(options={"limits.seconds": 3000}).fit(data)
print(model.validation_, model.equation(), sep="\n\n")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
at = np.linspace(0.05, 0.98, 60)
drift = selection * at * (1 - at) + mutation * (1 - 2 * at)
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
