"""Documentation that is run: docstrings, stubs, the example of the README."""

import ast
import doctest
import importlib
import inspect
from importlib.metadata import version
from pathlib import Path

import pytest

import ergode as eg
from ergode import _core

MODULES = [
    "ergode",
    "ergode._check",
    "ergode._compare",
    "ergode._ensemble",
    "ergode._forecast",
    "ergode._model",
    "ergode._physics",
    "ergode.plot",
    "ergode.systems",
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_every_public_name_is_documented():
    for name in eg.__all__:
        found = getattr(eg, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert inspect.getdoc(found), name
            for member, value in vars(found).items() if inspect.isclass(found) else ():
                if not member.startswith("_") and callable(value):
                    assert inspect.getdoc(value), f"{name}.{member}"


def test_stubs_name_all_that_is_compiled():
    stub = ast.parse((Path(eg.__file__).parent / "_core.pyi").read_text())
    classes = {n.name: n for n in stub.body if isinstance(n, ast.ClassDef)}
    functions = {n.name for n in stub.body if isinstance(n, ast.FunctionDef)}
    for name, value in vars(_core).items():
        if name.startswith("__"):
            continue
        assert name in classes or name in functions, name
        if inspect.isclass(value) and not issubclass(value, Exception):
            declared = {n.name for n in classes[name].body if isinstance(n, ast.FunctionDef)}
            compiled = {n for n in vars(value) if not n.startswith("_")}
            assert compiled <= declared, (name, compiled - declared)
            assert declared - compiled <= {"__new__", "__len__"}, name
    assert (Path(eg.__file__).parent / "py.typed").exists()


def test_the_example_of_the_readme(tmp_path, monkeypatch, capsys):
    """From an array to a validated model and an open report in less than ten lines."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) < 10
    names = {}
    exec(code, names)
    assert opened == [(tmp_path / "report.html").as_uri()]
    assert capsys.readouterr().out.count("verdict:") == 2
    assert names["ens"].dt == 0.01 and names["new"].x.shape[0] == 64
    assert names["model"].validation_.verdict != "fail"


def test_version():
    assert eg.__version__ == version("ergode")
