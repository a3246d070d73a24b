//! `train trees`: regression trees that rank the arguments of a topic by their relevance (LambdaMART), over the features that riposte
//! computes for the approaches of Dread Pirate Roberts.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use riposte::collection::arguments::ArgumentCollection;
use riposte::collection::read_topics;
use riposte::evidence::sentence::Sentences;
use riposte::files::explanations::KeepExplanations;
use riposte::index::inverted::{IndexingBudget, InvertedIndex, TextCollection};
use riposte::lazy::Lazy;
use riposte::reading::stance_encoder::StanceEncoder;
use riposte::reading::{self, Reader};
use riposte::recipes::text_approach::TextApproach;
use riposte::score::{quality, reranker};
use riposte::systems::trees::{Ensemble, FeatureSet, FeatureValues, features};
use riposte::texts;
use riposte::texts::{TextRankingSettings, TextRankingSources};
use riposte::topic::question::TopicParts;
use riposte::workspace::Outputs;
use riposte_eval::graded::TextRun;
use riposte_eval::measure::{Gain, GradedKind, GradedMeasure};
use riposte_eval::qrels::{self, Qrels};
use riposte_eval::run::TextRunLine;
use riposte_eval::{DocId, TextTask, TopicId};

use crate::base_model::BaseModel;
use crate::data;
use crate::lambdamart::{Group, Growth, learn};
use crate::quality::models_without_topics;

/// Few leaves with many documents, because there are only 9 topics. No setting was tuned.
const GROWTH: Growth = Growth {
    trees: 100,
    rate: 0.05,
    leaves: 6,
    rows: 20,
    hessian: 1e-3,
    cutoff: 5,
};

type Grades = BTreeMap<TopicId, HashMap<DocId, f64>>;

/// The inputs of `train trees`.
pub struct Inputs<'a> {
    /// Directory of the development data.
    pub data: &'a Path,
    pub set: FeatureSet,
    pub models: Option<&'a Path>,
    /// A file for the features and grades of all candidates.
    pub table: Option<&'a Path>,
}

/// The candidates for a topic, in the order of retrieval.
struct Candidates {
    topic: TopicId,
    documents: Vec<DocId>,
    group: Group,
}

/// The weight file, with the figures of cross-validation in its first lines.
pub fn train(inputs: &Inputs) -> Result<String> {
    let collection = inputs.data.join("args/argquality20");
    let relevance = grades(&collection.join("relevance.qrels"))?;
    let quality = grades(&collection.join("quality.qrels"))?;
    let topics = candidates(inputs, &relevance)?;
    if let Some(path) = inputs.table {
        std::fs::write(path, table(&topics, inputs.set))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let word = match inputs.set {
        FeatureSet::Small => "small",
        FeatureSet::Medium => "medium",
    };
    let mut head = format!(
        "# Trees over a {word} set of features (Dread Pirate Roberts), for src/systems/trees.rs.\n\
         # train trees --set {word} --data DATA -o models/own/trees-{word}.txt\n\
         # LambdaMART by nDCG@{}: {} trees of {} leaves, at least {} candidates in a leaf, rate {}, without randomness.\n\
         # From the first {} arguments of LMDirichlet for each of the {} topics of args/argquality20, by relevance.qrels. Arguments\n\
         # without a judgement have the grade 0.\n\
         # nDCG@5 by relevance and by quality for topics left out of training:\n",
        GROWTH.cutoff,
        GROWTH.trees,
        GROWTH.leaves,
        GROWTH.rows,
        GROWTH.rate,
        topics
            .iter()
            .map(|of| of.documents.len())
            .max()
            .unwrap_or(0),
        topics.len(),
    );
    let retrieval = topics
        .iter()
        .flat_map(|of| ranked(of, &vec![0.0; of.documents.len()]));
    for (what, lines) in [
        ("these trees", cross_validated(&topics, inputs.set)),
        ("LMDirichlet", retrieval.collect()),
    ] {
        let run = TextRun::new(&lines);
        let by = |qrels| run.measure(qrels, &ndcg()).all();
        let _ = writeln!(head, "# {what}: {:.3}, {:.3}", by(&relevance), by(&quality));
    }
    print!("{head}");
    let all: Vec<&Group> = topics.iter().map(|of| &of.group).collect();
    let trees = Ensemble::new(inputs.set.names(), learn(&all, &GROWTH));
    Ok(head + &trees.write())
}

fn ndcg() -> GradedMeasure {
    GradedMeasure {
        kind: GradedKind::Ndcg(Gain::Grade),
        rel: None,
        judged_only: false,
        cutoff: Some(5),
    }
}

fn grades(path: &Path) -> Result<Grades> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    match qrels::read(&text) {
        (Qrels::Graded(grades), errors) if errors.is_empty() => Ok(grades),
        _ => bail!("{} holds something other than grades", path.display()),
    }
}

