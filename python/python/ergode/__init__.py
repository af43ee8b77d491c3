"""Learn effective Langevin equations from time series, and test them on held-out data.

The model is dx = [M s + div M] dt + sqrt(2) Sigma dW with Sigma Sigma^T = sym M and s = grad log p_ss.

>>> import ergode as eg
>>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
>>> model = eg.Langevin(seed=0).fit(data)
>>> model.validation_.verdict
'pass'
>>> model.drift([[0.5, 0.0]]).shape, model.diffusion([[0.5, 0.0]]).shape
((1, 2), (1, 2, 2))
"""

from types import ModuleType
from typing import Any

from . import systems
from ._check import Check, Finding, check
from ._compare import Comparison, compare, cross_validate
from ._core import InputError, NumericalError, __version__
from ._ensemble import Ensemble
from ._forecast import Forecast
from ._model import Langevin, NotFittedError, load
from ._options import Options
from ._page import Page
from ._reproduce import reproduce
from ._space import above, below, circle, interval
from ._sums import Sums, merge
from ._validation import Curve, Validation

__all__ = [
    "Check",
    "Comparison",
    "Curve",
    "Ensemble",
    "Finding",
    "Forecast",
    "InputError",
    "Langevin",
    "NotFittedError",
    "NumericalError",
    "Options",
    "Page",
    "Sums",
    "Validation",
    "__version__",
    "above",
    "below",
    "check",
    "circle",
    "compare",
    "concatenate",
    "cross_validate",
    "dask",
    "interval",
    "load",
    "merge",
    "plot",
    "reproduce",
    "systems",
]

dask: ModuleType
plot: ModuleType
concatenate = Ensemble.concatenate


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Import Matplotlib and Dask only when needed.
    if name in ("dask", "plot"):
        from importlib import import_module

        return import_module(f"ergode.{name}")
    raise AttributeError(f"module 'ergode' has no attribute {name!r}")
