"""Euler-Maruyama loops in Numba: the peer of `cargo bench --bench simulate`.

Two systems, each advanced one trajectory at a time on one core, written the
way a Numba user would write them: scalar loops, with the normal variates drawn
inside the compiled loop. There are two usual ways to draw them, and they differ
severalfold in speed, so both are timed: `np.random.standard_normal()` (keys
`numba_*`) and a NumPy `Generator` passed to the loop (keys `numba_generator_*`).

Prints one JSON object on stdout, with nanoseconds per step of the affine
two-dimensional system and per site and step of the soft-spin chain, and a
sanity check of both simulations on stderr. Writes no files.
"""

import json
import math
import sys
import time

import numba
import numpy as np
from numba import njit

REPETITIONS = 5
SECONDS_PER_REPETITION = 0.3

# Affine-noise system in two dimensions: dx = (-grad U + w J x) dt + B(x) dW
# with U = x^4/4 + x^2 y^2/2 + y^4/4 + x^2/2 + y^2/2, J = [[0, -1], [1, 0]] and
# B = B0 + x B1 + y B2.
AFFINE_DT = 1e-3
W = 1.1
B0 = ((0.60, 0.10), (0.08, 0.55))
B1 = ((0.36, 0.12), (0.15, -0.06))
B2 = ((-0.09, 0.21), (0.18, 0.30))

# Periodic chain of soft spins m_i in three dimensions:
# dm_i = [A_i H_i - gamma m_i x H_i + Theta (4 a_par - 2 a_perp) m_i] dt
#        + sqrt(2 Theta) A_i^(1/2) dW_i.
SITES = 12
SPIN_DT = 2.5e-4
LAMBDA = 10.0
COUPLING = 0.35
ANISOTROPY = 0.5
THETA = 0.2
GAMMA = 4.0
A_PERP = 0.25
A_PAR = 0.03
EPS = 0.01


@njit(fastmath=True)
def seed_legacy(value):
    """Seed the `np.random` of the compiled code."""
    np.random.seed(value)


@njit(fastmath=True)
def draw_legacy(_rng):
    """A normal variate from `np.random`."""
    return np.random.standard_normal()


@njit(fastmath=True)
def draw_generator(rng):
    """A normal variate from a NumPy generator."""
    return rng.standard_normal()


def affine2d(draw):
    """The loop of the affine system, with normal variates from `draw`."""

    @njit(fastmath=True)
    def advance(state, steps, rng):
        """Advance `state`, of shape (2,), in place."""
        sqrt_dt = math.sqrt(AFFINE_DT)
        x = state[0]
        y = state[1]
        for _ in range(steps):
            dw_x = sqrt_dt * draw(rng)
            dw_y = sqrt_dt * draw(rng)
            b_xx = B0[0][0] + x * B1[0][0] + y * B2[0][0]
            b_xy = B0[0][1] + x * B1[0][1] + y * B2[0][1]
            b_yx = B0[1][0] + x * B1[1][0] + y * B2[1][0]
            b_yy = B0[1][1] + x * B1[1][1] + y * B2[1][1]
            stiffness = 1.0 + x * x + y * y
            drift_x = -stiffness * x - W * y
            drift_y = -stiffness * y + W * x
            x += drift_x * AFFINE_DT + b_xx * dw_x + b_xy * dw_y
            y += drift_y * AFFINE_DT + b_yx * dw_x + b_yy * dw_y
        state[0] = x
        state[1] = y

    return advance


