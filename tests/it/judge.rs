//! Runs of the image task: their scores compared with the published scores and with an independent implementation, and the rules for valid runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;
use riposte_eval::edition::Edition;
use riposte_eval::images::{ImageEvaluation, evaluate_images};
use riposte_eval::run::{ImageRunLine, read_images, write_images};
use riposte_eval::verify::{Finding, Rules, Severity, is_valid, verify};
use riposte_eval::{DocId, Stance, TopicId, qrels};

use crate::support::need::{Data, FoundRuns, OfficialRuns, Python, need};
use crate::support::reference;

fn evaluate(qrels: &str, run: &str) -> ImageEvaluation {
    let (qrels, errors) = qrels::read_images(qrels);
    assert_eq!(errors, []);
    let (run, errors) = read_images(run);
    assert_eq!(errors, []);
    evaluate_images(&run, &qrels, Edition::first())
}

fn verify_images(run: &str, rules: &Rules) -> Vec<Finding> {
    verify(run.as_bytes(), rules).findings
}

fn of_2023() -> &'static Edition {
    Edition::find(None, 2023).unwrap()
}

fn rounded(precision: [f64; 3]) -> [String; 3] {
    precision.map(|p| format!("{p:.3}"))
}

/// The path of each run, and its precision in the three measures, as published.
type Published = Vec<(PathBuf, [String; 3])>;

/// The official runs of 2022 that are here, and the judgements.
fn official_runs() -> Option<(Published, PathBuf)> {
    let FoundRuns { mut runs, qrels } = need(OfficialRuns)?;
    let published = fs::read_to_string(reference("touche-2022-images.tsv")).unwrap();
    let published = published.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        Some((
            runs.remove(fields[0])?,
            [1, 2, 3].map(|n| fields[n].to_owned()),
        ))
    });
    let published: Published = published.collect();
    assert!(!published.is_empty());
    assert_eq!(runs.len(), 0, "no figures of {runs:?}");
    Some((published, qrels))
}

