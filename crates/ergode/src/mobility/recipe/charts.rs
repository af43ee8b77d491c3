//! The charts of coordinates that suit the record best.

use super::config::Recipe;
use super::found::RecipeFit;
use crate::data::Ensemble;
use crate::error::Result;
use crate::mobility::charts::{ChosenChart, Laws, Standing};
use crate::space::Chart;

/// The fit with the charts that suit the record best, one coordinate at a time.
///
/// Charts are tried for coordinates whose law is broad and, where the fit in the coordinates themselves misses
/// its equations, for all.
pub(super) fn best_charts(
    ensemble: &Ensemble,
    laws: &Laws,
    in_charts: &dyn Fn(&[Chart]) -> Result<RecipeFit>,
) -> Result<RecipeFit> {
    /// χ² per equation that makes charts worth trying for a law that is not broad.
    const MISSED: f64 = 4.0;
    let dim = ensemble.dim();
    let mut charts = laws.identity();
    let identity = charts.clone();
    let plain = || in_charts(&identity);
    let mut coordinates: Vec<usize> = (0..dim).filter(|i| laws.is_broad(*i)).collect();
    // In coordinates with heavy tails the search may take long: what charts give comes first.
    let first = !coordinates.is_empty();
    let mut best = if first { None } else { Some(plain()?) };
    if let Some(found) = &best {
        if found.recipe == Recipe::Weak || found.fit.chi2_per_equation <= MISSED {
            return Ok(found.clone());
        }
        coordinates = (0..dim).collect();
    }
    let standing = |found: &RecipeFit| Standing::of(&found.fit, ensemble);
    let mut at = best.as_ref().map(&standing);
    for i in coordinates {
        for chart in laws.candidates(i) {
            let mut trial = charts.clone();
            trial[i] = chart;
            match in_charts(&trial) {
                Ok(found) => {
                    let stands = standing(&found);
                    let wins = match at {
                        Some(at) => stands.beats(at),
                        None => stands.is_sound(),
                    };
                    if wins {
                        (charts, at, best) = (trial, Some(stands), Some(found));
                    }
                }
                Err(error) if error.is_late() && best.is_some() => break,
                Err(error) if error.is_interrupted() => return Err(error),
                Err(_) => {}
            }
        }
    }
    let Some(mut found) = best else {
        return plain();
    };
    let mut words = at.map_or(String::new(), Standing::describe);
    if first {
        match plain() {
            Ok(mut other) => {
                let others = standing(&other);
                if !at.is_some_and(|at| at.beats(others)) {
                    let tried = laws.chosen(&charts, &|_| String::new());
                    let of =
                        |c: &ChosenChart| format!("{} of {}", c.chart.describe(), c.coordinate);
                    let tried: Vec<String> = tried.iter().map(of).collect();
                    other.reason = format!(
                        "{}; {}, and {words} with test functions of the {}",
                        other.reason,
                        others.describe(),
                        tried.join(", ")
                    );
                    return Ok(other);
                }
                words = format!(
                    "{words}, instead of {} in the coordinate itself",
                    others.describe()
                );
            }
            Err(error) if error.is_late() => {}
            Err(error) if error.is_interrupted() => return Err(error),
            Err(error) => {
                words = format!("{words}; in the coordinate itself the fit fails: {error}")
            }
        }
    }
    found.charts = laws.chosen(&charts, &|i: usize| match laws.is_broad(i) {
        true => {
            format!("the law is broad, so that averages of high powers are badly known; {words}")
        }
        false => words.clone(),
    });
    Ok(found)
}
