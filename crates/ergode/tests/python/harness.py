"""What the scripts of this folder share: `convert`, the checks and their report."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ERGODE = sys.argv[1]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def run(source, target, *options):
    return subprocess.run(
        [ERGODE, "convert", str(source), str(target), *options],
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


def main():
    failed = 0
    for function in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Path(folder))
            except Exception as error:
                failed += 1
                print(f"{function.__name__}: {error!r}")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0
