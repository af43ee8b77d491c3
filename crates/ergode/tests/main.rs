//! The integration tests of the library, in one binary.

mod check;
mod data;
mod data_support;
mod lagged;
mod mobility;
mod mobility_cir;
mod mobility_identifiability;
mod mobility_lattice;
mod mobility_neural;
mod mobility_recipe;
mod mobility_semigroup;
mod mobility_weak;
mod model;
mod model_storage;
mod nn;
mod observable;
mod score;
mod score_certificate;
mod score_conditional;
mod score_confinement;
mod score_fields;
mod score_neural;
mod simulate;
mod support;
mod systems;
mod validate;
