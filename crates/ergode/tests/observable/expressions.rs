//! Functions written as text.

use ergode::observable::{Expressions, Functions, Library};
use ergode::random::{Purpose, Stream};

use super::{check_derivatives, check_tiles, close, names};

fn parse(texts: &[&str]) -> ergode::Result<Expressions> {
    let constants = [("L".to_owned(), 2.5), ("k_1".to_owned(), -3.0)];
    Expressions::parse(texts, &names(&["x", "y"]), &constants)
}

fn value(text: &str, x: f64, y: f64) -> f64 {
    parse(&[text]).unwrap().values_at(&[x, y])[0]
}

fn message(text: &str) -> String {
    let error = parse(&[text]).unwrap_err();
    assert!(error.is_bad_input());
    error.to_string()
}

#[test]
fn observable_expressions_follow_the_usual_precedence() {
    let (x, y) = (1.75_f64, -0.625_f64);
    let cases = [
        ("x", x),
        ("42", 42.0),
        ("x+y*2", x + y * 2.0),
        ("(x+y)*2", (x + y) * 2.0),
        ("x-y-1", (x - y) - 1.0),
        ("x-(y-1)", x - (y - 1.0)),
        ("x/y/2", (x / y) / 2.0),
        ("x/y*2", x / y * 2.0),
        ("2*x/y", 2.0 * x / y),
        ("-x^2", -(x * x)),
        ("(-x)^2", x * x),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("x^2^3", x.powi(8)),
        ("(x^2)^3", x.powi(6)),
        ("x^-2", 1.0 / (x * x)),
        ("2^-x*y", 2f64.powf(-x) * y),
        ("-x*y", -x * y),
        ("x*-y", x * -y),
        ("x--y", x + y),
        ("x - -(+y)", x + y),
        ("--x", x),
        ("x^0", 1.0),
        ("y^3", y * y * y),
        ("x^0.5", x.sqrt()),
        ("x^y", x.powf(y)),
        ("x^(2*y)", x.powf(2.0 * y)),
        ("1e-3*x + .5 - 2.E1", 1e-3 * x + 0.5 - 20.0),
        ("L*x + k_1", 2.5 * x - 3.0),
        ("pi + e", std::f64::consts::PI + std::f64::consts::E),
        ("2*e-1", 2.0 * std::f64::consts::E - 1.0),
        ("\tx *\n y ", x * y),
        ("1-x", 1.0 - x),
        ("1/(x+y)", 1.0 / (x + y)),
        ("x-(x+y)*(x-y)", x - (x + y) * (x - y)),
        ("(x+1)*(y+2)-(x+3)/(y+4)", 2.75 * 1.375 - 4.75 / 3.375),
    ];
    for (text, expected) in cases {
        let found = value(text, x, y);
        assert!(close(found, expected, 1e-14), "{text}: {found} {expected}");
    }
}

