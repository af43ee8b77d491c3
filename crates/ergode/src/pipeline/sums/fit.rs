//! A fit of sums.

use super::collect::Sums;
use super::plan::Part;
use crate::control::Control;
use crate::data::{Ensemble, Trajectory, checksum};
use crate::error::{Error, Result};
use crate::mobility::{PolynomialSums, RecipeSums};
use crate::observe::Observation;
use crate::pipeline::collected::Collected;
use crate::pipeline::config::FitConfig;
use crate::pipeline::fitted::Fitted;
use crate::pipeline::policy::Plan;
use crate::pipeline::run::{Prepared, Run};
use crate::pipeline::store::Store;
use crate::pipeline::{FitOptions, finish};
use crate::score::Confinement;

/// [`fit_with`](crate::fit_with) of sums over a record instead of the record.
///
/// The configuration is that of the plan, in which seed, simulations, validation and limits may be changed.
/// Rollouts are compared with the held-out rows that the sums keep.
///
/// # Errors
/// When rows of the record were not counted, the configuration changes what was collected, or as
/// [`fit_with`](crate::fit_with).
pub fn fit_sums(sums: &Sums, config: &FitConfig, options: FitOptions) -> Result<Fitted> {
    let idle = Control::new();
    let control = options.control.unwrap_or(&idle);
    config.check()?;
    sums.require_all_rows()?;
    let plan = &sums.plan;
    refuse_changes(&plan.config, config)?;
    control.stage("reading");
    let rows = Rows::of(sums)?;
    let collected = sums.collected()?;
    let mut config = config.clone();
    if !plan.excerpt.whole {
        // Chance is what a fit to all training samples leaves.
        let length = plan.samples[1] as f64 / rows.held_out.samples() as f64;
        config.validate.training.get_or_insert(length);
    }
    let mut decided = plan.decided.clone();
    let (choice, reason) = provenance(sums, &rows);
    Plan::decide(&mut decided.decisions, "data of the fit", choice, reason);
    let prepared = Prepared {
        check: plan.check.clone(),
        observed: None,
        observation: Observation::plain(&plan.names),
        plan: decided,
        held_states: rows.held_out.clone(),
        training: rows.training,
        held_out: rows.held_out,
        cuts: [Vec::new(), Vec::new()],
        seconds: 0.0,
    };
    let fingerprint = format!("{:016x}", checksum(&sums.to_bytes()?));
    let store = Store::new(options.folder);
    let run = Run::of_sums(
        rows.record,
        &collected,
        fingerprint,
        &config,
        store,
        control,
    )?;
    finish(&run, prepared)
}

/// The rows that the sums keep.
struct Rows {
    record: Ensemble,
    training: Ensemble,
    held_out: Ensemble,
}

impl Rows {
    fn of(sums: &Sums) -> Result<Self> {
        let (plan, excerpt) = (&sums.plan, &sums.plan.excerpt);
        let trajectories = |parts: &[Part]| -> Result<Vec<Trajectory>> {
            let of = |part: &Part| Ok(plan.trajectory(part, sums.kept(part)?));
            parts.iter().map(of).collect()
        };
        let training = trajectories(&excerpt.training)?;
        if !excerpt.whole {
            let held_out = trajectories(&excerpt.held_out)?;
            let both = [training.clone(), held_out.clone()].concat();
            return Ok(Self {
                record: plan.ensemble(both)?,
                training: plan.ensemble(training)?,
                held_out: plan.ensemble(held_out)?,
            });
        }
        let record = plan.ensemble(training)?;
        let cut = |parts: &[Part]| {
            let parts = parts.iter().map(|part| (part.trajectory, part.rows(), 1));
            record.cut(&parts.collect::<Vec<_>>())
        };
        Ok(Self {
            training: cut(&plan.training)?,
            held_out: cut(&plan.held_out)?,
            record,
        })
    }
}

impl Sums {
    /// Refuses sums that are not over the whole record.
    fn require_all_rows(&self) -> Result<()> {
        let total = self.plan.rows();
        let mut missing = Vec::new();
        let mut before = 0;
        let counted = self.rows.iter().cloned();
        for rows in counted.chain(std::iter::once(total..total)) {
            if rows.start > before {
                missing.push(format!("{before}:{}", rows.start));
            }
            before = rows.end;
        }
        let more = missing.len().saturating_sub(3);
        missing.truncate(3);
        match (missing.is_empty(), more) {
            (true, _) => Ok(()),
            (false, more) => Err(Error::input(format!(
                "rows {}{} of the record are not in these sums; accumulate them (`--rows A:B`) and merge all parts",
                missing.join(", "),
                if more > 0 {
                    format!(" and {more} more stretches")
                } else {
                    String::new()
                }
            ))),
        }
    }

    /// The sums in the form that a fit takes them.
    fn collected(&self) -> Result<Collected> {
        let plan = &self.plan;
        let tables = plan.tables.iter().zip(&self.tables).map(|(table, parts)| {
            let (statistics, parts) = (&table.statistics, parts.clone());
            let sums =
                PolynomialSums::of_parts(&plan.names, &plan.standardiser, statistics, parts)?;
            Ok((table.recipe, sums))
        });
        let score = match plan.score_degrees.is_empty() {
            true => None,
            false => {
                let confinement =
                    Confinement::new(plan.standardiser.clone(), self.cells.support()?)?;
                Some((self.score.clone(), confinement))
            }
        };
        Ok(Collected {
            names: plan.names.clone(),
            recipes: RecipeSums::new(plan.interval, tables.collect::<Result<_>>()?),
            score,
        })
    }
}

/// What was fitted to what, in words.
fn provenance(sums: &Sums, rows: &Rows) -> (String, String) {
    let [all, training, held_out] = sums.plan.samples;
    let choice = format!("sums over {training} training samples of a record of {all}");
    let compared = match sums.plan.excerpt.whole {
        true => format!(
            "the validation is against all {held_out} held-out samples, which the sums keep"
        ),
        false => format!(
            "the validation is against {} of {held_out} held-out samples, in evenly spread stretches, and whatever \
             else needs rows uses {} training samples",
            rows.held_out.samples(),
            rows.training.samples()
        ),
    };
    let score = match sums.plan.score_degrees.is_empty() {
        true => {
            "; the score is fitted to these rows, because sums of its polynomials do not suit the record"
        }
        false => "",
    };
    let charts = "; charts of coordinates were not tried";
    (choice, format!("given as sums; {compared}{score}{charts}"))
}

/// Refuses changes of what decided the sums.
fn refuse_changes(planned: &FitConfig, asked: &FitConfig) -> Result<()> {
    let fixed = FitConfig {
        seed: planned.seed,
        simulate: planned.simulate,
        validate: planned.validate.clone(),
        limits: planned.limits,
        ..asked.clone()
    };
    if fixed == *planned {
        return Ok(());
    }
    let value = |config: &FitConfig| serde_json::to_value(config).expect("plain data");
    let (one, other) = (value(planned), value(&fixed));
    let keys = one.as_object().into_iter().flatten();
    let changed: Vec<&str> = keys
        .filter(|(key, value)| other.get(key.as_str()) != Some(value))
        .map(|(key, _)| key.as_str())
        .collect();
    Err(Error::input(format!(
        "{} cannot be changed after sums were collected; change simulate, validate, limits and seed only, or make \
         another plan",
        changed.join(", ")
    )))
}
