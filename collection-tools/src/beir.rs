//! `generate-beir`: generates a collection in the layout of BEIR, whose judgements follow from how the documents are made.
//!
//! Each query has two rare words, which occur only in the documents judged for it. A document of grade 2 has each rare word three times, a
//! document of grade 1 once. A document of grade 0 has each nine times, like spam, so a lexical search ranks it first. A lexical ranking
//! therefore lists grade 0, then 2, then 1, and its nDCG follows from the judgements. Only queries with odd numbers have a document of grade 0.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use serde_json::json;

use seeded_random::Random;

use crate::files::{new_directory, write};
use crate::texts::{Options, Vocabulary, length};

/// Number of words in the text of a judged document. It is the same for all, so that length does not influence the ranking.
const JUDGED_WORDS: usize = 80;

/// The grades, and how often a document of each grade has each of the two rare words.
const REPEATS: [(usize, usize); 3] = [(0, 9), (1, 1), (2, 3)];

/// Number of documents per query.
const DOCUMENTS_PER_QUERY: usize = 20;

/// Minimum number of queries.
const MIN_QUERIES: usize = 4;

/// The syllables of the rare words. No word of the vocabulary has a k or an x.
const SYLLABLES: [&str; 5] = ["ka", "ke", "ki", "ko", "ku"];

/// A rare word, which only the documents of one query have.
fn rare(number: usize) -> String {
    let mut word = String::new();
    let mut rest = number;
    for _ in 0..6 {
        word.push_str(SYLLABLES[rest % SYLLABLES.len()]);
        rest /= SYLLABLES.len();
    }
    word.push('x');
    word
}

/// Generates corpus.jsonl, queries.jsonl, and the judgements: those of one half of the queries in qrels/test.tsv, those of the other half in
/// qrels/train.tsv.
pub fn run(options: &Options) -> Result<()> {
    let Options { count, seed, dir } = options;
    let least = MIN_QUERIES * DOCUMENTS_PER_QUERY;
    ensure!(*count >= least, "--count must be at least {least}");
    new_directory(dir)?;
    let vocabulary = Vocabulary::new(*seed);
    let queries = (count / DOCUMENTS_PER_QUERY).min(100);
    let mut documents: Vec<(String, String)> = Vec::with_capacity(*count);
    let mut asked = String::new();
    let header = "query-id\tcorpus-id\tscore\n";
    let mut qrels = [header.to_owned(), header.to_owned()];
    for query in 1..=queries {
        let mut random = Random::new(*seed, "query", query as u64);
        let words = [rare(2 * query), rare(2 * query + 1)];
        // all other words of a query are stop words
        let text = format!("the {} of {}", words[0], words[1]);
        writeln!(
            asked,
            "{}",
            json!({"_id": format!("q{query}"), "text": text, "metadata": {}})
        )?;
        for (grade, repeats) in REPEATS {
            let number = match grade {
                0 => query % 2,
                _ => random.between(1, 4),
            };
            for _ in 0..number {
                let plain = vocabulary.text(&mut random, JUDGED_WORDS - 2 * repeats, &[]);
                let text = with_words(&plain, &words, repeats);
                let id = format!("d{}", documents.len());
                // test.tsv takes pairs of neighbouring queries, so that half of its queries have a document of grade 0
                let of = &mut qrels[query / 2 % 2];
                writeln!(of, "q{query}\t{id}\t{grade}")?;
                documents.push((vocabulary.text(&mut random, 5, &[]), text));
            }
        }
    }
    while documents.len() < *count {
        let number = documents.len() as u64;
        let mut random = Random::new(*seed, "document", number);
        let words = length(&mut random, 60.0, 0.8, 1000);
        let title = vocabulary.text(&mut random, 5, &[]);
        documents.push((title, vocabulary.text(&mut random, words, &[])));
    }
    let mut corpus = String::new();
    for (number, (title, text)) in documents.iter().enumerate() {
        let document =
            json!({"_id": format!("d{number}"), "title": title, "text": text, "metadata": {}});
        writeln!(corpus, "{document}")?;
    }
    write(&dir.join("corpus.jsonl"), corpus)?;
    write(&dir.join("queries.jsonl"), asked)?;
    let [test, train] = qrels;
    write(&dir.join("qrels/test.tsv"), test)?;
    write(&dir.join("qrels/train.tsv"), train)
}

/// The text with each of the two words inserted `repeats` times.
fn with_words(text: &str, words: &[String; 2], repeats: usize) -> String {
    let mut mixed = Vec::new();
    let mut plain = text.split(' ');
    for word in words.iter().cycle().take(2 * repeats) {
        mixed.extend(plain.by_ref().take(3));
        mixed.push(word);
    }
    mixed.extend(plain);
    mixed.join(" ")
}
