//! Test functions of charts: when they are used, and what is refused.

use std::collections::BTreeMap;

use ergode::mobility::{ChartKind, Recipe, RecipeConfig, RecipeFit, fit_mobility_recipe};
use ergode::random::{Purpose, Stream};
use ergode::{Control, Ensemble, Times, Trajectory};
use ndarray::Array2;

/// Records of dx = b dt + √(2D) dW in one coordinate, saved every `interval`.
fn records(count: u64, rows: usize, interval: f64, fields: impl Fn(f64) -> [f64; 2]) -> Ensemble {
    const STEP: f64 = 2.5e-3;
    let every = (interval / STEP).round() as usize;
    let record = |k: u64| {
        let mut stream = Stream::new(17, Purpose::Noise, k);
        let mut x = 0.0;
        let mut out = Array2::zeros((rows, 1));
        for row in 0..rows + 100 {
            for _ in 0..every {
                let [b, d] = fields(x);
                x += STEP * b + (2.0 * d * STEP).sqrt() * stream.normal();
            }
            if row >= 100 {
                out[[row - 100, 0]] = x;
            }
        }
        Trajectory::new(out, Times::every(interval))
    };
    let all = Ensemble::new((0..count).map(record).collect()).unwrap();
    all.with_names(vec!["x".to_owned()]).unwrap()
}

fn fitted(data: &Ensemble, chart: Option<ChartKind>) -> RecipeFit {
    let config = RecipeConfig {
        recipe: Recipe::Generator,
        charts: BTreeMap::from_iter(chart.map(|chart| ("x".to_owned(), chart))),
        ..RecipeConfig::default()
    };
    fit_mobility_recipe(data, &config, &Control::new()).unwrap()
}

/// A normal law keeps its coordinate: the fit is the same to the last bit as with the identity set.
#[test]
fn ordinary_records_keep_their_coordinates() {
    let data = records(8, 1000, 0.1, |x| [-x, 0.5]);
    let (found, set) = (
        fitted(&data, None),
        fitted(&data, Some(ChartKind::Identity)),
    );
    assert!(found.charts.is_empty());
    assert_eq!(
        found.fit.mobility.coefficients(),
        set.fit.mobility.coefficients()
    );
}

#[test]
fn charts_that_do_not_exist_are_refused_by_name() {
    let data = records(4, 500, 0.1, |x| [-x, 0.5]);
    let refused = |name: &str, kind: ChartKind, recipe: Recipe| {
        let config = RecipeConfig {
            recipe,
            charts: BTreeMap::from([(name.to_owned(), kind)]),
            ..RecipeConfig::default()
        };
        let found = fit_mobility_recipe(&data, &config, &Control::new());
        found.unwrap_err().to_string()
    };
    let unknown = refused("y", ChartKind::NormalScores, Recipe::Auto);
    assert!(unknown.contains("the coordinates are x"), "{unknown}");
    let negative = refused("x", ChartKind::Logarithm, Recipe::Auto);
    assert!(negative.contains("not positive"), "{negative}");
    let weak = refused("x", ChartKind::NormalScores, Recipe::Weak);
    assert!(weak.contains("recipes semigroup and generator"), "{weak}");
}
