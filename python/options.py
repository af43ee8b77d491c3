"""Writes the types of the options of a fit, `python/ergode/_options.py`, from the keys of the library.

Run it with the package installed: `python options.py`. A test compares the file with what it would write.
"""

import json
import keyword
from pathlib import Path

from ergode import _core

TARGET = Path(__file__).parent / "python" / "ergode" / "_options.py"

HEAD = '''"""Keys of the configuration with their types; written by options.py from the keys of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

'''


def number(text):
    """The type of one number from its range in words."""
    return "int" if text.startswith("whole number") else "float"


def type_of(takes):
    """The type of what a key takes, from its description."""
    if takes == "true, false":
        return "bool"
    if takes.startswith("auto, or "):
        return f'{number(takes.removeprefix("auto, or "))} | Literal["auto"]'
    if takes == "list":
        return "Sequence[Any]"
    if takes.startswith("list, each "):
        return f'Sequence[{number(takes.removeprefix("list, each "))}]'
    if takes.startswith("two values, each "):
        return f'Sequence[{number(takes.removeprefix("two values, each "))}]'
    if takes == "table":
        return "Mapping[str, Any]"
    if takes.startswith(("number", "whole number")):
        return number(takes)
    names = [name.strip() for part in takes.split(", ") for name in part.split(" or ")]
    return f"Literal[{', '.join(json.dumps(name) for name in names)}]"


def shown(default):
    """A default, long lists cut."""
    text = json.dumps(default)
    return text if len(text) <= 40 else f"{text[:36]} ..."


def written():
    """The content of the file."""
    lines = [HEAD, "Options = TypedDict(", '    "Options",', "    {"]
    for key in json.loads(_core.configuration_keys()):
        name, default = key["key"], key["default"]
        assert not keyword.iskeyword(name)
        lines.append(f"        # {key['description']} ({key['takes']})")
        if default is not None:
            lines.append(f"        # Default: {shown(default)}")
        lines.append(f'        "{name}": {type_of(key["takes"])},')
    lines += ["    },", "    total=False,", ")", ""]
    return "\n".join(lines).replace("\n\n\nOptions", "\n\nOptions")


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
