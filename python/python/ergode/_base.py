"""What the parts of a fitted model share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._ensemble import Ensemble
from ._input import Form

#: Puts values back into the form of the states, with a name.
Wrap = Callable[[NDArray[np.float64], str], Any]


class Base:
    """Attributes of a fitted model."""

    verbose: bool | None
    results_: dict[str, Any]
    names_: list[str]
    units_: dict[str, str]
    time_unit_: str | None
    n_features_in_: int
    _form: Form

    def _required(self) -> _core.Fitted:
        raise NotImplementedError

    def _states(self, x: Any, t: Any = None) -> tuple[NDArray[np.float64], Wrap]:
        raise NotImplementedError

    def _date_numbers(self, dates: NDArray[Any]) -> NDArray[np.float64]:
        raise NotImplementedError

    def anomaly(self, data: Any, **how: Any) -> Ensemble:
        """The record without its trend and its cycle."""
        raise NotImplementedError
