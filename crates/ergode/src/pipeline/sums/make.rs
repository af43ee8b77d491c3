//! The plan of sums for a record.

use super::plan::{Beginning, Excerpt, FORMAT, Part, SumsPlan, Table};
use crate::check::CheckReport;
use crate::control::Control;
use crate::data::{Cut, Ensemble, Standardiser};
use crate::error::{Error, Result};
use crate::lagged::{BlockId, LaggedConfig};
use crate::mobility::{Recipe, recipe_statistics};
use crate::pipeline::config::{FitConfig, ScoreKind};
use crate::pipeline::mobility::recipe_config;
use crate::pipeline::policy::Plan;
use crate::pipeline::run::{Prepared, Run};
use crate::pipeline::score::is_potential;
use crate::pipeline::store::Store;

impl SumsPlan {
    /// Numbers of the rows that sums keep as they are, 32 MiB; half of them are held out where they are not the
    /// whole record.
    pub const KEPT: usize = 1 << 22;

    /// The plan for a record: what a fit with this configuration would decide before it looks at score and mobility.
    ///
    /// # Errors
    /// When the record cannot be used, or a fit of it needs more than sums hold: uneven sampling, angles, walls,
    /// rings, a trend, a cycle, delays, networks, and recipes other than semigroup and generator.
    pub fn new(ensemble: &Ensemble, config: &FitConfig, control: &Control) -> Result<Self> {
        Self::with_excerpt(ensemble, config, Self::KEPT, control)
    }

    /// [`SumsPlan::new`] with so many numbers of rows that are kept as they are. They decide the validation and
    /// whatever else a fit takes from rows rather than from sums.
    ///
    /// # Errors
    /// As [`SumsPlan::new`].
    pub fn with_excerpt(
        ensemble: &Ensemble,
        config: &FitConfig,
        kept: usize,
        control: &Control,
    ) -> Result<Self> {
        config.check()?;
        config.check_sizes(ensemble)?;
        let interval = refuse_record(ensemble)?;
        refuse_options(config)?;
        let run = Run::new(ensemble, config, Store::Memory, None, control)?;
        if let Some(finding) = run.left_out().first() {
            return Err(unsupported(&format!(
                "{}; {}",
                finding.message, finding.advice
            )));
        }
        let prepared = run.prepare()?;
        let Prepared {
            check,
            plan: decided,
            cuts,
            training,
            held_out,
            ..
        } = prepared;
        let decided = Decided {
            plan: decided,
            check,
        };
        refuse_decisions(&decided.plan)?;
        control.stage("planning the sums");
        let standardiser = Standardiser::watched(&training, control)?;
        let bounds = training.bounds(control)?;
        let potential = is_potential(&training);
        let units = ensemble.units().cloned().unwrap_or_default();
        let of_parts = Layout {
            names: ensemble.names().to_vec(),
            units: units.coordinates,
            time_unit: units.time,
            interval,
            rows: ensemble.trajectories().iter().map(|t| t.len()).collect(),
            first_times: ensemble.trajectories().iter().map(|t| t.time(0)).collect(),
            samples: [ensemble, &training, &held_out].map(Ensemble::samples),
            beginnings: config.mobility.statistics.beginnings(&training),
            excerpt: excerpt((&training, &cuts[0]), (&held_out, &cuts[1]), ensemble, kept),
            cuts,
        };
        of_parts.plan(decided, (standardiser, bounds), potential, config)
    }
}

/// What the check and the policy of a fit say.
pub(super) struct Decided {
    pub(super) plan: Plan,
    pub(super) check: CheckReport,
}

/// The rows of a record and what becomes of them.
pub(super) struct Layout {
    pub(super) names: Vec<String>,
    pub(super) units: Vec<String>,
    pub(super) time_unit: String,
    pub(super) interval: f64,
    pub(super) rows: Vec<usize>,
    pub(super) first_times: Vec<f64>,
    /// Complete rows, of all, of the training part, and of what is held out.
    pub(super) samples: [usize; 3],
    /// Blocks of the training part, by trajectory and row of it.
    pub(super) beginnings: Vec<(BlockId, usize, usize)>,
    pub(super) cuts: [Vec<Cut>; 2],
    pub(super) excerpt: Excerpt,
}

