//! Modules and paths of Rust source, found by a scan of its tokens.

use std::collections::{BTreeMap, BTreeSet};

/// A word or a mark of the source; comments, strings and numbers are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    text: String,
    line: usize,
}

impl Token {
    fn is(&self, text: &str) -> bool {
        self.text == text
    }

    fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// A path such as `super::sums::Sums`, and the line where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The words between the `::`; `*` ends a glob.
    pub words: Vec<String>,
    /// The line, counted from one.
    pub line: usize,
}

/// A module: a file, or a `mod name { .. }` in one.
#[derive(Debug, Default)]
pub struct Module {
    /// The modules that it declares.
    pub children: BTreeSet<String>,
    /// What `use` binds: name -> path.
    pub bindings: BTreeMap<String, Path>,
    /// Names that are only passed on: bound by a `pub use` and not mentioned elsewhere in the module.
    pub passed_on: BTreeSet<String>,
    /// The paths in its code, `use` left out.
    pub paths: Vec<Path>,
    /// Globs, such as `use super::*`.
    pub globs: Vec<Path>,
    /// Words of its code, `use` left out.
    words: BTreeSet<String>,
}

/// The modules of one file by their path within it; the empty path is the file itself. Code under
/// `#[cfg(test)]` is left out.
pub fn modules(source: &str) -> BTreeMap<Vec<String>, Module> {
    let mut scan = Scan {
        tokens: tokens(source),
        at: 0,
        within: Vec::new(),
        depth: 0,
        modules: BTreeMap::from([(Vec::new(), Module::default())]),
    };
    while scan.at < scan.tokens.len() {
        scan.step();
    }
    let mut modules = scan.modules;
    for module in modules.values_mut() {
        let words = &module.words;
        module.passed_on.retain(|name| !words.contains(name));
    }
    modules
}

/// A walk over the tokens of a file.
struct Scan {
    tokens: Vec<Token>,
    at: usize,
    /// The inline modules around this place, with the depth of braces at which each ends.
    within: Vec<(String, usize)>,
    depth: usize,
    modules: BTreeMap<Vec<String>, Module>,
}

