"""Where a coordinate lives: arguments of `Langevin(space=...)`."""

from __future__ import annotations

from typing import Any


def circle(period: float) -> dict[str, Any]:
    """An angle of this period.

    >>> import ergode as eg
    >>> eg.circle(360.0)
    {'circle': 360.0}
    """
    return {"circle": float(period)}


def interval(low: float, high: float) -> dict[str, Any]:
    """Numbers between two walls."""
    return {"interval": [float(low), float(high)]}


def above(wall: float) -> dict[str, Any]:
    """Numbers above a wall."""
    return {"above": float(wall)}


def below(wall: float) -> dict[str, Any]:
    """Numbers below a wall."""
    return {"below": float(wall)}
