//! Correlations of local functions on a ring, averaged over its translations.

use std::collections::HashMap;

use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::{Ensemble, Standardiser, Trajectory};
use crate::error::{Error, Result};
use crate::lagged::{LagGrid, LaggedConfig, LaggedSums, Starts, accumulate_shard};
use crate::observable::{Functions, Monomials, index, powers};

/// Which correlations are collected on a ring, and what they are meant for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LatticeConfig {
    /// Sites of the functions at the later time, counted from that of the earlier time.
    pub separations: Vec<isize>,
    /// Degree of the test functions φ_n, polynomials of one site at the earlier time.
    pub test_degree: usize,
    /// Degree of the entries of M.
    pub mobility_degree: usize,
    /// Degree of the score in the components of its own site.
    pub score_degree: usize,
    /// Distances of the neighbours that the score couples.
    pub distances: Vec<usize>,
    /// Lags, increasing from zero.
    pub lags: Vec<f64>,
    /// Sub-sampling and blocks. Every sample should begin a pair: much of the noise at short lags cancels
    /// between neighbours in time, and a stride would bring it back.
    pub statistics: LaggedConfig,
}

impl Default for LatticeConfig {
    fn default() -> Self {
        Self {
            separations: vec![0, 1, -1],
            test_degree: 2,
            mobility_degree: 2,
            score_degree: 3,
            distances: vec![1],
            lags: Vec::new(),
            statistics: LaggedConfig::default(),
        }
    }
}

impl LatticeConfig {
    /// The exponents of the local monomials that s·(T∇φ_n), ∇·(T∇φ_n), ⟨T:T⟩ and ⟨φ_n φ_n⟩ are made of:
    /// z^α, and z^α w with a shorter α, w being the sum over a pair of neighbours.
    fn local_exponents(&self, components: usize) -> Result<Vec<Vec<u32>>> {
        let flow = (self.mobility_degree + self.test_degree).saturating_sub(1);
        let alone = (self.score_degree + flow).max(self.moment_degree());
        let variables = components * (1 + self.distances.len());
        let mut local = Vec::new();
        for mut alpha in powers(components, alone)? {
            alpha.resize(variables, 0);
            local.push(alpha);
        }
        for alpha in powers(components, flow)? {
            for coupled in components..variables {
                let mut alpha = alpha.clone();
                alpha.resize(variables, 0);
                alpha[coupled] = 1;
                local.push(alpha);
            }
        }
        Ok(local)
    }

    pub(super) fn moment_degree(&self) -> usize {
        2 * self.mobility_degree.max(self.test_degree)
    }
}

/// ⟨φ_m(x_t at site i + r) χ(x_0 at site i)⟩ over all sites i, kept per block, with χ the monomials of
/// z_i and of the sums w_d = z_{i+d} + z_{i−d}.
#[derive(Clone, Debug)]
pub struct LatticeSums {
    pub(super) config: LatticeConfig,
    pub(super) standardiser: Standardiser,
    /// The place of each χ.
    pub(super) places: HashMap<Vec<u32>, usize>,
    pub(super) lagged: LaggedSums,
}

impl LatticeSums {
    /// What was collected.
    pub fn config(&self) -> &LatticeConfig {
        &self.config
    }

    /// Labels of the functions at the later time, with their separations.
    pub fn future_labels(&self) -> &[String] {
        self.lagged.future_labels()
    }
}

/// Collect the sums over a ring whose state is site-major, (site, component).
///
/// `standardiser` is that of one site, the same for all. The functions φ_m at the later time are the
/// monomials of a site up to the degree of the tests and those of `future`, which are functions of the
/// standardised states of a site and its two neighbours, (i − 1, i, i + 1).
///
/// # Errors
/// When the data are not a ring of such sites, a lag has no pair of samples, or the work is stopped.
pub fn accumulate_lattice(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    future: &dyn Functions,
    config: &LatticeConfig,
    control: &Control,
) -> Result<LatticeSums> {
    let components = standardiser.mean.len();
    if future.dim() != 3 * components {
        return Err(Error::input(format!(
            "the functions have dimension {}, but a site and its two neighbours have {}",
            future.dim(),
            3 * components
        )));
    }
    if config.lags.len() < 2 || config.lags[0] != 0.0 {
        let message = "the lags must be 0 followed by at least one more lag";
        return Err(Error::input(message));
    }
    let ring = repeated(standardiser, ensemble.dim())?;
    let sites = ensemble.dim() / components;
    let reach = config.separations.iter().map(|r| r.unsigned_abs() + 1);
    let radius = reach.chain(config.distances.iter().copied()).max();
    let fits = |radius: &usize| 2 * radius < sites && !config.separations.is_empty();
    let Some(radius) = radius.filter(fits) else {
        return Err(Error::input(format!(
            "the separations and distances do not fit on a ring of {sites} sites; give at least one \
             separation, all well below half the ring"
        )));
    };
    let window = Window { components, radius };
    let future = window.at_separations(future, config)?;
    let local = config.local_exponents(components)?;
    let initial = window.local(&config.distances, local.clone())?;
    let grid = LagGrid::for_ensemble(ensemble, &config.lags)?;
    let starts = config.statistics.starts(ensemble);
    control.begin(ensemble.len() as u64);
    let numbered = ensemble.trajectories().par_iter().enumerate();
    let shards = numbered
        .map(|(k, trajectory)| {
            // The sites of a trajectory take the place of trajectories.
            let own = starts.blocks.iter().filter_map(|block| block.within(k));
            let starts = Starts {
                blocks: own.map(|block| block.of_sites(sites)).collect(),
                subsample: starts.subsample,
            };
            let windows = window.records(trajectory, &ring, sites)?;
            let inner = Control::new();
            let sums = accumulate_shard(&windows, &future, &initial, &grid, &starts, &inner)?;
            control.advance(1)?;
            Ok(sums)
        })
        .collect::<Result<Vec<_>>>()?;
    let mut shards = shards.into_iter();
    let first = shards.next().expect("an ensemble has trajectories");
    let lagged = first.added(shards)?;
    Ok(LatticeSums {
        config: config.clone(),
        standardiser: standardiser.clone(),
        places: index(&local),
        lagged,
    })
}

