//! What computes the encoders: packed matrices or candle, as `--backend` says. Both give the same vectors, up to rounding, and the same ranking; the
//! store and the summary name the one that was used.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use image::{Rgb, RgbImage};
use riposte::device::{BackendMode, Compute};
use riposte::evidence::clip::{Clip, Pixels};
use riposte::evidence::sentence::Sentences;
use riposte::evidence::store::Store;
use riposte::places::Places;
use riposte::recipes::channels::CHANNELS;
use riposte::session::{CollectionSource, Session};
use riposte::{Approach, Collection, Task};
use riposte_nn::conv::{Numeric, NumericMode};
use riposte_nn::sentence::{Purpose, SentenceEncoder};
use riposte_nn::transformer::EncoderBackend;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::checkpoint::{largest_difference, texts_of_many_lengths};
use crate::support::evidence::contents;
use crate::support::files::text;
use crate::support::models::{install_small_clips, small_models};
use crate::support::program::WorkDir;
use crate::support::{assert_says, reference, sample};

/// Packed matrices in floats, and candle.
fn backends() -> [EncoderBackend; 2] {
    [BackendMode::Packed, BackendMode::Candle].map(|backend| {
        let numeric = NumericMode::Float;
        Compute { numeric, backend }.backend()
    })
}

#[track_caller]
fn agree(what: &str, [packed, candle]: [Vec<Vec<f32>>; 2]) {
    assert!(!packed.is_empty() && packed.len() == candle.len(), "{what}");
    for (packed, candle) in packed.iter().zip(&candle) {
        let length: f32 = candle.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-4, "{what}: {length}");
        let difference = largest_difference(packed, candle);
        assert!(difference < 1e-4, "{what}: {difference}");
    }
}

#[test]
fn clip_has_the_same_vectors_by_both_backends() {
    let pictures = [(300, 200), (64, 64), (33, 500)].map(|(width, height)| {
        RgbImage::from_fn(width, height, |x, y| {
            Rgb([x * 7, y * 3 + x, x * y].map(|value| (value % 256) as u8))
        })
    });
    let texts = texts_of_many_lengths(200);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for name in ["tiny-clip", "tiny-clip-gelu"] {
        let models = backends()
            .map(|backend| Clip::load(&reference(name), backend, Numeric::Float).unwrap());
        let of_images = models.each_ref().map(|model| {
            let pixels: Vec<Pixels> = pictures.iter().map(|p| model.preprocess(p)).collect();
            model.embed_images(&pixels).unwrap()
        });
        agree(name, of_images);
        agree(name, models.map(|model| model.embed_texts(&texts).unwrap()));
    }
}

#[test]
fn sentence_encoders_have_the_same_vectors_by_both_backends() {
    let texts = texts_of_many_lengths(200);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = backends().map(|backend| {
        let model = Sentences::load(&reference("tiny-sentence"), backend).unwrap();
        model.embed(&texts).unwrap()
    });
    agree("tiny-sentence", vectors);
    for name in ["tiny-mpnet", "tiny-xlm-roberta"] {
        let vectors = backends().map(|backend| {
            let model = SentenceEncoder::load(&reference(name), backend).unwrap();
            model.embed(&texts, Purpose::Document).unwrap()
        });
        agree(name, vectors);
    }
}

/// Ranks some images of the sample with small models. Returns the images, with topics, sides and ranks, and the store.
fn ranked(home: &Path, backend: BackendMode, threads: usize) -> (Vec<String>, PathBuf) {
    let evidence = home.join("evidence.sqlite");
    let places = Places {
        evidence: Some(evidence.clone()),
        cache: Some(home.to_owned()),
        ..Places::default()
    };
    let compute = Compute {
        numeric: NumericMode::Float,
        backend,
    };
    let session = Session::new(places, small_models(&home.join("models")), compute);
    let source = CollectionSource {
        limit: Some(20),
        ..CollectionSource::new(session, sample())
    };
    let collection = Collection::of(Task::Images, source).with_threads(threads);
    let approach = Approach::named(Task::Images, "riposte").unwrap();
    let ranking = collection
        .request(approach)
        .rank(|_| ControlFlow::Continue(()))
        .unwrap();
    let documents = ranking.documents().map(|found| {
        let side = found.side.map_or("", |side| side.word());
        format!("{} {side} {} {}", found.topic, found.rank, found.document)
    });
    (documents.collect(), evidence)
}

/// What computed a channel, as the store names it.
fn stored_backends(evidence: &Path, channel: &str) -> BTreeSet<String> {
    let store = Store::open_to_read(evidence, CHANNELS).unwrap();
    let documents = store.text_hashes().unwrap();
    assert_eq!(documents.len(), 20);
    let backends = documents.iter().map(|(id, _)| {
        let backend = store.backend(id, channel).unwrap().unwrap();
        assert_eq!(backend.numeric, Numeric::Float);
        backend.name
    });
    backends.collect()
}

/// The table of backends, and all evidence.
fn bytes(evidence: &Path) -> Vec<String> {
    let connection = Connection::open(evidence).unwrap();
    let rows = "SELECT document || ' ' || channel || ' ' || backend FROM backend ORDER BY 1";
    let mut statement = connection.prepare(rows).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    let mut all = rows.collect::<rusqlite::Result<Vec<String>>>().unwrap();
    all.extend(contents(evidence));
    all
}

#[test]
fn both_backends_rank_alike_and_each_has_the_same_evidence_again() {
    let homes = [(); 3].map(|()| TempDir::new().unwrap());
    let [packed, candle, again] = [
        (BackendMode::Packed, 2),
        (BackendMode::Candle, 2),
        (BackendMode::Candle, 1),
    ];
    let rank = |home: &TempDir, (backend, threads)| ranked(home.path(), backend, threads);
    let (by_packed, packed) = rank(&homes[0], packed);
    let (by_candle, candle) = rank(&homes[1], candle);
    assert!(by_packed.len() > 100);
    assert_eq!(by_packed, by_candle);
    for channel in ["clip", "sentence"] {
        for (store, name) in [(&packed, "transformer float"), (&candle, "candle float")] {
            let expected = BTreeSet::from([name.to_owned()]);
            assert_eq!(stored_backends(store, channel), expected);
        }
    }
    let (by_candle_again, again) = rank(&homes[2], again);
    assert_eq!(by_candle_again, by_candle);
    assert_eq!(bytes(&again), bytes(&candle));
    // they are two computations, not one
    assert_ne!(contents(&packed), contents(&candle));
}

#[test]
fn the_option_chooses_and_the_summary_says_what_computed() {
    let dir = WorkDir::new();
    install_small_clips(&dir.path("models"));
    let input = text(sample());
    let extract = |evidence: &str, options: &str| {
        let line =
            format!("extract -i {input} --limit 2 --models models --evidence {evidence} {options}");
        dir.succeeds(line.trim()).1
    };
    let said = extract("candle.sqlite", "--backend candle");
    assert_says(&said, &["clip-vit-base-patch32; candle float\n"]);
    let said = extract("packed.sqlite", "--backend packed");
    assert_says(&said, &["clip-vit-base-patch32; packed float\n"]);
    // what is stored stays, and nothing is loaded
    let said = extract("candle.sqlite", "--backend packed");
    assert_says(&said, &[" 0 of them new", "clip-vit-base-patch32\n"]);

    let line = format!("extract -i {input} --backend onnx");
    let (code, _, said) = dir.run(&line);
    assert_eq!(code, 2, "{said}");
    assert_says(&said, &["--backend", "onnx", "auto", "packed", "candle"]);
}
