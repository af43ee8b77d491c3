//! Progress and cancellation of long work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock;
use crate::error::{Error, Result};

/// Handle on a piece of long work: progress out, a request to stop in.
///
/// The caller keeps a reference and may read [`Control::current_stage`], [`Control::done`] and
/// [`Control::note`] from another thread while the library works; [`Control::stop`] makes the work end soon with an interruption error.
#[derive(Debug)]
pub struct Control {
    stop: AtomicBool,
    /// When the time of the work is over, in seconds of [`clock::running`], as the bits of a number.
    deadline: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
    note: Mutex<String>,
    stage: Mutex<String>,
    last: Mutex<Option<String>>,
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

impl Control {
    /// A handle for work that has not begun.
    pub const fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
            deadline: AtomicU64::new(f64::INFINITY.to_bits()),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            note: Mutex::new(String::new()),
            stage: Mutex::new(String::new()),
            last: Mutex::new(None),
        }
    }

    /// Ask the work to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True once [`Control::stop`] was called.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Units of work done and in all; the total is zero until it is known.
    pub fn done(&self) -> (u64, u64) {
        (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        )
    }

    /// Ask the work to stop when it reaches the stage of this name.
    pub fn stop_at(&self, stage: &str) {
        if let Ok(mut last) = self.last.lock() {
            *last = Some(stage.to_owned());
        }
    }

    /// Record that the work begins a stage; its progress counts from zero.
    pub fn stage(&self, name: &str) {
        if let Ok(mut stage) = self.stage.lock() {
            name.clone_into(&mut stage);
        }
        self.begin(0);
        if self
            .last
            .lock()
            .is_ok_and(|last| last.as_deref() == Some(name))
        {
            self.stop();
        }
    }

    /// The stage that the work has begun; empty before the first.
    pub fn current_stage(&self) -> String {
        self.stage
            .lock()
            .map(|stage| stage.clone())
            .unwrap_or_default()
    }

    /// Last message of the work, such as its loss and rate; empty before the first.
    pub fn note(&self) -> String {
        self.note
            .lock()
            .map(|note| note.clone())
            .unwrap_or_default()
    }

    pub(crate) fn begin(&self, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.say(String::new());
    }

    pub(crate) fn say(&self, text: String) {
        if let Ok(mut note) = self.note.lock() {
            *note = text;
        }
    }

    pub(crate) fn advance(&self, units: u64) -> Result<()> {
        self.done.fetch_add(units, Ordering::Relaxed);
        if self.stopped() {
            return Err(Error::interrupted());
        }
        let deadline = self.deadline();
        if deadline < f64::INFINITY && clock::running() > deadline {
            return Err(Error::late(format!(
                "{} took longer than its share of the time; raise limits.seconds, or give a shorter \
                 record",
                self.current_stage()
            )));
        }
        Ok(())
    }

    /// Do `work` in at most so many seconds, and no longer than a limit that stands already; beyond, it ends
    /// with an error for which [`Error::is_late`] is true. Work on one handle must not overlap.
    pub(crate) fn within<T>(&self, seconds: f64, work: impl FnOnce() -> T) -> T {
        let outer = self.deadline();
        let inner = outer.min(clock::running() + seconds);
        self.deadline.store(inner.to_bits(), Ordering::Relaxed);
        let result = work();
        self.deadline.store(outer.to_bits(), Ordering::Relaxed);
        result
    }

    fn deadline(&self) -> f64 {
        f64::from_bits(self.deadline.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_with_its_time_and_the_limit_with_the_work() {
        let control = Control::new();
        control.stage("counting");
        let endless = || -> Result<()> {
            loop {
                control.advance(1)?;
            }
        };
        let late = control.within(0.01, endless).unwrap_err();
        assert!(late.is_late() && !late.is_bad_input() && !late.is_interrupted());
        assert!(
            late.to_string().starts_with("counting took longer"),
            "{late}"
        );
        assert!(control.advance(1).is_ok());
        // An inner limit does not extend an outer one.
        let nested = || control.within(1e9, endless);
        assert!(control.within(0.01, nested).is_err());
    }
}
