//! Finds the two objects of a comparative question in its title ("Which is better, a laptop or a desktop?").

/// Words that cannot be part of an object, so an object's name ends before or after them.
const ENDS: &str = " is are was were do does did should could would can will shall has have had be \
    i you we one it they he she who which what why how when where whose whether \
    better best worse worst healthier cheaper more less most least really any \
    buy think take learn study prefer choose use get eat drink major read like want own pick \
    a an the this that and but than for in at on to with from of between as by if about while \
    different equal same compare compared regarding concerning \
    bigger faster stronger safer easier harder cheapest first important \
    join win won buying choosing ";

/// Verbs of a choice between two things. In "Should I buy or rent?" they are themselves compared.
const CHOICES: &str = "buy take learn study use get eat drink read own";

/// Verbs between an object and a comparative: "cheese taste better than …".
const SENSES: &str = "taste tastes work works perform performs";

/// Words that stand for an object without naming it.
const STAND_INS: &str = "its his her their these those ones others another";

/// Words between two objects that are named side by side.
const SIDE_BY_SIDE: &str = "or vs vs. versus v.";

/// A word of the title, without the punctuation around it.
struct TitleWord<'a> {
    text: &'a str,
    lower: String,
    /// Whether punctuation separates it from the next word.
    closes: bool,
}

impl TitleWord<'_> {
    /// Whether it is one of `words`, which are separated by blanks.
    fn is(&self, words: &str) -> bool {
        words.split(' ').any(|word| word == self.lower)
    }
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
    let words: Vec<TitleWord> = title
        .split_whitespace()
        .filter_map(|text| {
            let bare = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '+' && c != '#');
            let ends = text.ends_with([',', ':', ';', '?', '!', '.']);
            let lower = text.to_lowercase();
            let connects = SIDE_BY_SIDE.split(' ').any(|word| word == lower);
            (!bare.is_empty()).then(|| TitleWord {
                text: bare,
                lower: bare.to_lowercase(),
                closes: ends && !connects,
            })
        })
        .collect();
    between(&words)
        .or_else(|| side_by_side(&words))
        .or_else(|| compared(&words))
        .or_else(|| alike(&words))
}

/// "the difference between X and Y", "the similarities of", "Who is better between X and Y?".
fn between(words: &[TitleWord]) -> Option<[String; 2]> {
    let at = words.iter().position(|w| w.lower == "between")?;
    let before = words.get(..at)?;
    let mut stems = "differ similar choose choice better compar decid".split(' ');
    if !stems.any(|stem| before.iter().any(|w| w.lower.starts_with(stem))) {
        return None;
    }
    let rest = words.get(at + 1..)?;
    let joins = |w: &TitleWord| w.lower == "and" || w.is(SIDE_BY_SIDE);
    let at = rest.iter().position(|w| joins(w) || w.closes)?;
    if rest[at].closes {
        return None;
    }
    both(&rest[..at], reading(&rest[at + 1..]))
}

/// "Are X and Y the same?".
fn alike(words: &[TitleWord]) -> Option<[String; 2]> {
    let (verb, rest) = words.split_first()?;
    if !verb.is("is are") {
        return None;
    }
    let and = rest.iter().position(|w| w.lower == "and")?;
    let after = rest.get(and + 1..)?;
    let compares = |w: &TitleWord| w.is("same different similar alike equal");
    let after = without_the(&after[..after.iter().position(compares)?]);
    let (first, second) = (rest.get(..and)?, reading(after));
    let article = after.first().is_some_and(|w| w.is("a an the") && !name(w));
    let whole = first.iter().skip(1).chain(second).all(|w| !ends(w))
        && second.len() + usize::from(article) == after.len();
    if whole { pair(first, second) } else { None }
}

/// The words without a "the" at their end.
fn without_the<'a, 'b>(words: &'b [TitleWord<'a>]) -> &'b [TitleWord<'a>] {
    match words {
        [words @ .., the] if the.lower == "the" => words,
        words => words,
    }
}

/// "X or Y", "X vs. Y".
fn side_by_side(words: &[TitleWord]) -> Option<[String; 2]> {
    let at = words.iter().position(|w| w.is(SIDE_BY_SIDE))?;
    let left = words.get(..at)?;
    // three objects: "coffee, green tea or black tea"
    let closed = left.iter().rposition(|w| w.closes);
    if closed.is_some_and(|at| at > 0 && left[at - 1].closes) {
        return None;
    }
    let right = match words.get(at + 1..)? {
        [to, rest @ ..] if to.lower == "to" => rest,
        right => right,
    };
    verbs(left, right).or_else(|| both(back(left), reading(right)))
}

/// "Should I buy or rent?": two verbs without objects.
fn verbs(left: &[TitleWord], right: &[TitleWord]) -> Option<[String; 2]> {
    let [.., subject, first] = left else {
        return None;
    };
    let [second] = right else {
        return None;
    };
    let chooses = subject.is("i you we one to") && (first.is(CHOICES) || second.is(CHOICES));
    chooses.then(|| [first, second].map(|verb| verb.text.to_owned()))
}

