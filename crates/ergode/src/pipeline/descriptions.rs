//! One line for every key of a configuration.

/// Ends of key paths and what the keys set; of several that fit a key, the longest decides. Sections have the
/// lines of the documentation of their types.
const DESCRIPTIONS: &[(&str, &str)] = &[
    ("seed", "random seed"),
    (
        "bridge_gaps",
        "take rows with NaN for samples that were not taken, not for breaks between records",
    ),
    ("held_out", "fraction of the data that the fit does not see"),
    ("trend", "trend to remove from the mean"),
    (
        "space",
        "where each coordinate lives; found by the check where nothing is set",
    ),
    (
        "cycle.period",
        "period of the cycle that mean and variance follow; no cycle by default",
    ),
    (
        "cycle.harmonics",
        "harmonics of mean and ln sd by phase; cross-validated by default",
    ),
    (
        "delays.count",
        "delayed copies of the coordinates that are added to the state",
    ),
    (
        "delays.spacing",
        "time from one delay to the next; auto is a quarter of the decorrelation time",
    ),
    (
        "check.decorrelation_threshold",
        "autocorrelation that counts as decorrelated",
    ),
    (
        "check.short_fail",
        "fail below this number of decorrelation times",
    ),
    (
        "check.short_warn",
        "warn below this number of decorrelation times",
    ),
    (
        "check.coarse_warn",
        "warn if the interval exceeds this fraction of the decorrelation time",
    ),
    (
        "check.coarse_fail",
        "fail if the interval exceeds this fraction of the decorrelation time",
    ),
    (
        "check.stationarity_z",
        "standard errors from which a trend or a change is significant",
    ),
    (
        "check.stationarity_size",
        "trends and changes below this fraction of the sd are only information",
    ),
    (
        "check.distribution_probability",
        "probability below which the distribution has changed",
    ),
    (
        "check.cycle_false_alarm",
        "probability with which noise shows a cycle",
    ),
    (
        "check.cycle_amplitude",
        "cycles below this fraction of the sd are only information",
    ),
    (
        "check.markov_z",
        "standard errors from which a violation of the Markov test is significant",
    ),
    (
        "check.markov_size",
        "fraction of the variance from which such a violation counts",
    ),
    (
        "check.noise_z",
        "standard errors from which measurement noise is significant",
    ),
    (
        "check.noise_fraction",
        "fraction of the variance from which measurement noise counts",
    ),
    (
        "check.duplicate_correlation",
        "|correlation| above which two coordinates are duplicates",
    ),
    (
        "check.duplicate_eigenvalue",
        "eigenvalue of the correlations below which coordinates are dependent",
    ),
    ("subsample", "samples that begin a pair"),
    (
        "subsample.stride",
        "take every so many samples as beginnings of pairs",
    ),
    ("blocking", "blocks that give the standard errors"),
    (
        "statistics.first_trajectory",
        "index that the first trajectory counts as",
    ),
    (
        "score.kind",
        "closed form, network, or the better of both if held-out data reject the first",
    ),
    (
        "score.closed_form.degrees",
        "degrees of the potential to try; by default from the dimension",
    ),
    (
        "score.closed_form.ridges",
        "ridges to try, relative to the diagonal of the Gram matrix",
    ),
    ("folds", "folds of the cross-validation over blocks"),
    ("score.closed_form.objective", "objective to minimise"),
    (
        "certificate.warn_probability",
        "probability by chance below which a violation is a warning",
    ),
    (
        "certificate.fail_probability",
        "probability by chance below which a violation is a failure",
    ),
    (
        "certificate.warn_error",
        "relative error of the score up to which there is no warning",
    ),
    (
        "certificate.fail_error",
        "relative error of the score from which a violation is a failure",
    ),
    (
        "certificate.fail_distance",
        "Kolmogorov-Smirnov distance from which a marginal is a failure",
    ),
    (
        "certificate.warn_refused",
        "fraction of Langevin steps out of the support that is a warning",
    ),
    (
        "resample.starts",
        "Langevin runs of the certificate; 0 leaves them out",
    ),
    (
        "resample.time",
        "length of a Langevin run; a normal coordinate relaxes in 1",
    ),
    (
        "resample.step",
        "Euler step of a Langevin run, for a normal distribution",
    ),
    ("hidden", "hidden widths of the network"),
    (
        "layout",
        "one network for the whole state, or the same at every site of a lattice",
    ),
    (
        "symmetries",
        "sign changes of the coordinates that leave the density unchanged",
    ),
    (
        "extrapolate",
        "extrapolate the score to no noise from two levels of noise",
    ),
    (
        "noise.sigma",
        "sd of the denoising noise, in standardised coordinates",
    ),
    (
        "noise.antithetic",
        "use every state with a noise and with its negative",
    ),
    ("noise.batch", "states of a batch"),
    (
        "noise.held_out",
        "fraction of the record that the training does not see",
    ),
    ("noise.held_out_states", "states of the held-out batch"),
    ("train.steps", "most steps of the optimiser"),
    (
        "train.accumulate",
        "batches whose gradients are added for one step",
    ),
    (
        "train.average",
        "decay of the running average of the weights, which is what is kept",
    ),
    (
        "train.check_every",
        "steps between two looks at the held-out loss",
    ),
    (
        "train.patience",
        "looks without improvement that end the training; 0 makes all steps",
    ),
    ("adam.rate", "step size"),
    ("adam.beta1", "memory of the first moment"),
    ("adam.beta2", "memory of the second moment"),
    ("adam.epsilon", "added to the root of the second moment"),
    (
        "adam.weight_decay",
        "shrinking of the weights per step, times the step size",
    ),
    (
        "adam.clip",
        "largest norm of a gradient; no limit by default",
    ),
    ("adam.decay", "course of the step size"),
    (
        "cosine.steps",
        "steps over which the step size falls as a cosine",
    ),
    ("cosine.floor", "fraction of the step size at the end"),
    (
        "conditional.frequencies",
        "frequencies of the lag that the network sees",
    ),
    (
        "conditional.rescale",
        "scale input and output by the root of the lag",
    ),
    (
        "conditional.moment_penalty",
        "weight of the penalties on moments of the residual",
    ),
    (
        "ring.sites",
        "sites of the ring; 0 if the coordinates form none",
    ),
    ("ring.span", "structure of a site: polynomials or a spin"),
    (
        "ring.distances",
        "distances of the neighbours that the score couples",
    ),
    ("ring.potential_degree", "degree of the onsite potential"),
    ("ring.mobility_degree", "degree of the onsite block of M"),
    (
        "ring.lags",
        "lags beyond zero, one sampling interval apart; an even number",
    ),
    ("mobility.recipe", "how to estimate the dynamics"),
    (
        "mobility.degrees",
        "degrees of D and R (of b, with recipe generator); cross-validated by default",
    ),
    (
        "mobility.mask",
        "entries of M that may differ from zero; all by default",
    ),
    (
        "mobility.noise",
        "covariance of white measurement noise: estimate it, or {variances = [..]}",
    ),
    (
        "mobility.horizon",
        "longest lag; the longest decorrelation time by default",
    ),
    (
        "mobility.leading",
        "leading coordinates that are observed, the others being delayed copies",
    ),
    (
        "mobility.max_degrees",
        "highest degrees of D and R that are tried",
    ),
    ("mobility.max_coefficients", "most coefficients"),
    (
        "mobility.charts",
        "chart of the test functions by coordinate: identity, logarithm, normal-scores; auto where silent",
    ),
    (
        "mobility.sparse",
        "keep only the terms of drift and diffusion that the record supports",
    ),
    (
        "drift.terms",
        "terms of the drift, polynomials of the coordinates; all up to a degree if empty",
    ),
    (
        "diffusion.terms",
        "terms of the diffusion, polynomials of the coordinates; all up to a degree if empty",
    ),
    (
        "mobility.caution",
        "standard errors by which held-out chi^2 must fall for a higher degree",
    ),
    (
        "mobility.ridges",
        "ridges to try: chi^2 added for a deviation from Phi as large as Phi",
    ),
    ("mobility.mean", "known mean of M with its standard error"),
    ("mobility.floors", "least values of coefficients, by label"),
    ("mobility.iterations", "most Gauss-Newton steps"),
    (
        "paper.lags",
        "lags of the equations; by default from the decorrelation time",
    ),
    (
        "paper.short_lags",
        "lags of the one-sided derivative that gives Phi",
    ),
    (
        "paper.future_degree",
        "degree of the observables at the later time",
    ),
    (
        "paper.initial_degree",
        "degree of the observables at the earlier time",
    ),
    (
        "baseline_degree",
        "degree of the control variate; none by default",
    ),
    (
        "paper.mobility.mask",
        "entries of M, row by row, that may differ from zero; all by default",
    ),
    (
        "paper.ring.mobility.mask",
        "entries of the onsite block that may differ from zero; all by default",
    ),
    (
        "mobility.floor",
        "least D, as a fraction of the diagonal of Phi",
    ),
    (
        "mobility.skew",
        "unit of the entries of R, relative to those of Phi",
    ),
    (
        "mobility.states",
        "initial states drawn from the record, each with a partner at every lag",
    ),
    ("mobility.batch", "initial states of a step"),
    (
        "mobility.lags_per_step",
        "lags of a step, drawn at random; all by default",
    ),
    ("mobility.scale", "units of the residuals"),
    (
        "mobility.lag_exponent",
        "p in the weights lag^-p of the lags",
    ),
    (
        "mobility.mean_penalty",
        "weight of the distance of the mean of M from Phi",
    ),
    ("mobility.ridge", "weight of the distance of M from Phi"),
    (
        "residual.degree",
        "degree of the local polynomial of the derivative",
    ),
    ("residual.bandwidth", "its bandwidth, in sampling intervals"),
    (
        "stationary_reach",
        "neighbours on each side that the stationary score sees",
    ),
    (
        "conditional_reach",
        "neighbours on each side that the conditional score sees",
    ),
    (
        "mobility_reach",
        "neighbours on each side that the onsite block of M depends on",
    ),
    (
        "paper.ring.conditional_lags",
        "lags of the conditional score, in sampling intervals",
    ),
    (
        "paper.ring.lags",
        "lags of the equations, in sampling intervals",
    ),
    ("paper.ring.pairs", "pairs at each lag"),
    (
        "simulate.scheme",
        "numerical scheme; follows from the model by default",
    ),
    ("simulate.dt", "time step; found by trial by default"),
    (
        "simulate.length",
        "length of all simulations together, in lengths of the record",
    ),
    (
        "simulate.time",
        "length of each simulated trajectory; follows from simulate.length by default",
    ),
    (
        "simulate.trajectories",
        "least number of simulated trajectories",
    ),
    (
        "validate.observables",
        "observables of the correlations, as expressions; monomials by default",
    ),
    (
        "validate.other_observables",
        "observables that the fit did not use; tanh and such by default",
    ),
    (
        "validate.horizon",
        "longest lag; four decorrelation times by default",
    ),
    ("validate.lags", "number of lags, with the one at zero"),
    ("validate.channels", "most correlation curves of a family"),
    ("validate.bins", "bins of a marginal density"),
    (
        "validate.joint_bins",
        "bins of a joint density along each axis",
    ),
    ("validate.joints", "most joint densities"),
    ("validate.frequencies", "points of a power spectrum"),
    (
        "validate.quantiles",
        "quantiles between which passages are timed",
    ),
    (
        "validate.draws",
        "draws of the sampling error that noise floors are made of",
    ),
    (
        "validate.training",
        "length of the training data, in lengths of the held-out data",
    ),
    (
        "validate.false_alarm",
        "probability of a false alarm over all distances together",
    ),
    (
        "validate.warn_floors",
        "noise floors from which a significant distance is a warning",
    ),
    (
        "validate.fail_floors",
        "noise floors from which a significant distance is a failure",
    ),
    (
        "validate.refute_floors",
        "noise floors from which correlations fail however few the data",
    ),
    (
        "limits.seconds",
        "time of the whole fit in seconds; 600 by default, none for networks and rings",
    ),
];

/// The description of a key.
pub(super) fn described(key: &str) -> Option<&'static str> {
    let fits = |end: &str| {
        key.strip_suffix(end)
            .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let fitting = DESCRIPTIONS.iter().filter(|(end, _)| fits(end));
    fitting
        .max_by_key(|(end, _)| end.len())
        .map(|(_, text)| *text)
}
