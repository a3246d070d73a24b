//! The weights of the tagger, and their file.
//!
//! The file begins with lines of text, up to an empty line: what it is, its data, its licence, its figures. The rest is compressed with deflate: the
//! number of features as four bytes; the differences between the features, which are sorted (LEB128); for each feature the number of its weights (one
//! byte); the tags of all weights (one byte each, an index into [`TAGS`]); the weights (one signed byte each).

use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::features::{Feature, WordForm, features, own_features};
use super::{TAGS, Tag};
use crate::Error;

/// Maximum size of the uncompressed weights in bytes.
const WEIGHT_BYTES: u64 = 1 << 24;

/// The learned weights: each feature has one for every tag that it speaks for or against.
///
/// A word that always has the same tag is a feature too, with
/// one weight for that tag.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggerModel {
    /// A hash table with open addressing. Its length is a power of two, and at least half of it is empty.
    slots: Vec<FeatureSlot>,
    /// The weights of all features.
    weights: Vec<(Tag, i8)>,
}

/// A feature and where its weights are; an empty slot has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FeatureSlot {
    feature: Feature,
    /// The index of the first of its weights.
    start: u32,
    count: u32,
}

impl TaggerModel {
    /// The model with these weights: for each feature the tags that it speaks for (above 0) or against.
    ///
    /// # Errors
    /// A feature has more weights than there are tags.
    pub fn new(learned: &BTreeMap<Feature, Vec<(Tag, i8)>>) -> Result<Self, Error> {
        if learned.values().any(|weights| weights.len() > TAGS.len()) {
            return Err(Error::Unfit("a feature has too many weights"));
        }
        let mut model = TaggerModel::with_room_for(learned.len());
        for (feature, weights) in learned {
            model.add(*feature, weights.iter().copied());
        }
        Ok(model)
    }

    /// A model without features, with slots for this number of them.
    fn with_room_for(features: usize) -> Self {
        let length = (2 * features + 1).next_power_of_two();
        TaggerModel {
            slots: vec![FeatureSlot::default(); length],
            weights: Vec::new(),
        }
    }

    /// Adds a feature that the model does not have yet.
    fn add(&mut self, feature: Feature, weights: impl IntoIterator<Item = (Tag, i8)>) {
        let start = self.weights.len();
        self.weights.extend(weights);
        let count = self.weights.len() - start;
        if count == 0 {
            return;
        }
        let mask = self.slots.len() - 1;
        let mut at = feature as usize & mask;
        while self.slots[at].count > 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = FeatureSlot {
            feature,
            start: start as u32,
            count: count as u32,
        };
    }

    /// The weights of a feature; empty if it is unknown.
    fn weights(&self, feature: Feature) -> &[(Tag, i8)] {
        let mask = self.slots.len() - 1;
        let mut at = feature as usize & mask;
        loop {
            let FeatureSlot {
                feature: found,
                start,
                count,
            } = self.slots[at];
            if count == 0 {
                return &[];
            }
            if found == feature {
                let start = start as usize;
                let weights = self.weights.get(start..start + count as usize);
                return weights.unwrap_or_default();
            }
            at = (at + 1) & mask;
        }
    }

    /// The tags of the words of a sentence, from left to right.
    pub fn tag(&self, sentence: &[WordForm]) -> Vec<Tag> {
        let mut tags = Vec::with_capacity(sentence.len());
        let mut before = [None; 2];
        for (at, form) in sentence.iter().enumerate() {
            let tag = match self.weights(form.key()).first() {
                Some((only, _)) => *only,
                None => self.best(sentence, at, before),
            };
            before = [Some(tag), before[0]];
            tags.push(tag);
        }
        tags
    }

    /// The sum of the weights of features, by tag.
    fn scores(&self, features: impl IntoIterator<Item = Feature>) -> [i32; TAGS.len()] {
        let mut scores = [0; TAGS.len()];
        for feature in features {
            for (tag, weight) in self.weights(feature) {
                if let Some(score) = scores.get_mut(tag.index()) {
                    *score += i32::from(*weight);
                }
            }
        }
        scores
    }

    /// The tag with the highest sum of weights; of equal ones, the first.
    fn best(&self, sentence: &[WordForm], at: usize, before: [Option<Tag>; 2]) -> Tag {
        let scores = self.scores(features(sentence, at, before));
        let mut best = 0;
        for (tag, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = tag;
            }
        }
        Tag(best as u8)
    }

    /// How much more a word by itself speaks for one tag than for the best of others.
    pub(super) fn preference(&self, word: &WordForm, tag: Tag, others: &[Tag]) -> i32 {
        let scores = self.scores(own_features(word));
        let score = |tag: &Tag| scores.get(tag.index()).copied().unwrap_or_default();
        score(&tag) - others.iter().map(score).max().unwrap_or_default()
    }

    /// Reads a weight file.
    ///
    /// # Errors
    /// The bytes are not a weight file, or are damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let head = bytes.windows(2).position(|pair| pair == b"\n\n");
        let packed = head.and_then(|end| bytes.get(end + 2..));
        let packed = packed.ok_or(Error::NoHead)?;
        let mut body = Vec::new();
        let mut unpacked = DeflateDecoder::new(packed).take(WEIGHT_BYTES);
        let unpacked = unpacked.read_to_end(&mut body);
        unpacked.map_err(Error::Compressed)?;
        read_body(&body).map_err(Error::Damaged)
    }
}