impl Scan {
    fn text(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |t| &t.text)
    }

    fn module(&mut self) -> &mut Module {
        let path = self.within.iter().map(|(name, _)| name.clone()).collect();
        self.modules.entry(path).or_default()
    }

    fn step(&mut self) {
        match self.text(0) {
            "#" if self.text(1) == "[" || self.text(1) == "!" => self.attribute(),
            "mod" if self.text(2) == ";" || self.text(2) == "{" => self.declaration(),
            "use" if self.text(1) != "<" => self.imports(),
            "{" => {
                self.depth += 1;
                self.at += 1;
            }
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                if self
                    .within
                    .last()
                    .is_some_and(|(_, end)| *end == self.depth)
                {
                    self.within.pop();
                }
                self.at += 1;
            }
            "." => self.at += 2,
            _ if self.tokens[self.at].is_word() => self.path(),
            _ => self.at += 1,
        }
    }

    /// Passes an attribute; the item under `#[cfg(test)]` with it.
    fn attribute(&mut self) {
        let start = self.at;
        self.at += if self.text(1) == "!" { 2 } else { 1 };
        self.group();
        let words: Vec<&str> = self.tokens[start..self.at]
            .iter()
            .filter(|token| token.is_word())
            .map(|token| token.text.as_str())
            .collect();
        if words == ["cfg", "test"] {
            self.item();
        }
    }

    /// Passes a group in brackets of any kind, which begins here.
    fn group(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
    }

    /// Passes an item with its attributes: up to a semicolon or the end of its body.
    fn item(&mut self) {
        let mut in_use = false;
        while self.at < self.tokens.len() {
            match self.text(0) {
                ";" => {
                    self.at += 1;
                    break;
                }
                "(" | "[" => self.group(),
                "{" => {
                    self.group();
                    if !in_use {
                        break;
                    }
                }
                word => {
                    in_use |= word == "use";
                    self.at += 1;
                }
            }
        }
    }

    /// `mod name;` or the head of `mod name { .. }`.
    fn declaration(&mut self) {
        let name = self.text(1).to_owned();
        let is_inline = self.text(2) == "{";
        self.module().children.insert(name.clone());
        if is_inline {
            self.within.push((name, self.depth));
            self.depth += 1;
            self.module();
        }
        self.at += 3;
    }

    /// `use` and its tree.
    fn imports(&mut self) {
        let is_public = self.at > 0 && {
            let before = &self.tokens[..self.at];
            let open = before
                .iter()
                .rposition(|token| !token.is_word() && !token.is(")"));
            before.last().is_some_and(|t| t.is("pub"))
                || (before.last().is_some_and(|t| t.is(")"))
                    && open.is_some_and(|k| k > 0 && before[k].is("(") && before[k - 1].is("pub")))
        };
        self.at += 1;
        let mut found = Vec::new();
        self.tree(&[], &mut found);
        let module = self.module();
        for (name, path) in found {
            if name == "*" {
                module.globs.push(path);
                continue;
            }
            if is_public {
                module.passed_on.insert(name.clone());
            }
            module.bindings.insert(name, path);
        }
    }

    /// One branch of the tree of a `use`: the names that it binds, and their paths.
    fn tree(&mut self, stem: &[String], found: &mut Vec<(String, Path)>) {
        let mut words = stem.to_vec();
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        while self.at < self.tokens.len() {
            match self.text(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !["}", ";", ""].contains(&self.text(0)) {
                        self.tree(&words, found);
                        if self.text(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "," | "}" | ";" => break,
                "as" => {
                    let name = self.text(1).to_owned();
                    self.at += 2;
                    found.push((name, Path { words, line }));
                    return;
                }
                // `{self, ..}` binds the stem.
                "self" if !words.is_empty() => self.at += 1,
                word => {
                    words.push(word.to_owned());
                    self.at += 1;
                }
            }
        }
        if let Some(name) = words.last().cloned() {
            found.push((name, Path { words, line }));
        }
    }

    /// A path in the code, or a lone word.
    fn path(&mut self) {
        let line = self.tokens[self.at].line;
        let mut words = vec![self.text(0).to_owned()];
        self.at += 1;
        while self.text(0) == "::" && self.tokens.get(self.at + 1).is_some_and(Token::is_word) {
            words.push(self.text(1).to_owned());
            self.at += 2;
        }
        let module = self.module();
        module.words.insert(words[0].clone());
        if words.len() > 1 {
            module.paths.push(Path { words, line });
        }
    }
}

/// The tokens of a source.
fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while at < chars.len() {
        let end = token_end(&chars, at);
        let first = chars[at];
        let is_word = first.is_alphabetic() || first == '_';
        let is_quoted = matches!(chars[end - 1], '"' | '\'' | '#') && end > at + 1;
        let is_mark = !is_word && !first.is_whitespace() && !first.is_numeric();
        let is_comment = first == '/' && end > at + 1;
        let is_lifetime = first == '\'';
        if (is_word || is_mark) && !is_quoted && !is_comment && !is_lifetime {
            let text: String = chars[at..end].iter().collect();
            let text = text.strip_prefix("r#").unwrap_or(&text).to_owned();
            tokens.push(Token { text, line });
        }
        line += chars[at..end].iter().filter(|&&c| c == '\n').count();
        at = end;
    }
    tokens
}

