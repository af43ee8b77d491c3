"""Is El Nino a damped oscillator, and what are its period and its damping?"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from _panels import correlation

import ergode as eg

record = xr.open_dataset("../data/XRO_indices_oras5.nc")
x = np.stack([record.Nino34, record.WWV], axis=1).astype(float)
data = eg.Ensemble(x, dt=1 / 12, names=["T", "h"])  # degrees, metres; years
print(eg.check(data))
model = eg.Langevin(options={"limits.seconds": 3000}).fit(data)
print(model.validation_, model.equation(), sep="\n\n")

# Eigenvalues of the linear drift at the mean: damping and frequency.
centre, step = x.mean(axis=0), 1e-3 * x.std(axis=0)
columns = [(model.drift(centre + s) - model.drift(centre - s)) / (2 * s.sum()) for s in np.diag(step)]
eigenvalue = np.linalg.eigvals(np.stack(columns, axis=1))[0]
print(f"period {2 * np.pi / abs(eigenvalue.imag):.2f} years, damping {-eigenvalue.real:.2f} a year")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
new = model.simulate(time=46, save_every=1 / 12, seed=5).x.reshape(-1, 2)
time = record.time.dt.year + (record.time.dt.month - 1) / 12
left.plot(time, x[:, 0], lw=0.8, label="observed")
left.plot(time[: len(new)], new[: len(time), 0] - 7, lw=0.8, label="simulated, shifted by -7")
left.set(title="sea surface temperature of Nino3.4", xlabel="year", ylabel="anomaly in degrees")
left.set_ylim(-11, 4)
left.legend(frameon=False, ncols=2, loc="lower left")
correlation(right, model, scale=12, unit=" in months")
figure.savefig("el-nino.png", dpi=110)
