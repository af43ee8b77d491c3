//! The integration tests of the library, in one binary.

mod check;
mod data;
mod lagged;
mod mobility;
mod observable;
mod score;
mod simulate;
mod support;
mod systems;
