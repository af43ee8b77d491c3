//! `ergode demo`: reference data beside the exact answers.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use ergode::{
    Affine2d, Affine2dReference, Control, Ensemble, GalerkinReference, Grid1d, LagGrid,
    LaggedConfig, Monomials, Spacing, accumulate_lagged, generate, system_by_name, write_ensemble,
};
use serde_json::{Map, json};

use crate::args::Demo;
use crate::output::{Failed, report, shown, write_text};
use crate::progress::watched;

/// Autocorrelation of one coordinate: lag, estimate, standard error, exact value.
struct Curve {
    name: String,
    points: Vec<[f64; 4]>,
}

pub(crate) fn run(arguments: &Demo, json: bool) -> Result<(), Failed> {
    let start = Instant::now();
    let system = system_by_name(&arguments.system, &Map::new())?;
    let exact = exact_semigroup(&arguments.system)?;
    let mut protocol = system.protocol();
    protocol.simulate.seed = arguments.seed;
    protocol.simulate.time = protocol.simulate.time.min(1000.0);
    let run = watched("simulating", |control| {
        generate(&*system, &protocol, control)
    })?;
    let ensemble = run.ensemble.burn_in(ergode::BurnIn::Fraction(0.1))?;
    let interval = protocol.simulate.save_every;
    let curves = watched("correlating", |control| {
        curves(&ensemble, &exact, interval, control)
    })?;
    let worst = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|[_, value, error, exact]| ((value - exact) / error).abs())
        .fold(0.0, f64::max);
    fs::create_dir_all(&arguments.output)
        .map_err(|error| Failed::other(format!("{}: {error}", shown(&arguments.output))))?;
    write_ensemble(arguments.output.join("data.npz"), &run.ensemble)?;
    let result = json!({
        "ergode": env!("CARGO_PKG_VERSION"),
        "system": arguments.system,
        "parameters": system.parameters(),
        "protocol": protocol,
        "seed": arguments.seed,
        "worst_z": worst,
        "wall_s": {"total": start.elapsed().as_secs_f64()},
        "report": shown(&arguments.output.join("report.html")),
    });
    write_text(
        &arguments.output.join("results.json"),
        &format!("{result:#}\n"),
    )?;
    write_text(
        &arguments.output.join("report.html"),
        &page(&arguments.system, &curves, worst),
    )?;
    let sentence = format!(
        "{} simulated and compared with its exact correlations: worst deviation {worst:.1} \
         standard errors\nreport: {}",
        arguments.system,
        shown(&arguments.output.join("report.html")),
    );
    report(json, &result, &sentence);
    Ok(())
}

/// The system's semigroup, from its grid solution.
fn exact_semigroup(name: &str) -> Result<GalerkinReference, Failed> {
    let system = system_by_name(name, &Map::new())?;
    let one = |spacing, low, high, degree| {
        Grid1d::solve(&*system, spacing, low, high, 2000)?.semigroup(&*system, degree)
    };
    Ok(match name {
        "affine2d" => {
            let reference = Affine2dReference::solve(Affine2d::default(), 280)?;
            reference.grid().semigroup(reference.system(), 10)?
        }
        "cir" => one(Spacing::Logarithmic, 1e-7, 40.0, 8)?,
        "double-well" => one(Spacing::Linear, -2.8, 2.8, 28)?,
        "ou" => ergode::Grid2d::solve(&*system, [-7.0, -5.5], [7.0, 5.5], 160)?
            .semigroup(&*system, 4)?,
        _ => {
            return Err(Failed::input(format!(
                "there is no demo of {name:?} yet; try affine2d, cir, double-well or ou"
            )));
        }
    })
}