impl Layout {
    /// The plan, with the scales and the bounds of the training samples; `potential` where the score is fitted to
    /// sums.
    pub(super) fn plan(
        self,
        decided: Decided,
        (standardiser, (mut low, mut high)): (Standardiser, (Vec<f64>, Vec<f64>)),
        potential: bool,
        config: &FitConfig,
    ) -> Result<SumsPlan> {
        standardiser.forward(&mut low);
        standardiser.forward(&mut high);
        let Decided {
            plan: decided,
            check,
        } = decided;
        let recipe = recipe_config(config, &decided.noise, None, decided.horizon);
        let statistics = recipe_statistics(&self.names, &standardiser, self.interval, &recipe)?;
        let tables = statistics
            .into_iter()
            .map(|(recipe, statistics)| Table { recipe, statistics });
        let cuts = self.cuts;
        let blocks = self.beginnings.into_iter().map(|(id, k, row)| {
            let (trajectory, rows, _) = &cuts[0][k];
            Beginning {
                trajectory: *trajectory,
                row: rows.start + row,
                id,
            }
        });
        let score_degrees = match potential && decided.noise_is_left() {
            true => decided.degrees.clone(),
            false => Vec::new(),
        };
        let plan = SumsPlan {
            format: FORMAT,
            ergode: env!("CARGO_PKG_VERSION").to_owned(),
            names: self.names,
            units: self.units,
            time_unit: self.time_unit,
            interval: self.interval,
            samples: self.samples,
            rows: self.rows,
            first_times: self.first_times,
            score_degrees,
            low,
            high,
            standardiser,
            training: cuts[0].iter().map(Part::of).collect(),
            held_out: cuts[1].iter().map(Part::of).collect(),
            blocks: blocks.collect(),
            excerpt: self.excerpt,
            tables: tables.collect(),
            decided,
            check,
            config: config.clone(),
        };
        plan.refuse_contradictions()?;
        Ok(plan)
    }
}

/// All rows of the record where they are few enough, else stretches of both parts.
fn excerpt(
    (training, training_cuts): (&Ensemble, &[Cut]),
    (held_out, held_cuts): (&Ensemble, &[Cut]),
    record: &Ensemble,
    kept: usize,
) -> Excerpt {
    let rows = (kept / record.dim()).max(2);
    let total: usize = record.trajectories().iter().map(|t| t.len()).sum();
    if total <= rows {
        let whole = record.trajectories().iter().enumerate();
        let whole = whole.map(|(k, t)| Part::of(&(k, 0..t.len(), 1)));
        return Excerpt {
            whole: true,
            training: whole.collect(),
            held_out: Vec::new(),
        };
    }
    let of = |part: &Ensemble, cuts: &[Cut]| -> Vec<Part> {
        match part.excerpt_rows(rows / 2) {
            None => cuts.iter().map(Part::of).collect(),
            Some(pieces) => pieces
                .iter()
                .map(|(k, rows, _)| {
                    let (trajectory, within, _) = &cuts[*k];
                    let rows = within.start + rows.start..within.start + rows.end;
                    Part::of(&(*trajectory, rows, 1))
                })
                .collect(),
        }
    };
    Excerpt {
        whole: false,
        training: of(training, training_cuts),
        held_out: of(held_out, held_cuts),
    }
}

fn unsupported(what: &str) -> Error {
    Error::input(format!("sums do not support this record: {what}"))
}

/// Refuses records whose pairs are not whole numbers of rows apart; the sampling interval.
fn refuse_record(ensemble: &Ensemble) -> Result<f64> {
    if ensemble.repeated_rows() > 0 {
        return Err(unsupported(
            "some rows have the time of the row before them; remove them",
        ));
    }
    ensemble.sampling_interval().ok_or_else(|| {
        unsupported("it is sampled unevenly; interpolate it to one interval, or use `ergode fit`")
    })
}

/// Refuses options that need rows instead of sums.
pub(super) fn refuse_options(config: &FitConfig) -> Result<()> {
    let plain = config.observation()?.is_plain();
    let statistics = [
        &config.mobility.statistics,
        &config.score.closed_form.statistics,
    ];
    let standard = |statistics: &&LaggedConfig| **statistics == LaggedConfig::default();
    let recipe = config.mobility.recipe;
    let option = if !plain {
        "trend, cycle or delays"
    } else if config.ring.sites > 0 {
        "ring.sites"
    } else if config.bridge_gaps {
        "bridge_gaps"
    } else if !config.mobility.charts.is_empty() {
        "mobility.charts"
    } else if config.mobility.leading.is_some() {
        "mobility.leading"
    } else if config.score.kind == ScoreKind::Denoising {
        "score.kind = denoising"
    } else if !matches!(recipe, Recipe::Auto | Recipe::Semigroup | Recipe::Generator) {
        "recipes other than semigroup and generator"
    } else if !statistics.iter().all(standard) {
        "mobility.statistics and score.closed_form.statistics"
    } else {
        return Ok(());
    };
    Err(Error::input(format!(
        "sums do not support {option}; remove it, or use `ergode fit` with the data"
    )))
}

/// Refuses what was decided for the record where sums do not have it.
pub(super) fn refuse_decisions(decided: &Plan) -> Result<()> {
    if !decided.space.is_plain() {
        return Err(unsupported(
            "a coordinate has a wall or is an angle; set its entry of space to \"line\" (--set space.NAME=line), or \
             use `ergode fit`",
        ));
    }
    match decided.recipe {
        Recipe::Auto | Recipe::Semigroup | Recipe::Generator => Ok(()),
        recipe => Err(unsupported(&format!(
            "its fit would use recipe {recipe}; select fewer coordinates (--columns)"
        ))),
    }
}
