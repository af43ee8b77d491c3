"""Hostile files, options and folders: every command, with its exit code, message and peak memory.

    python python/tests/hostile.py target/debug/ergode            # the commands
    python python/tests/hostile.py target/debug/ergode --draws 10000   # and drawn configurations
    python python/tests/hostile.py target/debug/ergode --kills 50      # and fits killed and resumed

Needs nothing but Python and a Unix system. A row is right if the exit code is the one that is expected, stderr
holds no panic, and memory and time stay within their bounds.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

GIB = 1 << 30
ADDRESS_SPACE = 8 * GIB
PEAK = GIB
SECONDS = 60


@dataclass
class Outcome:
    code: int
    out: str
    err: str
    peak: int
    seconds: float

    @property
    def aborted(self):
        return self.code < 0 or self.code == 101 or "panicked" in self.err or "stack overflow" in self.err


def run(program, arguments, folder, *, stdout=None, stderr=None, space=ADDRESS_SPACE, processes=None,
        seconds=SECONDS, wall=None):
    """Runs a command under limits and measures its peak memory and the time of its threads.

    `seconds` limits the time on processors, so that it does not depend on what else the machine does; `wall` the
    time that passes.
    """

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        if processes is not None:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))

    child = subprocess.Popen(
        [str(program), *map(str, arguments)], cwd=folder, preexec_fn=limit,
        stdin=subprocess.DEVNULL, stdout=stdout or subprocess.PIPE, stderr=stderr or subprocess.PIPE,
    )
    read = {}

    def drain(name, pipe):
        with pipe:
            read[name] = pipe.read().decode(errors="replace")

    pipes = [(n, p) for n, p in (("out", child.stdout), ("err", child.stderr)) if p is not None]
    readers = [threading.Thread(target=drain, args=pair) for pair in pipes]
    for reader in readers:
        reader.start()
    killer = threading.Timer(10 * seconds if wall is None else wall, child.kill)
    killer.start()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    killer.cancel()
    for reader in readers:
        reader.join()
    return Outcome(child.returncode, read.get("out", ""), read.get("err", ""), usage.ru_maxrss * 1024,
                   usage.ru_utime + usage.ru_stime)


@dataclass
class Case:
    """A command, what it must exit with, and a part of what it must say."""

    name: str
    arguments: list
    code: object = 2
    says: str = ""
    peak: int = PEAK
    seconds: float = 20
    options: dict = field(default_factory=dict)

    def wrong(self, found):
        codes = self.code if isinstance(self.code, tuple) else (self.code,)
        problems = []
        if found.aborted:
            problems.append("panic or abort")
        if found.code not in codes:
            problems.append(f"exit code {found.code}, expected {self.code}")
        if self.says and self.says not in found.err + found.out:
            problems.append(f"does not say {self.says!r}")
        if found.peak > self.peak:
            problems.append(f"peak {found.peak >> 20} MiB")
        if found.seconds > self.seconds:
            problems.append(f"{found.seconds:.0f} s")
        return problems


def npy(shape, descr="<f8"):
    """The header of a .npy file."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def archive(path, arrays, compression=zipfile.ZIP_STORED):
    """A .npz file of arrays of float64, each a shape and numbers."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, (shape, numbers) in arrays.items():
            file.writestr(f"{name}.npy", npy(shape) + struct.pack(f"<{len(numbers)}d", *numbers))


def bomb(path, rows):
    """A small .npz file whose rows of zeros expand to 8 bytes each; its checksum is never reached."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    header = npy((rows, 1))
    unit = 1 << 22
    head = squeeze.compress(header) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(bytes(unit)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    count, rest = divmod(rows * 8, unit)
    tail = squeeze.compress(bytes(rest)) + squeeze.flush(zlib.Z_FINISH)
    size, packed = len(header) + rows * 8, len(head) + count * len(block) + len(tail)
    name = b"x.npy"
    common = struct.pack("<HHHHHIIIH", 45, 0, 8, 0, 0x21, 0, 2**32 - 1, 2**32 - 1, len(name))
    with open(path, "wb") as file:
        file.write(b"PK\x03\x04" + common + struct.pack("<H", 20) + name + struct.pack("<HHQQ", 1, 16, size, packed))
        file.write(head)
        for _ in range(count):
            file.write(block)
        file.write(tail)
        start = file.tell()
        extra = struct.pack("<HHQQ", 1, 16, size, packed)
        file.write(b"PK\x01\x02" + struct.pack("<H", 45) + common + struct.pack("<HHHHII", 20, 0, 0, 0, 0, 0) + name + extra)
        length = file.tell() - start
        file.write(b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, length, start, 0))


