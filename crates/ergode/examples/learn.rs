//! Score and mobility from a time series: simulate the paper's two-dimensional system, keep a sample every
//! 0.1, learn both, and compare with the exact answer.
//!
//! `cargo run --release -p ergode --example learn`

use ergode::mobility::{RecipeConfig, fit_mobility_recipe};
use ergode::score::{
    CertificateConfig, ClosedFormConfig, certificate_library, certify_score, fit_potential_score,
};
use ergode::systems::{Affine2d, System, generate};
use ergode::{BurnIn, Control, Result};

fn main() -> Result<()> {
    let control = Control::new();
    let system = Affine2d::default();
    let mut protocol = system.protocol();
    protocol.simulate.save_every = 0.1;
    let data = generate(&system, &protocol, &control)?.ensemble;
    let data = data.burn_in(BurnIn::Time(10.0))?;
    let training = data.select(&(0..24).collect::<Vec<_>>())?;
    let testing = data.select(&(24..36).collect::<Vec<_>>())?;

    let score = fit_potential_score(&training, &ClosedFormConfig::default(), &control)?;
    let library = certificate_library(data.names())?;
    let config = CertificateConfig::default();
    let certificate = certify_score(&score, &testing, &library, &config, &control)?;
    println!("{certificate}");

    let found = fit_mobility_recipe(&training, &RecipeConfig::default(), &control)?;
    let (fit, x) = (&found.fit, [0.5, 0.3]);
    println!("recipe {:?}: {}", found.recipe, found.reason);
    println!("chi2 per equation {:.2}", fit.chi2_per_equation);
    let (fitted, error, exact) = (
        fit.mobility.at(&x),
        fit.diffusion_error(&x),
        system.diffusion(&x),
    );
    for (entry, k, value) in [
        ("xx", 0, fitted[0]),
        ("xy", 1, 0.5 * (fitted[1] + fitted[2])),
        ("yy", 3, fitted[3]),
    ] {
        let error = error[[k / 2, k % 2]];
        println!(
            "D_{entry} at {x:?}: {value:.4} +- {error:.4}, exact {:.4}",
            exact[k]
        );
    }
    Ok(())
}
