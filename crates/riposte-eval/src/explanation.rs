//! Explanations: the numbers from which a score was computed, as a tree.
//!
//! ```
//! use riposte_eval::{Explanation, NumberId};
//!
//! let words = Explanation::new(NumberId::channel("bm25"), 2.5);
//! let picture = Explanation::new(NumberId::channel("clip"), 0.5);
//! let score = Explanation::sum(NumberId::Score, vec![words, picture]);
//! assert_eq!(score.value(), 3.0);
//! assert_eq!(score.part(&NumberId::channel("clip")).map(Explanation::value), Some(0.5));
//! ```

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{DocId, ObjectStance, Stance, escaped};

/// The name of a channel, a signal, a feature or a service, or a word of a text.
pub type Name = Cow<'static, str>;

/// What a number of an explanation is. Programs find numbers by it; the name of a number is for people.
///
/// In a file it is a word (`"relevance"`), or an object of a word and a parameter (`{"channel":"bm25 ocr"}`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum NumberId {
    /// The score by which a document is ranked, or the score of a search.
    Score,
    /// The probability that a document is about the topic.
    About,
    /// How relevant an image is to the topic.
    Relevance,
    /// How likely it is that an image argues.
    Argues,
    /// The probability that an image supports the topic's claim (`PRO`) or opposes it (`CON`).
    Probability(Stance),
    /// Says that the formula or the network of a team has put an image on one side. The value is 0.
    Side,
    /// Says that an image is in both lists, because its stance is not estimated. The value is 0.
    BothSides,
    /// The probability of the likeliest stance of an image's texts.
    LikeliestStance,
    /// The score by the smallest rank of an image in the crawl: (101 - rank) / 100.
    CrawlRank,
    /// The contribution of a channel of relevance, or of an opinion by which texts are re-ranked.
    Channel(Name),
    /// The contribution of a signal to the stance of an image, in log-odds.
    Signal(Name),
    /// The probability that the texts of an image are about the topic, as the stance encoder reads them.
    OnTopic,
    /// What is added to the scores of the documents of one stage of re-ranking, so that they are ranked before the documents that the stage left out.
    Base(Base),
    /// The score of the query's terms without their proximity.
    Terms,
    /// The score of terms of the query that are near each other.
    Proximity,
    /// The contribution of a term in a field. Without a field, it is the contribution of the term in all fields together.
    Term {
        /// The field of the documents, such as "title".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<Name>,
        /// The term, as the index has it.
        term: Name,
    },
    /// The contribution of all terms that are not listed.
    OtherTerms,
    /// The contribution of a document's length in these fields.
    Length(Vec<Name>),
    /// The cosine of the topic's embedding and that of the nearest passage of a document.
    Dense,
    /// The score that fuses several searches.
    Fusion,
    /// The contribution of a search to a fusion.
    Search {
        /// From 1, in the order of the recipe.
        number: usize,
        /// The weight of the search in the fusion.
        weight: f64,
        /// The rank of the document in this search, from 1; `None` if the search did not find it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rank: Option<usize>,
    },
    /// The score of the manifold ranking.
    Manifold,
    /// The contribution of a document of which this one is a neighbour.
    Neighbour(DocId),
    /// The score before documents were compared with each other.
    PointWise,
    /// The score from a service on the web.
    Service(Name),
    /// How well a text is written, or how good an argument it is.
    Quality,
    /// The sum of the outputs of regression trees.
    Trees,
    /// P(pro) - P(con) of a text.
    Balance,
    /// The probability of the stance of a passage towards two objects.
    ObjectStance(ObjectStance),
    /// One of the decisions that lead to a stance.
    Decision(Name),
    /// The contribution of one piece of a text: 0 is the beginning of the text, the others are its first sentences.
    Piece(usize),
    /// The contribution, or the log-odds, of a text's words as features, without any encoder that reads it.
    Words,
    /// The probability that a text takes no side.
    Neither,
    /// The log-odds of a prior probability.
    Prior,
    /// The constant of a model.
    Bias,
    /// The contribution of a feature to a model.
    Feature(Name),
    /// How much a value was changed to bring it within its bounds.
    Bound,
}

impl NumberId {
    /// The contribution of this channel.
    pub fn channel(name: impl Into<Name>) -> Self {
        NumberId::Channel(name.into())
    }

    /// The contribution of this feature.
    pub fn feature(name: impl Into<Name>) -> Self {
        NumberId::Feature(name.into())
    }

