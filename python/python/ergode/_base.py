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

    def _has_cycle(self) -> bool:
        """Whether the state is an anomaly in standard deviations of a cycle."""
        self._required()
        between = self.results_.get("observation")
        return between is not None and between["map"]["cycle"] is not None

    def _unit(self, i: int) -> str | None:
        """The unit of a coordinate of the state, where it is known: standard deviations where a cycle was taken off."""
        return "sd" if self._has_cycle() else self.units_.get(self.names_[i])

    def _states(self, x: Any, t: Any = None) -> tuple[NDArray[np.float64], Wrap]:
        raise NotImplementedError

    def _date_numbers(self, dates: NDArray[Any]) -> NDArray[np.float64]:
        raise NotImplementedError

    def anomaly(self, data: Any, **how: Any) -> Ensemble:
        """The record without its trend and its cycle."""
        raise NotImplementedError
