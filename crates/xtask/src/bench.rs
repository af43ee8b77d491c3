//! Benchmarks against peers: both sides run in one command, one after the
//! other on the same machine. Quote the ratios.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// A benchmark that `cargo xtask bench` can run.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace) -> Result<Report, String>,
}

/// The result of a benchmark, for programs and for people.
struct Report {
    json: Value,
    text: String,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "lagged",
        about: "lagged statistics on all cores, compared with the peak of large matrix products",
        run: lagged,
    },
    Bench {
        name: "mobility",
        about: "error of the mobility by sampling interval, compared with Kramers-Moyal regression",
        run: mobility,
    },
    Bench {
        name: "nn",
        about: "training steps of small networks on one core, compared with PyTorch and the peak of a core",
        run: nn,
    },
    Bench {
        name: "simulate",
        about: "Euler-Maruyama steps on one core, compared with scalar Rust and Numba",
        run: simulate,
    },
];

/// Runs the benchmark that the arguments name, and prints its report.
pub fn run(args: &[&str]) -> Result<(), String> {
    let (bench, as_json) = parse(args)?;
    let report = (bench.run)(&Workspace::locate()?)?;
    if as_json {
        println!("{}", report.json);
    } else {
        print!("{}", report.text);
    }
    Ok(())
}

/// One line for each benchmark.
pub fn list() -> String {
    BENCHES
        .iter()
        .map(|bench| format!("  {:<19}  {}\n", bench.name, bench.about))
        .collect()
}

/// Reads `NAME [--json]`.
fn parse(args: &[&str]) -> Result<(&'static Bench, bool), String> {
    let (name, as_json) = match args {
        [name] if !name.starts_with('-') => (name, false),
        [name, "--json"] | ["--json", name] => (name, true),
        _ => return Err("usage: cargo xtask bench NAME [--json]".to_owned()),
    };
    let bench = BENCHES.iter().find(|bench| bench.name == *name);
    let bench = bench.ok_or_else(|| {
        let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        format!("no benchmark `{name}`; available: {}", names.join(", "))
    })?;
    Ok((bench, as_json))
}

/// Lagged statistics of the paper's affine data set.
fn lagged(workspace: &Workspace) -> Result<Report, String> {
    build_rust_bench(workspace, "lagged")?;
    let mut json = rust_bench(workspace, "lagged")?;
    let cpu = cpu_model();
    let get = |key: &str| json[key].as_f64().unwrap_or(f64::NAN);
    let text = format!(
        "Lagged statistics, {cpu}: affine data set, stride 5, 9 x 225 functions x 21 lags\n  \
         {:.2} s, {:.0} Gflop/s, {:.2} of the peak of large matrix products (faer)\n  \
         peak memory {:.0} MB, data {:.0} MB\n",
        get("seconds"),
        get("gflops"),
        get("fraction_of_peak"),
        get("peak_memory_mb"),
        get("data_mb"),
    );
    json["cpu"] = json!(cpu);
    json["peer"] = json!("large double-precision matrix products by faer");
    Ok(Report { json, text })
}

/// The mobility of the paper's affine data set at several sampling intervals.
fn mobility(workspace: &Workspace) -> Result<Report, String> {
    build_rust_bench(workspace, "mobility")?;
    mobility_report(rust_bench(workspace, "mobility")?, &cpu_model())
}

