//! How long work is watched and stopped from outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Handle on a piece of long work: progress out, a request to stop in.
///
/// The caller keeps a reference and may read [`Control::done`] from another thread while the
/// library works; [`Control::stop`] makes the work end soon with an interruption error.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Control {
    /// A handle for work that has not begun.
    pub const fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
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

    pub(crate) fn begin(&self, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, units: u64) -> Result<()> {
        self.done.fetch_add(units, Ordering::Relaxed);
        if self.stopped() {
            Err(Error::interrupted())
        } else {
            Ok(())
        }
    }
}
