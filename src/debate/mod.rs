//! The debate sheet of a topic: the strongest arguments for and against its claim, and with each the images that illustrate it.
//!
//! Arguments are ranked as in Task 1, near-duplicates are folded into the best of them, and each argument is put on the side that its stance towards
//! the claim gives, or is undecided. An image that is for the claim is compared with the arguments for it, one that is against it with those against it.
//! The comparison is by sentences, because two sentences show a reader better than two whole texts why an image and an argument belong together.

mod images;
pub(crate) mod sheet;

use std::collections::HashMap;

use anyhow::{Context, Result};
use riposte_claims::claims;
use riposte_claims::words::{apostrophe_words, sentences};
use riposte_eval::topic::Topic;
use riposte_eval::{DocId, Explanation, Stance};
use riposte_page::words::shortened;

use crate::index::ScoredDoc;
use crate::index::inverted::InvertedIndex;
use crate::language::other_language;
use crate::presence;
use crate::presence::Judged;
use crate::reading::Reader;
use crate::score::rerank::repeated;
use crate::score::reranker::cosines;
use crate::score::text_stance::TextStanceModel;
use crate::score::windows::{ReadWindows, promising};
use crate::score::{MARGIN, side_taken};
use crate::texts::likeness::{FoundArgument, balances};
pub(crate) use images::image_sentences;
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
/// among the considered arguments. Of the considered arguments that were judged highly relevant to the nine development topics of argquality20, 4 of 111
/// are lost.
const LEAST_LIKENESS: f64 = 0.3;
const LEAST_SHARE: f64 = 0.5;

/// Marks with which a quotation begins.
const QUOTATION_MARKS: [char; 4] = ['"', '“', '„', '‘'];

/// Minimum number of words of a sentence that is compared: shorter ones, such as "Click here", say too little.
const FEWEST_WORDS: usize = 4;

/// Maximum number of sentences of an argument, and of an image, that are compared. The first ones are used.
const SENTENCES: usize = 24;

/// Number of neighbouring sentences of an argument from which its quotation is chosen: those with most words of the claim. The models read only these.
const READ: usize = 6;

/// A quotation ends with the sentence in which it reaches this number of words.
const QUOTED_WORDS: usize = 35;

/// The maximum number of characters of a quotation, for texts without full stops.
const QUOTED_CHARACTERS: usize = 420;

/// The sheet of a topic, and the texts of its arguments. `ranking` has the arguments about it, the best first; each side gets at most `per_side` of
/// them. Without the stance encoder, sides are decided by words only.
///
/// # Errors
/// A store, the index of the arguments or a model fails.
pub(crate) fn with_texts(
    topic: &Topic,
    index: &InvertedIndex,
    ranking: &[ScoredDoc],
    per_side: usize,
    reader: &mut Reader,
) -> Result<(DebateSheet, Vec<ArgumentText>)> {
    let (claim, _) = claims(&topic.title);
    let ranking = ranking.get(..CONSIDERED).unwrap_or(ranking);
    let found = about(topic, read_ranked(index, ranking)?, reader)?;
    let found = found.into_iter();
    let found = found.map(|(rank, score, argument)| ((rank, score), argument));
    let (places, arguments): (Vec<(usize, f64)>, Vec<FoundArgument>) = found.unzip();
    let texts: Vec<&str> = arguments.iter().map(|a| a.premise.as_str()).collect();
    let repeated = repeated(&texts, ALIKE);
    let balances = match other_language(&topic.title) {
        // what reads English would put them on sides at random
        Some(_) => vec![0.0; arguments.len()],
        None => balances(&claim, &arguments, reader)?,
    };
    let mut sheet = DebateSheet {
        topic: topic.id.clone(),
        claim,
        arguments: Vec::new(),
        considered: arguments.len(),
        undecided: 0,
        images: Vec::new(),
        presence: None,
    };
    let mut compared = Vec::new();
    for side in LISTS {
        let of_side = (0..arguments.len())
            .filter(|at| repeated[*at].is_none() && side_taken(balances[*at]) == side);
        let mut quotes = Quotes::default();
        let mut shown = 0;
        for at in of_side {
            if side.is_none() {
                sheet.undecided += 1;
            }
            if shown == per_side {
                continue;
            }
            let argument = &arguments[at];
            let copies = repeated.iter().zip(&arguments);
            let copies = copies.filter(|(original, _)| **original == Some(at));
            let copies = copies.map(|(_, copy)| copy.id.clone());
            let text = match ArgumentText::read(&sheet.claim, argument, side, &quotes, reader)? {
                Read::New(text) => text,
                Read::Repeats(place) => {
                    let again = sheet.arguments.get_mut(place).map(|a| &mut a.repeats);
                    let again = again.context("a sheet lacks an argument that it quotes")?;
                    again.push(argument.id.clone());
                    again.extend(copies);
                    continue;
                }
            };
            let place = sheet.arguments.len();
            let quoted = text.quoted.iter().map(|sentence| (key(sentence), place));
            quotes.0.extend(quoted);
            let (rank, score) = places[at];
            sheet.arguments.push(DebateArgument {
                argument: argument.id.clone(),
                side,
                rank,
                score,
                stance: balances[at],
                about: None,
                conclusion: argument.conclusion.clone(),
                quote: text.quote.clone(),
                repeats: copies.collect(),
            });
            compared.push(text);
            shown += 1;
        }
    }
    judge(topic, index, ranking, &mut sheet, reader)?;
    Ok((sheet, compared))
}

