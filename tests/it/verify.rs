//! `riposte verify`: the rules for runs of the text tasks and of 2025, and the command.

use std::fs;

use proptest::prelude::*;
use riposte_eval::edition::Edition;
use riposte_eval::run::{TextRunLine, write_texts};
use riposte_eval::verify::{Finding, Rule, Rules, Severity, is_valid, verify, verify_for_tira};
use riposte_eval::{DocId, ObjectStance, TextTask, TopicId};

use serde::Deserialize;

use crate::support::files::{json, text};
use crate::support::need::{Data, need};
use crate::support::program::{WorkDir, riposte, stdout, succeed};
use crate::support::{assert_says, reference, sample};

/// The rules of a task in one year. The task `None` is the image task.
fn of(task: Option<TextTask>, year: u32) -> Rules {
    Rules::of(Edition::find(task, year).unwrap())
}

fn rules() -> Rules {
    let topics = ["1", "2"].map(|t| TopicId(t.into()));
    of(Some(TextTask::Comparative), 2022).with_topics(topics)
}

fn found(run: &str) -> Vec<Finding> {
    verify(run.as_bytes(), &rules()).findings
}

/// The severity, the rule and the line of each finding.
fn brief(findings: &[Finding]) -> Vec<(Severity, Rule, Option<u64>)> {
    findings
        .iter()
        .map(|f| (f.severity, f.rule, f.line))
        .collect()
}

const GOOD: &str = "1 FIRST a 1 3 t\n1 Q0 b 2 2.5 t\n2 NO c 0 1e3 t\n2 SECOND a 1 -4 t\n";

#[test]
fn every_rule_of_the_text_tasks_is_checked() {
    use Rule as R;
    use Severity::{Error, Warning};
    assert_eq!(found(GOOD), []);
    for (from, to, expected) in [
        ("1 FIRST a 1 3 t", "1 FIRST a 1 3", (Error, R::Fields, 1)),
        (
            "1 FIRST a 1 3 t",
            "1 FIRST a 1 3 t u",
            (Error, R::Fields, 1),
        ),
        (
            "1 FIRST a 1 3 t",
            "1 FIRST a 1 3 \"t u\"",
            (Error, R::Tag, 1),
        ),
        ("1 FIRST a 1 3 t", "7 FIRST a 1 3 t", (Error, R::Topic, 1)),
        ("1 FIRST a", "1 first a", (Error, R::Stance, 1)),
        ("1 FIRST a", "1 PRO a", (Error, R::Stance, 1)),
        ("b 2 2.5", "b x 2.5", (Error, R::Rank, 2)),
        ("b 2 2.5", "b -2 2.5", (Error, R::Rank, 2)),
        ("b 2 2.5", "b 2 NaN", (Error, R::Score, 2)),
        ("b 2 2.5", "b 2 inf", (Error, R::Score, 2)),
        ("2 NO c 0 1e3 t", "2 NO c 0 1e3 u", (Error, R::Tag, 3)),
        ("b 2 2.5", "a 2 2.5", (Warning, R::Repeated, 2)),
        ("b 2 2.5", "b 2 3", (Warning, R::Tie, 2)),
        ("b 2 2.5", "b 2 2.9999999999", (Warning, R::Tie, 2)),
        ("b 2 2.5", "b 2 3.5", (Warning, R::Order, 2)),
        ("b 2 2.5", "b 1 2.5", (Warning, R::Rank, 2)),
        ("b 2 2.5", "b 4 2.5", (Warning, R::Gap, 2)),
        ("2 NO c 0", "2 NO c 3", (Warning, R::Gap, 3)),
        ("1 Q0 b", "1 Q0\tb", (Warning, R::Blanks, 2)),
        ("2.5 t\n2", "2.5 t\r\n2", (Warning, R::LineEnds, 2)),
        ("1 FIRST", "\u{feff}1 FIRST", (Warning, R::Encoding, 1)),
    ] {
        let run = GOOD.replacen(from, to, 1);
        let (severity, rule, line) = expected;
        let findings = found(&run);
        assert!(
            brief(&findings).contains(&(severity, rule, Some(line))),
            "{to}: {findings:?}"
        );
        // with a byte order mark, the first topic is another one
        let valid = severity != Error && rule != R::Encoding;
        assert_eq!(is_valid(&findings), valid, "{to}");
        assert!(findings.iter().all(|f| !f.what.is_empty()));
    }
    let known = rules().with_documents([DocId("a".into()), DocId("b".into())]);
    let findings = verify(GOOD.as_bytes(), &known).findings;
    assert_eq!(brief(&findings), [(Error, R::Document, Some(3))]);
    let findings = found("1 Q0 a 1 3 t\n");
    assert_eq!(brief(&findings), [(Warning, R::MissingTopics, None)]);
    assert!(findings[0].what.ends_with(": 2"), "{}", findings[0]);
    assert!(!is_valid(&found("")));
    let not_utf8 = verify(b"1 Q0 a 1 3 t\n1 Q0 \xff 2 2 t\n2 Q0 a 1 1 t\n", &rules()).findings;
    assert_eq!(brief(&not_utf8), [(Warning, R::Encoding, Some(2))]);
}

