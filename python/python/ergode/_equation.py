"""A learned equation, written out."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from . import _core


class Equation:
    """A learned equation in the forms that a person or another program reads."""

    def __init__(self, fitted: _core.Fitted) -> None:
        self._fitted = fitted
        self._text = fitted.equation("text")
        terms = json.loads(fitted.results())["equation"]
        self.drift: dict[str, list[dict[str, Any]]] = terms["drift"]
        self.diffusion: dict[str, list[dict[str, Any]]] = terms["diffusion"]

    def latex(self) -> str:
        """LaTeX; terms below two standard errors are left out."""
        return self._fitted.equation("latex")

    def to_python(self) -> str:
        """Source of a module with `drift`, `diffusion` and `simulate` that needs only NumPy."""
        return self._fitted.equation("python")

    def sympy(self) -> tuple[Any, Any]:
        """Drift b, a column, and diffusion D as matrices of SymPy, whose symbols are the names of the coordinates.

        >>> import ergode as eg
        >>> data = eg.systems.ou().generate(time=200.0, save_every=0.05, trajectories=8, seed=1)
        >>> b, D = eg.Langevin(seed=0).fit(data).equation().sympy()
        >>> b.shape, D.shape, sorted(map(str, b.free_symbols))
        ((2, 1), (2, 2), ['x1', 'x2'])
        """
        try:
            import sympy  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("Equation.sympy needs SymPy: pip install sympy") from error

        names = self._fitted.names
        symbols = {name: sympy.Symbol(name, real=True) for name in names}

        def written(terms: list[dict[str, Any]]) -> Any:
            return sympy.Add(*(sympy.Float(term["value"], 17) * _product(term["term"], symbols) for term in terms))

        drift = sympy.Matrix([written(self.drift[name]) for name in names])
        entries = [[self.diffusion.get(f"{i},{j}", self.diffusion.get(f"{j},{i}", [])) for j in names] for i in names]
        return drift, sympy.Matrix([[written(terms) for terms in row] for row in entries])

    def __repr__(self) -> str:
        return self._text

    def _repr_latex_(self) -> str:
        body = self.latex().replace("align*", "aligned")
        return f"$$\n{body}$$"


def _product(term: str, symbols: dict[str, Any]) -> Any:
    """A term such as `x^2*y` or `cos(4*pi*x/360)*r` as an expression of SymPy."""
    import sympy

    found: Any = sympy.Integer(1)
    if term == "1":
        return found
    name = "|".join(re.escape(name) for name in sorted(symbols, key=len, reverse=True))
    wave = rf"(cos|sin)\((?:(\d+)\*(pi\*)?)?({name})(?:/([^)]+))?\)"
    factor = re.compile(rf"(?:{wave}|({name})(?:\^(\d+))?)(?:\*|$)")
    at = 0
    while at < len(term):
        part = factor.match(term, at)
        if part is None:
            raise ValueError(f"the term {term!r} cannot be read")
        function, count, pi, angle, period, plain, power = part.groups()
        if plain is not None:
            found *= symbols[plain] ** int(power or 1)
        else:
            unit = 1 if pi is None else math.pi / float(period)
            found *= getattr(sympy, function)(int(count or 1) * unit * symbols[angle])
        at = part.end()
    return found
