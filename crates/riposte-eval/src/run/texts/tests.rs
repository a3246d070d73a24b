use super::*;
use crate::graded::SortedTextRun;
use crate::measure::Measure;
use crate::qrels::{self, Qrels};

const TREC: &str = "1 Q0 a 1 3.5 t\n1 Q0 b 2 3 t\n1 Q0 c 3 -1 t\n2 Q0 7 1 0.5 t\n";

#[test]
fn each_format_of_a_run_gives_the_same_values() {
    let (Qrels::Graded(qrels), _) = qrels::read("1 0 b 2\n1 0 c 1\n2 0 7 1\n2 0 8 1\n") else {
        panic!("these are grades");
    };
    let values = |run: &str| -> Vec<f64> {
        let read = ReadRun::read(run);
        assert!(read.errors.is_empty(), "{:?}", read.errors);
        let run = SortedTextRun::new(&read.lines);
        let value = |measure: &str| match measure.parse().unwrap() {
            Measure::Graded(measure) => run.measure(&qrels, &measure).all(),
            _ => unreachable!(),
        };
        ["nDCG@5", "AP", "RR@2", "nDCG(touche=2021)@5"]
            .map(value)
            .to_vec()
    };
    let expected = values(TREC);
    assert!(expected.iter().all(|value| *value > 0.0 && *value < 1.0));
    for (format, run) in [
        (
            RunFileFormat::Ranked,
            "1\ta\t1\n1\tb\t2\n1\tc\t3\n2\t7\t1\n",
        ),
        // in another order, with spaces
        (RunFileFormat::Ranked, "2 7 1\r\n1 c 3\r\n1 a 1\r\n1 b 2"),
        (
            RunFileFormat::Scored,
            "1\ta\t1\t3.5\n1\tb\t2\t3\n1\tc\t3\t-1\n2\t7\t1\t0.5\n",
        ),
        (
            RunFileFormat::Ranx,
            r#"{"1":{"a":3.5,"b":3,"c":-1},"2":{"7":0.5}}"#,
        ),
        (
            RunFileFormat::Ranx,
            "{\n  \"2\": {\"7\": 5e-1},\n  \"1\": {\n \"c\": -1,\n\"b\": 3,\n\"a\": 3.5}}\n",
        ),
    ] {
        assert_eq!(RunFileFormat::of(run), format);
        assert_eq!(values(run), expected, "{run}");
    }
}

#[test]
fn a_damaged_line_does_not_change_the_format_of_a_run() {
    for (run, format) in [
        ("1 Q0 5\n1 Q0 b 2 4 t\n", RunFileFormat::Trec),
        ("1 Q0 a 1\n1 Q0 b 2 4 t\n", RunFileFormat::Trec),
        ("1 d1 1 0.5\n1 Q0 b 2 4 t\n", RunFileFormat::Trec),
        ("1 Q0 a\n1 Q0 b\n", RunFileFormat::Trec),
        // judgements of MS MARCO
        ("1 0 77 1\n1 0 78 1\n", RunFileFormat::Trec),
        ("", RunFileFormat::Trec),
        ("1 a 1\n1 b\n", RunFileFormat::Trec),
        ("1 a 1\n1 b 2\n1 c\n", RunFileFormat::Ranked),
        ("1 0 1 2.5\n1 9 2 1\n", RunFileFormat::Scored),
        ("{\"argument_id\": \"1-1\"}", RunFileFormat::JsonLines),
        ("{broken", RunFileFormat::JsonLines),
    ] {
        assert_eq!(RunFileFormat::of(run), format, "{run}");
    }
    let (lines, errors) = read_texts("1 a 1\n1 b 2\n1 c\n1 d x\n1 e 16777217\n1 f 16777216\n");
    assert_eq!(lines.len(), 3);
    let errors: Vec<String> = errors.iter().map(LineError::to_string).collect();
    let expected = [
        "line 3: 2 fields, must be three: topic, document, rank",
        "line 4: \"x\" is not a rank",
        "line 5: the rank 16777217 is above 16777216",
    ];
    assert_eq!(errors, expected);
}

#[test]
fn scores_of_ranks_strictly_decrease_as_32_bit_floats() {
    let run = "1 a 0\n1 b 1\n1 c 1\n1 d 2\n1 e 16777215\n1 f 16777216\n";
    let (lines, errors) = read_texts(run);
    assert!(errors.is_empty());
    let scores: Vec<f32> = lines
        .iter()
        .map(|line| line.score.unwrap() as f32)
        .collect();
    assert_eq!(scores[1], scores[2]);
    let distinct = [0, 1, 3, 4, 5].map(|at: usize| scores[at]);
    assert!(distinct.is_sorted_by(|a, b| a > b), "{scores:?}");
    assert!(scores[0].is_sign_positive());
}

#[test]
fn repeated_documents_are_named_with_both_lines() {
    let run = ReadRun::read("1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n\n1 Q0 a 2 2 t\n1 Q0 a 3 1 t\n");
    let said: Vec<String> = run.repeated().iter().map(LineError::to_string).collect();
    assert_eq!(said.len(), 2);
    assert!(said[0].starts_with("line 4: document a of topic 1 again, first on line 1: "));
    assert!(said[1].starts_with("line 5: document a of topic 1 again, first on line 1: "));
    assert!(ReadRun::read(TREC).repeated().is_empty());
    let ranx = ReadRun::read("{\"1\": {\"a\": 1,\n\"a\": 2}}");
    assert_eq!(ranx.repeated()[0].line, 2);
}

#[test]
fn ranks_that_contradict_scores_are_found() {
    let said = |run: &str| {
        let found = ReadRun::read(run).contradiction();
        found.map(|found| format!("{}, {found}", found.topics))
    };
    for run in [
        TREC,
        // equal ranks, equal scores, scores that are equal as 32-bit floats, and ranks that are no numbers
        "1 Q0 a 0 1 t\n1 Q0 b 0 2 t\n",
        "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n",
        "1 Q0 a 1 1 t\n1 Q0 b 2 1.00000001 t\n",
        "1 Q0 a - 1 t\n1 Q0 b - 2 t\n",
        "1 a 1\n1 b 1\n",
        r#"{"1": {"a": 1, "b": 2}}"#,
        "",
    ] {
        assert_eq!(said(run), None, "{run}");
    }
    assert_eq!(
        said("3 Q0 a 1 2 t\n3 Q0 b 2 1 t\n2 Q0 c 3 4 t\n2 Q0 a 1 5 t\n2 Q0 b 2 3 t\n1 Q0 a 2 1 t\n1 Q0 b 1 0.5 t\n").unwrap(),
        "2, topic 2: line 5 has rank 2 and score 3, line 3 has rank 3 and score 4"
    );
    assert_eq!(
        said("1 a 1 0.5\n1 b 2 0.75\n").unwrap(),
        "1, topic 1: line 1 has rank 1 and score 0.5, line 2 has rank 2 and score 0.75"
    );
}
