//! Figures and pages: what is drawn is there, well-formed and finite; fields are those of the formulas.

use ergode::Ensemble;
use ergode::data::Standardiser;
use ergode::mobility::{LinearMobility, Mobility, TensorBasis};
use ergode::report::{
    Arrows, Axis, BarSeries, Bars, Colours, Conclusion, FieldMaps, FieldPair, Figure, Heatmap,
    LabelledMatrix, Lines, Page, Palette, Panel, PanelContent, Role, Section, SectionPart, Series,
    SeriesStyle, SpaceTime, SpinClosure, SpinMaps, Table, equation_section, field_section,
    hovmoeller_figure, spin_section, write_figures,
};
use ergode::score::Score;
use ndarray::{Array2, Array3, array};

/// The first fault of a text as XML: tags that do not match, attributes without quotes, stray signs.
pub(crate) fn xml_fault(text: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        if let Some(entity) = rest[..at].split('&').skip(1).find(|e| !e.contains(';')) {
            return Some(format!("a bare & before {entity:?}"));
        }
        let Some(end) = rest[at..].find('>') else {
            return Some("an unfinished tag".into());
        };
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Some(format!("</{name}> closes something else"));
            }
            continue;
        }
        let (body, closed) = match tag.strip_suffix('/') {
            Some(body) => (body, true),
            None => (tag, false),
        };
        let pieces: Vec<&str> = body.split('"').collect();
        let outside = pieces.iter().step_by(2).skip(1);
        if pieces.len().is_multiple_of(2)
            || body.contains('<')
            || outside
                .clone()
                .any(|o| !o.is_empty() && !o.starts_with(' '))
        {
            return Some(format!("attributes of <{tag}>"));
        }
        if !closed {
            open.push(body.split(' ').next().unwrap_or(""));
        }
    }
    open.pop().map(|name| format!("<{name}> is never closed"))
}

/// Every kind of panel, with gaps, a hostile name and numbers that cannot be drawn.
fn every_kind() -> Vec<Figure> {
    let x: Vec<f64> = (0..50).map(|k| 0.1 * f64::from(k)).collect();
    let mut y: Vec<f64> = x.iter().map(|x| (-x).exp() * x.cos()).collect();
    (y[7], y[20], y[30]) = (f64::NAN, f64::INFINITY, 1e300);
    let lines = |style| {
        let series = Series::new(Role::Data, x.clone(), y.clone()).styled(style);
        let error = vec![0.05; 50];
        let other = Series::new(Role::Other, x.clone(), x.clone()).named("<script>&\"'");
        let lines = Lines::new(vec![series.with_error(error), other]);
        lines
            .mark_x(1.0, "a < b")
            .mark_y(0.5, "half")
            .mark_x(99.0, "outside")
    };
    let mut map = Heatmap {
        x: [-1.0, 1.0],
        y: [0.0, 3.0],
        values: Array2::from_shape_fn((9, 7), |(i, j)| i as f64 - j as f64),
        colours: Colours::default(),
    };
    map.values[[0, 0]] = f64::NAN;
    map.values[[8, 6]] = f64::INFINITY;
    let arrows = Arrows {
        points: vec![[0.0, 1.0], [0.5, 1.0], [0.0, 2.0]],
        vectors: vec![[1.0, 0.0], [f64::NAN, 1.0], [0.0, 0.0]],
        time: 0.1,
        background: Some(map.clone()),
    };
    let matrix = LabelledMatrix {
        rows: vec!["a".into(), "<b>".into()],
        columns: vec!["c".into(), "a rather long name of a column".into()],
        values: array![[1.0, -2e-7], [f64::NAN, 0.3]],
        errors: Some(array![[0.1, 0.1], [0.1, 0.1]]),
        colours: Colours::new(Palette::Sequential),
    };
    let bars = Bars {
        labels: (0..30).map(|k| format!("a long label & {k}")).collect(),
        series: vec![BarSeries {
            name: "model".into(),
            role: Role::Model,
            values: (0..30).map(|k| f64::from(k) - 3.0).collect(),
            error: vec![0.5; 30],
        }],
    };
    let panels: Vec<Panel> = vec![
        Panel::new("t", "C", lines(SeriesStyle::Line)).titled("lines"),
        Panel::new(
            Axis::log("t"),
            Axis::log("C"),
            lines(SeriesStyle::LineAndPoints),
        ),
        Panel::new("x", "y", lines(SeriesStyle::Points)),
        Panel::new("x", "y", map),
        Panel::new("x", "", arrows),
        Panel::new("", "", matrix).titled("<i>matrix</i>"),
        Panel::new("mode", "τ", bars.clone()),
        Panel::new("mode", Axis::log("τ"), bars),
    ];
    let single = |(k, panel): (usize, &Panel)| {
        Figure::single(
            &format!("kind {k}"),
            "One & only",
            "See \"this\".",
            panel.clone(),
        )
    };
    let mut figures: Vec<Figure> = panels.iter().enumerate().map(single).collect();
    figures.push(Figure::grid("all kinds", "All", "All of them.", 3, panels));
    figures
}