#[test]
fn a_topic_may_have_a_thousand_documents() {
    let lines = |n: usize| -> String {
        let line = |i| format!("1 Q0 d{i} {} {} t\n", i + 1, 5000 - i);
        (0..n).map(line).collect::<String>() + "2 Q0 a 1 1 t\n"
    };
    assert_eq!(found(&lines(1000)), []);
    let findings = found(&lines(1001));
    assert_eq!(
        brief(&findings),
        [(Severity::Error, Rule::Depth, Some(1001))]
    );
}

#[test]
fn each_edition_has_its_own_topics_and_stances() {
    let valid = |task, year, line: &str| {
        is_valid(&verify(format!("{line}\n").as_bytes(), &of(Some(task), year)).findings)
    };
    use TextTask::{Comparative, Controversial};
    assert!(valid(Controversial, 2020, "50 Q0 a 1 1 t"));
    assert!(
        !valid(Controversial, 2020, "25 Q0 a 1 1 t"),
        "2020 has no topic 25"
    );
    assert!(valid(Controversial, 2021, "51 Q0 a 1 1 t"));
    assert!(!valid(Controversial, 2021, "50 Q0 a 1 1 t"));
    assert!(!valid(Controversial, 2021, "51 PRO a 1 1 t"));
    assert!(valid(Controversial, 2022, "51 PRO a,b 1 1 t"));
    assert!(!valid(Comparative, 2021, "51 FIRST a 1 1 t"));
    assert!(valid(Comparative, 2022, "2 FIRST a 1 1 t"));
    assert!(!valid(Comparative, 2022, "1 FIRST a 1 1 t"));
}

/// A valid run of topics 1 and 2.
fn valid_run() -> impl Strategy<Value = Vec<TextRunLine>> {
    let list = (1usize..=30, -100.0..100.0f64, 0.001..10.0f64, 0u32..=1);
    proptest::collection::vec(list, 2).prop_map(|lists| {
        let mut lines = Vec::new();
        for (topic, (length, top, step, first)) in (1..).zip(lists) {
            for place in 0..length {
                lines.push(TextRunLine {
                    topic: TopicId(format!("{topic}")),
                    stance: ObjectStance::ALL.get(place % 5).copied(),
                    doc: DocId(format!("d{place}")),
                    rank: first + place as u32,
                    score: Some(top - step * place as f64),
                    tag: "t".into(),
                });
            }
        }
        lines
    })
}

