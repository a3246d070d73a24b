//! Writes the files of a collection, for `generate` and `subset`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use riposte::disk::hex;
use riposte_eval::topic::Topic;
use sha2::{Digest, Sha256};

/// Makes the directory. If it exists, it must be empty.
///
/// # Errors
/// The directory is not empty, or cannot be made.
pub fn new_directory(dir: &Path) -> Result<()> {
    let what = || format!("cannot make the directory {}", dir.display());
    fs::create_dir_all(dir).with_context(what)?;
    if fs::read_dir(dir).with_context(what)?.next().is_some() {
        bail!("{} is not empty: give a new directory", dir.display());
    }
    Ok(())
}

/// Writes a file, and makes its directory.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot make the directory {}", parent.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// The id of an image or a page: a letter and the first 16 hex digits of the SHA-256 of its URL.
pub fn id(letter: char, url: &str) -> String {
    id_of_digits(letter, url, 16)
}

/// As [`id`], with another number of hex digits, 64 at most: the ids of images have 24 from 2023 on.
pub fn id_of_digits(letter: char, url: &str, digits: usize) -> String {
    let digest = Sha256::digest(url.as_bytes());
    format!("{letter}{}", hex(&digest[..digits / 2]))
}

/// The text, escaped for XML.
pub fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The topics in the lab's XML format.
pub fn topics_xml(topics: &[Topic]) -> String {
    let mut xml = String::from("<topics>\n");
    for topic in topics {
        xml.push_str(&format!(
            "  <topic>\n    <number>{}</number>\n",
            xml_text(&topic.id.0)
        ));
        let fields = [
            ("title", Some(&topic.title)),
            ("description", topic.description.as_ref()),
            ("narrative", topic.narrative.as_ref()),
        ];
        for (name, text) in fields {
            if let Some(text) = text {
                xml.push_str(&format!("    <{name}>{}</{name}>\n", xml_text(text)));
            }
        }
        xml.push_str("  </topic>\n");
    }
    xml.push_str("</topics>\n");
    xml
}
