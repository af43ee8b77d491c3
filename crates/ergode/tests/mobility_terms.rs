//! Terms of drift and diffusion: given ones, and those that a record supports.

use ergode::Control;
use ergode::mobility::{Recipe, RecipeConfig, TermLibrary, fit_mobility_recipe};
use ergode::systems::VanDerPol;

use crate::support::sample;

/// dx = v dt, dv = ((1 − x²) v − x) dt, D = 0.1 in both.
const TRUE_TERMS: [&str; 6] = [
    "D[v,v] 1",
    "D[x,x] 1",
    "b[v] v",
    "b[v] x",
    "b[v] x^2*v",
    "b[x] v",
];

fn sorted(terms: &[String]) -> Vec<&str> {
    let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    terms.sort_unstable();
    terms
}

/// Of all polynomials the true terms stay, in the record's units.
#[test]
fn slow_the_terms_of_an_oscillator_are_found() {
    let data = sample(&VanDerPol::default(), 80.0, 0.1, 16, 21);
    let config = RecipeConfig {
        sparse: true,
        ..RecipeConfig::default()
    };
    let fit = fit_mobility_recipe(&data, &config, &Control::new()).unwrap();
    let choice = fit.terms.as_ref().unwrap();
    println!("{choice:?}");
    assert_eq!(sorted(&choice.kept), TRUE_TERMS);
    assert!(choice.chi2[1] < 1.5, "{choice:?}");
    assert_eq!(fit.recipe, Recipe::Generator);
}

#[test]
fn terms_that_are_no_polynomials_are_refused_by_name() {
    let data = sample(&VanDerPol::default(), 20.0, 0.1, 4, 23);
    let refused = |drift: &str, recipe: Recipe| {
        let config = RecipeConfig {
            recipe,
            library: TermLibrary {
                drift: vec![drift.to_owned()],
                diffusion: Vec::new(),
            },
            ..RecipeConfig::default()
        };
        let found = fit_mobility_recipe(&data, &config, &Control::new());
        found.unwrap_err().to_string()
    };
    let sine = refused("sin(x)", Recipe::Auto);
    assert!(
        sine.contains("drift.terms") && sine.contains("sin(x)"),
        "{sine}"
    );
    let weak = refused("x", Recipe::Weak);
    assert!(weak.contains("recipe generator"), "{weak}");
}
