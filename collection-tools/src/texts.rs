//! `generate-arguments` and `generate-passages`: generate text collections as large as the real ones, to measure the index with.
//!
//! Words are drawn by Zipf's law from a vocabulary of made-up words, lengths from a log-normal distribution with the mean and
//! the spread of the real corpora. The same seed gives the same bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use seeded_random::Random;

use crate::files::{new_directory, write};

/// The size of the vocabulary. The vocabulary of args.me is larger, but its additional words occur only once.
const WORDS: usize = 250_000;

/// The most frequent words, in the order of their frequency in English. They are real words, so that stop lists apply to them.
const COMMON: &str = "the of and to in a is that it be for not are as was this with on have you by \
    they or from but at an we if he his would will all so their more no which there what can has \
    who about when people one do than them should out other up were some been because into only";

/// The frequency ranks from which the two to four words of a subject are drawn. Words of these ranks are as rare as the words of real titles.
const TOPIC_RANKS: std::ops::Range<usize> = 100..20_000;

#[derive(clap::Args)]
pub struct Options {
    /// Number of documents
    #[arg(long, default_value_t = 1000)]
    pub count: usize,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where to write: a new or an empty directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// Made-up words and their frequencies.
pub struct Vocabulary {
    words: Vec<String>,
    /// For each word, the cumulative share of it and all more frequent words in a text.
    shares: Vec<f64>,
}

impl Vocabulary {
    pub fn new(seed: u64) -> Self {
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        let mut random = Random::new(seed, "vocabulary", 0);
        const ONSETS: [&str; 20] = [
            "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl",
            "ch", "sh", "gr",
        ];
        const RIMES: [&str; 16] = [
            "a", "e", "i", "o", "u", "an", "en", "in", "on", "ar", "er", "or", "al", "el", "ea",
            "ou",
        ];
        const ENDS: [&str; 10] = ["", "", "", "s", "ing", "ed", "tion", "ment", "ly", "ity"];
        let mut seen: std::collections::HashSet<String> = words.iter().cloned().collect();
        while words.len() < WORDS {
            let syllables = 2 + random.below(2) + words.len() / (WORDS / 2 + 1);
            let mut word = String::new();
            for _ in 0..syllables {
                word.push_str(random.pick(&ONSETS));
                word.push_str(random.pick(&RIMES));
            }
            word.push_str(random.pick(&ENDS));
            if seen.insert(word.clone()) {
                words.push(word);
            }
        }
        // the Zipf-Mandelbrot law: a frequency of 1 / (rank + 2.7)
        let mut sum = 0.0;
        let shares: Vec<f64> = (0..words.len())
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 2.7);
                sum
            })
            .collect();
        Vocabulary {
            shares: shares.into_iter().map(|share| share / sum).collect(),
            words,
        }
    }

    fn word(&self, random: &mut Random) -> &str {
        let at = random.fine_fraction();
        let rank = self.shares.partition_point(|share| *share < at);
        self.words.get(rank).map_or("", String::as_str)
    }

    /// A text of sentences, in which one word in forty is a word of the subject.
    pub fn text(&self, random: &mut Random, words: usize, subject: &[&str]) -> String {
        let mut text = String::with_capacity(words * 7);
        let mut left = 0;
        for at in 0..words {
            let word = match random.below(40) {
                0 if !subject.is_empty() => random.pick(subject),
                _ => self.word(random),
            };
            if left == 0 {
                left = random.between(5, 30);
                let mut letters = word.chars();
                text.extend(letters.next().map(|c| c.to_ascii_uppercase()));
                text.push_str(letters.as_str());
            } else {
                text.push_str(word);
            }
            left -= 1;
            text.push_str(if left == 0 || at + 1 == words {
                ". "
            } else if random.percent(6) {
                ", "
            } else {
                " "
            });
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Two to four words.
    fn subject(&self, random: &mut Random) -> Vec<&str> {
        (0..random.between(2, 4))
            .filter_map(|_| {
                let rank = random.between(TOPIC_RANKS.start, TOPIC_RANKS.end - 1);
                self.words.get(rank).map(String::as_str)
            })
            .collect()
    }
}

/// A number of words from a log-normal distribution with this median and this standard deviation of the logarithm.
pub fn length(random: &mut Random, median: f64, deviation: f64, longest: usize) -> usize {
    // the sum of twelve uniform numbers is close to a normal distribution with the mean 6 and the deviation 1
    let normal: f64 = (0..12).map(|_| random.fine_fraction()).sum::<f64>() - 6.0;
    ((median * (deviation * normal).exp()) as usize).clamp(1, longest)
}

/// Generates arguments that are as long as those of args.me, which have 440 words on average; half of them have fewer than 230, and one in
/// eight has fewer than 20.
pub fn arguments(options: &Options) -> Result<()> {
    new_directory(&options.dir)?;
    let path = options.dir.join("args-me.json");
    let writing = || format!("cannot write {}", path.display());
    let vocabulary = Vocabulary::new(options.seed);
    let mut file = BufWriter::new(File::create(&path).with_context(writing)?);
    file.write_all(b"{\"arguments\": [").with_context(writing)?;
    for number in 0..options.count {
        let mut random = Random::new(options.seed, "argument", number as u64);
        let subject = vocabulary.subject(&mut random);
        let length = if random.percent(12) {
            random.between(1, 19)
        } else {
            length(&mut random, 280.0, 0.95, 6000)
        };
        let conclusion = vocabulary.text(&mut random, 7, &subject);
        let id = format!("S{:08x}-A{:08x}", random.next_u64() as u32, number);
        let argument = json!({
            "id": id,
            "conclusion": conclusion,
            "premises": [{
                "text": vocabulary.text(&mut random, length, &subject),
                "stance": random.pick(&["PRO", "CON"]),
                "annotations": [],
            }],
            "context": {
                "sourceId": id.get(..9),
                "sourceTitle": format!("Debate: {conclusion}"),
                "sourceUrl": format!("https://debates.example/{number}"),
                "sourceDomain": DOMAINS[number % DOMAINS.len()],
                "discussionTitle": conclusion,
                "acquisitionTime": "2019-04-18T00:00:00Z",
            },
        });
        let separator = if number == 0 { "" } else { ", " };
        write!(file, "{separator}{argument}").with_context(writing)?;
    }
    file.write_all(b"]}\n").with_context(writing)?;
    file.into_inner()
        .map_err(|e| e.into_error())
        .with_context(writing)?;
    topics(&options.dir, &vocabulary, options.seed)
}

/// The portals that generated arguments name as their source.
const DOMAINS: [&str; 4] = ["debateorg", "debatewise", "debatepedia", "idebate"];

/// Generates passages that are as long as those of Touché 2022, which have about 150 words and rarely more than 250.
pub fn passages(options: &Options) -> Result<()> {
    new_directory(&options.dir)?;
    let path = options.dir.join("passages.jsonl.gz");
    let writing = || format!("cannot write {}", path.display());
    let vocabulary = Vocabulary::new(options.seed);
    let file = BufWriter::new(File::create(&path).with_context(writing)?);
    let mut file = GzEncoder::new(file, Compression::fast());
    for number in 0..options.count {
        let mut random = Random::new(options.seed, "passage", number as u64);
        let subject = vocabulary.subject(&mut random);
        let length = length(&mut random, 140.0, 0.4, 300);
        let page = number / 8;
        let passage = json!({
            "id": format!("clueweb12-{:04}wb-{:02}-{:05}___{}", page / 10_000_000, page / 100_000 % 100, page % 100_000, number % 8 + 1),
            "contents": vocabulary.text(&mut random, length, &subject),
            "chatNoirUrl": format!("https://pages.example/{number}"),
        });
        writeln!(file, "{passage}").with_context(writing)?;
    }
    let file = file.finish().with_context(writing)?;
    file.into_inner()
        .map_err(|e| e.into_error())
        .with_context(writing)?;
    topics(&options.dir, &vocabulary, options.seed)
}

/// Writes 50 topics. Their titles are questions that have the two to four words of a subject among frequent words.
fn topics(dir: &Path, vocabulary: &Vocabulary, seed: u64) -> Result<()> {
    let mut xml = String::from("<topics>\n");
    for number in 1..=50 {
        let mut random = Random::new(seed, "topic", number);
        let subject = vocabulary.subject(&mut random).join(" ");
        xml.push_str(&format!(
            "  <topic>\n    <number>{number}</number>\n    <title>Should {subject} be the {}?</title>\n  </topic>\n",
            vocabulary.word(&mut random)
        ));
    }
    xml.push_str("</topics>\n");
    write(&dir.join("topics.xml"), xml)
}
