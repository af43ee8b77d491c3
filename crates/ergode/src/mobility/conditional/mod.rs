//! The paper's operator: correlations with the conditional score instead of a divergence of M.

mod baseline;
mod equations;
mod operator;
mod residual;

pub use equations::Conditional;
pub(super) use operator::PairValues;
pub use operator::{ConditionalOperator, OperatorSums};
pub use residual::{ResidualConfig, ResidualTarget, estimate_residual};
