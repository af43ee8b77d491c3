"""What follows from a fitted equation: potential, current, rates, passages, responses."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._base import Base
from ._core import InputError
from ._overloads import as_potential, as_scalar, as_vector
from ._page import figure
from ._progress import watching


@dataclass(frozen=True)
class Rate:
    """A mode of relaxation of the fitted generator.

    Attributes
    ----------
    rate, time : float
        Relaxation rate -Re(lambda) and implied time scale, its inverse.
    time_stderr : float
        Standard error of the time scale.
    interval : (float, float)
        95 % interval of the time scale, normal in its logarithm.
    frequency : float
        Angular frequency Im(lambda); zero for a mode that only decays.
    """

    rate: float
    time: float
    time_stderr: float
    interval: tuple[float, float]
    frequency: float

    def __repr__(self) -> str:
        turn = f", frequency {figure(self.frequency)}" if self.frequency else ""
        return f"Rate(time {figure(self.time)} ± {figure(self.time_stderr)}{turn})"


@dataclass(frozen=True)
class FirstPassage:
    """A mean first-passage time.

    Attributes
    ----------
    mean : float
        The mean.
    stderr : float or None
        Its standard error: from the coefficients of the model on a grid, from the number of trajectories in a
        simulation.
    route : str
        "generator" or "rollouts".
    passages : int or None
        Passages that were simulated.
    """

    mean: float
    stderr: float | None
    route: str
    passages: int | None

    def __repr__(self) -> str:
        error = "" if self.stderr is None else f" ± {figure(self.stderr)}"
        return f"FirstPassage({figure(self.mean)}{error}, by {self.route})"


@dataclass(frozen=True)
class KickResponse:
    """The change of the mean state after a kick: `times`, `mean` and `stderr` (time, coordinate), `names`."""

    times: NDArray[np.float64]
    mean: NDArray[np.float64]
    stderr: NDArray[np.float64]
    names: list[str]

    def to_pandas(self) -> Any:
        """The mean change by time."""
        import pandas

        return pandas.DataFrame(self.mean, columns=self.names, index=pandas.Index(self.times, name="time"))


class Physics(Base):
    """Quantities of a fitted model. States are those of the fields: anomalies where the record has trend or cycle."""

    @as_potential
    def potential(self, x: Any, return_path_difference: bool = False, *, t: Any = None) -> Any:
        """The potential -ln p in units of kT, (...): exact for a score in closed form, else integrated along lines.

        p is normalised in one and two coordinates; in more the potential is known up to a constant. With
        `return_path_difference` return also how far a line integral depends on its path, zero for a closed form.
        """
        found = self._landscape("potential", x, t)
        if not return_path_difference:
            return found
        return found, self._landscape("path_difference", x, t)

    @as_scalar
    def density(self, x: Any, *, t: Any = None) -> Any:
        """The stationary density p, (...), of one or two coordinates, per unit volume."""
        return self._landscape("density", x, t)

    @as_vector
    def current(self, x: Any, *, t: Any = None) -> Any:
        """The probability current J = p v, (..., dimension), of one or two coordinates; zero in equilibrium."""
        return self._landscape("current", x, t)

    @as_vector
    def velocity(self, x: Any, *, t: Any = None) -> Any:
        """The irreversible velocity v = b - D s - div D, (..., dimension)."""
        return self._landscape("velocity", x, t)

    def _landscape(self, what: str, x: Any, t: Any) -> Any:
        fitted = self._required()
        states, wrap = self._states(x, t)
        values = _core.landscape(fitted, what, states.reshape(-1, states.shape[-1]))
        return wrap(values.reshape(states.shape[:-1] + values.shape[1:]), what)

    @property
    def entropy_production_(self) -> tuple[float, float] | None:
        """Rate of entropy production and its standard error, in k_B per unit of time; None where not known."""
        self._required()
        found = self.results_["entropy_production"]
        return None if found is None else (found["value"], found["stderr"])

    def rates(self) -> list[Rate]:
        """Relaxation rates and implied times of the slowest modes of the fitted generator, slowest first."""
        spectrum = json.loads(self._required().evidence())["spectrum"]
        if "missing" in spectrum:
            raise InputError(f"the spectrum of the generator was not computed: {spectrum['missing']}")
        found = []
        for mode in spectrum["done"]["model"]:
            time, error = mode["time_scale"], mode["error"] or 0.0
            spread = math.exp(1.96 * error / time) if error < 100.0 * time else math.inf
            found.append(Rate(1.0 / time, time, error, (time / spread, time * spread), mode["frequency"]))
        return found

    def first_passage(
        self,
        a: Any,
        b: Any,
        *,
        route: str = "auto",
        trajectories: int = 1000,
        longest: float | None = None,
        seed: int = 0,
    ) -> FirstPassage:
        """The mean time from set `a` to the first visit of set `b`, starting from the law of the samples in `a`.

        Parameters
        ----------
        a, b : set of states
            `(low, high)` in one coordinate; `([low, ..], [high, ..])`, a box; `([centre, ..], radius)`, a ball; a
            mapping `{"x": (low, high)}` of some coordinates; or a function of one state that says whether it
            belongs to the set.
        route : {"auto", "generator", "rollouts"}
            From the generator on a grid (one or two coordinates), or from simulated trajectories [default: the
            grid where there is one].
        trajectories, longest, seed
            Number, longest time and seed of the simulated trajectories.

        Examples
        --------
        >>> import ergode as eg
        >>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
        >>> model = eg.Langevin(seed=0).fit(data)
        >>> model.first_passage(([0.0, 0.0], 0.5), {"x1": (1.5, 9.0)}).mean > 1.0
        True
        """
        fitted = self._required()
        config = {"route": route, "trajectories": trajectories, "longest": longest, "seed": seed}
        if route not in ("auto", "generator", "rollouts"):
            raise InputError(f"route={route!r} is not supported; use 'auto', 'generator' or 'rollouts'")
        first, second = self._region(a, "a"), self._region(b, "b")
        with watching(self.verbose) as progress:
            text = _core.first_passage(fitted, first, second, json.dumps(config), progress)
        return FirstPassage(**json.loads(text))

    def committor(self, a: Any, b: Any, x: Any, return_std: bool = False) -> Any:
        """The probability to visit set `b` before set `a` from states `x`, in one and two coordinates.

        Sets are those of `first_passage`; `return_std` also returns standard errors.
        """
        fitted = self._required()
        states, wrap = self._states(x)
        first, second = self._region(a, "a"), self._region(b, "b")
        with watching(self.verbose) as progress:
            text = _core.committor(fitted, first, second, states.reshape(-1, states.shape[-1]), progress)
        found = json.loads(text)
        value = wrap(np.asarray(found["value"]).reshape(states.shape[:-1]), "committor")
        if not return_std:
            return value
        if found["stderr"] is None:
            raise ValueError("the standard error of the committor is not known: the model has no errors")
        return value, wrap(np.asarray(found["stderr"]).reshape(states.shape[:-1]), "committor_stderr")

    def response(
        self,
        kick: Mapping[str, float] | Sequence[float],
        time: float,
        *,
        save_every: float | None = None,
        trajectories: int = 1000,
        seed: int = 0,
    ) -> KickResponse:
        """The change of the mean state after every state is moved by `kick`, such as {"x": 0.1}, at time zero.

        From pairs of trajectories with and without the kick, with the same random numbers.
        """
        fitted = self._required()
        if isinstance(kick, Mapping):
            unknown = [name for name in kick if name not in self.names_]
            if unknown:
                raise InputError(
                    f"no coordinate {unknown[0]!r}; the coordinates are {', '.join(self.names_)}"
                )
            kick = [float(kick.get(name, 0.0)) for name in self.names_]
        with watching(self.verbose) as progress:
            text = _core.response(
                fitted, [float(h) for h in kick], time, save_every, trajectories, seed, progress
            )
        found = json.loads(text)
        times, mean, stderr = (np.asarray(found[name]) for name in ("times", "mean", "stderr"))
        return KickResponse(times, mean, stderr, self.names_)

    def _region(self, given: Any, name: str) -> Any:
        """A set of states in the form of the library."""
        dim = len(self.names_)
        if callable(given):
            return given
        if isinstance(given, Mapping):
            unknown = [key for key in given if key not in self.names_]
            if unknown:
                raise InputError(
                    f"set {name}: no coordinate {unknown[0]!r}; the coordinates are {', '.join(self.names_)}"
                )
            bounds = [given.get(key, (-np.inf, np.inf)) for key in self.names_]
            return [float(low) for low, _ in bounds], [float(high) for _, high in bounds]
        try:
            first, second = given
        except (TypeError, ValueError):
            raise InputError(
                f"set {name} must be (low, high), a box ([..], [..]), a ball ([..], radius), a mapping or a function"
            ) from None
        if np.ndim(first) == 0:
            if dim != 1:
                raise InputError(
                    f"set {name} is an interval, but the model has {dim} coordinates; name one: "
                    f"{{{self.names_[0]!r}: ({first}, {second})}}"
                )
            return [float(first)], [float(second)]
        centre = [float(value) for value in first]
        if np.ndim(second) == 0:
            return centre, float(second)
        return centre, [float(value) for value in second]
