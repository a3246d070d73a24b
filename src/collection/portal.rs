//! The debate portals from which the arguments of args.me were taken.

use std::path::Path;

use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::names::serde_by_name;

/// A debate portal. Its name is also that of its file in the corpus. Indexes store its number.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray, VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum Portal {
    Debateorg = 1,
    Debatewise,
    Debatepedia,
    Idebate,
    /// The Canadian parliament, which has no debates of users.
    Parliamentary,
}

serde_by_name!(Portal);

impl Portal {
    /// The portal of an argument: from the argument's source ("debateorg", "www.debate.org", "Canadian Parliament"), else from the address of its
    /// page, else from the name of its file.
    pub(super) fn of(source: Option<&str>, url: Option<&str>, file: &Path) -> Option<Self> {
        let named = |text: &str| {
            let letters = text.chars().filter(char::is_ascii_alphabetic);
            let letters: String = letters.collect::<String>().to_lowercase();
            let mut known = <Portal as VariantArray>::VARIANTS.iter().copied();
            let found = known.find(|portal| letters.contains(<&str>::from(portal)));
            found.or_else(|| {
                letters
                    .contains("parliament")
                    .then_some(Portal::Parliamentary)
            })
        };
        let host = url.map(|url| url.split("//").last().unwrap_or(url));
        let host = host.and_then(|rest| rest.split('/').next());
        let file = file.file_name().map(|name| name.to_string_lossy());
        let told = source.and_then(named).or_else(|| host.and_then(named));
        told.or_else(|| file.as_deref().and_then(named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_tells_its_portal_or_its_file_does() {
        let of = |source, url, file| Portal::of(source, url, Path::new(file)).map(<&str>::from);
        for (source, url, file, expected) in [
            (Some("debateorg"), None, "args-me.json", Some("debateorg")),
            (
                Some("Canadian Parliament"),
                None,
                "args-me.json",
                Some("parliamentary"),
            ),
            (
                Some("args.me"),
                Some("http://www.debatepedia.org/en/x"),
                "a.json",
                Some("debatepedia"),
            ),
            (
                None,
                Some("https://www.debate.org/debates/idebate/1"),
                "a.json",
                Some("debateorg"),
            ),
            (None, None, "data/debatewise.json.gz", Some("debatewise")),
            (None, None, "args-me.json", None),
        ] {
            assert_eq!(of(source, url, file), expected, "{source:?} {url:?} {file}");
        }
    }
}