def softspin(draw):
    """The loop of the soft-spin chain, with normal variates from `draw`."""

    @njit(fastmath=True)
    def advance(spins, steps, rng):
        """Advance `spins`, of shape (SITES, 3), in place."""
        amplitude = math.sqrt(2.0 * THETA * SPIN_DT)
        ito = THETA * (4.0 * A_PAR - 2.0 * A_PERP)
        old = spins.copy()
        new = np.empty_like(spins)
        for _ in range(steps):
            for i in range(SITES):
                left = i - 1 if i > 0 else SITES - 1
                right = i + 1 if i < SITES - 1 else 0
                x = old[i, 0]
                y = old[i, 1]
                z = old[i, 2]
                r2 = x * x + y * y + z * z

                well = -LAMBDA * (r2 - 1.0) - 2.0 * COUPLING
                h_x = well * x + COUPLING * (old[left, 0] + old[right, 0])
                h_y = well * y + COUPLING * (old[left, 1] + old[right, 1])
                h_z = (well + ANISOTROPY) * z + COUPLING * (old[left, 2] + old[right, 2])

                # A = a I + (a_par - a_perp) m m^T, with eigenvalue b along m.
                a = EPS + A_PERP * r2
                b = EPS + A_PAR * r2
                along = (A_PAR - A_PERP) * (x * h_x + y * h_y + z * h_z) + ito
                drift_x = a * h_x + along * x - GAMMA * (y * h_z - z * h_y)
                drift_y = a * h_y + along * y - GAMMA * (z * h_x - x * h_z)
                drift_z = a * h_z + along * z - GAMMA * (x * h_y - y * h_x)

                xi_x = draw(rng)
                xi_y = draw(rng)
                xi_z = draw(rng)
                root_a = math.sqrt(a)
                project = (A_PAR - A_PERP) / (math.sqrt(b) + root_a)
                project *= x * xi_x + y * xi_y + z * xi_z

                new[i, 0] = x + drift_x * SPIN_DT + amplitude * (root_a * xi_x + project * x)
                new[i, 1] = y + drift_y * SPIN_DT + amplitude * (root_a * xi_y + project * y)
                new[i, 2] = z + drift_z * SPIN_DT + amplitude * (root_a * xi_z + project * z)
            old, new = new, old
        spins[:] = old

    return advance


def initial_affine2d():
    """The starting point of the affine system."""
    return np.array([0.1, -0.2])


def initial_softspin():
    """All spins along z."""
    spins = np.zeros((SITES, 3))
    spins[:, 2] = 1.0
    return spins


def seconds(advance, state, steps, rng):
    """Wall time of `steps` steps."""
    start = time.perf_counter()
    advance(state, steps, rng)
    return time.perf_counter() - start


def best_ns_per_step(advance, state, rng):
    """Best of REPETITIONS timings, after compilation and a pilot run."""
    advance(state, 1000, rng)
    pilot = 20_000
    pilot_seconds = seconds(advance, state, pilot, rng)
    steps = max(pilot, int(pilot * SECONDS_PER_REPETITION / pilot_seconds))
    best = min(seconds(advance, state, steps, rng) for _ in range(REPETITIONS))
    return 1e9 * best / steps


def second_moments(advance, state, rng, samples=500, stride=1000):
    """Means of the squares of the components of `state` along a trajectory."""
    total = np.zeros_like(state)
    for _ in range(samples):
        advance(state, stride, rng)
        total += state**2
    return total / samples


def check(name, moment):
    """Report a second moment on stderr; stop if it is not finite."""
    print(f"{name}: second moment {moment:.3f}", file=sys.stderr)
    if not math.isfinite(moment):
        sys.exit(f"{name}: the simulation diverged")


def time_affine2d(draw, rng):
    """Nanoseconds per step of the affine system."""
    advance = affine2d(draw)
    moments = second_moments(advance, initial_affine2d(), rng)
    check(f"affine2d, {draw.__name__}, <x^2 + y^2>", moments.sum())
    return best_ns_per_step(advance, initial_affine2d(), rng)


def time_softspin(draw, rng):
    """Nanoseconds per site and step of the soft-spin chain."""
    advance = softspin(draw)
    moments = second_moments(advance, initial_softspin(), rng)
    check(f"softspin, {draw.__name__}, <|m|^2>", moments.sum(axis=1).mean())
    return best_ns_per_step(advance, initial_softspin(), rng) / SITES


def main():
    seed_legacy(1)
    rng = np.random.default_rng(1)
    result = {
        "affine2d": {
            "numba_ns": time_affine2d(draw_legacy, rng),
            "numba_generator_ns": time_affine2d(draw_generator, rng),
        },
        "softspin": {
            "numba_ns_per_site": time_softspin(draw_legacy, rng),
            "numba_generator_ns_per_site": time_softspin(draw_generator, rng),
        },
        "versions": {"numba": numba.__version__, "numpy": np.__version__},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