def walk(seed, rows, dim=1):
    """An Ornstein-Uhlenbeck record."""
    draw = random.Random(seed)
    state, out = [0.0] * dim, []
    for _ in range(rows):
        state = [0.9 * v + draw.gauss(0, 0.4) for v in state]
        out += state
    return out


class Files:
    """The files and the run that the commands use."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.made = run(program, "generate ou -o a.npz --time 50 --trajectories 4 --save-every 0.1".split(), folder)
        self.fitted = run(program, "fit a.npz -o run".split(), folder, seconds=120)
        archive(folder / "two.npz", {"x": ((50, 1), walk(1, 50)), "v": ((60, 1), walk(2, 60))})
        archive(folder / "short.npz", {"x": ((3000, 1), walk(3, 3000))})
        self.text("nan.toml", "[simulate]\ndt = nan\n")
        self.text("nan2.toml", "[mobility]\nhorizon = nan\n")
        rows = list(zip(walk(4, 400), walk(5, 400)))
        self.text("semi.csv", "t;x;y\n" + "".join(f"{i/10};{a};{b}\n" for i, (a, b) in enumerate(rows)))
        self.text("tab.csv", "t\tx\ty\n" + "".join(f"{i/10}\t{a}\t{b}\n" for i, (a, b) in enumerate(rows)))
        comma = lambda v: str(round(v, 6)).replace(".", ",")
        self.text("comma.csv", "t;x\n" + "".join(f"{i};{comma(a)}\n" for i, (a, _) in enumerate(rows)))
        self.text("comma2.csv", "".join(f"{comma(a)};{comma(b)}\n" for a, b in rows))
        self.text("name.csv", '"a\x7fb","t"\n1,2\nbad,3\n')
        self.text("in\nname.csv", "x,t\n1,2\n3,bad\n")

    def text(self, name, text):
        (self.folder / name).write_text(text)

    def copy(self, name, change):
        """A copy of the run with something changed in it."""
        target = self.folder / name
        shutil.copytree(self.folder / "run", target)
        change(target)
        return name


def double_a_scale(run):
    path = run / "model.json"
    model = json.loads(path.read_text())

    def first_number(value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in items:
            if isinstance(entry, float) and entry != 0:
                value[key] = 2 * entry
                return True
            if isinstance(entry, (dict, list)) and key != "shape" and first_number(entry):
                return True
        return False

    assert first_number(model["score"])
    path.write_text(json.dumps(model, indent=2))


def replaced(name, make):
    def change(run):
        path = run / name
        path.unlink()
        make(path)

    return change


def link_out(path):
    outside = path.parent.parent / "outside"
    outside.write_text("{}")
    path.symlink_to(outside)


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def change_verdict(run):
    path = run / "stages" / "record.json"
    text = path.read_text()
    path.write_text(text.replace('"verdict":"pass"', '"verdict":"fail"').replace('"verdict":"warn"', '"verdict":"fail"'))


def wrong_and_silent(files):
    edited = files.copy("edited", double_a_scale)
    verdict = files.copy("verdict", change_verdict)
    return [
        Case("--array of .npz", ["check", "two.npz", "--dt", 1, "--array", "v", "--json"], 0, '"samples":60'),
        Case("--array of a table", ["check", "semi.csv", "--array", "v"], 2, "--array"),
        Case("--id of arrays", ["check", "a.npz", "--id", "k"], 2, "--id"),
        Case("--array unknown", ["check", "two.npz", "--dt", 1, "--array", "w"], 2, "'w'"),
        Case("edited model.json, simulate", ["simulate", edited, "-o", "o.npz", "--time", 1], 2, "model.json"),
        Case("edited model.json, validate", ["validate", edited], 2, "model.json"),
        Case("edited record.json, validate", ["validate", verdict], 2, "record.json"),
        Case("edited model.json, fit again", ["fit", "a.npz", "-o", edited], 0),
    ]


def memory_of_small_files(files):
    bomb(files.folder / "bomb.npz", 10 * GIB // 8)
    changed = [
        ("model.json is a FIFO", "model.json", os.mkfifo),
        ("model.safetensors is a device", "model.safetensors", lambda p: p.symlink_to("/dev/zero")),
        ("model.json leads out", "model.json", link_out),
        ("model.json of 1 TiB", "model.json", sparse),
        ("model.safetensors of 1 TiB", "model.safetensors", sparse),
        ("stages/record.json is a FIFO", "stages/record.json", os.mkfifo),
        ("stages/record.json of 1 TiB", "stages/record.json", sparse),
        ("results.json is a device", "results.json", lambda p: p.symlink_to("/dev/zero")),
    ]
    cases = [
        Case(".npz that expands to 10 GiB, check", ["check", "bomb.npz", "--dt", 1], 2, "GiB"),
        Case("data is a device", ["check", "zero.npz", "--dt", 1], 2),
        Case("data is a FIFO", ["check", "fifo.csv", "--dt", 1], 2),
        Case("configuration is a device", ["fit", "a.npz", "-o", "o", "-c", "/dev/zero"], 2),
    ]
    (files.folder / "zero.npz").symlink_to("/dev/zero")
    os.mkfifo(files.folder / "fifo.csv")
    for k, (name, path, make) in enumerate(changed):
        folder = files.copy(f"folder{k}", replaced(path, make))
        cases.append(Case(name, ["validate", folder], 2, Path(path).name))
    for k, stage in enumerate(["check", "model", "validation"]):
        folder = files.copy(f"stage{k}", replaced(f"stages/{stage}.json", os.mkfifo))
        cases.append(Case(f"stages/{stage}.json is a FIFO, fit", ["fit", "a.npz", "-o", folder], (0, 2)))
    return cases


def options(files):
    simulate = ["simulate", "run", "-o", "o.npz", "--time"]
    generate = ["generate", "ou", "-o", "o.npz"]
    cases = [
        Case("simulate --trajectories 1e12", [*simulate, 1, "--trajectories", 10**12], 2, "trajectories"),
        Case("simulate --trajectories 2^64-1", [*simulate, 1, "--trajectories", 2**64 - 1], 2, "trajectories"),
        Case("simulate --time 1e7 --trajectories 100", [*simulate, "1e7", "--trajectories", 100], 2),
        Case("generate --trajectories 1e12", [*generate, "--trajectories", 10**12], 2, "trajectories"),
        Case("generate --trajectories 2^64-1", [*generate, "--trajectories", 2**64 - 1], 2, "trajectories"),
        Case("generate --time 1e7 --trajectories 100 .csv",
             ["generate", "ou", "-o", "o.csv", "--time", "1e7", "--trajectories", 100], 2),
        Case("generate --time 1e9 --trajectories 100", [*generate, "--time", "1e9", "--trajectories", 100], 2),
        Case("generate --memory 1e300", [*generate, "--time", 1, "--memory", "1e300"], (0, 2)),
        Case("generate --memory 1e300 --time 1e9", [*generate, "--time", "1e9", "--memory", "1e300"], 2),
        Case("generate --poisson --save-every 1e-12",
             [*generate, "--poisson", "--save-every", "1e-12", "--time", 100], 2),
        Case("generate softspin sites=1e9",
             ["generate", "softspin", "-o", "o.npz", "--set", "sites=1000000000"], 2, "sites"),
    ]
    settings = [
        "simulate.trajectories=1000000000000", "score.closed_form.degrees=[1000]", "score.closed_form.degrees=[50]",
        "validate.joint_bins=1000000", "validate.bins=1000000000", "validate.draws=1000000000000",
        "validate.lags=1000000000000", "validate.frequencies=1000000000000", "simulate.dt=1e-12",
        "mobility.degrees=[50,50]", "mobility.max_degrees=[50,50]", "validate.channels=1000000000000",
        "score.certificate.resample.starts=1000000000000",
    ]
    cases += [fit_with(setting) for setting in settings]
    return cases


def fit_with(setting, code=2, says=None, **more):
    key = setting.split("=")[0]
    return Case(f"fit --set {setting}", ["fit", "a.npz", "-o", "never", "--set", setting], code,
                key if says is None else says, **more)


def numbers(files):
    generate = ["generate", "ou", "-o", "o.npz", "--time", 10]
    settings = [
        "mobility.ridges=[-1]", "score.closed_form.ridges=[-1]", "simulate.length=-1", "simulate.length=0",
        "simulate.trajectories=0", "simulate.dt=1e300", "held_out=1", "held_out=-0.1", "mobility.folds=0",
        "score.denoising.noise.sigma=0", "check.markov_z=-1", "mobility.horizon=-1", "simulate.dt=0",
    ]
    return [
        Case("NaN in a configuration file", ["fit", "a.npz", "-o", "never", "-c", "nan.toml"], 2, "simulate.dt"),
        Case("NaN in a configuration file", ["fit", "a.npz", "-o", "never", "-c", "nan2.toml"], 2, "mobility.horizon"),
        *[fit_with(setting) for setting in settings],
        Case("generate --dt nan --burn-in nan", [*generate, "--dt", "nan", "--burn-in", "nan"], 2, "dt"),
        Case("generate --burn-in nan", [*generate, "--burn-in", "nan"], 2, "burn"),
        Case("generate --burn-in -1", [*generate, "--burn-in", "-1"], 2, "burn"),
        Case("generate --time 1e18", ["generate", "ou", "-o", "o.npz", "--time", "1e18"], 2, "time"),
        Case("simulate --time 1e18", ["simulate", "run", "-o", "o.npz", "--time", "1e18"], 2, "time"),
        Case("seed that TOML cannot hold", ["fit", "a.npz", "-o", "never", "--seed", 2**64 - 1], 2, "seed"),
    ]


def output(files):
    full = lambda: open("/dev/full", "w")

    def closed():
        read, write = os.pipe()
        os.close(read)
        return os.fdopen(write, "w")

    check = ["check", "a.npz", "--json"]
    return [
        Case("| head", check, 0, options={"stdout": closed}),
        Case("--help | head", ["--help"], 0, options={"stdout": closed}),
        Case("> /dev/full", check, 1, "standard output", options={"stdout": full}),
        Case("completions > /dev/full", ["completions", "bash"], 1, options={"stdout": full}),
        Case("error, 2> /dev/full", ["check", "none.npz"], 2, options={"stderr": full}),
        Case("error, 2> closed pipe", ["check", "none.npz"], 2, options={"stderr": closed}),
        Case("fit, 2> /dev/full", ["fit", "a.npz", "-o", "run"], 0, options={"stderr": full}),
        Case("control character in a name", ["check", "name.csv"], 2, "\\u{7f}"),
        Case("line break in a path", ["check", "in\nname.csv"], 2, "in\\nname"),
        Case("line break in an option", ["fit", "a.npz", "-o", "never", "--set", "no\nne=1"], 2, "no\\nne"),
        Case("control character in a system", ["generate", "a\x1bb", "-o", "o.npz"], 2, "a\\u{1b}b"),
    ]


def late(files):
    observable = "validate.observables=[%s]"
    listed = lambda text: observable % json.dumps(text)
    return [
        fit_with(listed("log(x1)"), says="log(x1)"),
        fit_with("validate.other_observables=[\"x1^99999999999\"]", says="x1^99999999999"),
        fit_with(listed("x1 +"), says="x1 +"),
        fit_with(listed("(" * 100000 + "x1"), says="nested"),
        fit_with("validate.lags=0"),
        Case(";-separated .csv", ["check", "semi.csv"], 0),
        Case("tab-separated .csv", ["check", "tab.csv"], 0),
        Case("decimal commas", ["check", "comma.csv"], 2, "decimal"),
        Case("decimal commas, no header", ["check", "comma2.csv", "--dt", 1], 2, "decimal"),
        Case("simulate --start -5", ["simulate", "run", "-o", "o.csv", "--time", 10, "--start", "-5"], 0),
        Case("simulate --start -1e-5", ["simulate", "run", "-o", "o.csv", "--time", 10, "--start", "-1e-5"], 0),
    ]


def small_machines(files):
    small = {"space": GIB}
    alone = {"processes": 1}
    return [
        Case("ulimit -v 1048576, fit of 3000 samples", ["fit", "short.npz", "-o", "small", "--dt", 0.1], 0,
             seconds=60, options=small),
        Case("ulimit -v 1048576, check", ["check", "short.npz", "--dt", 0.1], 0, options=small),
        Case("ulimit -u 1, check", ["check", "a.npz"], 0, options=alone),
        Case("ulimit -u 1, generate", ["generate", "ou", "-o", "shared/o.npz", "--time", 10], 0, options=alone),
    ]


GROUPS = [wrong_and_silent, memory_of_small_files, options, numbers, output, late, small_machines]


# Configurations drawn from the ranges of their numbers.

RANGES = Path(__file__).resolve().parents[2] / "crates" / "ergode" / "src" / "pipeline" / "ranges.rs"
KEY = r"[a-z_0-9.-]+"


@dataclass
class Range:
    kind: str
    least: float
    most: float

    def value(self, draw):
        """A number in the range, often at its ends, or out of it; with whether it is in it."""
        step = 1 if self.kind == "whole" else max(1e-9, 1e-9 * abs(self.most))
        choice = draw.randrange(8)
        if choice == 0:
            return self.least, self.kind not in ("above", "inside")
        if choice == 1:
            return self.most, self.kind not in ("from", "inside")
        if choice == 2:
            return self.least - step, False
        if choice == 3:
            return self.most * 2 + step, False
        if choice == 4:
            return draw.choice([float("nan"), float("inf"), -float("inf"), 1e308, -1e308]), False
        if self.kind == "whole":
            near = min(self.most, self.least + draw.randrange(20))
            return int(near), True
        low = self.least if self.least > 0 else 1e-3 * min(1.0, self.most)
        return min(low * 10 ** draw.uniform(0, 3), 0.5 * (self.least + self.most)), True


def ranges():
    """The table of ranges, from the source."""
    text = RANGES.read_text()
    number = lambda word: float(2**63 - 1) if "i64" in word else float(word.replace("_", ""))
    named = {"SEED": Range("whole", 0, 2**63 - 1)}
    pattern = r"Range::(\w+)\(\s*([^,()]+),\s*([^()]+?)\s*\)"
    for name, kind, least, most in re.findall(r"const (\w+): Range = " + pattern, text):
        named[name] = Range(kind, number(least), number(most))
    table = {}
    for key, kind, least, most in re.findall(r'\(\s*"(' + KEY + r')",\s*' + pattern, text):
        table[key] = Range(kind, number(least), number(most))
    for key, name in re.findall(r'\(\s*"(' + KEY + r')",\s*([A-Z_]+)\)', text):
        table[key] = named[name]
    return table


def flat(prefix, table):
    for key, value in table.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            yield from flat(path, value)
        else:
            yield path, value


ABSENT = {
    "cycle.period": 5.0, "cycle.harmonics": 1, "mobility.horizon": 1.0, "mobility.degrees": [1, 1],
    "simulate.dt": 0.01, "simulate.time": 5.0, "validate.horizon": 1.0, "delays.count": 0, "delays.spacing": 0.1,
}
WORDS = {
    "trend": ["none", "linear", "quadratic", "cubic"], "mobility.recipe": ["auto", "semigroup", "generator", "weak", "x"],
    "score.kind": ["auto", "closed-form", ""], "simulate.scheme": ["euler", "platen", 3], "bridge_gaps": [True, False, 1],
}


def schema(run):
    """Every number of a configuration that has a range: key, default and range."""
    import tomllib

    defaults = dict(flat("", tomllib.loads((run / "config.toml").read_text())))
    defaults.update(ABSENT)
    table = ranges()
    found = []
    for key, value in defaults.items():
        ends = [end for end in table if key == end or key.endswith("." + end)]
        if ends and not isinstance(value, str):
            found.append((key, value, table[max(ends, key=len)]))
    return found


def drawn(draw, known):
    """Changes of a configuration, whether all are in their ranges, and whether some make the work longer."""
    changes, valid, longer = [], True, False
    for key, default, numbers in draw.sample(known, draw.randint(1, 3)):
        value, inside = numbers.value(draw)
        if numbers.kind == "whole" and abs(value) < 1e300:
            value = int(value)
        first = (default or [0])[0] if isinstance(default, list) else default
        longer |= not isinstance(first, (int, float)) or value > first or numbers.kind != "whole"
        if isinstance(default, list):
            pair = key.endswith(("degrees", "quantiles")) and "closed_form" not in key
            value = [value, value] if pair else [value]
        changes += ["--set", f"{key}={text_of(value)}"]
        valid &= inside
    if draw.random() < 0.2:
        key = draw.choice(sorted(WORDS))
        changes += ["--set", f"{key}={draw.choice(WORDS[key])}"]
    return changes, valid, longer


def text_of(value):
    return "[" + ",".join(map(text_of, value)) + "]" if isinstance(value, list) else repr(value)


def configurations(program, folder, count, seed=0, seconds=20, show=print):
    """Fits with drawn configurations: each ends with 0 or 2 in bounded memory; the number of those that do not."""
    run(program, "generate ou -o d.npz --time 30 --trajectories 2 --save-every 0.1".split(), folder)
    run(program, ["fit", "d.npz", "-o", "base"], folder, seconds=120)
    known, draw = schema(folder / "base"), random.Random(seed)
    wrong, codes = 0, {}
    for k in range(count):
        changes, valid, longer = drawn(draw, known)
        target = folder / "drawn"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder / "base", target)
        found = run(program, ["fit", "d.npz", "-o", "drawn", *changes], folder, seconds=seconds, space=4 * GIB)
        stopped = found.code in (-signal.SIGKILL, -signal.SIGXCPU)
        unfinished = stopped and longer and found.seconds > 0.5 * seconds
        name = "unfinished" if unfinished else found.code
        codes[name] = codes.get(name, 0) + 1
        problems = []
        if not unfinished and (found.code not in (0, 2) or found.aborted):
            problems.append(f"exit code {found.code}")
        if not valid and found.code != 2:
            problems.append("a number out of its range was taken")
        if found.peak > 2 * GIB:
            problems.append(f"peak {found.peak >> 20} MiB")
        if problems:
            wrong += 1
            show(f"{k}: {' '.join(changes)}: {', '.join(problems)}: {found.err.strip()[-300:]}")
    show(f"{count} configurations: {codes}; {wrong} went wrong")
    return wrong


def outcome(folder):
    """What a fit leaves, without the time that it took."""
    results = json.loads((folder / "results.json").read_text())
    del results["wall_s"]
    names = ["model.json", "model.safetensors", "constant/model.json", "constant/model.safetensors", "config.toml"]
    return results, [(folder / name).read_bytes() for name in names]


def kills(program, folder, count, seed=0, show=print):
    """Kills fits at random moments until enough are killed; results that differ from those of a whole fit."""
    run(program, "generate ou -o k.npz --time 100 --trajectories 4 --save-every 0.1".split(), folder)
    whole = run(program, ["fit", "k.npz", "-o", "whole"], folder, seconds=300)
    assert whole.code == 0, whole.err
    expected, draw, killed, wrong, stages = outcome(folder / "whole"), random.Random(seed), 0, 0, {}
    started = time.monotonic()
    run(program, ["fit", "k.npz", "-o", "timed"], folder, seconds=300)
    length = time.monotonic() - started
    while killed < count:
        target = folder / "killed"
        shutil.rmtree(target, ignore_errors=True)
        while True:
            patience = draw.uniform(0.0, length)
            found = run(program, ["fit", "k.npz", "-o", "killed"], folder, wall=patience, seconds=300)
            if found.code != -signal.SIGKILL:
                break
            killed += 1
            stage = (found.err.strip().splitlines() or ["start"])[-1]
            stages[stage] = stages.get(stage, 0) + 1
        left = [p.name for p in target.rglob("*.tmp")]
        if found.code != 0 or outcome(target) != expected:
            wrong += 1
            show(f"a resumed fit differs (exit code {found.code}): {found.err.strip()[-300:]}")
        for path in left:
            show(f"left behind: {path}")
    show(f"{killed} kills, by stage {stages}; {wrong} resumed results differ")
    return wrong


def perform(files, case):
    settings = dict(case.options)
    settings.setdefault("wall", 60)
    opened = {name: settings[name]() for name in ("stdout", "stderr") if name in settings}
    try:
        return run(files.program, case.arguments, files.folder, seconds=case.seconds + 5, **{**settings, **opened})
    finally:
        for file in opened.values():
            try:
                file.close()
            except OSError:
                pass


def show(case, found, wrong):
    message = " ".join((found.err.strip() or found.out.strip()).split())
    mark = "WRONG" if wrong else "ok"
    print(f"{mark:5} {found.code:4} {found.peak >> 20:6} MiB {found.seconds:5.1f} s  {case.name[:60]:60}  {message[:150]}")
    for problem in wrong:
        print(f"{'':28}^ {problem}")


def commands(program, folder, groups=GROUPS):
    """Runs all commands; the number of those that went wrong."""
    files = Files(program, folder)
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    wrong_in_all = 0
    for group in groups:
        print(f"--- {group.__name__.replace('_', ' ')}")
        for case in group(files):
            found = perform(files, case)
            wrong = case.wrong(found)
            wrong_in_all += bool(wrong)
            show(case, found, wrong)
    return wrong_in_all


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--only", default="", help="groups of commands whose names contain this")
    parser.add_argument("--draws", type=int, default=0, help="fit with so many drawn configurations instead")
    parser.add_argument("--kills", type=int, default=0, help="kill fits so often instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20, help="how long a drawn configuration may go on")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    groups = [group for group in GROUPS if arguments.only in group.__name__]
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        if arguments.draws:
            wrong = configurations(program, Path(folder), arguments.draws, arguments.seed, arguments.seconds)
        elif arguments.kills:
            wrong = kills(program, Path(folder), arguments.kills, arguments.seed)
        else:
            wrong = commands(program, Path(folder), groups)
            print(f"{wrong} commands went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
