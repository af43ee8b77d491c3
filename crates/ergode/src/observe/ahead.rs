//! From anomalies back to the record, within its span and beyond.

use serde::{Deserialize, Serialize};

use super::Observation;
use crate::data::Ensemble;
use crate::error::{Error, Result};

/// The trend after the end of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrendAhead {
    /// The fitted polynomial goes on.
    #[default]
    Continue,
    /// It keeps the value at the end of the record.
    Hold,
}

impl Observation {
    /// x(t) = (y(t) − trend(t) − μ(θ))/σ(θ) of one row of the record, in its place.
    ///
    /// # Panics
    /// If the row does not have one number for each observed coordinate.
    pub fn anomaly_at(&self, t: f64, row: &mut [f64]) {
        assert_eq!(row.len(), self.observed(), "one number per coordinate");
        if let Some(trend) = &self.trend {
            trend.add(t, -1.0, row);
        }
        if let Some(cycle) = &self.cycle {
            cycle.remove(t, row);
        }
    }

    /// y(t) = trend(t) + μ(θ) + σ(θ) ∘ x(t) for anomalies x at the times of their rows, the inverse of
    /// [`Observation::stationary`].
    ///
    /// # Errors
    /// When the anomalies have other coordinates than the record.
    pub fn record(&self, anomaly: &Ensemble, ahead: TrendAhead) -> Result<Ensemble> {
        if anomaly.dim() != self.observed() {
            return Err(Error::input(format!(
                "the anomalies have {} coordinates; the model observes {} ({})",
                anomaly.dim(),
                self.observed(),
                self.names.join(", ")
            )));
        }
        let last = match ahead {
            TrendAhead::Continue => f64::INFINITY,
            TrendAhead::Hold => self.span[1],
        };
        anomaly.with_changed_rows(|t, row| {
            if let Some(cycle) = &self.cycle {
                cycle.restore(t, row);
            }
            if let Some(trend) = &self.trend {
                trend.add(t.min(last), 1.0, row);
            }
        })
    }
}