/// Autocorrelations of the coordinates with jackknife errors, beside the exact ones.
fn curves(
    ensemble: &Ensemble,
    exact: &GalerkinReference,
    interval: f64,
    control: &Control,
) -> Result<Vec<Curve>, Failed> {
    let step = (0.12 / interval).round().max(1.0) * interval;
    let lags: Vec<f64> = (0..=25).map(|k| f64::from(k) * step).collect();
    let grid = LagGrid::for_ensemble(ensemble, &lags)?;
    let x = Monomials::coordinates(ensemble.names())?;
    let sums = accumulate_lagged(ensemble, &x, &x, &grid, &LaggedConfig::default(), control)?;
    (0..ensemble.dim())
        .map(|i| {
            let curve =
                sums.jackknife(|s| (0..lags.len()).map(|l| s.correlation(l)[[i, i]]).collect())?;
            let errors = curve.errors();
            let truth = exact.correlation(|x| x[i], |x| x[i], &lags);
            let points = (0..lags.len())
                .map(|k| [lags[k], curve.values[k], errors[k], truth[k]])
                .collect();
            Ok(Curve {
                name: ensemble.names()[i].clone(),
                points,
            })
        })
        .collect()
}

/// A self-contained page: the finding, then one figure per coordinate.
fn page(system: &str, curves: &[Curve], worst: f64) -> String {
    let mut figures = String::new();
    for curve in curves {
        let _ = write!(
            figures,
            "<figure><figcaption>Autocorrelation of <i>{0}</i></figcaption>{1}</figure>",
            curve.name,
            figure(curve)
        );
    }
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
<meta name=viewport content=\"width=device-width,initial-scale=1\">\
<title>Ergode demo: {system}</title><style>\
:root{{color-scheme:light dark}}\
body{{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}}\
figure{{margin:2rem 0}}figcaption{{font-weight:600;margin-bottom:.5rem}}svg{{width:100%;height:auto}}\
svg text{{font-size:13px;fill:currentColor}}.axis{{stroke:currentColor;opacity:.35}}\
.exact{{fill:none;stroke:#d9480f;stroke-width:2}}.bar{{stroke:#1971c2;stroke-width:2}}.dot{{fill:#1971c2}}\
</style><h1>Ergode demo: {system}</h1>\
<p>Simulated trajectories (<span style=\"color:#1971c2\">points, with two standard errors</span>) against the system's exact correlations \
(<span style=\"color:#d9480f\">curve</span>). The worst deviation is <b>{worst:.1} standard \
errors</b>.</p>{figures}</html>\n"
    )
}

fn figure(curve: &Curve) -> String {
    let (width, height, left, bottom) = (720.0, 320.0, 60.0, 40.0);
    let last = curve.points.last().expect("there are lags")[0];
    let low = curve
        .points
        .iter()
        .map(|p| (p[1] - 2.0 * p[2]).min(p[3]))
        .fold(0.0, f64::min);
    let high = curve
        .points
        .iter()
        .map(|p| (p[1] + 2.0 * p[2]).max(p[3]))
        .fold(0.0, f64::max);
    let x = |t: f64| left + (width - left - 24.0) * t / last;
    let y = |c: f64| 10.0 + (height - bottom - 10.0) * (high - c) / (high - low);
    let mut svg = format!("<svg viewBox=\"0 0 {width} {height}\" role=img>");
    for k in 0..=4 {
        let (t, c) = (
            last * f64::from(k) / 4.0,
            low + (high - low) * f64::from(k) / 4.0,
        );
        let _ = write!(
            svg,
            "<line class=axis x1={left} x2={0:.1} y1={1:.1} y2={1:.1} />\
             <text x={2:.1} y={3:.1} text-anchor=end>{c:.3}</text>\
             <text x={4:.1} y={5:.1} text-anchor=middle>{t:.2}</text>",
            width - 24.0,
            y(c),
            left - 8.0,
            y(c) + 4.0,
            x(t),
            height - 18.0
        );
    }
    let _ = write!(
        svg,
        "<text x={:.0} y={:.0} text-anchor=middle>lag</text><polyline class=exact points=\"",
        0.5 * (left + width),
        height - 2.0
    );
    for p in &curve.points {
        let _ = write!(svg, "{:.1},{:.1} ", x(p[0]), y(p[3]));
    }
    svg.push_str("\"/>");
    for p in &curve.points {
        let (cx, up, down) = (x(p[0]), y(p[1] + 2.0 * p[2]), y(p[1] - 2.0 * p[2]));
        let _ = write!(
            svg,
            "<line class=bar x1={cx:.1} x2={cx:.1} y1={up:.1} y2={down:.1} />\
             <circle class=dot cx={cx:.1} cy={:.1} r=3 />",
            y(p[1])
        );
    }
    svg + "</svg>"
}
