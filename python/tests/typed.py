"""What type checkers know of the package; mypy reads this file, nobody runs it."""

from typing import assert_type

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import ergode as eg

Values = NDArray[np.float64]

frame = pd.DataFrame({"u": [0.0, 1.0]})
array = xr.DataArray(np.zeros((2, 1)), dims=("time", "coordinate"))
options: eg.Options = {"mobility.horizon": 2.0, "trend": "linear", "cycle.period": "auto"}
model = eg.Langevin(seed=0, options=options).fit(frame, dt=0.1)

assert_type(model, eg.Langevin)
assert_type(model.drift([[0.5]]), Values)
assert_type(model.drift(np.zeros((3, 1))), Values)
assert_type(model.drift(eg.Ensemble(frame, dt=0.1)), Values)
assert_type(model.drift(np.zeros(3), return_std=True), tuple[Values, Values])
assert_type(model.drift(frame), pd.DataFrame)
assert_type(model.diffusion(frame, return_std=True), tuple[pd.DataFrame, pd.DataFrame])
assert_type(model.mobility(array), xr.DataArray)
assert_type(model.score_function(array.to_dataset(dim="coordinate")), xr.DataArray)
assert_type(model.potential(0.5), Values)
assert_type(model.potential(np.zeros(3), return_path_difference=True), tuple[Values, Values])
assert_type(model.density(array), xr.DataArray)
assert_type(model.current(frame), pd.DataFrame)
assert_type(model.coefficients(), dict[str, tuple[float, float | None]])
assert_type(model.forecast(frame, 1.0, dt=0.1), eg.Forecast)
assert_type(model.simulate(1.0), eg.Ensemble)
assert_type(model.validation_, eg.Validation)
assert_type(model.simulate(1.0)[0], eg.Ensemble)
