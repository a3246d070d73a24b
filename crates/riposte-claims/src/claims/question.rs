//! Finds the subject of a yes-no question.

use std::cmp::Reverse;

use super::clause::{Clause, VerbKind};
use super::statement::{PREPOSITIONS, outside_relative_clauses, relative_clause, tagged_again};
use super::words::{ClauseWord, is_at, tag_at};
use crate::tagger;

/// The auxiliary verb that begins a question, its kind, and the number of its words: two if it ends with "n't".
pub(super) fn auxiliary(words: &[ClauseWord]) -> Option<(ClauseWord, VerbKind, usize)> {
    let first = words.first()?;
    let (text, kind) = match first.lower.as_str() {
        "can" | "ca" | "cannot" => ("can", VerbKind::Modal),
        "will" | "wo" => ("will", VerbKind::Modal),
        "ai" => ("is", VerbKind::Be),
        text if first.is("should must could would may might shall ought") => {
            (text, VerbKind::Modal)
        }
        text if first.is("is are was were am") => (text, VerbKind::Be),
        text if first.is("has have had") => (text, VerbKind::Have),
        text if first.is("do does did") => (text, VerbKind::Do),
        _ => return None,
    };
    let next = words.get(1);
    let is_contracted = next.is_some_and(|word| word.negates() && !word.spaced);
    let is_modal = kind == VerbKind::Modal;
    let tag = if is_modal { "MD" } else { first.tag };
    Some((
        ClauseWord::new(text, tag),
        kind,
        1 + usize::from(is_contracted),
    ))
}

/// The clause that a yes-no question asks about. `auxiliary` is the first word of the question, `words` are the others.
///
/// The subject ends before a verb in its base form ("Should …", "Does …"), before a participle ("Has …"), or before any predicate ("Is …").
pub(super) fn clause(auxiliary: &ClauseWord, kind: VerbKind, words: &[ClauseWord]) -> Clause {
    let start = match kind {
        VerbKind::Be => predicate(auxiliary, words),
        _ if auxiliary.lower == "ought" => words.iter().position(|word| word.tag == "TO"),
        _ => verb(auxiliary, words, kind),
    };
    // "Have we a right to …": the main verb
    let is_main = start.is_none() && kind == VerbKind::Have;
    let start = if is_main {
        predicate(auxiliary, words)
    } else {
        start
    };
    let (subject, rest) = words.split_at(start.unwrap_or(1).min(words.len()));
    let mut clause = Clause {
        before: Vec::new(),
        subject: subject.to_vec(),
        finite: auxiliary.clone(),
        kind,
        rest: rest.to_vec(),
        is_asked: true,
    };
    if is_main {
        let form = match auxiliary.lower.as_str() {
            "has" => "does",
            "had" => "did",
            _ => "do",
        };
        clause.finite = ClauseWord::new(form, auxiliary.tag);
        clause.kind = VerbKind::Do;
        clause.rest.insert(0, ClauseWord::new("have", "VB"));
    }
    clause
}

/// Whether the words begin with a pronoun that is the whole subject.
fn is_pronoun(words: &[ClauseWord]) -> bool {
    words.first().is_some_and(|word| {
        word.tagged("PRP EX") && !word.is("them us me him")
            || word.is("i we you he she it they there")
    })
}

/// The words, tagged as in the statement: the auxiliary is put before the word at position `at`.
fn as_statement(auxiliary: &ClauseWord, words: &[ClauseWord], at: usize) -> Vec<ClauseWord> {
    let mut statement = words.to_vec();
    statement.insert(at, auxiliary.clone());
    // "will" tells the tagger more about the next word than "do"
    if auxiliary.is("do does did") {
        statement[at] = ClauseWord::new("will", "MD");
    }
    let mut tagged = tagged_again(statement);
    tagged.remove(at);
    tagged
}

/// Verbs that are followed by a verb in its base form.
const CAUSATIVES: &str = "let make help have see watch ensure require demand go come dare";

