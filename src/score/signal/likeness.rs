//! Signals from vectors, and from the crawl.

use anyhow::Result;

use super::{Signal, SignalInputs, SignalNeed, SignalValues};
use crate::evidence::TextPart;

/// The largest cosine between the topic and a text of the image.
pub struct SentenceLikeness(pub &'static str, pub TextPart);

impl Signal for SentenceLikeness {
    fn name(&self) -> &'static str {
        self.0
    }

    fn need(&self) -> SignalNeed {
        SignalNeed::Sentence(self.1)
    }
}

/// An image-text model's cosine between the image and the texts of the topic that [`SignalNeed::About`] or [`SignalNeed::Title`] names.
pub struct ClipLikeness(pub &'static str, pub SignalNeed);

impl Signal for ClipLikeness {
    fn name(&self) -> &'static str {
        self.0
    }

    fn need(&self) -> SignalNeed {
        self.1
    }

    /// The range of the cosines depends on how the model was trained.
    fn to_unit(&self, value: f64, inputs: &dyn SignalInputs) -> f64 {
        inputs.likeness(self.1).to_unit(value)
    }
}

/// Mean cosine between words of the image and the most similar arguments of one side: the largest for the words in or around the image, and for
/// either side. The signal is off without a collection of arguments.
pub struct ArgumentLikeness;

impl Signal for ArgumentLikeness {
    fn name(&self) -> &'static str {
        "arguments"
    }

    fn need(&self) -> SignalNeed {
        SignalNeed::Arguments
    }
}

/// The reciprocal of the best rank at which the crawl found the image for this topic. It depends on the queries that the makers of the collection
/// chose, not on the image, so only baselines use it.
pub struct CrawlSignal;

impl Signal for CrawlSignal {
    fn name(&self) -> &'static str {
        "crawl"
    }

    fn need(&self) -> SignalNeed {
        SignalNeed::Crawl
    }

    fn values(&self, inputs: &mut dyn SignalInputs) -> Result<Option<SignalValues>> {
        let best = inputs.crawl_ranks();
        let value = |at: usize| Some(1.0 / f64::from(*best.get(&at)?));
        Ok(Some((0..inputs.images()).map(value).collect()))
    }
}
