//! What may be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ergode::ReadOptions;

/// Learn an effective Langevin equation from time series, and know how good it is.
///
/// Noise is written sqrt(2) Sigma throughout, so that the diffusion is D = Sigma Sigma^T.
#[derive(Debug, Parser)]
#[command(name = "ergode", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Print a machine-readable result on stdout; progress stays on stderr.
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
    Simulate(Simulate),
    Eval(Eval),
    Validate(Validate),
    Report(Report),
    Reproduce(Reproduce),
    Generate(Generate),
    Convert(Convert),
    Completions(Completions),
}

/// Simulate a reference system, learn it, compare it with its exact answers, and write a report.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ergode demo affine2d -o my-demo")]
pub(crate) struct Demo {
    /// Name of the system: affine2d, cir, double-well or ou.
    #[arg(default_value = "affine2d")]
    pub(crate) system: String,
    /// Folder for the data, the model, results.json and report.html.
    #[arg(short, long, default_value = "ergode-demo")]
    pub(crate) output: PathBuf,
    /// The one seed of all random numbers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Length of each trajectory.
    #[arg(long, default_value_t = 1000.0)]
    pub(crate) time: f64,
}

/// What files do not say about themselves.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// Sampling interval, for files that hold no times.
    #[arg(long)]
    pub(crate) dt: Option<f64>,
    /// Column of a table that tells the trajectories apart, where it is not named trajectory, id or run.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Column of a table that holds the times, where it is not named t or time.
    #[arg(long = "times", value_name = "COLUMN")]
    pub(crate) times: Option<String>,
    /// Coordinates to take, by name and in this order; all where none are named.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Array with the values, where a file of arrays has several and none is named x.
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Option<String>,
}

impl Reading {
    /// As the library takes them.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            dt: self.dt,
            trajectory: self.id.clone(),
            time: self.times.clone(),
            columns: self.columns.clone(),
            array: self.array.clone(),
            memory: None,
        }
    }
}

/// Look at data before a fit: say what is wrong with them, and what to do.
///
/// Tests whether the record is stationary, long enough, sampled often enough and Markov, and looks
/// for cycles, measurement noise and duplicate coordinates. Prints the decorrelation times and the
/// usable lags. The exit code does not depend on the verdict.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode check record.npz\n  \
        ergode check record.csv --dt 0.01 --html check.html\n  \
        ergode check record.npz --json")]