#[test]
fn official_runs_have_their_official_scores_and_are_valid() {
    let Some((runs, qrels)) = official_runs() else {
        return;
    };
    let qrels = fs::read_to_string(qrels).unwrap();
    for (path, official) in runs {
        let run = fs::read_to_string(&path).unwrap();
        let found = rounded(evaluate(&qrels, &run).official());
        assert_eq!(found, official, "{}", path.display());

        let findings = verify_images(&run, &Rules::of(Edition::first()));
        let errors: Vec<&Finding> = findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

#[test]
fn an_independent_judge_gives_submitted_runs_the_same_scores() {
    let Some((runs, qrels)) = official_runs() else {
        return;
    };
    let (Some(judge), Some(python)) = (need(Data("../tools/judge.py")), need(Python)) else {
        return;
    };
    for (path, [on_topic, argumentative, on_stance]) in runs {
        let mut command = Command::new(&python);
        command.arg(&judge).arg("images").arg(&qrels).arg(&path);
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let same = format!(
            "P@10 on topic {on_topic}  argumentative {argumentative}  on stance {on_stance}  "
        );
        assert!(said.contains(&same), "{}: {said}", path.display());
    }
}

/// Topic 1: `a` is both PRO and CON, `b` is only on topic, `c` is marked PRO although it is off topic, `d` is CON. Topic 2: `e` is PRO.
const QRELS: &str = "1 ONTOPIC a 1\n1 PRO a 1\n1 CON a 1\n\
                     1 ONTOPIC b 1\n1 PRO b 0\n1 CON b 0\n\
                     1 ONTOPIC c 0\n1 PRO c 1\n\
                     1 ONTOPIC d 1\n1 PRO d 0\n1 CON d 1\n\
                     2 ONTOPIC e 1\n2 PRO e 1\n2 CON e 0\n";

#[test]
fn precision_counted_by_hand() {
    // PRO: a counts for all three; b is on topic; c counts for none; d argues for the other side; x is not judged.
    // CON: a counts for all three.
    let run = "1 PRO a 1 9 t\n1 PRO b 2 8 t\n1 PRO c 3 7 t\n1 PRO d 4 6 t\n1 PRO x 5 5 t\n1 CON a 1 9 t\n";
    let found = evaluate(QRELS, run);
    let twentieths = |hits: [f64; 3]| hits.map(|h| h / 20.0);
    assert_eq!(found.official(), twentieths([4.0, 3.0, 2.0]));
    // topic 2 is judged, but not in the run
    assert_eq!(found.all_judged(), [4.0, 3.0, 2.0].map(|h| h / 40.0));
    assert_eq!(found.of_stance(Stance::Pro), [0.3, 0.2, 0.1]);
    assert_eq!(found.of_stance(Stance::Con), [0.1, 0.1, 0.1]);
    let topic = found.topics[&TopicId("1".into())].of(None);
    assert_eq!((topic.judged, topic.listed), (5, 6));
    assert!(
        found
            .to_string()
            .contains("5 of the 6 images in the lists are judged; the other 1 counts"),
        "{found}"
    );
}

#[test]
fn the_table_says_what_can_be_reached_where_judgements_are_few() {
    // topic 1 has three images on topic, and two of them argue; each counts once, because the run lists no image twice
    let found = evaluate(QRELS, "1 PRO a 1 9 t\n1 CON x 1 9 t\n").to_string();
    let official = found.lines().find(|line| line.starts_with("official"));
    let values = "0.050 of 0.150  0.050 of 0.100  0.050 of 0.100";
    assert!(official.unwrap().ends_with(values), "{found}");
    // an image in both lists counts twice
    let found = evaluate(QRELS, "1 PRO a 1 9 t\n1 CON a 1 9 t\n").to_string();
    let values = "0.100 of 0.300  0.100 of 0.200  0.100 of 0.150";
    assert!(found.contains(values), "{found}");
    // with ten images for each stance, all places can be filled
    let judged = |n: usize| {
        let side = if n < 10 { "PRO" } else { "CON" };
        format!("1 ONTOPIC i{n} 1\n1 {side} i{n} 1\n")
    };
    let enough: String = (0..20).map(judged).collect();
    let found = evaluate(&enough, "1 PRO i0 1 9 t\n").to_string();
    let official = "       1     0.050          0.050      0.050\n";
    assert!(
        found.contains(official) && !found.contains(" of 1.000"),
        "{found}"
    );
    assert!(!found.contains("a run can reach"), "{found}");
}

#[test]
fn only_the_ten_best_ranks_of_a_list_count() {
    // eleven lines: the relevant image has the lowest rank and is first in the file
    let mut run = "1 PRO a 11 0 t\n".to_owned();
    for rank in 1..=10 {
        run += &format!("1 PRO x{rank} {rank} {} t\n", 20 - rank);
    }
    assert_eq!(evaluate(QRELS, &run).official(), [0.0; 3]);
}

#[test]
fn the_2023_edition_counts_grades_of_one_and_more() {
    let (qrels, _) = qrels::read_images("51 ONTOPIC a 2\n51 PRO a 2\n51 CON a 0\n");
    let (run, _) = read_images("51 PRO a 1 1 t\n");
    let on_stance = |edition| evaluate_images(&run, &qrels, edition).official()[2];
    assert_eq!(on_stance(of_2023()), 0.05);
    assert_eq!(on_stance(Edition::first()), 0.0);
}

#[test]
fn judgements_that_cannot_be_read_are_named_with_their_lines() {
    let (qrels, errors) = qrels::read_images(
        "1 ONTOPIC a 1\n\n1 TOPIC a 1\n9 WHAT a 1\n1 PRO a one\n1 ONTOPIC a 0\n1 PRO\n",
    );
    let lines: Vec<u64> = errors.iter().map(|e| e.line).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7]);
    assert_eq!(qrels.len(), 1, "topic 9 has no grade");
}

