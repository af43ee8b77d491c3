//! The clock of the library: wall time, and zero on targets that have no clock.

/// A stopwatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Option<std::time::Instant>);

/// True on targets where asking for the time panics.
const NO_CLOCK: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

impl Clock {
    /// Start a stopwatch.
    pub(crate) fn start() -> Self {
        Self((!NO_CLOCK).then(std::time::Instant::now))
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        self.0.map_or(0.0, |start| start.elapsed().as_secs_f64())
    }
}

/// Seconds since 1970.
pub(crate) fn date() -> f64 {
    if NO_CLOCK {
        return 0.0;
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0.0, |now| now.as_secs_f64())
}

/// Seconds since the process first asked for them.
pub(crate) fn running() -> f64 {
    static ORIGIN: std::sync::OnceLock<Clock> = std::sync::OnceLock::new();
    ORIGIN.get_or_init(Clock::start).seconds()
}
