//! Each target survives the inputs of its corpus, and mutated inputs for `RIPOSTE_FUZZ_SECONDS` seconds (by default 2).

use std::time::Duration;

use fuzz_targets::{TARGETS, hunt};

fn run(name: &str) {
    let target = fuzz_targets::target(name).expect("the target is listed");
    let seconds = std::env::var("RIPOSTE_FUZZ_SECONDS");
    let seconds = seconds.map_or(2.0, |text| text.parse().expect("a number of seconds"));
    let outcome = hunt::hunt(target, 1, Duration::from_secs_f64(seconds)).unwrap();
    let failures = &outcome.failures;
    assert!(
        failures.is_empty(),
        "these inputs of {name} fail: {failures:#?}"
    );
}

macro_rules! targets {
    ($($test:ident $name:literal,)*) => {
        $(#[test] fn $test() { run($name); })*

        #[test]
        fn each_target_is_run() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

targets! {
    pictures "pictures",
    pages "pages",
    topics "topics",
    runs "runs",
    qrels "qrels",
    explained "explained",
    arguments "arguments",
    passages "passages",
    documents "documents",
    entries "entries",
    frames "frames",
    stores "stores",
    store_edits "store-edits",
    index_edits "index-edits",
    networks "networks",
    checkpoints "checkpoints",
    recipes "recipes",
    settings "settings",
    chatnoir "chatnoir",
    mhtml "mhtml",
    warc "warc",
    wacz "wacz",
    pairs "pairs",
}

#[test]
fn the_corpus_stays_small() {
    let inputs = TARGETS.iter().map(|target| hunt::corpus(target).unwrap());
    let bytes: usize = inputs.flatten().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes < 200_000, "{bytes} bytes");
}

#[test]
fn mutated_inputs_depend_on_the_seed_alone() {
    let corpus = [b"first".to_vec(), b"the second".to_vec(), Vec::new()];
    let made = |seed| {
        let mut random = seeded_random::Random::new(seed, "test", 0);
        let mutated = || fuzz_targets::mutate::mutated(&mut random, &corpus, &[b"word"]);
        std::iter::repeat_with(mutated)
            .take(2000)
            .collect::<Vec<_>>()
    };
    let inputs = made(7);
    assert!(inputs == made(7) && inputs != made(8));
    let mut different = inputs.clone();
    different.sort();
    different.dedup();
    assert!(different.len() > 1000, "{}", different.len());
    assert!(inputs.iter().any(|input| input.len() > 100_000));
}
