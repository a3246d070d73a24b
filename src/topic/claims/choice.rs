//! Questions with two answers besides yes and no: "Cats or dogs?", "Is it right or wrong?", "What are the pros and cons of …?".

use super::clause::{Clause, VerbKind};
use super::nouns::is_plural;
use super::verbs::{base_of_third_person, gerund, third_person};
use super::words::{Word, read, text, uncapitalised};

/// Words that are opposites, the better one first.
const OPPOSITES: [(&str, &str); 21] = [
    ("right", "wrong"),
    ("good", "bad"),
    ("good", "evil"),
    ("good", "harmful"),
    ("safe", "dangerous"),
    ("safe", "harmful"),
    ("helpful", "harmful"),
    ("beneficial", "harmful"),
    ("healthy", "harmful"),
    ("useful", "useless"),
    ("positive", "negative"),
    ("true", "false"),
    ("dead", "alive"),
    ("virtue", "vice"),
    ("blessing", "curse"),
    ("friend", "foe"),
    ("help", "hindrance"),
    ("boon", "bane"),
    ("fact", "fiction"),
    ("fact", "myth"),
    ("benefit", "burden"),
];

fn are_opposites(one: &str, other: &str) -> bool {
    let listed = |a: &str, b: &str| OPPOSITES.contains(&(a, b));
    let prefixed = |a: &str, b: &str| {
        let prefixes = ["un", "il", "im", "in", "ir", "dis"];
        prefixes
            .iter()
            .any(|prefix| b.strip_prefix(prefix) == Some(a))
    };
    listed(one, other) || listed(other, one) || prefixed(one, other) || prefixed(other, one)
}

/// The two clauses of a question that names both answers in its predicate ("right or wrong", "a blessing or a curse").
pub(super) fn alternatives(clause: &Clause) -> Option<[Clause; 2]> {
    let or = clause.rest.iter().position(|word| word.lower == "or")?;
    let one = or.checked_sub(1)?;
    let article = |at: usize| usize::from(clause.rest.get(at).is_some_and(|word| word.tag == "DT"));
    let other = or + 1 + article(or + 1);
    if !are_opposites(&clause.rest.get(one)?.lower, &clause.rest.get(other)?.lower) {
        return None;
    }
    let (mut first, mut second) = (clause.clone(), clause.clone());
    first.rest.drain(or..=other);
    let with_article = usize::from(other > or + 1);
    second.rest.drain(one.checked_sub(with_article)?..=or);
    Some([first, second])
}

/// Whether a yes-no question asks for one of two things: "Should I buy or rent?", "Is Kenya or Tanzania better?".
pub(super) fn is_choice(clause: &Clause) -> bool {
    let has_or = |words: &[Word]| words.iter().any(|word| word.is(&["or", "vs", "versus"]));
    let compares = |word: &Word| matches!(word.tag, "JJR" | "JJS" | "RBR" | "RBS");
    let asks_for_advice = clause
        .subject
        .iter()
        .all(|word| word.is(&["i", "one", "you", "we"]));
    let chooses = clause.rest.iter().any(|word| {
        word.is(&[
            "prefer", "choose", "buy", "get", "take", "learn", "study", "major", "pick", "use",
            "drink", "eat", "rent",
        ])
    });
    match clause.kind {
        VerbKind::Be => has_or(&clause.subject) && clause.rest.iter().any(compares),
        _ => {
            has_or(&clause.rest)
                && asks_for_advice
                && (chooses && !clause.subject.iter().any(|word| word.lower == "we")
                    || clause.subject.iter().any(|word| word.lower == "i"))
        }
    }
}

