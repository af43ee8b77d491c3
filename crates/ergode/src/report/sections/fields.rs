//! Mobility, drift and irreversible current of one or two coordinates.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::grid::Cells;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::mobility::Mobility;
use crate::model::LangevinModel;
use crate::report::gaps;
use crate::report::{
    Arrows, Colours, Figure, Lines, Palette, Panel, PanelContent, Role, Section, Series,
};
use crate::score::Score;

/// Cells over ten standard deviations of a coordinate.
const CELLS: usize = 60;
/// The same for one coordinate, and the fewest for a short record.
const FINE_CELLS: usize = 200;
const FEWEST_CELLS: usize = 16;
/// Cells from one arrow to the next.
const STRIDE: usize = 3;

/// A score and a mobility, which make an equation.
#[derive(Clone, Copy)]
pub struct FieldPair<'a> {
    /// s.
    pub score: &'a dyn Score,
    /// M.
    pub mobility: &'a dyn Mobility,
}

/// Fields on a tile of states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fields {
    /// M_ij, (entry, state).
    #[serde(with = "gaps::matrix")]
    mobility: Array2<f64>,
    /// M s + ∇·M, (coordinate, state).
    #[serde(with = "gaps::matrix")]
    drift: Array2<f64>,
    /// R s + ∇·R, (coordinate, state).
    #[serde(with = "gaps::matrix")]
    current: Array2<f64>,
}

impl FieldPair<'_> {
    /// The fields on a tile, coordinate-major.
    fn on(&self, x: &[f64]) -> Fields {
        let dim = self.mobility.dim();
        let n = x.len() / dim;
        let mut score = Array2::zeros((dim, n));
        let mut mobility = Array2::zeros((dim * dim, n));
        let (mut divergence, mut transposed) = (score.clone(), score.clone());
        let flat = "arrays of their own are contiguous";
        self.score.score(x, score.as_slice_mut().expect(flat));
        self.mobility
            .mobility(x, mobility.as_slice_mut().expect(flat));
        self.mobility
            .div_mobility(x, divergence.as_slice_mut().expect(flat));
        self.mobility
            .div_transpose(x, transposed.as_slice_mut().expect(flat));
        let product = |weight: f64, i: usize, s: usize| -> f64 {
            let entry = |j: usize| mobility[[i * dim + j, s]] + weight * mobility[[j * dim + i, s]];
            (0..dim).map(|j| entry(j) * score[[j, s]]).sum()
        };
        let field = |(i, s)| product(0.0, i, s) + divergence[[i, s]];
        let drift = Array2::from_shape_fn((dim, n), field);
        // R = (M − Mᵀ)/2.
        let field = |(i, s)| 0.5 * (product(-1.0, i, s) + divergence[[i, s]] - transposed[[i, s]]);
        let current = Array2::from_shape_fn((dim, n), field);
        Fields {
            mobility,
            drift,
            current,
        }
    }
}

/// M, drift and irreversible current of one or two coordinates where the samples are, for a model and,
/// where they are known, the exact fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldMaps {
    names: Vec<String>,
    cells: Cells,
    /// At the centres of all cells.
    model: Fields,
    exact: Option<Fields>,
    /// Of two coordinates, at the places of the arrows.
    model_arrows: Option<Fields>,
    exact_arrows: Option<Fields>,
}

impl FieldMaps {
    /// Evaluate the fields where `data` has samples.
    ///
    /// # Errors
    /// When there are more than two coordinates, or their numbers differ.
    pub fn new(model: FieldPair, exact: Option<FieldPair>, data: &Ensemble) -> Result<Self> {
        let dim = data.dim();
        let pairs = [Some(model), exact];
        let same = |pair: &FieldPair| pair.score.dim() == dim && pair.mobility.dim() == dim;
        if !(1..=2).contains(&dim) || !pairs.iter().flatten().all(same) {
            return Err(Error::input(format!(
                "fields of {} coordinates cannot be drawn on data of {dim}; select one or two coordinates",
                model.mobility.dim()
            )));
        }
        let cells = match dim {
            1 => {
                // A cell of a short record should hold some samples.
                let most = (2.0 * (data.samples() as f64).sqrt()) as usize;
                Cells::of_line(data, FINE_CELLS.min(most.max(FEWEST_CELLS)))?
            }
            _ => Cells::of_plane(data, CELLS)?,
        };
        let (all, sparse) = (
            tile(&cells.centres(), dim),
            tile(&cells.sparse(STRIDE), dim),
        );
        let arrows = |pair: FieldPair| (dim == 2).then(|| pair.on(&sparse));
        Ok(Self {
            names: data.names().to_vec(),
            model: model.on(&all),
            exact: exact.map(|pair| pair.on(&all)),
            model_arrows: arrows(model),
            exact_arrows: exact.and_then(arrows),
            cells,
        })
    }

    /// The same with the drift that a model has as a fit of its own: on a circle M s + ∇·M lacks a steady turn.
    /// The current then is b − D s − ∇·D.
    pub(crate) fn with_drift(mut self, model: &LangevinModel) -> Self {
        let dim = self.names.len();
        let (all, sparse) = (self.cells.centres(), self.cells.sparse(STRIDE));
        let fields = [
            (Some(&mut self.model), all),
            (self.model_arrows.as_mut(), sparse),
        ];
        for (fields, centres) in fields {
            let Some(fields) = fields else { continue };
            let states = tile(&centres, dim);
            let mut drift = vec![0.0; states.len()];
            model.drift(&states, &mut drift);
            let drift = Array2::from_shape_vec(fields.drift.dim(), drift).expect("one per state");
            let change = &drift - &fields.drift;
            fields.current += &change;
            fields.drift = drift;
        }
        self
    }
}

