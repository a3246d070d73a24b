//! `riposte evaluate`: names of measures, comparisons of runs, tables, and errors for files that cannot be read.

use std::fmt::Write;

use proptest::prelude::*;
use riposte_eval::compare::{ComparisonTable, SignificanceTest, paired};
use riposte_eval::graded::SortedTextRun;
use riposte_eval::measure::Measure;
use riposte_eval::qrels::{self, Qrels};
use riposte_eval::run::{TextRunLine, read_texts, write_texts};
use riposte_eval::{DocId, MeasureValues, ObjectStance, TopicId};

use crate::measures::{RUN, values};
use crate::support::files::gzip;
use crate::support::program::WorkDir;
use crate::support::{assert_close, assert_says};

/// trec_eval uses neither ranks nor tags, and accepts infinite scores.
#[test]
fn odd_lines_are_read_as_trec_eval_reads_them_and_named() {
    let qrels: &[u8] = b"1 0 a 1\n1 0 b 0\n1 0 c 1\n";
    for (line, odd) in [
        ("1 Q0 a 1 5 two words", Some("more than six fields")),
        ("1 Q0 a 1 5", Some("no tag")),
        ("1 Q0 a - 5 t", Some("\"-\" is not a rank")),
        ("1 Q0 a 1.0 5 t", Some("\"1.0\" is not a rank")),
        ("1 Q0 a 1 inf t", Some("the score \"inf\" is infinite")),
        ("1 Q0 a 1 5,2 t", Some("the score \"5,2\" is read as 5")),
        ("1 Q0 a 1 5 t", None),
        ("1\tQ0\ta\t1\t5\tt", None),
    ] {
        let run = format!("{line}\n1 Q0 b 2 4 t\n1 Q0 c 3 -inf t\n");
        let dir = WorkDir::with(&[("qrels", qrels), ("run", run.as_bytes())]);
        let (code, table, said) = dir.run("evaluate qrels run P@1 AP --format tsv");
        assert_eq!(code, 0, "{line}: {said}");
        // a is first and c is third
        let value = |line: Option<&str>| line?.split('\t').nth(4)?.parse::<f64>().ok();
        let mut lines = table.lines().skip(1);
        assert_close(value(lines.next()).unwrap(), 1.0, &line);
        assert!(
            (value(lines.next()).unwrap() - 5.0 / 6.0).abs() < 1e-3,
            "{table}"
        );
        let first = match odd {
            Some(what) => format!("2 odd lines, read as trec_eval reads them; the first is line 1: {what}"),
            None => "1 odd line, read as trec_eval reads them; the first is line 3: the score \"-inf\" is infinite".to_owned(),
        };
        assert_says(&said, &[&first]);
    }
    // lines that trec_eval refuses, and scores that are not numbers
    for line in ["1 Q0 a 1", "1 Q0 a 1 nan t", "1 Q0 a 1 0x5 t"] {
        let run = format!("{line}\n1 Q0 b 2 4 t\n");
        let dir = WorkDir::with(&[("qrels", qrels), ("run", run.as_bytes())]);
        let (code, _, said) = dir.run("evaluate qrels run P@1");
        assert_eq!(code, 1, "{line}: {said}");
        assert_says(&said, &["run:1: "]);
    }
}

