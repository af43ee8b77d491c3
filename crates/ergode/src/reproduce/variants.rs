//! Effect of each change to the paper's recipe on its two-dimensional benchmark.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::{Bench, Findings};
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::mobility::{ChannelScale, PaperConfig, fit_paper_mobility};
use crate::pipeline::{COMPARED, compare};
use crate::report::{BenchmarkPart, RecipeVariant, Reproduced};
use crate::systems::Affine2dReference;

/// Degree of the control variate.
const BASELINE: usize = 4;

impl Bench<'_> {
    /// Fit the mobility by variants of the recipe, each a change to the one before, and tabulate their errors.
    pub(super) fn affine2d_variants(
        &self,
        training: &Ensemble,
        reference: &Affine2dReference,
        paper: &PaperConfig,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut tried = Vec::new();
        for (k, (name, config)) in variants(paper, self.config.seed).into_iter().enumerate() {
            self.control.stage(&format!("variant: {name}"));
            let key = json!({
                "ergode": env!("CARGO_PKG_VERSION"), "data": format!("{:016x}", training.fingerprint()),
                "config": config,
            });
            let (variant, _) = self.folder.stage(&format!("variant-{k}"), key, || {
                self.variant(k, name, training, reference, &config)
            })?;
            findings.numbers.push(Reproduced::new(
                &format!("variant_{k}_M_rel_delta"),
                format!("error of M relative to M − Φ, recipe {k}: {}", variant.name),
                variant.truth.mobility_rel_delta.unwrap_or(f64::NAN),
            ));
            tried.push(variant);
        }
        findings.parts.push(BenchmarkPart::Variants(tried));
        Ok(())
    }

    /// Where variant number `k` keeps its networks. The scores are trained for the first only: those with
    /// antithetic noise are the fit's own.
    fn networks(&self, k: usize, antithetic: bool) -> Result<PathBuf> {
        let stages = self.folder.stages();
        let own = stages.join(format!("variant-{k}"));
        fs::create_dir_all(&own).map_err(|error| Error::io(&own, error))?;
        let trained = match antithetic {
            true => stages.to_path_buf(),
            false => stages.join("variant-0"),
        };
        for name in ["stationary.json", "conditional.json"] {
            let (from, to) = (trained.join(name), own.join(name));
            if from.exists() && !to.exists() {
                fs::copy(&from, &to).map_err(|error| Error::io(&to, error))?;
            }
        }
        Ok(own)
    }

    fn variant(
        &self,
        k: usize,
        name: &str,
        training: &Ensemble,
        reference: &Affine2dReference,
        config: &PaperConfig,
    ) -> Result<RecipeVariant> {
        let folder = self.networks(k, config.conditional.noise.antithetic)?;
        let found = fit_paper_mobility(training, config, Some(&folder), self.control)?;
        if self.control.stopped() {
            return Err(Error::interrupted());
        }
        let states = training.sample_tile(COMPARED);
        let (score, mobility) = (&found.stationary, &found.fit.mobility);
        let curves = &found.fit.curves;
        Ok(RecipeVariant {
            name: name.to_owned(),
            truth: compare(score, mobility, &found.constant, reference, &states),
            chi2: curves.iter().map(|c| c.chi2()).sum::<f64>() / curves.len() as f64,
        })
    }
}

/// The recipe as printed, then one change more each time.
fn variants(paper: &PaperConfig, seed: u64) -> Vec<(&'static str, PaperConfig)> {
    let mut config = paper.clone();
    config.stationary.noise.seed = seed;
    config.conditional.noise.seed = seed;
    config.mobility.seed = seed;
    config.mobility.scale = ChannelScale::Channel;
    config.mobility.lag_exponent = 0.25;
    config.mobility.lags_per_step = Some(4);
    // All steps, whatever the held-out loss says.
    config.mobility.train.patience = 0;
    config.stationary.noise.antithetic = false;
    config.conditional.noise.antithetic = false;
    config.mobility.ridge = 0.0;
    let mut list = vec![("as printed, without λ_reg", config.clone())];
    let mut next = |name, change: &dyn Fn(&mut PaperConfig)| {
        change(&mut config);
        list.push((name, config.clone()));
    };
    next("λ_reg as chosen here", &|c| {
        c.mobility.ridge = paper.mobility.ridge;
    });
    next("antithetic noise", &|c| {
        c.stationary.noise.antithetic = true;
        c.conditional.noise.antithetic = true;
    });
    next(
        "all lags in every step, equations weighted by their error",
        &|c| {
            c.mobility.scale = ChannelScale::SamplingError;
            c.mobility.lag_exponent = 0.0;
            c.mobility.lags_per_step = None;
            c.mobility.train.patience = paper.mobility.train.patience;
        },
    );
    next("control variate", &|c| c.baseline_degree = Some(BASELINE));
    next("φ_n of degree 1 and 2, without λ_reg", &|c| {
        c.initial_degree = 2;
        c.mobility.ridge = 0.0;
    });
    list
}
