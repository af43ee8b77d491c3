"""Long work: threads, interruption, progress."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ergode as eg
from ergode import _progress


def test_fits_in_threads_are_those_of_one_thread(data, model):
    parts = [data, data.thin(2), data.select(range(8)), data.thin(2)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda part: eg.Langevin(seed=0).fit(part), parts))
    for one, two in ((found[0], model), (found[2], model), (found[1], found[3])):
        assert one.coefficients_ == two.coefficients_
        assert one.validation_.to_dict() == two.validation_.to_dict()


def test_the_interpreter_is_free_meanwhile():
    """A Python thread counts on while the library works."""
    system = eg.systems.affine2d()
    began, count, done = time.monotonic(), 0, threading.Event()

    def work():
        system.generate(time=2000.0, trajectories=36, save_every=1.0)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    elapsed = time.monotonic() - began
    assert elapsed > 0.05, "too short to tell"
    assert count > 20 * elapsed, (count, elapsed)


INTERRUPTED = """
import signal, time, ergode as eg
# A process that was started in the background ignores interrupts until it says otherwise.
signal.signal(signal.SIGINT, signal.default_int_handler)
data = eg.systems.affine2d().generate(time=1500.0)
model = eg.Langevin(options={"simulate.dt": 1e-4})
print("ready", flush=True)
try:
    model.fit(data)
except KeyboardInterrupt:
    print("interrupted", time.time(), hasattr(model, "results_"), flush=True)
    # The interpreter and the library still work.
    print(eg.systems.ou().generate(time=1.0).dim)
"""


@pytest.mark.parametrize("after", [0.3, 2.0, 4.5])
def test_an_interrupt_stops_within_a_second(after):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(after)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    word, when, fitted = out.splitlines()[0].split()
    assert (word, fitted) == ("interrupted", "False"), (out, err)
    assert out.splitlines()[1] == "2"
    assert float(when) - sent < 1.0


def test_an_error_of_a_signal_handler_comes_through():
    class Stop(Exception):
        pass

    def handler(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Stop):
            eg.systems.affine2d().generate(time=1e5, save_every=100.0, trajectories=36)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_progress_in_place_and_in_lines(monkeypatch):
    clock = iter(np.arange(100) * 0.5)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: float(next(clock)))
    stream = io.StringIO()
    line = _progress._Line(stream, True)
    for done in range(5):
        line("fitting", done, 4, "loss 1")
    line.close()
    shown = stream.getvalue()
    assert "\rfitting:  50 %, 1 s left  loss 1" in shown
    assert shown.endswith("\r") and "\n" not in shown
    stream = io.StringIO()
    line = _progress._Line(stream, False)
    for what in ("checking", "checking", "fitting"):
        line(what, 0, 0, "")
    assert stream.getvalue() == "checking\nfitting\n"


def test_progress_is_shown_where_somebody_watches(data, capfd):
    eg.check(data)
    assert capfd.readouterr() == ("", "")
    eg.Langevin(verbose=True).fit(data)
    assert "simulating" in capfd.readouterr().err
    eg.Langevin(verbose=False).fit(data)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_progress_on_a_terminal():
    main, other = os.openpty()
    # Shown from the start, so that the test does not depend on the speed of the machine.
    script = (
        "import ergode as eg; from ergode import _progress; _progress._PATIENCE = 0.0; "
        "eg.systems.affine2d().generate(time=2e4, save_every=100.0)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=other)
    os.close(other)
    shown = b""
    while True:
        try:
            part = os.read(main, 1000)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert process.wait() == 0
    assert b"\rsimulating" in shown, shown
    assert shown.endswith(b"\r")


def test_an_error_of_progress_stops_the_work(data, monkeypatch):
    def broken(*_):
        raise RuntimeError("no screen")

    monkeypatch.setattr(_progress._Line, "__call__", broken)
    with pytest.raises(RuntimeError, match="no screen"):
        eg.Langevin(verbose=True).fit(data)
