"""Self-contained pages, and HTML fragments for notebooks."""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from collections.abc import Iterable, Sequence
from pathlib import Path

_COLOURS = {"pass": "#2e7d32", "warn": "#b26a00", "fail": "#c62828", "info": "#1565c0"}


class Page:
    """A self-contained HTML page; a notebook shows it in a frame.

    Attributes
    ----------
    html : str
        The whole page.
    """

    def __init__(self, text: str) -> None:
        self.html = text
        self._path: Path | None = None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; never leaves an incomplete file."""
        target = Path(path)
        beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            beside.write_text(self.html, encoding="utf-8")
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        self._path = target
        return target

    def show(self) -> Path:
        """Open the page in the browser, from the file last saved or a temporary one."""
        if self._path is None or not self._path.exists():
            self.save(Path(tempfile.mkdtemp(prefix="ergode-")) / "report.html")
        assert self._path is not None
        webbrowser.open(self._path.resolve().as_uri())
        return self._path

    def __repr__(self) -> str:
        return f"Page({len(self.html) // 1024} KiB; save(path) writes it, show() opens it)"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:40em;border:0"></iframe>'


def badge(verdict: str) -> str:
    """A verdict in its colour."""
    colour = _COLOURS.get(verdict, "#555")
    return (
        f'<b style="color:#fff;background:{colour};border-radius:4px;padding:1px 8px">'
        f"{html.escape(verdict)}</b>"
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A small table of text."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def listed(items: Iterable[tuple[str, str]]) -> str:
    """Findings: severity and text."""
    lines = "".join(f"<li>{badge(kind)} {html.escape(text)}</li>" for kind, text in items)
    return f"<ul>{lines}</ul>" if lines else ""


def figure(value: float | None) -> str:
    """A number with four significant digits."""
    return "–" if value is None else f"{value:.4g}"
