//! Reads the words before the question or statement itself: "This house would …", "Why should …", "Do you think that …".

use super::clause::{Clause, VerbKind};
use super::question::{self, auxiliary};
use super::statement::{self, tagged_again};
use super::verbs::base_of_third_person;
use super::words::{ClauseWord, after, position, uncapitalised};

/// What a title says or asks.
#[derive(Debug)]
pub(super) enum TitleForm {
    /// A yes-no question, or a question that takes a statement for granted ("Why is homework bad?").
    Question(Clause),
    /// A statement, or words without a verb.
    Statement(Vec<ClauseWord>),
    /// A question that cannot be answered with yes or no: "Which is the best pet?".
    Open,
}

/// Reads what a title asks, without the words before it.
pub(super) fn read(words: &[ClauseWord]) -> TitleForm {
    let words = without_or_not(words);
    if let Some(statement) = motion(words) {
        return TitleForm::Statement(tagged_again(statement));
    }
    let asked = ["do you", "would you", "don't you"];
    let asked = asked.iter().find_map(|opening| after(words, opening));
    if let Some([verb, rest @ ..]) = asked
        && verb.is("think believe agree say")
        && let Some(rest) = opinion(rest)
    {
        return TitleForm::Statement(rest);
    }
    let whether = [
        "is it true that",
        "is it the case that",
        "whether or not",
        "whether",
    ];
    if let Some(rest) = whether.iter().find_map(|opening| after(words, opening)) {
        return TitleForm::Statement(tagged_again(rest.to_vec()));
    }
    if let Some(clause) = plain(words) {
        return TitleForm::Question(clause);
    }
    if let Some(asked) = with_question_word(words) {
        return asked;
    }
    behind_heading(words).unwrap_or_else(|| TitleForm::Statement(words.to_vec()))
}

/// A yes-no question that begins with its auxiliary verb.
fn plain(words: &[ClauseWord]) -> Option<Clause> {
    let (mut verb, kind, mut count) = auxiliary(words)?;
    // "Can and should we …"
    if words.get(count).is_some_and(|word| word.tag == "CC")
        && let Some(rest) = words.get(count + 1..)
        && let Some((second, VerbKind::Modal, more)) = auxiliary(rest)
    {
        let both = format!("{} {} {}", verb.text, words[count].text, second.text);
        verb = ClauseWord::new(&both, "MD");
        count += 1 + more;
    }
    let rest = words.get(count..)?;
    // "Do not ban guns", "Don't ban guns"
    let negated = count == 2 || rest.first().is_some_and(ClauseWord::negates);
    let verb_at = usize::from(count == 1);
    let imperative =
        kind == VerbKind::Do && negated && rest.get(verb_at).is_some_and(|word| word.tag == "VB");
    (!imperative).then(|| question::clause(&verb, kind, rest))
}

/// The statement after "Do you think"; `None` if the words there are not a statement ("Do you believe in God?").
fn opinion(rest: &[ClauseWord]) -> Option<Vec<ClauseWord>> {
    let rest = tagged_again(after(rest, "that").unwrap_or(rest).to_vec());
    statement::clause(&rest).map(|_| rest)
}

/// The words without "or not" at the end.
fn without_or_not(words: &[ClauseWord]) -> &[ClauseWord] {
    match words {
        [rest @ .., or, not] if or.lower == "or" && not.is("not no") => match rest {
            [rest @ .., comma] if comma.text == "," => rest,
            _ => rest,
        },
        _ => words,
    }
}

