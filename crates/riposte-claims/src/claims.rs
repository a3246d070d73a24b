//! The claims of both sides of a topic: the statement that its title asks about, and the negation of this statement.
//!
//! The tagger ([`crate::tagger`]) finds the verb. In a yes-no question the subject ends before the main verb ("Should felons who have completed their
//! sentence | be allowed …") or the predicate ("Is drinking milk | healthy …"). Each place where it could end is tried, and the question's words are
//! tagged again as the statement that would follow: "cause" is a verb after "poverty will", and "crime" is a noun. In a statement, the finite verb is
//! the first one outside relative clauses that agrees with the words before it.
//!
//! A negation has the same scope as the answer "no": "not all museums should", "feminism is no longer needed", "there is no God", "voting does not
//! have to be compulsory".

mod choice;
mod clause;
mod nouns;
mod openings;
mod question;
mod statement;
mod verbs;
mod words;

use riposte_eval::objects;

use self::clause::Clause;
use self::nouns::is_plural;
use self::openings::TitleForm;
use self::words::{
    ClauseWord, in_headline_case, is_headline, read, text, uncapitalised, with_capital,
};

use crate::limits::{MAX_CLAIM_BYTES, MAX_CLAIM_WORDS};

fn is_too_long(title: &str) -> bool {
    title.len() > MAX_CLAIM_BYTES || title.split_whitespace().count() > MAX_CLAIM_WORDS
}

/// The claim and the counter-claim of a title: for a yes-no question, the statement that it asks about, and its negation.
///
/// | title | claim | counter-claim |
/// |---|---|---|
/// | yes-no question, motion, statement | what it asks, demands or says | its negation |
/// | question with "why", "how" | what it takes for granted | its negation |
/// | choice of two objects | one is better | the other is better |
/// | "pros and cons of …" | the pros outweigh the cons | the cons outweigh the pros |
/// | subject without a verb | it is good | it is bad |
/// | other question ("Which is the best pet?") | the title itself | empty |
/// | two sides that are the same ("tea or tea") | that side | empty |
///
/// A title that cannot be read as any of these is its own claim, and the counter-claim begins with "it is not true that". Words keep their capitals. Only the first word of a statement gets a small letter if other words are put before it. Both claims are empty if the
/// title has no word.
///
/// ```
/// use riposte_claims::claims;
///
/// for (title, claim, counter) in [
///     ("Is feminism still needed?", "feminism is still needed", "feminism is no longer needed"),
///     ("This house would ban boxing", "we should ban boxing", "we should not ban boxing"),
///     ("Why is homework bad?", "homework is bad", "homework is not bad"),
///     ("School uniforms", "School uniforms are good", "School uniforms are bad"),
///     ("Which is the best pet?", "Which is the best pet", ""),
/// ] {
///     assert_eq!(claims(title), (claim.to_owned(), counter.to_owned()));
/// }
/// ```
pub fn claims(title: &str) -> (String, String) {
    let bare = without_end_mark(title);
    if !bare.contains(char::is_alphanumeric) {
        return (String::new(), String::new());
    }
    if is_too_long(bare) {
        return (bare.to_owned(), String::new());
    }
    let words = read(bare);
    let claims = of_words(bare, title.trim().ends_with('?'), &words);
    let [claim, counter] = claims.map(|claim| in_case_of(bare, claim));
    if claim == counter {
        // "tea or tea": two sides that are the same are one
        return (claim, String::new());
    }
    (claim, counter)
}

fn of_words(title: &str, is_question: bool, words: &[ClauseWord]) -> [String; 2] {
    if let Some(TitleForm::Question(clause)) = last_question(words).map(openings::read) {
        return sides(title, words, &clause);
    }
    let objects = || objects::from_title(title);
    match openings::read(words) {
        TitleForm::Question(clause) => sides(title, words, &clause),
        TitleForm::Open => {
            // "Whose salary is higher": the compared things have no name
            if let Some(objects) = objects()
                && !words.iter().any(|word| word.lower == "whose")
            {
                return choice::comparison(words, &objects, None);
            }
            choice::weighed(words).unwrap_or_else(|| [title.to_owned(), String::new()])
        }
        TitleForm::Statement(statement) => {
            let claim = text(&statement);
            let asks = |word: &ClauseWord| word.tagged("WP WDT") && word.is("which what who");
            if is_question && statement.iter().any(asks) {
                let objects = objects().map(|objects| choice::comparison(words, &objects, None));
                return objects.unwrap_or_else(|| [claim, String::new()]);
            }
            if let Some(clause) = statement::clause(&statement) {
                return [claim, counter(&clause, &statement)];
            }
            if let Some(objects) = objects() {
                return choice::comparison(words, &objects, None);
            }
            let both = choice::weighed(&statement).or_else(|| valued(&statement));
            both.unwrap_or_else(|| [claim, not_true(&statement)])
        }
    }
}