fn page_of(figures: Vec<Figure>) -> Page {
    let section = figures
        .into_iter()
        .fold(Section::new("s", "All <kinds>"), Section::with);
    let fold = SectionPart::Details {
        summary: "more".into(),
        parts: vec![
            Table::new("t", &["name", "value"])
                .row(["<b>".into(), "1".into()])
                .into(),
        ],
    };
    let mut page = Page::new("A <title>", "");
    page.conclusion = Some(Conclusion::new("All is well.", Vec::new()));
    page.sections.push(section.with(fold));
    page
}

#[test]
fn drawings_are_well_formed_and_finite() {
    for figure in every_kind() {
        let svg = figure.svg();
        assert_eq!(xml_fault(&svg), None, "{}", figure.name);
        for word in ["NaN", "inf", "<script>", "<b>", "<i>"] {
            assert!(!svg.contains(word), "{}: {word}", figure.name);
        }
        assert!(svg.contains("class=\"mark\""), "{}", figure.name);
    }
    // The same checks find planted faults.
    let svg = every_kind()[0].svg();
    for damaged in [
        svg.replacen("</g>", "", 1),
        svg.replacen("<path d=\"", "<path d=", 1),
        svg.replacen("half", "a & b", 1),
        svg.replacen("</svg>\n", "", 1),
    ] {
        assert!(damaged != svg && xml_fault(&damaged).is_some());
    }
}

#[test]
fn every_series_is_drawn_and_nothing_where_there_is_nothing() {
    let x = vec![0.0, 1.0, 2.0];
    let roles = [
        Role::Data,
        Role::Model,
        Role::Constant,
        Role::Exact,
        Role::Other,
    ];
    let series = roles
        .map(|role| Series::new(role, x.clone(), x.clone()))
        .to_vec();
    let draw = |series| {
        let panel = Panel::new("x", "y", Lines::new(series));
        Figure::single("f", "f", "f", panel).svg()
    };
    let svg = draw(series);
    for key in ["data", "model", "constant", "exact", "other-other"] {
        assert_eq!(
            svg.matches(&format!("data-key=\"{key}\"")).count(),
            1,
            "{key}"
        );
    }
    assert_eq!(svg.matches("class=\"mark\"").count(), roles.len());
    let empty = Series::new(Role::Data, x, vec![f64::NAN; 3]).with_error(vec![1.0; 3]);
    assert_eq!(draw(vec![empty]).matches("class=\"mark\"").count(), 0);
}

#[test]
fn curves_pass_through_their_points() {
    // With given ranges the frame's corners are the corners of the data.
    let series = Series::new(Role::Model, vec![1.0, 10.0, 100.0], vec![0.0, 1.0, 2.0]);
    let x = Axis::log("x").within(1.0, 100.0);
    let y = Axis::from("y").within(0.0, 2.0);
    let panel = Panel::new(x, y, Lines::new(vec![series]));
    let svg = Figure::single("f", "f", "f", panel).svg();
    let (_, rest) = svg.split_once("data-box=\"").unwrap();
    let frame: Vec<f64> = rest
        .split_once('"')
        .unwrap()
        .0
        .split(' ')
        .map(|v| v.parse().unwrap())
        .collect();
    // The only curve stands in the group of its series.
    let (_, series) = svg.split_once("class=\"series\"").unwrap();
    let (_, path) = series.split_once("d=\"").unwrap();
    let path = path.split_once('"').unwrap().0.split(['M', 'L', ' ']);
    let numbers: Vec<f64> = path.filter_map(|word| word.parse().ok()).collect();
    let expected = [0.0, frame[3], 0.5 * frame[2], 0.5 * frame[3], frame[2], 0.0];
    for (found, expected) in numbers.iter().zip(expected) {
        assert!((found - expected).abs() < 0.011, "{numbers:?} {expected:?}");
    }
    assert_eq!(numbers.len(), expected.len());
}

