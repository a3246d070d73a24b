//! `train tagger`: an averaged perceptron (Collins 2002) for parts of speech from a treebank in the format CoNLL-U.
//!
//! Weights are whole numbers until they are averaged, so they depend only on the data and the seed.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use riposte::disk::sha256_of;
use riposte_claims::tagger::{
    FEATURES, Feature, TAGS, Tag, TaggerModel, WordForm, encode, features, tag_with,
};
use seeded_random::Random;

/// How the weights are learned.
pub struct Recipe {
    pub seed: u64,
    /// Passes over the sentences.
    pub passes: usize,
}

/// Minimum number of occurrences of a word of the dictionary in the training part.
const FREQUENT: usize = 8;
/// Minimum share of the occurrences of a word of the dictionary that have the same tag.
const UNAMBIGUOUS: f64 = 0.999;
/// Features that occur less often are not learned.
const MIN_COUNT: u32 = 3;
/// The factor from an averaged weight to a stored one.
const SCALE: f64 = 8.0;
/// Stored weights nearer to 0 than this are dropped.
const SMALLEST: i32 = 6;

/// A sentence of a treebank.
#[derive(Default)]
struct Sentence {
    text: String,
    words: Vec<String>,
    tags: Vec<Tag>,
}

/// The sentences of the file in `dir` whose name ends in "-PART.conllu".
fn read(dir: &Path, part: &str) -> Result<Vec<Sentence>> {
    let path = find(dir, part)?;
    let text = fs::read_to_string(&path);
    let text = text.with_context(|| format!("cannot read the treebank {}", path.display()))?;
    parse(&text).with_context(|| format!("in {}", path.display()))
}

fn find(dir: &Path, part: &str) -> Result<PathBuf> {
    let ending = format!("-{part}.conllu");
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(&ending));
    match files.as_slice() {
        [only] => Ok(only.clone()),
        found => bail!(
            "{} has {} files *{ending}, not one",
            dir.display(),
            found.len()
        ),
    }
}

/// Reads CoNLL-U: the words and their XPOS. Lines of several words that are written as one (1-2) and of words that are not in the text
/// (1.1) are left out.
fn parse(text: &str) -> Result<Vec<Sentence>> {
    let mut sentences: Vec<Sentence> = Vec::new();
    let mut now = Sentence::default();
    // the last sentence may not be followed by an empty line
    for (number, line) in (1..).zip(text.lines().chain([""])) {
        if line.is_empty() {
            let ended = std::mem::take(&mut now);
            if !ended.words.is_empty() {
                sentences.push(ended);
            }
        } else if let Some(comment) = line.strip_prefix('#') {
            if let Some(text) = comment.strip_prefix(" text = ") {
                text.clone_into(&mut now.text);
            }
        } else {
            let columns: Vec<&str> = line.split('\t').collect();
            let [id, word, _, _, tag, ..] = columns[..] else {
                bail!("line {number} has too few columns");
            };
            if !id.contains(['-', '.']) {
                let tag = Tag::find(tag);
                let tag =
                    tag.with_context(|| format!("line {number}: no tag of the Penn Treebank"))?;
                now.words.push(word.to_owned());
                now.tags.push(tag);
            }
        }
    }
    ensure!(!sentences.is_empty(), "there are no sentences");
    Ok(sentences)
}

/// The forms of the words of a sentence, and their tags.
type Example = (Vec<WordForm>, Vec<Tag>);

fn examples(sentences: &[Sentence]) -> Vec<Example> {
    let example = |sentence: &Sentence| {
        let forms = sentence
            .words
            .iter()
            .map(|word| WordForm::of(word))
            .collect();
        (forms, sentence.tags.clone())
    };
    sentences.iter().map(example).collect()
}

