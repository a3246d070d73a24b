//! The figures that `riposte reproduce` expects on the judged collections of development. Two of these are encoded, which takes minutes.

use std::collections::BTreeMap;
use std::fs;

use riposte_eval::compare::{SignificanceTest, paired};
use riposte_eval::{MeasureValues, TopicId, evaluate, qrels};

use crate::reproduce::{figures, report};
use crate::sentence::MINILM;
use crate::support::files::text;
use crate::support::need::{Data, Model, need};
use crate::support::program::{WorkDir, riposte, succeed};

/// The values of a measure for the run of an approach.
fn values(dir: &WorkDir, collection: &str, judgements: &str, approach: &str) -> MeasureValues {
    let run = dir.read(&format!("out/{collection}/{approach}/run.txt"));
    let (qrels, _) = qrels::read(judgements);
    let evaluated = evaluate(&run, &qrels, &["nDCG@10".parse().unwrap()]);
    evaluated.unwrap().values.remove(0)
}

#[test]
fn the_judged_collections_of_development_have_them() {
    let Some(data) = need(Data("")) else { return };
    let Some(model) = need(Model(MINILM)) else {
        return;
    };
    let dir = WorkDir::new();
    let reproduce = |out: &str| {
        let approaches = "riposte,bm25,bm25-flat,lucene-flat.txt.gz,lucene-multi.txt.gz,runs/run-minsc-baseline.txt,runs/elrond-ekrun-2021.txt";
        let mut words = vec![
            "reproduce",
            "--data",
            text(&data),
            "-q",
            "-o",
            out,
            "--approach",
            approaches,
        ];
        words.extend(["cranfield", "cisi", "image-runs-2022", "argument-runs-2021"]);
        let mut command = riposte(&dir.path(""), &words);
        command
            .current_dir(dir.path(""))
            .env("RIPOSTE_MODELS", model.dir.parent().unwrap());
        succeed(&mut command);
    };
    reproduce("out");
    let first = report(&dir, "out");
    let measured = figures(&first);
    assert_eq!(measured.len(), 2 * 5 * 3 + 3 + 2);
    let rows = first["tables"].as_array().unwrap().iter();
    let rows = rows.flat_map(|table| table["rows"].as_array().unwrap());
    for figure in rows.flat_map(|row| row["figures"].as_array().unwrap()) {
        // Lucene's and the organisers' own figures, to the digits that they have printed
        if let Some(published) = figure["published"].as_f64() {
            assert!(
                (figure["value"].as_f64().unwrap() - published).abs() <= 0.0005,
                "{figure}"
            );
        }
        assert!(figure["expected"].is_number(), "{figure}");
    }
    // each figure twice
    reproduce("out");
    assert_eq!(measured, figures(&report(&dir, "out")));

    // the default of `rank` is not worse than BM25 in the mean of both collections
    for other in ["bm25", "bm25-flat"] {
        let of = |approach: &str| {
            let mut topics = BTreeMap::new();
            let mut whole: Option<MeasureValues> = None;
            for collection in ["cranfield", "cisi"] {
                let file = data.join(format!("rank/{collection}/qrels/test.tsv"));
                let judgements = fs::read_to_string(file).unwrap();
                let values = values(&dir, collection, &judgements, approach);
                let named = |(topic, value): (&TopicId, &f64)| {
                    (TopicId(format!("{collection}-{}", topic.0)), *value)
                };
                topics.extend(values.topics.iter().map(named));
                whole.get_or_insert(values);
            }
            let mut whole = whole.unwrap();
            whole.topics = topics;
            whole
        };
        // a positive difference is one in favour of the default
        let test = paired(&of(other), &of("riposte"), SignificanceTest::Randomisation);
        assert_eq!(test.topics, 225 + 76);
        assert!(test.difference > 0.0 && test.p < 0.05, "{other}: {test:?}");
    }
}
