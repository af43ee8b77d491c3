//! The engine on the processor.

use std::sync::{LazyLock, Mutex};

use ndarray::{ArrayViewMut2, Axis};
use pulp::Arch;
use rayon::prelude::*;

use super::engine::{Batch, Engine, Tile};
use super::mlp::Mlp;
use super::tile::{Plan, Scratch, Task};
use crate::simd::AlignedBuffer;

/// The most partial gradients of a batch: each is summed by one thread, and their number does not
/// depend on the number of threads.
const PARTIALS: usize = 16;

/// Networks on the processor: tiles of states, on the threads of the current `rayon` pool or on
/// the calling thread alone.
#[derive(Debug, Default)]
pub struct CpuEngine {
    arch: Arch,
    single: bool,
    calls: Mutex<Vec<Call>>,
    scratch: Mutex<Vec<Scratch>>,
}

/// Buffers of a call besides the work space of its tiles; kept between calls.
#[derive(Debug, Default)]
struct Call {
    plan: Plan,
    packed: AlignedBuffer<f32>,
    partials: Vec<Partial>,
}

/// The sum over some consecutive tiles.
#[derive(Debug, Default)]
struct Partial {
    gradient: AlignedBuffer<f32>,
    loss: f64,
}

impl CpuEngine {
    /// An engine that works on the calling thread alone.
    pub fn single_core() -> Self {
        Self {
            single: true,
            ..Self::default()
        }
    }

    /// The one engine of all callers that share states out over the cores themselves; its work space is
    /// kept between their calls.
    pub(crate) fn shared_single_core() -> &'static Self {
        static ENGINE: LazyLock<CpuEngine> = LazyLock::new(CpuEngine::single_core);
        &ENGINE
    }

    /// Run `work` with something of `pool`, which goes back afterwards.
    fn with<T: Default, R>(pool: &Mutex<Vec<T>>, work: impl FnOnce(&mut T) -> R) -> R {
        let lock = || pool.lock().expect("no code that may panic holds the lock");
        let mut item = lock().pop().unwrap_or_default();
        let result = work(&mut item);
        lock().push(item);
        result
    }

    /// Run `work` on each item, on as many threads as the engine may use.
    fn for_each<I: IndexedParallelIterator>(&self, items: I, work: impl Fn(I::Item) + Sync + Send) {
        // What may not be split runs on the calling thread.
        let least = if self.single { usize::MAX } else { 1 };
        items.with_min_len(least).for_each(work);
    }

    /// Run `work` with the weights of `mlp` as the products read them.
    fn with_call<R>(&self, mlp: &Mlp, batch: &Batch, work: impl FnOnce(&mut Call) -> R) -> R {
        let (n, inputs) = (batch.states, mlp.inputs());
        assert_eq!(batch.x.len(), inputs * n, "states: (inputs, n)");
        assert_eq!(
            batch.tangents.len(),
            batch.directions * inputs * n,
            "tangents: (directions, inputs, n)"
        );
        Self::with(&self.calls, |call: &mut Call| {
            call.plan.update(mlp, batch.directions);
            call.plan.pack(self.arch, mlp, &mut call.packed);
            work(call)
        })
    }
}

impl Engine for CpuEngine {
    fn evaluate(&self, mlp: &Mlp, batch: &Batch, y: &mut [f32], dy: &mut [f32]) {
        let (n, outputs) = (batch.states, mlp.outputs());
        let shape = "y: (outputs, n), dy: (directions, outputs, n)";
        let mut y = ArrayViewMut2::from_shape((outputs, n), y).expect(shape);
        let mut dy = ArrayViewMut2::from_shape((batch.directions * outputs, n), dy).expect(shape);
        self.with_call(mlp, batch, |call| {
            let (plan, packed) = (&call.plan, call.packed.as_slice());
            let y = y.axis_chunks_iter_mut(Axis(1), plan.states).into_par_iter();
            let dy = dy
                .axis_chunks_iter_mut(Axis(1), plan.states)
                .into_par_iter();
            self.for_each(y.zip(dy).enumerate(), |(tile, (y, dy))| {
                let task = Task::new(self.arch, plan, packed, batch, tile);
                Self::with(&self.scratch, |scratch| task.evaluate(scratch, y, dy));
            });
        });
    }

    fn gradient(
        &self,
        mlp: &Mlp,
        batch: &Batch,
        loss: &(dyn Fn(Tile) -> f64 + Sync),
        gradient: &mut [f32],
    ) -> f64 {
        assert_eq!(
            gradient.len(),
            mlp.parameters().len(),
            "one derivative per parameter"
        );
        self.with_call(mlp, batch, |call| {
            let (plan, packed) = (&call.plan, call.packed.as_slice());
            let tiles = batch.states.div_ceil(plan.states);
            let count = tiles.min(PARTIALS);
            call.partials.resize_with(PARTIALS, Partial::default);
            let partials = &mut call.partials[..count];
            self.for_each(partials.par_iter_mut().enumerate(), |(index, partial)| {
                partial.gradient.resize(plan.partial_len());
                let sum = partial.gradient.as_mut_slice();
                let tiles = index * tiles / count..(index + 1) * tiles / count;
                partial.loss = Self::with(&self.scratch, |scratch| {
                    let gradient = |tile: usize| {
                        let task = Task::new(self.arch, plan, packed, batch, tile);
                        task.gradient(scratch, loss, tile > tiles.start, sum)
                    };
                    tiles.clone().map(gradient).sum()
                });
            });
            if let Some((total, rest)) = partials.split_first_mut() {
                let total = total.gradient.as_mut_slice();
                for partial in rest {
                    add_to(self.arch, total, partial.gradient.as_slice());
                }
                plan.add_partial(total, gradient);
            }
            partials.iter().map(|partial| partial.loss).sum()
        })
    }
}

/// sum += terms.
fn add_to(arch: Arch, sum: &mut [f32], terms: &[f32]) {
    arch.dispatch(|| {
        for (sum, term) in sum.iter_mut().zip(terms) {
            *sum += term;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss ½ Σ (y² + ẏ²) and its derivatives.
    fn square(tile: Tile) -> f64 {
        tile.y_bar.copy_from_slice(tile.y);
        tile.dy_bar.copy_from_slice(tile.dy);
        let values = tile.y.iter().chain(tile.dy);
        values.map(|&v| 0.5 * f64::from(v).powi(2)).sum()
    }

    /// The processor at hand runs one kind of vector code; the others must agree with it.
    #[test]
    fn all_instruction_sets_agree() {
        let mlp = Mlp::new(&[3, 70, 33, 2], 1).unwrap();
        let x: Vec<f32> = (0..300).map(|k| (k as f32).sin()).collect();
        let batch = Batch {
            states: 100,
            x: &x,
            directions: 1,
            tangents: &x,
        };
        let gradient = |arch: Arch| {
            let engine = CpuEngine {
                arch,
                ..CpuEngine::single_core()
            };
            let mut gradient = vec![0.0; mlp.parameters().len()];
            engine.gradient(&mlp, &batch, &square, &mut gradient);
            gradient
        };
        let best = gradient(Arch::new());
        let largest = best.iter().fold(0.0f32, |a, g| a.max(g.abs()));
        let mut archs = vec![Arch::Scalar];
        #[cfg(target_arch = "x86_64")]
        archs.extend(pulp::x86::V3::try_new().map(Arch::V3));
        for arch in archs {
            for (a, b) in gradient(arch).iter().zip(&best) {
                assert!((a - b).abs() < 1e-5 * largest, "{a} and {b}");
            }
        }
    }
}
