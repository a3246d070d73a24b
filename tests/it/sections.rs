//! A picture of pros and cons is read section by section.

use std::fs;

use rusqlite::{Connection, params};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::files::{json_lines, text};
use crate::support::program::{code, stderr};
use crate::support::runs::images;
use crate::support::{golden_evidence, sample};

/// P(pro) and P(con) of an image of the sample for topic 1, which demands a ban of cars. Its picture gets these lines, each given by left edge,
/// top and text; each line is a block.
fn probabilities(lines: &[(i32, i32, &str)]) -> [Value; 2] {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    let golden = include_str!("../golden/riposte.txt");
    let image = golden.split(' ').nth(2).unwrap();
    let connection = Connection::open(&evidence).unwrap();
    let delete = "DELETE FROM ocr_line WHERE document = ?";
    connection.execute(delete, [image]).unwrap();
    for ((x, y, words), n) in lines.iter().zip(0..) {
        let insert = "INSERT INTO ocr_line (document, line, text, confidence, x1, y1, x2, y2, x3, y3, x4, y4)
             VALUES (?1, ?2, ?3, 0.99, ?4, ?5, ?4 + 200, ?5, ?4 + 200, ?5 + 30, ?4, ?5 + 30)";
        let values = params![image, n, words, x, y];
        connection.execute(insert, values).unwrap();
    }
    drop(connection);
    let explain = home.path().join("explain.jsonl");
    let args = ["--evidence", text(&evidence), "--explain", text(&explain)];
    let (output, _) = images(home.path(), sample(), &args);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let explained = json_lines(&fs::read_to_string(&explain).unwrap());
    let found = explained
        .into_iter()
        .find(|of| of["topic"] == "1" && of["image"] == image)
        .unwrap();
    ["pro", "con"].map(|side| {
        let parts = found[side]["parts"].as_array().unwrap();
        let name = format!("P({side})");
        parts
            .iter()
            .find(|part| part["name"] == name)
            .unwrap()
            .clone()
    })
}

/// The sections that an explanation names.
fn said(probability: &Value) -> String {
    let parts = probability["parts"].as_array().unwrap();
    let of_picture = parts
        .iter()
        .find(|part| part["name"] == "text in the picture");
    of_picture.unwrap()["how"].as_str().unwrap().to_owned()
}

#[test]
fn pros_and_cons_are_likely_both_and_the_explanation_names_the_columns() {
    let columns = [
        (100, 0, "Should cars be banned from city centres?"),
        (20, 60, "PROS"),
        (420, 60, "CONS"),
        (20, 120, "the air becomes clean"),
        (420, 120, "shops lose their customers"),
    ];
    let [pro, con] = probabilities(&columns);
    assert!(
        said(&pro).contains("\"the air becomes clean\" headed \"PROS\", for its subject"),
        "{pro}"
    );
    assert!(
        said(&con).contains("\"shops lose their customers\" headed \"CONS\""),
        "{con}"
    );
    // the text in the picture raises both probabilities
    for side in [&pro, &con] {
        let parts = side["parts"].as_array().unwrap();
        let of_picture = parts
            .iter()
            .find(|part| part["name"] == "text in the picture");
        assert!(
            of_picture.unwrap()["value"].as_f64().unwrap() > 0.0,
            "{side}"
        );
    }

    // the same columns below a heading about cars, which the claim is against: the pros of cars are arguments against the ban
    let mut of_cars = columns;
    of_cars[0].2 = "Cars in city centres";
    let [pro, con] = probabilities(&of_cars);
    assert!(
        said(&pro)
            .contains("headed \"CONS\", against its subject, of which the claim is the opposite"),
        "{pro}"
    );
    assert!(said(&con).contains("headed \"PROS\""), "{con}");
}
