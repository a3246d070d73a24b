//! The claims of questions, compared with tables that people have written and read: the claims must be correct, and not only unchanged.
//!
//! The tables are in data/: claims.tsv has the hundred topics of Touché's image task, questions.tsv other titles, statements.tsv statements and
//! their negations, and comparisons.tsv the comparative questions of 2020 to 2022 with their two objects.

use riposte_claims::{Polarity, claims, negated, polarity};
use riposte_eval::objects;

/// The rows of a table without its first line, each split at tabs into this number of fields.
fn rows<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let rows = table.lines().skip(1);
    rows.map(|row| {
        let fields: Vec<&str> = row.split('\t').collect();
        let number = fields.len();
        let fields = fields.try_into();
        fields.unwrap_or_else(|_| panic!("{number} fields, not {N}: {row}"))
    })
    .collect()
}

fn hundred() -> Vec<[&'static str; 5]> {
    rows(include_str!("data/claims.tsv"))
}

/// Panics with all rows whose claims differ from those in the table.
#[track_caller]
fn assert_claims<'a>(rows: impl IntoIterator<Item = [&'a str; 3]>) {
    let mut wrong = Vec::new();
    for [title, claim, counter] in rows {
        let found = claims(title);
        if (found.0.as_str(), found.1.as_str()) != (claim, counter) {
            wrong.push(format!(
                "{title}\n  {claim} | {counter}, but found\n  {} | {}",
                found.0, found.1
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_topic_of_the_image_task_has_correct_claims() {
    assert_claims(
        hundred()
            .iter()
            .map(|[_, title, claim, counter, _]| [*title, *claim, *counter]),
    );
}

#[test]
fn each_topic_of_the_image_task_has_the_polarity_that_a_reader_gives_it() {
    let mut judged = 0;
    for [id, title, _, _, expected] in hundred() {
        let expected = match expected {
            "for" => Polarity::For,
            "against" => Polarity::Against,
            // the answer "yes" has no position on the subject
            _ => continue,
        };
        assert_eq!(polarity(title), expected, "{id} {title}");
        judged += 1;
    }
    assert!(judged > 90, "{judged}");
}

#[test]
fn other_questions_motions_and_subjects_have_correct_claims() {
    assert_claims(rows::<3>(include_str!("data/questions.tsv")));
}

#[test]
fn a_negation_has_the_scope_that_no_has_as_an_answer() {
    for [statement, expected] in rows(include_str!("data/statements.tsv")) {
        let expected = (expected != "-").then_some(expected);
        assert_eq!(negated(statement).as_deref(), expected, "{statement}");
    }
}

#[test]
fn comparisons_have_the_objects_and_claims_of_the_table() {
    let comparisons = rows::<6>(include_str!("data/comparisons.tsv"));
    for [id, title, first, second, _, _] in &comparisons {
        let expected = (*first != "-").then(|| [first.to_string(), second.to_string()]);
        assert_eq!(objects::from_title(title), expected, "{id} {title}");
    }
    assert_claims(
        comparisons
            .iter()
            .map(|[_, title, _, _, claim, counter]| [*title, *claim, *counter]),
    );
}
