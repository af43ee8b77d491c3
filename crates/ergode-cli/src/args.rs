//! Command-line arguments.

mod forecast;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use ergode::io::RepeatedTimes;
use ergode::{Ensemble, ReadOptions, read_ensemble};

pub(crate) use forecast::Forecast;

use crate::calendar::{Epoch, TimeUnit, counted};
use crate::output::Failed;
use crate::progress::watched;

/// Learn a Langevin equation from time series and test it on held-out data.
///
/// The equation is dx = [M s + div M] dt + sqrt(2) Sigma dW with score s = grad log p_ss and mobility M.
/// The diffusion is D = Sigma Sigma^T = sym M.
#[derive(Debug, Parser)]
#[command(
    name = "ergode",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  \
        ergode demo                               # learn a reference system, write a report\n  \
        ergode generate affine2d -o data.npz      # make reference data\n  \
        ergode check data.npz                     # test whether the data suit a fit\n  \
        ergode fit data.npz -o run                # learn, validate, write run/report.html\n\n\
        `ergode COMMAND --help` lists the options of a command, with examples."
)]
pub(crate) struct Arguments {
    /// Print the result as JSON on stdout; progress stays on stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Check(Check),
    Fit(Fit),
    Accumulate(Accumulate),
    Merge(Merge),
    Simulate(Simulate),
    Forecast(Forecast),
    Eval(Eval),
    Validate(Validate),
    Report(Report),
    Equation(Equation),
    Reproduce(Reproduce),
    Generate(Generate),
    Convert(Convert),
    Config(Config),
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
}

/// Learn a reference system from simulated data and compare with the exact answer.
///
/// Simulates the system, fits a model, validates it on held-out data, and writes a report.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode demo\n  \
        ergode demo double-well -o my-demo")]
pub(crate) struct Demo {
    /// Reference system: affine2d, cir, double-well, mueller-brown, ou, prinz or triple-well.
    #[arg(default_value = "affine2d")]
    pub(crate) system: String,
    /// Folder for the data, the model, results.json and report.html.
    #[arg(short, long, value_name = "DIR", default_value = "ergode-demo")]
    pub(crate) output: PathBuf,
    /// Random seed.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Length of each trajectory.
    #[arg(
        long,
        value_name = "T",
        default_value_t = 1000.0,
        allow_negative_numbers = true
    )]
    pub(crate) time: f64,
}

/// Options for reading data files.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct Reading {
    /// Sampling interval, for files without times.
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,
    /// Table column that identifies the trajectory [default: trajectory, traj, id or run].
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Table column with the times, as numbers or dates [default: t or time].
    #[arg(long, value_name = "COLUMN", alias = "times")]
    pub(crate) time_column: Option<String>,
    /// Coordinates to read, in this order [default: all].
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Array with the values, for files with several arrays [default: x].
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Option<String>,
    /// Rows with the time of the row before: take their mean, take the first, or refuse the file.
    #[arg(long, value_name = "RULE", default_value = "mean")]
    pub(crate) repeated: Repeated,
}

/// Rule for rows with the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Repeated {
    #[default]
    Mean,
    First,
    Error,
}

impl From<Repeated> for RepeatedTimes {
    fn from(rule: Repeated) -> Self {
        match rule {
            Repeated::Mean => Self::Mean,
            Repeated::First => Self::First,
            Repeated::Error => Self::Error,
        }
    }
}

impl Reading {
    /// The options in the form that the library takes.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            dt: self.dt,
            trajectory: self.id.clone(),
            time: self.time_column.clone(),
            columns: self.columns.clone(),
            array: self.array.clone(),
            repeated: self.repeated.into(),
            memory: None,
        }
    }
}

/// A data file and what its dates are counted in.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct Dated {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Count dates in this unit, which is that of all times and rates [default: D, or that of the run].
    #[arg(long, value_enum, value_name = "UNIT", hide_possible_values = true)]
    #[arg(
        long_help = "Count dates in this unit, which is that of all times and rates: s, m (minutes), h, D (days), W, \
        M (calendar months), Y (calendar years) or B (business days) [default: D, or that of the run]"
    )]
    pub(crate) time_unit: Option<TimeUnit>,
}

impl Dated {
    /// Read a record; its dates are counted as in a run with the epoch `known`.
    pub(crate) fn read(
        &self,
        path: &Path,
        known: Option<Epoch>,
    ) -> Result<(Ensemble, Option<Epoch>), Failed> {
        let options = self.reading.options();
        let record = watched("reading", |control| read_ensemble(path, &options, control))?;
        counted(record, self.time_unit, known)
    }
}

