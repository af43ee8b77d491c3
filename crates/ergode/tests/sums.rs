//! Sums of parts of a record, and fits of them.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ergode::pipeline::{Piece, Sums, SumsPlan, fit_sums};
use ergode::systems::Affine2d;
use ergode::{
    Control, Ensemble, FitConfig, FitOptions, Fitted, ReadOptions, Times, Trajectory, Verdict, fit,
    write_ensemble,
};
use ndarray::Array2;

use crate::support::sample;

/// Five trajectories of the affine system of different lengths, with gaps.
fn gappy() -> &'static Ensemble {
    static RECORD: OnceLock<Ensemble> = OnceLock::new();
    RECORD.get_or_init(|| {
        let whole = sample(&Affine2d::default(), 200.0, 0.1, 5, 7);
        let cut = |(k, t): (usize, &Trajectory)| {
            let rows = t.len() - 130 * k;
            let mut values = Array2::zeros((rows, 2));
            t.copy_rows(0..rows, values.as_slice_mut().unwrap());
            for row in [100, 101, 640, 641, 642, 999] {
                values[[row + 7 * k, row % 2]] = f64::NAN;
            }
            Trajectory::new(values, Times::every(0.1))
        };
        let trajectories = whole.trajectories().iter().enumerate().map(cut);
        Ensemble::new(trajectories.collect()).unwrap()
    })
}

fn config() -> FitConfig {
    let changes = ["simulate.dt=0.02", "simulate.trajectories=8"];
    FitConfig::default()
        .with_changes(&changes.map(String::from))
        .unwrap()
}

fn plan() -> &'static Arc<SumsPlan> {
    static PLAN: OnceLock<Arc<SumsPlan>> = OnceLock::new();
    PLAN.get_or_init(|| {
        let plan = SumsPlan::new(gappy(), &config(), &Control::new()).unwrap();
        // As another process reads it.
        Arc::new(SumsPlan::from_toml(&plan.to_toml().unwrap()).unwrap())
    })
}

fn part(rows: Range<usize>) -> Sums {
    Sums::of_ensemble(plan(), gappy(), Some(rows), &Control::new()).unwrap()
}

/// Sums over stretches that begin at these rows, merged last first.
fn cut_at(starts: &[usize]) -> Sums {
    let ends = starts[1..].iter().copied().chain([plan().rows()]);
    let parts: Vec<Sums> = starts.iter().zip(ends).map(|(a, b)| part(*a..b)).collect();
    let mut parts = parts.into_iter().rev();
    let mut sums = parts.next().unwrap();
    parts.for_each(|part| sums.merge(part).unwrap());
    Sums::from_bytes(&sums.to_bytes().unwrap()).unwrap()
}

fn numbers(fitted: &Fitted) -> Vec<(String, f64, f64)> {
    let results = fitted.results();
    let coefficients = results.mobility.coefficients.iter();
    let mut all: Vec<(String, f64, f64)> = coefficients
        .map(|(label, c)| (label.clone(), c.value, c.stderr))
        .collect();
    let validation = &results.validation;
    for (name, value) in [
        ("chi2", results.mobility.chi2_per_equation.unwrap()),
        ("stein", results.score.stein_error),
        ("rmse over floor", validation.rmse_over_floor),
        ("floor", validation.noise_floor),
        ("density", validation.density_l1),
    ] {
        all.push((name.to_owned(), value, 0.0));
    }
    all
}

