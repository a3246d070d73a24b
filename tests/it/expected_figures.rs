//! The figures that `riposte reproduce` expects on the judged collections of development. Two of these are encoded, which takes minutes.

use crate::reproduce::{figures, report};
use crate::support::files::text;
use crate::support::models::MINILM;
use crate::support::need::{Data, Model, need};
use crate::support::program::{WorkDir, riposte, succeed};

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
}
