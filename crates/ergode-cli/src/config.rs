//! `ergode config`.

use ergode::FitConfig;
use ergode::pipeline::ConfigKey;
use serde_json::{Value, json};

use crate::args::Config;
use crate::output::{Failed, print};

pub(crate) fn run(arguments: &Config, json: bool) -> Result<(), Failed> {
    if !arguments.show {
        return Err(Failed::input(
            "nothing to do; `ergode config --show` prints the keys",
        ));
    }
    let wanted = arguments.key.as_deref().unwrap_or("");
    let within = |key: &ConfigKey| {
        let rest = key.key.strip_prefix(wanted);
        wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let keys: Vec<ConfigKey> = FitConfig::keys().into_iter().filter(within).collect();
    if keys.is_empty() {
        return Err(Failed::input(format!(
            "there is no key or section `{wanted}`; `ergode config --show` prints all"
        )));
    }
    match json {
        true => print(&format!("{}\n", json!({ "keys": keys }))),
        false => print(&toml(&keys)),
    }
}

/// The keys as a TOML file; those without a default are commented out.
fn toml(keys: &[ConfigKey]) -> String {
    let mut sections: Vec<(&str, Vec<(&str, &ConfigKey)>)> = Vec::new();
    for key in keys {
        let (section, name) = key.key.rsplit_once('.').unwrap_or(("", &key.key));
        match sections.iter_mut().find(|(other, _)| *other == section) {
            Some((_, members)) => members.push((name, key)),
            None => sections.push((section, vec![(name, key)])),
        }
    }
    // Keys of no section stand first in TOML; a section stands before its parts.
    sections.sort_by_key(|(section, _)| *section);
    let mut out = String::new();
    for (section, members) in &sections {
        if !section.is_empty() {
            out.push_str(&format!("\n[{section}]\n"));
        }
        for (name, key) in members {
            let line = match &key.default {
                Value::Null => format!("# {name} ="),
                value => format!("{name} = {}", written(value)),
            };
            let takes = &key.takes;
            out.push_str(&format!("{line:<32} # {} ({takes})\n", key.description));
        }
    }
    out
}

/// A default as TOML writes it.
fn written(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            let each: Vec<String> = list.iter().map(written).collect();
            format!("[{}]", each.join(", "))
        }
        Value::Object(map) => {
            let each: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{name} = {}", written(value)))
                .collect();
            format!("{{{}}}", each.join(", "))
        }
        other => other.to_string(),
    }
}