#[test]
fn pages_stand_alone_and_escape_what_they_are_given() {
    let page = page_of(every_kind());
    let html = page.html();
    for word in ["http:", "https:", "src=", "<title>A <", "NaN", "<script>&"] {
        assert!(!html.contains(word), "{word}");
    }
    // The verdict comes before the first section.
    assert!(html.find("id=\"verdict\"") < html.find("<section id=\"s\""));
    assert_eq!(html.matches("<figure ").count(), page.figures().len());
    let panels: usize = page.figures().iter().map(|f| f.panels.len()).sum();
    let images = html
        .matches("role=\"img\" tabindex=\"0\" aria-label=\"")
        .count();
    assert_eq!(images, panels);
}

#[test]
fn figures_survive_json_and_become_files() {
    for figure in every_kind() {
        let text = serde_json::to_string(&figure).unwrap();
        let back: Figure = serde_json::from_str(&text).unwrap();
        // Numbers that are not finite come back as gaps.
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }
    let folder = tempfile::tempdir().unwrap();
    let page = page_of(every_kind());
    let written = write_figures(&page, folder.path().join("figures")).unwrap();
    assert_eq!(written.len(), page.figures().len());
    assert!(written[0].ends_with("kind-0.svg"));
    let twice = page_of([every_kind(), every_kind()].concat());
    assert!(
        write_figures(&twice, folder.path())
            .unwrap_err()
            .is_bad_input()
    );
}

pub(crate) fn panels_of<'a>(section: &'a Section, name: &str) -> &'a [Panel] {
    let figure = section.parts.iter().find_map(|part| match part {
        SectionPart::Figure(figure) if figure.name == name => Some(figure),
        _ => None,
    });
    &figure.expect("the figure is there").panels
}

/// s = −x.
struct Normal;

impl Score for Normal {
    fn dim(&self) -> usize {
        2
    }
    fn score(&self, x: &[f64], out: &mut [f64]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = -x;
        }
    }
}

fn names() -> Vec<String> {
    vec!["x".into(), "y".into()]
}

/// M quadratic, in coordinates that are not standardised.
fn quadratic() -> LinearMobility {
    let plain = Standardiser::new(vec![0.0; 2], vec![1.0; 2]).unwrap();
    let basis = TensorBasis::polynomial(&names(), &plain, 2, 2, None).unwrap();
    let wave = |k: usize| (1.0 + k as f64).sin();
    let coefficients = (0..basis.len()).map(wave).collect();
    LinearMobility::new(basis, coefficients).unwrap()
}

