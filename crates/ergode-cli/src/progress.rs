//! Progress, remaining time and Ctrl-C.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use ergode::Control;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{self, note};

/// The handle through which Ctrl-C stops the work.
pub(crate) static CONTROL: Control = Control::new();

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between lines when stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Handle Ctrl-C: the first stops the work and cleans up, the second quits the program.
pub(crate) fn stop_on_interrupt() {
    let handler = || {
        if CONTROL.stopped() {
            std::process::exit(1);
        }
        note("stopping; press Ctrl-C again to quit immediately");
        CONTROL.stop();
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        note(&format!(
            "warning: Ctrl-C will leave temporary files behind ({error})"
        ));
    }
}

/// Run `work` under the global control, with a bar on a terminal and lines elsewhere.
pub(crate) fn watched<T: Send>(what: &str, work: impl FnOnce(&Control) -> T + Send) -> T {
    let finished = AtomicBool::new(false);
    CONTROL.stage(what);
    std::thread::scope(|scope| {
        let watcher = Builder::new().spawn_scoped(scope, || watch(&finished, what));
        // Without a thread to spare, the work goes on in silence.
        let _end = watcher.ok().map(|watcher| End {
            finished: &finished,
            watcher: watcher.thread().clone(),
        });
        work(&CONTROL)
    })
}

/// Ends the watcher when the work ends, also by a panic, which would otherwise wait for it forever.
struct End<'a> {
    finished: &'a AtomicBool,
    watcher: std::thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.finished.store(true, Ordering::Relaxed);
        self.watcher.unpark();
    }
}

/// Show the stages of the work after the first, and how far each is.
fn watch(finished: &AtomicBool, first: &str) {
    let mut bar: Option<ProgressBar> = None;
    let mut last_line = Instant::now();
    let (mut what, mut start) = (first.to_owned(), Instant::now());
    while !finished.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(100));
        let (done, total) = CONTROL.done();
        let stage = CONTROL.current_stage();
        if stage != what {
            (what, start) = (stage, Instant::now());
            if !std::io::stderr().is_terminal() {
                note(&what);
            }
        }
        if start.elapsed() < PATIENCE || total == 0 {
            continue;
        }
        if std::io::stderr().is_terminal() {
            let bar = bar.get_or_insert_with(|| new_bar(total));
            if bar.prefix() != what {
                bar.set_prefix(what.clone());
                bar.reset_eta();
            }
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(CONTROL.note());
        } else if last_line.elapsed() > LINE_EVERY {
            last_line = Instant::now();
            let fraction = done as f64 / total as f64;
            // Too early to estimate the remaining time.
            let left = (fraction > 0.005).then(|| {
                let left = start.elapsed().as_secs_f64() * (1.0 / fraction - 1.0);
                format!(", {left:.0} s left")
            });
            let left = left.unwrap_or_default();
            let more = CONTROL.note();
            let more = if more.is_empty() {
                more
            } else {
                format!(", {more}")
            };
            let percent = 100.0 * fraction;
            output::note(&format!("{what}: {percent:.0} %{left}{more}"));
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(total: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix} [{bar:40}] {percent:>3} %  {eta} left  {msg}")
            .expect("the template is valid")
            .progress_chars("=> ");
    ProgressBar::new(total).with_style(style)
}

#[cfg(test)]
mod tests {
    #[test]
    fn work_that_panics_ends() {
        let ended =
            std::panic::catch_unwind(|| super::watched("failing", |_| panic!("as planned")));
        assert!(ended.is_err());
    }
}
