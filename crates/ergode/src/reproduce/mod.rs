//! The paper's benchmarks done again: its numbers and figures beside those found here.

mod affine2d;
mod cir;
mod operator;
mod softspin;
mod variants;

use std::fs;
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::{BurnIn, Ensemble};
use crate::error::Result;
use crate::finding::digits;
use crate::mobility::Recipe;
use crate::pipeline::{
    FitConfig, Fitted, Reproduced, Reproduction, Results, RunFolder, fit_langevin, write_run,
};
use crate::report::{Section, Table};
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

/// How large a benchmark is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Minutes on two processors.
    #[default]
    Small,
    /// The data and the training of the paper.
    Paper,
}

/// What is reproduced, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproduceConfig {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// How the mobility is found.
    pub recipe: Recipe,
    /// How large.
    pub scale: Scale,
    /// The one seed of all random numbers.
    pub seed: u64,
    /// Length of each trajectory of the reference data; that of the scale where none is given.
    pub time: Option<f64>,
    /// Changes to the configuration of the fit, `key=value`.
    pub changes: Vec<String>,
}

/// Do a benchmark of the paper again: make its reference data, fit, validate, and write its numbers
/// and figures beside those found here into the results and the page of the run. A run that was
/// stopped goes on where it was when it is called again.
pub fn reproduce(
    config: &ReproduceConfig,
    folder: &RunFolder,
    tell: &(dyn Fn(&str) + Sync),
    control: &Control,
) -> Result<Results> {
    let bench = Bench {
        config,
        folder,
        tell,
        control,
        clock: Instant::now(),
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
    tell: &'a (dyn Fn(&str) + Sync),
    control: &'a Control,
    clock: Instant,
}

/// What a benchmark adds to its fit.
#[derive(Default)]
struct Findings {
    numbers: Vec<Reproduced>,
    choices: Vec<String>,
    differences: Vec<String>,
    sections: Vec<Section>,
}

impl Bench<'_> {
    /// `trajectories` of a system by its protocol, without their first tenth, as in the paper.
    fn data(&self, system: &dyn System, trajectories: usize, time: f64) -> Result<Ensemble> {
        (self.tell)("simulating the reference data");
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
        let (folder, tell, control) = (self.folder, self.tell, self.control);
        let fitted = fit_langevin(data, &config, folder, Some(exact), tell, control)?;
        Ok((fitted, config))
    }

    /// The findings put before what the fit says of itself, and written.
    fn finish(&self, fitted: Fitted, config: &FitConfig, findings: Findings) -> Result<Results> {
        let Fitted {
            mut results,
            mut page,
            ..
        } = fitted;
        let name = |value: serde_json::Result<serde_json::Value>| {
            let value = value.expect("a name is plain data");
            value.as_str().unwrap_or_default().to_owned()
        };
        let reproduction = Reproduction {
            benchmark: name(serde_json::to_value(self.config.benchmark)),
            scale: name(serde_json::to_value(self.config.scale)),
            machine: machine(),
            seconds: self.clock.elapsed().as_secs_f64(),
            numbers: findings.numbers,
            choices: findings.choices,
            differences: findings.differences,
        };
        page.title = format!(
            "{} again: the paper's numbers beside these",
            page_name(&reproduction)
        );
        let front = front_section(&reproduction);
        // The benchmark's own version of a section takes the place of the fit's.
        let again = |section: &Section| findings.sections.iter().any(|new| new.id == section.id);
        page.sections.retain(|section| !again(section));
        page.sections
            .splice(0..0, [front].into_iter().chain(findings.sections));
        results.reproduction = Some(reproduction);
        write_run(self.folder, config, &results, &page)?;
        Ok(results)
    }
}

fn page_name(reproduction: &Reproduction) -> &'static str {
    match reproduction.benchmark.as_str() {
        "cir" => "Cox-Ingersoll-Ross",
        "softspin" => "Soft spins",
        _ => "Affine noise in two dimensions",
    }
}

/// The numbers, and what to know of them.
fn front_section(reproduction: &Reproduction) -> Section {
    let shown = |value: Option<f64>| value.map_or(String::new(), digits);
    let mut table = Table::new("", &["", "here", "standard error", "paper", "exact"]);
    for number in &reproduction.numbers {
        table = table.row([
            number.what.clone(),
            digits(number.found),
            shown(number.stderr),
            shown(number.paper),
            shown(number.exact),
        ]);
    }
    let mut section = Section::new("paper", "The paper's numbers, and these")
        .prose(format!(
            "Made in {:.0} s on {}.",
            reproduction.seconds, reproduction.machine
        ))
        .with(table);
    for (title, lines) in [
        ("Chosen where the paper does not say", &reproduction.choices),
        (
            "Where these numbers differ from the paper's",
            &reproduction.differences,
        ),
    ] {
        if !lines.is_empty() {
            section = section.prose(format!("{title}:"));
            for line in lines {
                section = section.prose(format!("• {line}"));
            }
        }
    }
    section
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
