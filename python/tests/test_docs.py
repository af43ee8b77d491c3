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
    "ergode._ensemble",
    "ergode._model",
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


def test_version():
    assert eg.__version__ == version("ergode")