proptest! {
    #[test]
    fn a_written_run_is_valid(lines in valid_run()) {
        prop_assert_eq!(found(&write_texts(&lines).unwrap()), []);
    }

    #[test]
    fn damage_to_a_run_is_found_at_its_line(
        lines in valid_run(),
        at in any::<prop::sample::Index>(),
        damage in 0usize..5,
    ) {
        let mut damaged = lines.clone();
        let at = at.index(lines.len());
        let followed = lines.get(at + 1).is_some_and(|next| next.topic == lines[at].topic);
        prop_assume!(followed);
        let rule = match damage {
            0 => {
                prop_assume!(lines[at].rank > 0);
                damaged.remove(at);
                Rule::Gap
            }
            1 => {
                damaged.insert(at, lines[at].clone());
                Rule::Repeated
            }
            2 => {
                damaged.swap(at, at + 1);
                Rule::Order
            }
            3 => {
                damaged[at].score = Some(-2000.0);
                Rule::Order
            }
            _ => {
                damaged[at].doc = DocId("unknown".into());
                Rule::Document
            }
        };
        let docs = (0..30).map(|n| DocId(format!("d{n}")));
        let run = write_texts(&damaged).unwrap();
        let findings = verify(run.as_bytes(), &rules().with_documents(docs)).findings;
        let near = [at as u64 + 1, at as u64 + 2].map(Some);
        prop_assert!(
            findings.iter().any(|f| f.rule == rule && near.contains(&f.line)),
            "{rule:?} {findings:?}\n{run}"
        );
    }

    #[test]
    fn no_bytes_make_verify_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = verify(&bytes, &rules()).findings;
        let _ = verify(&bytes, &of(None, 2025));
    }

    #[test]
    fn no_fields_make_verify_panic(
        text in "((1|2|x) ?\t?(FIRST|Q0|\"|é) (a|b|\"a b\") (0|1|4294967295|-1|99999999999) (1|1e999|-0|.5|9{400}) ?(t|\"a b\"|\")?\r?\n){0,12}"
    ) {
        let _ = verify(text.as_bytes(), &rules()).findings;
    }
}

fn answer(argument: &str, image: &str, rank: u32) -> String {
    format!(
        "{{\"argument_id\":\"{argument}\",\"method\":\"retrieval\",\"image_id\":\"{image}\",\"rank\":{rank},\"tag\":\"t\"}}\n"
    )
}

#[test]
fn what_breaks_a_rule_and_what_tira_refuses_are_told_apart() {
    let lines = |n: usize| -> String {
        let line = |i| format!("1 Q0 d{i} {} {} t\n", i + 1, 5000 - i);
        (0..n).map(line).collect::<String>() + "2 Q0 a 1 1 t\n3 Q0 a 1 1 t\n"
    };
    // no rule says how long a list of another collection may be
    let of_any = verify_for_tira(lines(1001).as_bytes(), &Rules::of_any_collection());
    let expected = [(Severity::Note, Rule::Depth, Some(1001))];
    assert_eq!(brief(&of_any.findings), expected);
    assert!(!of_any.refused_by_tira);
    for (run, is_refused) in [
        // TIRA does not look at the second column, nor at the number of documents
        (lines(6).replace("Q0 d3", "THIRD d3"), false),
        (lines(1001), false),
        (lines(6).replace("d3 4", "d3 4.5"), true),
        (lines(6).replace("d3", "d2"), true),
        (lines(6).replace("d3 ", ""), true),
        ("1 Q0 a 1 1 t\n".to_owned(), true),
    ] {
        let verdict = verify_for_tira(run.as_bytes(), &rules());
        let is_valid = is_valid(&verdict.findings);
        // a run of one line breaks no rule
        let expected = (run.lines().count() == 1, is_refused);
        assert_eq!((is_valid, verdict.refused_by_tira), expected, "{run}");
    }
    let claims = of(None, 2025);
    let run: String = (1..=5)
        .map(|rank| answer("1-1", &format!("I{rank}"), rank))
        .collect();
    let refused = |run: &str| verify_for_tira(run.as_bytes(), &claims).refused_by_tira;
    assert!(!refused(&run.replacen("I2", "I1", 1)));
    assert!(refused(&format!("{run}1-1 Q0 I1\n")));
}