/// "A is better than B" and the reverse, for a title that names two objects. The comparative comes from the title.
///
/// `clause` is the yes-no question, if the title is one.
pub(super) fn comparison(
    words: &[Word],
    objects: &[String; 2],
    clause: Option<&Clause>,
) -> [String; 2] {
    let [mut first, second] = objects.each_ref().map(|object| phrase(words, object));
    // "Dogs vs. cats": the first word has its capital from its place, if the other one is a common noun
    if let ([first], [other]) = (first.as_mut_slice(), second.as_slice())
        && other.tag == "NNS"
        && first.lower.ends_with('s')
        && words.first().is_some_and(|word| word.text == first.text)
    {
        *first = first.replaced(&first.lower);
        first.tag = "NNS";
    }
    if let Some(between) = difference(words, &first, &second) {
        return between;
    }
    let compared = clause.map_or_else(|| compared(words), compared_by_clause);
    let side = |one: &[Word], other: &[Word]| {
        let verb_phrase = compared
            .clone()
            .unwrap_or_else(|| vec![Word::new("is", "VBZ"), Word::new("better", "JJR")]);
        let verb_phrase = agreeing(&verb_phrase, is_plural(one));
        text(&[one, &verb_phrase, &[Word::new("than", "IN")], other].concat())
    };
    [side(&first, &second), side(&second, &first)]
}

/// "there is a difference between A and B", for a question that asks what it is.
fn difference(words: &[Word], first: &[Word], second: &[Word]) -> Option<[String; 2]> {
    let at = words
        .iter()
        .position(|word| word.is(&["difference", "differences"]))?;
    let rest = words.get(at + 1..)?;
    let between = if rest.first().is_some_and(|word| word.is(&["between"])) {
        let end = rest
            .iter()
            .position(|word| matches!(word.text.as_str(), "?" | "," | ":"));
        let mut between = rest.get(..end.unwrap_or(rest.len()))?.to_vec();
        // "between A vs B"
        for word in &mut between {
            if word.is(&["vs", "vs.", "versus", "or"]) {
                *word = word.replaced("and");
            }
        }
        text(&between)
    } else {
        format!("between {} and {}", text(first), text(second))
    };
    Some([
        format!("there is a difference {between}"),
        format!("there is no difference {between}"),
    ])
}

/// The verb and the comparative of "Is A or B better for …?": "is better for …".
fn compared_by_clause(clause: &Clause) -> Option<Vec<Word>> {
    if clause.kind != VerbKind::Be {
        return None;
    }
    let mut rest = clause.rest.clone();
    if let [the, best, ..] = rest.as_slice()
        && the.lower == "the"
        && best.lower == "best"
        && rest.get(2).is_none_or(|word| !word.is_noun())
    {
        rest.splice(0..2, [Word::new("better", "JJR")]);
    }
    if !rest.iter().any(|word| matches!(word.tag, "JJR" | "RBR")) {
        return None;
    }
    rest.insert(0, clause.finite.clone());
    Some(rest)
}

/// The verb and the comparative of a question: "is better for back pain", "has more caffeine".
fn compared(words: &[Word]) -> Option<Vec<Word>> {
    let asks = words
        .iter()
        .position(|word| word.is(&["which", "what", "who"]))?;
    let rest = words.get(asks + 1..)?;
    let verb = rest.iter().enumerate().position(|(at, word)| {
        let compares = rest
            .get(at + 1)
            .is_some_and(|next| matches!(next.tag, "JJR" | "RBR"));
        let is_verb = word.is_finite() || word.is_third_person() && compares;
        is_verb && !word.text.starts_with(char::is_uppercase)
    })?;
    let rest = rest.get(verb..)?;
    let end = rest
        .iter()
        .position(|word| matches!(word.text.as_str(), "," | ":" | ";" | "?" | "—" | "–"));
    let mut phrase = rest.get(..end.unwrap_or(rest.len()))?.to_vec();
    let at = phrase.iter().position(|word| {
        matches!(word.tag, "JJR" | "RBR") || word.is(&["better", "more", "less"])
    })?;
    if phrase
        .iter()
        .any(|word| word.is(&["or", "vs", "vs.", "than"]))
    {
        return None;
    }
    // "the better choice than" is not English
    if let Some(the) = at.checked_sub(1).and_then(|the| phrase.get_mut(the))
        && the.lower == "the"
    {
        *the = the.replaced("a");
    }
    Some(phrase)
}

