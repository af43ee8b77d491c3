//! Long computations without the interpreter lock: interruptible, with progress.

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

/// Do `work` on a thread of its own without the interpreter lock. Meanwhile this thread looks for
/// signals, which stop the work and are raised when it has ended, and calls
/// `progress(what, done, total, note)`.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    what: &str,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Control) -> ergode::Result<T> + Send,
) -> PyResult<T> {
    let control = &Control::new();
    control.stage(what);
    py.detach(|| {
        thread::scope(|scope| {
            let (finished, waiting) = channel::<()>();
            let worker = thread::Builder::new().name("ergode".into());
            let worker = worker
                .stack_size(STACK)
                .spawn_scoped(scope, move || {
                    // Dropped at the end, also after a panic.
                    let _finished = finished;
                    work(control)
                })
                .map_err(|error| {
                    PyRuntimeError::new_err(format!("cannot start a thread: {error}"))
                })?;
            let mut stopped = None;
            while waiting.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if stopped.is_some() {
                    continue;
                }
                if let Err(error) = Python::attach(|py| poll(py, progress.as_ref(), control)) {
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

/// Let signals act, and tell the progress.
fn poll(py: Python<'_>, progress: Option<&Py<PyAny>>, control: &Control) -> PyResult<()> {
    py.check_signals()?;
    let Some(progress) = progress else {
        return Ok(());
    };
    let what = control.current_stage();
    let (done, total) = control.done();
    progress
        .bind(py)
        .call1((what, done, total, control.note()))
        .map(drop)
}