#[test]
fn runs_with_tabs_quotes_and_lower_case_stances_are_read() {
    let run = "\u{feff}34\tpro\tI0\t0\t1.5e1\t\"my best run\"\r\n\r\n35  CON I1  2 -3 t\r\n";
    let (lines, errors) = read_images(run);
    assert_eq!(errors, []);
    let line = |topic: &str, stance, image: &str, rank, score, tag: &str| ImageRunLine {
        topic: TopicId(topic.into()),
        stance,
        image: DocId(image.into()),
        rank,
        score: Some(score),
        tag: tag.into(),
    };
    let expected = [
        line("34", Stance::Pro, "I0", 0, 15.0, "my best run"),
        line("35", Stance::Con, "I1", 2, -3.0, "t"),
    ];
    assert_eq!(lines, expected);

    let bad = "1 PRO a 1 1\n1 MAYBE a 1 1 t\n1 PRO a x 1 t\n1 PRO a 1 NaN t\n1 PRO a 1 1 t u\n";
    let (lines, errors) = read_images(bad);
    assert!(lines.is_empty());
    let found: Vec<u64> = errors.iter().map(|e| e.line).collect();
    assert_eq!(found, [1, 2, 3, 4, 5]);
    assert!(
        errors[1].to_string().starts_with("line 2: "),
        "{}",
        errors[1]
    );
}

#[test]
fn a_line_that_would_be_malformed_is_not_written() {
    let line = |tag: &str, score| ImageRunLine {
        topic: TopicId("1".into()),
        stance: Stance::Pro,
        image: DocId("I0".into()),
        rank: 1,
        score,
        tag: tag.into(),
    };
    assert_eq!(
        write_images(&[line("t", Some(-1e-9))]).unwrap(),
        "1 PRO I0 1 0.000000 t\n"
    );
    for bad in [
        line("", Some(1.0)),
        line("a b", Some(1.0)),
        line("t", Some(f64::NAN)),
        line("t", Some(f64::INFINITY)),
        line("t", None),
    ] {
        assert!(write_images(&[bad]).is_err());
    }
}

/// A valid run for topics 1 and 2, whose scores differ even as 32-bit floats.
fn valid_run() -> impl Strategy<Value = Vec<ImageRunLine>> {
    let list = (1usize..=10, -100.0..100.0f64, 0.001..10.0f64);
    proptest::collection::vec(list, 4).prop_map(|lists| {
        let mut lines = Vec::new();
        for (n, (length, top, step)) in lists.into_iter().enumerate() {
            for place in 0..length {
                lines.push(ImageRunLine {
                    topic: TopicId((1 + n / 2).to_string()),
                    stance: Stance::BOTH[n % 2],
                    image: DocId(format!("I{:016x}", 100 * n + place)),
                    rank: place as u32 + 1,
                    score: Some(top - step * place as f64),
                    tag: "t".into(),
                });
            }
        }
        lines
    })
}

fn two_topics() -> Rules {
    let topics = ["1", "2"].map(|t| TopicId(t.into()));
    Rules::of(Edition::first()).with_topics(topics)
}

/// The findings that are more severe than a note.
fn complaints(run: &str) -> Vec<Finding> {
    let mut findings = verify_images(run, &two_topics());
    findings.retain(|f| f.severity > Severity::Note);
    findings
}

