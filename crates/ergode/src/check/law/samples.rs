//! The samples of one coordinate.

/// Samples below which laws are not looked at.
pub(super) const FEWEST: usize = 200;

/// The samples of one coordinate.
pub(super) struct Law<'a> {
    pub(super) name: &'a str,
    /// In the order of time.
    pub(super) values: &'a [f64],
    /// In the order of size.
    pub(super) sorted: Vec<f64>,
    /// Root mean square of the increments between neighbours.
    pub(super) increment: f64,
    /// Independent samples that the record is worth.
    pub(super) effective: f64,
}

impl Law<'_> {
    pub(super) fn range(&self) -> f64 {
        self.sorted[self.sorted.len() - 1] - self.sorted[0]
    }

    /// The value below which this fraction of the samples lies.
    pub(super) fn quantile(&self, fraction: f64) -> f64 {
        self.sorted[((self.sorted.len() - 1) as f64 * fraction).round() as usize]
    }
}