/// The arguments of a ranking, with their ranks and scores.
fn read_ranked(
    index: &InvertedIndex,
    ranking: &[ScoredDoc],
) -> Result<Vec<(usize, f64, FoundArgument)>> {
    let ranked = (1..).zip(ranking);
    let read = ranked.map(|(rank, scored)| {
        let argument = FoundArgument::read(index, &scored.doc)?;
        Ok((rank, scored.score, argument))
    });
    read.collect()
}

/// Judges the first arguments of the ranking and those of the sheet: are they about the topic?
fn judge(
    topic: &Topic,
    index: &InvertedIndex,
    ranking: &[ScoredDoc],
    sheet: &mut DebateSheet,
    reader: &mut Reader,
) -> Result<()> {
    let first = ranking.iter().map(|found| &found.doc);
    let mut about = presence::of_texts(topic, first, index, true, reader)?;
    sheet.presence = Judged::of(&about).presence;
    let mut chosen: Vec<&DocId> = sheet.arguments.iter().map(|a| &a.argument).collect();
    chosen.retain(|id| !about.contains_key(id));
    about.extend(presence::of_texts(
        topic,
        chosen.into_iter(),
        index,
        true,
        reader,
    )?);
    for argument in &mut sheet.arguments {
        argument.about = about.get(&argument.argument).map(Explanation::value);
    }
    Ok(())
}

/// The lists of a sheet, in their order: for the claim, against it, undecided.
pub(crate) const LISTS: [Option<Stance>; 3] = [Some(Stance::Pro), Some(Stance::Con), None];

/// The sentences that a side of a sheet quotes ([`key`]), and the place of the quoted argument in the sheet.
#[derive(Default)]
struct Quotes(HashMap<String, usize>);

/// A sentence without what can differ where it is said again: case and punctuation.
fn key(sentence: &str) -> String {
    let words: Vec<&str> = apostrophe_words(sentence).collect();
    words.join(" ").to_lowercase()
}

/// An argument with its rank and its score.
type Ranked = (usize, f64, FoundArgument);

/// Keeps the arguments that are about the topic. If a collection has few of them, others reach the top of the ranking too. The cosine of the
/// conclusion or of the most promising window of the text to the topic's title must reach [`LEAST_LIKENESS`] and [`LEAST_SHARE`]; without sentence
/// vectors all are kept. Re-ranking has read this window already.
fn about(topic: &Topic, found: Vec<Ranked>, reader: &mut Reader) -> Result<Vec<Ranked>> {
    let premises = found.iter().map(|(_, _, found)| found.premise.as_str());
    let windows = ReadWindows::DEFAULT.of(&topic.title, premises)?;
    let conclusions = found.iter().map(|(_, _, argument)| &argument.conclusion);
    let windows = windows.iter().map(|of_text| of_text.first());
    let texts = conclusions.map(Some).chain(windows);
    let texts: Vec<&str> = texts.map(|text| text.map_or("", String::as_str)).collect();
    let Some(cosines) = cosines(reader, &topic.title, &texts, &mut |_| ())? else {
        return Ok(found);
    };
    let (conclusions, windows) = cosines.split_at(found.len());
    let both = conclusions.iter().zip(windows);
    let likeness: Vec<f64> = both.map(|(a, b)| a.max(*b)).collect();
    let largest = likeness.iter().copied().fold(0.0, f64::max);
    let least = LEAST_LIKENESS.max(LEAST_SHARE * largest);
    let likely = found.into_iter().zip(likeness);
    let likely = likely.filter(|(_, likeness)| *likeness >= least);
    Ok(likely.map(|(argument, _)| argument).collect())
}

