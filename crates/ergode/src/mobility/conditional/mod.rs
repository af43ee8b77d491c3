//! The paper's operator: correlations with the conditional score instead of a divergence of M.

mod baseline;
mod channels;
mod equations;
mod operator;
mod residual;

pub(super) use channels::Channels;
pub use equations::{Conditional, ConditionalPlan};
pub(super) use operator::PairValues;
pub use operator::{ConditionalOperator, OperatorSums};
pub use residual::{ResidualConfig, ResidualTarget, estimate_residual};