#[test]
fn observable_expressions_know_the_functions() {
    type Named = (&'static str, fn(f64) -> f64);
    let functions: [Named; 12] = [
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("exp", f64::exp),
        ("log", f64::ln),
        ("ln", f64::ln),
        ("sqrt", f64::sqrt),
        ("abs", f64::abs),
        ("tanh", f64::tanh),
        ("sinh", f64::sinh),
        ("cosh", f64::cosh),
        ("atan", f64::atan),
    ];
    for (name, function) in functions {
        for x in [0.3, 0.9, 1.4] {
            assert_eq!(value(&format!("{name}(x)"), x, 0.0), function(x));
            assert_eq!(value(&format!("{name} ( {x} )"), 0.0, 0.0), function(x));
            let library = parse(&[
                &format!("{name}(x)"),
                &format!("{name}(x*y + 0.1)^2"),
                &format!("x - {name}(x/y)"),
            ])
            .unwrap();
            check_derivatives(&library, &[x, 0.7]);
        }
    }
    assert_eq!(value("abs(x)", -2.0, 0.0), 2.0);
    check_derivatives(
        &parse(&["abs(x)*y", "sin(x)/abs(y)"]).unwrap(),
        &[-0.4, -1.2],
    );
}

#[test]
fn observable_expressions_have_exact_derivatives() {
    let mut stream = Stream::new(5, Purpose::Initial, 0);
    let texts = [
        "x",
        "3",
        "x*y",
        "y*x*x",
        "x^2*y",
        "x^7 - y^5",
        "(x+2*y)^3",
        "(x+5)^-2",
        "1/(3+x*y^2/10)",
        "x/(4+y^2)",
        "(x+y)/(4+y^2)",
        "2^x",
        "(2+x^2)^y",
        "(2+x^2)^(y*x)",
        "y^2^1",
        "(1+x^2)^0.3",
        "x^1",
        "x^0",
        "-(x-y)*(x+y)",
        "1-x",
        "2-(x*y)",
        "sin(2*pi*x/L)*cos(y)",
        "exp(-(x^2+y^2)/2)",
        "log(1+x^2)*tanh(y)",
        "x*(y+x*(y+x*(y-x)))",
        "(x+1)*(y+2)-(x+3)/(y^2+4)",
    ];
    let library = parse(&texts).unwrap();
    assert_eq!(library.labels(), texts);
    check_tiles(&library, &mut stream);
    for _ in 0..20 {
        let x = [2.0 * stream.normal().tanh(), 2.0 * stream.normal().tanh()];
        check_derivatives(&library, &x);
    }
    // Powers at zero have derivatives too.
    check_derivatives(
        &parse(&["x^3", "x^2*y", "x^1", "x^0"]).unwrap(),
        &[0.0, 0.0],
    );
}

#[test]
fn observable_expression_errors_point_at_the_place() {
    assert_eq!(
        message("x*z"),
        "unknown name \"z\" at column 3 of \"x*z\"; the names are x, y, and the constants L, k_1, \
         pi, e"
    );
    let cases = [
        ("", "ends at column 1"),
        ("x+", "ends at column 3"),
        ("x y", "unexpected \"y\" at column 3"),
        ("2x", "unexpected \"x\" at column 2"),
        ("2e", "unexpected \"e\" at column 2"),
        ("x)", "unexpected \")\" at column 2"),
        ("(x+y", "unclosed \"(\" at column 1"),
        ("(x,y)", "unexpected \",\" at column 3"),
        ("()", "unexpected \")\" at column 2"),
        ("x**2", "unexpected \"*\" at column 3"),
        ("x(y)", "unexpected \"(\" at column 2"),
        (
            "1 + sin",
            "function \"sin\" without its argument at column 5",
        ),
        ("gamma(x)", "the functions are sin"),
        ("α*x", "unknown name \"α\" at column 1"),
        ("x*α", "at column 3"),
        ("1.2.3", "unexpected \".\" at column 4"),
        ("x*.", "\".\" is not a number at column 3"),
        ("1e999", "too large at column 1"),
        ("x+1/0", "gives inf at column 4"),
        ("x*sqrt(-1)", "gives NaN at column 3"),
        ("x $ y", "unexpected \"$\" at column 3"),
    ];
    for (text, part) in cases {
        let found = message(text);
        assert!(found.contains(part), "{text}: {found}");
    }
    let two = names(&["x", "x"]);
    let twice = Expressions::parse(&["x"], &two, &[]).unwrap_err();
    assert!(twice.to_string().contains("named \"x\""), "{twice}");
    let shadow = Expressions::parse(&["x"], &names(&["x"]), &[("x".to_owned(), 1.0)]);
    assert!(shadow.unwrap_err().to_string().contains("rename it"));
    let infinite = Expressions::parse(&["x"], &names(&["x"]), &[("c".to_owned(), f64::INFINITY)]);
    assert!(infinite.unwrap_err().to_string().contains("finite"));
    assert!(Expressions::parse(&["1"], &[], &[]).is_err());
    // Coordinates come before the built-in constants.
    let named_e = Expressions::parse(&["e*pi"], &names(&["e", "pi"]), &[]).unwrap();
    assert_eq!(named_e.values_at(&[2.0, 3.0]), [6.0]);
}

#[test]
fn observable_expressions_withstand_hostile_text() {
    for (open, close) in [
        ("(", ")"),
        ("-", ""),
        ("sin(", ")"),
        ("2^", ""),
        ("1-(", ")"),
    ] {
        let deep = open.repeat(1_000_000) + "x" + &close.repeat(1_000_000);
        let found = message(&deep);
        assert!(found.contains("nested levels"), "{found}");
        assert!(found.len() < 500);
        let fair = open.repeat(60) + "x" + &close.repeat(60);
        assert!(parse(&[&fair]).is_ok());
    }
    // A long sum is not deep.
    let long = "x+".repeat(200_000) + "y*2";
    assert_eq!(value(&long, 1.0, 0.5), 200_001.0);
    let nested = "x*(y-".repeat(60) + "1" + &")".repeat(60);
    check_derivatives(&parse(&[&nested]).unwrap(), &[0.5, 0.25]);

    let pieces = [
        "x", "y", "z", "sin", "exp(", "(", ")", "+", "-", "*", "/", "^", "1", "2.5", "1e", "e",
        ".", ",", " ", "é", "π", "\0", "L", "0", "^2", "sqrt", "\u{301}", "9e9",
    ];
    let mut stream = Stream::new(9, Purpose::Initial, 1);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let length = 1 + stream.below(9);
        let text: String = (0..length)
            .map(|_| pieces[stream.below(pieces.len() as u64) as usize])
            .collect();
        if let Ok(library) = parse(&[&text]) {
            accepted += 1;
            library.values_at(&[0.5, -0.5]);
            library.gradients(&[0.5, -0.5], &mut [0.0; 2]);
            library.hessians(&[0.5, -0.5], &mut [0.0; 4]);
        }
    }
    assert!(accepted > 100, "{accepted}");
}
