//! `generate-debates`: generates arguments for and against the topics of a generated collection, among them those of the sample.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use riposte_claims::claims;
use riposte_eval::topic;
use seeded_random::Random;
use serde_json::{Value, json};

use crate::files::{id_of_digits, write};
use crate::topics::{Side, Subjects, Topic};
use crate::wording::{JOBS, TOWNS, capitalised, sentence};

#[derive(clap::Args)]
pub struct Options {
    /// Number of arguments on each side of a topic; a near-duplicate of the first is added
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A collection with topics of `generate`; args-me.json is written into it
    #[arg(value_name = "COLLECTION")]
    dir: PathBuf,
}

/// Writes args-me.json. Each side of a topic gets its arguments and a near-duplicate of the first; each topic also gets an argument that takes no
/// side. Half of the conclusions are the claim of the topic and half its opposite, so that the stance towards the conclusion does not reveal the
/// side.
pub fn run(options: &Options) -> Result<()> {
    let path = options.dir.join("topics.xml");
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let topics = topic::parse(&text).with_context(|| format!("cannot read {}", path.display()))?;
    let subjects = Subjects::load()?.topics;
    let subjects: HashMap<&str, &Topic> = subjects.iter().map(|s| (&*s.title, s)).collect();
    let output = options.dir.join("args-me.json");
    ensure!(!output.exists(), "{} exists already", output.display());
    let mut lines = Vec::new();
    for (number, topic) in (1..).zip(&topics) {
        let Some(subject) = subjects.get(&*topic.title) else {
            bail!(
                "topic {} ({:?}) is not one that `generate` writes",
                topic.id,
                topic.title
            );
        };
        let random = &mut Random::new(options.seed, "debates", number);
        for argument in of_topic(subject, options.count as usize, random) {
            lines.push(argument.to_string());
        }
    }
    let file = format!("{{\"arguments\":[\n{}\n]}}\n", lines.join(",\n"));
    write(&output, file)
}

fn of_topic(subject: &Topic, count: usize, random: &mut Random) -> Vec<Value> {
    let mut arguments = Vec::new();
    for (side, is_pro) in [(&subject.pro, true), (&subject.con, false)] {
        let mut texts: Vec<String> = (0..count).map(|n| text(subject, side, n, random)).collect();
        if let Some(first) = texts.first() {
            let again = format!("{first} That is what I wanted to say.");
            texts.push(again);
        }
        for (n, text) in texts.iter().enumerate() {
            arguments.push(argument(subject, text, n, Some(is_pro)));
        }
    }
    let mut facts: Vec<&str> = subject.facts.iter().map(String::as_str).collect();
    random.shuffle(&mut facts);
    let facts: Vec<String> = facts.into_iter().map(sentence).collect();
    arguments.push(argument(subject, &facts.join(" "), 0, None));
    arguments
}

/// An argument in the format of args.me. One that supports the topic's claim is PRO if it concludes the claim, and CON if it concludes the opposite.
fn argument(subject: &Topic, text: &str, number: usize, is_pro: Option<bool>) -> Value {
    let (claim, counter_claim) = claims(&subject.title);
    let concludes_claim = number.is_multiple_of(2);
    let conclusion = match is_pro {
        // a question takes no side
        None => subject.title.clone(),
        Some(_) if concludes_claim => claim,
        Some(_) => counter_claim,
    };
    let stance = match is_pro {
        None => concludes_claim,
        Some(is_pro) => is_pro == concludes_claim,
    };
    let source = format!("{}{number}{is_pro:?}", subject.title);
    let id = format!(
        "{}-{}",
        id_of_digits('S', &subject.title, 8),
        id_of_digits('A', &source, 8)
    );
    json!({
        "id": id,
        "conclusion": capitalised(&conclusion),
        "premises": [{"text": text, "stance": if stance { "PRO" } else { "CON" }}],
        "context": {"sourceTitle": subject.title, "topic": subject.short},
    })
}

/// A speech of four sentences: a claim, two reasons for it, and a fact, a slogan or a remark.
fn text(subject: &Topic, side: &Side, number: usize, random: &mut Random) -> String {
    let pick = |list: &[String], at: usize| list.get(at % list.len().max(1)).cloned();
    let claim = pick(&side.claims, number).unwrap_or_default();
    let reason = |at: usize| pick(&side.reasons, number + at).unwrap_or_default();
    let town = random.pick(&TOWNS);
    let job = random.pick(&JOBS);
    let fact = sentence(random.pick_text(&subject.facts));
    let slogan = random.pick_text(&side.slogans);
    let (first, second) = (reason(0), reason(1 + number / side.reasons.len().max(1)));
    let sentences = match number % 4 {
        0 => vec![
            sentence(&claim),
            format!("The reason is simple: {first}."),
            format!("And that is not all, because {second}."),
            format!("In {town} every {job} could tell you the same."),
        ],
        1 => vec![
            fact,
            format!("What matters more is that {first}."),
            format!("As a {job} I also see that {second}."),
            sentence(&claim),
        ],
        2 => vec![
            format!("People in {town} have known it for years: {first}."),
            sentence(&claim),
            format!("Whoever doubts it should remember that {second}."),
            format!("\"{slogan}\" is more than a slogan for us."),
        ],
        _ => vec![
            format!("My main point is that {first}."),
            format!("My second one is that {second}."),
            format!("Nobody has answered either so far, and so I say: {slogan}!"),
            sentence(&claim),
        ],
    };
    sentences.join(" ")
}
