"""One coordinate of an oscillator: can its equation be learned without the other?"""

import matplotlib.pyplot as plt
from _panels import correlation

import ergode as eg

whole = eg.systems.limit_cycle().generate(time=200, save_every=0.2, trajectories=16, seed=1)
part = eg.Ensemble(whole.x[:, :, :1], dt=whole.dt, names=["x"])
print(eg.check(part))

options = {"limits.seconds": 3000}
alone = eg.Langevin(options=options).fit(part)
delayed = eg.Langevin(options={**options, "delays.count": "auto"}).fit(part)
both = eg.Langevin(options=options).fit(whole)
print(alone.validation_, delayed.validation_, both.validation_, sep="\n\n")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for axes, model, title in zip(panels, (alone, delayed, both), ("x alone", "x and delays", "x and y")):
    correlation(axes, model)
    axes.set_title(f"{title}: {model.validation_.verdict}")
figure.savefig("answer-no.png", dpi=110)
