"""Pages that the program itself describes: the command line and the configuration."""

import json
import os
import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent


def version():
    """The version of the workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return manifest["workspace"]["package"]["version"]


def package_is_installed():
    """Whether the compiled module is there."""
    try:
        return find_spec("ergode._core") is not None
    except ImportError:
        return False


def ergode(*arguments):
    """The output of the command line; help is the same on every terminal."""
    program = os.environ.get("ERGODE_CLI", "ergode")
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env=environment, check=True)
    return done.stdout


def command_line():
    """One section for each command, with its help."""
    overview = ergode("--help")
    listed = overview.split("Commands:\n")[1].split("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines() if re.match(r"  \S", line)]
    parts = [
        "# Command line\n",
        "Generated from `ergode COMMAND --help`. Every command takes `--json` (the result on standard output, progress on "
        "standard error), exits with 0 on success, 2 on bad usage or bad input and 1 on any other failure, and leaves no "
        "incomplete file.\n",
        f"```text\n{overview.rstrip()}\n```\n",
    ]
    for name in names:
        if name != "help":
            parts.append(f"## ergode {name}\n\n```text\n{ergode(name, '--help').rstrip()}\n```\n")
    return "\n".join(parts)


def plain(value):
    """A default as TOML writes it, long lists cut."""
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else json.dumps(value)
    if isinstance(value, list) and len(value) > 8:
        text = f"[{json.dumps(value[0])}, {json.dumps(value[1])}, .., {json.dumps(value[-1])}]"
    return f"`{text}`"


def configuration():
    """One table for each section of the configuration."""
    keys = json.loads(ergode("config", "--show", "--json"))["keys"]
    sections = {}
    for key in keys:
        first = key["key"].split(".")[0] if "." in key["key"] else ""
        sections.setdefault(first, []).append(key)
    parts = [
        "# Configuration\n",
        "Generated from `ergode config --show`. A fit takes these keys from a TOML file (`--config`), from the command line "
        '(`--set mobility.recipe=weak`) and in Python (`options={"mobility.recipe": "weak"}`). Where no default stands, '
        "the record decides. Unknown keys, and numbers out of range, are refused. `config.toml` of a run has all values.\n",
    ]
    for name, members in sorted(sections.items()):
        parts.append(f"## {name or 'whole fit'}\n\n| key | default | takes | |\n|---|---|---|---|")
        for key in members:
            takes, text = (key[k].replace("|", "\\|") for k in ("takes", "description"))
            short = key["key"].removeprefix(f"{name}.")
            parts.append(f"| `{short}` | {plain(key['default'])} | {takes} | {text.replace('<', '&lt;')} |")
        parts.append("")
    return "\n".join(parts)


def pages(folder):
    """Writes the pages that have changed."""
    for name, text in (("cli.md", command_line()), ("configuration.md", configuration())):
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