proptest! {
    #[test]
    fn a_written_run_is_valid_and_reads_back(lines in valid_run()) {
        let run = write_images(&lines).unwrap();
        prop_assert_eq!(complaints(&run), []);
        let (read, errors) = read_images(&run);
        prop_assert_eq!(errors, []);
        prop_assert_eq!(read.len(), lines.len());
        for (read, line) in read.iter().zip(&lines) {
            prop_assert!((read.score.unwrap() - line.score.unwrap()).abs() <= 5e-7);
            prop_assert_eq!(ImageRunLine { score: None, ..read.clone() }, ImageRunLine { score: None, ..line.clone() });
        }
    }

    #[test]
    fn damage_to_an_image_run_is_found_at_its_line(
        lines in valid_run(),
        at in any::<prop::sample::Index>(),
        field in 0usize..6,
        damage in 0usize..6,
    ) {
        let run = write_images(&lines).unwrap();
        let mut rows: Vec<String> = run.lines().map(str::to_owned).collect();
        let at = at.index(rows.len());
        let mut fields: Vec<String> = rows[at].split(' ').map(str::to_owned).collect();
        let followed = lines.get(at + 1).is_some_and(|next| next.rank > 1);
        let mut line = at + 1;
        match damage {
            0 => { fields.remove(field); }
            1 => fields[field] = "?".into(),
            2 => fields[field].push(' '),
            3 if followed => { fields[4] = "-1000".into(); line = at + 2; }
            3 => fields[4] = "1e3".into(),
            4 if followed => { rows.swap(at, at + 1); line = at + 2; fields = rows[at].split(' ').map(str::to_owned).collect(); }
            _ => { rows.insert(at, rows[at].clone()); line = at + 2; }
        }
        if damage < 5 {
            rows[at] = fields.join(" ");
        }
        // a changed tag in the first line is reported at the second line, whose tag differs from it
        if damage == 1 && field == 5 && at == 0 {
            line = 2;
            prop_assume!(rows.len() > 1);
        }
        let found = complaints(&rows.join("\n"));
        prop_assert!(found.iter().any(|f| f.line == Some(line as u64)), "{damage} {found:?}");
    }

    #[test]
    fn no_bytes_make_the_judge_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = verify(&bytes, &two_topics()).prototext();
        let (run, _) = read_images(&text);
        let (qrels, _) = qrels::read_images(&text);
        let _ = evaluate_images(&run, &qrels, of_2023()).to_string();
    }

    #[test]
    fn no_fields_make_the_judge_panic(
        text in "((1|2|x|-1|) ?\t?(PRO|CON|pro|ONTOPIC) (I0{16}|é|\"a b\") (0|1|11|-1|99999999999) (1|1e999|-0|.5|9{400}) ?(t|\"a b\")?\r?\n){0,12}"
    ) {
        let _ = verify_images(&text, &two_topics());
        let (run, _) = read_images(&text);
        let (qrels, _) = qrels::read_images(&text);
        let _ = evaluate_images(&run, &qrels, Edition::first()).to_string();
    }
}

const I: [&str; 3] = [
    "I0000000000000000",
    "I0000000000000001",
    "I0000000000000002",
];

/// The findings of one severity in a run with a line for each pair of an image and "rank score", all for topic 1 and PRO.
fn findings_of(severity: Severity, lines: &[(&str, &str)]) -> Vec<(u64, String)> {
    let run: String = lines
        .iter()
        .map(|(image, rest)| format!("1 PRO {image} {rest} t\n"))
        .collect();
    verify_images(&run, &two_topics())
        .into_iter()
        .filter(|f| f.severity == severity)
        .filter_map(|f| Some((f.line?, format!("{} ({})", f.what, f.hint))))
        .collect()
}

#[test]
fn every_official_rule_is_an_error_at_its_line() {
    let [a, b, _] = I;
    for (second, what) in [
        ((b, "2 1.0.0"), "score"),
        ((b, "2 1e0"), "score"),
        ((b, "2 NaN"), "score"),
        ((b, "2 .5"), "score"),
        ((b, "2 +1"), "score"),
        ((b, "2 99"), "score 99 after score 9"),
        ((b, "1 1"), "rank 1 after rank 1"),
        ((b, "11 1"), "rank \"11\""),
        ((b, "0 1"), "rank \"0\""),
        ((b, "+2 1"), "rank \"+2\""),
        (("I00", "2 1"), "no image id"),
        (("i0000000000000001", "2 1"), "no image id"),
        ((b, "2"), "5 fields"),
    ] {
        let found = findings_of(Severity::Error, &[(a, "1 9"), second]);
        assert_eq!(found.len(), 1, "{second:?}: {found:?}");
        assert_eq!(found[0].0, 2);
        assert!(found[0].1.contains(what), "{second:?}: {found:?}");
    }
    for (line, what) in [
        ("3 PRO I0000000000000000 1 1 t", "no topic \"3\""),
        ("1 pro I0000000000000000 1 1 t", "no stance \"pro\""),
        ("1 PRO I0000000000000001 1 1 t", "in the collection"),
    ] {
        let rules = two_topics().with_documents([DocId(a.into())]);
        let found = verify_images(&format!("{line}\n"), &rules);
        let errors: Vec<&Finding> = found
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .collect();
        assert_eq!(errors.len(), 1, "{line}: {errors:?}");
        assert!(
            errors[0].to_string().contains(what),
            "{line}: {}",
            errors[0]
        );
    }
    let tags = format!("1 PRO {a} 1 2 t\n1 PRO {b} 2 1 u\n");
    let found = verify_images(&tags, &two_topics());
    assert!(
        found
            .iter()
            .any(|f| f.line == Some(2) && f.what.contains("tag"))
    );
    assert!(!is_valid(&found));
    assert!(!is_valid(&verify_images("", &two_topics())), "it is empty");
}

