"""Ergode and other packages on records of the zoo: `python bench/peers/run.py [--quick] [CASE@INTERVAL ..]`.

Each peer has a virtual environment of its own with pinned versions (target/peers), gets the same samples and is compared
at the same states by the code of the zoo. Prints a table in Markdown. `cargo build --example zoo -p ergode` first.
"""

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PEERS = {
    "kramersmoyal": HERE / "kramersmoyal_peer.py",
    "pydaddy": HERE / "pydaddy_peer.py",
    "pysindy": HERE / "pysindy_peer.py",
    "sfi": ROOT / "crates/xtask/src/zoo/sfi.py",
}
CASES = [
    *("ou1@0.05", "double-well@0.05", "double-well@0.5", "jacobi-bell@0.05", "student-t@0.05"),
    *("ou2-rotating@0.05", "affine2d@0.05", "van-der-pol@0.02", "van-der-pol@0.2", "limit-cycle@0.1"),
    *("lorenz63@0.01", "lorenz63@0.05", "pitchfork-coloured@0.05", "underdamped-both@0.1"),
]


def interpreter(peer):
    """The Python of a peer's environment, which is made where it is missing."""
    folder = TARGET / "peers" / peer
    program = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not program.exists():
        print(f"installing {peer}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        wanted = HERE / f"requirements-{peer}.txt"
        subprocess.run([program, "-m", "pip", "install", "--quiet", "-r", wanted], check=True)
    return program


def zoo(*arguments):
    """The JSON that the zoo prints."""
    program = TARGET / "debug" / "examples" / ("zoo.exe" if os.name == "nt" else "zoo")
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout)


def cell(row):
    """Errors of drift and D in percent, and seconds."""
    values = [row.get("drift_rel_l2"), row.get("D_rel_l2")]
    if values == [None, None]:
        return row.get("error", "-").split(":")[-1].strip()[:40]
    drift, diffusion = ("-" if value is None else f"{100 * value:.3g}" for value in values)
    return f"{drift} / {diffusion} ({row['seconds']:.1f} s)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="records of a quarter of the length")
    parser.add_argument("--peers", default=",".join(PEERS), help="names, separated by commas")
    parser.add_argument("cases", nargs="*", default=CASES, metavar="CASE@INTERVAL")
    options = parser.parse_args()
    quick = ["--quick"] if options.quick else []
    peers = options.peers.split(",")
    rows = []
    for case in options.cases:
        name, interval = case.split("@")
        ours = zoo("fit", name, interval, *quick)
        row = [name, interval, f"{cell(ours)} {ours.get('verdict', '')}"]
        for peer in peers:
            found = zoo("peers", name, interval, *quick, "--python", interpreter(peer), PEERS[peer])
            if peer == peers[0]:
                row += [cell(found.get(key, found)) for key in ("kramers_moyal", "linear_inverse_model")]
            row.append(cell(found.get("stochastic_force_inference", found)))
        rows.append(row)
        print(" | ".join(row), file=sys.stderr)
    print("error of drift / D in percent (seconds); regression and LIM are the zoo's own\n")
    headings = ["case", "interval", "Ergode", "regression", "LIM", *peers]
    for row in [headings, ["---"] * len(headings), *rows]:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
