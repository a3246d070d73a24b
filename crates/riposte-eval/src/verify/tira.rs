//! Finds what TIRA's check of a run refuses in addition to a task's rules: `RunFormat` in `check_format` of the Python package `tira` 0.0.207.

use std::collections::HashMap;

use super::{Finding, Findings, Rule, Severity};

/// TIRA takes a run with fewer lines or fewer topics for a mistake.
const MIN_LINES: usize = 5;
const MIN_TOPICS: usize = 3;

/// What TIRA refuses in a run; empty if it accepts the run.
///
/// TIRA ignores the second column, so it refuses an image under both stances of a topic.
pub fn refused_by_tira(run: &[u8]) -> Vec<Finding> {
    let mut findings = Findings::default();
    let mut refuse = |line: Option<u64>, rule, what: String, hint: &str| {
        findings.add(line, Severity::Tira, rule, what, hint);
    };
    let mistake = |fewest| format!("fewer than {fewest} are taken for a mistake");
    if run.len() > crate::limits::MAX_TIRA_BYTES {
        let what = format!("the run has {} bytes", run.len());
        refuse(None, Rule::Depth, what, "75 MiB are allowed");
    }
    let text = String::from_utf8_lossy(run);
    let mut documents: HashMap<&str, HashMap<&str, &str>> = HashMap::new();
    let mut lines = 0;
    for (number, line) in (1..).zip(text.lines()) {
        lines += 1;
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[topic, second, document, rank, score, _] = fields.as_slice() else {
            let what = format!("{} columns", fields.len());
            refuse(Some(number), Rule::Fields, what, "there must be six");
            continue;
        };
        if rank.parse::<i64>().is_err() {
            let what = format!("the rank {rank:?} is not a whole number");
            refuse(Some(number), Rule::Rank, what, "");
        }
        if score.parse::<f64>().is_err() {
            let what = format!("the score {score:?} is not a number");
            refuse(Some(number), Rule::Score, what, "");
        }
        let of_topic = documents.entry(topic).or_default();
        if let Some(first) = of_topic.insert(document, second) {
            let what = format!("{document} is listed twice for topic {topic}");
            let hint = match first == second {
                true => "list each document once for a topic",
                false => "TIRA ignores the second column, so no image may have both stances",
            };
            refuse(Some(number), Rule::Repeated, what, hint);
        }
    }
    if lines < MIN_LINES {
        let what = format!("{lines} lines");
        refuse(None, Rule::ShortList, what, &mistake(MIN_LINES));
    }
    if documents.len() < MIN_TOPICS {
        let what = format!("{} topics", documents.len());
        refuse(None, Rule::MissingTopics, what, &mistake(MIN_TOPICS));
    }
    findings.list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(run: &str) -> Vec<String> {
        let findings = refused_by_tira(run.as_bytes());
        findings.iter().map(Finding::to_string).collect()
    }

    const TAKEN: &str =
        "1 PRO Ia 1 9.5 t\n1 CON Ib 1 9 t\n2 PRO Ia 1 9 t\n2 CON Ib 1 8 t\n3 PRO Ia 1 9 t\n";

    #[test]
    fn a_run_of_three_topics_and_five_lines_is_taken_and_a_smaller_one_is_not() {
        assert!(said(TAKEN).is_empty());
        let four: String = TAKEN
            .lines()
            .take(4)
            .map(|line| format!("{line}\n"))
            .collect();
        let findings = said(&four);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("refused by TIRA: 4 lines"));
        assert!(findings[1].starts_with("refused by TIRA: 2 topics"));
    }

    #[test]
    fn an_image_under_both_stances_and_lines_that_cannot_be_read_are_refused() {
        let findings = said(&format!(
            "{TAKEN}3 CON Ia 1 9 t\n\n3 CON Id first 9 t\n3 CON Ie 2 high t\n"
        ));
        assert!(findings[0].contains("no image may have both stances"));
        // a text run gets no finding about images
        let texts = TAKEN.replace("PRO", "Q0").replace("CON", "Q0");
        let twice = said(&format!("{texts}3 Q0 Ia 2 8 t\n"));
        assert!(twice[0].contains("list each document once"), "{twice:?}");
        let begin: Vec<&str> = findings
            .iter()
            .map(|f| f.split(" (").next().unwrap())
            .collect();
        assert_eq!(
            begin,
            [
                "line 6: refused by TIRA: Ia is listed twice for topic 3",
                "line 7: refused by TIRA: 0 columns",
                "line 8: refused by TIRA: the rank \"first\" is not a whole number",
                "line 9: refused by TIRA: the score \"high\" is not a number",
            ]
        );
    }
}
