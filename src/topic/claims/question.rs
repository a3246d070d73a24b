//! Finds the subject of a yes-no question.

use super::clause::{Clause, VerbKind};
use super::statement::{relative_clause, tagged_again};
use super::words::Word;
use crate::topic::tagger;

/// The form of a question that decides where its subject ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The subject ends before a verb in its base form: "Should …", "Does …".
    Base,
    /// Before a participle: "Has …".
    Participle,
    /// Before any predicate: "Is …".
    Predicate,
}

/// The auxiliary verb that begins a question, its kind, and whether it ends with "n't".
pub(super) fn auxiliary(words: &[Word]) -> Option<(Word, VerbKind, usize)> {
    let first = words.first()?;
    let (text, kind) = match first.lower.as_str() {
        "should" | "must" | "could" | "would" | "may" | "might" | "shall" | "ought" => {
            (first.lower.as_str(), VerbKind::Modal)
        }
        "can" | "ca" | "cannot" => ("can", VerbKind::Modal),
        "will" | "wo" => ("will", VerbKind::Modal),
        "is" | "are" | "was" | "were" | "am" => (first.lower.as_str(), VerbKind::Be),
        "ai" => ("is", VerbKind::Be),
        "has" | "have" | "had" => (first.lower.as_str(), VerbKind::Have),
        "do" | "does" | "did" => (first.lower.as_str(), VerbKind::Do),
        _ => return None,
    };
    let contracted = words
        .get(1)
        .is_some_and(|word| word.negates() && !word.spaced);
    let count = if contracted { 2 } else { 1 };
    let tag = if kind == VerbKind::Modal {
        "MD"
    } else {
        first.tag
    };
    Some((Word::new(text, tag), kind, count))
}

/// The clause that a yes-no question asks about. `auxiliary` is the first word of the question, `words` are the others.
pub(super) fn clause(auxiliary: &Word, kind: VerbKind, words: &[Word]) -> Clause {
    let form = match kind {
        VerbKind::Modal | VerbKind::Do => Form::Base,
        VerbKind::Have => Form::Participle,
        VerbKind::Be => Form::Predicate,
    };
    let mut kind = kind;
    let mut start = match form {
        Form::Base if auxiliary.lower == "ought" => words.iter().position(|word| word.tag == "TO"),
        Form::Base | Form::Participle => verb(auxiliary, words, form),
        Form::Predicate => predicate(auxiliary, words),
    };
    let mut finite = auxiliary.clone();
    if start.is_none() && kind == VerbKind::Have {
        // "Have we a right to …": the main verb
        start = predicate(auxiliary, words);
        kind = VerbKind::Do;
        finite = Word::new(
            match auxiliary.lower.as_str() {
                "has" => "does",
                "had" => "did",
                _ => "do",
            },
            auxiliary.tag,
        );
    }
    let start = start.unwrap_or(1).min(words.len());
    let (subject, rest) = words.split_at(start);
    let mut rest = rest.to_vec();
    if kind == VerbKind::Do && auxiliary.lower.starts_with("ha") {
        rest.insert(0, Word::new("have", "VB"));
    }
    Clause {
        before: Vec::new(),
        subject: subject.to_vec(),
        finite,
        kind,
        rest,
        is_asked: true,
    }
}

/// Whether the words begin with a pronoun that is the whole subject.
fn is_pronoun(words: &[Word]) -> bool {
    words.first().is_some_and(|word| {
        matches!(word.tag, "PRP" | "EX") && !word.is(&["them", "us", "me", "him"])
            || word.is(&["i", "we", "you", "he", "she", "it", "they", "there"])
    })
}

/// The words, tagged as in the statement: the auxiliary is put before the word at position `at`.
fn as_statement(auxiliary: &Word, words: &[Word], at: usize) -> Vec<Word> {
    let mut statement = words.to_vec();
    // "will" tells the tagger more about the next word than "do"
    let auxiliary = match auxiliary.lower.as_str() {
        "do" | "does" | "did" => Word::new("will", "MD"),
        _ => auxiliary.clone(),
    };
    statement.insert(at, auxiliary);
    let mut tagged = tagged_again(statement);
    tagged.remove(at);
    tagged
}

use super::statement::PREPOSITIONS;

/// Verbs that are followed by a verb in its base form.
const CAUSATIVES: [&str; 12] = [
    "let", "make", "help", "have", "see", "watch", "ensure", "require", "demand", "go", "come",
    "dare",
];