fn worst(one: &Fitted, other: &Fitted) -> (f64, String) {
    let (one, other) = (numbers(one), numbers(other));
    assert_eq!(one.len(), other.len());
    let off = one.into_iter().zip(other).map(|(a, b)| {
        assert_eq!(a.0, b.0);
        let scale = a.1.abs().max(a.2);
        ((a.1 - b.1).abs().max((a.2 - b.2).abs()) / scale, a.0)
    });
    off.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

/// However a record is cut, a fit of its sums has the numbers of the fit of the record, those of its validation too:
/// cuts within trajectories, at gaps, at blocks, and parts that are shorter than the longest lag.
#[test]
fn slow_sums_of_any_parts_give_the_fit_of_the_whole_record() {
    let whole = fit(gappy(), &config()).unwrap();
    let halo = plan().halo();
    assert!(halo > 5, "{halo}");
    let short: Vec<usize> = (0..300).step_by(halo / 2 + 1).collect();
    let cuts: [&[usize]; 4] = [
        &[0],
        &[0, 1, 5, 100, 101, 102, 641, 2001, 2001 + 107, 5000],
        &[0, 1999, 2000, 2001, 2002, 2010, 7700],
        &short,
    ];
    for starts in cuts {
        let sums = cut_at(starts);
        let fitted = fit_sums(&sums, sums.plan().config(), FitOptions::default()).unwrap();
        let (off, what) = worst(&whole, &fitted);
        assert!(off < 1e-9, "{what}: {off:.1e} with {} parts", starts.len());
        assert_eq!(
            fitted.results().validation.verdict,
            whole.results().validation.verdict
        );
    }
}

/// A part that lost its halo, a lag transposed or a block counted twice would pass unnoticed if the comparison above
/// could not see a single missing pair.
#[test]
fn slow_one_missing_row_is_seen() {
    let whole = cut_at(&[0]);
    let mut piece = pieces(0..400).remove(0);
    piece.values[[3, 0]] = f64::NAN;
    let control = Control::new();
    let mut sums = Sums::of_pieces(plan(), &[piece], &control).unwrap();
    sums.merge(part(400..plan().rows())).unwrap();
    let fitted = |sums: &Sums| fit_sums(sums, sums.plan().config(), FitOptions::default()).unwrap();
    let (off, what) = worst(&fitted(&whole), &fitted(&sums));
    assert!(off > 1e-6, "{what}: {off:.1e}");
}

/// Rows of the first trajectory with the halo.
fn pieces(core: Range<usize>) -> Vec<Piece> {
    let trajectory = &gappy().trajectories()[0];
    let end = trajectory.len().min(core.end + plan().halo());
    let mut values = Array2::zeros((end - core.start, 2));
    trajectory.copy_rows(core.start..end, values.as_slice_mut().unwrap());
    vec![Piece {
        trajectory: 0,
        first: core.start,
        values,
        core,
    }]
}

fn message<T>(result: ergode::Result<T>) -> String {
    let error = result.err().expect("it is refused");
    assert!(error.is_bad_input(), "{error}");
    error.to_string()
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let mut sums = part(0..500);
    let before = sums.to_bytes().unwrap();
    let twice = message(sums.merge(part(300..800)));
    assert!(twice.contains("rows 300:500 are counted twice"), "{twice}");
    let again = message(sums.merge(part(0..500)));
    assert!(again.contains("rows 0:500"), "{again}");
    assert_eq!(sums.to_bytes().unwrap(), before);
    let other = FitConfig {
        held_out: 0.3,
        ..config()
    };
    let other = Arc::new(SumsPlan::new(gappy(), &other, &Control::new()).unwrap());
    let other = Sums::of_ensemble(&other, gappy(), Some(500..900), &Control::new()).unwrap();
    let differs = message(sums.merge(other));
    assert!(differs.contains("held_out"), "{differs}");
    // Not all rows.
    let fitted = fit_sums(&sums, sums.plan().config(), FitOptions::default());
    let missing = message(fitted);
    assert!(missing.contains("rows 500:"), "{missing}");
    // Another configuration than that of the plan.
    let sums = cut_at(&[0]);
    let changed = FitConfig {
        held_out: 0.5,
        ..config()
    };
    let changed = message(fit_sums(&sums, &changed, FitOptions::default()));
    assert!(changed.contains("held_out cannot be changed"), "{changed}");
}

#[test]
fn rows_without_their_partners_and_infinite_values_are_refused() {
    let control = Control::new();
    let refused = |piece: Piece| message(Sums::of_pieces(plan(), &[piece], &control));
    let whole = || pieces(200..300).remove(0);
    let mut short = whole();
    short.values = short.values.slice(ndarray::s![..-1, ..]).to_owned();
    let short = refused(short);
    assert!(short.contains("the longest lag reaches"), "{short}");
    let mut infinite = whole();
    infinite.values[[9, 1]] = f64::INFINITY;
    let infinite = refused(infinite);
    assert!(infinite.contains("row 209, coordinate 1"), "{infinite}");
    let mut beyond = whole();
    beyond.trajectory = 77;
    assert!(refused(beyond).contains("not rows of the record"));
    let twice = Sums::of_pieces(plan(), &[whole(), whole()], &control);
    assert!(message(twice).contains("counted twice"));
}

/// A file is read as it was written, and one that was cut or changed anywhere is refused.
#[test]
fn damaged_sums_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.sums");
    let sums = part(100..2300);
    sums.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let back = Sums::load(&path).unwrap();
    assert_eq!(back.to_bytes().unwrap(), bytes);
    assert_eq!(back.counted(), (2200, plan().rows()));
    for length in [0, 7, 31, 40, bytes.len() / 2, bytes.len() - 1] {
        let cut = message(Sums::from_bytes(&bytes[..length]));
        assert!(cut.contains("truncated"), "{length}: {cut}");
    }
    for place in (32..bytes.len()).step_by(bytes.len() / 50) {
        let mut changed = bytes.clone();
        changed[place] ^= 4;
        let changed = message(Sums::from_bytes(&changed));
        assert!(changed.contains("damaged"), "{place}: {changed}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(message(Sums::from_bytes(&longer)).contains("more than"));
    let mut newer = bytes;
    newer[8] = 9;
    assert!(message(Sums::from_bytes(&newer)).contains("format 9"));
}

/// Rows are read from files of any format, from any row on, as from memory.
#[test]
fn files_give_the_sums_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let expected = part(1500..4100).to_bytes().unwrap();
    let options = ReadOptions::default();
    for name in ["a.csv", "a.npz", "a.nc", "a.h5", "a.zarr", "a.parquet"] {
        let path = folder.path().join(name);
        write_ensemble(&path, gappy()).unwrap();
        let rows = Some(1500..4100);
        let sums = Sums::of_files(plan(), &path, &options, rows, &Control::new()).unwrap();
        assert!(sums.to_bytes().unwrap() == expected, "{name}");
    }
    // Other data than those of the plan.
    let other = sample(&Affine2d::default(), 190.0, 0.1, 5, 7);
    let path = folder.path().join("b.npz");
    write_ensemble(&path, &other).unwrap();
    let other = Sums::of_files(plan(), &path, &options, None, &Control::new());
    assert!(message(other).contains("not those that the plan was made for"));
}

/// Where the sums do not keep the whole record, the coefficients are those of all samples and the validation says
/// what it is against.
#[test]
fn slow_an_excerpt_validates_a_fit_of_all_samples() {
    let control = Control::new();
    let record = sample(&Affine2d::default(), 1000.0, 0.1, 4, 11);
    let plan = SumsPlan::with_excerpt(&record, &config(), 24_000, &control).unwrap();
    let sums = Sums::of_ensemble(&Arc::new(plan), &record, None, &control).unwrap();
    let fitted = fit_sums(&sums, sums.plan().config(), FitOptions::default()).unwrap();
    let whole = fit(&record, &config()).unwrap();
    let of = |fitted: &Fitted| fitted.results().mobility.coefficients.clone();
    for (label, expected) in of(&whole) {
        let found = of(&fitted)[&label];
        let off = (found.value - expected.value).abs();
        assert!(
            off < 1e-9 * expected.value.abs().max(expected.stderr),
            "{label}"
        );
    }
    let validation = fitted.validation();
    let held_out = validation.held_out.samples;
    // Half of the rows kept, and the rest of the last stretch.
    assert!(held_out <= 6120, "{held_out}");
    assert_ne!(
        validation.verdict,
        Verdict::Fail,
        "{:?}",
        validation.reasons
    );
    let policy = &fitted.results().policy;
    let data = policy
        .iter()
        .find(|made| made.decision == "data of the fit");
    assert!(
        data.unwrap()
            .reason
            .contains("held-out samples, in evenly spread")
    );
}

/// What sums do not hold is refused when the plan is made.
#[test]
fn records_and_options_that_need_rows_are_refused() {
    let refused = |changes: &[&str]| {
        let changes: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
        let config = FitConfig::default().with_changes(&changes).unwrap();
        message(SumsPlan::new(gappy(), &config, &Control::new()))
    };
    for change in [
        "mobility.recipe=weak",
        "cycle.period=10",
        "score.kind=denoising",
        "bridge_gaps=true",
        "space.x={\"above\": -100}",
    ] {
        let text = refused(&[change]);
        assert!(text.contains("do not support"), "{change}: {text}");
    }
}
