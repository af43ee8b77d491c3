//! Arguments of `ergode forecast`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ergode::observe::TrendAhead;

use super::Dated;

/// Forecast a record with an ensemble of trajectories of a fitted model.
///
/// Forecasts start from the last state of each trajectory. The output has the mean, the standard deviation and
/// quantiles of each coordinate at the times of the record, in its units: columns x, x_sd, x_q05 and so on.
/// The mean of the cycle is part of them, and the trend goes on. Dates of the record become dates in a .csv
/// or .tsv file, counted as in the fit.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        ergode forecast run data.npz -o ahead.csv --horizon 10\n  \
        ergode forecast run monthly.csv -o ahead.csv --time-column date --horizon 12 --trend hold\n  \
        ergode forecast run data.npz -o members.npz --horizon 10 --members --every 100")]
pub(crate) struct Forecast {
    /// Folder of a run.
    pub(crate) run: PathBuf,
    /// Record to forecast; `ergode convert --help` lists the formats.
    pub(crate) data: PathBuf,
    /// Output file, such as .csv or .npz; `ergode convert --help` lists the formats.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// How far ahead, in units of time.
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    pub(crate) horizon: f64,
    /// Time from one forecast value to the next [default: sampling interval of the record].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) interval: Option<f64>,
    /// Members of the ensemble.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 200,
        allow_negative_numbers = true
    )]
    pub(crate) trajectories: usize,
    /// Forecast from every N-th row of each trajectory [default: the last row].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) every: Option<usize>,
    /// Quantiles to write.
    #[arg(
        long,
        value_name = "Q,Q",
        value_delimiter = ',',
        default_value = "0.05,0.5,0.95"
    )]
    pub(crate) quantiles: Vec<f64>,
    /// Trend after the end of the record that was fitted.
    #[arg(long, value_enum, default_value = "continue")]
    pub(crate) trend: TrendName,
    /// Write every member as a trajectory instead of mean and quantiles.
    #[arg(long)]
    pub(crate) members: bool,
    /// Random seed.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) reading: Dated,
}

/// The trend after the end of the record.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TrendName {
    /// The fitted trend goes on.
    Continue,
    /// The trend keeps its value at the end of the record.
    Hold,
}

impl From<TrendName> for TrendAhead {
    fn from(name: TrendName) -> Self {
        match name {
            TrendName::Continue => Self::Continue,
            TrendName::Hold => Self::Hold,
        }
    }
}
