//! The small-network engine: multilayer perceptrons in single precision, with exact derivatives of
//! the output along given directions and exact parameter gradients of losses that contain them.

mod activation;
mod cpu;
mod engine;
mod mlp;
mod optimiser;
mod product;
mod tile;
mod train;

pub use cpu::CpuEngine;
pub use engine::{Batch, Engine, Tile};
pub use mlp::Mlp;
pub use optimiser::{Adam, AdamConfig, Average, Decay};
pub(crate) use train::{Task, train};
pub use train::{TrainConfig, TrainRecord, TrainReport};
