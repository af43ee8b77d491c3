"""Reference systems with known exact answers.

>>> import ergode as eg
>>> system = eg.systems.double_well()
>>> data = system.generate(time=50.0, trajectories=4, seed=2)
>>> len(data), data.dim
(4, 1)
>>> system.score_function([[1.0]]).shape
(1, 1)
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import InputError
from ._ensemble import Ensemble
from ._progress import watching

__all__ = [
    "System",
    "affine2d",
    "cir",
    "double_well",
    "fitzhugh_nagumo",
    "limit_cycle",
    "lorenz63",
    "mueller_brown",
    "names",
    "ou",
    "prinz",
    "softspin",
    "triple_well",
    "van_der_pol",
]


class System:
    """A reference system with its parameters; made by the functions of this module.

    Attributes
    ----------
    name : str
        Name on the command line.
    parameters : dict
        All parameters.
    coordinates : list of str
        Names of the coordinates.
    """

    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        plain = {key: np.asarray(value).tolist() for key, value in parameters.items()}
        self._core = _core.System(name, json.dumps(plain))
        self.name = name
        self.parameters: dict[str, Any] = json.loads(self._core.parameters())
        self.coordinates: list[str] = self._core.names()

    def __repr__(self) -> str:
        parameters = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({parameters})"

    def __reduce__(self) -> tuple[Any, ...]:
        return System, (self.name, self.parameters)

    def generate(
        self,
        *,
        time: float | None = None,
        dt: float | None = None,
        save_every: float | None = None,
        trajectories: int | None = None,
        burn_in: float | None = None,
        seed: int = 0,
        scheme: str | None = None,
        verbose: bool | None = None,
    ) -> Ensemble:
        """Simulate data; the defaults are those of the paper.

        `scheme` is "euler", "platen" or, for ou and cir, "exact".
        """
        with watching(verbose) as progress:
            core, failures = self._core.generate(
                time, dt, save_every, trajectories, burn_in, seed, scheme, progress
            )
        if failures:
            warnings.warn(f"{len(failures)} trajectories failed; {failures[0]}", RuntimeWarning, stacklevel=2)
        return Ensemble._wrap(core)

    def score_function(self, x: Any) -> NDArray[np.float64]:
        """The exact score, (..., dimension); for affine2d from the Fokker-Planck equation on a grid."""
        return self._evaluate("score", x)

    def mobility(self, x: Any) -> NDArray[np.float64]:
        """The exact mobility, (..., dimension, dimension)."""
        return self._evaluate("mobility", x)

    def diffusion(self, x: Any) -> NDArray[np.float64]:
        """The exact diffusion D, the symmetric part of the mobility, (..., dimension, dimension)."""
        return self._evaluate("diffusion", x)

    def div_mobility(self, x: Any) -> NDArray[np.float64]:
        """The divergence of the mobility, (..., dimension)."""
        return self._evaluate("div_mobility", x)

    def drift(self, x: Any) -> NDArray[np.float64]:
        """The drift, M s + div M where these are known, (..., dimension)."""
        return self._evaluate("drift", x)

    def _evaluate(self, field: str, x: Any) -> NDArray[np.float64]:
        states, dim = np.asarray(x, dtype=np.float64), len(self.coordinates)
        if states.ndim == 0 or states.shape[-1] != dim:
            raise InputError(
                f"states of shape {states.shape}: the last axis must hold the {dim} coordinates "
                f"{', '.join(self.coordinates)}"
            )
        values = self._core.evaluate(field, states.reshape(-1, dim))
        return values.reshape(states.shape[:-1] + values.shape[1:])


def names() -> dict[str, str]:
    """The available systems, with descriptions."""
    return dict(_core.system_names())


def affine2d(**parameters: Any) -> System:
    """Two dimensions, nonreversible, affine multiplicative noise (in the paper)."""
    return System("affine2d", parameters)


def cir(**parameters: Any) -> System:
    """Cox-Ingersoll-Ross square-root diffusion."""
    return System("cir", parameters)


def double_well(**parameters: Any) -> System:
    """Double well with multiplicative noise, one dimension."""
    return System("double-well", parameters)


def fitzhugh_nagumo(**parameters: Any) -> System:
    """FitzHugh-Nagumo model of an excitable cell, two dimensions."""
    return System("fitzhugh-nagumo", parameters)


def limit_cycle(**parameters: Any) -> System:
    """Noisy limit cycle with affine diffusion, two or three dimensions."""
    return System("limit-cycle", parameters)


def lorenz63(**parameters: Any) -> System:
    """Lorenz' equations of 1963 with additive noise, three dimensions."""
    return System("lorenz63", parameters)


def mueller_brown(**parameters: Any) -> System:
    """Motion in the Müller-Brown potential, two dimensions."""
    return System("mueller-brown", parameters)


def ou(**parameters: Any) -> System:
    """Ornstein-Uhlenbeck process, any dimension."""
    return System("ou", parameters)


def prinz(**parameters: Any) -> System:
    """Motion in a potential of four wells, one dimension."""
    return System("prinz", parameters)


def softspin(**parameters: Any) -> System:
    """Periodic chain of soft spins (in the paper)."""
    return System("softspin", parameters)


def triple_well(**parameters: Any) -> System:
    """Motion among two deep wells and a shallow one, two dimensions."""
    return System("triple-well", parameters)


def van_der_pol(**parameters: Any) -> System:
    """Van der Pol oscillator with additive noise, two dimensions."""
    return System("van-der-pol", parameters)
