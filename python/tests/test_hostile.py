"""Hostile files, options and folders, by the command line; `hostile.py` prints the table and draws more."""

import sys

import pytest

import hostile
from harness import command_line

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and limits of Linux")


@pytest.mark.parametrize("group", hostile.GROUPS, ids=lambda group: group.__name__)
def test_commands(group, tmp_path):
    assert hostile.commands(command_line(), tmp_path, [group]) == 0


def test_drawn_configurations(tmp_path):
    assert hostile.configurations(command_line(), tmp_path, 100, seconds=8) == 0


def test_killed_fits_resume(tmp_path):
    assert hostile.kills(command_line(), tmp_path, 5) == 0