#[test]
fn measures_have_the_names_of_ir_measures_and_unknown_names_are_refused() {
    for (typed, printed) in [
        ("NDCG@5", "nDCG@5"),
        ("nDCG(dcg=\"exp-log2\")@10", "nDCG(dcg='exp-log2')@10"),
        ("nDCG(dcg='log2')@5", "nDCG@5"),
        ("MAP", "AP"),
        (
            "AP(rel=2, judged_only=True)@100",
            "AP(rel=2,judged_only=True)@100",
        ),
        ("P(rel=1)@5", "P@5"),
        ("nDCG(touche=2020)@5", "nDCG(touche=2021)@5"),
        ("MRR", "RR"),
        (
            "stanceRelevanceP(list=CON)@10",
            "stanceRelevanceP(list=CON)@10",
        ),
        ("StanceF1(class=no)@5", "StanceF1(class=NO)@5"),
        ("P(cutoff=5)", "P@5"),
        ("RBP", "RBP(rel=1)"),
        ("RBP(p=0.8)", "RBP(rel=1)"),
        ("RBP(p=\"0.5\",rel=highly)@9", "RBP(p=0.5,rel=highly)@9"),
        ("ERR@20", "ERR@20"),
        ("BPref(rel=2)", "Bpref(rel=2)"),
        ("IPrec@.10", "IPrec@0.1"),
        ("IPrec(recall=1)", "IPrec@1.0"),
        ("SetRelP", "SetP(relative=True)"),
        ("SetF(beta=2)", "SetF(beta=2.0)"),
        ("SDCG(dcg='log2',max_rel=3)@5", "SDCG(max_rel=3)@5"),
        ("Compat(normalize=False,p=0.95)", "Compat(normalize=False)"),
        ("NumRelRet", "NumRet(rel=1)"),
        ("NumRel(rel=2)", "NumRel(rel=2)"),
        ("ndcg_cut_10", "nDCG@10"),
        ("P.5", "P@5"),
        ("set_F_0.5", "SetF(beta=0.5)"),
    ] {
        let measure: Measure = typed.parse().unwrap();
        assert_eq!(measure.to_string(), printed);
        assert_eq!(measure.to_string().parse::<Measure>().unwrap(), measure);
    }
    for (unknown, why) in [
        ("BPM@5", "known are P, R"),
        ("gm_map", "known are P, R"),
        ("ndcg_cut", "needs a number, as in ndcg_cut_5"),
        ("P_5,10", "a measure of its own"),
        ("map_cut_0", "not a cutoff"),
        ("P(cutoff=5)@5", "cutoff is given twice"),
        ("IPrec", "needs a recall"),
        ("IPrec@1.5", "from 0 to 1"),
        ("RBP(p=1)", "p=1: must be between 0 and 1"),
        ("SetF(beta=-1)", "0 or more"),
        ("SDCG@5", "needs the highest grade"),
        ("SDCG(max_rel=0)@5", "less than max_rel"),
        ("SDCG(max_rel=2)", "needs a cutoff"),
        ("NumQ@5", "takes no cutoff"),
        ("NumQ(rel=2)", "takes no rel=2"),
        ("Bpref(judged_only=True)", "judged_only=True"),
        ("Compat(normalize=no)", "True or False"),
        ("P", "needs a cutoff"),
        ("P@0", "not a cutoff"),
        ("P@x", "not a cutoff"),
        ("P(rel=very)@5", "relevant, highly"),
        ("P(rel=1@5", "not closed"),
        ("P(rel=1,rel=2)@5", "twice"),
        ("nDCG(rel=2)@5", "takes no rel"),
        ("nDCG(gain=2)@5", "takes no gain=2"),
        ("nDCG(touche=2019)@5", "2021"),
        ("topicRelevanceP@5", "@10"),
    ] {
        let error = format!("{:#}", unknown.parse::<Measure>().unwrap_err());
        assert!(error.contains(why), "{unknown}: {error}");
    }
}

/// P@1 of a run with a topic for each value: 1 if it is true, else 0.
fn found_first(topics: &[bool]) -> MeasureValues {
    let (mut run, mut qrels) = (String::new(), String::new());
    for (topic, first) in topics.iter().enumerate() {
        let score = if *first { 3 } else { 1 };
        writeln!(run, "{topic} Q0 a 1 {score} t\n{topic} Q0 b 2 2 t").unwrap();
        writeln!(qrels, "{topic} 0 a 1").unwrap();
    }
    values("P@1", &run, &qrels)
}

#[test]
fn the_randomisation_test_gives_values_counted_by_hand() {
    // five topics, all better: of the 32 ways to swap them, only two (swapping none, swapping all) are as extreme
    let (none, all) = (found_first(&[false; 5]), found_first(&[true; 5]));
    let better = paired(&none, &all, SignificanceTest::Randomisation);
    assert_eq!((better.difference, better.topics), (1.0, 5));
    assert_close(better.p, 2.0 / 32.0, &"exact");
    assert_eq!(
        paired(&all, &none, SignificanceTest::Randomisation).difference,
        -1.0
    );
    assert_eq!(paired(&all, &all, SignificanceTest::Randomisation).p, 1.0);
    // topics with equal values do not change p
    let half = found_first(&[true, true, true, false, false]);
    assert_close(
        paired(&none, &half, SignificanceTest::Randomisation).p,
        2.0 / 8.0,
        &"three that differ",
    );
    // twenty topics, 15 better and 5 worse: p of the two-sided sign test is 0.04139
    let (mut before, mut after) = (vec![false; 15], vec![true; 15]);
    before.extend([true; 5]);
    after.extend([false; 5]);
    let compare = || {
        paired(
            &found_first(&before),
            &found_first(&after),
            SignificanceTest::Randomisation,
        )
    };
    let sampled = compare();
    assert!((sampled.p - 0.0414).abs() < 0.003, "{}", sampled.p);
    assert_eq!(sampled, compare(), "the samples differ between two calls");
}

