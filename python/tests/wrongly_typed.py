"""Mistakes that type checkers see; mypy reads this file, nobody runs it, and every line marked must be found."""

import pandas as pd

import ergode as eg

unknown: eg.Options = {"mobility.horizom": 2.0}  # wrong
text: eg.Options = {"mobility.horizon": "long"}  # wrong
choice: eg.Options = {"trend": "cubic"}  # wrong
number: int = eg.Langevin().drift([[0.5]])  # wrong
frame: pd.DataFrame = eg.Langevin().drift([[0.5]])  # wrong
eg.Langevin().drift([[0.5]], return_std="yes")  # wrong
