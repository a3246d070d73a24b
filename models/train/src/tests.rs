//! The commands in the first lines of the committed weights still make the same weights.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use clap::Parser;
use need::{Data, Kind, Request, Thing, need};
use riposte_claims::tagger::TaggerModel;

use crate::base_model::BaseModel;
use crate::relevance::measure;
use crate::{Cli, Sources, data, run};

/// The published encoder that the vectors of training are made with.
struct Encoder;

impl Thing for Encoder {
    type Found = ();

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Models)
    }

    fn find(&self) -> Result<(), String> {
        let base = BaseModel::find(None);
        base.map(drop).map_err(|missing| format!("{missing:#}"))
    }
}

/// The file that `train WHAT` writes. WHAT can include options.
fn trained(what: &str, data: &Path) -> String {
    String::from_utf8(trained_bytes(what, data)).unwrap()
}

fn trained_bytes(what: &str, data: &Path) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("weights.toml");
    let (data, path) = (data.to_str().unwrap(), out.to_str().unwrap());
    let words = ["train"].into_iter().chain(what.split(' '));
    let words = words.chain(["--data", data, "-o", path]);
    run(&Cli::parse_from(words).command).unwrap();
    fs::read(out).unwrap()
}

fn committed(name: &str) -> String {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../own");
    fs::read_to_string(own.join(name)).unwrap()
}

#[test]
fn judges_have_something_to_teach_the_relevance() {
    let (Some(data), Some(())) = (need(Data("")), need(Encoder)) else {
        return;
    };
    let sources = Sources {
        data,
        models: None,
        float: false,
    };
    let (areas, values) = measure(&sources, false).unwrap();
    assert!(values.is_empty());
    // docs/results.md has the figures: .641 and .763 on arguments, .661 and .761 on passages
    for (of, at_least) in areas.iter().zip([[0.62, 0.73], [0.64, 0.74]]) {
        assert!(of.own > at_least[0] && of.learned > at_least[1]);
        assert!(of.learned > of.own + 0.03);
    }
    assert_eq!(areas.len(), 2);
}

#[test]
fn training_quality_gives_the_committed_file() {
    let Some(data) = need(Data("")) else { return };
    let made = trained("quality", &data);
    assert_eq!(made, committed("quality.toml"));
    // docs/results.md says that the model beats the length of a text, by the share of pairs in the right order, for topics left out of training
    let pairs = |line: &str| -> f64 {
        let line = made
            .lines()
            .find_map(|l| l.strip_prefix(&format!("# {line}: ")))
            .unwrap();
        line.split_once(',').unwrap().0.parse().unwrap()
    };
    for set in ["arguments", "passages"] {
        assert!(pairs(&format!("{set}, this model")) > pairs(&format!("{set}, length alone")));
    }
}

/// The treebank is not among the development data.
#[test]
fn training_the_tagger_gives_the_committed_weights() {
    let treebank = Request {
        variable: "RIPOSTE_TREEBANK",
        reason: "it needs the directory of Universal Dependencies English EWT",
    };
    let Some(treebank) = need(treebank) else {
        return;
    };
    let made = trained_bytes("tagger", Path::new(&treebank));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let committed = fs::read(root.join("crates/riposte-claims/models/tagger.bin")).unwrap();
    // another version of the library can compress the same weights to different bytes
    assert!(TaggerModel::parse(&made).unwrap() == TaggerModel::parse(&committed).unwrap());
    let head = |bytes: &[u8]| {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap();
        String::from_utf8(bytes[..end].to_vec()).unwrap()
    };
    assert_eq!(head(&made), head(&committed));
}

#[test]
fn training_the_support_vector_regression_gives_the_committed_file() {
    let Some(data) = need(Data("")) else { return };
    assert_eq!(trained("svr-quality", &data), committed("svr-quality.tsv"));
}

/// The figures in the first lines of a file of trees: nDCG@5 by relevance and by quality.
fn figures(trees: &str, of: &str) -> [f64; 2] {
    let line = trees
        .lines()
        .find_map(|line| line.strip_prefix(&format!("# {of}: ")));
    let (relevance, quality) = line.unwrap().split_once(", ").unwrap();
    [relevance, quality].map(|figure| figure.parse().unwrap())
}

#[test]
fn training_small_trees_gives_the_committed_file() {
    let Some(data) = need(Data("")) else { return };
    let made = trained("trees --set small", &data);
    assert_eq!(made, committed("trees-small.txt"));
    let [trees, retrieval] = ["these trees", "LMDirichlet"].map(|of| figures(&made, of));
    assert!(trees[0] > retrieval[0] && trees[1] > retrieval[1]);
}

/// Vectors differ in their last bits between processors, and trees turn small differences into other splits.
#[test]
fn training_medium_trees_gives_the_committed_figures() {
    let minutes = Request {
        variable: "RIPOSTE_TRAIN",
        reason: "it takes minutes",
    };
    let Some(_) = need(minutes) else { return };
    let (Some(data), Some(())) = (need(Data("")), need(Encoder)) else {
        return;
    };
    let made = figures(&trained("trees --set medium", &data), "these trees");
    let committed = figures(&committed("trees-medium.txt"), "these trees");
    for (made, committed) in made.iter().zip(committed) {
        assert!((made - committed).abs() < 0.05, "{made} {committed}");
    }
}

/// The numbers of a weight file, and the text between them.
fn numbers(text: &str) -> (String, Vec<f64>) {
    let (mut rest, mut numbers) = (String::new(), Vec::new());
    for piece in text.split_inclusive([' ', ',', '\n', ']', '[']) {
        let bare = piece.trim_end_matches([' ', ',', '\n', ']', '[', ';']);
        match bare.parse() {
            Ok(number) => numbers.push(number),
            Err(_) => rest.push_str(piece),
        }
    }
    (rest, numbers)
}

/// Vectors differ in their last bits between processors, so the numbers can differ slightly.
#[test]
fn training_object_stance_gives_the_committed_numbers() {
    let minutes = Request {
        variable: "RIPOSTE_TRAIN",
        reason: "it takes minutes",
    };
    let Some(_) = need(minutes) else { return };
    let (Some(data), Some(())) = (need(Data("")), need(Encoder)) else {
        return;
    };
    let (made_text, made) = numbers(&trained("object-stance", &data));
    let (committed_text, committed) = numbers(&committed("object-stance.toml"));
    assert_eq!(made_text, committed_text);
    assert_eq!(made.len(), committed.len());
    for (made, committed) in made.iter().zip(&committed) {
        assert!((made - committed).abs() < 0.02, "{made} {committed}");
    }
}

#[test]
fn training_sees_no_claim_and_no_text_of_the_pairs_that_are_kept_back() {
    let learned: Vec<_> = [data::written_pairs(), data::challenges("learn")]
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    assert!(learned.len() > 1000);
    let folded = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let claims: HashSet<String> = learned.iter().map(|row| folded(&row.claim)).collect();
    let texts: HashSet<String> = learned.iter().map(|row| folded(&row.text)).collect();
    for row in data::challenges("kept").unwrap() {
        assert!(!claims.contains(&folded(&row.claim)), "{}", row.claim);
        assert!(!texts.contains(&folded(&row.text)), "{}", row.text);
    }
}