/// A motion of a parliamentary debate as the statement that it is about ("This house would ban boxing": "we should ban boxing").
fn motion(words: &[ClauseWord]) -> Option<Vec<ClauseWord>> {
    let first = words.first()?;
    let we = |verb: &str, rest: &[ClauseWord]| {
        let tag = if verb == "should" { "MD" } else { "VBP" };
        [
            &[ClauseWord::new("we", "PRP"), ClauseWord::new(verb, tag)],
            rest,
        ]
        .concat()
    };
    if first.is("resolved motion that") {
        let marks = words[1..].iter().take_while(|word| word.is_mark()).count();
        let rest = &words[1 + marks..];
        let rest = after(rest, "that").unwrap_or(rest);
        let is_statement = first.lower != "that" && marks > 0
            || first.lower == "that"
                && rest.len() > 2
                && statement::clause(rest).is_some_and(|clause| {
                    clause.subject.len() > 1 || clause.kind == VerbKind::Modal
                });
        return is_statement.then(|| rest.to_vec());
    }
    let behind = &words[1..];
    let rest = match first.lower.as_str() {
        "thw" => return Some(we("should", behind)),
        "ths" => return Some(we("support", behind)),
        "tho" => return Some(we("oppose", behind)),
        "thr" => return Some(we("regret", behind)),
        "thp" => return Some(we("prefer", behind)),
        "thbt" => return Some(behind.to_vec()),
        "thb" => return Some(after(behind, "that").unwrap_or(behind).to_vec()),
        _ => after(words, "this house")?,
    };
    // "This house, as a parent, would …"
    let rest = match rest.first() {
        Some(comma) if comma.text == "," => {
            let end = rest.iter().skip(1).position(|word| word.text == ",")?;
            rest.get(end + 2..)?
        }
        _ => rest,
    };
    let (verb, rest) = rest.split_first()?;
    Some(match verb.lower.as_str() {
        "believes" if after(rest, "in").is_some() => we("believe", rest),
        "believes" => after(rest, "that").unwrap_or(rest).to_vec(),
        "would" | "should" => we("should", rest),
        "is" => we("are", rest),
        "was" => we("were", rest),
        lower if verb.is_third_person() => we(&base_of_third_person(lower), rest),
        _ => we(&verb.text, rest),
    })
}

/// A question with "why", "how", "when" or "where": what it takes for granted. Other questions are open.
fn with_question_word(words: &[ClauseWord]) -> Option<TitleForm> {
    let (first, rest) = words.split_first()?;
    let asks = first.is("which what who whose whom why how when where");
    if !asks && after(words, "to what").is_none() {
        return None;
    }
    let (question, adjective) = match words {
        [to, _, extent, question @ ..] if to.is("to") && extent.is("extent degree") => {
            (question, None)
        }
        _ if !first.is("why how when where") => return Some(TitleForm::Open),
        [how, degree, question @ ..] if how.is("how") && is_degree(degree) => {
            (question, Some(degree))
        }
        _ => (rest, None),
    };
    if let Some((verb, kind, count)) = auxiliary(question) {
        let mut clause = question::clause(&verb, kind, question.get(count..)?);
        // "Why isn't it legal?" takes for granted that it is not
        if count == 2 {
            clause.rest.insert(0, ClauseWord::new("not", "RB"));
        }
        clause.rest.extend(adjective.cloned());
        return Some(if clause.rest.is_empty() {
            TitleForm::Open
        } else {
            TitleForm::Question(clause)
        });
    }
    // "Why homework should be banned"
    let is_statement = first.lower == "why"
        && statement::clause(rest).is_some_and(|clause| !clause.subject.is_empty());
    Some(if is_statement {
        TitleForm::Statement(rest.to_vec())
    } else {
        TitleForm::Open
    })
}

/// Whether this is an adjective whose degree a question asks for: "How dangerous is …".
fn is_degree(word: &ClauseWord) -> bool {
    word.is_adjective() && !word.is("much many long old big far")
}

/// A question after a phrase and a comma or colon: "In a democracy, should …", "Phones in schools: should they …".
fn behind_heading(words: &[ClauseWord]) -> Option<TitleForm> {
    let mark = position(words, ", : – — ?")?;
    let (heading, rest) = (words.get(..mark)?, words.get(mark + 1..)?);
    let mut clause = plain(rest)?;
    if heading.iter().any(ClauseWord::is_finite)
        && !heading.first().is_some_and(|word| word.is("if when"))
    {
        return None;
    }
    if words.get(mark)?.text == "," {
        clause.before = uncapitalised(words.get(..=mark)?);
    } else if let [subject] = clause.subject.as_slice()
        && subject.is("it they this these")
    {
        clause.subject = uncapitalised(heading);
    }
    Some(TitleForm::Question(clause))
}
