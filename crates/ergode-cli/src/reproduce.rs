//! `ergode reproduce`.

use ergode::reproduce::{Benchmark, ReproduceConfig, Scale, reproduce};
use ergode::{Recipe, RunFolder};

use crate::args::{BenchmarkName, Reproduce, ScaleName};
use crate::fit::{refuse_other_devices, resumable, show};
use crate::output::Failed;
use crate::progress::watched;

pub(crate) fn run(arguments: &Reproduce, json: bool) -> Result<(), Failed> {
    refuse_other_devices(arguments.device)?;
    let config = ReproduceConfig {
        benchmark: match arguments.benchmark {
            BenchmarkName::Cir => Benchmark::Cir,
            BenchmarkName::Affine2d => Benchmark::Affine2d,
            BenchmarkName::Softspin => Benchmark::Softspin,
        },
        recipe: arguments.recipe.map_or(Recipe::Auto, Recipe::from),
        scale: match arguments.scale {
            ScaleName::Small => Scale::Small,
            ScaleName::Paper => Scale::Paper,
        },
        seed: arguments.seed,
        time: arguments.time,
        changes: arguments.set.clone(),
    };
    let output = &arguments.output;
    let folder = RunFolder::open(output)?;
    let results = watched("reproducing", |control| {
        reproduce(&config, &folder, control)
    })
    .map_err(|error| resumable(error, output))?;
    show(&results, output, json)
}
