//! Finds the two objects of a comparative question in its title ("Which is better, a laptop or a desktop?").

/// Words that cannot be part of an object, so an object's name ends before or after them.
const ENDS: &str = " is are was were do does did should could would can will shall has have had be \
    i you we one it they he she who which what why how when where whose whether \
    better best worse worst healthier cheaper more less most least really any \
    buy think take learn study prefer choose use get eat drink major read like want own pick \
    a an the this that and but than for in at on to with from of between as by if about while \
    different equal compared regarding concerning ";

/// Verbs between an object and a comparative: "cheese taste better than …".
const SENSES: [&str; 6] = ["taste", "tastes", "work", "works", "perform", "performs"];

/// Words between two objects that are named side by side.
const SIDE_BY_SIDE: [&str; 5] = ["or", "vs", "vs.", "versus", "v."];

/// A word of the title, without the punctuation around it.
struct Word<'a> {
    text: &'a str,
    lower: String,
    /// Whether punctuation separates it from the next word.
    closes: bool,
}

/// Splits a list of exactly two objects, as in a topic's `<objects>`: "laptop, desktop", "laptop vs. desktop", "laptop or desktop".
pub(crate) fn split_list(text: &str) -> Option<[String; 2]> {
    let tidy = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let both = |parts: Vec<&str>| match parts.as_slice() {
        [a, b] if !a.trim().is_empty() && !b.trim().is_empty() => {
            Some([a.trim().to_owned(), b.trim().to_owned()])
        }
        _ => None,
    };
    [", ", ",", " vs. ", " vs ", " versus ", " or ", "/", " and "]
        .iter()
        .find_map(|mark| both(tidy.split(mark).collect()))
}

/// The two objects that a comparative question names in its title; `None` if it compares nothing, or more than two things. If both
/// share a head noun, each gets it: "steel or ceramic knives" are "steel knives" and "ceramic knives".
pub fn from_title(title: &str) -> Option<[String; 2]> {
    let words: Vec<Word> = title
        .split_whitespace()
        .filter_map(|text| {
            let bare = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '+' && c != '#');
            let ends = text.ends_with([',', ':', ';', '?', '!', '.']);
            let connects = SIDE_BY_SIDE.contains(&text.to_lowercase().as_str());
            (!bare.is_empty()).then(|| Word {
                text: bare,
                lower: bare.to_lowercase(),
                closes: ends && !connects,
            })
        })
        .collect();
    between(&words)
        .or_else(|| side_by_side(&words))
        .or_else(|| compared(&words))
}

/// "the difference between X and Y".
fn between(words: &[Word]) -> Option<[String; 2]> {
    let start = words
        .iter()
        .position(|w| w.lower.starts_with("differ"))
        .and_then(|at| {
            let next = words.get(at + 1)?;
            (next.lower == "between").then_some(at + 2)
        })?;
    let rest = words.get(start..)?;
    let at = rest
        .iter()
        .position(|w| w.lower == "and" || SIDE_BY_SIDE.contains(&w.lower.as_str()) || w.closes)?;
    if rest.get(at).is_some_and(|w| w.closes) {
        return None;
    }
    both(rest.get(..at)?, reading(rest.get(at + 1..)?))
}

/// "X or Y", "X vs. Y".
fn side_by_side(words: &[Word]) -> Option<[String; 2]> {
    let at = words
        .iter()
        .position(|w| SIDE_BY_SIDE.contains(&w.lower.as_str()))?;
    let left = words.get(..at)?;
    // three objects: "coffee, green tea or black tea"
    let closed = left.iter().rposition(|w| w.closes);
    if closed.is_some_and(|c| {
        left.get(..c)
            .is_some_and(|before| before.last().is_some_and(|w| w.closes))
    }) {
        return None;
    }
    both(back(left), reading(words.get(at + 1..)?))
}

/// "X is better than Y", "X over Y", "X different from Y", "X equal to Y".
fn compared(words: &[Word]) -> Option<[String; 2]> {
    for (at, word) in words.iter().enumerate() {
        let after = words.get(at + 1..)?;
        let before = words.get(..at)?;
        let (left, right) = match word.lower.as_str() {
            "than" => (before_comparative(before)?, after),
            "over" => (back(before), after),
            "different" | "equal" => {
                let (next, rest) = after.split_first()?;
                if !["from", "to", "than"].contains(&next.lower.as_str()) {
                    continue;
                }
                (back(before), rest)
            }
            _ => continue,
        };
        let right = match right {
            [to, rest @ ..] if to.lower == "to" => rest,
            other => other,
        };
        if let Some(found) = pair(left, reading(right)) {
            return Some(found);
        }
    }
    None
}

/// The object before "… better than": left of the comparative or, if only "it" is there, between the comparative and "than" ("Is
/// it healthier to bake than to fry?").
fn before_comparative<'a, 'b>(before: &'b [Word<'a>]) -> Option<&'b [Word<'a>]> {
    let at = before.iter().rposition(|w| {
        matches!(w.lower.as_str(), "more" | "less" | "worse")
            || w.lower.ends_with("er") && w.lower.len() > 4
    })?;
    let mut left = before.get(..at)?;
    while let Some((last, rest)) = left.split_last() {
        let adverb =
            last.lower.ends_with("ly") || ["any", "much", "even"].contains(&last.lower.as_str());
        if !adverb
            && !SENSES.contains(&last.lower.as_str())
            && !matches!(last.lower.as_str(), "is" | "are")
        {
            break;
        }
        left = rest;
    }
    match back(left) {
        [] => Some(back(before)),
        found => Some(found),
    }
}