/// One table per sampling interval, and the error of the best Kramers-Moyal variant as a multiple of
/// that of the semigroup.
fn mobility_report(mut json: Value, cpu: &str) -> Result<Report, String> {
    let figures = json["figures"].as_array().cloned().unwrap_or_default();
    let mut text = format!("Mobility of the affine data set, {cpu}: relative errors of D and R\n");
    let mut ratios = Vec::new();
    for tied in figures.chunk_by(|a, b| a["interval"] == b["interval"]) {
        let interval = &tied[0]["interval"];
        let _ = writeln!(text, "\nsampling interval {interval}");
        let (mut ours, mut peer) = (f64::NAN, f64::INFINITY);
        for row in tied {
            let method = row["method"].as_str().unwrap_or("unnamed");
            let get = |key: &str| {
                let value = row[key].as_f64();
                value.ok_or_else(|| format!("no figure `{key}` of {method} in the results: {row}"))
            };
            let (d, seconds) = (get("D_rel_l2")?, get("seconds")?);
            if method == "semigroup" {
                ours = d;
            } else if method.starts_with("Kramers-Moyal") {
                peer = peer.min(d);
            }
            let r = get("R_rel_l2").map_or("     -  ".into(), |r| format!("{:6.2} %", 100.0 * r));
            let d = 100.0 * d;
            let _ = writeln!(
                text,
                "  {method:<30}  D {d:>6.2} %  R {r}  {seconds:>6.2} s"
            );
        }
        let ratio = peer / ours;
        let _ = writeln!(text, "  best Kramers-Moyal over semigroup, D: {ratio:.1}x");
        ratios.push(json!({"interval": interval, "D_best_peer_over_semigroup": ratio}));
    }
    if ratios.is_empty() {
        return Err(format!("no `figures` in the results: {json}"));
    }
    json["ratios"] = json!(ratios);
    json["cpu"] = json!(cpu);
    json["peer"] =
        json!("Kramers-Moyal regression on polynomials: plain, drift-corrected, extrapolated");
    Ok(Report { json, text })
}

/// Training steps of small networks: the engine and PyTorch.
fn nn(workspace: &Workspace) -> Result<Report, String> {
    let environment = Environment::prepare(workspace, "python-bench-nn", &["numpy", "torch"])?;
    build_rust_bench(workspace, "nn")?;
    let rust = rust_bench(workspace, "nn")?;
    let torch = python_bench(workspace, &environment, "nn_torch.py")?;
    nn_report(rust, torch, &cpu_model())
}

/// Merges the figures of both sides and compares them, network by network.
fn nn_report(rust: Value, torch: Value, cpu: &str) -> Result<Report, String> {
    let mut json = rust;
    merge(&mut json, torch);
    let version = json["versions"]["torch"].as_str();
    let torch = format!("PyTorch {}", version.unwrap_or("of unknown version"));
    let compiled = format!("{torch}, compiled");
    let peers = [("torch", torch), ("torch_compiled", compiled)];
    let networks = json["networks"].as_object().cloned().unwrap_or_default();
    let mut text = format!(
        "Training steps on one core, {cpu}: {} states, loss, gradient, Adam\n",
        json["states"]
    );
    for name in networks.keys() {
        let steps = |key: &str| figure(&json["networks"], name, &format!("{key}_steps_per_s"));
        let ours = steps("ergode")?;
        let all_cores = 1e3 / steps("ergode_all_cores")?;
        let fraction = figure(&json["networks"], name, "fraction_of_peak")?;
        let mut rows = vec![("ergode", 1e3 / ours)];
        let mut best = steps("torch")?;
        for (key, peer) in &peers {
            // There may be no compiled peer: it needs a compiler on the machine.
            if let Ok(steps) = steps(key) {
                rows.push((peer, 1e3 / steps));
                best = best.max(steps);
            }
        }
        let title = format!(
            "{name}, ms per step; {fraction:.2} of the multiply-adds of a core; \
             {all_cores:.2} ms on {} cores",
            json["threads"]
        );
        write_table(&mut text, &title, &rows);
        json["networks"][name]["ergode_over_best_torch"] = json!(ours / best);
    }
    json["cpu"] = json!(cpu);
    for (key, peer) in peers {
        json["peers"][key] = json!(peer);
    }
    Ok(Report { json, text })
}

/// Simulation speed: the vectorised kernel, scalar Rust and Numba.
fn simulate(workspace: &Workspace) -> Result<Report, String> {
    // The environment and the build come first, so that the timings are adjacent.
    let environment = Environment::prepare(workspace, "python-bench", &["numpy", "numba"])?;
    build_rust_bench(workspace, "simulate")?;
    let rust = rust_bench(workspace, "simulate")?;
    let numba = python_bench(workspace, &environment, "simulate_numba.py")?;
    simulate_report(rust, numba, &cpu_model())
}

