//! Ratings of single texts as arguments on a topic.

use anyhow::Result;

use crate::nn::lazy::Lazy;
use crate::reading::pair::PairEncoder;
use crate::reading::pieces::pieces;
use crate::score::quality::explain_rating;
use crate::topic::question;
use crate::trec::Explanation;

/// A text, and the claim of the topic that it is rated on.
pub struct QualityQuestion {
    claim: String,
    text: String,
}

impl QualityQuestion {
    /// Asks for the rating of a text on a topic: a question, a motion, a claim or a subject.
    pub fn new(topic: &str, text: String) -> Self {
        let (claim, _) = question::claims(topic);
        QualityQuestion { claim, text }
    }
}

/// The explained ratings, in [0, 1] and in the order of the questions. Without an encoder, they depend on words alone.
///
/// # Errors
/// The encoder fails.
pub fn rate(
    questions: &[QualityQuestion],
    encoder: Option<&Lazy<PairEncoder>>,
) -> Result<Vec<Explanation>> {
    let parts: Vec<Vec<&str>> = questions.iter().map(|q| pieces(&q.text)).collect();
    let pairs: Vec<(&str, &str)> = questions
        .iter()
        .zip(&parts)
        .flat_map(|(q, parts)| parts.iter().map(|part| (q.claim.as_str(), *part)))
        .collect();
    let readings = encoder.map(|encoder| encoder.get()?.read(&pairs));
    let readings = readings.transpose()?;
    let mut from = 0;
    let rated = questions.iter().zip(&parts).map(|(question, parts)| {
        let range = from..from + parts.len();
        from = range.end;
        let of_text = readings.as_deref().and_then(|all| all.get(range));
        explain_rating(&question.text, of_text)
    });
    Ok(rated.collect())
}
