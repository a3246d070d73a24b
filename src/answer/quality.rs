//! Ratings of single texts as arguments on a topic.

use anyhow::Result;
use riposte_claims::claims;
use riposte_eval::Explanation;

use crate::lazy::Lazy;
use crate::reading::pieces::ClaimedPieces;
use crate::reading::stance_encoder::StanceEncoder;
use crate::score::quality::explain_rating;

/// A text, and the claim of the topic that it is rated on.
pub struct QualityQuestion {
    claim: String,
    text: String,
}

impl QualityQuestion {
    /// The question for the rating of a text on `topic`: a question, a motion, a claim or a subject.
    pub fn new(topic: &str, text: String) -> Self {
        let (claim, _) = claims(topic);
        QualityQuestion { claim, text }
    }
}

/// The explained ratings, in [0, 1] and in the order of the questions. Without an encoder, they depend only on words.
///
/// # Errors
/// The encoder fails.
pub fn rate(
    questions: &[QualityQuestion],
    encoder: Option<&Lazy<StanceEncoder>>,
) -> Result<Vec<Explanation>> {
    let texts = questions.iter();
    let pieces = ClaimedPieces::of(texts.map(|q| (q.claim.as_str(), q.text.as_str())));
    let readings = match encoder {
        Some(encoder) => Some(pieces.by_text(encoder.get()?.read(&pieces.pairs())?)),
        None => None,
    };
    let rated = (0..).zip(questions).map(|(at, question)| {
        let of_text = readings.as_ref().and_then(|all| all.get(at));
        explain_rating(&question.text, of_text.map(Vec::as_slice))
    });
    Ok(rated.collect())
}