/// The frequent words that (nearly) always have the same tag.
fn dictionary(examples: &[Example]) -> HashMap<Feature, Tag> {
    let mut counts: HashMap<Feature, BTreeMap<Tag, usize>> = HashMap::new();
    for (forms, tags) in examples {
        for (form, tag) in forms.iter().zip(tags) {
            *counts
                .entry(form.key())
                .or_default()
                .entry(*tag)
                .or_default() += 1;
        }
    }
    let only = |(key, counts): (Feature, BTreeMap<Tag, usize>)| {
        let all: usize = counts.values().sum();
        let (tag, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let is_clear = all >= FREQUENT && most as f64 >= UNAMBIGUOUS * all as f64;
        is_clear.then_some((key, tag))
    };
    counts.into_iter().filter_map(only).collect()
}

/// A weight of a feature for a tag.
#[derive(Clone, Copy)]
struct Weight {
    tag: Tag,
    value: i64,
    /// The sum of the values after each step, up to step `since`.
    total: i64,
    since: i64,
}

/// The weights while they are learned.
struct Perceptron {
    weights: HashMap<Feature, Vec<Weight>>,
    /// Number of words that were tagged.
    steps: i64,
}

impl Perceptron {
    /// A perceptron without weights, for the features that are frequent enough when all tags are the true ones.
    fn new(examples: &[Example], dictionary: &HashMap<Feature, Tag>) -> Self {
        let mut counts: HashMap<Feature, u32> = HashMap::new();
        for (forms, tags) in examples {
            let mut before = [None; 2];
            for (at, tag) in tags.iter().enumerate() {
                if !dictionary.contains_key(&forms[at].key()) {
                    for feature in features(forms, at, before) {
                        *counts.entry(feature).or_default() += 1;
                    }
                }
                before = [Some(*tag), before[0]];
            }
        }
        counts.retain(|_, count| *count >= MIN_COUNT);
        let weights = counts.into_keys().map(|feature| (feature, Vec::new()));
        Perceptron {
            weights: weights.collect(),
            steps: 0,
        }
    }

    fn best(&self, features: &[Feature; FEATURES]) -> Tag {
        let mut scores = [0_i64; TAGS.len()];
        for weights in features.iter().filter_map(|f| self.weights.get(f)) {
            for weight in weights {
                scores[weight.tag.index()] += weight.value;
            }
        }
        // the first of equally good tags, as in the tagger
        let best = (0..TAGS.len()).rev().max_by_key(|tag| scores[*tag]);
        Tag::all()[best.unwrap_or(0)]
    }

    fn add(&mut self, features: &[Feature; FEATURES], tag: Tag, by: i64) {
        for feature in features {
            let Some(weights) = self.weights.get_mut(feature) else {
                continue;
            };
            let at = weights.iter().position(|weight| weight.tag == tag);
            let at = at.unwrap_or_else(|| {
                weights.push(Weight {
                    tag,
                    value: 0,
                    total: 0,
                    since: self.steps,
                });
                weights.len() - 1
            });
            let weight = &mut weights[at];
            weight.total += weight.value * (self.steps - weight.since);
            weight.since = self.steps;
            weight.value += by;
        }
    }

    /// The averages as stored weights, without the small ones, and the dictionary.
    fn stored(&self, dictionary: &HashMap<Feature, Tag>) -> BTreeMap<Feature, Vec<(Tag, i8)>> {
        let mut stored = BTreeMap::new();
        for (feature, weights) in &self.weights {
            let mut kept: Vec<(Tag, i8)> = Vec::new();
            for weight in weights {
                let total = weight.total + weight.value * (self.steps - weight.since);
                let average = total as f64 / self.steps.max(1) as f64;
                let rounded = (average * SCALE).round().clamp(-127.0, 127.0) as i32;
                if rounded.abs() >= SMALLEST {
                    kept.push((weight.tag, rounded as i8));
                }
            }
            kept.sort_unstable();
            if !kept.is_empty() {
                stored.insert(*feature, kept);
            }
        }
        stored.extend(dictionary.iter().map(|(key, tag)| (*key, vec![(*tag, 1)])));
        stored
    }
}

fn learn(examples: &[Example], recipe: &Recipe) -> BTreeMap<Feature, Vec<(Tag, i8)>> {
    let dictionary = dictionary(examples);
    let mut perceptron = Perceptron::new(examples, &dictionary);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    for pass in 0..recipe.passes {
        let mut random = Random::new(recipe.seed, "tagger", pass as u64);
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
        let mut wrong = 0;
        for (forms, tags) in order.iter().map(|at| &examples[*at]) {
            let mut before = [None; 2];
            for (at, truth) in tags.iter().enumerate() {
                let guess = match dictionary.get(&forms[at].key()) {
                    Some(tag) => *tag,
                    None => {
                        let features = features(forms, at, before);
                        let guess = perceptron.best(&features);
                        perceptron.steps += 1;
                        if guess != *truth {
                            wrong += 1;
                            perceptron.add(&features, *truth, 1);
                            perceptron.add(&features, guess, -1);
                        }
                        guess
                    }
                };
                before = [Some(guess), before[0]];
            }
        }
        eprintln!("pass {}: {wrong} wrong", pass + 1);
    }
    perceptron.stored(&dictionary)
}

/// The accuracy of weights on a part of the treebank.
struct Figures {
    words: usize,
    /// Share of the words of the treebank with the right tag.
    accuracy: f64,
    /// F1 of the words that the tagger finds in the text of each sentence.
    split: f64,
    /// F1 of words with the right tag, from the text of each sentence.
    both: f64,
}

fn measure(model: &TaggerModel, sentences: &[Sentence]) -> Figures {
    let (mut words, mut right) = (0, 0);
    let (mut found, mut split, mut both) = (0, 0, 0);
    for (sentence, (forms, tags)) in sentences.iter().zip(examples(sentences)) {
        let guesses = model.tag(&forms);
        words += tags.len();
        right += guesses.iter().zip(&tags).filter(|(a, b)| a == b).count();
        // two words are the same if they cover the same characters of the text, not counting white space
        let mut spans = HashMap::new();
        let mut at = 0;
        for (word, tag) in sentence.words.iter().zip(&tags) {
            let length = bare_length(word);
            spans.insert((at, at + length), *tag);
            at += length;
        }
        let mut at = 0;
        for word in tag_with(model, &sentence.text) {
            let length = bare_length(word.text);
            found += 1;
            if let Some(tag) = spans.get(&(at, at + length)) {
                split += 1;
                both += usize::from(*tag == word.tag);
            }
            at += length;
        }
    }
    let f1 = |of: usize| 2.0 * of as f64 / (found + words).max(1) as f64;
    Figures {
        words,
        accuracy: right as f64 / words.max(1) as f64,
        split: f1(split),
        both: f1(both),
    }
}

/// The number of characters that are no white space.
fn bare_length(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

fn describe(part: &str, figures: &Figures) -> String {
    let Figures {
        words,
        accuracy,
        split,
        both,
    } = figures;
    format!(
        "{part}: {words} words, accuracy {accuracy:.4}; from the text of a sentence, F1 of words {split:.4}, of words and tags {both:.4}"
    )
}

/// The weight file, with the figures of the development part in its first lines.
///
/// # Errors
/// The treebank cannot be read, or has tags that are not those of the Penn Treebank.
pub fn train(dir: &Path, recipe: &Recipe) -> Result<Vec<u8>> {
    let training = read(dir, "train")?;
    let learned = learn(&examples(&training), recipe);
    let mut head = format!(
        "# Parts of speech: weights of riposte_claims::tagger.\n\
         # train tagger --data DIR -o crates/riposte-claims/models/tagger.bin; seed {}, {} passes\n\
         # From the training part of Universal Dependencies English EWT (CC BY-SA 4.0), {} sentences, sha256 {}.\n\
         # Licence of these weights: CC BY-SA 4.0.\n",
        recipe.seed,
        recipe.passes,
        training.len(),
        sha256(&find(dir, "train")?)?
    );
    let model = TaggerModel::parse(&encode(&head, &learned)?)?;
    let figures = describe("development part", &measure(&model, &read(dir, "dev")?));
    let _ = writeln!(head, "# {figures}");
    let weights: usize = learned.values().map(Vec::len).sum();
    println!("{} features, {weights} weights\n{figures}", learned.len());
    Ok(encode(&head, &learned)?)
}

/// The sha256 of a file, in hexadecimal digits.
fn sha256(path: &Path) -> Result<String> {
    let hash = fs::File::open(path).and_then(sha256_of);
    hash.with_context(|| format!("cannot read {}", path.display()))
}

/// Prints the accuracy of these weights on a part of the treebank: "dev" or "test".
///
/// # Errors
/// The weights or the treebank cannot be read.
pub fn evaluate(dir: &Path, weights: &Path, part: &str) -> Result<()> {
    let bytes = fs::read(weights).with_context(|| format!("cannot read {}", weights.display()))?;
    println!(
        "{}",
        describe(
            part,
            &measure(&TaggerModel::parse(&bytes)?, &read(dir, part)?)
        )
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences of a small language: "the" and a noun, a verb, and the noun again as a verb behind "to".
    fn treebank() -> String {
        let mut text = String::new();
        let nouns = ["walk", "run", "talk", "show"];
        for noun in nouns.iter().cycle().take(80) {
            let words = [
                ("The", "DT"),
                (noun, "NN"),
                ("began", "VBD"),
                ("to", "TO"),
                (noun, "VB"),
                (".", "."),
            ];
            text += &format!("# text = The {noun} began to {noun}.\n");
            for (number, (word, tag)) in (1..).zip(words) {
                text += &format!("{number}\t{word}\t_\t_\t{tag}\t_\t_\t_\t_\t_\n");
            }
            text += "\n";
        }
        text
    }

    fn write(dir: &Path, part: &str, text: &str) {
        fs::write(dir.join(format!("x-{part}.conllu")), text).unwrap();
    }

    #[test]
    fn what_a_word_is_follows_from_the_words_before_it() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "train", &treebank());
        write(dir.path(), "dev", &treebank());
        let recipe = Recipe { seed: 1, passes: 4 };
        let bytes = train(dir.path(), &recipe).unwrap();
        let model = TaggerModel::parse(&bytes).unwrap();
        let tags: Vec<&str> = tag_with(&model, "The talk began to talk.")
            .iter()
            .map(|word| word.tag.name())
            .collect();
        assert_eq!(tags, ["DT", "NN", "VBD", "TO", "VB", "."]);
        let head = String::from_utf8_lossy(&bytes);
        assert!(
            head.contains("# development part: 480 words, accuracy 1.0000"),
            "{head}"
        );
        // the same seed, the same file
        assert_eq!(bytes, train(dir.path(), &recipe).unwrap());
    }

    #[test]
    fn joined_words_and_words_that_are_not_in_the_text_are_left_out() {
        let text = "# text = Don't\n1-2\tDon't\t_\t_\t_\t_\n1\tDo\t_\t_\tVB\t_\n1.1\tx\t_\t_\tNN\t_\n2\tn't\t_\t_\tRB\t_";
        let sentences = parse(text).unwrap();
        assert_eq!(sentences.len(), 1);
        assert_eq!(sentences[0].words, ["Do", "n't"]);
        assert_eq!(sentences[0].text, "Don't");
        let names: Vec<&str> = sentences[0].tags.iter().map(|tag| tag.name()).collect();
        assert_eq!(names, ["VB", "RB"]);
        for (text, message) in [
            ("1\ta\t_\t_\tNOUN\t_", "line 1"),
            ("1\ta", "line 1 has too few columns"),
            ("# text = a", "no sentences"),
        ] {
            let error = format!("{:#}", parse(text).err().unwrap());
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn figures_by_hand() {
        // a model that has learned nothing tags all words "#"
        let model = TaggerModel::new(&BTreeMap::new()).unwrap();
        let text = "# text = #9 dont #\n1\t#\t_\t_\t#\t_\n2\t9\t_\t_\tCD\t_\n3\tdo\t_\t_\tVB\t_\n4\tnt\t_\t_\tRB\t_\n5\t#\t_\t_\t#\t_\n";
        let figures = measure(&model, &parse(text).unwrap());
        assert_eq!(figures.words, 5);
        assert!((figures.accuracy - 2.0 / 5.0).abs() < 1e-12);
        // the tagger finds "#", "9", "dont" and "#": three of them are words of the treebank, two with its tag
        assert!((figures.split - 2.0 * 3.0 / 9.0).abs() < 1e-12);
        assert!((figures.both - 2.0 * 2.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn a_missing_part_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = format!("{:#}", read(dir.path(), "dev").err().unwrap());
        assert!(error.contains("*-dev.conllu"), "{error}");
    }
}
