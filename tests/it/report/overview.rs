//! The first page of a report of several runs: what each run has, how good it is, and in which topics the first two differ most.

use std::fs;

use serde_json::Value;

use super::Fixture;
use crate::support::files::text;
use crate::support::program::{riposte, stdout, succeed};
use crate::support::sample;

/// The part of the first page about runs.
fn runs_of(index: &str) -> &str {
    let (_, section) = index.split_once("<section class=\"runs\">").unwrap();
    section.split("</section>").next().unwrap()
}

/// The texts between the tags.
fn texts(html: &str) -> Vec<&str> {
    let pieces = html.split('<').filter_map(|piece| piece.split_once('>'));
    let texts = pieces.map(|(_, text)| text.trim());
    texts.filter(|text| !text.is_empty()).collect()
}

#[test]
fn several_runs_stand_beside_each_other_with_their_measures_and_where_they_differ() {
    let fixture = Fixture::new();
    let run = fixture.run("run", &[]);
    let others = ["aramis", "minsc"].map(|name| fixture.run(name, &["--approach", name]));
    let [second, third] = others.each_ref().map(|run| text(run));
    let report = fixture.inspect(&run, &["--against", second, "--against", third]);
    let index = fs::read_to_string(report.join("index.html")).unwrap();
    let section = runs_of(&index);
    let rows: Vec<Vec<&str>> = section.split("<tr>").skip(2).map(texts).collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["riposte", "riposte-aramis", "riposte-minsc"]);

    // the values and intervals are those of `evaluate`
    let measure = "stanceRelevanceP@10";
    let qrels = sample().join("qrels.txt");
    let mut differences = Vec::new();
    for (row, of) in rows.iter().zip([text(&run), second, third]) {
        let mut command = riposte(fixture.home.path(), &["evaluate", "--qrels", text(&qrels)]);
        let options = ["--ci", "--by-topic", "--format", "json", of, measure];
        let printed: Value =
            serde_json::from_str(&stdout(&succeed(command.args(options)))).unwrap();
        let values = printed["values"].as_array().unwrap();
        let value = |topic: &str| {
            let found = values.iter().find(|value| value["topic"] == topic);
            found.unwrap()["value"].as_f64().unwrap()
        };
        let interval = format!("{:.3} to {:.3}", value("all.low"), value("all.high"));
        assert_eq!(row[7..9], [format!("{:.3}", value("all")), interval]);
        let lines = fs::read_to_string(std::path::Path::new(of).join("run.txt")).unwrap();
        let distinct = |at: usize| {
            let fields = lines.lines().map(|line| line.split(' ').nth(at).unwrap());
            fields.collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(
            row[1..3],
            [distinct(0).to_string(), distinct(2).to_string()]
        );
        differences.push(["1", "2", "3", "4", "5", "6"].map(value));
    }
    let listed: Vec<&str> = section.split("<li>").skip(1).collect();
    let by: Vec<f64> = listed
        .iter()
        .map(|item| texts(item)[1].replace('−', "-").parse::<f64>().unwrap())
        .collect();
    let mut expected: Vec<f64> = (0..6)
        .map(|topic| differences[0][topic] - differences[1][topic])
        .filter(|by| by.abs() > 5e-4)
        .collect();
    expected.sort_by(|a, b| b.abs().total_cmp(&a.abs()));
    expected.truncate(5);
    assert_eq!(by.len(), expected.len());
    for (by, expected) in by.iter().zip(&expected) {
        assert!((by - expected).abs() < 6e-4, "{by} {expected}");
    }
    for item in listed {
        let (_, href) = item.split_once("href=\"").unwrap();
        let page = href.split('"').next().unwrap();
        assert!(report.join(page).is_file(), "{page}");
    }
    // one run alone needs no overview
    let alone = fixture.inspect(&run, &[]);
    let index = fs::read_to_string(alone.join("index.html")).unwrap();
    assert!(!index.contains("<section class=\"runs\">"));
}
