//! Names as anchors and file names.

/// A name as an anchor or a file name: letters, digits and hyphens.
pub(super) fn identifier(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let text: String = name.chars().map(keep).collect();
    match text.trim_matches('-') {
        "" => "unnamed".into(),
        text => text.to_lowercase(),
    }
}
