"""Fields of a model at states, in whatever form these come."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._base import Base, Wrap
from ._core import InputError
from ._dates import as_dates
from ._ensemble import Ensemble
from ._input import library_of
from ._overloads import as_field


class Fields(Base):
    """Score, drift, mobility and diffusion of a fitted model."""

    @as_field
    def score_function(self, x: Any, return_std: bool = False, *, t: Any = None) -> Any:
        """The score s = grad log p_ss, (..., dimension); `return_std` as for `drift`."""
        return self._field("score", x, return_std, t)

    @as_field
    def drift(self, x: Any, return_std: bool = False, *, t: Any = None) -> Any:
        """The Ito drift M s + div M, (..., dimension).

        `x` is an array of states (..., dimension), for one coordinate also (n,), a pandas or an xarray object. The
        result has the same form: a DataFrame with the rows of `x` for a DataFrame, with pairs of coordinates as
        columns for matrices. States are copied once, because the library stores coordinates contiguously.

        Where the fit took off a trend or a cycle, the fields are those of anomalies: pass the record with its times
        (`t=`, a frame or dataset with times, an `Ensemble`), or anomalies from `anomaly`. Arrays without `t` are
        anomalies.

        With `return_std`, return the drift and its standard error, both of the same form. The errors come
        from a block jackknife of the coefficients of score and mobility, at the chosen degrees. Networks
        have no standard errors: then a ValueError is raised.
        """
        return self._field("drift", x, return_std, t)

    @as_field
    def mobility(self, x: Any, return_std: bool = False, *, t: Any = None) -> Any:
        """The mobility M = D + R, (..., dimension, dimension); `return_std` as for `drift`."""
        return self._field("mobility", x, return_std, t)

    @as_field
    def diffusion(self, x: Any, return_std: bool = False, *, t: Any = None) -> Any:
        """The diffusion D = sym M = Sigma Sigma^T, (..., dimension, dimension); `return_std` as for `drift`."""
        return self._field("diffusion", x, return_std, t)

    @as_field
    def div_mobility(self, x: Any, return_std: bool = False, *, t: Any = None) -> Any:
        """(div M)_i = sum_j d_j M_ij, (..., dimension); `return_std` as for `drift`."""
        return self._field("div_mobility", x, return_std, t)

    def _field(self, name: str, x: Any, return_std: bool, t: Any = None) -> Any:
        fitted = self._required()
        states, wrap = self._states(x, t)
        value = wrap(_at_states(fitted, name, states, False), name)
        if not return_std:
            return value
        return value, wrap(_at_states(fitted, name, states, True), f"{name}_stderr")

    def _states(self, x: Any, t: Any = None) -> tuple[NDArray[np.float64], Wrap]:
        """States (..., dimension), and how values at them get the form of `x`."""
        fitted, dim = self._required(), self.n_features_in_
        library = library_of(x)
        known = getattr(x, "attrs", {}).get("anomaly", False)
        wrap: Wrap = lambda values, what: values
        if isinstance(x, Ensemble):
            x = x if known or not fitted.has_anomalies else self.anomaly(x)
            known = True
            if not isinstance(x.x, np.ndarray):
                raise InputError("the trajectories differ in length; evaluate them one by one: for one in data")
            states = np.asarray(x.x, dtype=np.float64)
        elif library == "xarray":
            from ._frames import like_states, states_of, times_in

            found, holder, name = states_of(x, self.names_, self._form)
            states = np.asarray(found, dtype=np.float64)
            wrap = lambda values, what: like_states(values, holder, name, self.names_, what)
            if t is None and fitted.has_anomalies and not known:
                t = times_in(holder, name)
        elif library == "pandas":
            from ._frames import like_rows, rows_of

            states = rows_of(x, self.names_)
            wrap = lambda values, what: like_rows(values, x, self.names_, what)
            if t is None and fitted.has_anomalies and not known and x.index.dtype.kind == "M":
                t = x.index.to_numpy()
        else:
            states = np.asarray(x, dtype=np.float64)
            if dim == 1 and states.ndim <= 1:
                shape = states.shape
                states = states[..., None]
                wrap = lambda values, what: values.reshape(shape)
        if states.ndim == 0 or states.shape[-1] != dim:
            raise InputError(
                f"states of shape {states.shape}: the last axis must hold the {dim} coordinates "
                f"{', '.join(self.names_)}"
            )
        if t is not None and fitted.has_anomalies and not known:
            states = self._anomalies(states, t)
        self._warn_outside(states)
        return states, wrap

    def _anomalies(self, states: NDArray[np.float64], t: Any) -> NDArray[np.float64]:
        """Rows of the record at their times as anomalies."""
        if len(self._required().observed_names) != self.n_features_in_:
            raise InputError("the state has delays; pass whole states of anomalies, without times")
        times = np.asarray(t)
        if times.dtype.kind in "MOU":
            times = self._date_numbers(as_dates(times))
        times = np.broadcast_to(times.astype(np.float64), states.shape[:-1])
        rows = np.ascontiguousarray(states.reshape(-1, states.shape[-1]))
        clock = np.ascontiguousarray(times.reshape(-1))
        return _core.anomaly_at(self._required(), rows, clock).reshape(states.shape)

    def _warn_outside(self, states: NDArray[np.float64]) -> None:
        """Warn once for states further from the samples than these reach."""
        low, high = (np.asarray(bound) for bound in self._required().bounds)
        reach = high - low
        with np.errstate(invalid="ignore"):
            far = ((states < low - reach) | (states > high + reach)).any()
        if not far or getattr(self, "_warned", False):
            return
        self._warned = True
        hint = ""
        if self._required().has_anomalies:
            hint = "; the model is one of anomalies: pass times (t=), or use model.anomaly(data)"
        warnings.warn(
            f"states lie far outside the samples, where the model only pulls back to them{hint}",
            UserWarning,
            stacklevel=4,
        )

    def _start(self, x0: Any, start: Any) -> float | None:
        """The time of the first sample; the label of a row of a frame if it is a date."""
        if start is None and library_of(x0) == "pandas" and getattr(x0, "ndim", 0) == 1:
            label = np.asarray([x0.name])
            if hasattr(x0.name, "to_datetime64"):
                start = x0.name.to_datetime64()
            elif label.dtype.kind in "M":
                start = label[0]
        if start is None:
            return None
        if isinstance(start, str) or np.asarray(start).dtype.kind in "MO":
            return float(self._date_numbers(as_dates([start]))[0])
        return float(start)

    def _initial(self, x0: Any, start: float | None, trajectories: int) -> NDArray[np.float64]:
        """Start states (trajectory, dimension)."""
        fitted = self._required()
        if library_of(x0) == "pandas":
            x0 = x0[self.names_].to_numpy(dtype=np.float64)
        states = np.atleast_1d(np.asarray(x0, dtype=np.float64))
        if states.ndim == 1 and not (self.n_features_in_ == 1 and len(states) > 1):
            states = states[None, :]
        states = states.reshape(len(states), -1)
        if states.shape[1] != self.n_features_in_ or not np.isfinite(states).all():
            raise InputError(
                f"x0 of shape {np.shape(x0)}: give finite states of the {self.n_features_in_} coordinates "
                f"{', '.join(self.names_)}"
            )
        if fitted.has_anomalies:
            if start is None:
                raise InputError("x0 is a row of the record, with trend or cycle: pass its time or date as start=")
            states = self._anomalies(states, start)
        return np.repeat(states, trajectories, axis=0)


def _at_states(
    fitted: _core.Fitted, field: str, states: NDArray[np.float64], error: bool
) -> NDArray[np.float64]:
    """Values of a field, or their standard errors, at states (..., dimension)."""
    dim = states.shape[-1]
    evaluate = fitted.standard_error if error else fitted.evaluate
    values = evaluate(field, states.reshape(-1, dim))
    return values.reshape(states.shape[:-1] + values.shape[1:])
