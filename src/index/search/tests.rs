//! Searches of an index of several segments and windows, from which documents were deleted.

use riposte_eval::DocId;

use crate::index::inverted::update::LockedIndex;
use crate::index::inverted::{Document, ImageField, IndexKind, IndexingBudget, InvertedIndex};
use crate::index::search::{IndexQuery, QueryPart, SearchOptions};
use crate::index::similarity::Similarity;

const IMAGES: usize = 12_000;
const ALL: SearchOptions = SearchOptions {
    k: IMAGES,
    short: true,
    duplicates: true,
    portals: None,
};

/// Texts of 12,000 images in two segments, each of which takes more than one window; every third image is deleted again. The nth of 300 words is in one
/// of n texts.
fn index(dir: &std::path::Path) -> InvertedIndex {
    let mut state = 1u64;
    let mut chance = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut text = |longest: u64| -> String {
        let length = 1 + chance(longest);
        let words = (0..length).map(|_| {
            let n = 1 + chance(300);
            format!("w{} ", 300 / n)
        });
        words.collect()
    };
    index_of(dir, |_| [text(80), text(6)])
}

/// An index of images with these words near them and in their titles.
fn index_of(
    dir: &std::path::Path,
    mut near_and_title: impl FnMut(usize) -> [String; 2],
) -> InvertedIndex {
    let analyzer = "".parse().unwrap();
    let (locked, _) = LockedIndex::open(dir, IndexKind::Images, &analyzer, &mut |_| ()).unwrap();
    let fields = IndexKind::Images.fields().len();
    for part in 0..2 {
        let update = locked.update(part == 0, IndexingBudget::default()).unwrap();
        let mut terms = update.terms();
        for n in IMAGES / 2 * part..IMAGES / 2 * (part + 1) {
            let mut texts = vec![String::new(); fields];
            let [near, title] = near_and_title(n);
            texts[ImageField::Near as usize] = near;
            texts[ImageField::Title as usize] = title;
            let document = Document::new(DocId(format!("{:05}", n * 7 % IMAGES)), texts);
            update.put(&document, &mut terms).unwrap();
        }
        locked.commit(update, part.to_string()).unwrap();
    }
    let update = locked.update(false, IndexingBudget::default()).unwrap();
    for n in (0..IMAGES).step_by(3) {
        update.remove(&format!("{n:05}"));
    }
    locked.commit(update, "deleted".to_owned()).unwrap();
    locked.reader().unwrap()
}

/// The first documents of each segment have higher scores than all others, so that the first windows promise more than there is.
#[test]
fn the_best_documents_are_found_where_the_first_ones_are_better_than_all_others() {
    let dir = tempfile::tempdir().unwrap();
    let index = index_of(&dir.path().join("index"), |n| {
        let near = match n % (IMAGES / 2) {
            0..150 => "cat".to_owned(),
            n => format!("cat{}", " dog".repeat(1 + n % 50)),
        };
        [near, String::new()]
    });
    let mut part = QueryPart::new(ImageField::Near as usize, 1.0);
    part.add("cat", 1.0);
    let query = IndexQuery { parts: vec![part] };
    for similarity in [Similarity::TfIdf, Similarity::Bm25 { k1: 1.2, b: 0.75 }] {
        let mut expected = index.search(&query, &similarity, ALL).unwrap();
        assert_eq!(expected.len(), IMAGES / 3 * 2);
        for k in [1000, 300, 100] {
            expected.truncate(k);
            let options = SearchOptions { k, ..ALL };
            let found = index.search(&query, &similarity, options).unwrap();
            assert!(found == expected, "{similarity:?}, the best {k}");
        }
    }
}

#[test]
fn the_best_documents_are_the_first_of_all_documents_bit_by_bit_without_deleted_ones() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(&dir.path().join("index"));
    assert_eq!(index.documents() as usize, IMAGES / 3 * 2);
    let similarities = [
        Similarity::Bm25 { k1: 1.2, b: 0.75 },
        Similarity::Bm25 { k1: 0.0, b: 0.0 },
        Similarity::WhooshBm25 { k1: 1.2, b: 0.75 },
        Similarity::Dirichlet { mu: 1000.0 },
        Similarity::LuceneDirichlet { mu: 1000.0 },
        Similarity::LuceneDirichlet { mu: 5.0 },
        Similarity::JelinekMercer { lambda: 0.7 },
        Similarity::TfIdf,
        Similarity::Dph,
    ];
    let word = 1u32..301;
    let words = proptest::collection::vec((word, 0.0f64..3.0), 1..8);
    let similarity = proptest::sample::select(similarities.to_vec());
    let config = proptest::test_runner::Config {
        failure_persistence: None,
        ..Default::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let inputs = (words, 0.0f64..2.0, similarity, 1usize..12);
    let outcome = runner.run(&inputs, |(words, title, similarity, k)| {
        let mut near = QueryPart::new(ImageField::Near as usize, 1.0);
        let mut titles = QueryPart::new(ImageField::Title as usize, title);
        for (word, weight) in words {
            near.add(&format!("w{word}"), weight);
            titles.add(&format!("w{word}"), 1.0);
        }
        let query = IndexQuery {
            parts: vec![near, titles],
        };
        let mut expected = index.search(&query, &similarity, ALL).unwrap();
        let is_deleted = |id: &DocId| id.0.parse::<u32>().unwrap() % 3 == 0;
        proptest::prop_assert!(!expected.iter().any(|found| is_deleted(&found.doc)));
        expected.truncate(k);
        let options = SearchOptions { k, ..ALL };
        proptest::prop_assert_eq!(
            index.search(&query, &similarity, options).unwrap(),
            expected
        );
        Ok(())
    });
    outcome.unwrap();
}

/// The explanation of a score reads the postings of one document, without windows. In long rankings, only some documents are compared, from all windows.
#[test]
fn scores_of_all_windows_are_those_that_are_explained_bit_by_bit() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(&dir.path().join("index"));
    let (near, title) = (ImageField::Near as usize, ImageField::Title as usize);
    let bm25 = Similarity::Bm25 { k1: 1.2, b: 0.75 };
    let dirichlet = Similarity::Dirichlet { mu: 100.0 };
    let bm25f = Similarity::Bm25f {
        k1: 1.2,
        b: vec![0.75],
    };
    let similarities = [bm25.clone(), dirichlet, Similarity::Dph, bm25f.clone()];
    for (words, must) in [
        ([1, 2, 7], false),
        ([3, 150, 300], false),
        ([2, 5, 60], true),
    ] {
        for joined in [false, true] {
            let mut parts = [QueryPart::new(near, 1.0), QueryPart::new(title, 0.7)];
            for (part, words) in parts.iter_mut().zip([&words[..], &words[..2]]) {
                for word in words {
                    part.add(&format!("w{word}"), f64::from(*word).sqrt());
                }
            }
            let [mut all, some] = parts;
            if joined {
                all = all.over(vec![near, title]);
            }
            let some = if must { some.must() } else { some };
            let query = IndexQuery {
                parts: vec![all, some],
            };
            for similarity in similarities.iter().filter(|of| !joined || **of != bm25f) {
                let found = index.search(&query, similarity, ALL).unwrap();
                assert!(found.len() > 20, "{} documents", found.len());
                for found in found.iter().step_by(1 + found.len() / 100) {
                    let explained = index.explain(&query, similarity, &found.doc).unwrap();
                    assert_eq!(explained.value().to_bits(), found.score.to_bits());
                }
                let other = index.search(&query, &bm25, ALL).unwrap();
                assert_eq!(index.rescore(other, &query, similarity).unwrap(), found);
            }
        }
    }
}