    /// The name of the number, unless [`Explanation::named`] gives it another one.
    fn name(&self) -> Name {
        match self {
            NumberId::Probability(Stance::Pro) => "P(pro)".into(),
            NumberId::Probability(Stance::Con) => "P(con)".into(),
            NumberId::About => "about the topic".into(),
            NumberId::BothSides => "on both sides".into(),
            NumberId::LikeliestStance => "stance of the texts".into(),
            NumberId::CrawlRank => "smallest crawl rank".into(),
            NumberId::Channel(name)
            | NumberId::Signal(name)
            | NumberId::Service(name)
            | NumberId::Decision(name)
            | NumberId::Feature(name) => name.clone(),
            NumberId::OnTopic => "on topic, as the stance encoder reads the texts".into(),
            NumberId::Base(Base::Reranked | Base::NearDuplicate) => {
                "base of re-ranked documents".into()
            }
            NumberId::Base(Base::Compared) => "base of compared documents".into(),
            NumberId::Proximity => "pairs of near terms".into(),
            NumberId::Term { field, term } => match field {
                Some(field) => format!("{field}: {term}").into(),
                None => term.clone(),
            },
            NumberId::OtherTerms => "other words".into(),
            NumberId::Length(fields) => format!("{}: length", fields.join("+")).into(),
            NumberId::Search { number, .. } => format!("search {number}").into(),
            NumberId::Neighbour(doc) => format!("neighbour of {doc}").into(),
            NumberId::ObjectStance(stance) => format!("stance {stance}").into(),
            NumberId::Piece(0) => "from the beginning".into(),
            NumberId::Piece(_) => "sentence".into(),
            NumberId::Balance => "stance".into(),
            NumberId::Bound => "bounded by 0 and 1".into(),
            _ => <&str>::from(self).into(),
        }
    }
}

/// The documents of one stage of re-ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// Documents that were re-ranked.
    Reranked,
    /// Re-ranked near-duplicates of documents that are ranked before them.
    NearDuplicate,
    /// Documents that were compared with each other.
    Compared,
}

/// A number from which a score was computed, or the score itself, with the numbers from which it follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// `None` in the file of a version of riposte that wrote no ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NumberId>,
    name: Name,
    value: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    how: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Explanation>,
}

impl Explanation {
    /// A number without parts.
    pub fn new(id: NumberId, value: f64) -> Self {
        Explanation {
            name: id.name(),
            id: Some(id),
            value,
            how: String::new(),
            parts: Vec::new(),
        }
    }

    /// The sum of the parts, added up in their order.
    pub fn sum(id: NumberId, parts: Vec<Explanation>) -> Self {
        let value = parts.iter().map(Explanation::value).sum();
        Explanation::new(id, value)
            .with_how("sum")
            .with_parts(parts)
    }

    /// Another value of the same number, computed from this one, which becomes its first part.
    pub fn revised(self, value: f64, how: impl Into<String>) -> Self {
        Explanation {
            id: self.id.clone(),
            name: self.name.clone(),
            value,
            how: how.into(),
            parts: vec![self],
        }
    }

    /// The same number under another name.
    pub fn named(self, name: impl Into<Name>) -> Self {
        let name = name.into();
        Explanation { name, ..self }
    }

    /// Gives the number another id, and the name of that id. The value and the parts stay the same.
    pub fn identified(self, id: NumberId) -> Self {
        Explanation {
            name: id.name(),
            id: Some(id),
            ..self
        }
    }

    /// The same number with this description of how it was computed.
    pub fn with_how(self, how: impl Into<String>) -> Self {
        let how = how.into();
        Explanation { how, ..self }
    }

    /// The same number with these parts.
    pub fn with_parts(self, parts: Vec<Explanation>) -> Self {
        Explanation { parts, ..self }
    }

    /// Adds a part. The value does not change.
    pub fn add_part(&mut self, part: Explanation) {
        self.parts.push(part);
    }

    /// Appends a note to the description of how it was computed.
    pub fn add_note(&mut self, note: &str) {
        if !self.how.is_empty() {
            self.how.push_str("; ");
        }
        self.how.push_str(note);
    }

    /// What this number is; `None` if it was read from the file of a version of riposte that wrote no ids.
    pub fn id(&self) -> Option<&NumberId> {
        self.id.as_ref()
    }

    /// The name of this number, for people ("bm25 near").
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number itself.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// How the value follows from the parts, or why there is none; empty if the name says it all.
    pub fn how(&self) -> &str {
        &self.how
    }

