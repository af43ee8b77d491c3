"""Keys of the configuration with their types; written by options.py from the keys of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

Options = TypedDict(
    "Options",
    {
        # take rows with NaN for samples that were not taken, not for breaks between records (true, false)
        # Default: false
        "bridge_gaps": bool,
        # fail if the interval exceeds this fraction of the decorrelation time (number > 0)
        # Default: 1.0
        "check.coarse_fail": float,
        # warn if the interval exceeds this fraction of the decorrelation time (number > 0)
        # Default: 0.3333333333333333
        "check.coarse_warn": float,
        # cycles below this fraction of the sd are only information (number >= 0)
        # Default: 0.05
        "check.cycle_amplitude": float,
        # probability with which noise shows a cycle (number >= 0, <= 1)
        # Default: 0.0001
        "check.cycle_false_alarm": float,
        # autocorrelation that counts as decorrelated (number > 0, < 1)
        # Default: 0.05
        "check.decorrelation_threshold": float,
        # probability below which the distribution has changed (number >= 0, <= 1)
        # Default: 1e-05
        "check.distribution_probability": float,
        # |correlation| above which two coordinates are duplicates (number >= 0, <= 1)
        # Default: 0.999
        "check.duplicate_correlation": float,
        # eigenvalue of the correlations below which coordinates are dependent (number >= 0)
        # Default: 1e-06
        "check.duplicate_eigenvalue": float,
        # fraction of the variance from which such a violation counts (number >= 0)
        # Default: 0.05
        "check.markov_size": float,
        # standard errors from which a violation of the Markov test is significant (number > 0)
        # Default: 5.0
        "check.markov_z": float,
        # fraction of the variance from which measurement noise counts (number >= 0)
        # Default: 0.005
        "check.noise_fraction": float,
        # standard errors from which measurement noise is significant (number > 0)
        # Default: 5.0
        "check.noise_z": float,
        # fail below this number of decorrelation times (number >= 0)
        # Default: 20.0
        "check.short_fail": float,
        # warn below this number of decorrelation times (number >= 0)
        # Default: 80.0
        "check.short_warn": float,
        # trends and changes below this fraction of the sd are only information (number >= 0)
        # Default: 0.05
        "check.stationarity_size": float,
        # standard errors from which a trend or a change is significant (number > 0)
        # Default: 4.5
        "check.stationarity_z": float,
        # harmonics of mean and ln sd by phase; cross-validated by default (whole number >= 0, <= 1000)
        "cycle.harmonics": int,
        # period of the cycle that mean and variance follow; no cycle by default (auto, or number > 0)
        "cycle.period": float | Literal["auto"],
        # delayed copies of the coordinates that are added to the state (auto, or whole number >= 0, <= 100)
        # Default: 0
        "delays.count": int | Literal["auto"],
        # time from one delay to the next; auto is a quarter of the decorrelation time (auto, or number > 0)
        # Default: "auto"
        "delays.spacing": float | Literal["auto"],
        # terms of the diffusion, polynomials of the coordinates; all up to a degree if empty (list)
        # Default: []
        "diffusion.terms": Sequence[Any],
        # terms of the drift, polynomials of the coordinates; all up to a degree if empty (list)
        # Default: []
        "drift.terms": Sequence[Any],
        # fraction of the data that the fit does not see (number > 0, < 1)
        # Default: 0.25
        "held_out": float,
        # time of the whole fit in seconds; 600 by default, none for networks and rings (number)
        "limits.seconds": float,
        # standard errors by which held-out chi^2 must fall for a higher degree (number >= 0)
        # Default: 2.0
        "mobility.caution": float,
        # chart of the test functions by coordinate: identity, logarithm, normal-scores; auto where silent (table)
        # Default: {}
        "mobility.charts": Mapping[str, Any],
        # degrees of D and R (of b, with recipe generator); cross-validated by default (two values, each whole number >= 0, <= 12)
        "mobility.degrees": Sequence[int],
        # least values of coefficients, by label (table)
        # Default: {}
        "mobility.floors": Mapping[str, Any],
        # folds of the cross-validation over blocks (whole number >= 2, <= 1000)
        # Default: 6
        "mobility.folds": int,
        # longest lag; the longest decorrelation time by default (number > 0)
        "mobility.horizon": float,
        # most Gauss-Newton steps (whole number >= 1, <= 100000)
        # Default: 50
        "mobility.iterations": int,
        # leading coordinates that are observed, the others being delayed copies (whole number >= 1, <= 10000)
        "mobility.leading": int,
        # entries of M that may differ from zero; all by default (table)
        "mobility.mask": Mapping[str, Any],
        # most coefficients (whole number >= 1, <= 10000)
        # Default: 200
        "mobility.max_coefficients": int,
        # highest degrees of D and R that are tried (two values, each whole number >= 0, <= 12)
        # Default: [6, 7]
        "mobility.max_degrees": Sequence[int],
        # known mean of M with its standard error (table)
        "mobility.mean": Mapping[str, Any],
        # covariance of white measurement noise: estimate it, or {variances = [..]} (auto, none, estimate, variances)
        # Default: "auto"
        "mobility.noise": Literal["auto", "none", "estimate", "variances"],
        # how to estimate the dynamics (auto, semigroup, generator, weak, constant, paper)
        # Default: "auto"
        "mobility.recipe": Literal["auto", "semigroup", "generator", "weak", "constant", "paper"],
        # ridges to try: chi^2 added for a deviation from Phi as large as Phi (list, each number >= 0)
        # Default: [0.0, 0.1, 1.0, 10.0, 100.0]
        "mobility.ridges": Sequence[float],
        # keep only the terms of drift and diffusion that the record supports (true, false)
        # Default: false
        "mobility.sparse": bool,
        # blocks that give the standard errors (auto, trajectories, per-trajectory)
        # Default: "auto"
        "mobility.statistics.blocking": Literal["auto", "trajectories", "per-trajectory"],
        # index that the first trajectory counts as (whole number >= 0)
        # Default: 0
        "mobility.statistics.first_trajectory": int,
        # samples that begin a pair (all, stride, random)
        # Default: "all"
        "mobility.statistics.subsample": Literal["all", "stride", "random"],
        # degree of the control variate; none by default (whole number >= 0, <= 8)
        "paper.baseline_degree": int,
        # frequencies of the lag that the network sees (whole number >= 0, <= 1000)
        # Default: 3
        "paper.conditional.frequencies": int,
        # hidden widths of the network (list, each whole number >= 1, <= 4096)
        # Default: [256, 128]
        "paper.conditional.hidden": Sequence[int],
        # one network for the whole state, or the same at every site of a lattice (whole or lattice)
        # Default: "whole"
        "paper.conditional.layout": Literal["whole", "lattice"],
        # weight of the penalties on moments of the residual (number >= 0)
        # Default: 0.1
        "paper.conditional.moment_penalty": float,
        # use every state with a noise and with its negative (true, false)
        # Default: true
        "paper.conditional.noise.antithetic": bool,
        # states of a batch (whole number >= 1, <= 1000000)
        # Default: 4096
        "paper.conditional.noise.batch": int,
        # fraction of the record that the training does not see (number > 0, <= 0.5)
        # Default: 0.1
        "paper.conditional.noise.held_out": float,
        # states of the held-out batch (whole number >= 1, <= 1e7)
        # Default: 65536
        "paper.conditional.noise.held_out_states": int,
        # random seed (whole number >= 0)
        # Default: 0
        "paper.conditional.noise.seed": int,
        # sd of the denoising noise, in standardised coordinates (number > 0, <= 10)
        # Default: 0.05
        "paper.conditional.noise.sigma": float,
        # scale input and output by the root of the lag (true, false)
        # Default: false
        "paper.conditional.rescale": bool,
        # batches whose gradients are added for one step (whole number >= 1, <= 10000)
        # Default: 1
        "paper.conditional.train.accumulate": int,
        # memory of the first moment (number >= 0, < 1)
        # Default: 0.8999999761581421
        "paper.conditional.train.adam.beta1": float,
        # memory of the second moment (number >= 0, < 1)
        # Default: 0.9990000128746033
        "paper.conditional.train.adam.beta2": float,
        # largest norm of a gradient; no limit by default (number > 0)
        "paper.conditional.train.adam.clip": float,
        # fraction of the step size at the end (number >= 0, <= 1)
        # Default: 0.009999999776482582
        "paper.conditional.train.adam.decay.cosine.floor": float,
        # steps over which the step size falls as a cosine (whole number >= 1)
        # Default: 10000
        "paper.conditional.train.adam.decay.cosine.steps": int,
        # added to the root of the second moment (number > 0, <= 1)
        # Default: 9.99999993922529e-09
        "paper.conditional.train.adam.epsilon": float,
        # step size (number > 0, <= 10)
        # Default: 0.009999999776482582
        "paper.conditional.train.adam.rate": float,
        # shrinking of the weights per step, times the step size (number >= 0, <= 10)
        # Default: 0.0
        "paper.conditional.train.adam.weight_decay": float,
        # decay of the running average of the weights, which is what is kept (number >= 0, < 1)
        # Default: 0.999
        "paper.conditional.train.average": float,
        # steps between two looks at the held-out loss (whole number >= 1)
        # Default: 250
        "paper.conditional.train.check_every": int,
        # looks without improvement that end the training; 0 makes all steps (whole number >= 0)
        # Default: 20
        "paper.conditional.train.patience": int,
        # most steps of the optimiser (whole number >= 1)
        # Default: 10000
        "paper.conditional.train.steps": int,
        # degree of the observables at the later time (whole number >= 1, <= 8)
        # Default: 3
        "paper.future_degree": int,
        # degree of the observables at the earlier time (whole number >= 1, <= 8)
        # Default: 1
        "paper.initial_degree": int,
        # lags of the equations; by default from the decorrelation time (list, each number > 0)
        # Default: []
        "paper.lags": Sequence[float],
        # initial states of a step (whole number >= 1, <= 1000000)
        # Default: 8192
        "paper.mobility.batch": int,
        # least D, as a fraction of the diagonal of Phi (number >= 0, <= 1)
        # Default: 1e-06
        "paper.mobility.floor": float,
        # fraction of the data that the fit does not see (number > 0, <= 0.5)
        # Default: 0.1
        "paper.mobility.held_out": float,
        # hidden widths of the network (list, each whole number >= 1, <= 4096)
        # Default: [128, 128]
        "paper.mobility.hidden": Sequence[int],
        # p in the weights lag^-p of the lags (number >= -10, <= 10)
        # Default: 0.0
        "paper.mobility.lag_exponent": float,
        # lags of a step, drawn at random; all by default (whole number >= 1, <= 100000)
        # Default: 4
        "paper.mobility.lags_per_step": int,
        # one network for the whole state, or the same at every site of a lattice (whole or lattice)
        # Default: "whole"
        "paper.mobility.layout": Literal["whole", "lattice"],
        # entries of M, row by row, that may differ from zero; all by default (list)
        "paper.mobility.mask": Sequence[Any],
        # weight of the distance of the mean of M from Phi (number >= 0)
        # Default: 10.0
        "paper.mobility.mean_penalty": float,
        # its bandwidth, in sampling intervals (number > 0)
        # Default: 3.0
        "paper.mobility.residual.bandwidth": float,
        # degree of the local polynomial of the derivative (whole number >= 1, <= 12)
        # Default: 3
        "paper.mobility.residual.degree": int,
        # weight of the distance of M from Phi (number >= 0)
        # Default: 0.3
        "paper.mobility.ridge": float,
        # units of the residuals (channel, global, sampling-error)
        # Default: "sampling-error"
        "paper.mobility.scale": Literal["channel", "global", "sampling-error"],
        # random seed (whole number >= 0)
        # Default: 0
        "paper.mobility.seed": int,
        # unit of the entries of R, relative to those of Phi (number >= 0)
        # Default: 1.0
        "paper.mobility.skew": float,
        # initial states drawn from the record, each with a partner at every lag (whole number >= 1, <= 1e8)
        # Default: 131072
        "paper.mobility.states": int,
        # samples that begin a pair (all, stride, random)
        # Default: "all"
        "paper.mobility.subsample": Literal["all", "stride", "random"],
        # batches whose gradients are added for one step (whole number >= 1, <= 10000)
        # Default: 1
        "paper.mobility.train.accumulate": int,
        # memory of the first moment (number >= 0, < 1)
        # Default: 0.8999999761581421
        "paper.mobility.train.adam.beta1": float,
        # memory of the second moment (number >= 0, < 1)
        # Default: 0.9990000128746033
        "paper.mobility.train.adam.beta2": float,
        # largest norm of a gradient; no limit by default (number > 0)
        "paper.mobility.train.adam.clip": float,
        # fraction of the step size at the end (number >= 0, <= 1)
        # Default: 0.009999999776482582
        "paper.mobility.train.adam.decay.cosine.floor": float,
        # steps over which the step size falls as a cosine (whole number >= 1)
        # Default: 1250
        "paper.mobility.train.adam.decay.cosine.steps": int,
        # added to the root of the second moment (number > 0, <= 1)
        # Default: 9.99999993922529e-09
        "paper.mobility.train.adam.epsilon": float,
        # step size (number > 0, <= 10)
        # Default: 0.0020000000949949026
        "paper.mobility.train.adam.rate": float,
        # shrinking of the weights per step, times the step size (number >= 0, <= 10)
        # Default: 9.999999974752427e-07
        "paper.mobility.train.adam.weight_decay": float,
        # decay of the running average of the weights, which is what is kept (number >= 0, < 1)
        # Default: 0.99
        "paper.mobility.train.average": float,
        # steps between two looks at the held-out loss (whole number >= 1)
        # Default: 37
        "paper.mobility.train.check_every": int,
        # looks without improvement that end the training; 0 makes all steps (whole number >= 0)
        # Default: 20
        "paper.mobility.train.patience": int,
        # most steps of the optimiser (whole number >= 1)
        # Default: 1250
        "paper.mobility.train.steps": int,
        # degree of the control variate; none by default (whole number >= 0, <= 8)
        "paper.ring.baseline_degree": int,
        # frequencies of the lag that the network sees (whole number >= 0, <= 1000)
        # Default: 8
        "paper.ring.conditional.frequencies": int,
        # hidden widths of the network (list, each whole number >= 1, <= 4096)
        # Default: [256, 256, 256]
        "paper.ring.conditional.hidden": Sequence[int],
        # one network for the whole state, or the same at every site of a lattice (whole or lattice)
        # Default: "whole"
        "paper.ring.conditional.layout": Literal["whole", "lattice"],
        # weight of the penalties on moments of the residual (number >= 0)
        # Default: 0.1
        "paper.ring.conditional.moment_penalty": float,
        # use every state with a noise and with its negative (true, false)
        # Default: true
        "paper.ring.conditional.noise.antithetic": bool,
        # states of a batch (whole number >= 1, <= 1000000)
        # Default: 2048
        "paper.ring.conditional.noise.batch": int,
        # fraction of the record that the training does not see (number > 0, <= 0.5)
        # Default: 0.1
        "paper.ring.conditional.noise.held_out": float,
        # states of the held-out batch (whole number >= 1, <= 1e7)
        # Default: 65536
        "paper.ring.conditional.noise.held_out_states": int,
        # random seed (whole number >= 0)
        # Default: 0
        "paper.ring.conditional.noise.seed": int,
        # sd of the denoising noise, in standardised coordinates (number > 0, <= 10)
        # Default: 0.05
        "paper.ring.conditional.noise.sigma": float,
        # scale input and output by the root of the lag (true, false)
        # Default: false
        "paper.ring.conditional.rescale": bool,
        # batches whose gradients are added for one step (whole number >= 1, <= 10000)
        # Default: 1
        "paper.ring.conditional.train.accumulate": int,
        # memory of the first moment (number >= 0, < 1)
        # Default: 0.8999999761581421
        "paper.ring.conditional.train.adam.beta1": float,
        # memory of the second moment (number >= 0, < 1)
        # Default: 0.9990000128746033
        "paper.ring.conditional.train.adam.beta2": float,
        # largest norm of a gradient; no limit by default (number > 0)
        "paper.ring.conditional.train.adam.clip": float,
        # fraction of the step size at the end (number >= 0, <= 1)
        # Default: 0.03999999910593033
        "paper.ring.conditional.train.adam.decay.cosine.floor": float,
        # steps over which the step size falls as a cosine (whole number >= 1)
        # Default: 276480
        "paper.ring.conditional.train.adam.decay.cosine.steps": int,
        # added to the root of the second moment (number > 0, <= 1)
        # Default: 9.99999993922529e-09
        "paper.ring.conditional.train.adam.epsilon": float,
        # step size (number > 0, <= 10)
        # Default: 7.999999797903001e-05
        "paper.ring.conditional.train.adam.rate": float,
        # shrinking of the weights per step, times the step size (number >= 0, <= 10)
        # Default: 0.0
        "paper.ring.conditional.train.adam.weight_decay": float,
        # decay of the running average of the weights, which is what is kept (number >= 0, < 1)
        # Default: 0.999
        "paper.ring.conditional.train.average": float,
        # steps between two looks at the held-out loss (whole number >= 1)
        # Default: 6912
        "paper.ring.conditional.train.check_every": int,
        # looks without improvement that end the training; 0 makes all steps (whole number >= 0)
        # Default: 20
        "paper.ring.conditional.train.patience": int,
        # most steps of the optimiser (whole number >= 1)
        # Default: 276480
        "paper.ring.conditional.train.steps": int,
        # lags of the conditional score, in sampling intervals (list, each whole number >= 1)
        # Default: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,  ...
        "paper.ring.conditional_lags": Sequence[int],
        # neighbours on each side that the conditional score sees (whole number >= 0, <= 100)
        # Default: 2
        "paper.ring.conditional_reach": int,
        # lags of the equations, in sampling intervals (list, each whole number >= 1)
        # Default: [7, 8, 9, 10, 11, 12, 13, 14, 15, 16 ...
        "paper.ring.lags": Sequence[int],
        # initial states of a step (whole number >= 1, <= 1000000)
        # Default: 8192
        "paper.ring.mobility.batch": int,
        # least D, as a fraction of the diagonal of Phi (number >= 0, <= 1)
        # Default: 1e-08
        "paper.ring.mobility.floor": float,
        # fraction of the data that the fit does not see (number > 0, <= 0.5)
        # Default: 0.1
        "paper.ring.mobility.held_out": float,
        # hidden widths of the network (list, each whole number >= 1, <= 4096)
        # Default: [256, 256, 256, 256]
        "paper.ring.mobility.hidden": Sequence[int],
        # p in the weights lag^-p of the lags (number >= -10, <= 10)
        # Default: 0.0
        "paper.ring.mobility.lag_exponent": float,
        # lags of a step, drawn at random; all by default (whole number >= 1, <= 100000)
        # Default: 1
        "paper.ring.mobility.lags_per_step": int,
        # one network for the whole state, or the same at every site of a lattice (whole or lattice)
        # Default: "whole"
        "paper.ring.mobility.layout": Literal["whole", "lattice"],
        # entries of the onsite block that may differ from zero; all by default (list)
        "paper.ring.mobility.mask": Sequence[Any],
        # weight of the distance of the mean of M from Phi (number >= 0)
        # Default: 0.0
        "paper.ring.mobility.mean_penalty": float,
        # its bandwidth, in sampling intervals (number > 0)
        # Default: 3.0
        "paper.ring.mobility.residual.bandwidth": float,
        # degree of the local polynomial of the derivative (whole number >= 1, <= 12)
        # Default: 3
        "paper.ring.mobility.residual.degree": int,
        # weight of the distance of M from Phi (number >= 0)
        # Default: 0.0
        "paper.ring.mobility.ridge": float,
        # units of the residuals (channel, global, sampling-error)
        # Default: "global"
        "paper.ring.mobility.scale": Literal["channel", "global", "sampling-error"],
        # random seed (whole number >= 0)
        # Default: 0
        "paper.ring.mobility.seed": int,
        # unit of the entries of R, relative to those of Phi (number >= 0)
        # Default: 200.0
        "paper.ring.mobility.skew": float,
        # initial states drawn from the record, each with a partner at every lag (whole number >= 1, <= 1e8)
        # Default: 65536
        "paper.ring.mobility.states": int,
        # take every so many samples as beginnings of pairs (whole number >= 1)
        # Default: 5
        "paper.ring.mobility.subsample.stride": int,
        # batches whose gradients are added for one step (whole number >= 1, <= 10000)
        # Default: 1
        "paper.ring.mobility.train.accumulate": int,
        # memory of the first moment (number >= 0, < 1)
        # Default: 0.8999999761581421
        "paper.ring.mobility.train.adam.beta1": float,
        # memory of the second moment (number >= 0, < 1)
        # Default: 0.9990000128746033
        "paper.ring.mobility.train.adam.beta2": float,
        # largest norm of a gradient; no limit by default (number > 0)
        "paper.ring.mobility.train.adam.clip": float,
        # fraction of the step size at the end (number >= 0, <= 1)
        # Default: 1.0
        "paper.ring.mobility.train.adam.decay.cosine.floor": float,
        # steps over which the step size falls as a cosine (whole number >= 1)
        # Default: 3840
        "paper.ring.mobility.train.adam.decay.cosine.steps": int,
        # added to the root of the second moment (number > 0, <= 1)
        # Default: 9.99999993922529e-09
        "paper.ring.mobility.train.adam.epsilon": float,
        # step size (number > 0, <= 10)
        # Default: 2.9999999242136255e-05
        "paper.ring.mobility.train.adam.rate": float,
        # shrinking of the weights per step, times the step size (number >= 0, <= 10)
        # Default: 1.0000000116860974e-07
        "paper.ring.mobility.train.adam.weight_decay": float,
        # decay of the running average of the weights, which is what is kept (number >= 0, < 1)
        # Default: 0.999
        "paper.ring.mobility.train.average": float,
        # steps between two looks at the held-out loss (whole number >= 1)
        # Default: 96
        "paper.ring.mobility.train.check_every": int,
        # looks without improvement that end the training; 0 makes all steps (whole number >= 0)
        # Default: 0
        "paper.ring.mobility.train.patience": int,
        # most steps of the optimiser (whole number >= 1)
        # Default: 3840
        "paper.ring.mobility.train.steps": int,
        # neighbours on each side that the onsite block of M depends on (whole number >= 0, <= 100)
        # Default: 1
        "paper.ring.mobility_reach": int,
        # pairs at each lag (whole number >= 1, <= 1e8)
        # Default: 180000
        "paper.ring.pairs": int,
        # extrapolate the score to no noise from two levels of noise (true, false)
        # Default: false
        "paper.ring.stationary.extrapolate": bool,
        # hidden widths of the network (list, each whole number >= 1, <= 4096)
        # Default: [128, 128, 128]
        "paper.ring.stationary.hidden": Sequence[int],
        # one network for the whole state, or the same at every site of a lattice (whole or lattice)
        # Default: "whole"
        "paper.ring.stationary.layout": Literal["whole", "lattice"],
        # use every state with a noise and with its negative (true, false)
        # Default: true
        "paper.ring.stationary.noise.antithetic": bool,
        # states of a batch (whole number >= 1, <= 1000000)
        # Default: 2048
        "paper.ring.stationary.noise.batch": int,
        # fraction of the record that the training does not see (number > 0, <= 0.5)
        # Default: 0.1
        "paper.ring.stationary.noise.held_out": float,
        # states of the held-out batch (whole number >= 1, <= 1e7)
        # Default: 65536
        "paper.ring.stationary.noise.held_out_states": int,
        # random seed (whole number >= 0)
        # Default: 0
        "paper.ring.stationary.noise.seed": int,
        # sd of the denoising noise, in standardised coordinates (number > 0, <= 10)
        # Default: 0.02
        "paper.ring.stationary.noise.sigma": float,
        # sign changes of the coordinates that leave the density unchanged (list, each number >= -1, <= 1)
        # Default: []
        "paper.ring.stationary.symmetries": Sequence[float],
        # batches whose gradients are added for one step (whole number >= 1, <= 10000)
        # Default: 2
        "paper.ring.stationary.train.accumulate": int,
        # memory of the first moment (number >= 0, < 1)
        # Default: 0.8999999761581421
        "paper.ring.stationary.train.adam.beta1": float,
        # memory of the second moment (number >= 0, < 1)
        # Default: 0.9990000128746033
        "paper.ring.stationary.train.adam.beta2": float,
        # largest norm of a gradient; no limit by default (number > 0)
        "paper.ring.stationary.train.adam.clip": float,
        # fraction of the step size at the end (number >= 0, <= 1)
        # Default: 0.009999999776482582
        "paper.ring.stationary.train.adam.decay.cosine.floor": float,
        # steps over which the step size falls as a cosine (whole number >= 1)
        # Default: 20000
        "paper.ring.stationary.train.adam.decay.cosine.steps": int,
        # added to the root of the second moment (number > 0, <= 1)
        # Default: 9.99999993922529e-09
        "paper.ring.stationary.train.adam.epsilon": float,
        # step size (number > 0, <= 10)
        # Default: 0.0010000000474974513
        "paper.ring.stationary.train.adam.rate": float,
        # shrinking of the weights per step, times the step size (number >= 0, <= 10)
        # Default: 0.0
        "paper.ring.stationary.train.adam.weight_decay": float,
        # decay of the running average of the weights, which is what is kept (number >= 0, < 1)
        # Default: 0.999
        "paper.ring.stationary.train.average": float,
        # steps between two looks at the held-out loss (whole number >= 1)
        # Default: 500
        "paper.ring.stationary.train.check_every": int,
        # looks without improvement that end the training; 0 makes all steps (whole number >= 0)
        # Default: 20
        "paper.ring.stationary.train.patience": int,
        # most steps of the optimiser (whole number >= 1)
        # Default: 20000
        "paper.ring.stationary.train.steps": int,
        # neighbours on each side that the stationary score sees (whole number >= 0, <= 100)
        # Default: 2
        "paper.ring.stationary_reach": int,
        # lags of the one-sided derivative that gives Phi (list, each number >= 0)
        # Default: []
        "paper.short_lags": Sequence[float],
        # extrapolate the score to no noise from two levels of noise (true, false)
        # Default: false
        "paper.stationary.extrapolate": bool,
        # hidden widths of the network (list, each whole number >= 1, <= 4096)
        # Default: [128, 64]
        "paper.stationary.hidden": Sequence[int],
        # one network for the whole state, or the same at every site of a lattice (whole or lattice)
        # Default: "whole"
        "paper.stationary.layout": Literal["whole", "lattice"],
        # use every state with a noise and with its negative (true, false)
        # Default: true
        "paper.stationary.noise.antithetic": bool,
        # states of a batch (whole number >= 1, <= 1000000)
        # Default: 4096
        "paper.stationary.noise.batch": int,
        # fraction of the record that the training does not see (number > 0, <= 0.5)
        # Default: 0.1
        "paper.stationary.noise.held_out": float,
        # states of the held-out batch (whole number >= 1, <= 1e7)
        # Default: 65536
        "paper.stationary.noise.held_out_states": int,
        # random seed (whole number >= 0)
        # Default: 0
        "paper.stationary.noise.seed": int,
        # sd of the denoising noise, in standardised coordinates (number > 0, <= 10)
        # Default: 0.05
        "paper.stationary.noise.sigma": float,
        # sign changes of the coordinates that leave the density unchanged (list, each number >= -1, <= 1)
        # Default: []
        "paper.stationary.symmetries": Sequence[float],
        # batches whose gradients are added for one step (whole number >= 1, <= 10000)
        # Default: 1
        "paper.stationary.train.accumulate": int,
        # memory of the first moment (number >= 0, < 1)
        # Default: 0.8999999761581421
        "paper.stationary.train.adam.beta1": float,
        # memory of the second moment (number >= 0, < 1)
        # Default: 0.9990000128746033
        "paper.stationary.train.adam.beta2": float,
        # largest norm of a gradient; no limit by default (number > 0)
        "paper.stationary.train.adam.clip": float,
        # fraction of the step size at the end (number >= 0, <= 1)
        # Default: 0.009999999776482582
        "paper.stationary.train.adam.decay.cosine.floor": float,
        # steps over which the step size falls as a cosine (whole number >= 1)
        # Default: 20000
        "paper.stationary.train.adam.decay.cosine.steps": int,
        # added to the root of the second moment (number > 0, <= 1)
        # Default: 9.99999993922529e-09
        "paper.stationary.train.adam.epsilon": float,
        # step size (number > 0, <= 10)
        # Default: 0.009999999776482582
        "paper.stationary.train.adam.rate": float,
        # shrinking of the weights per step, times the step size (number >= 0, <= 10)
        # Default: 0.0
        "paper.stationary.train.adam.weight_decay": float,
        # decay of the running average of the weights, which is what is kept (number >= 0, < 1)
        # Default: 0.999
        "paper.stationary.train.average": float,
        # steps between two looks at the held-out loss (whole number >= 1)
        # Default: 500
        "paper.stationary.train.check_every": int,
        # looks without improvement that end the training; 0 makes all steps (whole number >= 0)
        # Default: 20
        "paper.stationary.train.patience": int,
        # most steps of the optimiser (whole number >= 1)
        # Default: 20000
        "paper.stationary.train.steps": int,
        # distances of the neighbours that the score couples (list, each whole number >= 1, <= 10000)
        # Default: [1, 2]
        "ring.distances": Sequence[int],
        # lags beyond zero, one sampling interval apart; an even number (whole number >= 2, <= 10000)
        # Default: 4
        "ring.lags": int,
        # degree of the onsite block of M (whole number >= 0, <= 8)
        # Default: 2
        "ring.mobility_degree": int,
        # degree of the onsite potential (whole number >= 1, <= 12)
        # Default: 6
        "ring.potential_degree": int,
        # sites of the ring; 0 if the coordinates form none (whole number >= 0, <= 10000)
        # Default: 0
        "ring.sites": int,
        # structure of a site: polynomials or a spin (polynomial or spin)
        # Default: "polynomial"
        "ring.span": Literal["polynomial", "spin"],
        # Kolmogorov-Smirnov distance from which a marginal is a failure (number >= 0)
        # Default: 0.1
        "score.certificate.fail_distance": float,
        # relative error of the score from which a violation is a failure (number >= 0)
        # Default: 0.1
        "score.certificate.fail_error": float,
        # probability by chance below which a violation is a failure (number >= 0, <= 1)
        # Default: 1e-05
        "score.certificate.fail_probability": float,
        # random seed (whole number >= 0)
        # Default: 0
        "score.certificate.resample.seed": int,
        # Langevin runs of the certificate; 0 leaves them out (whole number >= 0, <= 1000000)
        # Default: 2048
        "score.certificate.resample.starts": int,
        # Euler step of a Langevin run, for a normal distribution (number >= 1e-6, <= 1)
        # Default: 0.02
        "score.certificate.resample.step": float,
        # length of a Langevin run; a normal coordinate relaxes in 1 (number > 0, <= 10000)
        # Default: 2.0
        "score.certificate.resample.time": float,
        # blocks that give the standard errors (auto, trajectories, per-trajectory)
        # Default: "auto"
        "score.certificate.statistics.blocking": Literal["auto", "trajectories", "per-trajectory"],
        # index that the first trajectory counts as (whole number >= 0)
        # Default: 0
        "score.certificate.statistics.first_trajectory": int,
        # samples that begin a pair (all, stride, random)
        # Default: "all"
        "score.certificate.statistics.subsample": Literal["all", "stride", "random"],
        # relative error of the score up to which there is no warning (number >= 0)
        # Default: 0.01
        "score.certificate.warn_error": float,
        # probability by chance below which a violation is a warning (number >= 0, <= 1)
        # Default: 0.001
        "score.certificate.warn_probability": float,
        # fraction of Langevin steps out of the support that is a warning (number >= 0)
        # Default: 0.05
        "score.certificate.warn_refused": float,
        # degrees of the potential to try; by default from the dimension (list, each whole number >= 1, <= 30)
        # Default: []
        "score.closed_form.degrees": Sequence[int],
        # folds of the cross-validation over blocks (whole number >= 2, <= 1000)
        # Default: 6
        "score.closed_form.folds": int,
        # objective to minimise (hyvarinen or denoising)
        # Default: "hyvarinen"
        "score.closed_form.objective": Literal["hyvarinen", "denoising"],
        # ridges to try, relative to the diagonal of the Gram matrix (list, each number >= 0)
        # Default: [0.0, 1e-10, 1e-08, 1e-06, 1e-05, 0. ...
        "score.closed_form.ridges": Sequence[float],
        # blocks that give the standard errors (auto, trajectories, per-trajectory)
        # Default: "auto"
        "score.closed_form.statistics.blocking": Literal["auto", "trajectories", "per-trajectory"],
        # index that the first trajectory counts as (whole number >= 0)
        # Default: 0
        "score.closed_form.statistics.first_trajectory": int,
        # samples that begin a pair (all, stride, random)
        # Default: "all"
        "score.closed_form.statistics.subsample": Literal["all", "stride", "random"],
        # extrapolate the score to no noise from two levels of noise (true, false)
        # Default: true
        "score.denoising.extrapolate": bool,
        # hidden widths of the network (list, each whole number >= 1, <= 4096)
        # Default: [128, 64]
        "score.denoising.hidden": Sequence[int],
        # one network for the whole state, or the same at every site of a lattice (whole or lattice)
        # Default: "whole"
        "score.denoising.layout": Literal["whole", "lattice"],
        # use every state with a noise and with its negative (true, false)
        # Default: true
        "score.denoising.noise.antithetic": bool,
        # states of a batch (whole number >= 1, <= 1000000)
        # Default: 4096
        "score.denoising.noise.batch": int,
        # fraction of the record that the training does not see (number > 0, <= 0.5)
        # Default: 0.1
        "score.denoising.noise.held_out": float,
        # states of the held-out batch (whole number >= 1, <= 1e7)
        # Default: 65536
        "score.denoising.noise.held_out_states": int,
        # random seed (whole number >= 0)
        # Default: 0
        "score.denoising.noise.seed": int,
        # sd of the denoising noise, in standardised coordinates (number > 0, <= 10)
        # Default: 0.05
        "score.denoising.noise.sigma": float,
        # sign changes of the coordinates that leave the density unchanged (list, each number >= -1, <= 1)
        # Default: []
        "score.denoising.symmetries": Sequence[float],
        # batches whose gradients are added for one step (whole number >= 1, <= 10000)
        # Default: 1
        "score.denoising.train.accumulate": int,
        # memory of the first moment (number >= 0, < 1)
        # Default: 0.8999999761581421
        "score.denoising.train.adam.beta1": float,
        # memory of the second moment (number >= 0, < 1)
        # Default: 0.9990000128746033
        "score.denoising.train.adam.beta2": float,
        # largest norm of a gradient; no limit by default (number > 0)
        "score.denoising.train.adam.clip": float,
        # fraction of the step size at the end (number >= 0, <= 1)
        # Default: 0.009999999776482582
        "score.denoising.train.adam.decay.cosine.floor": float,
        # steps over which the step size falls as a cosine (whole number >= 1)
        # Default: 4000
        "score.denoising.train.adam.decay.cosine.steps": int,
        # added to the root of the second moment (number > 0, <= 1)
        # Default: 9.99999993922529e-09
        "score.denoising.train.adam.epsilon": float,
        # step size (number > 0, <= 10)
        # Default: 0.009999999776482582
        "score.denoising.train.adam.rate": float,
        # shrinking of the weights per step, times the step size (number >= 0, <= 10)
        # Default: 0.0
        "score.denoising.train.adam.weight_decay": float,
        # decay of the running average of the weights, which is what is kept (number >= 0, < 1)
        # Default: 0.999
        "score.denoising.train.average": float,
        # steps between two looks at the held-out loss (whole number >= 1)
        # Default: 100
        "score.denoising.train.check_every": int,
        # looks without improvement that end the training; 0 makes all steps (whole number >= 0)
        # Default: 20
        "score.denoising.train.patience": int,
        # most steps of the optimiser (whole number >= 1)
        # Default: 4000
        "score.denoising.train.steps": int,
        # closed form, network, or the better of both if held-out data reject the first (auto, closed-form, denoising)
        # Default: "auto"
        "score.kind": Literal["auto", "closed-form", "denoising"],
        # random seed (whole number >= 0)
        # Default: 0
        "seed": int,
        # time step; found by trial by default (number > 0)
        "simulate.dt": float,
        # length of all simulations together, in lengths of the record (number > 0, <= 1000)
        # Default: 1.0
        "simulate.length": float,
        # numerical scheme; follows from the model by default (euler or platen)
        "simulate.scheme": Literal["euler", "platen"],
        # length of each simulated trajectory; follows from simulate.length by default (number > 0)
        "simulate.time": float,
        # least number of simulated trajectories (whole number >= 1, <= 1000000)
        # Default: 64
        "simulate.trajectories": int,
        # where each coordinate lives; found by the check where nothing is set (table)
        # Default: {}
        "space": Mapping[str, Any],
        # trend to remove from the mean (none, linear, quadratic)
        # Default: "none"
        "trend": Literal["none", "linear", "quadratic"],
        # bins of a marginal density (whole number >= 2, <= 10000)
        # Default: 32
        "validate.bins": int,
        # blocks that give the standard errors (auto, trajectories, per-trajectory)
        # Default: "auto"
        "validate.blocking": Literal["auto", "trajectories", "per-trajectory"],
        # most correlation curves of a family (whole number >= 1, <= 10000)
        # Default: 200
        "validate.channels": int,
        # draws of the sampling error that noise floors are made of (whole number >= 64, <= 1000000)
        # Default: 1024
        "validate.draws": int,
        # noise floors from which a significant distance is a failure (number >= 0)
        # Default: 3.0
        "validate.fail_floors": float,
        # probability of a false alarm over all distances together (number > 0, < 1)
        # Default: 0.01
        "validate.false_alarm": float,
        # points of a power spectrum (whole number >= 2, <= 10000)
        # Default: 32
        "validate.frequencies": int,
        # longest lag; four decorrelation times by default (number > 0)
        "validate.horizon": float,
        # bins of a joint density along each axis (whole number >= 2, <= 512)
        # Default: 16
        "validate.joint_bins": int,
        # most joint densities (whole number >= 0, <= 1000)
        # Default: 6
        "validate.joints": int,
        # number of lags, with the one at zero (whole number >= 2, <= 10000)
        # Default: 41
        "validate.lags": int,
        # observables of the correlations, as expressions; monomials by default (list)
        # Default: []
        "validate.observables": Sequence[Any],
        # observables that the fit did not use; tanh and such by default (list)
        # Default: []
        "validate.other_observables": Sequence[Any],
        # quantiles between which passages are timed (two values, each number > 0, < 1)
        # Default: [0.1, 0.9]
        "validate.quantiles": Sequence[float],
        # noise floors from which correlations fail however few the data (number >= 0)
        # Default: 10.0
        "validate.refute_floors": float,
        # random seed (whole number >= 0)
        # Default: 0
        "validate.seed": int,
        # length of the training data, in lengths of the held-out data (number > 0)
        "validate.training": float,
        # noise floors from which a significant distance is a warning (number >= 0)
        # Default: 1.5
        "validate.warn_floors": float,
    },
    total=False,
)
