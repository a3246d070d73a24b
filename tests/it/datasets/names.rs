//! The name of a data set stands for its directory wherever a command takes a collection.

use super::{Publisher, arguments, read, zip};
use crate::support::files;

#[test]
fn every_command_that_takes_a_collection_says_how_a_missing_one_is_got() {
    let publisher = arguments();
    let why = "the data set args is not here: `riposte datasets get args` gets it (";
    for line in [
        "images -i args -o out",
        "controversial -i args -o out",
        "comparative -i args -o out",
        "rank -i args -o out",
        "ask question -i args",
        "index -i args",
        "extract -i args",
        "inspect run.txt -i args -o out",
        "collection check args",
        "ask question -i . --arguments args",
        "images -i . --arguments args -o out",
        "export evidence -i args -o out",
        "verify run.txt -i args",
        "collection check args",
        "shard read --task controversial --input args",
        "controversial -i argsme/x -o out",
        "controversial -i dataset:args -o out",
    ] {
        let said = publisher.refuses(line, why);
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    }
    let why = "`riposte datasets get touche` gets it";
    for line in [
        "evaluate --qrels touche run.txt",
        "evaluate --qrels mine=touche run.txt",
        "evaluate touche run.txt",
        "evaluate mine=dataset:touche run.txt P@5",
        "inspect run.txt -i . --qrels touche -o out",
        "export run run.txt --qrels touche -o out",
    ] {
        publisher.refuses(line, why);
    }
    publisher.refuses(
        "evaluate args run.txt",
        "no judgements for the data set args",
    );
    publisher.refuses("rank -i dataset:arks -o out", "did you mean args?");
    publisher.refuses("datasets info nonsense", "no data set named nonsense");
}

#[test]
fn a_path_that_exists_wins_unless_the_name_is_forced() {
    let publisher = arguments();
    let arguments = format!("{{\"arguments\": [{}]}}", "");
    files::write(&publisher.dir.path("touche/args-me.json"), arguments);
    files::write(&publisher.dir.path("touche/topics.xml"), read("topics.xml"));
    publisher.succeeds("datasets get touche");
    publisher.succeeds("controversial -i dataset:touche -o out/forced --approach bm25");
    assert!(publisher.dir.read("out/forced/run.txt").lines().count() > 10);
    // the directory has no argument
    let (_, said) = publisher.run("controversial -i touche -o out/path --approach bm25");
    let run = publisher.dir.path("out/path/run.txt");
    assert!(
        std::fs::read_to_string(run).is_ok_and(|run| run.is_empty()) || said.contains("no"),
        "{said}"
    );
    // without the catalogue's name in the way, paths are as before
    publisher.refuses("controversial -i nowhere -o out", "nowhere");
}

#[test]
fn judgements_of_a_data_set_have_the_names_of_their_files() {
    let mut publisher = Publisher::new();
    let qrels = zip(&[(
        "beir/qrels/test.tsv",
        b"query-id\tcorpus-id\tscore\n1\td\t1\n",
    )]);
    publisher
        .dataset(
            "two",
            "task = \"rank\"\nqrels = [\"relevance.qrels\", \"quality.qrels\"]",
        )
        .file("r.qrels", b"1 0 d 1\n", "to = \"relevance.qrels\"")
        .file("q.qrels", b"1 0 d 0\n", "to = \"quality.qrels\"")
        .dataset("beir", "task = \"rank\"\nqrels = [\"qrels/test.tsv\"]")
        .file(
            "beir.zip",
            &qrels,
            "unpack = [{ from = \"beir/qrels/\", to = \"qrels/\" }]",
        );
    publisher.succeeds("datasets get two beir");
    files::write(&publisher.dir.path("run.txt"), "1 Q0 d 1 2 t\n");
    let said = publisher.succeeds("evaluate --qrels two run.txt nDCG@5");
    assert!(
        said.contains("relevance:nDCG@5") && said.contains("quality:nDCG@5"),
        "{said}"
    );
    let said = publisher.succeeds("evaluate --qrels beir run.txt nDCG@5");
    assert!(said.contains("1.0000"), "{said}");
    for line in ["--qrels mine=two run.txt", "mine=two run.txt"] {
        let said = publisher.succeeds(&format!("evaluate {line} nDCG@5"));
        assert!(said.contains("mine-quality:nDCG@5"), "{said}");
    }
    // with or without --qrels, the table is the same
    let [typed, first] = ["--qrels beir run.txt", "beir run.txt"]
        .map(|line| publisher.succeeds(&format!("evaluate {line} nDCG@5")));
    assert_eq!(typed, first);
    // a file of this name wins
    files::write(&publisher.dir.path("beir"), "1 0 d 0\n1 0 other 1\n");
    let said = publisher.succeeds("evaluate beir run.txt nDCG@5");
    assert!(said.contains("0.0000"), "{said}");
    let said = publisher.succeeds("evaluate dataset:beir run.txt nDCG@5");
    assert_eq!(said, typed);
}
