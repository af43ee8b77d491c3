//! The order of the library's modules: a room uses rooms before it, and files of a room do not use
//! each other in a circle.
//!
//! DESIGN.md holds the order, in the block fenced as `order`.

mod scan;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path as FilePath;

use crate::workspace::Workspace;
use scan::{Module, Path};

/// The file of the crate's root.
const ROOT: &str = "lib.rs";

/// Checks the library against the order in DESIGN.md.
pub fn check(workspace: &Workspace) -> Result<(), String> {
    let page = workspace.root().join("DESIGN.md");
    let text = fs::read_to_string(&page).map_err(|error| unreadable(&page, &error))?;
    let rooms = rooms(&text)?;
    let folder = workspace.root().join("crates/ergode/src");
    let mut sources = BTreeMap::new();
    collect(&folder, "", &mut sources)?;
    let faults = faults(&rooms, &sources);
    if faults.is_empty() {
        Ok(())
    } else {
        let shown = folder.strip_prefix(workspace.root()).unwrap_or(&folder);
        let count = faults.len();
        Err(format!(
            "{}\n{count} faults in {}",
            faults.join("\n"),
            shown.display()
        ))
    }
}

/// The rooms in order: the words of the block fenced as `order`, without what follows a `#`.
fn rooms(page: &str) -> Result<Vec<String>, String> {
    let (_, rest) = page
        .split_once("\n```order\n")
        .ok_or("DESIGN.md has no block fenced as `order`")?;
    let block = rest.split("\n```").next().unwrap_or(rest);
    let lines = block
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let rooms: Vec<String> = lines
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect();
    match rooms
        .iter()
        .enumerate()
        .find(|(k, room)| rooms[..*k].contains(room))
    {
        Some((_, room)) => Err(format!("DESIGN.md: `{room}` stands twice in the order")),
        None => Ok(rooms),
    }
}

/// Reads the Rust files below a folder: path within it -> text.
fn collect(
    folder: &FilePath,
    prefix: &str,
    sources: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), sources)?;
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
            sources.insert(format!("{prefix}{name}"), text);
        }
    }
    Ok(())
}

fn unreadable(path: &FilePath, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

/// Every use against the order and every cycle, one line or block of lines each.
fn faults(rooms: &[String], sources: &BTreeMap<String, String>) -> Vec<String> {
    let library = Library::new(sources);
    let uses = library.uses();
    let mut faults = backward(rooms, &uses);
    let unlisted: BTreeSet<&str> = sources.keys().map(|file| room_of(file)).collect();
    for room in unlisted {
        if room != "lib" && !rooms.iter().any(|listed| listed == room) {
            faults.push(format!("`{room}` is not in the order of DESIGN.md"));
        }
    }
    faults.extend(cycles(&uses));
    faults
}

/// One file uses another.
#[derive(Clone, Debug)]
struct Use {
    from: String,
    line: usize,
    to: String,
    path: String,
}

impl Use {
    fn describe(&self) -> String {
        format!(
            "{}:{} uses `{}` of {}",
            self.from, self.line, self.path, self.to
        )
    }
}

/// The uses of a room that stands later in the order. The root may use everything.
fn backward(rooms: &[String], uses: &[Use]) -> Vec<String> {
    let rank = |file: &str| {
        let room = room_of(file);
        rooms.iter().position(|listed| listed == room)
    };
    uses.iter()
        .filter(|one| one.from != ROOT && room_of(&one.from) != room_of(&one.to))
        .filter(|one| match (rank(&one.from), rank(&one.to)) {
            (Some(from), Some(to)) => to > from,
            (_, None) => one.to == ROOT,
            (None, _) => false,
        })
        .map(|one| format!("{}: against the order of DESIGN.md", one.describe()))
        .collect()
}

/// One cycle, the shortest, through each file that is in any; files of different rooms are not compared.
fn cycles(uses: &[Use]) -> Vec<String> {
    let mut edges: BTreeMap<&str, Vec<&Use>> = BTreeMap::new();
    for one in uses {
        if one.from != one.to && room_of(&one.from) == room_of(&one.to) {
            edges.entry(&one.from).or_default().push(one);
        }
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for &start in edges.keys() {
        let Some(cycle) = shortest_cycle(&edges, start) else {
            continue;
        };
        let files: BTreeSet<&str> = cycle.iter().map(|one| one.from.as_str()).collect();
        if seen.insert(files) {
            let steps: Vec<String> = cycle.iter().map(|one| one.describe()).collect();
            found.push(format!("a cycle of files:\n  {}", steps.join("\n  ")));
        }
    }
    found
}

/// The shortest way from a file back to itself.
fn shortest_cycle<'a>(
    edges: &BTreeMap<&'a str, Vec<&'a Use>>,
    start: &'a str,
) -> Option<Vec<&'a Use>> {
    let mut reached: BTreeMap<&str, &Use> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for one in edges.get(file).into_iter().flatten() {
            if reached.contains_key(one.to.as_str()) {
                continue;
            }
            reached.insert(&one.to, one);
            if one.to == start {
                let mut cycle = vec![*one];
                while cycle[cycle.len() - 1].from != start {
                    let last = cycle[cycle.len() - 1];
                    cycle.push(reached[last.from.as_str()]);
                }
                cycle.reverse();
                return Some(cycle);
            }
            queue.push_back(&one.to);
        }
    }
    None
}

