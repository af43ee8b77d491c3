//! The paper's equations for a mobility in a linear span.

use std::sync::Arc;

use ndarray::{Array1, Array2, Axis};

use super::operator::{ConditionalOperator, OperatorSums};
use super::residual::ResidualTarget;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::lagged::{LaggedConfig, Subsample};
use crate::mobility::basis::TensorBasis;
use crate::mobility::linear::LinearMobility;
use crate::mobility::linear_equations::{Design, LinearEquations, LinearPlan};
use crate::mobility::moments::PolynomialSums;
use crate::mobility::{LatticeMobility, Mobility};

/// Equations Σ_k c_k A\[T_k\] = Ċ_obs − A\[Φ\] + A_c\[Φ\] at every lag and channel, A_c being the conditional
/// operator and A\[Φ\] that of the stationary score (`eq:deltaM_residual_constraint`): linear in the
/// coefficients of M, and without any derivative of the tensor fields.
///
/// The scores are held fixed in all blocks.
pub type Conditional = LinearEquations<ConditionalPlan>;

/// What the paper's equations are assembled from.
#[derive(Debug)]
pub struct ConditionalPlan {
    basis: TensorBasis,
    target: ResidualTarget,
    /// The fields of the basis, then Φ.
    operators: OperatorSums,
    moments: Arc<PolynomialSums>,
}

impl Conditional {
    /// The equations of an operator and its target, with the moments of the same data. The target must have
    /// been collected with the blocks of the moments; `subsample` chooses the pairs of the operator. Where the
    /// operator is averaged over a ring, basis and moments are those of a site.
    ///
    /// # Errors
    /// When moments, target and operator were collected in different blocks, or the work is stopped.
    pub fn new(
        ensemble: &Ensemble,
        operator: &ConditionalOperator,
        target: ResidualTarget,
        moments: &Arc<PolynomialSums>,
        basis: &TensorBasis,
        subsample: Subsample,
        control: &Control,
    ) -> Result<Self> {
        let statistics = LaggedConfig {
            subsample,
            ..moments.config().statistics
        };
        let constant = target.constant_mobility();
        let fields = (0..basis.len()).map(|k| field(basis, k, operator));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let mut mobilities: Vec<&dyn Mobility> = fields.iter().map(|field| &**field).collect();
        mobilities.push(&constant);
        let operators = operator.accumulate(ensemble, &mobilities, &statistics, control)?;
        let count = moments.blocks();
        if target.blocks() != count || operators.blocks() != count {
            return Err(Error::input(format!(
                "the moments have {count} blocks, the derivatives {}; collect both with the same blocking",
                target.blocks()
            )));
        }
        let plan = ConditionalPlan {
            basis: basis.clone(),
            target,
            operators,
            moments: moments.clone(),
        };
        Self::assemble(Arc::new(plan), (0..count).collect())
    }
}

/// Field number `k` of a basis, at every site where the operator is averaged over a ring.
fn field(
    basis: &TensorBasis,
    k: usize,
    operator: &ConditionalOperator,
) -> Result<Box<dyn Mobility>> {
    let mut unit = Array1::zeros(basis.len());
    unit[k] = 1.0;
    let field = LinearMobility::new(basis.clone(), unit)?;
    Ok(match operator.channels().ring() {
        None => Box::new(field),
        Some(ring) => Box::new(LatticeMobility::new(ring.sites, field)?),
    })
}

impl LinearPlan for ConditionalPlan {
    fn basis(&self) -> &TensorBasis {
        &self.basis
    }
    fn assemble(&self, blocks: &[usize]) -> Result<Design> {
        let fields = self.basis.len();
        let keep = |k: usize| blocks.binary_search(&k).is_ok();
        let curves = self.target.curves_of(keep);
        let (derivatives, constant) = curves.split_at(curves.len() / 2);
        let operators = self.operators.average_of(blocks);
        let column = |k: usize| operators.index_axis(Axis(1), k);
        let of_phi = column(fields);
        let sides = derivatives.iter().zip(constant).zip(of_phi);
        let observed = sides.map(|((derivative, a), own)| derivative - a + own);
        let observed: Array1<f64> = observed.collect();
        let mut matrix = Array2::zeros((observed.len(), fields));
        for (k, mut out) in matrix.columns_mut().into_iter().enumerate() {
            out.iter_mut().zip(column(k)).for_each(|(out, a)| *out = *a);
        }
        Ok(Design {
            moments: self.moments.expectations(blocks).moments,
            observed,
            matrix,
            lags: Vec::new(),
        })
    }
}