/// "X is better than Y", "X over Y", "X different from Y", "X equal to Y", "X the same as Y", "X compared to Y", "X instead of Y".
fn compared(words: &[TitleWord]) -> Option<[String; 2]> {
    for (at, word) in words.iter().enumerate() {
        let after = words.get(at + 1..)?;
        let before = words.get(..at)?;
        let (left, right) = match word.lower.as_str() {
            "than" => (before_comparative(before)?, after),
            "over" => (back(before), after),
            "different" | "equal" | "compare" | "compared" | "differ" | "differs" | "instead"
            | "same" => match after.split_first() {
                Some((next, rest)) if next.is("from to than with of as") => {
                    (back(without_the(before)), rest)
                }
                _ => continue,
            },
            _ => continue,
        };
        let right = match right {
            [to, rest @ ..] if to.lower == "to" => rest,
            // "higher than that of MIT"
            [that, of, rest @ ..] if that.is("that those") && of.is("of in") => rest,
            other => other,
        };
        if let Some(found) = pair(left, reading(right)) {
            return Some(found);
        }
    }
    None
}

/// The object in front of "better than": the words before the comparative. If these are only "it", the object is between the comparative and "than"
/// ("Is it healthier to bake than to fry?").
fn before_comparative<'a, 'b>(before: &'b [TitleWord<'a>]) -> Option<&'b [TitleWord<'a>]> {
    let at = before
        .iter()
        .rposition(|w| w.is("more less worse") || w.lower.ends_with("er") && w.lower.len() > 4)?;
    let mut left = before.get(..at)?;
    while let Some((last, rest)) = left.split_last() {
        let adverb = last.lower.ends_with("ly") || last.is("any much even");
        if !adverb && !last.is(SENSES) && !last.is("is are be a an have has get gets") {
            break;
        }
        left = rest;
    }
    match back(left) {
        [] => Some(back(before)),
        found => Some(found),
    }
}

fn ends(word: &TitleWord) -> bool {
    ENDS.contains(&format!(" {} ", word.lower)) && !name(word)
}

/// Whether the word is an article that begins a name, such as "The Simpsons", and so belongs to it.
fn name(word: &TitleWord) -> bool {
    word.lower == "the" && word.text.starts_with("The")
}

/// The object at the end of `words`.
fn back<'a, 'b>(words: &'b [TitleWord<'a>]) -> &'b [TitleWord<'a>] {
    let end = words.iter().rposition(|w| w.closes || ends(w));
    &words[end.map_or(0, |at| at + 1)..]
}

/// The object at the beginning of `words`, without an article.
fn reading<'a, 'b>(words: &'b [TitleWord<'a>]) -> &'b [TitleWord<'a>] {
    let is_article = |w: &TitleWord| ends(w) && w.is("a an the");
    let start = words.iter().position(|w| !is_article(w));
    let words = &words[start.unwrap_or(words.len())..];
    // "code written in Scala"
    let goes_on = |at: usize, w: &TitleWord| {
        let last = at.checked_sub(1).map_or("", |at| &words[at].lower);
        let mut endings = ["ten", "ed", "made"].iter();
        let participle = last.len() > 4 && endings.any(|end| last.ends_with(end));
        participle && w.is("in by from")
    };
    let mut places = words.iter().enumerate();
    let end = places.find_map(|(at, w)| match (ends(w) && !goes_on(at, w), w.closes) {
        (true, _) => Some(at),
        (false, true) => Some(at + 1),
        _ => None,
    });
    &words[..end.unwrap_or(words.len())]
}

/// The texts of both objects; `None` if one of them is empty.
fn pair(left: &[TitleWord], right: &[TitleWord]) -> Option<[String; 2]> {
    let start = left.iter().position(|w| !ends(w))?;
    let text = |words: &[TitleWord]| {
        let words: Vec<&str> = words.iter().map(|w| w.text).collect();
        words.join(" ")
    };
    // in "how does its history compare to those", these words stand for objects that are named elsewhere
    let stands_for_another = |word: Option<&TitleWord>| word.is_some_and(|w| w.is(STAND_INS));
    if stands_for_another(left.get(start)) || stands_for_another(right.first()) {
        return None;
    }
    right.first()?;
    Some([text(left.get(start..)?), text(right)])
}

/// Two objects named side by side, with the words that they share added to the first.
fn both(left: &[TitleWord], right: &[TitleWord]) -> Option<[String; 2]> {
    let [mut first, second] = pair(left, right)?;
    for word in shared(left, right) {
        first.push(' ');
        first.push_str(word.text);
    }
    Some([first, second])
}

/// The words of the second object that the first one lacks, although they belong to both ("steel or ceramic knives"). Empty if the
/// first object is a name or already contains them ("quicksort or merge sort").
fn shared<'a, 'b>(left: &[TitleWord], right: &'b [TitleWord<'a>]) -> &'b [TitleWord<'a>] {
    let common = |w: &TitleWord| w.text == w.lower;
    // in "LED or LCD displays", both acronyms are kinds of the noun after them
    let acronym = |w: &TitleWord| w.text.len() > 1 && w.text.chars().all(char::is_uppercase);
    match (left, right) {
        ([before @ .., one], [other, rest @ ..])
            if acronym(one) && acronym(other) && before.last().is_none_or(ends) =>
        {
            rest
        }
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