pub(crate) struct Check {
    /// File, folder of files or quoted pattern to read; `ergode convert --help` lists the formats.
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Write a page with the findings and the autocorrelation of every coordinate.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Learn a Langevin equation from data, validate it on data held out, and write a report.
///
/// The folder holds config.toml, model.safetensors and model.json, results.json, report.html and
/// log.jsonl. A fit that was stopped goes on where it was when the same command is given again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode fit record.npz -o run\n  \
        ergode fit record.csv --dt 0.01 -o run --recipe weak --seed 3\n  \
        ergode fit record.npz -o run --set held_out=0.5 --set score.kind=denoising")]
pub(crate) struct Fit {
    /// File, folder of files or quoted pattern to read; `ergode convert --help` lists the formats.
    pub(crate) data: PathBuf,
    /// Folder of the run.
    #[arg(short, long, value_name = "RUN")]
    pub(crate) output: PathBuf,
    /// Configuration in TOML, such as the config.toml of another run.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// How the mobility is found.
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// The one seed of all random numbers.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Where networks are trained.
    #[arg(long, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Change a value of the configuration, its key dotted. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// The processor.
    Cpu,
    /// A graphics card; not in this version.
    Cuda,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RecipeName {
    /// Chosen from the data; the result says why.
    Auto,
    /// Correlations by a Galerkin semigroup: any sampling interval, few coordinates.
    Semigroup,
    /// Stationary operator, integral in time.
    Weak,
    /// The paper's: conditional score and a network.
    Paper,
}

/// Simulate a learned model.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ergode simulate run -o new.npz --time 1000 --trajectories 64")]
pub(crate) struct Simulate {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// File to write, such as .npz or .csv; `ergode convert --help` lists the formats.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Length of each trajectory.
    #[arg(long)]
    pub(crate) time: f64,
    /// Step of the scheme; the one that the validation used, or a stable one, where none is given.
    #[arg(long)]
    pub(crate) dt: Option<f64>,
    /// Interval between saved samples; one step where none is given.
    #[arg(long)]
    pub(crate) save_every: Option<f64>,
    /// Number of independent trajectories.
    #[arg(long, default_value_t = 1)]
    pub(crate) trajectories: usize,
    /// Time of the first sample, which sets the phase of a cycle; that of the record where none is given.
    /// A trend is part of the output where all times lie in the record, else it is left out.
    #[arg(long)]
    pub(crate) start: Option<f64>,
    /// Write the whole state, delayed coordinates and all, instead of what would be observed of it.
    #[arg(long, conflicts_with = "start")]
    pub(crate) state: bool,
    /// The one seed of all random numbers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Evaluate a learned model at given states: score, drift, mobility, diffusion, div M.
///
/// The diffusion is D = Sigma Sigma^T of the noise sqrt(2) Sigma dW.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ergode eval run --points states.npy -o fields.npz")]
pub(crate) struct Eval {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// States, one row each, in any format.
    #[arg(long, value_name = "FILE")]
    pub(crate) points: PathBuf,
    /// File to write, .npz: x, score, drift, mobility, diffusion, div_mobility.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
}

/// Compare a learned model with data that it was not fitted to.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode validate run                           what the fit found on its held-out data\n  \
        ergode validate run --against another.npz")]
pub(crate) struct Validate {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// Other data of the same process; without them, the result of the fit is shown.
    #[arg(long, value_name = "DATA")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Write the report page of a run again, or its figures as files.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode report run\n  \
        ergode report run --figures figures")]
pub(crate) struct Report {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// Write every figure as an SVG file into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) figures: Option<PathBuf>,
}

/// Do a benchmark of the paper again, its numbers and figures beside those found here.
///
/// Benchmarks:
///   cir       Cox-Ingersoll-Ross: the analytic study, and the same from data
///   affine2d  two dimensions, affine multiplicative noise
///   softspin  periodic soft-spin chain, 36 dimensions
///
/// The folder is that of a fit, with the paper's numbers in results.json and its figures in report.html.
/// A run that was stopped goes on where it was when the same command is given again.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  \
        ergode reproduce cir -o cir\n  \
        ergode reproduce affine2d -o affine --recipe weak\n  \
        ergode reproduce softspin -o spins --scale paper"
)]
pub(crate) struct Reproduce {
    /// The benchmark.
    pub(crate) benchmark: BenchmarkName,
    /// Folder of the run.
    #[arg(short, long, value_name = "RUN")]
    pub(crate) output: PathBuf,
    /// How the mobility is found; the semigroup where there is one, else the weak form.
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// How large.
    #[arg(long, default_value = "small")]
    pub(crate) scale: ScaleName,
    /// The one seed of all random numbers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Length of each trajectory of the reference data, instead of that of the scale.
    #[arg(long)]
    pub(crate) time: Option<f64>,
    /// Where networks are trained.
    #[arg(long, default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// Change a value of the configuration of the fit, its key dotted. May be repeated.
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
    /// Thirty-six dimensions, a chain of spins.
    Softspin,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScaleName {
    /// Minutes on two processors.
    Small,
    /// The data and the training of the paper.
    Paper,
}

/// Make reference data: trajectories of a system whose exact answers are known.
///
/// Systems:
///   affine2d     two dimensions, nonreversible, affine multiplicative noise (the paper's)
///   cir          Cox-Ingersoll-Ross square-root diffusion
///   double-well  one dimension, bimodal, multiplicative noise
///   ou           Ornstein-Uhlenbeck, any dimension
///   softspin     periodic soft-spin chain, 36 dimensions (the paper's)
///
/// Unless told otherwise, each is simulated as in the paper.
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
    /// File to write, such as .npz or .csv; `ergode convert --help` lists the formats.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Length of each trajectory.
    #[arg(long)]
    pub(crate) time: Option<f64>,
    /// Step of the scheme.
    #[arg(long)]
    pub(crate) dt: Option<f64>,
    /// Interval between saved samples.
    #[arg(long)]
    pub(crate) save_every: Option<f64>,
    /// Sample at the times of a Poisson process with this mean interval instead.
    #[arg(long)]
    pub(crate) poisson: bool,
    /// Part of the rows to leave out at random.
    #[arg(long, default_value_t = 0.0)]
    pub(crate) missing: f64,
    /// Number of independent trajectories.
    #[arg(long)]
    pub(crate) trajectories: Option<usize>,
    /// Time integrated and thrown away before the first sample.
    #[arg(long)]
    pub(crate) burn_in: Option<f64>,
    /// The one seed of all random numbers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// How trajectories are made; `exact` samples the transition law itself (ou and cir).
    #[arg(long)]
    pub(crate) scheme: Option<SchemeName>,
    /// Change a parameter of the system; the value is JSON. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Samples held in memory, in GiB; a larger result is streamed to disk.
    #[arg(long, default_value_t = 2.0)]
    pub(crate) memory: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemeName {
    /// Euler-Maruyama, weak order 1.
    Euler,
    /// Platen's explicit scheme, weak order 2.
    Platen,
    /// The exact transition law.
    Exact,
}

/// Convert between file formats, by extension.
///
/// Arrays are (trajectory, time, dimension); a row with NaN is a gap. Any size: rows are read some at a
/// time (.npz alone is held in memory). IN may be a folder of files, or a quoted pattern with * and ?:
/// together they are one ensemble, in the order of their names. Every command reads its data so.
/// Rows of a .npy file above 1 GiB stay in the file; other files above 4 GiB must be converted to one.
///
/// Formats:
///   .npz .npy         NumPy: x, and in .npz also t and names
///   .csv .tsv         tables with a header: columns t, trajectory (or id, run), one per coordinate
///   .parquet          the same table in columns
///   .zarr             Zarr 2 and 3: x (trajectory, time, dim) with time; written as version 2
///   .h5 .hdf5         HDF5: x with t and names
///   .nc               NetCDF, classic and 4: x, or one variable per coordinate; written as classic
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  \
        ergode convert record.csv record.npz\n  \
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
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ergode completions bash > ~/.local/share/bash-completion/completions/ergode"
)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}