fn agreeing(phrase: &[Word], plural: bool) -> Vec<Word> {
    let mut phrase = phrase.to_vec();
    if let Some(verb) = phrase.first_mut() {
        let form = match (verb.lower.as_str(), plural) {
            ("is" | "are", true) => "are".to_owned(),
            ("is" | "are", false) => "is".to_owned(),
            ("was" | "were", true) => "were".to_owned(),
            ("was" | "were", false) => "was".to_owned(),
            ("has" | "have", true) => "have".to_owned(),
            ("has" | "have", false) => "has".to_owned(),
            (form, true) if verb.is_third_person() => base_of_third_person(form),
            (form, false) if verb.tag == "VBP" => third_person(form),
            (form, _) => form.to_owned(),
        };
        *verb = verb.replaced(&form);
    }
    phrase
}

/// An object as the subject of a sentence: with the article that it has in the title; a verb becomes its "-ing" form.
fn phrase(title: &[Word], object: &str) -> Vec<Word> {
    let mut words = read(object);
    let first = words
        .first()
        .map(|word| word.lower.clone())
        .unwrap_or_default();
    let at = title.iter().position(|word| word.lower == first);
    let Some(found) = at.and_then(|at| title.get(at)) else {
        return words;
    };
    let before = at.and_then(|at| title.get(at.checked_sub(1)?));
    let follows_pronoun = |word: &Word| word.is(&["i", "we", "you", "one", "to", "or"]);
    let is_verb = matches!(found.tag, "VB" | "VBP")
        && title
            .first()
            .is_some_and(|word| word.tag == "MD" || word.tag.starts_with("VB"))
        && before.is_some_and(follows_pronoun);
    // the words get the tags that they have in the title
    for word in &mut words {
        if let Some(same) = title.iter().find(|of_title| of_title.lower == word.lower) {
            word.tag = same.tag;
        }
    }
    if is_verb && let Some(verb) = words.first_mut() {
        *verb = verb.replaced(&gerund(&verb.lower));
        verb.tag = "VBG";
    }
    // "The Simpsons", "Windows 7": names of one thing
    let nouns = words.iter().filter(|word| word.is_noun()).count();
    for word in words.iter_mut().filter(|word| word.is_noun()) {
        if nouns == 1 && word.text.starts_with(char::is_uppercase) && at != Some(0) {
            word.tag = "NNP";
        }
    }
    if let Some(article) = before.filter(|word| word.is(&["a", "an", "the"])) {
        words.insert(0, article.clone());
    }
    if let Some(first) = words.first_mut() {
        first.spaced = true;
    }
    if at == Some(0) {
        uncapitalised(&words)
    } else {
        words
    }
}

/// Names of two sides of a subject: "pros and cons".
const SIDES: [[&str; 2]; 7] = [
    ["pros", "cons"],
    ["advantages", "disadvantages"],
    ["benefits", "risks"],
    ["benefits", "drawbacks"],
    ["benefits", "harms"],
    ["benefits", "costs"],
    ["benefits", "dangers"],
];

/// The claims about a subject for a title that asks for its two sides: that its advantages outweigh the disadvantages, and the reverse.
pub(super) fn weighed(words: &[Word]) -> Option<[String; 2]> {
    let (at, sides) = words.windows(3).enumerate().find_map(|(at, window)| {
        let joins = window[1].is(&["and", "or", "vs", "&"]);
        let sides = SIDES.iter().find(|[one, other]| {
            window[0].is(&[one]) && window[2].is(&[other])
                || window[0].is(&[other]) && window[2].is(&[one])
        });
        sides.filter(|_| joins).map(|sides| (at, sides))
    })?;
    let behind = words.get(at + 3..)?;
    let subject = match behind.split_first() {
        Some((of, subject)) if of.is(&["of", "to", "for", "in"]) => subject,
        None => {
            let before = words.get(..at)?;
            let end = before
                .iter()
                .rposition(|word| !word.is_mark() && !word.is(&["the"]));
            before.get(..=end?)?
        }
        Some(_) => return None,
    };
    if subject.is_empty() || subject.iter().any(Word::is_finite) {
        return None;
    }
    let begins = words.first().map(|word| &word.text) == subject.first().map(|word| &word.text);
    let subject = text(&if begins {
        uncapitalised(subject)
    } else {
        subject.to_vec()
    });
    let [one, other] = sides;
    Some([
        format!("the {one} of {subject} outweigh the {other}"),
        format!("the {other} of {subject} outweigh the {one}"),
    ])
}
