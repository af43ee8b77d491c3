"""A learned equation, written out."""

from __future__ import annotations

import json
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

    def __repr__(self) -> str:
        return self._text

    def _repr_latex_(self) -> str:
        body = self.latex().replace("align*", "aligned")
        return f"$$\n{body}$$"
