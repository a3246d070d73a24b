//! Questions with two answers besides yes and no: "Cats or dogs?", "Is it right or wrong?", "What are the pros and cons of …?".

use super::clause::{Clause, VerbKind};
use super::nouns::is_plural;
use super::verbs::{base_of_third_person, gerund, in_number, third_person};
use super::words::{ClauseWord, after, before, is_at, position, read, tag_at, text, uncapitalised};

/// Words that are opposites, the better one first.
const OPPOSITES: &str = "right/wrong good/bad good/evil good/harmful safe/dangerous \
    safe/harmful helpful/harmful beneficial/harmful healthy/harmful useful/useless \
    positive/negative true/false dead/alive virtue/vice blessing/curse friend/foe help/hindrance \
    boon/bane fact/fiction fact/myth benefit/burden";

/// The pairs of a list, which have blanks between them.
fn pairs(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    list.split(' ').filter_map(|pair| pair.split_once('/'))
}

fn are_opposites(one: &str, other: &str) -> bool {
    let prefixes = ["un", "il", "im", "in", "ir", "dis"];
    let is_worse = |bad: &str, good: &str| {
        let mut without = prefixes.iter().map(|prefix| bad.strip_prefix(prefix));
        pairs(OPPOSITES).any(|pair| pair == (good, bad)) || without.any(|rest| rest == Some(good))
    };
    is_worse(one, other) || is_worse(other, one)
}

/// The two clauses of a question that names both answers in its predicate ("right or wrong", "a blessing or a curse").
pub(super) fn alternatives(clause: &Clause) -> Option<[Clause; 2]> {
    let or = position(&clause.rest, "or")?;
    let one = or.checked_sub(1)?;
    let with_article = usize::from(tag_at(&clause.rest, or + 1) == "DT");
    let other = or + 1 + with_article;
    if !are_opposites(&clause.rest.get(one)?.lower, &clause.rest.get(other)?.lower) {
        return None;
    }
    let (mut first, mut second) = (clause.clone(), clause.clone());
    first.rest.drain(or..=other);
    second.rest.drain(one.checked_sub(with_article)?..=or);
    Some([first, second])
}

/// Verbs of a choice between two things.
const CHOICES: &str = "prefer choose buy get take learn study major pick use drink eat rent";

/// Whether a yes-no question asks for one of two things: "Should I buy or rent?", "Is Kenya or Tanzania better?".
pub(super) fn is_choice(clause: &Clause) -> bool {
    let Clause { subject, rest, .. } = clause;
    let has = |words: &[ClauseWord], list: &str| position(words, list).is_some();
    let compares = |word: &ClauseWord| word.tagged("JJR JJS RBR RBS");
    if clause.kind == VerbKind::Be {
        return has(subject, "or vs versus") && rest.iter().any(compares);
    }
    let asks_for_advice = subject.iter().all(|word| word.is("i one you we"));
    let chooses = has(rest, CHOICES) && !has(subject, "we") || has(subject, "i");
    has(rest, "or vs versus") && asks_for_advice && chooses
}

/// "A is better than B" and the reverse, for a title that names two objects. The comparative comes from the title.
///
/// `clause` is the yes-no question, if the title is one.
pub(super) fn comparison(
    words: &[ClauseWord],
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
    let is_better = || {
        vec![
            ClauseWord::new("is", "VBZ"),
            ClauseWord::new("better", "JJR"),
        ]
    };
    let compared = compared.unwrap_or_else(is_better);
    let side = |one: &[ClauseWord], other: &[ClauseWord]| {
        let verb_phrase = agreeing(&compared, is_plural(one));
        text(&[one, &verb_phrase, &[ClauseWord::new("than", "IN")], other].concat())
    };
    [side(&first, &second), side(&second, &first)]
}

/// "there is a difference between A and B", for a question that asks what it is.
fn difference(
    words: &[ClauseWord],
    first: &[ClauseWord],
    second: &[ClauseWord],
) -> Option<[String; 2]> {
    let at = position(words, "difference differences")?;
    let rest = words.get(at + 1..)?;
    let between = if is_at(rest, 0, "between") {
        let mut between = before(rest, "? , :").to_vec();
        // "between A vs B"
        for word in &mut between {
            if word.is("vs vs. versus or") {
                *word = word.replaced("and");
            }
        }
        text(&between)
    } else {
        format!("between {} and {}", text(first), text(second))
    };
    Some(["a", "no"].map(|article| format!("there is {article} difference {between}")))
}