/// The position of the first word after the subject, which the main verb determines.
fn verb(auxiliary: &ClauseWord, words: &[ClauseWord], kind: VerbKind) -> Option<usize> {
    if is_pronoun(words) {
        return Some(1);
    }
    let scores = outside_relative_clauses(words)
        .filter_map(|at| Some((verb_score(auxiliary, words, at, kind)?, at)));
    // the first of those with the highest score
    let (_, mut start) = scores.min_by_key(|(score, _)| Reverse(*score))?;
    // "effectively replace": adverbs belong to the verb
    let floats = |word: &ClauseWord| word.is_adverb() || word.is("all both") && word.tag != "PRP";
    while start > 1 && floats(&words[start - 1]) {
        start -= 1;
    }
    Some(start)
}

/// Tags of words that cannot be the main verb.
const NO_VERBS: &str = "DT PRP PRP$ CC MD WDT WP WRB TO CD NNS NNP NNPS RB EX POS";

/// Whether a word after `last` cannot be the main verb of a question with an auxiliary of this kind.
fn cannot_be_main_verb(last: &ClauseWord, word: &ClauseWord, kind: VerbKind) -> bool {
    let lower = word.lower.as_str();
    let is_preposition = word.tag == "IN" && (lower.chars().count() < 5 || word.is(PREPOSITIONS));
    let is_inflected =
        lower.ends_with('s') && !["ss", "us", "as"].iter().any(|end| lower.ends_with(end));
    !word.text.starts_with(char::is_alphabetic)
        || last.tag == "MD"
        || last.is("to")
        || word.tagged(NO_VERBS) && !word.is("be been")
        || is_preposition
        || kind != VerbKind::Have && is_inflected
}