/// The systems of the simulation benchmark: key, suffix of its figures, unit.
const SYSTEMS: &[(&str, &str, &str)] = &[
    ("affine2d", "ns", "ns per step"),
    ("softspin", "ns_per_site", "ns per site and step"),
];

/// Merges the figures of both sides and compares them.
fn simulate_report(rust: Value, numba: Value, cpu: &str) -> Result<Report, String> {
    let mut json = rust;
    merge(&mut json, numba);
    let peers = simulate_peers(&json);
    let mut text = format!("Simulation on one core, {cpu}\n");
    for &(system, suffix, unit) in SYSTEMS {
        let lanes = figure(&json, system, &format!("lanes_{suffix}"))?;
        let mut rows = vec![("ergode, SIMD lanes", lanes)];
        for (key, name) in &peers {
            let time = figure(&json, system, &format!("{key}_{suffix}"))?;
            json[system][format!("{key}_over_lanes")] = json!(time / lanes);
            rows.push((name, time));
        }
        write_table(&mut text, &format!("{system}, {unit}"), &rows);
    }
    write_models(&mut text, &mut json)?;
    json["cpu"] = json!(cpu);
    for (key, name) in peers {
        json["peers"][key] = json!(name);
    }
    Ok(Report { json, text })
}

/// Learned models compared with what bounds their speed: the reference system and the network engine.
fn write_models(text: &mut String, json: &mut Value) -> Result<(), String> {
    let affine = figure(json, "affine2d", "lanes_ns")?;
    let [polynomial, neural, engine] =
        ["polynomial_ns", "neural_ns", "neural_engine_ns"].map(|key| figure(json, "models", key));
    let (polynomial, neural, engine) = (polynomial?, neural?, engine?);
    json["models"]["polynomial_over_affine2d"] = json!(polynomial / affine);
    json["models"]["neural_fraction_of_engine"] = json!(engine / neural);
    let rows = [
        ("affine2d, the reference system", affine),
        (
            "2-D model, potential of degree 8, M of degree 2",
            polynomial,
        ),
    ];
    write_table(text, "polynomial model, ns per step", &rows);
    let rows = [
        (
            "its networks alone (2-128-128-2, 2-128-128-4 with tangents)",
            engine,
        ),
        ("2-D model of these networks", neural),
    ];
    write_table(text, "neural model, ns per step", &rows);
    Ok(())
}