/// The room of a file: its top-level folder or its own name.
fn room_of(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// What a path names.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    Module(Vec<String>),
    /// Something defined in this module.
    Item(Vec<String>),
    /// Another crate, or a name that no `use` binds.
    Elsewhere,
}

/// The modules of the crate by their paths, each with its file.
struct Library {
    modules: BTreeMap<Vec<String>, (String, Module)>,
}

impl Library {
    fn new(sources: &BTreeMap<String, String>) -> Self {
        let mut modules = BTreeMap::new();
        for (file, text) in sources {
            let stem = module_path(file);
            for (inner, module) in scan::modules(text) {
                modules.insert([stem.clone(), inner].concat(), (file.clone(), module));
            }
        }
        Self { modules }
    }

    /// Every use of one file by another.
    fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (place, (file, module)) in &self.modules {
            // A file that its parent does not declare is a test's.
            if !self.is_declared(place) {
                continue;
            }
            let bound = module.bindings.iter();
            let bound = bound.filter(|(name, _)| !module.passed_on.contains(*name));
            let paths = bound
                .map(|(_, path)| path)
                .chain(&module.paths)
                .chain(&module.globs);
            for path in paths {
                uses.extend(self.use_of(place, file, path));
            }
        }
        uses
    }

    /// The use that a path is, if it leads to another file. A `use` of a module alone counts only
    /// between rooms: within a room, the paths through it count.
    fn use_of(&self, place: &[String], file: &str, path: &Path) -> Option<Use> {
        let is_glob = path.words.last().is_some_and(|word| word == "*");
        let words = &path.words[..path.words.len() - usize::from(is_glob)];
        let (target, is_module) = match self.resolve(place, words, 0) {
            Target::Item(module) => (module, false),
            Target::Module(module) => (module, true),
            Target::Elsewhere => return None,
        };
        let (to, _) = self.modules.get(&target)?;
        let is_within = room_of(to) == room_of(file) || (to == ROOT && is_module);
        if to == file || (is_module && is_within && !is_glob) {
            return None;
        }
        Some(Use {
            from: file.to_owned(),
            line: path.line,
            to: to.clone(),
            path: path.words.join("::"),
        })
    }

    fn is_declared(&self, place: &[String]) -> bool {
        (0..place.len()).all(|k| {
            let parent = self.modules.get(&place[..k]);
            parent.is_some_and(|(_, module)| module.children.contains(&place[k]))
        })
    }

    /// What a path in the module `place` names, seen through re-exports.
    fn resolve(&self, place: &[String], words: &[String], steps: usize) -> Target {
        let Some((first, rest)) = words.split_first() else {
            return Target::Module(place.to_vec());
        };
        let Some((_, module)) = self.modules.get(place).filter(|_| steps < 64) else {
            return Target::Elsewhere;
        };
        match first.as_str() {
            "crate" => self.inside(Vec::new(), rest, steps),
            "self" => self.inside(place.to_vec(), rest, steps),
            "super" => {
                let mut rest = rest;
                let mut parent = &place[..place.len().saturating_sub(1)];
                while rest.first().is_some_and(|word| word == "super") {
                    rest = &rest[1..];
                    parent = &parent[..parent.len().saturating_sub(1)];
                }
                self.inside(parent.to_vec(), rest, steps)
            }
            name if module.children.contains(name) || module.bindings.contains_key(name) => {
                self.inside(place.to_vec(), words, steps)
            }
            _ => Target::Elsewhere,
        }
    }

    /// What the rest of a path names in the module `place`.
    fn inside(&self, mut place: Vec<String>, words: &[String], steps: usize) -> Target {
        let Some((first, rest)) = words.split_first() else {
            return Target::Module(place);
        };
        let Some((_, module)) = self.modules.get(&place) else {
            return Target::Elsewhere;
        };
        if module.children.contains(first) {
            place.push(first.clone());
            return self.inside(place, rest, steps);
        }
        let Some(path) = module.bindings.get(first).filter(|_| steps < 64) else {
            return Target::Item(place);
        };
        match self.resolve(&place, &path.words, steps + 1) {
            Target::Module(module) => self.inside(module, rest, steps + 1),
            other => other,
        }
    }
}

