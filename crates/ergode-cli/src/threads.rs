//! The threads that work is shared among.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Starts as many threads as there are processors, or as the system allows.
pub(crate) fn start() {
    let wanted = thread::available_parallelism().map_or(1, usize::from);
    let allowed = allowed(wanted);
    let pool = match allowed {
        _ if allowed > wanted => return,
        // One is left to show progress.
        2.. => rayon::ThreadPoolBuilder::new().num_threads(allowed - 1),
        _ => rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread(),
    };
    // A pool that was started before is as good.
    let _ = pool.build_global();
}

/// How many threads run beside this one at the same time, `wanted` and one more at most.
fn allowed(wanted: usize) -> usize {
    let released = AtomicBool::new(false);
    thread::scope(|scope| {
        let wait = || {
            while !released.load(Ordering::Acquire) {
                thread::park();
            }
        };
        let start = |_| thread::Builder::new().spawn_scoped(scope, wait).ok();
        let started: Vec<_> = (0..=wanted).map_while(start).collect();
        released.store(true, Ordering::Release);
        started.iter().for_each(|waiting| waiting.thread().unpark());
        started.len()
    })
}
