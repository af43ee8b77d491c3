//! Long computations without the interpreter lock: interruptible, with progress.

use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use ergode::Control;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::raised;

/// Interval between checks for signals and progress reports.
const POLL: Duration = Duration::from_millis(50);

/// Stack size of a main thread, as in the tests of the library.
const STACK: usize = 8 << 20;

/// Handles of a long computation: one to stop it, one to name its current stage.
pub(crate) struct Watch<'a> {
    pub(crate) control: &'a Control,
    doing: &'a Mutex<String>,
}

impl Watch<'_> {
    /// Begin a stage.
    pub(crate) fn tell(&self, what: &str) {
        if let Ok(mut doing) = self.doing.lock() {
            what.clone_into(&mut doing);
        }
    }
}

/// Run `work` on a separate thread without the interpreter lock. Meanwhile this thread checks for
/// signals, which stop the work and are raised when it has ended, and calls
/// `progress(what, done, total, note)`.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    what: &str,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch<'_>) -> ergode::Result<T> + Send,
) -> PyResult<T> {
    let (control, doing) = (Control::new(), Mutex::new(what.to_owned()));
    let (control, doing) = (&control, &doing);
    py.detach(|| {
        thread::scope(|scope| {
            let (finished, waiting) = channel::<()>();
            let worker = thread::Builder::new().name("ergode".into());
            let worker = worker
                .stack_size(STACK)
                .spawn_scoped(scope, move || {
                    // Dropped at the end, also after a panic.
                    let _finished = finished;
                    work(&Watch { control, doing })
                })
                .map_err(|error| {
                    PyRuntimeError::new_err(format!("cannot start a thread: {error}"))
                })?;
            let mut stopped = None;
            while waiting.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if stopped.is_some() {
                    continue;
                }
                if let Err(error) = Python::attach(|py| poll(py, progress.as_ref(), control, doing))
                {
                    control.stop();
                    stopped = Some(error);
                }
            }
            let result = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match stopped {
                Some(error) => Err(error),
                None => result.map_err(raised),
            }
        })
    })
}

/// Handle signals and report progress.
fn poll(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    control: &Control,
    doing: &Mutex<String>,
) -> PyResult<()> {
    py.check_signals()?;
    let Some(progress) = progress else {
        return Ok(());
    };
    let what = doing.lock().map(|doing| doing.clone()).unwrap_or_default();
    let (done, total) = control.done();
    progress
        .bind(py)
        .call1((what, done, total, control.note()))
        .map(drop)
}
