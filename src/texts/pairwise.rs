//! The last stage of a cascade: the first documents of a ranking are compared with each other.

use std::collections::HashMap;

use anyhow::Result;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation};

use super::rerank::Documents;
use super::sources::TextRankingSources;
use crate::events::OnEvent;
use crate::index::ScoredDoc;
use crate::index::search::explain::SCORE;
use crate::recipes::text_approach::Pairwise;
use crate::score::pairwise::{self, OpinionValues};
use crate::score::reranker::RerankerModels;
use crate::score::windows::ReadWindows;
use crate::texts::rerank::{BASE, COMPARED};

/// The score before documents were compared with each other.
pub(crate) const POINT_WISE: &str = "point-wise";

/// Sorts a ranking, and gives new scores to its first documents. These scores are sums of preferences ([`pairwise`]), all above the scores of the
/// other documents, which do not change. `explained` has the explanations of the scores so far, and receives those of the new scores. If no opinion
/// has anything to compare, no score changes.
///
/// # Errors
/// The index, the store of model outputs or a model fails.
pub(super) fn compare(
    ranking: &mut [ScoredDoc],
    recipe: &Pairwise,
    topic: &Topic,
    sources: &mut TextRankingSources,
    explained: &mut HashMap<DocId, Explanation>,
    on_event: &mut OnEvent,
) -> Result<()> {
    ranking.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.doc.cmp(&b.doc)));
    let (top, others) = ranking.split_at_mut(recipe.depth.min(ranking.len()));
    let windows = ReadWindows {
        windows: recipe.windows,
        is_promising_only: false,
    };
    let mut documents = Documents::open(topic, top, windows, sources)?;
    let reading = &mut RerankerModels {
        reader: sources.reader,
        on_event,
    };
    let mut evidence = Vec::new();
    for (reranker, weight) in recipe.weights.used() {
        let assessed = documents.assess(reranker, reading)?;
        evidence.push(OpinionValues {
            name: reranker.name(),
            weight,
            values: assessed.into_iter().map(|of| of.values).collect(),
        });
    }
    let Documents { cuts, .. } = documents;
    // a sum of preferences is at least 0, so a document that loses all comparisons still stays above the others
    let base = others.first().map_or(0.0, |best| best.score + 1.0);
    let sums = pairwise::sums(&evidence, top.len());
    for ((found, opinions), cuts) in top.iter_mut().zip(sums).zip(&cuts) {
        if opinions.is_empty() {
            break;
        }
        let before = Explanation::new(POINT_WISE, 0.0)
            .with_how(format!(
                "its score before was {:.4}, which chose it for comparison",
                found.score
            ))
            .with_parts(Vec::from_iter(explained.remove(&found.doc)));
        let of_compared = Explanation::new((BASE, COMPARED), base);
        let mut parts = vec![of_compared.named("base of compared documents")];
        parts.extend(opinions);
        let mut explanation = Explanation::sum(SCORE, parts);
        found.score = explanation.value();
        explanation.add_part(before);
        cuts.iter().for_each(|cut| explanation.add_note(cut));
        explained.insert(found.doc.clone(), explanation);
    }
    Ok(())
}