/// The peers of the simulation benchmark: prefix of their figures, name.
fn simulate_peers(json: &Value) -> [(&'static str, String); 3] {
    let version = json["versions"]["numba"].as_str();
    let numba = format!("Numba {}", version.unwrap_or("of unknown version"));
    let scalar = "straightforward scalar Rust (rand_distr ziggurat)";
    [
        ("scalar", scalar.to_owned()),
        ("numba", format!("{numba} (np.random)")),
        ("numba_generator", format!("{numba} (NumPy Generator)")),
    ]
}

/// Appends a table of times, each also as a multiple of the first.
fn write_table(text: &mut String, title: &str, rows: &[(&str, f64)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let base = rows.first().map_or(f64::NAN, |(_, time)| *time);
    let _ = writeln!(text, "\n{title}");
    for (name, time) in rows {
        let ratio = time / base;
        let _ = writeln!(text, "  {name:<width$}  {time:>8.2}  {ratio:>6.2}x");
    }
}

/// Builds a Rust benchmark of the library without running it.
fn build_rust_bench(workspace: &Workspace, name: &str) -> Result<(), String> {
    process::announce(&format!("cargo bench --bench {name} --no-run"));
    let args = ["bench", "-p", "ergode", "--bench", name, "--no-run"];
    process::stream_to_stderr(&mut workspace.cargo(&args))
}

/// Runs a Rust benchmark of the library.
fn rust_bench(workspace: &Workspace, name: &str) -> Result<Value, String> {
    process::announce(&format!("cargo bench --bench {name}"));
    let args = ["bench", "-p", "ergode", "--bench", name, "--", "--json"];
    capture_json(&mut workspace.cargo(&args))
}

/// Runs a Python script of the folder `bench`.
fn python_bench(
    workspace: &Workspace,
    environment: &Environment,
    script: &str,
) -> Result<Value, String> {
    process::announce(&format!("python bench/{script}"));
    let path = workspace.root().join("bench").join(script);
    capture_json(&mut environment.script(&path))
}

/// Runs a command and reads the JSON object on the last line of its output.
fn capture_json(command: &mut Command) -> Result<Value, String> {
    let output = process::capture(command)?;
    last_object(&output).map_err(|error| format!("`{}`: {error}", process::describe(command)))
}

/// The JSON object on the last line of `output`.
fn last_object(output: &str) -> Result<Value, String> {
    let line = output.trim_end().lines().next_back().unwrap_or("");
    let object: Option<Map<String, Value>> = serde_json::from_str(line).ok();
    object
        .map(Value::Object)
        .ok_or_else(|| format!("the last line of output is not a JSON object: {line:?}"))
}

/// Adds the entries of `other` to `value`, object by object.
fn merge(value: &mut Value, other: Value) {
    match (value, other) {
        (Value::Object(value), Value::Object(other)) => {
            for (key, entry) in other {
                merge(value.entry(key).or_insert(Value::Null), entry);
            }
        }
        (value, other) => *value = other,
    }
}

/// A figure of one system, which must be a positive number.
fn figure(json: &Value, system: &str, key: &str) -> Result<f64, String> {
    json[system][key]
        .as_f64()
        .filter(|time| *time > 0.0)
        .ok_or_else(|| format!("no positive figure `{system}.{key}` in the results: {json}"))
}

/// The model of the processor, as the system names it.
fn cpu_model() -> String {
    let from_linux = || {
        let info = fs::read_to_string("/proc/cpuinfo").ok()?;
        let line = info.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let from_macos = || {
        let mut command = Command::new("sysctl");
        let output = command.args(["-n", "machdep.cpu.brand_string"]).output();
        let name = String::from_utf8(output.ok()?.stdout).ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    };
    from_linux()
        .or_else(from_macos)
        .unwrap_or_else(|| "unknown processor".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust_figures() -> Value {
        json!({
            "affine2d": {"lanes_ns": 4.0, "scalar_ns": 10.0},
            "softspin": {"lanes_ns_per_site": 8.0, "scalar_ns_per_site": 24.0},
            "models": {"polynomial_ns": 10.0, "neural_ns": 2000.0, "neural_engine_ns": 1500.0},
        })
    }

    fn numba_figures() -> Value {
        json!({
            "affine2d": {"numba_ns": 20.0, "numba_generator_ns": 12.0},
            "softspin": {"numba_ns_per_site": 60.0, "numba_generator_ns_per_site": 16.0},
            "versions": {"numba": "1.2.3", "numpy": "4.5.6"},
        })
    }

    #[test]
    fn the_report_merges_both_sides_and_adds_ratios() {
        let report = simulate_report(rust_figures(), numba_figures(), "Some CPU").unwrap();
        let affine = json!({
            "lanes_ns": 4.0, "scalar_ns": 10.0, "numba_ns": 20.0, "numba_generator_ns": 12.0,
            "scalar_over_lanes": 2.5, "numba_over_lanes": 5.0, "numba_generator_over_lanes": 3.0,
        });
        assert_eq!(report.json["affine2d"], affine);
        assert_eq!(report.json["softspin"]["numba_over_lanes"], json!(7.5));
        assert_eq!(
            report.json["models"]["polynomial_over_affine2d"],
            json!(2.5)
        );
        assert_eq!(
            report.json["models"]["neural_fraction_of_engine"],
            json!(0.75)
        );
        assert_eq!(report.json["cpu"], json!("Some CPU"));
        let peer = &report.json["peers"]["numba"];
        assert_eq!(*peer, json!("Numba 1.2.3 (np.random)"));
        for part in ["Some CPU", "Numba 1.2.3", "scalar Rust", "7.50x"] {
            assert!(report.text.contains(part), "{part}: {}", report.text);
        }
    }

    #[test]
    fn networks_are_compared_with_the_faster_peer() {
        let rust = json!({"states": 512, "threads": 2, "networks": {"2-8-1": {
            "ergode_steps_per_s": 100.0, "ergode_all_cores_steps_per_s": 200.0,
            "fraction_of_peak": 0.75,
        }}});
        let plain = json!({"networks": {"2-8-1": {"torch_steps_per_s": 20.0}}});
        let ratio = |torch: &Value| {
            let report = nn_report(rust.clone(), torch.clone(), "Some CPU").unwrap();
            report.json["networks"]["2-8-1"]["ergode_over_best_torch"].clone()
        };
        assert_eq!(ratio(&plain), json!(5.0));
        let mut both = plain;
        both["networks"]["2-8-1"]["torch_compiled_steps_per_s"] = json!(40.0);
        assert_eq!(ratio(&both), json!(2.5));
        let report = nn_report(rust.clone(), both, "Some CPU").unwrap();
        for part in [
            "Some CPU",
            "0.75 of",
            "5.00 ms on 2 cores",
            "2.50x",
            "compiled",
        ] {
            assert!(report.text.contains(part), "{part}: {}", report.text);
        }
        let message = nn_report(rust, json!({}), "Some CPU").err().unwrap();
        assert!(message.contains("`2-8-1.torch_steps_per_s`"), "{message}");
    }

    #[test]
    fn the_mobility_is_compared_with_the_best_peer_at_each_interval() {
        let row = |method: &str, interval: f64, d: f64, r: Value| json!({"method": method, "interval": interval, "D_rel_l2": d, "R_rel_l2": r, "seconds": 2.0});
        let figures = json!({"figures": [
            row("semigroup", 0.1, 0.01, json!(0.04)),
            row("Kramers-Moyal", 0.1, 0.16, Value::Null),
            row("Kramers-Moyal, drift-corrected", 0.1, 0.08, Value::Null),
            row("semigroup", 0.2, 0.02, json!(0.04)),
            row("Kramers-Moyal", 0.2, 0.3, Value::Null),
        ]});
        let report = mobility_report(figures, "Some CPU").unwrap();
        let ratio = |k: usize| report.json["ratios"][k]["D_best_peer_over_semigroup"].as_f64();
        assert_eq!((ratio(0), ratio(1)), (Some(8.0), Some(15.0)));
        for part in [
            "Some CPU",
            "interval 0.2",
            "D  16.00 %",
            "R   4.00 %",
            "15.0x",
        ] {
            assert!(report.text.contains(part), "{part}: {}", report.text);
        }
        let missing = json!({"figures": [{"method": "semigroup", "interval": 0.1}]});
        let message = mobility_report(missing, "Some CPU").err().unwrap();
        assert!(message.contains("`D_rel_l2` of semigroup"), "{message}");
        assert!(mobility_report(json!({}), "Some CPU").is_err());
    }

    #[test]
    fn a_missing_figure_is_named() {
        let message = simulate_report(rust_figures(), json!({}), "Some CPU").err();
        let message = message.unwrap();
        assert!(message.contains("`affine2d.numba_ns`"), "{message}");
    }

    #[test]
    fn the_object_is_read_from_the_last_line() {
        let object = last_object("running\n\n{\"a\": 1}\n").unwrap();
        assert_eq!(object, json!({"a": 1}));
        assert!(last_object("{\"a\": 1}\ndone\n").is_err());
        assert!(last_object("").is_err());
    }

    #[test]
    fn an_unknown_name_lists_the_benchmarks() {
        let message = parse(&["speed"]).err().unwrap();
        assert_eq!(
            message,
            "no benchmark `speed`; available: lagged, mobility, nn, simulate"
        );
        assert!(parse(&["simulate", "--json"]).is_ok_and(|(_, as_json)| as_json));
        assert!(parse(&["simulate"]).is_ok_and(|(_, as_json)| !as_json));
        assert!(parse(&["simulate", "--csv"]).is_err());
    }
}