#[test]
fn faults_that_the_organisers_do_not_check_are_warnings() {
    let [a, b, c] = I;
    let warning = |lines: &[(&str, &str)]| findings_of(Severity::Warning, lines);
    assert_eq!(warning(&[(a, "1 9"), (b, "2 8.5"), (c, "3 8.25")]), []);

    let repeated = warning(&[(a, "1 9"), (b, "2 8"), (a, "3 7")]);
    assert!(
        matches!(&repeated[..], [(3, what)] if what.contains("already")),
        "{repeated:?}"
    );

    // trec_eval ranks the larger id first if scores are equal: it swaps the first pair and keeps the second
    let turned = warning(&[(a, "1 9"), (b, "2 9")]);
    assert!(
        matches!(&turned[..], [(2, what)] if what.contains("before the one above")),
        "{turned:?}"
    );
    let kept = warning(&[(b, "1 9"), (a, "2 9.0")]);
    assert!(
        matches!(&kept[..], [(2, what)] if what.contains("keeps")),
        "{kept:?}"
    );

    // 16777217 is the smallest whole number that a 32-bit float cannot represent
    let close = warning(&[(a, "1 16777217"), (b, "2 16777216")]);
    assert!(
        matches!(&close[..], [(2, what)] if what.contains("32-bit")),
        "{close:?}"
    );

    let gap = warning(&[(a, "2 9"), (b, "4 8")]);
    assert_eq!(
        gap.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
        [1, 2],
        "{gap:?}"
    );

    let tabs = format!("1\tPRO\t{a}\t1\t9\tt\n");
    assert!(is_valid(&verify_images(&tabs, &two_topics())));
    assert!(complaints(&tabs).iter().any(|f| f.line == Some(1)));
}

#[test]
fn missing_topics_short_lists_and_overlap_are_reported_for_the_whole_run() {
    let [a, b, _] = I;
    let run = format!("1 PRO {a} 1 9 t\n1 PRO {b} 2 8 t\n1 CON {a} 1 9 t\n");
    let found = verify_images(&run, &two_topics());
    let whole: BTreeSet<String> = found.iter().map(|f| f.to_string()).collect();
    assert_eq!(
        found.iter().filter(|f| f.line.is_none()).count(),
        3,
        "{whole:?}"
    );
    for what in [
        "warning: nothing for 1 topics: 2",
        "note: 2 lists with fewer than 10",
        "note: 1 images are in both lists",
    ] {
        assert!(
            whole.iter().any(|f| f.starts_with(what)),
            "{what}: {whole:?}"
        );
    }
    let one_sided = verify_images(&format!("2 CON {a} 1 9 t\n"), &two_topics());
    assert!(
        one_sided.iter().any(|f| f.what == "no list for 2 PRO"),
        "{one_sided:?}"
    );
}

#[test]
fn the_2023_edition_has_other_topics_and_longer_ids() {
    let line = |topic: u32, id: &str| format!("{topic} PRO {id} 1 1 t\n");
    let long = "I0123456789abcdef01234567";
    let valid = |run: &str, edition| is_valid(&verify_images(run, &Rules::of(edition)));
    assert!(valid(&line(51, long), of_2023()));
    assert!(valid(&line(100, I[0]), of_2023()));
    assert!(!valid(&line(50, long), of_2023()));
    assert!(!valid(&line(1, long), Edition::first()));
}
