use super::TopValues;

proptest::proptest! {
    #[test]
    fn the_kth_largest_is_found(numbers in proptest::collection::vec(-9i32..9, 0..300), k in 1usize..40) {
        let mut largest = TopValues::new(k);
        numbers.iter().for_each(|n| largest.push(f64::from(*n)));
        let found = largest.cut();
        let mut sorted = numbers.clone();
        sorted.sort_by(|a, b| b.cmp(a));
        let expected = sorted.get(k - 1).map_or(f64::NEG_INFINITY, |n| f64::from(*n));
        proptest::prop_assert_eq!(found, expected);
    }
}

#[cfg(feature = "full")]
mod deletions {
    use riposte_eval::DocId;

    use crate::index::inverted::update::LockedIndex;
    use crate::index::inverted::{Document, Effort, ImageField, IndexKind, InvertedIndex};
    use crate::index::search::{Query, QueryPart, SearchOptions};
    use crate::index::similarity::Similarity;

    /// Texts of 3,000 images in two segments; every third image is deleted again. The nth of 300 words is in one of n texts.
    fn index(dir: &std::path::Path) -> InvertedIndex {
        let analyzer = "".parse().unwrap();
        let (locked, _) =
            LockedIndex::open(dir, IndexKind::Images, &analyzer, &mut |_| ()).unwrap();
        let fields = IndexKind::Images.fields().len();
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
        for part in 0..2 {
            let update = locked.update(part == 0, Effort::default()).unwrap();
            let mut terms = update.terms();
            for n in 1500 * part..1500 * (part + 1) {
                let mut texts = vec![String::new(); fields];
                texts[ImageField::Near as usize] = text(80);
                texts[ImageField::Title as usize] = text(6);
                let document = Document::new(DocId(format!("{:04}", n * 7 % 3000)), texts);
                update.put(&document, &mut terms).unwrap();
            }
            locked.commit(update, part.to_string()).unwrap();
        }
        let update = locked.update(false, Effort::default()).unwrap();
        for n in (0..3000).step_by(3) {
            update.remove(&format!("{n:04}"));
        }
        locked.commit(update, "deleted".to_owned()).unwrap();
        locked.reader().unwrap()
    }

    #[test]
    fn the_best_documents_are_the_first_of_all_documents_bit_by_bit_without_deleted_ones() {
        let dir = tempfile::tempdir().unwrap();
        let index = index(&dir.path().join("index"));
        assert_eq!(index.documents(), 2000);
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
        let inputs = (words, 0.0f64..2.0, similarity, 1usize..4);
        let all = SearchOptions {
            k: 3000,
            short: true,
            duplicates: true,
            portals: None,
        };
        let outcome = runner.run(&inputs, |(words, title, similarity, k)| {
            let mut near = QueryPart::new(ImageField::Near as usize, 1.0);
            let mut titles = QueryPart::new(ImageField::Title as usize, title);
            for (word, weight) in words {
                near.add(&format!("w{word}"), weight);
                titles.add(&format!("w{word}"), 1.0);
            }
            let query = Query {
                parts: vec![near, titles],
            };
            let mut expected = index.search(&query, &similarity, all).unwrap();
            let is_deleted = |id: &DocId| id.0.parse::<u32>().unwrap() % 3 == 0;
            proptest::prop_assert!(!expected.iter().any(|found| is_deleted(&found.doc)));
            expected.truncate(k);
            let options = SearchOptions { k, ..all };
            proptest::prop_assert_eq!(
                index.search(&query, &similarity, options).unwrap(),
                expected
            );
            Ok(())
        });
        outcome.unwrap();
    }
}