#[test]
fn a_table_marks_the_best_run_and_shows_differences_and_topics() {
    let rows = vec![
        (
            "one".to_owned(),
            vec![found_first(&[true, false, false, true])],
        ),
        ("two".to_owned(), vec![found_first(&[true; 4])]),
    ];
    let table = ComparisonTable {
        columns: vec!["P@1".to_owned()],
        rows,
        ..ComparisonTable::default()
    };
    let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
    assert!(
        lines[1].starts_with("one") && lines[1].contains("0.5000 "),
        "{table}"
    );
    assert!(lines[2].ends_with("1.0000*"), "{table}");
    let differences = table.differences().to_string();
    assert_says(&differences, &["+0.5000 (p 0.5000, d +0.87)"]);
    assert!(
        table
            .by_topic(0)
            .to_string()
            .contains("\n1          0.0000\n"),
        "{}",
        table.by_topic(0)
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_readers_or_a_measure_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        let (lines, _) = read_texts(&text);
        let (qrels, _) = qrels::read(&text);
        if let Qrels::Graded(qrels) | Qrels::Answers(qrels) = qrels
            && let Measure::Graded(measure) = "nDCG(touche=2021)@5".parse().unwrap()
        {
            let _ = SortedTextRun::new(&lines).measure(&qrels, &measure).all();
        }
    }

    #[test]
    fn no_measure_name_panics(name in "([nDCGPARjudge]{0,6}|RBP|SDCG|SetF|IPrec|Compat|set_F_|iprec_at_recall_)(\\(((rel|p|beta|max_rel|recall|touche|dcg|list|class)=?('exp-log2'|2|-1e400|PRO|NO)?,?){0,3}\\)?)?(@-?[0-9]{0,30})?") {
        let _ = name.parse::<Measure>();
    }

    #[test]
    fn no_json_makes_the_readers_panic(
        lines in proptest::collection::vec("\\{(\"(argument_id|argumentId|image_id|imageId|rank|answer|aspects|annotatorTag|method|tag)\": ?(\"1-1\"|\"yes\"|\"no\"|-1|1|1e99|\\[\\]|\\[\\{\"answer\":\"yes\"\\}\\]|null),?){0,6}\\}?", 0..6)
    ) {
        let text = lines.join("\n");
        let _ = read_texts(&text);
        let _ = qrels::read(&text);
        let _ = qrels::read(&format!("[{}]", lines.join(",")));
    }
}

#[test]
fn evaluate_prints_tables_tsv_and_jsonl_and_refuses_what_it_cannot_compute() {
    let other = gzip("1\tq0\tc\t0\t1e1\t\"my best\"\r\n1\tq0\ta\t1\t9.5\t\"my best\"\r\n");
    let dir = WorkDir::with(&[
        ("rel.qrels", b"1 0 a 2\n1 0 c 1.0\n3 0 a 1\n"),
        ("quality.txt", b"1 0 a 0\n1 0 c 3\n"),
        ("stance.qrels", b"1 0 a FIRST\n1 0 c second\n"),
        ("run.txt", RUN.as_bytes()),
        ("empty.qrels", b"\n"),
        ("other/output/run.txt.gz", &other),
    ]);
    let (table, remarks) =
        dir.succeeds("evaluate rel.qrels run.txt other P@1 nDCG@5 --qrels q=quality.txt");
    let header = "rel:P@1  rel:nDCG@5     q:P@1  q:nDCG@5";
    assert!(table.contains(header), "{table}");
    assert_says(&table, &["other ", "difference to run.txt"]);
    assert_says(&remarks, &["1 topic without judgements in rel"]);

    let (cells, _) = dir.succeeds("evaluate rel.qrels run.txt other P@1 --format tsv --by-topic");
    let expected = "run\tqrels\tmeasure\ttopic\tvalue\n\
                    run.txt\trel\tP@1\t1\t1\nrun.txt\trel\tP@1\t3\t0\nrun.txt\trel\tP@1\tall\t0.5\n\
                    other\trel\tP@1\t1\t1\nother\trel\tP@1\t3\t0\nother\trel\tP@1\tall\t0.5\n";
    assert_eq!(cells, expected);
    let (_, cells, _) =
        dir.run("evaluate rel.qrels other RR(rel=fine)@9 --level fine=2 --format jsonl");
    let expected = "{\"run\":\"other\",\"qrels\":\"rel\",\"measure\":\"RR(rel=fine)@9\",\"topic\":\"all\",\"value\":0.25}\n";
    assert_eq!(cells, expected);

    let (_, table, _) = dir.run("evaluate stance.qrels run.txt");
    assert!(table.contains("judged \\ listed"), "{table}");
    assert_says(&table, &["SECOND                 0       1"]);

    dir.refuses(
        "
        evaluate rel.qrels missing.txt | no file missing.txt
        evaluate rel.qrels P@5 | no run
        evaluate rel.qrels run.txt StanceF1 | cannot be computed
        evaluate none.qrels run.txt | none.qrels
        evaluate empty.qrels run.txt | no judgement in empty.qrels
        evaluate rel.qrels run.txt --prototext x | image judgements
        evaluate rel.qrels other/output/none P@5 | no file
        ",
    );
}