/// An argument of a sheet, with its quotation and the sentences that images are compared with.
pub struct ArgumentText {
    pub id: DocId,
    /// `None` if it is undecided.
    pub side: Option<Stance>,
    pub quote: String,
    /// The sentences of the quotation.
    quoted: Vec<String>,
    /// The sentences that take the argument's side, or all sentences if none does.
    pub sentences: Vec<String>,
}

/// What quoting an argument has found.
enum Read {
    New(ArgumentText),
    /// All that the argument says for its side is quoted from the argument at this place already.
    Repeats(usize),
}

/// A sentence of an argument, as it is read for a quotation.
struct ReadSentence {
    text: String,
    /// P(pro) - P(con) for the argument's side; 0 if that is undecided.
    support: f64,
    /// The cosine to the claim; 0 without sentence vectors.
    likeness: f64,
    /// Whether it says something about the claim.
    claims: bool,
}

impl ArgumentText {
    /// Quotes an argument, beginning with the sentence that is most about the claim and takes the side most clearly. This is the sentence with the
    /// largest sum of its cosine to the claim and the balance of its stance. Sentences without a claim, and those that the side quotes already, are
    /// passed over.
    fn read(
        claim: &str,
        argument: &FoundArgument,
        side: Option<Stance>,
        quotes: &Quotes,
        reader: &mut Reader,
    ) -> Result<Read> {
        let sentences = read_sentences(claim, &argument.premise, side, reader)?;
        let said = |sentence: &ReadSentence| quotes.0.get(&key(&sentence.text)).copied();
        let clearest = |wanted: &dyn Fn(&ReadSentence) -> bool| {
            let found = (0..).zip(&sentences).filter(|(_, s)| wanted(s));
            let scored = found.map(|(n, s)| (n, s.support + s.likeness));
            scored.reduce(|a: (usize, f64), b| if b.1 > a.1 { b } else { a })
        };
        let is_new = |sentence: &ReadSentence| sentence.claims && said(sentence).is_none();
        let Some((from, _)) = clearest(&is_new) else {
            let again = sentences.iter().filter(|s| s.claims).find_map(said);
            if let Some(place) = again {
                return Ok(Read::Repeats(place));
            }
            // no sentence is known to have a claim
            let from = clearest(&|_| true).map(|(from, _)| from);
            return Ok(Read::New(quoting(argument, side, sentences, from, |_| {
                true
            })));
        };
        let text = quoting(argument, side, sentences, Some(from), is_new);
        Ok(Read::New(text))
    }
}

/// The [`READ`] sentences of an argument that have most words of the claim, as they are read for a quotation.
fn read_sentences(
    claim: &str,
    premise: &str,
    side: Option<Stance>,
    reader: &mut Reader,
) -> Result<Vec<ReadSentence>> {
    let sentences = promising_sentences(claim, premise)?;
    let pairs: Vec<(&str, &str)> = sentences.iter().map(|s| (claim, s.as_str())).collect();
    let logits = reader.piece_logits(&pairs, &mut |_| ())?;
    let texts: Vec<&str> = sentences.iter().map(String::as_str).collect();
    let cosines = cosines(reader, claim, &texts, &mut |_| ())?;
    let model = TextStanceModel::committed();
    let read = |(n, text): (usize, String)| {
        let logits = logits.as_ref().and_then(|all| all.get(n));
        let stances = model.stances(claim, &text, logits.map(Vec::as_slice));
        let likeness = cosines.as_ref().and_then(|all| all.get(n).copied());
        ReadSentence {
            support: match side {
                Some(Stance::Pro) => stances.balance(),
                Some(Stance::Con) => -stances.balance(),
                None => 0.0,
            },
            likeness: likeness.unwrap_or(0.0),
            claims: stances.neither < 0.5 && !only_refers(&text),
            text,
        }
    };
    Ok(sentences.into_iter().enumerate().map(read).collect())
}

