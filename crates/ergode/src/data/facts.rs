//! Warnings about usable data.

use super::ensemble::Ensemble;

impl Ensemble {
    /// Warnings about the data, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let facts = Facts {
            samples: self.samples(),
            partial_gaps: self.partial_gaps(),
            constant: self.constant_coordinates(),
        };
        facts.warnings(self.names())
    }

    /// Indices of the coordinates that have one and the same value in every sample.
    pub(crate) fn constant_coordinates(&self) -> Vec<usize> {
        let dim = self.dim();
        let (mut first, mut row) = (vec![0.0; dim], vec![0.0; dim]);
        let start = &self.segments()[0];
        self.trajectories()[start.trajectory].row(start.rows.start, &mut first);
        let mut constant: Vec<usize> = (0..dim).collect();
        for segment in self.segments() {
            for i in segment.rows.clone() {
                if constant.is_empty() || self.samples() == 1 {
                    return Vec::new();
                }
                self.trajectories()[segment.trajectory].row(i, &mut row);
                constant.retain(|&j| row[j] == first[j]);
            }
        }
        constant
    }
}

/// Facts from one pass over all values.
pub(crate) struct Facts {
    /// Complete rows.
    pub(crate) samples: usize,
    /// Rows with a NaN in some coordinates but not in others.
    pub(crate) partial_gaps: usize,
    /// The coordinates that have one and the same value in every sample.
    pub(crate) constant: Vec<usize>,
}

impl Facts {
    /// Warnings about the data, one sentence each.
    pub(crate) fn warnings(&self, names: &[String]) -> Vec<String> {
        let mut warnings = Vec::new();
        if names.len() > self.samples {
            warnings.push(format!(
                "there are more coordinates ({}) than samples ({}); is the array transposed? Rows must \
                 be times and columns coordinates",
                names.len(),
                self.samples
            ));
        }
        for &j in &self.constant {
            warnings.push(format!(
                "coordinate '{}' is constant; leave it out",
                names[j]
            ));
        }
        // One lost value in a hundred rows is what most records have.
        if 100 * self.partial_gaps > self.samples {
            warnings.push(format!(
                "{} rows have a NaN in some coordinates but not in others; these rows count as gaps",
                self.partial_gaps
            ));
        }
        warnings
    }
}