    /// The numbers from which the value follows.
    pub fn parts(&self) -> &[Explanation] {
        &self.parts
    }

    /// The parts themselves.
    pub fn into_parts(self) -> Vec<Explanation> {
        self.parts
    }

    /// Whether this number is what the id says.
    pub fn is(&self, id: &NumberId) -> bool {
        self.id.as_ref() == Some(id)
    }

    /// The part with this id.
    pub fn part(&self, id: &NumberId) -> Option<&Explanation> {
        self.parts.iter().find(|part| part.is(id))
    }

    /// The first part with this id, at any depth.
    pub fn find_mut(&mut self, id: &NumberId) -> Option<&mut Explanation> {
        match self.parts.iter().position(|part| part.is(id)) {
            Some(at) => self.parts.get_mut(at),
            None => self.parts.iter_mut().find_map(|part| part.find_mut(id)),
        }
    }
}

/// The number with its name and how it was computed, then its parts, indented by two spaces more.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn write(of: &Explanation, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let indent = 2 * depth;
            write!(f, "{:indent$}{} {:.4}", "", escaped(&of.name), of.value)?;
            if !of.how.is_empty() {
                write!(f, " ({})", escaped(&of.how))?;
            }
            of.parts.iter().try_for_each(|part| {
                writeln!(f)?;
                write(part, depth + 1, f)
            })
        }
        write(self, 0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_printed_as_an_indented_tree() {
        let channel = Explanation::new(NumberId::channel("bm25 ocr"), 0.25);
        let relevance = Explanation::sum(NumberId::Relevance, vec![channel]);
        assert_eq!(
            relevance.to_string(),
            "relevance 0.2500 (sum)\n  bm25 ocr 0.2500"
        );
    }

    fn json(explanation: &Explanation) -> String {
        serde_json::to_string(explanation).unwrap()
    }

    #[test]
    fn ids_are_words_or_objects_of_a_word_and_a_parameter() {
        let channel = Explanation::new(NumberId::channel("bm25 ocr"), 0.25);
        let relevance = Explanation::sum(NumberId::Relevance, vec![channel]);
        assert_eq!(
            json(&relevance),
            r#"{"id":"relevance","name":"relevance","value":0.25,"how":"sum","parts":[{"id":{"channel":"bm25 ocr"},"name":"bm25 ocr","value":0.25}]}"#
        );
        let term = NumberId::Term {
            field: Some("title".into()),
            term: "zoo".into(),
        };
        let search = NumberId::Search {
            number: 2,
            weight: 1.0,
            rank: Some(3),
        };
        for (id, written) in [
            (
                NumberId::Probability(Stance::Pro),
                r#"{"probability":"PRO"}"#,
            ),
            (
                NumberId::Base(Base::NearDuplicate),
                r#"{"base":"near-duplicate"}"#,
            ),
            (term, r#"{"term":{"field":"title","term":"zoo"}}"#),
            (search, r#"{"search":{"number":2,"weight":1.0,"rank":3}}"#),
        ] {
            assert_eq!(serde_json::to_string(&id).unwrap(), written);
            assert_eq!(serde_json::from_str::<NumberId>(written).unwrap(), id);
        }
    }

    #[test]
    fn a_number_without_an_id_is_read_and_written_as_it_is() {
        let text = r#"{"name":"relevance","value":0.5,"parts":[{"name":"bm25 ocr","value":0.5}]}"#;
        let old: Explanation = serde_json::from_str(text).unwrap();
        assert_eq!((old.id(), json(&old).as_str()), (None, text));
        assert!(old.part(&NumberId::channel("bm25 ocr")).is_none());
        let unknown = r#"{"id":"no such number","name":"relevance","value":0.5}"#;
        assert!(serde_json::from_str::<Explanation>(unknown).is_err());
    }

    #[test]
    fn a_part_is_found_at_its_highest_place() {
        let leaf = |id: NumberId, value| Explanation::new(id, value);
        let deep = leaf(NumberId::Quality, 0.0).with_parts(vec![leaf(NumberId::Dense, 1.0)]);
        let mut tree = Explanation::sum(NumberId::Score, vec![deep, leaf(NumberId::Dense, 2.0)]);
        assert_eq!(tree.find_mut(&NumberId::Dense).unwrap().value(), 2.0);
        assert!(tree.find_mut(&NumberId::Trees).is_none());
    }
}