#[test]
fn every_rule_of_2025_is_checked() {
    let run: String = (1..=5)
        .map(|rank| answer("1-1", &format!("I{rank}"), rank))
        .collect();
    let rules = of(None, 2025)
        .with_topics([TopicId("1-1".into())])
        .with_documents((1..=6).map(|n| DocId(format!("I{n}"))));
    let findings = |run: &str| brief(&verify(run.as_bytes(), &rules).findings);
    use Severity::{Error, Warning};
    assert_eq!(findings(&run), []);
    assert_eq!(findings(""), [(Error, Rule::Empty, None)]);
    // pandas writes ranks as floats if one is missing
    assert_eq!(findings(&run.replace("\"rank\":2", "\"rank\":2.0")), []);
    for rank in ["2.5", "true", "\"2\"", "null", "-2", "1e99"] {
        let odd = findings(&run.replace("\"rank\":2", &format!("\"rank\":{rank}")));
        assert_eq!(odd[0], (Error, Rule::Fields, Some(2)), "{rank}");
    }
    // the fields in their order, but no object
    let array = run.clone() + "[\"1-1\",\"retrieval\",\"I6\",2,\"t\"]\n";
    assert_eq!(findings(&array), [(Error, Rule::Fields, Some(6))]);
    let sixth = run.clone() + &answer("1-1", "I6", 6);
    assert_eq!(findings(&sixth), [(Warning, Rule::Depth, Some(6))]);
    let twice = run.replacen("I2", "I1", 1);
    assert_eq!(findings(&twice), [(Error, Rule::Repeated, Some(2))]);
    let other = run.replacen("I2", "J2", 1);
    assert_eq!(findings(&other), [(Error, Rule::Document, Some(2))]);
    let rank = run.replacen("\"rank\":2", "\"rank\":1", 1);
    assert_eq!(
        findings(&rank),
        [(Warning, Rule::Rank, Some(2)), (Error, Rule::Gap, None)]
    );
    let method = run.replacen("retrieval", "generation", 1);
    assert_eq!(
        findings(&method),
        [(Error, Rule::Fields, Some(1)), (Error, Rule::Gap, None)]
    );
    let unknown = run.replace("1-1", "9-9");
    assert!(findings(&unknown).contains(&(Error, Rule::Topic, Some(1))));
    assert!(findings(&unknown).contains(&(Error, Rule::MissingTopics, None)));
    let tag = run.replacen("\"tag\":\"t\"", "\"tag\":\"u\"", 1);
    assert_eq!(findings(&tag), [(Warning, Rule::Tag, None)]);
    let unsaid = run.replacen("\"method\":\"retrieval\",", "", 1);
    assert_eq!(findings(&unsaid), [(Error, Rule::Fields, Some(1))]);
    let untagged = run.replace(",\"tag\":\"t\"", "");
    assert_eq!(
        findings(&untagged)[0],
        (Severity::Tira, Rule::Fields, Some(1))
    );
}

#[test]
fn lists_of_2024_may_be_shorter_but_have_no_gap() {
    let brief = |ranks: &[u32]| {
        let lines = ranks
            .iter()
            .map(|rank| answer("7", &format!("I{rank}"), *rank));
        let run: String = lines.collect();
        brief(&verify(run.as_bytes(), &of(None, 2024)).findings)
    };
    assert_eq!(brief(&[1, 2, 3]), []);
    assert_eq!(brief(&[1, 2, 4]), [(Severity::Error, Rule::Gap, None)]);
    assert_eq!(
        brief(&[1, 2, 11]),
        [(Severity::Warning, Rule::Depth, Some(3))]
    );
}

#[derive(Deserialize)]
struct ValidatorCase {
    run: String,
    arguments: Vec<String>,
    images: Vec<String>,
    passes: bool,
}

#[derive(Deserialize)]
struct ValidatorCases {
    validator: Vec<ValidatorCase>,
}

#[test]
fn a_run_of_2025_is_valid_if_the_organisers_validator_passes_it() {
    let ValidatorCases { validator } = json(&reference("organisers.json"));
    for (number, case) in validator.iter().enumerate() {
        let rules = of(None, 2025)
            .with_topics(case.arguments.iter().cloned().map(TopicId))
            .with_documents(case.images.iter().cloned().map(DocId));
        let findings = verify(case.run.as_bytes(), &rules).findings;
        assert_eq!(
            is_valid(&findings),
            case.passes,
            "{number}: {findings:?}\n{}",
            case.run
        );
    }
    assert_eq!(validator.iter().filter(|case| case.passes).count(), 16);
}

