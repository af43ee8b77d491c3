//! Which entries of the mobility matter.

use crate::mobility::Structure;
use crate::report::{Colours, Figure, LabelledMatrix, Palette, Panel, Section};

/// Φ̃ as a matrix, and how much each entry changes with the horizon.
pub fn structure_section(structure: &Structure, names: &[String]) -> Section {
    let matrix = |values, errors, palette| LabelledMatrix {
        rows: names.to_vec(),
        columns: names.to_vec(),
        values,
        errors,
        colours: Colours::new(palette),
    };
    let estimate = matrix(
        structure.combined.clone(),
        Some(structure.error.clone()),
        Palette::Diverging,
    );
    let change = matrix(structure.instability(), None, Palette::Sequential);
    let panels = vec![
        Panel::new("", "", estimate).titled("Φ̃ from all horizons"),
        Panel::new("", "", change).titled("spread over horizons / largest entry"),
    ];
    Section::new("structure", "Structure of the mobility").with(Figure::grid(
        "structure",
        "Constant-mobility diagnostic Φ̃",
        "Entries that are large on the left and small on the right are significant. The others may be set \
         to zero.",
        2,
        panels,
    ))
}
