//! Which names of archive entries are safe to write, and which are not.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, ensure};
use serde::Deserialize;

/// What is taken out of an archive, and where it goes. A path that ends in / is a directory with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtractedPath {
    pub from: String,
    pub to: String,
}

/// The directory in that of a data set where riposte keeps what is not finished.
pub(super) const UNFINISHED: &str = ".get";

/// The file whose presence says that a data set is complete.
pub(super) const MARKER: &str = "dataset.toml";

/// Maximum number of bytes of a name in an archive, and of each of its parts. File systems take no longer part.
const MAX_NAME_BYTES: usize = 1024;
const MAX_PART_BYTES: usize = 255;

/// Maximum number of characters of a hostile name that a message shows.
const MAX_SHOWN: usize = 200;

/// Checks that a path with slashes leads into the directory that it is joined to, on every system.
///
/// # Errors
/// It is absolute or leads upwards, or a part of it is empty, too long, or has characters with a special meaning. The message names it.
pub(super) fn check(name: &str) -> Result<()> {
    check_inside(name)?;
    ensure!(
        name.len() <= MAX_NAME_BYTES,
        "a name of {} bytes, of which at most {MAX_NAME_BYTES} are taken",
        name.len()
    );
    for part in name.split('/') {
        let shown = shown(name);
        ensure!(!part.is_empty() && part != ".", "{shown} has an empty part");
        ensure!(
            part.len() <= MAX_PART_BYTES,
            "{shown} has a part of {} bytes",
            part.len()
        );
        let is_odd = |c: char| c.is_control() || "\\:*?\"<>|".contains(c);
        ensure!(
            !part.contains(is_odd) && !part.ends_with(['.', ' ']),
            "{shown} has characters that some systems do not take in names"
        );
    }
    Ok(())
}

/// Checks that a name is relative and leads nowhere upwards, whatever else is in it.
///
/// # Errors
/// It would lead out of a directory. The message names it.
pub(super) fn check_inside(name: &str) -> Result<()> {
    let is_drive = name.as_bytes().get(1) == Some(&b':');
    let leads_out = name.starts_with(['/', '\\'])
        || is_drive
        || name.contains('\0')
        || name.split(['/', '\\']).any(|part| part == "..");
    let shown = shown(name);
    ensure!(
        !leads_out,
        "{shown} would lead out of the directory of the data set"
    );
    Ok(())
}

/// A name as it is printed: the beginning, without characters that a terminal obeys.
fn shown(name: &str) -> String {
    name.escape_debug().take(MAX_SHOWN).collect()
}

/// Whether riposte has files of its own at this path in the directory of a data set.
pub(super) fn is_reserved(path: &Path) -> bool {
    let first = path.components().next();
    first.is_some_and(|first| {
        matches!(first, Component::Normal(name)
            if name.eq_ignore_ascii_case(UNFINISHED) || name.eq_ignore_ascii_case(MARKER))
    })
}

/// Where an entry of an archive goes; `None` if it is not wanted. `name` may begin with `./`.
///
/// # Errors
/// The name is hostile. The message names it.
pub(super) fn place(taken: &[ExtractedPath], name: &str) -> Result<Option<PathBuf>> {
    let name = name.strip_prefix("./").unwrap_or(name);
    check_inside(name)?;
    // publishers often put everything into one directory
    let below = name.split_once('/').map(|(_, below)| below);
    let found = [Some(name), below].into_iter().flatten().find_map(|name| {
        taken
            .iter()
            .find_map(|ExtractedPath { from, to }| match from {
                from if from.is_empty() || from.ends_with('/') => {
                    let rest = name.strip_prefix(from.as_str())?;
                    (!rest.is_empty()).then(|| format!("{to}{rest}"))
                }
                from => (name == from).then(|| to.clone()),
            })
    });
    let Some(place) = found else {
        return Ok(None);
    };
    // directories are made when a file in them is written
    if place.ends_with('/') {
        return Ok(None);
    }
    check(&place)?;
    let path = PathBuf::from(&place);
    ensure!(
        !is_reserved(&path),
        "{} is a name that riposte needs itself",
        shown(&place)
    );
    Ok(Some(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(from: &str, to: &str) -> Vec<ExtractedPath> {
        let (from, to) = (from.to_owned(), to.to_owned());
        vec![ExtractedPath { from, to }]
    }

    #[test]
    fn an_entry_goes_to_its_place_with_or_without_the_directory_around_all() {
        let images = taken("images/", "images/");
        let to = |name: &str| {
            place(&images, name)
                .unwrap()
                .map(|p| p.display().to_string())
        };
        assert_eq!(to("images/I0/a.png").unwrap(), "images/I0/a.png");
        assert_eq!(to("./images/a.png").unwrap(), "images/a.png");
        assert_eq!(to("touche22/images/a.png").unwrap(), "images/a.png");
        for other in [
            "README.txt",
            "a/b/images/a.png",
            "images/",
            "images",
            "images/I0/",
        ] {
            assert_eq!(to(other), None, "{other}");
        }
        let file = taken("topics-1.xml", "topics.xml");
        let to = |name: &str| place(&file, name).unwrap();
        assert_eq!(to("topics-1.xml"), Some("topics.xml".into()));
        assert_eq!(to("x/topics-1.xml"), Some("topics.xml".into()));
        assert_eq!(to("topics-1.xml.sig"), None);
    }

    #[test]
    fn a_hostile_name_is_an_error_that_names_it() {
        let all = taken("", "");
        for name in [
            "../evil",
            "a/../../evil",
            "/etc/passwd",
            "\\\\server\\share",
            "C:\\evil",
            "..\\evil",
            "a/b:stream",
            "a\nb",
            "a\u{1b}[2J",
            "a//b",
            ".get/lock",
            "dataset.toml",
            "DATASET.TOML",
            "con./a",
            &"x".repeat(256),
            &"x/".repeat(600),
            "nul\0byte",
        ] {
            // a directory has no bytes of its own
            let name = name.trim_end_matches('/');
            let error = place(&all, name).unwrap_err().to_string();
            assert!(!error.contains(['\n', '\u{1b}', '\0']), "{error:?}");
        }
        // what is not wanted may have any name that stays inside
        let one = taken("topics.xml", "topics.xml");
        assert_eq!(place(&one, "__MACOSX/._a:b").unwrap(), None);
        assert!(place(&one, "../topics.xml").is_err());
    }
}