#[test]
fn a_confidence_interval_is_where_statistics_put_it() {
    // 400 topics. For half of them the first document is relevant, so the standard deviation of the mean is .025
    let (mut qrels, mut run) = (String::new(), String::new());
    for topic in 1..=400 {
        writeln!(qrels, "{topic} 0 a {}\n{topic} 0 b 1", topic % 2).unwrap();
        writeln!(run, "{topic} Q0 a 1 2 t\n{topic} Q0 b 2 1 t").unwrap();
    }
    let dir = WorkDir::with(&[("q", qrels.as_bytes()), ("run", run.as_bytes())]);
    let (cells, _) = dir.succeeds("evaluate q run P@1 R@2 --ci --format tsv");
    let value = |measure: &str, of: &str| -> f64 {
        let begin = format!("run\tq\t{measure}\t{of}\t");
        let line = cells.lines().find_map(|line| line.strip_prefix(&*begin));
        line.unwrap().parse().unwrap()
    };
    assert_close(value("P@1", "all"), 0.5, &"all");
    let half = 1.96 * 0.025;
    assert!((value("P@1", "all.low") - (0.5 - half)).abs() < 0.003);
    assert!((value("P@1", "all.high") - (0.5 + half)).abs() < 0.003);
    // a measure with the same value for all topics has an interval of length 0
    for of in ["all", "all.low", "all.high"] {
        assert_close(value("R@2", of), 1.0, &of);
    }
    let (_, table, _) = dir.run("evaluate q run P@1 --ci");
    let shown = format!(
        "{:.4}–{:.4}",
        value("P@1", "all.low"),
        value("P@1", "all.high")
    );
    assert!(table.contains(&shown), "{table}");
}

#[test]
fn judgements_as_beir_has_them_are_those_of_trec() {
    let dir = WorkDir::with(&[
        (
            "test.tsv",
            b"query-id\tcorpus-id\tscore\n1\ta\t2\n1\tc\t1\r\n3\ta\t1\n",
        ),
        ("trec.qrels", b"1 0 a 2\n1 0 c 1\n3 0 a 1\n"),
        (
            "broken.tsv",
            b"query-id\tcorpus-id\tscore\n1\ta\n1\tc\tone\n1\ta\t2\n",
        ),
        ("run.txt", RUN.as_bytes()),
    ]);
    let cells = |file| {
        let line = format!("evaluate {file} run.txt nDCG@5 P@1 --qrels x=trec.qrels --format tsv");
        let (code, cells, errors) = dir.run(&line);
        (code, cells.lines().nth(1).map(str::to_owned), errors)
    };
    let (code, trec, _) = cells("trec.qrels");
    let (also, beir, _) = cells("test.tsv");
    assert_eq!((code, also), (0, 0));
    assert_eq!(beir, trec.map(|cells| cells.replace("trec", "test")));
    let (code, _, errors) = cells("broken.tsv");
    assert_eq!(code, 1);
    assert_says(
        &errors,
        &["broken.tsv:2: 2 fields between tabs, must be three"],
    );
    assert_says(&errors, &["broken.tsv:3: \"one\" is not a grade"]);
}