/// The position of the first word after the subject, which the main verb determines.
fn verb(auxiliary: &Word, words: &[Word], form: Form) -> Option<usize> {
    if is_pronoun(words) {
        return Some(1);
    }
    let mut best: Option<(i32, usize)> = None;
    let mut at = 1;
    while at < words.len() {
        if let Some(end) = relative_clause(words, at) {
            at = end;
            continue;
        }
        if let Some(score) = verb_score(auxiliary, words, at, form)
            && best.is_none_or(|(of_best, _)| score > of_best)
        {
            best = Some((score, at));
        }
        at += 1;
    }
    let (_, mut start) = best?;
    // "effectively replace": adverbs belong to the verb
    while start > 1
        && words
            .get(start - 1)
            .is_some_and(|word| word.is_adverb() || word.is(&["all", "both"]) && word.tag != "PRP")
    {
        start -= 1;
    }
    Some(start)
}

/// Tags of words that cannot be the main verb.
const NO_VERBS: [&str; 16] = [
    "DT", "PRP", "PRP$", "CC", "MD", "WDT", "WP", "WRB", "TO", "CD", "NNS", "NNP", "NNPS", "RB",
    "EX", "POS",
];

/// Whether a word after `last` cannot be the main verb of a question of this form.
fn cannot_be_main_verb(last: &Word, word: &Word, form: Form) -> bool {
    let lower = word.lower.as_str();
    let is_preposition = word.tag == "IN" && (lower.chars().count() < 5 || word.is(&PREPOSITIONS));
    let is_inflected =
        lower.ends_with('s') && !["ss", "us", "as"].iter().any(|end| lower.ends_with(end));
    !word.text.starts_with(char::is_alphabetic)
        || last.tag == "MD"
        || last.is(&["to"])
        || NO_VERBS.contains(&word.tag) && !word.is(&["be", "been"])
        || is_preposition
        || form == Form::Base && is_inflected
}

/// How well a word fits as the main verb; `None` if it cannot be one.
fn verb_score(auxiliary: &Word, words: &[Word], at: usize, form: Form) -> Option<i32> {
    let (last, word) = (words.get(at - 1)?, words.get(at)?);
    if cannot_be_main_verb(last, word, form) {
        return None;
    }
    let statement = as_statement(auxiliary, words, at);
    let in_statement = statement.get(at)?.tag;
    let (wanted, others): (&[&str], &[&str]) = match form {
        Form::Participle => (&["VBN", "VBD"], &[]),
        _ => (&["VB"], &["VBP"]),
    };
    let mut score = if wanted.contains(&word.tag) {
        6
    } else if others.contains(&word.tag) {
        5
    } else {
        0
    };
    if wanted.contains(&in_statement) {
        score += 2;
    } else if score == 0 {
        return None;
    } else {
        score -= 4;
    }
    if word.is(&["be", "been"]) {
        score += 4;
    }
    let is_verb = |next: &Word| next.is(&["be", "been", "remain", "become"]) || next.tag == "VB";
    let next = words.iter().skip(at + 1).find(|word| !word.is_adverb());
    if next.is_some_and(is_verb) && !word.is(&CAUSATIVES) {
        score -= 10;
    }
    // some words rarely end a subject
    let of_the = at >= 2 && words[at - 2].lower == "the";
    let cost = |tag: &str| match tag {
        "IN" | "CC" | "PRP$" | "POS" => 12,
        "DT" if !last.is(&["this", "that", "these", "those", "all", "both"]) => 12,
        "JJ" if !of_the => 4,
        "VB" | "VBP" | "VBZ" | "VBD" => 2,
        _ => 0,
    };
    score -= cost(last.tag).max(statement.get(at - 1).map_or(0, |last| cost(last.tag)));
    let preference = (tagger::verb_preference(&word.lower) / 25).clamp(-4, 4);
    // an earlier verb is preferred, so that verbs of subordinate clauses lose
    Some(2 * score - at as i32 + preference)
}

/// The position of the first word of the predicate of an "is" question.
fn predicate(auxiliary: &Word, words: &[Word]) -> Option<usize> {
    if is_pronoun(words) {
        return Some(1);
    }
    let plural = auxiliary.is(&["are", "were"]);
    let gerund = is_gerund(words);
    let mut best: Option<(i32, usize)> = None;
    let mut at = 1;
    let mut relative = 0;
    while at < words.len() {
        if let Some(end) = relative_clause(words, at) {
            at = end;
            relative = end;
            // the words after "who are" belong to the relative clause
            if words
                .get(end - 1)
                .is_some_and(|word| word.is(&["is", "are", "was", "were"]))
            {
                at += 1;
            }
            continue;
        }
        if let Some(score) = predicate_score(auxiliary, words, at, plural, at == relative) {
            let later = gerund && score >= 60 && words.get(at).is_some_and(|word| word.tag == "DT");
            if best.is_none_or(|(of_best, _)| score > of_best || later && score + 10 > of_best) {
                best = Some((score, at));
            }
        }
        at += 1;
    }
    best.map(|(_, at)| at)
}

