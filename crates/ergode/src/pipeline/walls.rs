//! Walls that a record shows, where nothing is said about its space.

use super::config::FitConfig;
use super::policy::{Plan, space_of};
use crate::check::{BoundKind, CheckReport, CoordinateReport, Motion};
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::Result;
use crate::mobility::{MeasurementNoise, MobilityFit, Recipe, RecipeConfig, fit_mobility_recipe};
use crate::space::{Domain, DomainChoice};

/// Most coordinates of a record whose walls are looked for, and samples that are looked at.
const MOST: usize = 3;
const SAMPLES: usize = 400_000;
/// Fraction of the samples that is near an end.
const NEAR: f64 = 0.02;
/// Variance of increments near an end, over the mean one, below which D may vanish there: sampled coarsely, it is
/// far from zero.
const QUIET: f64 = 0.75;
/// Uncertainty of D at a wall, in standard errors and over D in the middle, up to which it is known to vanish.
const SMALL: f64 = 0.4;
/// Distance of a wall from the nearest sample, as a fraction of the range, and D at that sample over that in the
/// middle.
const FAR: f64 = 0.06;
const ALMOST: f64 = 0.12;
/// Standard errors by which D must be zero at a wall, and by which its slope there must not be.
const SIGMAS: f64 = 3.0;
/// χ² per equation up to which a fit of one coordinate is believed.
const GOOD: f64 = 3.0;
/// Samples within a step of a wall, over those within the next step and over those of an even density, at least; and
/// their least number.
const CROWD: f64 = 0.6;
const DENSE: f64 = 0.2;
const FEWEST: usize = 20;

/// A wall and why it is one.
#[derive(Clone, Debug)]
struct Wall {
    place: f64,
    kind: Kind,
}

/// How a wall was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By samples that are exactly there.
    Mass,
    /// By samples that crowd there.
    Crowd,
    /// By the noise.
    Vanishing,
}

impl Kind {
    fn reason(self) -> &'static str {
        match self {
            Self::Mass => "many samples are exactly there, and none beyond",
            Self::Crowd => "the density ends there within a step of the noise or of the lattice",
            Self::Vanishing => "the noise vanishes there",
        }
    }
}

impl Plan {
    /// Gives walls to coordinates that nothing is said about: where the density ends within a step of the noise,
    /// or D vanishes at a value just beyond the samples.
    pub(super) fn find_walls(
        &mut self,
        record: &Ensemble,
        check: &CheckReport,
        config: &FitConfig,
        control: &Control,
    ) -> Result<()> {
        let names = record.names();
        let same = names.len() == self.space.domains.len();
        if !same || names.len() > MOST || config.ring.sites > 0 || !config.leaves_space_open() {
            return Ok(());
        }
        if self.noise != MeasurementNoise::None {
            return Ok(());
        }
        for (j, name) in names.iter().enumerate() {
            let report = check.coordinates.iter().find(|c| &c.name == name);
            let Some(report) = report.filter(|report| report.angle.is_none()) else {
                continue;
            };
            if config.space.of(name) != DomainChoice::Auto || self.space.domains[j] != Domain::Line
            {
                continue;
            }
            let Some((domain, reason)) = detect_walls(record, j, report, self.horizon, control)?
            else {
                continue;
            };
            self.space.domains[j] = domain;
            self.choose(&space_of(name), domain.describe(), reason);
        }
        Ok(())
    }
}

/// The walls that coordinate `j` of a record shows, and why they are walls; none where it shows none.
///
/// A density that ends within a step of the noise ends at a wall. So does a coordinate whose noise vanishes, with a
/// slope, just beyond the samples: D quadratic in this coordinate alone is fitted where increments near an end are
/// small, up to lags of `horizon`. Walls are moved to round numbers within their errors.
///
/// # Errors
/// When the samples cannot be read, or the work is stopped.
pub fn detect_walls(
    record: &Ensemble,
    j: usize,
    report: &CoordinateReport,
    horizon: f64,
    control: &Control,
) -> Result<Option<(Domain, String)>> {
    let column = record.columns(&[j])?;
    let column = &*column.excerpt(SAMPLES)?;
    let alone = record.dim() == 1;
    Ok(match walls(column, report, (horizon, alone), control)? {
        [None, None] => None,
        [Some(a), None] => Some((Domain::Above(a.place), a.kind.reason().to_owned())),
        [None, Some(b)] => Some((Domain::Below(b.place), b.kind.reason().to_owned())),
        [Some(a), Some(b)] => {
            let reason = match a.kind == b.kind {
                true => a.kind.reason().to_owned(),
                false => format!("below, {}; above, {}", a.kind.reason(), b.kind.reason()),
            };
            Some((Domain::Interval([a.place, b.place]), reason))
        }
    })
}

impl FitConfig {
    /// True where walls are supported: the state is the record.
    fn leaves_space_open(&self) -> bool {
        let recipe = self.mobility.recipe;
        let plain = self
            .observation()
            .is_ok_and(|observation| observation.is_plain());
        plain && !matches!(recipe, Recipe::Paper | Recipe::Constant | Recipe::Weak)
    }
}