/// Check whether data suit a fit, and advise what to change.
///
/// Tests for stationarity, length, sampling interval and the Markov property. Looks for cycles,
/// measurement noise and duplicate coordinates. Prints decorrelation times and usable lags.
/// The exit code does not depend on the verdict.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode check data.npz\n  \
        ergode check data.csv --dt 0.01 --html check.html\n  \
        ergode check weather.csv --time-column date --columns temp_max,wind\n  \
        ergode check data.npz --json")]
pub(crate) struct Check {
    /// File, folder of files or quoted pattern; `ergode convert --help` lists the formats.
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Dated,
    /// Write a page with the findings and the autocorrelation of each coordinate.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Learn a Langevin equation from data, validate it on held-out data, and write a report.
///
/// The run folder holds config.toml, model.safetensors, model.json, results.json, report.html and
/// log.jsonl. Rerun the same command to resume an interrupted fit.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode fit data.npz -o run\n  \
        ergode fit data.csv --dt 0.01 -o run --recipe weak --seed 3\n  \
        ergode fit data.npz -o run --set held_out=0.5 --set score.kind=denoising\n  \
        ergode fit monthly.csv -o run --time-column date --time-unit M --set cycle.period=12\n  \
        ergode fit all.sums -o run")]
pub(crate) struct Fit {
    /// File, folder of files or quoted pattern; `ergode convert --help` lists the formats. Or sums (.sums) of
    /// `ergode accumulate`, whose configuration decides.
    pub(crate) data: PathBuf,
    /// Run folder, created if needed.
    #[arg(short, long, value_name = "RUN")]
    pub(crate) output: PathBuf,
    /// Configuration file in TOML, such as config.toml of another run.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Dated,
    /// How to estimate the mobility [default: auto].
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// Random seed [default: 0].
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Device for training networks.
    #[arg(long, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Set a configuration value by its dotted key in config.toml; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Sum up what a fit needs from a record, or from some of its rows.
///
/// For records of any size: one call makes the plan from the whole record, others sum up parts of it in jobs of
/// their own, `ergode merge` adds the parts, and `ergode fit all.sums` fits. Rows are read a stretch at a time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode accumulate data.npy --dt 0.01 -o all.sums\n  \
        ergode accumulate data.npy --dt 0.01 --write-plan plan.toml\n  \
        ergode accumulate data.npy --dt 0.01 --plan plan.toml --rows 0:1000000 -o part-0.sums")]
pub(crate) struct Accumulate {
    /// File, folder of files or quoted pattern with the whole record; `ergode convert --help` lists the formats.
    pub(crate) data: PathBuf,
    /// File for the sums (.sums).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Plan of the sums [default: made from the data].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["write_plan", "config", "set", "recipe", "seed", "keep"])]
    pub(crate) plan: Option<PathBuf>,
    /// Write the plan to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_plan: Option<PathBuf>,
    /// Rows to sum up, from A up to but not including B, counted over all trajectories [default: all].
    ///
    /// Partners of these rows are read beyond B.
    #[arg(long, value_name = "A:B", value_parser = crate::accumulate::parse_rows)]
    pub(crate) rows: Option<std::ops::Range<usize>>,
    /// Numbers of rows that the sums keep as they are, to validate the fit [default: 4194304].
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Configuration file of the fit in TOML.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// How the fit will estimate the mobility: auto, semigroup or generator [default: auto].
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// Random seed of the fit [default: 0].
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Set a configuration value of the fit by its dotted key in config.toml; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Add up sums of parts of a record.
///
/// The parts must have the same plan and no rows in common.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ergode merge part-*.sums -o all.sums")]
pub(crate) struct Merge {
    /// Sums of `ergode accumulate`.
    #[arg(required = true, value_name = "PART")]
    pub(crate) parts: Vec<PathBuf>,
    /// File for all of them (.sums).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// Processor.
    Cpu,
    /// NVIDIA graphics card; not supported in this version.
    Cuda,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RecipeName {
    /// Choose from the data; the result gives the reason.
    Auto,
    /// Match correlations through a Galerkin semigroup: any sampling interval, few coordinates.
    Semigroup,
    /// The same with drift and diffusion as unknowns instead of the mobility: oscillators, currents, equations.
    Generator,
    /// Match the stationary equations integrated in time: fine sampling, many coordinates.
    Weak,
    /// Follow the paper: conditional score and neural mobility.
    Paper,
}

/// Simulate a fitted model.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode simulate run -o new.npz --time 1000 --trajectories 64\n  \
        ergode simulate run -o new.csv --time 100 --save-every 0.1 --start -5")]
pub(crate) struct Simulate {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// Output file, such as .npz or .csv; `ergode convert --help` lists the formats.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Length of each trajectory.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) time: f64,
    /// Time step [default: the one that the validation used].
    ///
    /// A model that was not validated gets a step of small weak error. The scheme is that of the validation.
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,
    /// Interval between saved samples [default: the time step].
    ///
    /// Without --dt, the step is shortened so that a whole number of steps fits.
    #[arg(long, value_name = "DT", allow_negative_numbers = true)]
    pub(crate) save_every: Option<f64>,
    /// Number of independent trajectories.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub(crate) trajectories: usize,
    /// Time of the first sample, which sets the phase of a cycle [default: start of the record].
    ///
    /// The output includes the trend only if all its times lie within the record.
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) start: Option<f64>,
    /// Write the whole state, including delayed coordinates, instead of the observed coordinates.
    #[arg(long, conflicts_with = "start")]
    pub(crate) state: bool,
    /// Random seed.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}

/// Evaluate the fields of a fitted model at given states.
///
/// The fields are the score, the drift, the mobility M, the diffusion D = sym M and div M.
/// The noise is sqrt(2) Sigma dW with Sigma Sigma^T = D.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ergode eval run --points states.npy -o fields.npz")]
pub(crate) struct Eval {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// File with one state per row, in any supported format.
    #[arg(long, value_name = "FILE")]
    pub(crate) points: PathBuf,
    /// Output file (.npz) with arrays x, score, drift, mobility, diffusion and div_mobility.
    ///
    /// Standard errors are in score_stderr, drift_stderr and so on, if they are known.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Validate a fitted model on data that the fit did not use.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode validate run                           # show the validation of the fit\n  \
        ergode validate run --against another.npz     # validate on a second record")]
pub(crate) struct Validate {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// Another record of the same process [default: show the validation of the fit].
    #[arg(long, value_name = "DATA")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Dated,
}

/// Write the learned equation: drift and diffusion in the units of the record.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode equation run\n  \
        ergode equation run --format latex\n  \
        ergode equation run --format python -o model.py")]
pub(crate) struct Equation {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// Text and LaTeX leave out terms below two standard errors; JSON and source code have every term.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: EquationName,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EquationName {
    /// Plain text with standard errors.
    Text,
    /// LaTeX with standard errors.
    Latex,
    /// Every term with its standard error.
    Json,
    /// Functions for Python and NumPy, and a simulation.
    Python,
    /// Functions for Julia.
    Julia,
    /// Functions for Rust.
    Rust,
}

/// Rewrite the report page of a run, or export its figures.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode report run\n  \
        ergode report run --figures figures")]
pub(crate) struct Report {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// Write each figure as an SVG file to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) figures: Option<PathBuf>,
}

/// Reproduce a benchmark of the paper and compare with its numbers and figures
///
/// Benchmarks:
///   cir       Cox-Ingersoll-Ross: the analytic study, and the same from data
///   affine2d  two dimensions, affine multiplicative noise
///   softspin  periodic soft-spin chain, 36 dimensions
///
/// The run folder is that of a fit. results.json also holds the paper's numbers, and report.html its
/// figures. Rerun the same command to resume an interrupted run.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  \
        ergode reproduce cir -o cir\n  \
        ergode reproduce affine2d -o affine --recipe weak\n  \
        ergode reproduce softspin -o spins --scale paper"
)]
pub(crate) struct Reproduce {
    /// Benchmark to reproduce.
    pub(crate) benchmark: BenchmarkName,
    /// Run folder, created if needed.
    #[arg(short, long, value_name = "RUN")]
    pub(crate) output: PathBuf,
    /// How to estimate the mobility [default: semigroup, or weak for softspin].
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// Size of the data and of the training.
    #[arg(long, default_value = "small")]
    pub(crate) scale: ScaleName,
    /// Random seed.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Length of each trajectory of the reference data [default: that of the scale].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) time: Option<f64>,
    /// Device for training networks.
    #[arg(long, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Set a configuration value of the fit by its dotted key in config.toml; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BenchmarkName {
    /// Cox-Ingersoll-Ross.
    Cir,
    /// Two dimensions, affine noise.
    #[value(name = "affine2d")]
    Affine2d,
    /// Soft-spin chain, 36 dimensions.
    Softspin,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScaleName {
    /// Minutes on two cores.
    Small,
    /// Data and training of the paper.
    Paper,
}

/// Generate data of a reference system with known exact answers
///
/// Systems:
///   affine2d         two dimensions, nonreversible, affine multiplicative noise (in the paper)
///   cir              Cox-Ingersoll-Ross square-root diffusion
///   double-well      one dimension, bimodal, multiplicative noise
///   fitzhugh-nagumo  excitable cell, two dimensions
///   limit-cycle      noisy limit cycle, affine diffusion, two dimensions (coordinates=3: three)
///   lorenz63         Lorenz' equations of 1963 with noise, three dimensions
///   mueller-brown    three minima and a bent valley, two dimensions
///   ou               Ornstein-Uhlenbeck, any dimension
///   prinz            four wells, one dimension
///   softspin         periodic soft-spin chain, 36 dimensions (in the paper)
///   triple-well      two deep wells and a shallow one, two dimensions
///   van-der-pol      Van der Pol oscillator with noise, two dimensions
///
/// The default simulation settings of the paper's systems are those of the paper.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  \
        ergode generate affine2d -o data.npz\n  \
        ergode generate softspin -o spins.npz --time 500 --trajectories 16\n  \
        ergode generate ou -o ou.csv --set 'drift=[[1,0.5],[-0.5,1]]' --time 100"
)]
pub(crate) struct Generate {
    /// Name of the system.
    pub(crate) system: String,
    /// Output file, such as .npz or .csv; `ergode convert --help` lists the formats.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Length of each trajectory [default: depends on the system].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) time: Option<f64>,
    /// Time step [default: depends on the system].
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,
    /// Interval between saved samples [default: depends on the system].
    #[arg(long, value_name = "DT", allow_negative_numbers = true)]
    pub(crate) save_every: Option<f64>,
    /// Sample at Poisson times with mean interval --save-every.
    #[arg(long)]
    pub(crate) poisson: bool,
    /// Fraction of the rows to drop at random.
    #[arg(
        long,
        value_name = "FRACTION",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(crate) missing: f64,
    /// Number of independent trajectories [default: depends on the system].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) trajectories: Option<usize>,
    /// Time to simulate before the first sample [default: depends on the system].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) burn_in: Option<f64>,
    /// Random seed.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Integration scheme [default: depends on the system].
    #[arg(long)]
    pub(crate) scheme: Option<SchemeName>,
    /// Set a parameter of the system to a JSON value; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Memory for the samples, in GiB; larger results are streamed to disk.
    #[arg(
        long,
        value_name = "GIB",
        default_value_t = 2.0,
        allow_negative_numbers = true
    )]
    pub(crate) memory: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemeName {
    /// Euler-Maruyama, weak order 1.
    Euler,
    /// Platen's explicit scheme, weak order 2.
    Platen,
    /// Exact transition law (ou and cir only).
    Exact,
}

/// Convert between file formats, chosen by extension
///
/// Formats:
///   .npz .npy         NumPy: x, and in .npz also t and names
///   .csv .tsv         tables with a header: columns t, trajectory (or id, run), one per coordinate
///   .parquet          the same table in columns
///   .zarr             Zarr 2 and 3: x (trajectory, time, dim) with time; written as version 2
///   .h5 .hdf5         HDF5: x with t and names
///   .nc               NetCDF, classic and 4: x, or one variable per coordinate; written as classic
///
/// Arrays are (trajectory, time, dimension); a row with NaN is a gap. IN may be a folder of files or a
/// quoted pattern with * and ?; its files form one ensemble, in the order of their names. All commands
/// accept the same inputs.
///
/// Conversion works for files of any size: rows are read in blocks. Other commands read .npy files above 1 GiB from disk; convert other files above 4 GiB
/// to .npy first.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  \
        ergode convert data.csv data.npz\n  \
        ergode convert samples.npy samples.csv --dt 0.01\n  \
        ergode convert table.csv table.parquet --id particle\n  \
        ergode convert table.tsv store.zarr\n  \
        ergode convert store.zarr file.h5 --array velocity\n  \
        ergode convert file.h5 file.nc\n  \
        ergode convert 'runs/run-*.nc' all.npz"
)]
pub(crate) struct Convert {
    /// File, folder of files or quoted pattern to read.
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// File to write.
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Drop names, units and the first time when OUT holds values only (.npy).
    #[arg(long)]
    pub(crate) values_only: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Print a shell completion script.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ergode completions bash > ~/.local/share/bash-completion/completions/ergode"
)]
pub(crate) struct Completions {
    /// Shell to complete for.
    pub(crate) shell: clap_complete::Shell,
}

/// Show every configuration key with its default and one line of explanation.
///
/// The text is a valid config.toml: save it, change it, and give it to `ergode fit --config`.
/// `--set` of `ergode fit` takes the same keys, dotted: `--set mobility.recipe=weak`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode config --show\n  \
        ergode config --show mobility\n  \
        ergode config --show validate.draws")]
pub(crate) struct Config {
    /// Show the keys; there is no other action.
    #[arg(long)]
    pub(crate) show: bool,
    /// Section or key to show [default: all].
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
}

/// Show versions, threads, SIMD instructions, memory and optional features, for a report of a problem.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ergode doctor")]
pub(crate) struct Doctor {}

/// Write manual pages, one for each command.
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Example:\n  ergode man ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// Folder for the pages, created if needed.
    pub(crate) folder: PathBuf,
}