/// Whether the participle before position `at` ends a compound noun: "video gaming", but not "platforms doing".
fn ends_compound(words: &[Word], at: usize) -> bool {
    let before = at.checked_sub(2).and_then(|before| words.get(before));
    before.is_some_and(|word| matches!(word.tag, "JJ" | "NN" | "VBN" | "NNP"))
}

/// Whether words begin with a participle that has an object: "killing an animal".
fn is_gerund(words: &[Word]) -> bool {
    words.first().is_some_and(|word| {
        word.tag == "VBG"
            || word.lower.len() > 5
                && word.lower.ends_with("ing")
                && !word.is(&["nothing", "something", "anything", "everything"])
                && words
                    .get(1)
                    .is_some_and(|next| matches!(next.tag, "DT" | "PRP$"))
    })
}

/// Whether the subject can end before position `at` of a statement. `words` are the words of the question that it comes from.
fn can_end_subject(words: &[Word], statement: &[Word], at: usize) -> bool {
    let last = &statement[at - 1];
    let of_the = at > 1 && statement.first().is_some_and(|word| word.lower == "the");
    let is_object = last.is(&["us", "me", "him", "them"]) && !is_gerund(words);
    last.is_noun()
        || words.get(at - 1).is_some_and(Word::is_noun)
        || matches!(last.tag, "CD" | "RP" | "FW" | "''")
        || last.tag == "PRP" && !is_object
        || last.tag == "VBG" && (at == 1 || ends_compound(statement, at))
        || of_the && at == 2 && (last.is_adjective() || last.tag == "VBN")
        || matches!(last.text.as_str(), "\"" | ")" | "'")
        // an adverb that ends a phrase: "growing up", "the world today"
        || last.is(&["today", "up", "abroad", "online", "alone", "together"])
}

/// How likely the predicate is to begin with this word; `None` if it cannot.
fn predicate_score(
    auxiliary: &Word,
    words: &[Word],
    at: usize,
    plural: bool,
    ends_relative: bool,
) -> Option<i32> {
    let statement = as_statement(auxiliary, words, at);
    let (last, word) = (statement.get(at - 1)?, statement.get(at)?);
    let next = statement.get(at + 1);
    let demonstrative = at == 1 && last.is(&["this", "that", "these", "those", "one"]);
    if !demonstrative && !ends_relative && !can_end_subject(words, &statement, at) {
        return None;
    }
    let ends = next.is_none_or(|next| {
        matches!(next.tag, "IN" | "TO" | "CC" | "RB" | "," | "." | "WRB") || next.is_mark()
    });
    // "every day", "this way"
    let is_time = || {
        word.is(&["every", "that", "this", "all"])
            && last.is_noun()
            && next.is_some_and(|next| next.is(&["day", "year", "time", "week", "way"]))
    };
    let particles = ["up", "down", "out", "off", "away", "in", "on", "back"];
    let score = match word.tag {
        _ if word.is(&["worth"]) => 46,
        "DT" | "PDT" | "PRP$" if at == 1 && is_gerund(words) => 20,
        "DT" | "PDT" | "PRP$" if is_time() => return None,
        "DT" | "PDT" | "PRP$" => 40,
        // "growing up"
        "RB" | "RP" if last.tag == "VBG" && word.is(&particles) => return None,
        "RB" | "RBR" | "RBS" if word.is(&["today", "online", "abroad"]) => 12,
        "RB" | "RBR" | "RBS" => 44,
        "JJR" | "JJS" => 40,
        "JJ" if ends => 40,
        "JJ" => 20,
        // "children raised by gay parents | disadvantaged"
        "VBN" | "VBD" if next.is_none() && last.is_noun() => 36,
        "VBN" | "VBG" | "VBD" if last.is_noun() || last.tag == "PRP" || ends_relative => 30,
        "IN" if word.is(&["of"]) => return None,
        "IN" if word.is(&["like", "against", "beyond", "over"]) => 24,
        "IN" | "TO" => 14,
        "WRB" | "WP" => 20,
        "CD" => 10,
        "NN" | "NNS" | "NNP" | "NNPS" | "PRP" | "VB" | "VBP" | "UH" | "FW"
            if last.is_noun() || last.tag == "VBG" || ends_relative || demonstrative =>
        {
            // two nouns side by side: "video games | art"
            let agrees = plural == matches!(last.tag, "NNS" | "NNPS");
            if agrees && plural { 9 } else { 3 + at as i32 }
        }
        _ => return None,
    };
    Some(2 * score - at as i32)
}