/// Where the token that begins at `at` ends.
fn token_end(chars: &[char], at: usize) -> usize {
    let get = |k: usize| chars.get(k).copied().unwrap_or('\0');
    let run = |from: usize, keep: &dyn Fn(char) -> bool| {
        (from..chars.len())
            .find(|&k| !keep(chars[k]))
            .unwrap_or(chars.len())
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    match (get(at), get(at + 1)) {
        ('/', '/') => run(at, &|c| c != '\n'),
        ('/', '*') => block_comment_end(chars, at),
        (':', ':') => at + 2,
        ('"', _) => string_end(chars, at + 1),
        // A lifetime has no closing quote.
        ('\'', '\\') => run(at + 3, &|c| c != '\'') + 1,
        ('\'', _) if get(at + 2) == '\'' => at + 3,
        ('\'', _) => run(at + 1, &is_word),
        (c, _) if is_word(c) => {
            let end = run(at, &is_word);
            let prefix: String = chars[at..end].iter().collect();
            match (prefix.as_str(), get(end)) {
                ("r" | "br" | "cr", '"') => raw_string_end(chars, end),
                ("r" | "br" | "cr", '#') if get(run(end, &|c| c == '#')) == '"' => {
                    raw_string_end(chars, end)
                }
                ("r", '#') => run(end + 1, &is_word),
                ("b" | "c", '"') => string_end(chars, end + 1),
                ("b", '\'') => token_end(chars, end),
                _ => end,
            }
        }
        _ => at + 1,
    }
    .min(chars.len())
}

/// Where a string whose content begins at `at` ends.
fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Where a raw string ends whose `#`s or quote begin at `at`.
fn raw_string_end(chars: &[char], at: usize) -> usize {
    let marks = chars[at..].iter().take_while(|&&c| c == '#').count();
    let end: Vec<char> = std::iter::once('"').chain(vec!['#'; marks]).collect();
    let start = at + marks + 1;
    (start..chars.len())
        .find(|&k| chars[k..].starts_with(&end))
        .map_or(chars.len(), |k| k + end.len())
}

/// Where a block comment, which may hold others, ends.
fn block_comment_end(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        if chars[at..].starts_with(&['/', '*']) {
            depth += 1;
            at += 2;
        } else if chars[at..].starts_with(&['*', '/']) {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(source: &str) -> Vec<String> {
        let modules = modules(source);
        let module = &modules[&Vec::new()];
        let bound = module.bindings.values();
        let all = bound.chain(&module.paths).chain(&module.globs);
        all.map(|p| format!("{}:{}", p.words.join("::"), p.line))
            .collect()
    }

    #[test]
    fn trees_of_use_are_unfolded() {
        let source =
            "use crate::a::{\n    self, B, c::{D as E, F},\n};\npub(crate) use super::g::*;";
        let expected = [
            "crate::a::B:2",
            "crate::a::c::D:2",
            "crate::a::c::F:2",
            "crate::a:2",
            "super::g::*:4",
        ];
        assert_eq!(paths(source), expected);
    }

    #[test]
    fn comments_strings_and_tests_are_left_out() {
        let source = "/// [`crate::a`]\n/* crate::b /* crate::c */ */\nconst S: &str = \"crate::d\";\n\
                      const R: &[u8] = br#\"crate::e \" x\"#; const C: char = '\"'; fn f<'a>(x: &'a T) {}\n\
                      #[cfg(test)]\nuse crate::{g};\n#[cfg(test)]\n#[allow(dead_code)]\nmod tests { fn f() { crate::h::i(); } }\n\
                      fn real() { crate::j::k(b'\"', '\\''); }";
        assert_eq!(paths(source), ["crate::j::k:10"]);
    }

    #[test]
    fn a_name_that_is_used_is_not_only_passed_on() {
        let source = "mod a;\npub use a::A;\npub(crate) use a::B;\nuse a::C;\nfn f(b: B) {}";
        let module = &modules(source)[&Vec::new()];
        assert_eq!(module.passed_on, BTreeSet::from(["A".to_owned()]));
    }

    #[test]
    fn modules_within_a_file_are_modules() {
        let source = "mod a { use super::B; fn f() -> impl A + use<'_> { { super::g::h() } } }\nuse crate::c::D;";
        let found = modules(source);
        assert_eq!(
            found[&vec!["a".to_owned()]].paths[0].words,
            ["super", "g", "h"]
        );
        assert!(found[&Vec::new()].bindings.contains_key("D"));
    }
}
