//! Blocks that last several correlation times.

use super::blocks::Blocking;
use crate::data::Ensemble;

/// Blocks that are enough for errors; of more samples than give them, [`Blocking::Auto`] makes longer ones.
const ENOUGH: usize = 32;
/// Fewest blocks, however short they are then.
const FEWEST: usize = 4;

impl Blocking {
    /// The automatic blocking with no block shorter than `rows` samples, as far as the record allows:
    /// blocks shorter than the memory of a process are not independent, and give errors that are too
    /// small. Any other blocking is kept.
    pub(crate) fn lasting(self, ensemble: &Ensemble, rows: f64) -> Self {
        if self != Blocking::Auto || ensemble.is_empty() {
            return self;
        }
        let trajectories = ensemble.len();
        let own = ensemble.samples() as f64 / trajectories as f64;
        let parts = ((own / rows) as usize).clamp(1, ENOUGH);
        if parts * trajectories >= ENOUGH {
            return Blocking::Auto;
        }
        Blocking::PerTrajectory(parts.max(FEWEST.div_ceil(trajectories)))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;

    use super::*;

    #[test]
    fn blocks_are_as_long_as_the_record_allows() {
        let record = |trajectories: usize, rows: usize| {
            Ensemble::from_array3(Array3::zeros((trajectories, rows, 1)).into_shared(), 1.0)
                .unwrap()
        };
        let lasting = |record: &Ensemble, rows: f64| Blocking::Auto.lasting(record, rows);
        assert_eq!(lasting(&record(1, 1000), 120.0), Blocking::PerTrajectory(8));
        assert_eq!(lasting(&record(1, 1000), 900.0), Blocking::PerTrajectory(4));
        assert_eq!(
            lasting(&record(4, 1000), 2000.0),
            Blocking::PerTrajectory(1)
        );
        assert_eq!(lasting(&record(1, 10_000), 120.0), Blocking::Auto);
        assert_eq!(lasting(&record(40, 10), 120.0), Blocking::Auto);
        let asked = Blocking::PerTrajectory(5);
        assert_eq!(asked.lasting(&record(1, 1000), 900.0), asked);
    }
}
