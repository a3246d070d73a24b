//! The licence of a model that a user adds: what its card or a file of its directory says.

use std::path::Path;

use serde_json::Value;

use crate::disk::regular;
use crate::limits::{MAX_LICENCE_BYTES, MAX_LICENCE_CHARACTERS};

/// The licence of a model that does not say it.
pub(super) const UNKNOWN: &str = "unknown";

/// The files of a licence.
const FILES: [&str; 4] = ["LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE"];

/// The licence in the data of a card: `license`, or `license_name` if that is "other".
pub(super) fn of_card(card: &Value) -> Option<String> {
    let field = |name: &str| match card.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(several) => {
            let several: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
            Some(several.join(", "))
        }
        _ => None,
    };
    let licence = field("license").filter(|licence| licence != "other");
    let licence = licence
        .or_else(|| field("license_name"))
        .or_else(|| field("license"));
    licence.as_deref().and_then(line)
}

/// The licence of the model in a directory: that of the front matter of `README.md`, or the first line of a licence.
pub(super) fn of_directory(dir: &Path) -> Option<String> {
    let read = |name: &str| regular::read_text(&dir.join(name), MAX_LICENCE_BYTES).ok();
    let card = read("README.md").and_then(|text| {
        let (front, _) = text.strip_prefix("---")?.split_once("\n---")?;
        let card: Value = yaml_serde::from_str(front).ok()?;
        of_card(&card)
    });
    card.or_else(|| {
        let text = FILES.iter().find_map(|name| read(name))?;
        text.lines().find_map(line)
    })
}

/// A text as one short line; `None` if there is none.
pub(super) fn line(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_LICENCE_CHARACTERS)
        .collect();
    Some(line).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_card_has_precedence_over_the_file_of_the_licence() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(of_directory(dir.path()), None);
        fs::write(
            dir.path().join("LICENSE"),
            "\n   MIT   License\n\nCopyright",
        )
        .unwrap();
        assert_eq!(of_directory(dir.path()).unwrap(), "MIT License");
        for (card, licence) in [
            (
                "---\nlicense: apache-2.0\ntags: [x]\n---\n# A model",
                "apache-2.0",
            ),
            (
                "---\nlicense: other\nlicense_name: apple-amlr\n---\n",
                "apple-amlr",
            ),
            ("---\nlicense: [mit, cc0-1.0]\n---\n", "mit, cc0-1.0"),
            // neither is front matter
            ("# A model\nlicense: gpl\n", "MIT License"),
            ("---\nlicense: {\n---\n", "MIT License"),
        ] {
            fs::write(dir.path().join("README.md"), card).unwrap();
            assert_eq!(of_directory(dir.path()).unwrap(), licence, "{card}");
        }
    }
}
