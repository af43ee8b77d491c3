//! Equations that are linear in the coefficients.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use super::basis::TensorBasis;
use super::equations::{Equations, GeneratorResidual, choose};
use crate::error::Result;
use crate::lagged::BlockId;
use crate::observable::Moments;

/// What linear equations are assembled from, for any set of blocks.
pub trait LinearPlan: Send + Sync + 'static {
    /// The tensor fields.
    fn basis(&self) -> &TensorBasis;
    /// The equations of these blocks.
    ///
    /// # Errors
    /// When the blocks do not fix them.
    fn assemble(&self, blocks: &[usize]) -> Result<Design>;
    /// Which stretches of the data these blocks are; empty where that is not known.
    fn block_ids(&self, blocks: &[usize]) -> Vec<BlockId> {
        let _ = blocks;
        Vec::new()
    }
    /// [`Equations::initial_functions`].
    fn initial_functions(&self) -> Option<ArrayView2<'_, f64>> {
        None
    }
    /// [`Equations::generator_residual`] from the residual of every equation, at these lags.
    fn generator_residual(&self, residual: Array1<f64>, lags: &[f64]) -> Option<GeneratorResidual> {
        let _ = (residual, lags);
        None
    }
}

/// Linear equations A c = b of a set of blocks.
#[derive(Clone, Debug)]
pub struct Design {
    /// b.
    pub(crate) observed: Array1<f64>,
    /// A, (equation, coefficient).
    pub(crate) matrix: Array2<f64>,
    /// Moments of the standardised coordinates.
    pub(crate) moments: Moments,
    /// The lags, where they are part of the equations' order.
    pub(crate) lags: Vec<f64>,
}

/// Equations A c = b for the coefficients c of M, with A and b from the same blocks.
#[derive(Debug)]
pub struct LinearEquations<P> {
    pub(crate) plan: Arc<P>,
    pub(crate) blocks: Vec<usize>,
    pub(crate) design: Design,
}

impl<P> Clone for LinearEquations<P> {
    fn clone(&self) -> Self {
        Self {
            plan: self.plan.clone(),
            blocks: self.blocks.clone(),
            design: self.design.clone(),
        }
    }
}

impl<P: LinearPlan> LinearEquations<P> {
    /// The equations of these blocks.
    pub(crate) fn assemble(plan: Arc<P>, blocks: Vec<usize>) -> Result<Self> {
        Ok(Self {
            design: plan.assemble(&blocks)?,
            plan,
            blocks,
        })
    }
}

impl<P: LinearPlan> Equations for LinearEquations<P> {
    fn basis(&self) -> &TensorBasis {
        self.plan.basis()
    }
    fn moments(&self) -> &Moments {
        &self.design.moments
    }
    fn blocks(&self) -> usize {
        self.blocks.len()
    }
    fn block_ids(&self) -> Vec<BlockId> {
        self.plan.block_ids(&self.blocks)
    }
    fn restricted(&self, keep: &dyn Fn(usize) -> bool) -> Result<Box<dyn Equations>> {
        let blocks = choose(&self.blocks, keep);
        Ok(Box::new(Self::assemble(self.plan.clone(), blocks)?))
    }
    fn observed(&self) -> ArrayView1<'_, f64> {
        self.design.observed.view()
    }
    fn predict(&self, coefficients: ArrayView1<f64>) -> Result<Array1<f64>> {
        Ok(self.design.matrix.dot(&coefficients))
    }
    fn linearise(&self, coefficients: ArrayView1<f64>) -> Result<(Array1<f64>, Array2<f64>)> {
        Ok((self.predict(coefficients)?, self.design.matrix.clone()))
    }
    fn initial_functions(&self) -> Option<ArrayView2<'_, f64>> {
        self.plan.initial_functions()
    }
    fn time_unit(&self) -> f64 {
        self.design.lags.get(1).copied().unwrap_or(1.0)
    }
    fn generator_residual(
        &self,
        coefficients: ArrayView1<f64>,
    ) -> Result<Option<GeneratorResidual>> {
        let residual = self.predict(coefficients)? - &self.design.observed;
        Ok(self.plan.generator_residual(residual, &self.design.lags))
    }
}