/// The [`READ`] neighbouring sentences of a text that have most words of the claim, or all if there are no more.
///
/// # Errors
/// As [`promising`].
fn promising_sentences(claim: &str, text: &str) -> Result<Vec<String>> {
    let mut sentences = compared_sentences(text);
    if sentences.len() > READ {
        let groups = sentences.windows(READ).map(|of| of.join(" ")).collect();
        let places = promising(claim, &[groups])?;
        let from = places.first().copied().unwrap_or(0);
        sentences = sentences.into_iter().skip(from).take(READ).collect();
    }
    Ok(sentences)
}

/// Phrases of sentences that only refer to what others say or what stands elsewhere: "Every nurse could tell you the same."
const REFERRING: [&str; 12] = [
    "tell you the same",
    "say the same",
    "says the same",
    "agree with me",
    "wanted to say",
    "have to say",
    "thank you",
    "thanks for",
    "my opponent",
    "vote pro",
    "vote con",
    "next round",
];

/// Whether a sentence only refers to what stands elsewhere, so that it has no claim of its own.
fn only_refers(sentence: &str) -> bool {
    let words = format!(" {} ", key(sentence));
    REFERRING
        .iter()
        .any(|phrase| words.contains(&format!(" {phrase} ")))
}

/// The text of an argument, quoted from the sentence at `from` up to one that is not wanted, as many sentences as are needed for a quotation.
fn quoting(
    argument: &FoundArgument,
    side: Option<Stance>,
    sentences: Vec<ReadSentence>,
    from: Option<usize>,
    is_wanted: impl Fn(&ReadSentence) -> bool,
) -> ArgumentText {
    let mut words = 0;
    let following = sentences.iter().skip(from.unwrap_or(sentences.len()));
    let following = following.take_while(|sentence| {
        let fits = words < QUOTED_WORDS && is_wanted(sentence);
        words += sentence.text.split_whitespace().count();
        fits
    });
    let quoted: Vec<String> = following.map(|sentence| sentence.text.clone()).collect();
    let quote = match quoted.is_empty() {
        // the text has no sentence of enough words
        true => quotation(&argument.premise),
        false => quotation(&quoted.join(" ")),
    };
    let takes_side = |sentence: &&ReadSentence| sentence.support >= MARGIN;
    let chosen: Vec<&ReadSentence> = sentences.iter().filter(takes_side).collect();
    let chosen = if chosen.is_empty() {
        sentences.iter().collect()
    } else {
        chosen
    };
    ArgumentText {
        id: argument.id.clone(),
        side,
        quote,
        quoted,
        sentences: chosen.into_iter().map(|s| s.text.clone()).collect(),
    }
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
        let argument = FoundArgument {
            id: DocId("a".into()),
            conclusion: String::new(),
            premise: "As I said.".into(),
            stance: None,
        };
        let quote = |texts: Vec<String>, from| {
            let read = |text| ReadSentence {
                text,
                support: 0.5,
                likeness: 0.5,
                claims: true,
            };
            let sentences = texts.into_iter().map(read).collect();
            let is_wanted = |sentence: &ReadSentence| !only_refers(&sentence.text);
            quoting(&argument, Some(Stance::Pro), sentences, from, is_wanted).quote
        };
        let twelve = "One two three four five six seven eight nine ten eleven twelve.".to_owned();
        let all = vec![twelve.clone(); 5];
        assert_eq!(quote(all, Some(0)), [twelve.as_str(); 3].join(" "));
        let endless = quote(vec!["word ".repeat(200)], Some(0));
        assert!(endless.ends_with("word …") && endless.chars().count() < QUOTED_CHARACTERS + 3);
        // it ends before a sentence without a claim, too
        let nurse = "In Casteldoro every nurse could tell you the same.".to_owned();
        assert_eq!(quote(vec![twelve.clone(), nurse], Some(0)), twelve);
        assert_eq!(quote(Vec::new(), None), "As I said.");
    }

    #[test]
    fn a_sentence_is_the_same_in_other_letters() {
        assert_eq!(key("\"Empty the cages!\""), key("EMPTY THE CAGES"));
        assert_ne!(key("We don't pay"), key("We do pay"));
    }
}
