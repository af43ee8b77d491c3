"""What type checkers know: the package, its use, and the options."""

import subprocess
import sys
from pathlib import Path

import pytest

import ergode as eg

HERE = Path(__file__).parent


def checked(*arguments, folder):
    """Output of mypy, which must be installed with the stubs of pandas."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def test_the_package_and_its_use_are_typed(cache):
    done = checked("-p", "ergode", folder=cache)
    assert done.returncode == 0, done.stdout
    done = checked(HERE / "typed.py", folder=cache)
    assert done.returncode == 0, done.stdout


def test_mistakes_are_found(cache):
    path = HERE / "wrongly_typed.py"
    done = checked(path, folder=cache)
    lines = path.read_text(encoding="utf-8").splitlines()
    wrong = {k for k, line in enumerate(lines, 1) if line.endswith("# wrong")}
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    assert found == wrong, done.stdout


def test_options_are_those_of_the_library(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE.parent))
    import options

    current = (HERE.parent / "python" / "ergode" / "_options.py").read_text(encoding="utf-8")
    assert options.written() == current, "run python/options.py with the package installed"
    assert eg.Options.__annotations__["seed"]
    assert options.type_of("list, each whole number >= 0") == "Sequence[int]"
    assert options.type_of("none, linear, quadratic") == 'Literal["none", "linear", "quadratic"]'