#[test]
fn verify_prints_verdicts_and_refuses_what_it_cannot_check() {
    let topics = "<topics><topic><number>1</number><title>A</title></topic><topic><number>2</number><title>B</title></topic></topics>";
    let answers: String = (1..=5)
        .map(|rank| answer("1-1", &format!("I{rank}"), rank))
        .collect();
    let dir = WorkDir::with(&[
        ("team/any-name.txt", GOOD.as_bytes()),
        ("ids", b"a\nb\n"),
        ("topics.xml", topics.as_bytes()),
        ("results.jsonl", answers.as_bytes()),
        (
            "arguments.xml",
            b"<arguments><argument><id>1-1</id><claim>x</claim></argument></arguments>",
        ),
    ]);
    fs::create_dir(dir.path("empty")).unwrap();
    let (code, said, _) = dir.run("verify team --task comparative --topics topics.xml");
    // TIRA refuses a run of this size
    let refused = "team/any-name.txt: refused by TIRA: 4 lines (fewer than 5 are taken for a mistake)\n\
                   team/any-name.txt: refused by TIRA: 2 topics (fewer than 3 are taken for a mistake)\n";
    let valid = "team/any-name.txt: valid by the rules of the task, but TIRA refuses it\n";
    assert_eq!((code, said), (0, format!("{refused}{valid}")));
    let (code, said, _) = dir.run("verify team --task comparative --topics topics.xml --ids ids");
    assert_eq!(code, 1);
    let error = "team/any-name.txt: line 3: error: no document \"c\" in the collection\n";
    let verdict = "team/any-name.txt: NOT valid\n";
    assert_eq!(said, format!("{error}{refused}{verdict}"));
    let (code, said, _) = dir.run("verify results.jsonl --edition 2025 --topics arguments.xml");
    assert_eq!((code, said.as_str()), (0, "results.jsonl: valid\n"));
    let (code, said, _) = dir.run("verify results.jsonl --edition 2025");
    assert_eq!(code, 1);
    assert!(said.contains("nothing for 127 arguments: 1-2, "), "{said}");
    let (code, said, _) = dir.run("verify team --task comparative --edition 2021");
    assert_eq!(code, 1);
    assert_says(&said, &["no topic \"1\"", "warning: nothing for 50 topics"]);
    dir.refuses(
        "
        verify nowhere | nowhere
        verify empty --task comparative | run.txt
        verify team --task images --edition 2021 | no image task in 2021
        verify team --task comparative --edition 2023 | 2020, 2021 and 2022
        verify team --task comparative --prototext x | --prototext
        ",
    );
}

#[test]
fn only_the_first_findings_of_a_kind_are_printed_by_default() {
    let Some(run) = need(Data("args/runs/elrond-ekrun-2021.txt")) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let said = |more: &[&str]| {
        let args = ["verify", text(&run), "--task", "controversial"];
        let mut command = riposte(home.path(), &args);
        stdout(&succeed(command.args(["--edition", "2021"]).args(more)))
    };
    let brief = said(&[]);
    assert_eq!(
        brief.matches("not separated by one space").count(),
        5,
        "{brief}"
    );
    assert!(brief.contains("more of these kinds"), "{brief}");
    let verbose = said(&["--verbose"]);
    assert_eq!(
        verbose.matches("not separated by one space").count(),
        50_000
    );
}

/// The sample has images and arguments: the lines of a run say which of them it ranks.
#[test]
fn a_run_is_checked_and_shown_as_what_it_ranks() {
    let dir = WorkDir::new();
    let sample = sample().to_str().unwrap();
    dir.run(&format!("controversial -i {sample} -o texts"));
    let (exit_code, said, notes) = dir.run(&format!("verify texts -i {sample}"));
    assert_eq!(exit_code, 0, "{said}{notes}");
    assert!(said.contains("valid"), "{said}");
    let (exit_code, said, notes) = dir.run(&format!("inspect texts -i {sample} -o report"));
    assert_eq!(exit_code, 0, "{said}{notes}");
    assert!(dir.read("report/index.html").contains("arguments"));
    // without the collection, the official topics are expected
    let (_, said, _) = dir.run("verify texts");
    assert!(said.contains("nothing for 94 topics: 7–100 ("), "{said}");
    // the wrong task is not repeated for each of the hundreds of lines
    let (exit_code, _, notes) =
        dir.run(&format!("inspect texts -i {sample} -o other --task images"));
    assert_eq!(exit_code, 2, "{notes}");
    assert!(notes.lines().count() < 30, "{notes}");
    assert_says(
        &notes,
        &["run.txt:1: ", "there is no line of a run of this task"],
    );
}