#[test]
fn drift_and_current_are_those_of_the_formulas() {
    let cloud = Array2::from_shape_fn((20_000, 2), |(k, i)| {
        let k = k as f64;
        (1.7 * k + i as f64).sin() + (2.3 * k * (1.0 + i as f64)).sin()
    });
    let data = Ensemble::from_array(cloud, 0.01).unwrap();
    let data = data.with_names(names()).unwrap();
    let mobility = quadratic();
    let pair = FieldPair {
        score: &Normal,
        mobility: &mobility,
    };
    let section = field_section(&FieldMaps::new(pair, Some(pair), &data).unwrap());
    assert_eq!(panels_of(&section, "mobility").len(), 8);
    // ∇·M and ∇·R by central differences.
    let expected = |x: [f64; 2], sign: f64| -> [f64; 2] {
        let entry = |x: [f64; 2], i: usize, j: usize| {
            let m = mobility.at(&x);
            if sign == 0.0 {
                m[2 * i + j]
            } else {
                0.5 * (m[2 * i + j] + sign * m[2 * j + i])
            }
        };
        let h = 1e-4;
        std::array::from_fn(|i| {
            (0..2)
                .map(|j| {
                    let (mut up, mut down) = (x, x);
                    (up[j], down[j]) = (x[j] + h, x[j] - h);
                    let slope = (entry(up, i, j) - entry(down, i, j)) / (2.0 * h);
                    slope - entry(x, i, j) * x[j]
                })
                .sum()
        })
    };
    let arrows = |name: &str| match &panels_of(&section, name)[0].content {
        PanelContent::Arrows(arrows) => arrows.clone(),
        other => panic!("{other:?}"),
    };
    let worst = |name: &str, sign: f64| {
        let arrows = arrows(name);
        assert!(arrows.points.len() > 20);
        let off = arrows.points.iter().zip(&arrows.vectors).map(|(x, v)| {
            let expected = expected(*x, sign);
            (v[0] - expected[0]).hypot(v[1] - expected[1])
        });
        off.fold(0.0, f64::max)
    };
    assert!(worst("drift", 0.0) < 1e-6);
    assert!(worst("current", -1.0) < 1e-6);
    // The twin: the symmetric part is another field.
    assert!(worst("current", 1.0) > 0.1);
}

#[test]
fn spins_are_projected_on_the_terms_of_their_span() {
    // M = c0 + c⊥(m² − m mᵀ) + c∥ m mᵀ + c× [m]×.
    let [c0, across, along, turn] = [0.002, 0.05, 0.006, -0.8];
    let block = LinearMobility::new(TensorBasis::spin(), array![c0, across, along, turn]).unwrap();
    let values = Array3::from_shape_fn((2, 3000, 6), |(n, t, c)| {
        ((7 * t + 13 * c + n) as f64).sin()
    });
    let data = Ensemble::from_array3(values.into(), 0.1).unwrap();
    let closure = |name: &'static str, role: Role| SpinClosure {
        name,
        role,
        block: &block,
    };
    let section = spin_section(&SpinMaps::new(&[closure("model", Role::Model)], &data).unwrap());
    let panels = panels_of(&section, "spin-mobility");
    let mut cells = 0;
    for (panel, expected) in panels.iter().zip([
        &(|m2: f64| c0 + across * m2) as &dyn Fn(f64) -> f64,
        &|m2| c0 + along * m2,
        &|_| turn,
    ]) {
        let PanelContent::Heatmap(map) = &panel.content else {
            panic!("a heatmap");
        };
        for ((i, j), value) in map.values.indexed_iter().filter(|(_, v)| v.is_finite()) {
            let [z, perp] = map.centre(i, j);
            assert!((value - expected(z * z + perp * perp)).abs() < 1e-12);
            cells += 1;
        }
    }
    assert!(cells > 300, "{cells}");
    let flat = quadratic();
    let planar = SpinClosure {
        name: "planar",
        role: Role::Model,
        block: &flat,
    };
    assert!(SpinMaps::new(&[planar], &data).is_err());
    let patterns = SpaceTime::new(&[("data", &data), ("model", &data)], 2, 3, 50).unwrap();
    let figure = hovmoeller_figure(&patterns);
    let PanelContent::Heatmap(map) = &figure.panels[1].content else {
        panic!("a heatmap");
    };
    assert_eq!(map.values.dim(), (50, 2));
    assert_eq!(map.values[[10, 1]], 135.0f64.sin());
    assert!(SpaceTime::new(&[("data", &data)], 0, 4, 50).is_err());
}

#[test]
fn the_equation_is_written_for_a_reader() {
    let mobility = quadratic();
    assert_eq!(mobility.basis().degrees(), (Some(2), Some(2)));
    assert_eq!(TensorBasis::spin().degrees(), (Some(2), Some(1)));
    let section = equation_section(&mobility);
    let text = format!("{:?}", section.parts);
    for part in [
        "2 coordinates, x, y",
        "polynomial of degree 2",
        "D[x,x] = 0.841",
        "x²",
        "R[x,y] = ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(Mobility::dim(&mobility), 2);
}
