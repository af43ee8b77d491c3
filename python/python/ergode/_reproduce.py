"""The benchmarks of the paper."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from . import _core
from ._model import Langevin, Scratch, changes_of
from ._progress import watching


def reproduce(
    benchmark: str,
    *,
    recipe: str = "auto",
    scale: str = "small",
    seed: int = 0,
    time: float | None = None,
    options: dict[str, Any] | None = None,
    run: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
) -> Langevin:
    """Do a benchmark of the paper again: its reference data, the fit, its numbers and figures beside ours.

    Parameters
    ----------
    benchmark : {"cir", "affine2d", "softspin"}
        Which one.
    recipe : {"auto", "semigroup", "weak", "paper"}
        How the mobility M is found.
    scale : {"small", "paper"}
        Minutes on two processors, or the data and the training of the paper.
    seed : int
        The one seed of all random numbers.
    time : float, optional
        Length of each trajectory of the reference data; that of the scale where none is given.
    options : dict, optional
        Changes to the configuration of the fit by dotted keys, as for `Langevin`.
    run : path, optional
        Folder of the run. One that was stopped goes on from what the folder holds. Without it a
        temporary folder is used.
    verbose : bool, optional
        Progress: None shows it where somebody watches, True always, False never.

    Returns
    -------
    Langevin
        The fit. `results_["reproduction"]["numbers"]` has what was found, its standard error, the paper's
        number and the exact one; `report()` has the figures.

    Examples
    --------
    >>> import ergode as eg
    >>> model = eg.reproduce("cir", time=600.0, seed=1)
    >>> found = {n["key"]: n for n in model.results_["reproduction"]["numbers"]}
    >>> found["analytic_a_2"]["what"], abs(found["analytic_a_2"]["found"]) < 1e-10
    ('a/γ − 1 from x^2, analytic', True)
    """
    config = {
        "benchmark": benchmark,
        "recipe": recipe,
        "scale": scale,
        "seed": seed,
        "time": time,
        "changes": changes_of(options or {}),
    }
    folder = Scratch() if run is None else None
    path = folder.path if folder is not None else Path(run or "")
    with watching(verbose) as progress:
        _core.reproduce(json.dumps(config), path, progress)
    return Langevin._of_run(path, folder)
