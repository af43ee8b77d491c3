"""Parameters in the style of scikit-learn, without depending on it."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from ._core import InputError

T = TypeVar("T", bound="Parameters")


class Parameters:
    """Keyword arguments of `__init__` that can be read, set and cloned."""

    @classmethod
    def _names(cls) -> list[str]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return [p.name for p in parameters if p.name != "self" and p.kind is not p.VAR_KEYWORD]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` has no effect."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: T, **parameters: Any) -> T:
        """Change parameters; fitted results stay until the next `fit`."""
        for name, value in parameters.items():
            if name not in self._names():
                raise InputError(
                    f"no parameter {name!r}; the parameters are {', '.join(self._names())}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
