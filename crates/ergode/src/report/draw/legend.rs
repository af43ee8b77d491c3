//! Names and looks of the series of a figure.

use super::colour;
use crate::report::figure::{Figure, PanelContent, Role};
use crate::report::identifier::identifier;

/// How one series looks.
pub(in crate::report) struct Key {
    pub(in crate::report) id: String,
    pub(in crate::report) name: String,
    pub(in crate::report) colour: &'static str,
    pub(in crate::report) dashes: &'static str,
    role: Role,
}

/// The series of a figure, each once.
pub(in crate::report) struct Legend {
    pub(in crate::report) keys: Vec<Key>,
}

impl Legend {
    /// The series of all panels in order of appearance.
    pub(in crate::report) fn of(figure: &Figure) -> Self {
        let mut legend = Self { keys: Vec::new() };
        for panel in &figure.panels {
            match &panel.content {
                PanelContent::Lines(lines) => {
                    let named = lines.series.iter().map(|s| (s.role, &s.name));
                    named.for_each(|(role, name)| legend.add(role, name));
                }
                PanelContent::Bars(bars) => {
                    let named = bars.series.iter().map(|s| (s.role, &s.name));
                    named.for_each(|(role, name)| legend.add(role, name));
                }
                PanelContent::Heatmap(_)
                | PanelContent::Arrows(_)
                | PanelContent::LabelledMatrix(_) => {}
            }
        }
        legend
    }

    fn add(&mut self, role: Role, name: &str) {
        let known = |key: &Key| key.role == role && key.name == name;
        if self.keys.iter().any(known) {
            return;
        }
        let turn = self.keys.iter().filter(|k| k.role == Role::Other).count();
        let (colour, dashes) = colour::of_role(role, turn);
        self.keys.push(Key {
            id: match role {
                Role::Data => "data".into(),
                Role::Model => "model".into(),
                Role::Constant => "constant".into(),
                Role::Exact => "exact".into(),
                Role::Other => format!("other-{}", identifier(name)),
            },
            name: name.into(),
            colour,
            dashes,
            role,
        });
    }

    /// The look of a series of the figure.
    pub(super) fn key(&self, role: Role, name: &str) -> &Key {
        let mut keys = self.keys.iter();
        let found = keys.find(|key| key.role == role && key.name == name);
        found.expect("every series of the figure is in its legend")
    }
}