/// The candidates for each judged topic, in the order of the topics.
fn candidates(inputs: &Inputs, relevance: &Grades) -> Result<Vec<Candidates>> {
    let collection = inputs.data.join("args/argquality20");
    let approach = TextApproach::find(
        TextTask::Controversial,
        match inputs.set {
            FeatureSet::Small => "dread-pirate-roberts-small",
            FeatureSet::Medium => "dread-pirate-roberts",
        },
    )?;
    let retrieval = approach
        .retrieval
        .first()
        .context("there is no retrieval")?;
    let temporary = tempfile::tempdir()?;
    let index = InvertedIndex::open_or_build(
        &TextCollection::Arguments(ArgumentCollection::open(&collection)?),
        &retrieval.analyzer,
        &temporary.path().join("arguments.index"),
        IndexingBudget::default(),
        &mut |_| (),
    )?;
    let (sentences, pairs) = match inputs.set {
        FeatureSet::Small => (None, None),
        FeatureSet::Medium => {
            let BaseModel {
                dir,
                sha256,
                backend,
            } = BaseModel::find(inputs.models)?;
            let of_sentences = Sentences::producer_of(&dir, &sha256);
            let of_pairs = StanceEncoder::producer_of(&sha256);
            let model = dir.clone();
            let sentences = Lazy::new(of_sentences, move || Sentences::load(&model, backend));
            let pairs = Lazy::new(of_pairs, move || {
                StanceEncoder::load(&dir, &sha256, backend)
            });
            (Some(sentences), Some(pairs))
        }
    };
    let installed = reading::ReadingModels {
        sentences: sentences.as_ref(),
        stance_encoder: pairs.as_ref(),
        ..reading::ReadingModels::default()
    };
    let outputs = Outputs::open(&temporary.path().join("outputs.sqlite"))?;
    let mut sources = TextRankingSources {
        corpora: &[&index],
        reader: &mut Reader::new(installed, outputs)?,
        wordnet: None,
        dense: None,
        clusters: None,
    };
    let settings = TextRankingSettings {
        approach: approach.clone(),
        parts: TopicParts::default(),
        explain: false,
        judge: false,
        keep: KeepExplanations::Nowhere,
    };
    let mut found = Vec::new();
    for topic in read_topics(&collection.join("topics.xml"))? {
        let Some(grades) = relevance.get(&topic.id) else {
            continue;
        };
        let read = |candidates: &reranker::RerankedTexts| {
            let rows = features(candidates)?.into_iter();
            let rows: Vec<FeatureValues> = rows.map(|row| inputs.set.of(&row).to_vec()).collect();
            let documents = candidates.ranked.iter().map(|found| found.doc.clone());
            Ok((documents.collect::<Vec<DocId>>(), rows))
        };
        let read = texts::candidates(&topic, &mut sources, &settings, read)?;
        let (documents, features) = read.unwrap_or_default();
        let grade = |doc: &DocId| grades.get(doc).map_or(0, |grade| grade.max(0.0) as u32);
        found.push(Candidates {
            topic: topic.id,
            group: Group {
                grades: Vec::from_iter(&documents).into_iter().map(grade).collect(),
                features,
            },
            documents,
        });
    }
    if inputs.set == FeatureSet::Medium {
        replace_quality(inputs, &mut found)?;
    }
    Ok(found)
}

/// Replaces the feature "quality" by that of a model learned from the other topics, because riposte's model is learned from all of them.
fn replace_quality(inputs: &Inputs, topics: &mut [Candidates]) -> Result<()> {
    let texts = data::arguments(&inputs.data.join("args/argquality20/args-me.json"))?;
    let models = models_without_topics(inputs.data)?;
    let names = inputs.set.names();
    let column = names.iter().position(|name| *name == "quality");
    let column = column.context("quality is not a feature")?;
    for of in topics {
        let model = models
            .get(&of.topic)
            .context("a topic has no grades of quality")?;
        for (doc, row) in of.documents.iter().zip(&mut of.group.features) {
            let text = texts
                .get(&doc.0)
                .context("a document is not in the collection")?;
            row[column] = Some(model.probability(&quality::features(text)));
        }
    }
    Ok(())
}

/// A ranking of candidates by these scores; equal ones keep their order.
fn ranked(candidates: &Candidates, scores: &[f64]) -> Vec<TextRunLine> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let line = |(rank, at): (u32, usize)| TextRunLine {
        topic: candidates.topic.clone(),
        stance: None,
        doc: candidates.documents[at].clone(),
        rank,
        score: None,
        tag: "train".to_owned(),
    };
    (1..).zip(order).map(line).collect()
}

/// The ranking of each topic by trees that are learned from the other topics.
fn cross_validated(topics: &[Candidates], set: FeatureSet) -> Vec<TextRunLine> {
    let mut lines = Vec::new();
    for of in topics {
        let others = topics.iter().filter(|other| other.topic != of.topic);
        let others: Vec<&Group> = others.map(|other| &other.group).collect();
        let ensemble = Ensemble::new(set.names(), learn(&others, &GROWTH));
        let score = |row: &FeatureValues| ensemble.score(row);
        let scores: Vec<f64> = of.group.features.iter().map(score).collect();
        lines.extend(ranked(of, &scores));
    }
    lines
}

/// The features and grades of all candidates, separated by tabs, for comparison with other programs.
fn table(topics: &[Candidates], set: FeatureSet) -> String {
    let mut out = format!("topic\tdocument\tgrade\t{}\n", set.names().join("\t"));
    for of in topics {
        let rows = of
            .documents
            .iter()
            .zip(&of.group.grades)
            .zip(&of.group.features);
        for ((doc, grade), row) in rows {
            let _ = write!(out, "{}\t{doc}\t{grade}", of.topic);
            for value in row {
                let _ = write!(out, "\t{}", value.unwrap_or(f64::NAN));
            }
            out.push('\n');
        }
    }
    out
}
