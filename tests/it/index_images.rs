//! The index of images, which is updated when the evidence changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use riposte::evidence;
use riposte::evidence::PageEvidence;
use riposte::evidence::ocr::OcrLine;
use riposte::evidence::page::PageWords;
use riposte::evidence::store::{NewEvidence, Provenance, Store};
use riposte::index::images::{self, Field, ImageIndex, IndexChanges};
use riposte::recipes::channels::CHANNELS;
use riposte_eval::DocId;

use crate::index_files::effort;
use crate::support::chance::Chance;
use crate::support::collection::words;

/// Stored evidence about images with random words.
pub struct Evidence {
    pub store: Store,
    /// For each id of an image, the text in the image and the title of its page.
    pub words: BTreeMap<String, (String, String)>,
}

impl Evidence {
    pub fn new(path: &Path) -> Self {
        Evidence {
            store: Store::open(path, CHANNELS).unwrap(),
            words: BTreeMap::new(),
        }
    }

    /// Stores the text in an image and the title of its page, and replaces the stored ones.
    pub fn write(&mut self, id: &str, ocr: String, title: String) {
        let line = OcrLine {
            text: ocr.clone(),
            confidence: 1.0,
            corners: [(0.0, 0.0); 4],
            block: 0,
        };
        let page = PageEvidence {
            id: "P1".to_owned(),
            words: PageWords {
                title: title.clone(),
                main: format!("{title} {ocr}"),
                ..PageWords::default()
            },
            ..PageEvidence::default()
        };
        let made = |producer: &'static str| {
            let made = Provenance {
                producer: producer.to_owned(),
                ..Provenance::default()
            };
            (producer, made)
        };
        let mut evidence = evidence::Evidence::of(DocId(id.to_owned()));
        evidence.put(vec![page]);
        evidence.put(vec![line]);
        let record = NewEvidence {
            evidence,
            made: ["page", "ocr"].map(made).into(),
            fingerprint: "f".to_owned(),
            files: None,
        };
        self.store.write(&[record]).unwrap();
        self.words.insert(id.to_owned(), (ocr, title));
    }

    fn remove(&mut self, id: &str) {
        let path = self.store.path().to_owned();
        let connection = rusqlite::Connection::open(path).unwrap();
        for table in ["document", "work", "page", "ocr_line"] {
            let sql = format!("DELETE FROM {table} WHERE document = ?");
            connection.execute(&sql, [id]).unwrap();
        }
        self.words.remove(id);
    }

    pub fn index(&mut self, dir: &Path) -> (ImageIndex, IndexChanges) {
        let (corpus, updated) = images::open(
            &mut self.store,
            dir,
            &images::analyzer(),
            effort(2),
            &mut |_| (),
        )
        .unwrap();
        let ids: Vec<DocId> = self.words.keys().cloned().map(DocId).collect();
        (ImageIndex::new(corpus, ids.into_iter()), updated)
    }
}

/// The bits of the scores of all images for some queries.
pub fn scores(index: &ImageIndex) -> Vec<(String, Vec<u64>)> {
    let mut all = Vec::new();
    for field in [Field::Ocr, Field::Title, Field::Main] {
        for words in ["word1", "word2 word3 word2", "word20 word500", "nothing"] {
            let scores = index.bm25(field, words).unwrap();
            assert_eq!(scores.len(), index.ids().len());
            let bits = scores.iter().map(|score| score.to_bits()).collect();
            all.push((format!("{field:?} {words}"), bits));
        }
    }
    all
}

#[test]
fn an_updated_index_of_images_ranks_as_one_built_anew() {
    let home = tempfile::tempdir().unwrap();
    let mut evidence = Evidence::new(&home.path().join("e.sqlite"));
    let mut chance = Chance(23);
    for n in 0..60 {
        let (ocr, title) = (words(&mut chance, 12), words(&mut chance, 6));
        evidence.write(&format!("I{n:04}"), ocr, title);
    }
    let kept = home.path().join("kept.index");
    let (_, updated) = evidence.index(&kept);
    assert_eq!((updated.added, updated.removed), (60, 0));
    let (_, updated) = evidence.index(&kept);
    assert_eq!(updated, IndexChanges::default(), "nothing has changed");
    let mut next = 60;
    for round in 0..100 {
        let before = evidence.words.clone();
        for _ in 0..1 + chance.below(4) {
            let known: Vec<String> = evidence.words.keys().cloned().collect();
            let id = known[chance.below(known.len())].clone();
            let (ocr, title) = (words(&mut chance, 12), words(&mut chance, 6));
            match chance.below(4) {
                0 => {
                    evidence.write(&format!("I{next:04}"), ocr, title);
                    next += 1;
                }
                1 => evidence.remove(&id),
                2 => {
                    // writing the same words again is not a change
                    let (ocr, title) = evidence.words[&id].clone();
                    evidence.write(&id, ocr, title);
                }
                _ => evidence.write(&id, ocr, title),
            }
        }
        let (index, updated) = evidence.index(&kept);
        let is_new = |(id, words): &(&String, &(String, String))| before.get(*id) != Some(*words);
        let is_gone = |id: &&String| !evidence.words.contains_key(*id);
        let expected = IndexChanges {
            added: evidence.words.iter().filter(is_new).count(),
            removed: before.keys().filter(is_gone).count(),
        };
        assert_eq!(updated, expected, "round {round}");
        let anew = home.path().join(format!("anew{round}.index"));
        let (fresh, _) = evidence.index(&anew);
        assert_eq!(index.ids(), fresh.ids());
        assert!(scores(&index) == scores(&fresh), "round {round}");
        fs::remove_dir_all(anew).unwrap();
    }
    // an index that includes only some of the images counts only those
    let (corpus, _) = images::open(
        &mut evidence.store,
        &kept,
        &images::analyzer(),
        effort(1),
        &mut |_| (),
    )
    .unwrap();
    let some: Vec<String> = evidence.words.keys().take(20).cloned().collect();
    let part = ImageIndex::new(corpus, some.iter().cloned().map(DocId));
    let mut few = Evidence::new(&home.path().join("few.sqlite"));
    for id in &some {
        let (ocr, title) = evidence.words[id].clone();
        few.write(id, ocr, title);
    }
    let (alone, _) = few.index(&home.path().join("few.index"));
    assert!(scores(&part) == scores(&alone));
}

#[test]
fn an_index_of_images_follows_changes_made_by_hand() {
    let home = tempfile::tempdir().unwrap();
    let mut evidence = Evidence::new(&home.path().join("e.sqlite"));
    let mut chance = Chance(3);
    for n in 0..200 {
        let (ocr, title) = (words(&mut chance, 12), words(&mut chance, 6));
        evidence.write(&format!("I{n:04}"), ocr, title);
    }
    let place = home.path().join("e.index");
    let (index, _) = evidence.index(&place);
    assert_eq!(index.bm25(Field::Ocr, "unheard").unwrap()[7], 0.0);
    let connection = rusqlite::Connection::open(evidence.store.path()).unwrap();
    let sql = "UPDATE ocr_line SET text = 'unheard of' WHERE document = 'I0007'";
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
    let (index, updated) = evidence.index(&place);
    assert_eq!((updated.added, updated.removed), (1, 0));
    assert!(index.bm25(Field::Ocr, "unheard").unwrap()[7] > 0.0);
    drop(index);
}