/// The walls of one coordinate.
fn walls(
    column: &Ensemble,
    report: &CoordinateReport,
    (horizon, alone): (f64, bool),
    control: &Control,
) -> Result<[Option<Wall>; 2]> {
    // Beside outliers a step of the noise says nothing.
    if report.outliers > 0 {
        return Ok([None, None]);
    }
    let Some(ends) = Ends::new(column) else {
        return Ok([None, None]);
    };
    if let Some(step) = report.quantum {
        return Ok([0, 1].map(|side| ends.ends_on_lattice(column, side, step)));
    }
    let bounds = [report.bounds.lower, report.bounds.upper];
    let diffusive = report.motion == Motion::Diffusive;
    let mut walls = [0, 1].map(|side| {
        let kind = match bounds[side].map(|bound| bound.kind) {
            Some(BoundKind::Mass) => Kind::Mass,
            _ if diffusive && ends.is_crowded(side) => Kind::Crowd,
            _ => return None,
        };
        Some(Wall {
            place: ends.rounded(side, ends.end[side], 0.02 * ends.range()),
            kind,
        })
    });
    let quiet = [0, 1].map(|side| walls[side].is_none() && ends.variance[side] < QUIET);
    if quiet.contains(&true)
        && let Some(fit) = quadratic(column, horizon, control)?
    {
        for side in [0, 1].into_iter().filter(|side| quiet[*side]) {
            walls[side] = vanishing(&fit, &ends, side);
        }
    }
    // Of several coordinates each alone is not Markov: D seems to vanish by chance at one end, not at both or at 0.
    let credible = walls.iter().all(Option::is_some)
        || walls
            .iter()
            .flatten()
            .all(|wall| wall.place == 0.0 || wall.kind != Kind::Vanishing);
    Ok(match alone || credible {
        true => walls,
        false => [None, None],
    })
}

/// The fit of one coordinate by itself with a quadratic D; none where it does not meet its equations.
fn quadratic(column: &Ensemble, horizon: f64, control: &Control) -> Result<Option<MobilityFit>> {
    let config = RecipeConfig {
        recipe: Recipe::Semigroup,
        degrees: Some((2, 0)),
        horizon: Some(horizon),
        ..RecipeConfig::default()
    };
    match fit_mobility_recipe(column, &config, control) {
        Err(error) if error.is_interrupted() => Err(error),
        Err(_) => Ok(None),
        Ok(found) => Ok(Some(found.fit).filter(|fit| fit.chi2_per_equation < GOOD)),
    }
}

/// The value just beyond the samples at which D vanishes with a slope.
fn vanishing(fit: &MobilityFit, ends: &Ends, side: usize) -> Option<Wall> {
    let value = |x: f64| fit.mobility.at(&[x])[0];
    let error = |x: f64| fit.diffusion_error(&[x])[[0, 0]];
    let (end, range) = (ends.end[side], ends.range());
    let outward = if side == 0 { -1.0 } else { 1.0 };
    // Of the quadratic D through three values, the root that is nearest to the end.
    let step = 0.5 * range;
    let [before, at, after] = [-step, 0.0, step].map(|away| value(end + away));
    let (slope, bend) = (
        (after - before) / (2.0 * step),
        (after - 2.0 * at + before) / (2.0 * step * step),
    );
    let root = slope * slope - 4.0 * bend * at;
    if root.is_nan() || root <= 0.0 {
        return None;
    }
    // 2c/(−b ± √..) does not cancel where the bend is small.
    let away = -2.0 * at / (slope + slope.signum() * root.sqrt());
    let place = end + away;
    let falls = -outward * (slope + 2.0 * bend * away);
    let [low, high] = ends.end;
    let middle = value(0.5 * (low + high))
        .abs()
        .max(value(low).max(value(high)));
    let uncertain = error(place);
    let steep = falls * range > SIGMAS * uncertain && falls * range > 0.5 * middle;
    let small = uncertain * SIGMAS < SMALL * middle;
    let tolerance = SIGMAS * uncertain / falls.abs();
    let near = outward * away < FAR * range && -outward * away < tolerance.min(FAR * range);
    let almost = at < ALMOST * middle;
    (steep && small && near && almost).then(|| Wall {
        place: ends.rounded(side, place, tolerance.max(0.01 * range)),
        kind: Kind::Vanishing,
    })
}

/// What a coordinate is like near its least and largest value.
struct Ends {
    end: [f64; 2],
    /// Variance of the increments near the ends, over the mean one.
    variance: [f64; 2],
    /// Samples within half a step of the noise from the end, and within the next half.
    near: [[usize; 2]; 2],
    /// Samples within half a step of an end if they filled the range evenly.
    even: [f64; 2],
}

