//! Progress and cancellation of long work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Handle on a piece of long work: progress out, a request to stop in.
///
/// The caller keeps a reference and may read [`Control::current_stage`], [`Control::done`] and
/// [`Control::note`] from another thread while the library works; [`Control::stop`] makes the work end soon with an interruption error.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    note: Mutex<String>,
    stage: Mutex<String>,
    last: Mutex<Option<String>>,
}

impl Control {
    /// A handle for work that has not begun.
    pub const fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
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
            Err(Error::interrupted())
        } else {
            Ok(())
        }
    }
}
