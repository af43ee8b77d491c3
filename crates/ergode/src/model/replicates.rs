//! Models whose coefficients deviate as the jackknife found them to.

use std::sync::Arc;

use ndarray::{Array2, ArrayView1};

use super::deviations::Deviations;
use super::{LangevinModel, StoredMobility, StoredScore};
use crate::observable::Polynomials;
use crate::score::Confinement;

impl LangevinModel {
    /// Models with the coefficients of score and mobility of one row of their deviations each: the variance of a
    /// function of the model is, to first order, the sum of its squared differences over them. Empty where no
    /// deviations are known.
    pub(crate) fn replicates(&self) -> Vec<Self> {
        let deviations = Deviations::new(&self.score, &self.mobility);
        let rows = |part: &Option<Array2<f64>>| part.as_ref().map_or(0, Array2::nrows);
        let count = rows(&deviations.score).max(rows(&deviations.mobility));
        let row =
            |part: &Option<Array2<f64>>, k: usize| part.as_ref().map(|rows| rows.row(k).to_owned());
        let replicate = |k: usize| {
            let score = row(&deviations.score, k);
            let score = score.and_then(|by| moved_score(&self.score, by.view()));
            let mobility = match (&self.mobility.stored, row(&deviations.mobility, k)) {
                (StoredMobility::Linear(mobility), Some(by)) => {
                    mobility.moved(by.view()).ok()?.into()
                }
                (StoredMobility::Linear(mobility), None) => mobility.clone().into(),
                (StoredMobility::Constant(matrix), _) => matrix.clone().into(),
                _ => return None,
            };
            let score = score.map_or_else(|| Arc::clone(&self.score), Arc::new);
            let (names, starts) = (self.names.clone(), self.starts.clone());
            // A replicate without a positive D says nothing of the fit.
            let model =
                Self::assemble(names, score, mobility, starts, self.provenance.clone()).ok()?;
            Some(Self {
                validated_step: self.validated_step,
                ..model
            })
        };
        (0..count).filter_map(replicate).collect()
    }

    /// ln p up to a constant as a polynomial of the raw state, where the score is the gradient of one; right among
    /// the samples.
    pub(crate) fn ln_density_polynomial(&self) -> Option<Polynomials> {
        let StoredScore::ClosedForm(score) = &*self.score else {
            return None;
        };
        let standardiser = score.confinement().standardiser();
        Polynomials::new(&self.names, standardiser, &[score.potential_polynomial()?]).ok()
    }

    /// Ends of the smallest box that holds the samples, in raw coordinates: its lower and its upper corner.
    pub fn sampled_bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let confinement = self.score.confinement();
        let (mut low, mut high) = confinement.support().bounds();
        confinement.standardiser().inverse(&mut low);
        confinement.standardiser().inverse(&mut high);
        (low, high)
    }

    /// Standardisation and support of the samples.
    pub(crate) fn confinement(&self) -> &Confinement {
        self.score.confinement()
    }
}

fn moved_score(score: &StoredScore, by: ArrayView1<f64>) -> Option<StoredScore> {
    match score {
        StoredScore::ClosedForm(score) => score.moved(by).map(StoredScore::from),
        StoredScore::Logarithmic(_) | StoredScore::Charted(_) | StoredScore::Neural(_) => None,
    }
}
