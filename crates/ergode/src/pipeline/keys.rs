//! The keys of a configuration: defaults, what they take and what they do.

use serde::Serialize;
use serde_json::Value;

use super::config::FitConfig;
use super::descriptions::described;
use super::ranges::{inside, range_of};

/// One key of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigKey {
    /// Dotted path, such as `mobility.recipe`.
    pub key: String,
    /// Default value; null if it follows from the record.
    pub default: Value,
    /// Values that the key takes, in words.
    pub takes: String,
    /// What the key sets, in one line.
    pub description: &'static str,
}

impl FitConfig {
    /// Every key, its default, the values that it takes and what it sets, in alphabetical order.
    ///
    /// Defaults and values come from the configuration itself: a text in place of a value is refused with
    /// the names or the type of what is expected.
    pub fn keys() -> Vec<ConfigKey> {
        let whole = serde_json::to_value(Self::default()).expect("a configuration is plain data");
        let mut leaves = Vec::new();
        collect("", &whole, &mut leaves);
        let with_words = |(key, default): (String, Value)| ConfigKey {
            takes: takes(&whole, &key),
            description: described(&key).unwrap_or(""),
            key,
            default,
        };
        leaves.into_iter().map(with_words).collect()
    }

    /// The existing key, or section, that a mistyped key most resembles.
    pub(super) fn nearest_key(mistyped: &str) -> Option<String> {
        let whole = serde_json::to_value(Self::default()).expect("a configuration is plain data");
        let mut names = Vec::new();
        sections("", &whole, &mut names);
        let parts = mistyped.matches('.').count() + 1;
        let far = mistyped.len() / 3;
        let distance = |name: &String| {
            let tail: Vec<&str> = name.rsplitn(parts + 1, '.').take(parts).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            let whole = strsim::damerau_levenshtein(mistyped, name);
            // The end of a path is what people remember of it.
            whole.min(strsim::damerau_levenshtein(mistyped, &tail.join(".")))
        };
        let near = names.into_iter().map(|name| (distance(&name), name));
        near.filter(|(distance, _)| *distance <= far)
            .min_by_key(|(distance, name)| (*distance, name.len()))
            .map(|(_, name)| name)
    }
}

/// Leaves of the tree: values, lists and maps that are empty by default.
fn collect(key: &str, value: &Value, out: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .for_each(|(part, value)| collect(&inside(key, part), value, out)),
        _ => out.push((key.to_owned(), value.clone())),
    }
}

/// Paths of all values and sections.
fn sections(key: &str, value: &Value, out: &mut Vec<String>) {
    if !key.is_empty() {
        out.push(key.to_owned());
    }
    if let Value::Object(map) = value {
        map.iter()
            .for_each(|(part, value)| sections(&inside(key, part), value, out));
    }
}

/// What a key takes: the range of a number, the names of a choice, or the type.
fn takes(whole: &Value, key: &str) -> String {
    /// No value of any key.
    const WRONG: &str = "\u{1}";
    let mut changed = whole.clone();
    let place = key
        .split('.')
        .try_fold(&mut changed, |place, part| place.get_mut(part));
    *place.expect("a key of the configuration") = Value::from(WRONG);
    let refusal = serde_json::from_value::<FitConfig>(changed)
        .map_or_else(|error| error.to_string(), |_| String::new());
    let number = range_of(key).map_or("number".to_owned(), |range| range.brief());
    // The message of a choice between a number and "auto".
    if refusal.contains("\"auto\"") {
        return format!("auto, or {number}");
    }
    let expected = refusal.rsplit_once("expected ").map_or("", |(_, end)| end);
    match expected {
        _ if expected.contains('`') => expected.replace('`', "").replace("one of ", ""),
        "a boolean" => "true, false".to_owned(),
        "a sequence" if range_of(key).is_none() => "list".to_owned(),
        "a sequence" => format!("list, each {number}"),
        "a map" => "table".to_owned(),
        "f64" | "f32" | "usize" | "u64" => number,
        _ if expected.starts_with("a tuple") || expected.starts_with("an array") => {
            format!("two values, each {number}")
        }
        _ => "table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_description_and_says_what_it_takes() {
        let keys = FitConfig::keys();
        assert!(keys.len() > 200, "{}", keys.len());
        for key in &keys {
            assert!(
                !key.description.is_empty() && key.description.len() < 130,
                "{}: add a line to pipeline/descriptions.rs",
                key.key
            );
            assert!(!key.takes.contains('\u{1}'), "{key:?}");
        }
        let takes = |name: &str| {
            let key = keys.iter().find(|key| key.key == name).unwrap();
            key.takes.clone()
        };
        assert_eq!(takes("held_out"), "number > 0, < 1");
        assert_eq!(takes("bridge_gaps"), "true, false");
        assert_eq!(takes("trend"), "none, linear, quadratic");
        assert_eq!(takes("mobility.folds"), "whole number >= 2, <= 1000");
        assert_eq!(takes("mobility.ridges"), "list, each number >= 0");
        assert_eq!(takes("cycle.period"), "auto, or number > 0");
    }

    #[test]
    fn mistyped_keys_have_a_neighbour() {
        let cases = [
            ("mobilty.recipe", Some("mobility.recipe")),
            ("recipe", Some("mobility.recipe")),
            ("simulate.step", Some("simulate.dt")),
            ("cycle.peroid", Some("cycle.period")),
            ("limit.seconds", Some("limits.seconds")),
            ("xyzzy", None),
        ];
        for (mistyped, expected) in cases {
            let found = FitConfig::nearest_key(mistyped);
            assert_eq!(found.as_deref(), expected, "{mistyped}");
        }
    }
}