fn ends(word: &Word) -> bool {
    ENDS.contains(&format!(" {} ", word.lower)) && !name(word)
}

/// Whether the word is an article that begins a name, such as "The Simpsons", and so belongs to it.
fn name(word: &Word) -> bool {
    word.lower == "the" && word.text.starts_with("The")
}

/// The object at the end of `words`.
fn back<'a, 'b>(words: &'b [Word<'a>]) -> &'b [Word<'a>] {
    let start = words
        .iter()
        .rposition(|w| w.closes || ends(w))
        .map_or(0, |at| at + 1);
    words.get(start..).unwrap_or_default()
}

/// The object at the beginning of `words`, without an article.
fn reading<'a, 'b>(words: &'b [Word<'a>]) -> &'b [Word<'a>] {
    let start = words
        .iter()
        .position(|w| !(ends(w) && ["a", "an", "the"].contains(&w.lower.as_str())))
        .unwrap_or(words.len());
    let words = words.get(start..).unwrap_or_default();
    let end = words
        .iter()
        .enumerate()
        .find_map(|(at, w)| match (ends(w), w.closes) {
            (true, _) => Some(at),
            (false, true) => Some(at + 1),
            _ => None,
        });
    words.get(..end.unwrap_or(words.len())).unwrap_or_default()
}

/// The texts of both objects; `None` if one of them is empty.
fn pair(left: &[Word], right: &[Word]) -> Option<[String; 2]> {
    let start = left.iter().position(|w| !ends(w))?;
    let text = |words: &[Word]| {
        let words: Vec<&str> = words.iter().map(|w| w.text).collect();
        words.join(" ")
    };
    right.first()?;
    Some([text(left.get(start..)?), text(right)])
}

/// Two objects named side by side, with the words that they share added to the first.
fn both(left: &[Word], right: &[Word]) -> Option<[String; 2]> {
    let [mut first, second] = pair(left, right)?;
    for word in shared(left, right) {
        first.push(' ');
        first.push_str(word.text);
    }
    Some([first, second])
}

/// The words of the second object that the first one lacks, although they belong to both ("steel or ceramic knives"). Empty if the
/// first object is a name or already contains them ("quicksort or merge sort").
fn shared<'a, 'b>(left: &[Word], right: &'b [Word<'a>]) -> &'b [Word<'a>] {
    let common = |w: &Word| w.text == w.lower;
    match (left, right) {
        ([one], [_, more @ .., head])
            if common(one) && common(head) && !one.lower.contains(head.lower.as_str()) =>
        {
            &right[right.len() - more.len() - 1..]
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_a_title() {
        for (title, first, second) in [
            (
                "Which is better, a laptop or a desktop?",
                "laptop",
                "desktop",
            ),
            (
                "What is the difference between sex and love?",
                "sex",
                "love",
            ),
            ("Is pasta healthier than pizza?", "pasta", "pizza"),
            (
                "Psoriasis vs Eczema: What is the difference?",
                "Psoriasis",
                "Eczema",
            ),
            (
                "Train or plane? Which is the better choice?",
                "Train",
                "plane",
            ),
            (
                "Should I buy steel or ceramic knives?",
                "steel knives",
                "ceramic knives",
            ),
            (
                "What is better for the environment, a real or a fake Christmas tree?",
                "real Christmas tree",
                "fake Christmas tree",
            ),
            (
                "Which is better, Family Guy or The Simpsons?",
                "Family Guy",
                "The Simpsons",
            ),
            (
                "Which algorithm is better, quicksort or merge sort?",
                "quicksort",
                "merge sort",
            ),
            (
                "Is it healthier to bake than to fry food?",
                "bake",
                "fry food",
            ),
            (
                "Should I prefer a Leica camera over Nikon for portrait photographs?",
                "Leica camera",
                "Nikon",
            ),
            (
                "What are the pros and cons of wood vs. stone mulch?",
                "wood mulch",
                "stone mulch",
            ),
            (
                "Does unpasteurized cheese taste better than pasteurized cheese?",
                "unpasteurized cheese",
                "pasteurized cheese",
            ),
            (
                "What are the differences between biodegradable and non-biodegradable wastes?",
                "biodegradable wastes",
                "non-biodegradable wastes",
            ),
            (
                "How is a Master's degree different from a Bachelor's degree?",
                "Master's degree",
                "Bachelor's degree",
            ),
            ("C++ vs C#", "C++", "C#"),
        ] {
            let expected = [first.to_owned(), second.to_owned()];
            assert_eq!(from_title(title), Some(expected), "{title}");
        }
        for title in [
            "What are the best dish detergents?",
            "How to sleep better?",
            "What is the coldest temperature ever recorded on Earth, and where?",
            "Which is healthiest: coffee, green tea or black tea and why?",
            "What's the difference between coffee, espresso, cappuccino, and latte?",
            "or",
            "",
        ] {
            assert_eq!(from_title(title), None, "{title}");
        }
    }

    #[test]
    fn two_objects_are_listed_with_a_comma_or_a_word() {
        for text in [
            "laptop, desktop",
            "laptop vs. desktop",
            " laptop\n or desktop",
            "laptop/desktop",
        ] {
            assert_eq!(
                split_list(text),
                Some(["laptop".into(), "desktop".into()]),
                "{text}"
            );
        }
        for text in ["laptop", "", ",", "a, b, c"] {
            assert_eq!(split_list(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_title_is_read(title in "\\PC{0,80}", a in "[a-z ,.?]{0,20}", b in "[a-z ,.?]{0,20}") {
            from_title(&title);
            split_list(&title);
            from_title(&format!("Is {a} better than {b}"));
            from_title(&format!("{a} or {b}"));
        }
    }
}
