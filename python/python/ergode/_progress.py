"""A line of progress, updated in place."""

from __future__ import annotations

import math
import sys
import time
from typing import TextIO

from . import _core

#: Seconds before progress is shown.
_PATIENCE = 1.0
#: Seconds between updates in place.
_UPDATE_EVERY = 0.25
#: Seconds between lines that cannot be updated in place.
_LINE_EVERY = 30.0


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def progress(verbose: bool | None) -> _Line | None:
    """The progress callback; None if there is no terminal or notebook, unless `verbose`."""
    if verbose is False:
        return None
    notebook = _in_notebook()
    stream = sys.stdout if notebook else sys.stderr
    in_place = notebook or (stream is not None and stream.isatty())
    if stream is None or not (in_place or verbose):
        return None
    return _Line(stream, in_place)


class _Line:
    """Writes `what: 40 %, 3 s left`."""

    def __init__(self, stream: TextIO, in_place: bool) -> None:
        self._stream = stream
        self._in_place = in_place
        self._began = time.monotonic()
        self._what = ""
        self._since = self._began
        self._written = -math.inf
        self._width = 0

    def __call__(self, what: str, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        if what != self._what:
            self._what, self._since = what, now
            self._written = -math.inf
        if self._in_place and now - self._began < _PATIENCE:
            return
        if now - self._written < (_UPDATE_EVERY if self._in_place else _LINE_EVERY):
            return
        self._written = now
        text = what
        if total > 0 and done > 0:
            share = min(done / total, 1.0)
            left = (now - self._since) * (1.0 / share - 1.0)
            text += f": {100 * share:3.0f} %, {left:.0f} s left"
        if note:
            text += f"  {note}"
        if self._in_place:
            text = text[:100]
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Clear the line."""
        if self._in_place and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def __enter__(self) -> _core.Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Silent:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def watching(verbose: bool | None) -> _Line | _Silent:
    """A context that provides the progress callback, or None."""
    return progress(verbose) or _Silent()
