//! The systems by their names.

use serde_json::{Map, Value};

use super::affine2d::Affine2d;
use super::cir::CoxIngersollRoss;
use super::double_well::DoubleWell;
use super::fitzhugh_nagumo::FitzHughNagumo;
use super::limit_cycle::LimitCycle;
use super::lorenz63::Lorenz63;
use super::mueller_brown::MuellerBrown;
use super::ornstein_uhlenbeck::OrnsteinUhlenbeckParameters;
use super::prinz::Prinz;
use super::soft_spin::SoftSpin;
use super::triple_well::TripleWell;
use super::van_der_pol::VanDerPol;
use super::{Parameters, System};
use crate::error::{Error, Result};

/// A system with a name.
pub struct SystemEntry {
    /// The name.
    pub name: &'static str,
    /// A description of one line.
    pub summary: &'static str,
    build: Build,
}

type Build = fn(&Map<String, Value>) -> Result<Box<dyn System>>;

/// Every reference system.
pub const SYSTEMS: &[SystemEntry] = &[
    SystemEntry {
        name: "affine2d",
        summary: "two-dimensional nonreversible diffusion with affine multiplicative noise",
        build: build::<Affine2d>,
    },
    SystemEntry {
        name: "cir",
        summary: "Cox-Ingersoll-Ross square-root diffusion",
        build: build::<CoxIngersollRoss>,
    },
    SystemEntry {
        name: "double-well",
        summary: "double well with multiplicative noise, one dimension",
        build: build::<DoubleWell>,
    },
    SystemEntry {
        name: "fitzhugh-nagumo",
        summary: "FitzHugh-Nagumo model of an excitable cell, two dimensions",
        build: build::<FitzHughNagumo>,
    },
    SystemEntry {
        name: "limit-cycle",
        summary: "noisy limit cycle with affine diffusion, two or three dimensions",
        build: build::<LimitCycle>,
    },
    SystemEntry {
        name: "lorenz63",
        summary: "Lorenz' equations of 1963 with additive noise, three dimensions",
        build: build::<Lorenz63>,
    },
    SystemEntry {
        name: "mueller-brown",
        summary: "motion in the Müller-Brown potential, two dimensions",
        build: build::<MuellerBrown>,
    },
    SystemEntry {
        name: "ou",
        summary: "Ornstein-Uhlenbeck process, any dimension, non-normal drift allowed",
        build: build::<OrnsteinUhlenbeckParameters>,
    },
    SystemEntry {
        name: "prinz",
        summary: "motion in a potential of four wells, one dimension",
        build: build::<Prinz>,
    },
    SystemEntry {
        name: "softspin",
        summary: "soft-spin stochastic Landau-Lifshitz dynamics on a ring, 3N dimensions",
        build: build::<SoftSpin>,
    },
    SystemEntry {
        name: "triple-well",
        summary: "motion among two deep wells and a shallow one, two dimensions",
        build: build::<TripleWell>,
    },
    SystemEntry {
        name: "van-der-pol",
        summary: "Van der Pol oscillator with additive noise, two dimensions",
        build: build::<VanDerPol>,
    },
];

fn build<P: Parameters>(changes: &Map<String, Value>) -> Result<Box<dyn System>> {
    let Value::Object(mut all) = serde_json::to_value(P::default()).expect("parameters are plain")
    else {
        unreachable!("parameters are a structure")
    };
    for (key, value) in changes {
        if !all.contains_key(key) {
            let known: Vec<&str> = all.keys().map(String::as_str).collect();
            return Err(Error::input(format!(
                "unknown parameter {key:?}; the parameters are {}",
                known.join(", ")
            )));
        }
        all.insert(key.clone(), value.clone());
    }
    let parameters: P = serde_json::from_value(Value::Object(all))
        .map_err(|error| Error::input(format!("parameters: {error}")))?;
    parameters.build()
}

/// The system called `name`, with `changes` to its default parameters.
///
/// # Errors
/// When there is no such system, or a parameter does not exist or is out of range.
pub fn system_by_name(name: &str, changes: &Map<String, Value>) -> Result<Box<dyn System>> {
    let Some(entry) = SYSTEMS.iter().find(|entry| entry.name == name) else {
        let names: Vec<&str> = SYSTEMS.iter().map(|entry| entry.name).collect();
        return Err(Error::input(format!(
            "there is no system {name:?}; the systems are {}",
            names.join(", ")
        )));
    };
    (entry.build)(changes)
}
