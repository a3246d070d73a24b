//! The debate sheet of a topic: the strongest arguments for and against its claim, and with each the images that illustrate it.
//!
//! Arguments are ranked as in Task 1, near-duplicates are folded into the best of them, and each argument is put on the side that its stance towards
//! the claim gives. An image of the topic's PRO list is compared with the arguments for the claim, an image of the CON list with those against it.
//! The comparison is by sentences, because two sentences show a reader better than two whole texts why an image and an argument belong together.

#[cfg(feature = "full")]
mod images;
pub mod sheet;

use anyhow::Result;
use riposte_claims::claims;
use riposte_claims::words::sentences;
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Stance};

use super::likeness::{FoundArgument, MIN_BALANCE, balances, side_of};
use crate::index::inverted::InvertedIndex;
use crate::index::{ScoredDoc, vector};
use crate::reading::Reader;
use crate::reading::pieces::beginning;
use crate::score::rerank::repeated;
use crate::score::text_stance::Model;
#[cfg(feature = "full")]
pub(crate) use images::image_sentences;
#[cfg(feature = "full")]
pub use images::{Images, illustrated};
use sheet::{DebateArgument, DebateSheet};

/// Number of arguments on each side of a sheet: as many as a printed page has room for, each with its images.
pub const PER_SIDE: usize = 5;

/// Number of best-ranked arguments from which those of a sheet are chosen: all that the default approach re-ranks.
const CONSIDERED: usize = 50;

/// Arguments are folded if the resemblance of their three-word shingles is at least this. Re-ranking uses a threshold of 0.8, but on a sheet of few
/// arguments, half of the same words is already too much.
const ALIKE: f64 = 0.5;

/// An argument is about the topic if its cosine to the topic's title is at least `LEAST_LIKENESS`, and at least `LEAST_SHARE` of the largest cosine
/// among the considered arguments. Hardly any argument that was judged highly relevant to the nine development topics of argquality20 is lost.
const LEAST_LIKENESS: f64 = 0.3;
const LEAST_SHARE: f64 = 0.5;

/// Marks with which a quotation begins.
const QUOTATION_MARKS: [char; 4] = ['"', '“', '„', '‘'];

/// Minimum number of words of a sentence that is compared: shorter ones, such as "Click here", say too little.
const FEWEST_WORDS: usize = 4;

/// Maximum number of sentences of an argument, and of an image, that are compared. The first ones are used.
const SENTENCES: usize = 24;

/// A quotation ends with the sentence in which it reaches this number of words.
const QUOTED_WORDS: usize = 35;

/// The maximum number of characters of a quotation, for texts without full stops.
const QUOTED_CHARACTERS: usize = 420;

/// The sheet of a topic. `ranking` has the arguments about it, the best first; each side gets at most `per_side` of them. Without the stance encoder,
/// sides are decided by words only.
///
/// # Errors
/// A store, the index of the arguments or a model fails.
pub fn sheet(
    topic: &Topic,
    index: &InvertedIndex,
    ranking: &[ScoredDoc],
    per_side: usize,
    reader: &mut Reader,
) -> Result<DebateSheet> {
    let (sheet, _) = with_texts(topic, index, ranking, per_side, reader)?;
    Ok(sheet)
}

/// As [`sheet()`], with the texts of its arguments.
fn with_texts(
    topic: &Topic,
    index: &InvertedIndex,
    ranking: &[ScoredDoc],
    per_side: usize,
    reader: &mut Reader,
) -> Result<(DebateSheet, Vec<ArgumentText>)> {
    let (claim, _) = claims(&topic.title);
    let ranking = ranking.get(..CONSIDERED).unwrap_or(ranking);
    let mut found = Vec::with_capacity(ranking.len());
    for (rank, scored) in (1..).zip(ranking) {
        found.push((rank, scored.score, FoundArgument::read(index, &scored.doc)?));
    }
    let found = about(topic, found, reader)?;
    let found = found.into_iter();
    let found = found.map(|(rank, score, argument)| ((rank, score), argument));
    let (places, arguments): (Vec<(usize, f64)>, Vec<FoundArgument>) = found.unzip();
    let texts: Vec<&str> = arguments.iter().map(|a| a.premise.as_str()).collect();
    let repeated = repeated(&texts, ALIKE);
    let balances = balances(&claim, &arguments, reader)?;
    let mut sheet = DebateSheet {
        topic: topic.id.clone(),
        claim,
        arguments: Vec::new(),
        considered: arguments.len(),
        undecided: 0,
        images: Vec::new(),
    };
    let mut sides: [Vec<(usize, f64)>; 2] = Default::default();
    for at in (0..arguments.len()).filter(|at| repeated[*at].is_none()) {
        match balances[at] {
            Some(balance) => {
                sides[usize::from(side_of(balance) == Stance::Con)].push((at, balance))
            }
            None => sheet.undecided += 1,
        }
    }
    let mut compared = Vec::new();
    for (at, balance) in sides.iter().flat_map(|side| side.iter().take(per_side)) {
        let (argument, side) = (&arguments[*at], side_of(*balance));
        let text = ArgumentText::read(&sheet.claim, argument, side, reader)?;
        let copies = repeated.iter().zip(&arguments);
        let copies = copies.filter(|(original, _)| **original == Some(*at));
        let (rank, score) = places[*at];
        sheet.arguments.push(DebateArgument {
            argument: argument.id.clone(),
            side,
            rank,
            score,
            stance: *balance,
            conclusion: argument.conclusion.clone(),
            quote: text.quote.clone(),
            repeats: copies.map(|(_, copy)| copy.id.clone()).collect(),
        });
        compared.push(text);
    }
    Ok((sheet, compared))
}

/// An argument with its rank and its score.
type Ranked = (usize, f64, FoundArgument);

