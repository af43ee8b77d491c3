"""Helpers for the tests of files: `convert` by the command line, arrays, and their comparison."""

import os
import subprocess

import numpy as np
import pytest


def command_line():
    """The path of the command line, which is in the environment."""
    program = os.environ.get("ERGODE_CLI")
    if program is None:
        pytest.skip("ERGODE_CLI, the path of the command line, is not set")
    return program


def run(source, target, *options):
    return subprocess.run(
        [command_line(), "convert", str(source), str(target), *options],
        capture_output=True,
        text=True,
    )


def convert(source, target, *options):
    result = run(source, target, *options)
    assert result.returncode == 0, result.stderr
    return target


def data(trajectories=3, rows=50, dim=2):
    return np.random.default_rng(1).normal(size=(trajectories, rows, dim))


def same(a, b):
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert np.array_equal(a, b, equal_nan=True)
