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
    """Reproduce a benchmark of the paper and compare with its numbers and figures.

    Parameters
    ----------
    benchmark : {"cir", "affine2d", "softspin"}
        Benchmark to reproduce.
    recipe : {"auto", "semigroup", "weak", "paper"}
        How to estimate the mobility M.
    scale : {"small", "paper"}
        Minutes on two cores, or the data and training of the paper.
    seed : int
        Random seed.
    time : float, optional
        Length of each trajectory of the reference data [default: that of the scale].
    options : dict, optional
        Configuration values of the fit by their dotted keys, as for `Langevin`.
    run : path, optional
        Run folder. Call again with the same folder to resume an interrupted run
        [default: a temporary folder].
    verbose : bool, optional
        Show progress: True always, False never, None only on a terminal or in a notebook.

    Returns
    -------
    Langevin
        The fit. `results_["reproduction"]["numbers"]` lists each value with its standard error, the
        paper's number and the exact one; `report()` has the figures.

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