/// The last of several sentences.
fn last_question(words: &[ClauseWord]) -> Option<&[ClauseWord]> {
    let end = words.iter().rposition(|word| word.is("? . !"))?;
    words.get(end + 1..).filter(|rest| rest.len() > 1)
}

/// The claims of a yes-no question.
fn sides(title: &str, words: &[ClauseWord], clause: &Clause) -> [String; 2] {
    if let Some(both) = choice::alternatives(clause) {
        return both.map(|clause| text(&clause.stated()));
    }
    if choice::is_choice(clause)
        && let Some(objects) = objects::from_title(title)
    {
        return choice::comparison(words, &objects, Some(clause));
    }
    let mut positive = clause.clone();
    positive.assert_indefinites();
    let positive = positive.stated();
    [text(&positive), counter(clause, &positive)]
}

/// The negation of a clause that is stated with these words.
fn counter(clause: &Clause, stated: &[ClauseWord]) -> String {
    let counter = clause.negated().map(|words| text(&words));
    counter.unwrap_or_else(|| not_true(stated))
}

/// The claims about a subject without a verb: that the subject is good, and that it is bad.
fn valued(words: &[ClauseWord]) -> Option<[String; 2]> {
    let first = words.first()?;
    let begins = first.is_noun() || first.tagged("DT JJ JJR JJS VBG VBN PRP$ CD RB FW GW");
    let is_phrase = words.iter().all(|word| !word.is(": ; , – — ? . !"));
    let has_noun = words.iter().any(|word| word.is_noun() || word.tag == "VBG");
    let has_verb = words.iter().skip(1).any(|word| word.tagged("MD VBZ VBP"));
    if !(begins && is_phrase && has_noun) || has_verb {
        return None;
    }
    let verb = if is_plural(words) { "are" } else { "is" };
    let subject = text(words);
    Some(["good", "bad"].map(|value| format!("{subject} {verb} {value}")))
}

/// A sentence without the marks at its end. The full stop of an abbreviation ("U.S.") stays.
fn without_end_mark(sentence: &str) -> &str {
    let bare = sentence.trim().trim_end_matches(['?', '!', ' ', '…']);
    let last = bare.rsplit(' ').next().unwrap_or_default();
    let is_abbreviation = last.trim_end_matches('.').contains('.');
    if is_abbreviation {
        bare
    } else {
        bare.trim_end_matches(['.', '?', '!', ' '])
    }
}

fn not_true(words: &[ClauseWord]) -> String {
    format!("it is not true that {}", text(&uncapitalised(words)))
}

/// The opposite of a statement: its negation is removed or, if it has none, one is added.
///
/// `None` if the statement has no finite verb or several main clauses, or if the text has several sentences. A mark at the end is dropped.
///
/// ```
/// use riposte_claims::negated;
///
/// assert_eq!(negated("There is a God.").as_deref(), Some("There is no God"));
/// assert_eq!(negated("Newspapers are no longer needed").as_deref(), Some("Newspapers are still needed"));
/// assert_eq!(negated("Two sentences. Are not negated."), None);
/// ```
pub fn negated(claim: &str) -> Option<String> {
    let bare = without_end_mark(claim);
    if is_too_long(bare) {
        return None;
    }
    let words = read(bare);
    if last_question(&words).is_some() {
        return None;
    }
    let words = statement::clause(&words)?.negated()?;
    let text = text(&words);
    let has_capital = bare.starts_with(char::is_uppercase);
    let text = if has_capital {
        with_capital(&text)
    } else {
        text
    };
    Some(in_case_of(bare, text))
}

/// The claim with capitals as in a headline, if the title has them.
fn in_case_of(title: &str, claim: String) -> String {
    if is_headline(title) {
        in_headline_case(&claim)
    } else {
        claim
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_without_end_is_its_own_claim_at_once() {
        let title = format!("Should zoos be closed{}", "?d".repeat(1_000_000));
        assert_eq!(claims(&title), (title.clone(), String::new()));
    }

    #[test]
    fn two_equal_sides_are_one_claim() {
        for title in ["harm or harm", "Tea or tea?", "Is tea better than tea?"] {
            let (claim, counter) = claims(title);
            assert!(
                !claim.is_empty() && claim != counter,
                "{title}: {claim}, {counter}"
            );
        }
        assert_eq!(claims("harm or harm").1, "");
    }

    proptest::proptest! {
        #[test]
        fn any_title_has_claims_that_differ_or_none(title in "\\PC{0,80}|[A-Za-z ,.?'’-]{0,60}|((should|is|the|who|not|n't|all|or|and|people|that|ban|,|a|to|do|there|no|any|why|how|causes|harm|Don't) ?){0,12}[?]?") {
            let (claim, counter) = claims(&title);
            crate::polarity(&title);
            negated(&title);
            proptest::prop_assert!(claim.is_empty() && counter.is_empty() || claim != counter);
        }
    }
}