/// Reads the uncompressed weights. The error says what is wrong with the bytes.
fn read_body(mut body: &[u8]) -> Result<TaggerModel, String> {
    let body = &mut body;
    let number = take(body, 4)?.first_chunk().ok_or(CUT)?;
    let number = u32::from_le_bytes(*number) as usize;
    // each feature takes at least a byte, so a damaged number cannot ask for much memory
    let mut features = Vec::with_capacity(number.min(body.len()));
    for _ in 0..number {
        let difference = read_number(body)?;
        let feature = match features.last() {
            None => difference,
            Some(_) if difference == 0 => return Err("a feature is there twice".to_owned()),
            Some(last) => difference.checked_add(*last).ok_or("features overflow")?,
        };
        features.push(feature);
    }
    let counts = take(body, number)?;
    let total = counts.iter().map(|count| usize::from(*count)).sum();
    let tags = take(body, total)?;
    let weights = take(body, total)?;
    if !body.is_empty() {
        return Err("there are bytes after the end".to_owned());
    }
    if let Some(tag) = tags.iter().find(|tag| usize::from(**tag) >= TAGS.len()) {
        return Err(format!("there is no tag {tag}"));
    }
    let mut model = TaggerModel::with_room_for(number);
    model.weights.reserve(total);
    let mut pairs = tags
        .iter()
        .zip(weights)
        .map(|(tag, weight)| (Tag(*tag), weight.cast_signed()));
    for (feature, count) in features.into_iter().zip(counts) {
        model.add(feature, pairs.by_ref().take(usize::from(*count)));
    }
    Ok(model)
}

const CUT: &str = "the end is missing";

fn take<'a>(body: &mut &'a [u8], length: usize) -> Result<&'a [u8], &'static str> {
    let (taken, rest) = body.split_at_checked(length).ok_or(CUT)?;
    *body = rest;
    Ok(taken)
}

fn read_number(body: &mut &[u8]) -> Result<u32, &'static str> {
    let mut number = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let byte = *take(body, 1)?.first().ok_or(CUT)?;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number is too long")
}

/// Encodes the weight file. `head` consists of whole lines, none of them empty.
///
/// # Errors
/// There are more features than four bytes can count, or a feature has more weights than one byte can count.
pub fn encode(head: &str, learned: &BTreeMap<Feature, Vec<(Tag, i8)>>) -> Result<Vec<u8>, Error> {
    let number = u32::try_from(learned.len());
    let number = number.map_err(|_| Error::Unfit("there are too many features"))?;
    let mut body = number.to_le_bytes().to_vec();
    let mut last = 0;
    for feature in learned.keys() {
        let mut difference = feature - last;
        last = *feature;
        while difference >= 0x80 {
            body.push(difference as u8 | 0x80);
            difference >>= 7;
        }
        body.push(difference as u8);
    }
    for weights in learned.values() {
        let number = u8::try_from(weights.len());
        body.push(number.map_err(|_| Error::Unfit("a feature has too many weights"))?);
    }
    let pairs = || learned.values().flatten();
    body.extend(pairs().map(|(tag, _)| tag.0));
    body.extend(pairs().map(|(_, weight)| weight.cast_unsigned()));
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(&body).and_then(|()| encoder.finish());
    let packed = written.map_err(Error::Uncompressed)?;
    Ok([head.as_bytes(), b"\n", &packed].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned() -> BTreeMap<Feature, Vec<(Tag, i8)>> {
        let tag = |name| Tag::find(name).unwrap();
        let features = [0, 1, 300, u32::MAX].into_iter();
        features
            .map(|feature| (feature, vec![(tag("JJ"), -127), (tag("NN"), 5)]))
            .collect()
    }

    #[test]
    fn a_weight_file_reads_back() {
        let bytes = encode("# first\n# second\n", &learned()).unwrap();
        assert!(bytes.starts_with(b"# first\n# second\n\n"));
        let model = TaggerModel::parse(&bytes).unwrap();
        for (feature, weights) in learned() {
            assert_eq!(model.weights(feature), weights);
        }
        assert!(model.weights(2).is_empty());
        // a model that has learned nothing gives each word the first tag
        let nothing = TaggerModel::parse(&encode("#\n", &BTreeMap::new()).unwrap()).unwrap();
        assert_eq!(nothing.tag(&[WordForm::of("a"); 2]), [Tag(0); 2]);
    }

    #[test]
    fn a_damaged_weight_file_is_an_error() {
        let bytes = encode("#\n", &learned()).unwrap();
        for length in 0..bytes.len() {
            assert!(TaggerModel::parse(&bytes[..length]).is_err(), "{length}");
        }
        let body = |change: fn(&mut Vec<u8>)| {
            let mut body = vec![2, 0, 0, 0, 7, 1, 1, 1, 0, 0, 5, 6];
            change(&mut body);
            read_body(&body)
        };
        let model = body(|_| ()).unwrap();
        assert_eq!(model.weights(7), [(Tag(0), 5)]);
        assert_eq!(model.weights(8), [(Tag(0), 6)]);
        for change in [
            |body: &mut Vec<u8>| body.push(0),
            |body: &mut Vec<u8>| body[0] = 9,
            // the same feature again
            |body: &mut Vec<u8>| body[5] = 0,
            |body: &mut Vec<u8>| body[6] = 2,
            |body: &mut Vec<u8>| body[8] = TAGS.len() as u8,
        ] {
            assert!(body(change).is_err());
        }
    }
}