/// The verb and the comparative of "Is A or B better for …?": "is better for …".
fn compared_by_clause(clause: &Clause) -> Option<Vec<ClauseWord>> {
    if clause.kind != VerbKind::Be {
        return None;
    }
    let mut rest = clause.rest.clone();
    if let Some(behind) = after(&rest, "the best")
        && !behind.first().is_some_and(ClauseWord::is_noun)
    {
        rest.splice(0..2, [ClauseWord::new("better", "JJR")]);
    }
    if !rest.iter().any(|word| word.tagged("JJR RBR")) {
        return None;
    }
    rest.insert(0, clause.finite.clone());
    Some(rest)
}

/// The verb and the comparative of a question: "is better for back pain", "has more caffeine".
fn compared(words: &[ClauseWord]) -> Option<Vec<ClauseWord>> {
    let asks = position(words, "which what who")?;
    let rest = words.get(asks + 1..)?;
    let verb = rest.iter().enumerate().position(|(at, word)| {
        let compares = matches!(tag_at(rest, at + 1), "JJR" | "RBR");
        let is_verb = word.is_finite() || word.is_third_person() && compares;
        is_verb && !word.text.starts_with(char::is_uppercase)
    })?;
    let mut phrase = before(rest.get(verb..)?, ", : ; ? — –").to_vec();
    let compares = |word: &ClauseWord| word.tagged("JJR RBR") || word.is("better more less");
    let at = phrase.iter().position(compares)?;
    if position(&phrase, "or vs vs. than").is_some() {
        return None;
    }
    // "the better choice than" is not English
    if at > 0 && phrase[at - 1].lower == "the" {
        phrase[at - 1] = phrase[at - 1].replaced("a");
    }
    Some(phrase)
}

fn agreeing(phrase: &[ClauseWord], plural: bool) -> Vec<ClauseWord> {
    let mut phrase = phrase.to_vec();
    if let Some(verb) = phrase.first_mut() {
        let form = match in_number(&verb.lower, plural) {
            Some(form) => form.to_owned(),
            None if plural && verb.is_third_person() => base_of_third_person(&verb.lower),
            None if !plural && verb.tag == "VBP" => third_person(&verb.lower),
            None => verb.lower.clone(),
        };
        *verb = verb.replaced(&form);
    }
    phrase
}

/// An object as the subject of a sentence: with the article that it has in the title; a verb becomes its "-ing" form.
fn phrase(title: &[ClauseWord], object: &str) -> Vec<ClauseWord> {
    let mut words = read(object);
    let first = words.first().map(|word| word.lower.clone());
    let at = first.and_then(|first| title.iter().position(|word| word.lower == first));
    let Some(found) = at.and_then(|at| title.get(at)) else {
        return words;
    };
    let before = at.and_then(|at| title.get(at.checked_sub(1)?));
    let follows_pronoun = |word: &ClauseWord| word.is("i we you one to or");
    let asks = tag_at(title, 0) == "MD" || tag_at(title, 0).starts_with("VB");
    let is_verb = found.tagged("VB VBP") && asks && before.is_some_and(follows_pronoun);
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
    if let Some(article) = before.filter(|word| word.is("a an the")) {
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
const SIDES: &str = "pros/cons advantages/disadvantages benefits/risks benefits/drawbacks \
    benefits/harms benefits/costs benefits/dangers";

/// The claims about a subject for a title that asks for its two sides: that its advantages outweigh the disadvantages, and the reverse.
pub(super) fn weighed(words: &[ClauseWord]) -> Option<[String; 2]> {
    let (at, (one, other)) = words.windows(3).enumerate().find_map(|(at, window)| {
        let named = (window[0].lower.as_str(), window[2].lower.as_str());
        let mut sides = pairs(SIDES).filter(|_| window[1].is("and or vs &"));
        let found = sides.find(|(one, other)| named == (one, other) || named == (other, one))?;
        Some((at, found))
    })?;
    let behind = words.get(at + 3..)?;
    let subject = match behind.split_first() {
        Some((of, subject)) if of.is("of to for in") => subject,
        None => {
            let names = |word: &ClauseWord| !word.is_mark() && word.lower != "the";
            let end = words[..at].iter().rposition(names)?;
            &words[..=end]
        }
        Some(_) => return None,
    };
    if subject.is_empty() || subject.iter().any(ClauseWord::is_finite) {
        return None;
    }
    let begins = words[0].text == subject[0].text;
    let subject = if begins {
        text(&uncapitalised(subject))
    } else {
        text(subject)
    };
    let outweigh = |one, other| format!("the {one} of {subject} outweigh the {other}");
    Some([outweigh(one, other), outweigh(other, one)])
}