/// The lab's judgements have the lab's measures, and others those of the field. The organisers' nDCG, which no other program has, is explained below the
/// table.
#[test]
fn the_default_measures_are_those_of_whoever_made_the_judgements() {
    const OF_LAB: &str = "nDCG(touche=2021)@5 nDCG@5 P@5 AP RR R@1000 Judged@5";
    const OF_FIELD: &str = "nDCG@10 AP RR P@10 R@100 R@1000 Judged@10";
    let beir = "query-id\tcorpus-id\tscore\n1\tS96f2396e-Aaf079b43\t2\n";
    for (judgements, expected) in [
        ("1 0 S96f2396e-Aaf079b43 2\n", OF_LAB),
        // an id without the zeros at the beginning, in the judgements of 2020
        ("1 0 S30dbd85-A2d776428 3.0\n", OF_LAB),
        ("1 0 10113b57-2019-04-18T18:28:52Z-00001-000 2\n", OF_LAB),
        ("100 0 clueweb12-0004wb-25-32367 1\n", OF_LAB),
        ("100 0 clueweb12-0004wb-25-32367___1 1\n", OF_LAB),
        ("2 0 clueweb22-en0004-25-32367___1 1\n", OF_LAB),
        // TREC's Web Tracks
        ("201 0 clueweb12-0004wb-25-32367 1\n", OF_FIELD),
        ("1 0 clueweb09-en0000-00-00000 1\n", OF_FIELD),
        ("1 0 d1 2\n", OF_FIELD),
        ("301 0 FBIS3-10082 1\n", OF_FIELD),
        (beir, OF_FIELD),
        ("1 S96f2396e-Aaf079b43 1\n", OF_FIELD),
        ("{\"1\": {\"S96f2396e-Aaf079b43\": 1}}", OF_FIELD),
    ] {
        let run = b"1 Q0 S96f2396e-Aaf079b43 1 2.5 t\n".as_slice();
        let dir = WorkDir::with(&[("qrels", judgements.as_bytes()), ("run", run)]);
        for (look, comment) in [("text", ""), ("markdown", ""), ("latex", "% ")] {
            let line = format!("evaluate --qrels qrels run --format {look}");
            // of most of these judgements, the run has no document
            let (_, printed, _) = dir.run(&line);
            let words = printed.split(|c: char| c.is_whitespace() || "|&".contains(c));
            let is_measure = |word: &&str| {
                [OF_LAB, OF_FIELD]
                    .iter()
                    .any(|all| all.split(' ').any(|name| name == *word))
            };
            let names: Vec<&str> = words.filter(is_measure).collect();
            assert_eq!(names.join(" "), expected, "{judgements}{printed}");
            let explained = format!("\n{comment}nDCG(touche=2021): as the script of");
            assert_eq!(
                printed.contains(&explained),
                expected == OF_LAB,
                "{printed}"
            );
        }
    }
    let dir = WorkDir::with(&[("qrels", b"1 0 d 1\n"), ("run", b"1 Q0 d 1 2.5 t\n")]);
    let asked = "evaluate qrels run nDCG(touche=2025)@5 nDCG(touche=2021)@1";
    let (printed, _) = dir.succeeds(asked);
    for year in [2021, 2025] {
        let explained = format!("\nnDCG(touche={year}): as the script of");
        assert_eq!(printed.matches(&explained).count(), 1, "{printed}");
    }
}

#[test]
fn evaluate_names_lines_that_it_cannot_read_and_counts_the_others() {
    let dir = WorkDir::with(&[
        ("rel.qrels", b"1 0 a 2\n1 0 b two\n"),
        ("run.txt", b"1 Q0 a 1 9 t\n1 Q0 b 2 NaN t\n"),
        ("broken.gz", &gzip(RUN)[..20]),
    ]);
    let (code, table, errors) = dir.run("evaluate rel.qrels run.txt P@1");
    assert_eq!(code, 1, "{errors}");
    assert!(table.contains("1.0000"), "{table}");
    assert_says(&errors, &["rel.qrels:2: \"two\" is not a grade"]);
    assert_says(&errors, &["run.txt:2: \"NaN\" is not a score"]);
    let (code, _, errors) = dir.run("evaluate rel.qrels broken.gz P@1");
    assert_eq!(code, 2);
    assert!(errors.contains("cannot read broken.gz"), "{errors}");
}