/// Points of the plane or of the line as a tile, coordinate-major.
fn tile(centres: &[[f64; 2]], dim: usize) -> Vec<f64> {
    let along = |k: usize| centres.iter().map(move |centre| centre[k]);
    (0..dim).flat_map(along).collect()
}

/// M, drift and irreversible current, beside the exact ones where they are known.
///
/// One coordinate is drawn as curves, two as heatmaps of M and arrows of the drift M s + ∇·M and of the
/// velocity R s + ∇·R of the irreversible current p_ss (R s + ∇·R), over a histogram of the samples.
pub fn field_section(fields: &FieldMaps) -> Section {
    let section = Section::new("fields", "Mobility and drift").prose(
        "Fields are shown only on the support of the data. Elsewhere the model is an extrapolation.",
    );
    match fields.names.len() {
        1 => section.with(fields.curves()),
        _ => fields.maps(section),
    }
}

impl FieldMaps {
    fn curves(&self) -> Figure {
        let x: Vec<f64> = self.cells.centres().iter().map(|c| c[0]).collect();
        let roles = [
            (Role::Exact, self.exact.as_ref()),
            (Role::Model, Some(&self.model)),
        ];
        let (mut mobility, mut drift) = (Vec::new(), Vec::new());
        for (role, fields) in roles {
            let Some(fields) = fields else {
                continue;
            };
            let line = |field: &Array2<f64>| Series::new(role, x.clone(), field.row(0).to_vec());
            mobility.push(line(&fields.mobility));
            drift.push(line(&fields.drift));
        }
        let density: Vec<f64> = self.cells.density.iter().copied().collect();
        let density = vec![Series::new(Role::Data, x, density)];
        let panel = |title: &str, series| {
            Panel::new(self.names[0].as_str(), "", Lines::new(series)).titled(title)
        };
        let panels = vec![
            panel("mobility M = D", mobility),
            panel("drift", drift),
            panel("density of the samples", density),
        ];
        Figure::grid(
            "fields",
            "Mobility and drift",
            "In one dimension M is the diffusion. Mobility and drift are less certain where the density \
             is small.",
            2,
            panels,
        )
    }

    /// The model's fields, then the exact ones, by name.
    fn pairs(&self) -> Vec<(&'static str, &Fields)> {
        let exact = self.exact.as_ref().map(|fields| ("exact", fields));
        [("model", &self.model)].into_iter().chain(exact).collect()
    }

    fn maps(&self, section: Section) -> Section {
        section
            .with(self.entries())
            .with(self.arrows(
                (
                    "drift",
                    "Drift",
                    "Arrows show the mean displacement in a short time. Colours show the density of the \
                     samples.",
                ),
                |fields| &fields.drift,
            ))
            .with(self.arrows(
                (
                    "current",
                    "Velocity R s + ∇·R of the irreversible current",
                    "The current p_ss (R s + ∇·R) circulates probability without changing the density.",
                ),
                |fields| &fields.current,
            ))
    }

    fn panel(&self, title: String, content: impl Into<PanelContent>) -> Panel {
        Panel::new(self.names[0].as_str(), self.names[1].as_str(), content).titled(title)
    }

    /// Heatmaps of M_ij, one row per entry.
    fn entries(&self) -> Figure {
        let (cells, names, pairs) = (&self.cells, &self.names, self.pairs());
        let mut panels = Vec::new();
        for entry in 0..4 {
            // Entries on the diagonal are those of D, which are positive.
            let palette = match entry % 3 {
                0 => Palette::Sequential,
                _ => Palette::Diverging,
            };
            let map = |fields: &Fields| cells.masked(fields.mobility.row(entry).to_vec());
            let maps: Vec<Array2<f64>> = pairs.iter().map(|(_, fields)| map(fields)).collect();
            let colours = Colours::common(palette, &maps);
            for (map, (who, _)) in maps.into_iter().zip(&pairs) {
                let title = format!("M[{},{}], {who}", names[entry / 2], names[entry % 2]);
                panels.push(self.panel(title, cells.heatmap(map, colours)));
            }
        }
        let caption = match pairs.len() {
            1 => {
                "Diagonal entries are diffusion. R, half the difference of the off-diagonal entries, sets \
                 the irreversible current."
            }
            _ => {
                "The panels of a row share one colour scale: they look the same if the model is right."
            }
        };
        Figure::grid("mobility", "Entries of the mobility", caption, 2, panels)
    }

    /// Velocities over the density, drawn for the same time.
    fn arrows(
        &self,
        (name, title, caption): (&str, &str, &str),
        field: impl Fn(&Fields) -> &Array2<f64>,
    ) -> Figure {
        let points = self.cells.sparse(STRIDE);
        let vectors = |fields: &Fields| -> Vec<[f64; 2]> {
            let columns = field(fields).columns().into_iter();
            columns.map(|column| [column[0], column[1]]).collect()
        };
        let sampled = [&self.model_arrows, &self.exact_arrows]
            .into_iter()
            .flatten();
        let vectors: Vec<Vec<[f64; 2]>> = sampled.map(vectors).collect();
        let spacing = self.cells.widths().map(|width| width * STRIDE as f64);
        let time = Arrows::usual_time(&vectors.concat(), spacing);
        let panels = vectors
            .into_iter()
            .zip(self.pairs())
            .map(|(vectors, (who, _))| {
                let arrows = Arrows {
                    points: points.clone(),
                    vectors,
                    time,
                    background: Some(self.cells.background()),
                };
                self.panel(who.to_owned(), arrows)
            });
        Figure::grid(name, title, caption, 2, panels.collect())
    }
}