/// The standardiser of a whole ring of `dim` coordinates from that of one site.
pub(super) fn repeated(standardiser: &Standardiser, dim: usize) -> Result<Standardiser> {
    let components = standardiser.mean.len();
    if components == 0 || !dim.is_multiple_of(components) {
        return Err(Error::input(format!(
            "{dim} coordinates cannot be divided into sites of {components} components"
        )));
    }
    Standardiser::new(
        standardiser.mean.repeat(dim / components),
        standardiser.scale.repeat(dim / components),
    )
}

/// A site with `radius` neighbours on either side.
#[derive(Clone, Copy, Debug)]
struct Window {
    components: usize,
    radius: usize,
}

impl Window {
    fn dim(&self) -> usize {
        (2 * self.radius + 1) * self.components
    }

    /// The standardised records of the windows around every site, views of one array whose ends repeat
    /// the ring.
    fn records(&self, record: &Trajectory, ring: &Standardiser, sites: usize) -> Result<Ensemble> {
        let (components, margin) = (self.components, self.radius * self.components);
        let dim = sites * components;
        record.refuse_copy(record.len())?;
        let mut wide = Array2::zeros((record.len(), dim + 2 * margin));
        for (i, mut row) in wide.rows_mut().into_iter().enumerate() {
            let row = row.as_slice_mut().expect("row-major");
            record.row(i, &mut row[margin..margin + dim]);
            ring.forward(&mut row[margin..margin + dim]);
            row.copy_within(dim..margin + dim, 0);
            row.copy_within(margin..2 * margin, margin + dim);
        }
        let wide = Trajectory::new(wide, record.times().clone());
        let window = |site: usize| wide.columns(site * components..site * components + self.dim());
        Ensemble::new((0..sites).map(window).collect())
    }

    fn at_separations<'a>(
        self,
        functions: &'a dyn Functions,
        config: &LatticeConfig,
    ) -> Result<AtSeparations<'a>> {
        let names: Vec<String> = (1..=self.components).map(|c| format!("z{c}")).collect();
        let own = Monomials::new(&names, 1..=config.test_degree)?;
        let all: Vec<&String> = own.labels().iter().chain(functions.labels()).collect();
        let labels = config.separations.iter().flat_map(|r| {
            let all = all.iter();
            all.map(move |label| format!("{label} at {r:+}"))
        });
        Ok(AtSeparations {
            window: self,
            labels: labels.collect(),
            own,
            functions,
            separations: config.separations.clone(),
        })
    }

    fn local(self, distances: &[usize], exponents: Vec<Vec<u32>>) -> Result<LocalMonomials> {
        let variables = self.components * (1 + distances.len());
        let names: Vec<String> = (0..variables).map(|k| format!("y{k}")).collect();
        Ok(LocalMonomials {
            window: self,
            distances: distances.to_vec(),
            monomials: Monomials::from_exponents(&names, exponents)?,
        })
    }
}

/// Monomials of a site, and functions of it and its neighbours, at several sites of a window.
struct AtSeparations<'a> {
    window: Window,
    own: Monomials,
    functions: &'a dyn Functions,
    separations: Vec<isize>,
    labels: Vec<String>,
}

impl Functions for AtSeparations<'_> {
    fn dim(&self) -> usize {
        self.window.dim()
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = x.len() / self.dim();
        let site = self.window.components * n;
        let count = self.own.len() + self.functions.len();
        let outs = out.chunks_exact_mut((count * n).max(1));
        for (r, out) in self.separations.iter().zip(outs) {
            let first = (self.window.radius as isize + r - 1) as usize * site;
            let around = &x[first..first + 3 * site];
            let (own, rest) = out.split_at_mut(self.own.len() * n);
            self.own.values(&around[site..2 * site], own);
            self.functions.values(around, rest);
        }
    }
}

/// Monomials of the site in the middle of a window and of the sums over pairs of its neighbours.
struct LocalMonomials {
    window: Window,
    distances: Vec<usize>,
    monomials: Monomials,
}

impl Functions for LocalMonomials {
    fn dim(&self) -> usize {
        self.window.dim()
    }
    fn labels(&self) -> &[String] {
        self.monomials.labels()
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let Window { components, radius } = self.window;
        let site = components * (x.len() / self.dim());
        let at = |place: usize| &x[place * site..(place + 1) * site];
        let mut y = at(radius).to_vec();
        for d in &self.distances {
            let pairs = at(radius + d).iter().zip(at(radius - d));
            y.extend(pairs.map(|(after, before)| after + before));
        }
        self.monomials.values(&y, out);
    }
}