/// Keeps the arguments that are about the topic. If a collection has few of them, others reach the top of the ranking too. The cosine of the
/// conclusion or of the beginning of the text to the topic's title must reach [`LEAST_LIKENESS`] and [`LEAST_SHARE`]; without sentence vectors all
/// are kept.
fn about(topic: &Topic, found: Vec<Ranked>, reader: &mut Reader) -> Result<Vec<Ranked>> {
    let texts = found
        .iter()
        .flat_map(|(_, _, argument)| [argument.conclusion.as_str(), beginning(&argument.premise)]);
    let texts: Vec<&str> = texts.collect();
    let vectors = reader.compared_vectors(&topic.title, &texts, &mut |_| ())?;
    let Some((title, vectors)) = vectors else {
        return Ok(found);
    };
    let cosine = |vector: &Vec<f32>| f64::from(vector::dot(&title, vector));
    let likeness: Vec<f64> = vectors
        .chunks(2)
        .map(|of_argument| of_argument.iter().map(cosine).fold(-1.0, f64::max))
        .collect();
    let largest = likeness.iter().copied().fold(0.0, f64::max);
    let least = LEAST_LIKENESS.max(LEAST_SHARE * largest);
    let likely = found.into_iter().zip(likeness);
    let likely = likely.filter(|(_, likeness)| *likeness >= least);
    Ok(likely.map(|(argument, _)| argument).collect())
}

/// An argument of a sheet, with its quotation and the sentences that images are compared with.
pub struct ArgumentText {
    pub id: DocId,
    pub side: Stance,
    pub quote: String,
    /// The sentences that take the argument's side, or all sentences if none does.
    pub sentences: Vec<String>,
}

impl ArgumentText {
    /// Quotes an argument, beginning with the sentence that is most about the claim and takes the side most clearly. This is the sentence with the
    /// largest sum of its cosine to the claim and the balance of its stance.
    fn read(
        claim: &str,
        argument: &FoundArgument,
        side: Stance,
        reader: &mut Reader,
    ) -> Result<Self> {
        let mut sentences = compared_sentences(&argument.premise);
        let pairs: Vec<(&str, &str)> = sentences.iter().map(|s| (claim, s.as_str())).collect();
        let logits = reader.piece_logits(&pairs, &mut |_| ())?;
        let texts: Vec<&str> = sentences.iter().map(String::as_str).collect();
        let vectors = reader.compared_vectors(claim, &texts, &mut |_| ())?;
        let likeness = |n: usize| {
            let (claim, of_sentences) = vectors.as_ref()?;
            Some(f64::from(vector::dot(claim, of_sentences.get(n)?)))
        };
        let model = Model::committed();
        let support = |(n, sentence): (usize, &String)| {
            let logits = logits.as_ref().and_then(|all| all.get(n));
            let stances = model.stances(claim, sentence, logits.map(Vec::as_slice));
            match side {
                Stance::Pro => stances.balance(),
                Stance::Con => -stances.balance(),
            }
        };
        let support: Vec<f64> = sentences.iter().enumerate().map(support).collect();
        let clearest = (0..sentences.len())
            .map(|n| (n, support[n] + likeness(n).unwrap_or(0.0)))
            .reduce(|a, b| if b.1 > a.1 { b } else { a });
        let quote = match clearest {
            Some((from, _)) => quoted(&sentences[from..]),
            // the text has no sentence of enough words
            None => quotation(&argument.premise),
        };
        let mut takes_side = support.iter().map(|support| *support >= MIN_BALANCE);
        if takes_side.clone().any(|takes_side| takes_side) {
            sentences.retain(|_| takes_side.next() == Some(true));
        }
        Ok(ArgumentText {
            id: argument.id.clone(),
            side,
            quote,
            sentences,
        })
    }
}

/// Quotes the first sentences, as many as are needed for a quotation.
fn quoted(sentences: &[String]) -> String {
    let mut words = 0;
    let count = |sentence: &String| {
        words += sentence.split_whitespace().count();
        words < QUOTED_WORDS
    };
    let before = sentences.iter().map(count).take_while(|is_short| *is_short);
    let end = sentences.len().min(before.count() + 1);
    quotation(&sentences[..end].join(" "))
}

/// At most `most` characters of a text, cut at white space if there is any, with an ellipsis if anything is missing.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let start = &text[..end];
    let cut = start.rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", start[..cut].trim_end())
}

/// A text on one line, shortened to the length of a quotation.
pub(crate) fn quotation(text: &str) -> String {
    shortened(&one_line(text), QUOTED_CHARACTERS)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first sentences of a text that have enough words, each on one line.
pub(crate) fn compared_sentences(text: &str) -> Vec<String> {
    let of_text = sentences(text).into_iter();
    of_text
        .filter(|sentence| sentence.words().count() >= FEWEST_WORDS)
        .map(|sentence| {
            // a quotation mark before the first word is no part of the sentence
            let before = text
                .get(..sentence.start)
                .and_then(|t| t.chars().next_back());
            match before.filter(|c| QUOTATION_MARKS.contains(c)) {
                Some(mark) => format!("{mark}{}", one_line(sentence.text)),
                None => one_line(sentence.text),
            }
        })
        .take(SENTENCES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_ends_with_a_sentence_and_a_long_one_is_cut() {
        let twelve = "One two three four five six seven eight nine ten eleven twelve.".to_owned();
        let all = vec![twelve.clone(); 5];
        assert_eq!(quoted(&all), [twelve.as_str(); 3].join(" "));
        let endless = vec!["word ".repeat(200)];
        let quote = quoted(&endless);
        assert!(quote.ends_with("word …") && quote.chars().count() < QUOTED_CHARACTERS + 3);
    }
}
