//! The paper's benchmarks, reproduced: its numbers and figures, and those found here.

mod affine2d;
mod cir;
mod operator;
mod softspin;
mod variants;

use std::fs;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::control::Control;
use crate::data::{BurnIn, Ensemble};
use crate::error::Result;
use crate::mobility::Recipe;
use crate::pipeline::{FitConfig, FitOptions, Fitted, RunFolder, fit_with};
use crate::report::{BenchmarkPart, Reproduced, Reproduction, Results};
use crate::systems::{ExactFields, System, generate};

/// A benchmark of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// The Cox-Ingersoll-Ross square-root diffusion.
    Cir,
    /// Two coordinates, affine multiplicative noise.
    Affine2d,
    /// The periodic chain of soft spins, 36 coordinates.
    Softspin,
}

/// Size of a benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Minutes on two processors.
    #[default]
    Small,
    /// The data and the training of the paper.
    Paper,
}

/// Options of a reproduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproduceConfig {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Recipe of the mobility.
    pub recipe: Recipe,
    /// Size of the data.
    pub scale: Scale,
    /// The one seed of all random numbers.
    pub seed: u64,
    /// Length of each trajectory of the reference data; by default that of the scale.
    pub time: Option<f64>,
    /// Changes to the configuration of the fit, `key=value`.
    pub changes: Vec<String>,
}

/// Reproduce a benchmark of the paper: make its reference data, fit, validate, and write its numbers
/// and figures beside those found here into the results and the page of the run. A stopped run resumes
/// when it is called again.
///
/// # Errors
/// When a fit fails, the folder cannot be written, or the work is stopped.
pub fn reproduce(
    config: &ReproduceConfig,
    folder: &RunFolder,
    control: &Control,
) -> Result<Results> {
    let bench = Bench {
        config,
        folder,
        control,
        clock: Clock::start(),
    };
    match config.benchmark {
        Benchmark::Cir => bench.cir(),
        Benchmark::Affine2d => bench.affine2d(),
        Benchmark::Softspin => bench.softspin(),
    }
}

/// A benchmark under way.
struct Bench<'a> {
    config: &'a ReproduceConfig,
    folder: &'a RunFolder,
    control: &'a Control,
    clock: Clock,
}

/// Results that a benchmark adds to its fit.
#[derive(Default)]
struct Findings {
    numbers: Vec<Reproduced>,
    choices: Vec<String>,
    differences: Vec<String>,
    parts: Vec<BenchmarkPart>,
}

impl Bench<'_> {
    /// `trajectories` of a system by its protocol, without their first tenth, as in the paper.
    fn data(&self, system: &dyn System, trajectories: usize, time: f64) -> Result<Ensemble> {
        self.control.stage("simulating the reference data");
        let mut protocol = system.protocol();
        protocol.simulate.seed = self.config.seed;
        protocol.simulate.trajectories = trajectories;
        protocol.simulate.time = self.config.time.unwrap_or(time);
        let data = generate(system, &protocol, self.control)?.ensemble;
        data.burn_in(BurnIn::Fraction(0.1))
    }

    /// The usual configuration, with this seed and recipe.
    fn fit_config(&self) -> FitConfig {
        let mut config = FitConfig {
            seed: self.config.seed,
            ..FitConfig::default()
        };
        config.mobility.recipe = self.config.recipe;
        config
    }

    fn fit(
        &self,
        data: &Ensemble,
        config: &FitConfig,
        exact: &dyn ExactFields,
    ) -> Result<(Fitted, FitConfig)> {
        let config = config.with_changes(&self.config.changes)?;
        let options = FitOptions {
            folder: Some(self.folder),
            exact: Some(exact),
            control: Some(self.control),
        };
        let fitted = fit_with(data, &config, options)?;
        Ok((fitted, config))
    }

    /// Put the findings before the results of the fit, and write the run.
    fn finish(&self, fitted: Fitted, findings: Findings) -> Result<Results> {
        let mut record = fitted.record;
        let name = |value: serde_json::Result<serde_json::Value>| {
            let value = value.expect("a name is plain data");
            value.as_str().unwrap_or_default().to_owned()
        };
        record.results.reproduction = Some(Reproduction {
            benchmark: name(serde_json::to_value(self.config.benchmark)),
            scale: name(serde_json::to_value(self.config.scale)),
            machine: machine(),
            seconds: self.clock.seconds(),
            numbers: findings.numbers,
            choices: findings.choices,
            differences: findings.differences,
        });
        record.benchmark = findings.parts;
        self.folder.write(&record)?;
        Ok(record.results)
    }
}

/// The processor, and how many of it there are.
fn machine() -> String {
    let count = thread::available_parallelism().map_or(1, usize::from);
    let listed = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = listed.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    format!(
        "{count} × {}",
        model.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
    )
}
