//! Re-ranking of the top of a text ranking.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation};
use serde::Serialize;

use super::sources::TextRankingSources;
use crate::events::OnEvent;
use crate::index::ScoredDoc;
use crate::index::search::explain::SCORE;
use crate::reading::pieces::truncate;
use crate::recipes::rerankers;
use crate::recipes::rerankers::Cluster;
use crate::recipes::text_approach::Rerank;
use crate::score::CHANNEL;
use crate::score::quality::GradedText;
use crate::score::rerank::{self, Combine, OpinionColumn};
use crate::score::reranker::{Assessed, Assessment, RerankedTexts, Reranker, RerankerModels};
use crate::score::windows::ReadWindows;

/// What is added to the scores of the documents of one stage of re-ranking, so that they are ranked before those that the stage left out. The parameter names the documents.
pub(crate) const BASE: &str = "base";

/// Documents that were re-ranked.
pub(crate) const RERANKED: &str = "reranked";

/// Re-ranked near-duplicates of documents that are ranked before them.
pub(crate) const NEAR_DUPLICATE: &str = "near-duplicate";

/// Documents that were compared with each other.
pub(crate) const COMPARED: &str = "compared";

/// Numbers that are added to the mean opinion of re-ranked documents, which is in [0, 1], so that they rank above all other documents. They are whole
/// numbers, so that the score still shows the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Offsets {
    #[serde(rename = "re-ranked")]
    pub reranked: f64,
    /// For near-duplicates of documents that are ranked before them.
    #[serde(rename = "near-duplicates")]
    pub near_duplicates: f64,
}

impl Offsets {
    /// The offsets above these documents, the best first.
    fn above(others: &[ScoredDoc]) -> Offsets {
        let near_duplicates = others.first().map_or(0.0, |best| best.score.floor() + 1.0);
        Offsets {
            reranked: near_duplicates + 1.0,
            near_duplicates,
        }
    }
}

/// What re-ranking says about the new scores.
pub(super) struct Reranked {
    pub explained: Vec<(DocId, Explanation)>,
    /// What was added to the scores, if these are means.
    pub offsets: Option<Offsets>,
}

/// Gives new scores to the documents at the top of a ranking; those of the others stay. `on_event` receives the number of computed model outputs.
///
/// # Errors
/// The index, the store of model outputs or a model fails.
pub(super) fn rerank(
    ranking: &mut [ScoredDoc],
    recipe: &Rerank,
    topic: &Topic,
    sources: &mut TextRankingSources,
    on_event: &mut OnEvent,
) -> Result<Reranked> {
    let depth = recipe.depth.min(ranking.len());
    let (top, others) = ranking.split_at_mut(depth);
    let mut documents = Documents::open(topic, top, recipe.read_windows(), sources)?;
    let reading = &mut RerankerModels {
        reader: sources.reader,
        on_event,
    };
    let Columns { columns, mut whys } = documents.columns(recipe, reading)?;
    let Documents { candidates, cuts } = documents;
    let texts = candidates.texts;
    let opinions = rerank::opinions(&columns, recipe.scale);
    let means = rerank::scores(&opinions, recipe.combine);
    // sums and products are final scores: no other documents are ranked after these, so nothing is added to them
    let offsets = (recipe.combine == Combine::Mean).then(|| Offsets::above(others));
    let bases = match offsets {
        Some(offsets) => bases(top, &texts, &means, recipe.near_duplicate, offsets),
        None => vec![0.0; means.len()],
    };
    let mut explained = Vec::with_capacity(top.len());
    let documents = (0..).zip(top.iter_mut()).zip(&cuts);
    let scores = opinions.iter().zip(means.iter().zip(bases));
    for (((at, found), cuts), (opinions, (mean, base))) in documents.zip(scores) {
        found.score = base + mean;
        let parts = rerank::explain(opinions, recipe.combine);
        let mut explanation = explain(found.score, base, parts, offsets, recipe.combine);
        for (name, whys) in &mut whys {
            let part = explanation.find_mut((CHANNEL, *name));
            let why = whys.get_mut(at).and_then(Option::take);
            if let (Some(part), Some(why)) = (part, why) {
                part.add_part(why);
            }
        }
        cuts.iter().for_each(|cut| explanation.add_note(cut));
        explained.push((found.doc.clone(), explanation));
    }
    Ok(Reranked { explained, offsets })
}

/// The documents at the top of a ranking.
pub(super) struct Documents<'a> {
    pub candidates: RerankedTexts<'a>,
    /// Notes about what was left out of each text.
    pub cuts: Vec<Vec<String>>,
}

/// The values that the re-rankers of a recipe give to the documents.
struct Columns {
    /// First retrieval, then the re-rankers with a weight, in the order of the list.
    columns: Vec<OpinionColumn>,
    /// The explanations of the values by the name of the re-ranker, one for each document.
    whys: BTreeMap<&'static str, Vec<Option<Explanation>>>,
}

