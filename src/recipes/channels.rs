//! The lists of all channels of evidence, and of all signals, by which evidence scores images. A new channel needs a file in `channels/` and a line here.
//! The file can bring a signal, which needs a line, too ([`SignalNeed::Channel`]).

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

use crate::evidence::clip::{ImageTextVectors, Slot};
use crate::evidence::ocr::Ocr;
use crate::evidence::page::Pages;
use crate::evidence::picture::PictureChannel;
use crate::evidence::sentence::SentenceVectors;
use crate::evidence::sentiment::{AfinnScores, VaderScores};
use crate::evidence::{Channels, TextPart};
use crate::index::images::Field;
use crate::score::signal::{Signal, SignalNeed};

/// All channels, in the order in which they are computed. A channel can use only those before it.
pub const CHANNELS: Channels = &[
    &Pages,
    &Ocr,
    &PictureChannel,
    &ImageTextVectors(Slot::First),
    &ImageTextVectors(Slot::Second),
    &SentenceVectors,
    &VaderScores,
    &AfinnScores,
];

/// All signals, in the order in which explanations list them.
pub(crate) static SIGNALS: &[Signal] = &[
    Signal::new("bm25 ocr", SignalNeed::Words(Field::Ocr)),
    Signal::new("bm25 title", SignalNeed::Words(Field::Title)),
    Signal::new("bm25 near", SignalNeed::Words(Field::Near)),
    Signal::new("bm25 main", SignalNeed::Words(Field::Main)),
    Signal::new("bm25 caption", SignalNeed::Words(Field::Caption)),
    Signal::new("bm25 given caption", SignalNeed::Words(Field::GivenCaption)),
    Signal::new("bm25 given text", SignalNeed::Words(Field::GivenText)),
    Signal::new("dirichlet main", SignalNeed::QueryLikelihood(Field::Main)),
    Signal::new("sentence ocr", SignalNeed::Sentence(TextPart::Ocr)),
    Signal::new("sentence title", SignalNeed::Sentence(TextPart::Title)),
    Signal::new("sentence near", SignalNeed::Sentence(TextPart::Near)),
    Signal::new("sentence main", SignalNeed::Sentence(TextPart::Main)),
    Signal::new(
        "sentence given caption",
        SignalNeed::Sentence(TextPart::GivenCaption),
    ),
    Signal::new(
        "sentence given text",
        SignalNeed::Sentence(TextPart::GivenText),
    ),
    Signal::new("clip topic", SignalNeed::About(Slot::First)),
    Signal::new("clip title", SignalNeed::Title(Slot::First)),
    Signal::new("image-text topic", SignalNeed::About(Slot::Second)),
    Signal::new("image-text title", SignalNeed::Title(Slot::Second)),
    Signal::new("arguments", SignalNeed::Arguments),
    Signal::new("crawl", SignalNeed::Crawl),
];

/// Identifies a signal of [`SIGNALS`]. Keys are sorted as the signals are in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignalKey(usize);

impl SignalKey {
    /// The signal with this name.
    pub fn find(name: &str) -> Option<SignalKey> {
        let place = SIGNALS.iter().position(|signal| signal.name == name);
        place.map(SignalKey)
    }

    pub fn signal(self) -> &'static Signal {
        &SIGNALS[self.0]
    }
}

impl fmt::Debug for SignalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.signal().name, f)
    }
}

impl<'de> Deserialize<'de> for SignalKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&str>> =
            LazyLock::new(|| SIGNALS.iter().map(|signal| signal.name).collect());
        let name = String::deserialize(deserializer)?;
        let unknown = || serde::de::Error::unknown_variant(&name, &NAMES);
        SignalKey::find(&name).ok_or_else(unknown)
    }
}
