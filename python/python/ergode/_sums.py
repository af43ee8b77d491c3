"""Sums of parts of a record: what a fit needs of it, merged without its rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _core


class Sums:
    """What a fit needs of a record, summed up over some or all of its rows.

    Made by `ergode.dask`, by `ergode accumulate` on the command line, or read from a file. Sums of other rows of the
    same record, by the same plan, add up with `merge`; `Langevin().fit(sums)` fits them.

    Parameters
    ----------
    path : path
        A file that `save` or `ergode accumulate` wrote (.sums).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._core = _core.Sums.load(Path(path))

    @classmethod
    def _of(cls, core: _core.Sums) -> Sums:
        sums = cls.__new__(cls)
        sums._core = core
        return sums

    @property
    def counted(self) -> tuple[int, int]:
        """Rows that were summed up, and rows of the record."""
        return self._core.counted

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return self._core.plan().names

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sums to a file (.sums), which the command line reads too."""
        self._core.save(Path(path))

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return self._core.to_bytes()

    def __repr__(self) -> str:
        counted, rows = self.counted
        return f"Sums({counted} of {rows} rows of {', '.join(self.names)})"


def merge(*parts: Sums | str | os.PathLike[str]) -> Sums:
    """Sums over the rows of all parts, which are sums or files of sums by the same plan.

    The same rows in two parts, and sums of different plans, raise an error that names them.
    """
    if not parts:
        raise _core.InputError("pass at least one part, such as ergode.merge('a.sums', 'b.sums')")
    whole = _core.Sums.from_bytes(_as_core(parts[0]).to_bytes())
    for part in parts[1:]:
        whole.merge(_as_core(part))
    return Sums._of(whole)


def _as_core(part: Any) -> _core.Sums:
    return part._core if isinstance(part, Sums) else Sums(part)._core
