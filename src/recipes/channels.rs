//! The lists of all channels of evidence, and of all signals, by which evidence scores images. A new channel needs a file in `evidence/` and a line
//! here, a new signal a file or a few lines in `score/signal/` and a line here.

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
use crate::score::signal::{
    ArgumentLikeness, Bm25, ClipLikeness, CrawlSignal, QueryLikelihood, SentenceLikeness, Signal,
    SignalNeed, Signals,
};

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
pub(crate) const SIGNALS: Signals = &[
    &Bm25("bm25 ocr", Field::Ocr),
    &Bm25("bm25 title", Field::Title),
    &Bm25("bm25 near", Field::Near),
    &Bm25("bm25 main", Field::Main),
    &Bm25("bm25 caption", Field::Caption),
    &Bm25("bm25 given caption", Field::GivenCaption),
    &Bm25("bm25 given text", Field::GivenText),
    &QueryLikelihood("dirichlet main", Field::Main),
    &SentenceLikeness("sentence ocr", TextPart::Ocr),
    &SentenceLikeness("sentence title", TextPart::Title),
    &SentenceLikeness("sentence near", TextPart::Near),
    &SentenceLikeness("sentence main", TextPart::Main),
    &SentenceLikeness("sentence given caption", TextPart::GivenCaption),
    &SentenceLikeness("sentence given text", TextPart::GivenText),
    &ClipLikeness("clip topic", SignalNeed::About(Slot::First)),
    &ClipLikeness("clip title", SignalNeed::Title(Slot::First)),
    &ClipLikeness("image-text topic", SignalNeed::About(Slot::Second)),
    &ClipLikeness("image-text title", SignalNeed::Title(Slot::Second)),
    &ArgumentLikeness,
    &CrawlSignal,
];

/// Identifies a signal of [`SIGNALS`]. Keys are sorted as the signals are in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignalKey(usize);

impl SignalKey {
    /// The signal with this name.
    pub fn find(name: &str) -> Option<SignalKey> {
        let place = SIGNALS.iter().position(|signal| signal.name() == name);
        place.map(SignalKey)
    }

    pub fn signal(self) -> &'static dyn Signal {
        SIGNALS[self.0]
    }
}

impl fmt::Debug for SignalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.signal().name(), f)
    }
}

impl<'de> Deserialize<'de> for SignalKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&str>> =
            LazyLock::new(|| SIGNALS.iter().map(|signal| signal.name()).collect());
        let name = String::deserialize(deserializer)?;
        let unknown = || serde::de::Error::unknown_variant(&name, &NAMES);
        SignalKey::find(&name).ok_or_else(unknown)
    }
}