/// How well a word fits as the main verb; `None` if it cannot be one.
fn verb_score(
    auxiliary: &ClauseWord,
    words: &[ClauseWord],
    at: usize,
    kind: VerbKind,
) -> Option<i32> {
    let (last, word) = (words.get(at - 1)?, words.get(at)?);
    if cannot_be_main_verb(last, word, kind) {
        return None;
    }
    let statement = as_statement(auxiliary, words, at);
    let is_participle = kind == VerbKind::Have;
    let wanted = if is_participle { "VBN VBD" } else { "VB" };
    let mut score = match word.tag {
        _ if word.tagged(wanted) => 6,
        "VBP" if !is_participle => 5,
        _ => 0,
    };
    score += match statement.get(at)?.tagged(wanted) {
        true => 2,
        false if score == 0 => return None,
        false => -4,
    };
    if word.is("be been") {
        score += 4;
    }
    let is_verb = |next: &ClauseWord| next.is("be been remain become") || next.tag == "VB";
    let next = words.iter().skip(at + 1).find(|word| !word.is_adverb());
    if next.is_some_and(is_verb) && !word.is(CAUSATIVES) {
        score -= 10;
    }
    // some words rarely end a subject
    let of_the = at >= 2 && words[at - 2].lower == "the";
    let cost = |tag: &str| match tag {
        "IN" | "CC" | "PRP$" | "POS" => 12,
        "DT" if !last.is("this that these those all both") => 12,
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
fn predicate(auxiliary: &ClauseWord, words: &[ClauseWord]) -> Option<usize> {
    if is_pronoun(words) {
        return Some(1);
    }
    let plural = auxiliary.is("are were");
    let gerund = is_gerund(words);
    let mut best: Option<(i32, usize)> = None;
    let mut at = 1;
    let mut relative = 0;
    while at < words.len() {
        if let Some(end) = relative_clause(words, at) {
            at = end;
            relative = end;
            // the words after "who are" belong to the relative clause
            at += usize::from(is_at(words, end - 1, "is are was were"));
            continue;
        }
        if let Some(score) = predicate_score(auxiliary, words, at, plural, at == relative) {
            let later = gerund && score >= 60 && tag_at(words, at) == "DT";
            if best.is_none_or(|(of_best, _)| score > of_best || later && score + 10 > of_best) {
                best = Some((score, at));
            }
        }
        at += 1;
    }
    best.map(|(_, at)| at)
}

/// Whether the participle before position `at` ends a compound noun: "video gaming", but not "platforms doing".
fn ends_compound(words: &[ClauseWord], at: usize) -> bool {
    at >= 2 && words[at - 2].tagged("JJ NN VBN NNP")
}

/// Whether words begin with a participle that has an object: "killing an animal".
fn is_gerund(words: &[ClauseWord]) -> bool {
    let has_object = matches!(tag_at(words, 1), "DT" | "PRP$");
    words.first().is_some_and(|word| {
        let ends_in_ing = word.lower.len() > 5 && word.lower.ends_with("ing");
        let is_pronoun = word.is("nothing something anything everything");
        word.tag == "VBG" || ends_in_ing && !is_pronoun && has_object
    })
}

/// Whether the subject can end before position `at` of a statement. `words` are the words of the question that it comes from.
fn can_end_subject(words: &[ClauseWord], statement: &[ClauseWord], at: usize) -> bool {
    let last = &statement[at - 1];
    let of_the = at > 1 && is_at(statement, 0, "the");
    let is_object = last.is("us me him them") && !is_gerund(words);
    last.is_noun()
        || words.get(at - 1).is_some_and(ClauseWord::is_noun)
        || last.tagged("CD RP FW ''")
        || last.tag == "PRP" && !is_object
        || last.tag == "VBG" && (at == 1 || ends_compound(statement, at))
        || of_the && at == 2 && (last.is_adjective() || last.tag == "VBN")
        || matches!(last.text.as_str(), "\"" | ")" | "'")
        // an adverb that ends a phrase: "growing up", "the world today"
        || last.is("today up abroad online alone together")
}

/// Adverbs that belong to a verb.
const PARTICLES: &str = "up down out off away in on back";

/// How likely the predicate is to begin with this word; `None` if it cannot.
fn predicate_score(
    auxiliary: &ClauseWord,
    words: &[ClauseWord],
    at: usize,
    plural: bool,
    ends_relative: bool,
) -> Option<i32> {
    let statement = as_statement(auxiliary, words, at);
    let (last, word) = (statement.get(at - 1)?, statement.get(at)?);
    let next = statement.get(at + 1);
    let demonstrative = at == 1 && last.is("this that these those one");
    if !demonstrative && !ends_relative && !can_end_subject(words, &statement, at) {
        return None;
    }
    let ends = next.is_none_or(|next| next.tagged("IN TO CC RB , . WRB") || next.is_mark());
    // "every day", "this way"
    let is_time = word.is("every that this all")
        && last.is_noun()
        && is_at(&statement, at + 1, "day year time week way");
    let score = match word.tag {
        _ if word.is("worth") => 46,
        "DT" | "PDT" | "PRP$" if at == 1 && is_gerund(words) => 20,
        "DT" | "PDT" | "PRP$" if is_time => return None,
        "DT" | "PDT" | "PRP$" => 40,
        // "growing up"
        "RB" | "RP" if last.tag == "VBG" && word.is(PARTICLES) => return None,
        "RB" | "RBR" | "RBS" if word.is("today online abroad") => 12,
        "RB" | "RBR" | "RBS" => 44,
        "JJR" | "JJS" => 40,
        "JJ" if ends => 40,
        "JJ" => 20,
        // "children raised by gay parents | disadvantaged"
        "VBN" | "VBD" if next.is_none() && last.is_noun() => 36,
        "VBN" | "VBG" | "VBD" if last.is_noun() || last.tag == "PRP" || ends_relative => 30,
        "IN" if word.is("of") => return None,
        "IN" if word.is("like against beyond over") => 24,
        "IN" | "TO" => 14,
        "WRB" | "WP" => 20,
        "CD" => 10,
        "NN" | "NNS" | "NNP" | "NNPS" | "PRP" | "VB" | "VBP" | "UH" | "FW"
            if last.is_noun() || last.tag == "VBG" || ends_relative || demonstrative =>
        {
            // two nouns side by side: "video games | art"
            let agrees = plural == last.tagged("NNS NNPS");
            if agrees && plural { 9 } else { 3 + at as i32 }
        }
        _ => return None,
    };
    Some(2 * score - at as i32)
}