/// trec_eval compares scores as 32-bit floats, where 0 equals -0, and ids byte by byte.
#[test]
fn zeros_are_equal_and_ids_of_other_bytes_are_other_ids() {
    for zero in ["-0.0", "-1e-46", "0", "1e-46"] {
        let run = format!("1 Q0 a 1 0.0 t\n1 Q0 b 2 {zero} t\n");
        let dir = WorkDir::with(&[("run", run.as_bytes()), ("qrels", b"1 0 b 1\n")]);
        let (printed, _) = dir.succeeds("evaluate --qrels qrels run RR --format tsv");
        assert!(printed.trim_end().ends_with("\t1"), "{zero}: {printed}");
    }
    // in Latin-1
    let dir = WorkDir::with(&[
        (
            "run",
            b"1 Q0 d\xe9 1 0.9 t\n1 Q0 d\xe8 2 0.8 t\n".as_slice(),
        ),
        ("qrels", b"1 0 d\xe8 1\n"),
    ]);
    let (printed, _) = dir.succeeds("evaluate --qrels qrels run RR --format tsv");
    assert!(printed.trim_end().ends_with("\t0.5"), "{printed}");
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let line = |stance, doc: &str, rank, score| TextRunLine {
        topic: TopicId("7".into()),
        stance,
        doc: DocId(doc.into()),
        rank,
        score: Some(score),
        tag: "t".into(),
    };
    let lines = vec![
        line(Some(ObjectStance::Neutral), "a", 1, 2.5),
        line(None, "b", 2, -0.25),
    ];
    let text = write_texts(&lines).unwrap();
    assert_eq!(text, "7 NEUTRAL a 1 2.500000 t\n7 Q0 b 2 -0.250000 t\n");
    assert_eq!(read_texts(&text), (lines, vec![]));
}

#[test]
fn a_run_without_judgements_or_with_those_of_another_kind_is_one_clear_error() {
    let images = "1 ONTOPIC I0123456789abcde0 1\n1 PRO I0123456789abcde0 1\n";
    let arguments: String = (1..=30)
        .map(|n| format!("1 Q0 S1234-A{n:03} {n} {} t\n", 100 - n))
        .collect();
    let dir = WorkDir::with(&[
        ("images.qrels", images.as_bytes()),
        ("out/run.txt", arguments.as_bytes()),
        ("marco.txt", b"1 d1 1\n1 d2 2\n"),
    ]);
    let missing = "judgements are missing: give their file";
    for (line, message) in [
        ("evaluate out", missing),
        ("evaluate out/run.txt", missing),
        ("evaluate out out/run.txt P@5", missing),
        ("evaluate images.qrels", "there is no run to evaluate"),
        (
            "evaluate images.qrels out",
            "out/run.txt is a run of arguments, and the judgements images are of images",
        ),
    ] {
        let (code, printed, said) = dir.run(line);
        assert_eq!((code, &*printed), (2, ""), "{line}: {said}");
        assert_says(&said, &[message]);
        assert_eq!(said.lines().count(), 1, "{line}: {said}");
    }
}

#[test]
fn a_run_with_nothing_that_is_judged_says_so_and_ends_with_1() {
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 d1 1\n2 0 d2 0\n" as &[u8]),
        ("topic", b"9 Q0 d1 1 1.5 t\n"),
        ("document", b"1 Q0 other 1 1.5 t\n"),
        ("right", b"2 Q0 d2 1 1.5 t\n"),
    ]);
    let nothing = "no document of the run is judged";
    for run in ["topic", "document"] {
        let (code, _, said) = dir.run(&format!("evaluate qrels {run} P@1"));
        assert_eq!(code, 1, "{said}");
        assert_says(&said, &[&format!("note: {run}: {nothing}")]);
    }
    // a judgement of 0 is one, too
    let (code, _, said) = dir.run("evaluate qrels right P@1");
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains(nothing), "{said}");
}

#[test]
fn no_run_is_marked_as_the_best_where_all_are_equal() {
    let dir = WorkDir::with(&[
        ("qrels", b"1 0 d1 1\n1 0 d2 1\n1 0 d3 0\n" as &[u8]),
        ("a", b"1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n"),
        ("b", b"1 Q0 d2 1 2 t\n1 Q0 d3 2 1 t\n"),
    ]);
    let (_, table, _) = dir.run("evaluate qrels a b P@1 P@2");
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
    assert_eq!(row("a ").matches('*').count(), 1, "{table}");
    assert_eq!(row("b ").matches('*').count(), 0, "{table}");
    let (_, table, _) = dir.run("evaluate qrels a b P@1");
    assert!(!table.contains('*'), "{table}");
}
