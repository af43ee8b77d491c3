//! Figures, and the page that shows them: one drawing for the page, the file and the printer.

mod benchmark;
mod draw;
mod equation;
mod figure;
mod gaps;
mod identifier;
mod page;
mod record;
mod results;
mod run;
mod sections;

pub use benchmark::{BenchmarkPart, OperatorChannel, OperatorRecord, RecipeVariant};
pub use equation::EquationFormat;
pub use figure::{
    Across, Arrows, Axis, BarSeries, Bars, Colours, Figure, Heatmap, LabelledMatrix, Lines, Mark,
    Palette, Panel, PanelContent, Role, Series, SeriesStyle,
};
pub use page::{Conclusion, Page, Section, SectionPart, Table, write_figures};
pub use record::{Evidence, FieldRecord, ForecastRecord, LearnedRecord, Part, RunRecord};
pub use results::{
    Decision, EquationResults, Measured, MobilityResults, ObservationResults, Reproduced,
    Reproduction, Results, ScoreResults, SpaceResults, Truth, Turns, ValidationResults,
};
pub use run::run_page;
pub use sections::{
    FieldMaps, FieldPair, NetworkResiduals, ResidualLines, SpaceTime, SpaceTimeWindow, SpinClosure,
    SpinMaps, check_page, check_section, climatology_section, entropy_section, equation_section,
    field_section, fit_section, forecast_section, hovmoeller_figure, residual_section,
    response_section, ring_sections, score_section, spectrum_section, spin_section,
    structure_section, validation_page, validation_sections,
};