impl Ends {
    /// None where there are too few samples.
    fn new(column: &Ensemble) -> Option<Self> {
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        let mut values = Vec::new();
        let mut x = [0.0];
        for segment in column.segments() {
            let trajectory = &column.trajectories()[segment.trajectory];
            let start = values.len();
            for row in segment.rows.clone() {
                trajectory.row(row, &mut x);
                values.push(x[0]);
            }
            let moves = values[start..]
                .windows(2)
                .map(|pair| (pair[0], pair[1] - pair[0]));
            pairs.extend(moves);
        }
        let few = (NEAR * pairs.len() as f64) as usize;
        if few < FEWEST {
            return None;
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let variance = |pairs: &[(f64, f64)]| {
            let n = pairs.len() as f64;
            let mean = pairs.iter().map(|pair| pair.1).sum::<f64>() / n;
            pairs
                .iter()
                .map(|pair| (pair.1 - mean).powi(2))
                .sum::<f64>()
                / n
        };
        let parts = [&pairs[..few], &pairs[pairs.len() - few..]].map(variance);
        let mean = variance(&pairs);
        let end = [
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ];
        let near = [0, 1].map(|side| {
            let step = 0.5 * parts[side].sqrt();
            let within = |from: f64, to: f64| {
                let distance = |x: &&f64| (**x - end[side]).abs();
                let there = |x: &&f64| distance(x) >= from && distance(x) < to;
                values.iter().filter(there).count()
            };
            [within(0.0, step), within(step, 2.0 * step)]
        });
        let range = end[1] - end[0];
        let even = parts.map(|part| 0.5 * part.sqrt() / range * values.len() as f64);
        (mean > 0.0).then(|| Self {
            end,
            even,
            variance: parts.map(|part| part / mean),
            near,
        })
    }

    fn range(&self) -> f64 {
        self.end[1] - self.end[0]
    }

    /// Whether the density ends within a step of the noise; in a tail, and where motion without much noise turns
    /// round, hardly any sample is within a step of the last one.
    fn is_crowded(&self, side: usize) -> bool {
        let [first, second] = self.near[side];
        let crowd = (CROWD * second as f64).max(DENSE * self.even[side]);
        first >= FEWEST && first as f64 > crowd
    }

    /// The wall at the last value of a lattice of this step, where about as many samples are as at the value before it:
    /// in a tail there are hardly any.
    fn ends_on_lattice(&self, column: &Ensemble, side: usize, step: f64) -> Option<Wall> {
        let end = self.end[side];
        let states = column.sample_tile(SAMPLES);
        let at = |k: f64| {
            let near = |x: &&f64| ((**x - end).abs() / step - k).abs() < 0.5;
            states.iter().filter(near).count()
        };
        let (first, second) = (at(0.0), at(1.0));
        let even = states.len() as f64 * step / (self.range() + step);
        let crowd = (CROWD * second as f64).max(DENSE * even);
        (first >= FEWEST && first as f64 > crowd).then(|| Wall {
            place: self.rounded(side, end, 0.1 * step),
            kind: Kind::Crowd,
        })
    }

    /// The roundest number not inside the samples and within `tolerance` of `place`, which is moved out of the
    /// samples.
    fn rounded(&self, side: usize, place: f64, tolerance: f64) -> f64 {
        let end = self.end[side];
        let beyond = |x: f64| if side == 0 { x <= end } else { x >= end };
        let place = if beyond(place) { place } else { end };
        let largest = self.range().max(place.abs()).log10().ceil() as i32 + 1;
        for power in (largest - 7..=largest).rev() {
            let unit = 10f64.powi(power);
            // Division by a power of ten gives the nearest number to a decimal fraction.
            let round = match power {
                0.. => (place / unit).round() * unit,
                _ => (place * 10f64.powi(-power)).round() / 10f64.powi(-power),
            };
            if (round - place).abs() <= tolerance && beyond(round) {
                // Not −0.
                return round + 0.0;
            }
            if unit < tolerance {
                break;
            }
        }
        place
    }
}

/// What a wall is, in words.
pub(super) fn described(kinds: [Option<crate::mobility::EdgeKind>; 2]) -> String {
    use crate::mobility::EdgeKind::{Natural, Reflecting, Sticky};
    let word = |kind| match kind {
        Natural => "natural: the noise vanishes there",
        Reflecting => "reflecting",
        Sticky => "sticky: samples stay there",
    };
    match kinds {
        [None, None] => String::new(),
        [Some(kind), None] | [None, Some(kind)] => format!("its edge is {}", word(kind)),
        [Some(a), Some(b)] if a == b => format!("both edges are {}", word(a)),
        [Some(a), Some(b)] => {
            format!("the lower edge is {}, the upper edge {}", word(a), word(b))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_is_the_roundest_number_beyond_the_samples() {
        let ends = Ends {
            end: [0.013, 0.9971],
            variance: [0.0; 2],
            near: [[0; 2]; 2],
            even: [0.0; 2],
        };
        let cases = [
            (0, -0.004, 0.02, 0.0),
            (0, 0.02, 0.03, 0.0),
            (1, 1.002, 0.01, 1.0),
            (1, 0.99, 0.01, 1.0),
            (1, 0.99, 1e-4, 0.9971),
            (0, -0.1234, 1e-3, -0.123),
        ];
        for (side, place, tolerance, expected) in cases {
            assert_eq!(ends.rounded(side, place, tolerance), expected, "{place}");
        }
    }
}