/// The path of the module that a file is.
fn module_path(file: &str) -> Vec<String> {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let mut words: Vec<String> = stem.split('/').map(str::to_owned).collect();
    if file == ROOT || words.last().is_some_and(|word| word == "mod") {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Design\n```order\nerror  # used by all\ndata random\nscore\n```\nmore\n";

    /// A small library that keeps the order.
    fn sources() -> BTreeMap<String, String> {
        [
            ("lib.rs", "mod data;\nmod error;\nmod random;\nmod score;\npub use score::{Fit, Score};\n"),
            ("error.rs", "pub struct Error;\n"),
            ("random.rs", "//! Used by [`crate::score`].\nuse crate::data::Rows;\n"),
            ("data/mod.rs", "mod rows;\nmod sums;\npub use rows::Rows;\npub(crate) use sums::Sums;\n"),
            ("data/rows.rs", "use crate::error::Error;\npub struct Rows(Error);\n"),
            ("data/sums.rs", "use super::Rows;\npub struct Sums(Rows);\n#[cfg(test)]\nmod tests { use crate::score::Fit; }\n"),
            ("score/mod.rs", "mod fit;\nmod field;\npub use fit::Fit;\npub use field::Score;\n"),
            ("score/field.rs", "pub trait Score {}\n"),
            ("score/fit.rs", "use super::Score;\nuse crate::{data, random};\npub struct Fit(data::Sums);\n"),
        ]
        .map(|(file, text)| (file.to_owned(), text.to_owned()))
        .into()
    }

    /// The faults of the small library with one file replaced.
    fn with(file: &str, text: &str) -> Vec<String> {
        let mut sources = sources();
        sources.insert(file.to_owned(), text.to_owned());
        faults(&rooms(PAGE).unwrap(), &sources)
    }

    #[test]
    fn the_order_is_read_from_the_page() {
        assert_eq!(rooms(PAGE).unwrap(), ["error", "data", "random", "score"]);
        assert!(rooms("# Design\n").is_err());
        assert!(
            rooms("\n```order\na b\na\n```\n")
                .unwrap_err()
                .contains("twice")
        );
        assert_eq!(faults(&rooms(PAGE).unwrap(), &sources()), [""; 0]);
    }

    #[test]
    fn a_use_against_the_order_is_a_fault() {
        let fault = "data/rows.rs:2 uses `crate::score::Score` of score/field.rs: against the order of DESIGN.md";
        assert_eq!(
            with(
                "data/rows.rs",
                "\nuse crate::score::Score;\npub struct Rows;"
            ),
            [fault]
        );
        // However it is written, and through the names at the root.
        for text in [
            "use crate::{error::Error, score};",
            "use crate::Fit;",
            "use super::super::random;",
            "fn f() { crate::score::Fit::new() }",
            "use crate::score as other;",
            "use crate::score::*;",
            "mod inner { use super::super::super::score::Fit; }",
        ] {
            let faults = with("data/rows.rs", &format!("pub struct Rows;\n{text}"));
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert!(faults[0].starts_with("data/rows.rs:2 uses"), "{faults:?}");
        }
        assert_eq!(
            with("noise.rs", ""),
            ["`noise` is not in the order of DESIGN.md"]
        );
    }

    #[test]
    fn a_cycle_of_files_is_a_fault() {
        let rows = "use super::Sums;\npub struct Rows(Sums);";
        let expected = "a cycle of files:\n  data/rows.rs:1 uses `super::Sums` of data/sums.rs\n  \
                        data/sums.rs:1 uses `super::Rows` of data/rows.rs";
        assert_eq!(with("data/rows.rs", rows), [expected]);
        // A parent that defines what its child uses, and uses the child.
        for parent in [
            "mod fit;\nmod field;\nuse fit::Fit;\nuse field::A;\npub trait Score {}\nfn f(x: Fit) {}",
            "mod fit;\nmod field;\npub use fit::Fit;\npub trait Score {}\nfn f(x: Fit) {}",
            "mod fit;\nmod field;\npub trait Score {}\nfn f(x: fit::Fit) {}",
        ] {
            let faults = with("score/mod.rs", parent);
            assert_eq!(faults.len(), 1, "{parent}: {faults:?}");
            assert!(faults[0].contains("score/mod.rs") && faults[0].contains("score/fit.rs"));
        }
    }
}
