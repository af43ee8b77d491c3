"""Data and fits that several tests share."""

import subprocess

import matplotlib
import pytest

import ergode as eg
from harness import command_line

matplotlib.use("Agg")


def record(seed=1, time=200.0):
    """Eight trajectories of a two-dimensional Ornstein-Uhlenbeck process."""
    return eg.systems.ou().generate(time=time, save_every=0.05, trajectories=8, seed=seed)


@pytest.fixture(scope="session")
def data():
    return record()


@pytest.fixture(scope="session")
def model(data):
    return eg.Langevin(seed=0).fit(data)


@pytest.fixture(scope="session")
def cli():
    """Runs the command line."""
    program = command_line()

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def folder(tmp_path):
    """A folder for the files of one test."""
    return tmp_path
