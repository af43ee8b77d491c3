//! How long work is watched and stopped from outside.

use std::sync::Mutex;
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
    note: Mutex<String>,
}

impl Control {
    /// A handle for work that has not begun.
    pub const fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            note: Mutex::new(String::new()),
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

    /// What the work last said of itself, such as its loss and rate; empty until it says something.
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
            Err(Error::interrupted())
        } else {
            Ok(())
        }
    }
}
