//! What stays open between requests, so that the next one neither opens indexes nor loads models.

use std::path::PathBuf;

use riposte_eval::TextTask;

use super::images::OpenImages;
use super::shelf::Shelf;
use super::texts::OpenTexts;
use crate::session::CollectionSource;

/// The open parts of a collection. None notices that files have changed since it was opened.
#[derive(Default)]
pub struct OpenCollection {
    pub(super) texts: Shelf<TextsKey, OpenTexts>,
    pub(super) images: Shelf<ImagesKey, OpenImages>,
}

/// All that decides what is open of a text collection.
#[derive(Clone, PartialEq)]
pub(super) struct TextsKey {
    pub source: CollectionSource,
    pub task: TextTask,
    /// The text of the recipe.
    pub recipe: String,
}

/// All that decides what is open of a collection of images.
#[derive(Clone, PartialEq)]
pub(super) struct ImagesKey {
    pub source: CollectionSource,
    pub arguments: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::device::{BackendMode, Compute};
    use crate::evidence::precision::Script;
    use crate::places::Places;
    use crate::session::Session;
    use crate::weights::Models;
    use riposte_nn::conv::{Numeric, NumericMode};

    fn source() -> CollectionSource {
        let models = Models::at(Some(Path::new("models"))).unwrap();
        let session = Session::new(Places::default(), models, Compute::default());
        CollectionSource::new(session, Path::new("a"))
    }

    type Change = fn(&mut CollectionSource);

    /// A change of each setting of a user that changes what is opened.
    const CHANGES: [(&str, Change); 18] = [
        ("input", |of| of.input = "b".into()),
        ("limit", |of| of.limit = Some(3)),
        ("rehash", |of| of.rehash = true),
        ("retry", |of| of.retry = true),
        ("cache", |of| of.session.places.cache = Some("c".into())),
        ("index", |of| of.session.places.index = Some("c".into())),
        ("evidence", |of| {
            of.session.places.evidence = Some("c".into())
        }),
        ("models", |of| {
            of.session.models = Models::at(Some(Path::new("other"))).unwrap()
        }),
        ("sentence", |of| {
            of.session.models = of.session.models.clone().with_sentence(Some("s".into()))
        }),
        ("cross", |of| {
            of.session.models = of.session.models.clone().with_cross(Some("c".into()))
        }),
        ("threads", |of| of.session.threads = Some(2)),
        ("ocr", |of| {
            drop(of.session.options.chosen.insert("ocr", "o".into()))
        }),
        ("clip", |of| {
            drop(of.session.options.chosen.insert("clip", "c".into()))
        }),
        ("require", |of| {
            of.session.options.required.push("clip".into())
        }),
        ("script", |of| {
            of.session.options.precision.script = Script::All
        }),
        ("clip precision", |of| {
            of.session.options.precision.clip = Numeric::Int8
        }),
        ("numeric", |of| {
            of.session.options.precision.compute.numeric = NumericMode::Float
        }),
        ("backend", |of| {
            of.session.options.precision.compute.backend = BackendMode::Candle
        }),
    ];

    #[test]
    fn each_setting_that_changes_what_is_opened_opens_anew() {
        let shelf = Shelf::<ImagesKey, usize>::default();
        let key = |source| ImagesKey {
            source,
            arguments: None,
        };
        let mut opened = 0;
        let mut get = |key| {
            let open = || {
                opened += 1;
                Ok(opened)
            };
            *shelf.get(key, open).unwrap()
        };
        assert_eq!((get(key(source())), get(key(source()))), (1, 1));
        for (n, (setting, change)) in (2..).zip(CHANGES) {
            let mut changed = source();
            change(&mut changed);
            assert_eq!(get(key(changed)), n, "{setting}");
        }
        let with_arguments = ImagesKey {
            arguments: Some("args-me.json".into()),
            ..key(source())
        };
        assert_eq!(get(with_arguments), CHANGES.len() + 2);
    }

    #[test]
    fn texts_are_opened_for_their_task_and_recipe() {
        let key = |task, recipe: &str| TextsKey {
            source: source(),
            task,
            recipe: recipe.to_owned(),
        };
        let first = key(TextTask::Rank, "k1 = 1");
        assert!(first == key(TextTask::Rank, "k1 = 1"));
        assert!(first != key(TextTask::Rank, "k1 = 2"));
        assert!(first != key(TextTask::Controversial, "k1 = 1"));
    }
}
