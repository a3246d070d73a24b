//! The form of numbers, names and texts in reports.

use sha2::{Digest, Sha256};

use crate::disk::hex;

/// A difference between measures, with three decimals and a sign: a typographic minus, and ± for zero.
pub fn difference(value: f64) -> String {
    match format!("{value:+.3}").as_str() {
        "-0.000" | "+0.000" => "±0.000".into(),
        text => text.replace('-', "−"),
    }
}

/// A rank: "1st", "22nd", "113th".
pub(crate) fn ordinal(rank: usize) -> String {
    let ending = match (rank % 100, rank % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{rank}{ending}")
}

/// Words as a list: "a", "a and b", "a, b and c".
pub(crate) fn joined(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Turns an id into a part of a file name or fragment, of ASCII letters, digits, dots, dashes and underscores. Different ids have
/// different slugs: if characters have to be removed, a hash of the id is added.
pub fn slug(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain) {
        return id.to_owned();
    }
    let hash = hex(&Sha256::digest(id.as_bytes())[..6]);
    let plain: String = id.chars().filter(|c| is_plain(*c)).take(40).collect();
    // an id that needs no hash has no dot, so the two kinds of slugs cannot coincide
    format!("{plain}.{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slugs_are_plain_and_tell_ids_apart(a in "\\PC*", b in "[a-z0-9./ -]{0,12}") {
            for id in [&a, &b] {
                let slug = slug(id);
                prop_assert!(!slug.is_empty() && slug.len() <= 64);
                prop_assert!(slug.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)));
            }
            prop_assert_eq!(slug(&a) == slug(&b), a == b);
        }
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(difference(-0.05), "−0.050");
        assert_eq!(difference(-0.0001), "±0.000");
        let ranks = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        assert_eq!(
            ranks.join(" "),
            "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th"
        );
        assert_eq!(joined(&["a", "b", "c"]), "a, b and c");
        assert_eq!(joined(&["a"]), "a");
    }
}