impl<'a> Documents<'a> {
    /// # Errors
    /// The index fails.
    pub(super) fn open<'s: 'a>(
        topic: &'a Topic,
        ranked: &'a [ScoredDoc],
        windows: ReadWindows,
        sources: &mut TextRankingSources<'s, '_>,
    ) -> Result<Self> {
        let index = *sources.corpora.first().context("no index is open")?;
        let mut texts = Vec::with_capacity(ranked.len());
        let mut cuts = Vec::with_capacity(ranked.len());
        for found in ranked {
            let document = index.document(&found.doc)?;
            let mut text = index.meta().kind.main_text(&document.texts).into_owned();
            let cut = truncate(&mut text);
            sources.note_cuts(&found.doc, &cut);
            texts.push(text);
            cuts.push(cut);
        }
        let mut known = BTreeMap::new();
        if let Some(clusters) = sources.clusters {
            let value = |found: &ScoredDoc| clusters.value(&topic.title, &found.doc);
            known.insert(Cluster.name(), ranked.iter().map(value).collect());
        }
        let kind = match index.field("premises") {
            Some(_) => GradedText::Argument,
            None => GradedText::Passage,
        };
        Ok(Documents {
            candidates: RerankedTexts {
                topic,
                kind,
                ranked,
                texts,
                windows,
                index,
                known,
            },
            cuts,
        })
    }

    /// Assesses each document with a re-ranker, after computing the re-ranker's inputs.
    ///
    /// # Errors
    /// The index, the store of model outputs or a model fails.
    pub(super) fn assess(
        &mut self,
        reranker: &dyn Reranker,
        reading: &mut RerankerModels,
    ) -> Assessed {
        self.know_inputs(reranker, reading)?;
        reranker.assess(&self.candidates, reading)
    }

    /// Computes those inputs of a re-ranker that are not known yet.
    ///
    /// # Errors
    /// As [`Documents::assess`].
    pub(super) fn know_inputs(
        &mut self,
        reranker: &dyn Reranker,
        reading: &mut RerankerModels,
    ) -> Result<()> {
        for name in reranker.inputs() {
            if let Some(input) = rerankers::find(name)
                && !self.candidates.known.contains_key(name)
            {
                let assessed = self.assess(input, reading)?;
                let best = assessed.iter().map(Assessment::best).collect();
                self.candidates.known.insert(name, best);
            }
        }
        Ok(())
    }

    /// For each document the best value of retrieval and of each re-ranker with a weight.
    fn columns(&mut self, recipe: &Rerank, reading: &mut RerankerModels) -> Result<Columns> {
        let mut columns = Vec::new();
        let mut whys = BTreeMap::new();
        for (reranker, weight) in recipe.weights.with_retrieval() {
            let name = reranker.name();
            let assessed = self.assess(reranker, reading)?;
            columns.push(OpinionColumn {
                name,
                weight,
                is_unit: reranker.is_unit(),
                values: assessed.iter().map(Assessment::best).collect(),
            });
            whys.insert(name, assessed.into_iter().map(|of| of.why).collect());
        }
        Ok(Columns { columns, whys })
    }
}

/// The base that is added to the mean of each document.
fn bases(
    top: &[ScoredDoc],
    texts: &[String],
    means: &[f64],
    near_duplicate: Option<f64>,
    offsets: Offsets,
) -> Vec<f64> {
    let mut bases = vec![offsets.reranked; means.len()];
    let Some(resemblance) = near_duplicate else {
        return bases;
    };
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|a, b| {
        means[*b]
            .total_cmp(&means[*a])
            .then_with(|| top[*a].doc.cmp(&top[*b].doc))
    });
    let ordered: Vec<&str> = order.iter().map(|at| texts[*at].as_str()).collect();
    for (at, is_repeat) in order
        .iter()
        .zip(rerank::near_duplicates(&ordered, resemblance))
    {
        if is_repeat {
            bases[*at] = offsets.near_duplicates;
        }
    }
    bases
}

fn explain(
    score: f64,
    base: f64,
    mut parts: Vec<Explanation>,
    offsets: Option<Offsets>,
    combine: Combine,
) -> Explanation {
    let is_near_duplicate = offsets.is_some_and(|offsets| base < offsets.reranked);
    if offsets.is_some() {
        let of = if is_near_duplicate {
            NEAR_DUPLICATE
        } else {
            RERANKED
        };
        let base = Explanation::new((BASE, of), base);
        parts.insert(0, base.named("base of re-ranked documents"));
    }
    let how = match combine {
        _ if is_near_duplicate => "sum; the base of near-duplicates is 1 less than that of others",
        Combine::Mean | Combine::Sum => "sum",
        Combine::Product | Combine::Boost => "product",
    };
    Explanation::new(SCORE, score)
        .with_how(how)
        .with_parts(parts)
}
