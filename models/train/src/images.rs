//! `train images`: the weights of the signals of an image's stance (the text in it, the words around it, likeness to arguments), and of
//! whether it argues at all. They start from weights set by hand, and the few labelled pictures move them a little.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use riposte::collection::images::ImageCollection;
use riposte::collection::read_topics;
use riposte::evidence::ocr::OcrLine;
use riposte::evidence::picture::{self, PictureStatistics};
use riposte::evidence::sentence::Sentences;
use riposte::evidence::store::Store;
use riposte::evidence::{SentenceVector, TextPart, ocr_text};
use riposte::index::images::ImageEvidence;
use riposte::index::inverted::{IndexingBudget, InvertedIndex, TextCollection};
use riposte::lazy::Lazy;
use riposte::reading::clauses::clauses;
use riposte::reading::clauses::picture::of_picture;
use riposte::reading::stance_encoder::StanceEncoder;
use riposte::reading::{self, Reader};
use riposte::recipes::channels::CHANNELS;
use riposte::recipes::text_approach::TextApproach;
use riposte::score::argument::{PictureFeatures, argument_features, count_words};
use riposte::score::text_stance::{Stances, TextStanceModel};
use riposte::score::{logistic, logit};
use riposte::texts::likeness::{ArgumentVectors, Arguments, argument_sentences};
use riposte::topic::question::{self, Question, TopicParts};
use riposte::workspace::Outputs;
use riposte_eval::qrels::{self, Qrels};
use riposte_eval::topic::Topic;
use riposte_eval::{Stance, TextTask, TopicId};
use serde::Deserialize;

use crate::base_model::BaseModel;
use crate::data::{TWEET_SUBJECTS, without_links};
use crate::fit::{logistic_regression_from, rounded};
use crate::measures::auc;

/// The files to learn from.
pub struct Inputs<'a> {
    /// Directory of the development data.
    pub data: &'a Path,
    /// The output of `riposte read` for imagearg/images/*.jpg.
    pub ocr: &'a Path,
    /// The evidence of images/sample.
    pub evidence: &'a Path,
    pub models: Option<&'a Path>,
}

/// Weights of stance set by hand. The words in the picture always count twice as much as the words around it, because the labels
/// of imagearg describe whole tweets, while the task judges pictures. Two factors are learned: one for the two weights of texts, one
/// for the two weights of likeness to arguments.
const STANCE: [(&str, f64); 4] = [
    ("picture", 2.0),
    ("around", 1.0),
    ("picture_likeness", 6.0),
    ("around_likeness", 3.0),
];
/// Weights of whether a picture argues, set by hand.
const ARGUMENT: [(&str, f64); 5] = [
    ("words", 1.6),
    ("claim_words", 0.5),
    ("numbers", 0.3),
    ("graphic", 0.6),
    ("side", 0.6),
];
/// How many neighbouring weights of [`STANCE`] share a factor.
const SHARE_A_FACTOR: usize = 2;
/// Standard deviation of the prior over each weight, as a share of the weight set by hand.
const PRIOR_DEVIATION: f64 = 0.5;
/// The mean of the shares of PRO (.73) and of CON (.24) among the on-topic judgements of 2022. Both sides have the same prior, so that it decides
/// no side.
const SIDE_PRIOR: f64 = 0.485;
/// Share of pictures in a crawl that argue: a guess.
const ARGUES_PRIOR: f64 = 0.55;
/// Weight of a difference of CLIP's cosines, set by hand: no published CLIP weights were available to fit it.
const CLIP: f64 = 20.0;

/// A labelled picture.
struct Row {
    /// Pictures of a group are left out of training together.
    group: String,
    /// The signals in the order of [`STANCE`], positive for PRO; 0 where there is none.
    stance: Vec<f64>,
    /// The features in the order of [`ARGUMENT`].
    argument: Vec<f64>,
    /// Whether it is PRO, and whether it is CON.
    sides: [bool; 2],
    /// Prior log-odds of PRO and of CON.
    priors: [f64; 2],
    argues: bool,
    /// Prior log-odds of arguing.
    argues_prior: f64,
}

/// The weight file, with the figures of cross-validation in its first lines.
pub fn train(inputs: &Inputs) -> Result<String> {
    let base = BaseModel::find(inputs.models)?;
    let sentences = Sentences::load(&base.dir, base.backend)?;
    let encoder = Lazy::new(StanceEncoder::producer_of(&base.sha256), move || {
        StanceEncoder::load(&base.dir, &base.sha256, base.backend)
    });
    let temporary = tempfile::tempdir()?;
    let outputs = Outputs::open(&temporary.path().join("outputs.sqlite"))?;
    let approach = TextApproach::find(TextTask::Controversial, "riposte")?;
    let retrieval = approach
        .retrieval
        .first()
        .context("the approach riposte has no retrieval")?;
    let file = inputs.data.join("args/args-me.json");
    let index = InvertedIndex::open_or_build(
        &TextCollection::Arguments(riposte::collection::arguments::ArgumentCollection::open(
            &file,
        )?),
        &retrieval.analyzer,
        &temporary.path().join("arguments.index"),
        IndexingBudget::default(),
        &mut |_| (),
    )?;
    let arguments = Arguments {
        index: &index,
        retrieval,
    };
    let installed = reading::ReadingModels {
        stance_encoder: Some(&encoder),
        ..reading::ReadingModels::default()
    };
    let mut reading = Reading {
        reader: Reader::new(installed, outputs)?,
        sentences: &sentences,
        arguments,
    };
    let mut rows = tweets(inputs, &mut reading)?;
    let tweeted = rows.len();
    rows.extend(sample(inputs, &mut reading)?);
    let mut head = format!(
        "# Whether an image argues, and its stance: weights of src/score/argument.rs and stance.rs.\n\
         # train images --data DATA --ocr OCR --evidence EVIDENCE -o models/own/images.toml\n\
         # From the {tweeted} pictures of imagearg (PRO or CON; argues: the picture made its tweet more persuasive) and the {} judged\n\
         # pictures of images/sample (argues: PRO or CON). The prior is normal around weights set by hand; its standard deviation is\n\
         # half of each weight. Figures for each of the two subjects and two topics, by weights learned from the others: mean\n\
         # cross-entropy, and AUC over pairs within a subject or topic:\n",
        rows.len() - tweeted
    );
    for (name, by_hand) in [("weights set by hand", true), ("these weights", false)] {
        let [stance, argues] = cross_validated(&rows, by_hand)?;
        let _ = writeln!(
            head,
            "# {name}: stance {:.3}, {:.3}; argues {:.3}, {:.3}",
            stance[0], stance[1], argues[0], argues[1]
        );
    }
    for (n, (name, _)) in STANCE.iter().enumerate() {
        let scored = |row: &Row| (row.group.clone(), row.stance[n], row.sides[0]);
        let _ = writeln!(
            head,
            "# {name} alone: AUC of PRO {:.3}",
            auc(rows.iter().map(scored))
        );
    }
    print!("{head}");
    let all: Vec<&Row> = rows.iter().collect();
    let (stance, argument) = learn(&all)?;
    let _ = write!(head, "\n[argument]\nprior = {ARGUES_PRIOR}\n");
    for ((name, _), weight) in ARGUMENT.iter().zip(argument) {
        let _ = writeln!(head, "{name} = {}", rounded(weight));
    }
    let _ = write!(head, "clip = {CLIP}\n\n[stance]\nprior = {SIDE_PRIOR}\n");
    for ((name, _), weight) in STANCE.iter().zip(stance) {
        let _ = writeln!(head, "{name} = {}", rounded(weight));
    }
    let _ = writeln!(head, "clip_likeness = {CLIP}\nclip = {CLIP}");
    Ok(head)
}

/// The models and the store of their outputs.
struct Reading<'a> {
    reader: Reader<'a>,
    sentences: &'a Sentences,
    arguments: Arguments<'a>,
}

impl Reading<'_> {
    fn stances(&mut self, claim: &str, texts: &[&str]) -> Result<Vec<Option<Stances>>> {
        let asked: Vec<(&str, &str)> = texts.iter().map(|text| (claim, *text)).collect();
        let logits = self
            .reader
            .piece_logits(&asked, &mut |_| ())?
            .context("there is no encoder")?;
        let model = TextStanceModel::committed();
        Ok(texts
            .iter()
            .zip(logits)
            .map(|(text, logits)| {
                (!text.trim().is_empty()).then(|| model.stances(claim, text, Some(&logits)))
            })
            .collect())
    }

    fn sides(&mut self, question: &Question) -> Result<ArgumentVectors> {
        let sentences = argument_sentences(&self.arguments, question, &mut self.reader)?;
        let texts: Vec<&str> = sentences.iter().map(|s| s.text.as_str()).collect();
        let vectors = self.sentences.embed(&texts)?;
        ArgumentVectors::new(sentences, vectors)
            .with_context(|| format!("there are too few arguments about {}", question.claim))
    }
}

fn question_of(title: &str) -> Question {
    let topic = Topic {
        id: TopicId(String::new()),
        title: title.to_owned(),
        description: None,
        narrative: None,
        objects: None,
        argument: None,
    };
    question::read(&topic, TopicParts::default())
}

/// P(pro) - P(con); 0 without a text.
fn balance(stances: &Option<Stances>) -> f64 {
    stances.as_ref().map_or(0.0, Stances::balance)
}

/// The probability that a text takes a side.
fn side(stances: &Option<Stances>) -> Option<f64> {
    stances.as_ref().map(|s| s.pro + s.con)
}

fn argument_row(text: &str, photograph: f64, side: Option<f64>) -> Vec<f64> {
    let (words, claim_words, numbers) = count_words(text);
    argument_features(&PictureFeatures {
        words,
        claim_words,
        numbers,
        photograph,
        side,
        clip_kinds: None,
    })
    .to_vec()
}

/// A tweet of imagearg with its picture.
pub struct Tweet {
    /// One of [`TWEET_SUBJECTS`].
    pub subject: String,
    pub text: String,
    /// Whether it supports the first claim about its subject; otherwise it opposes it.
    pub supports: bool,
    /// Whether the picture made the tweet more persuasive.
    pub persuades: bool,
    pub image: PathBuf,
    /// The text in the picture.
    pub lines: Vec<OcrLine>,
}

/// The tweets of imagearg. `ocr` is the output of `riposte read` for their pictures.
pub fn read_tweets(data: &Path, ocr: &Path) -> Result<Vec<Tweet>> {
    #[derive(Deserialize)]
    struct Label {
        topic: String,
        text: String,
        stance: String,
        persuasiveness: String,
        image: String,
    }
    #[derive(Deserialize)]
    struct ReadImage {
        path: PathBuf,
        lines: Vec<OcrLine>,
    }
    let dir = data.join("imagearg");
    let lines = |path: &Path| -> Result<Vec<String>> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let read: Vec<ReadImage> = lines(ocr)?
        .iter()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect::<Result<_>>()
        .with_context(|| format!("cannot read {}", ocr.display()))?;
    let mut tweets = Vec::new();
    for line in lines(&dir.join("labels.jsonl"))? {
        let label: Label = serde_json::from_str(&line)?;
        let image = dir.join(&label.image);
        let found = read
            .iter()
            .find(|r| r.path.file_name() == image.file_name());
        let Some(found) = found else {
            bail!("{} has no line for {}", ocr.display(), label.image);
        };
        tweets.push(Tweet {
            subject: label.topic,
            text: label.text,
            supports: label.stance == "support",
            persuades: label.persuasiveness == "yes",
            image,
            lines: found.lines.clone(),
        });
    }
    Ok(tweets)
}

/// The pictures of imagearg. The words around a picture are those of its tweet.
fn tweets(inputs: &Inputs, reading: &mut Reading) -> Result<Vec<Row>> {
    let labels = read_tweets(inputs.data, inputs.ocr)?;
    let persuasive = labels.iter().filter(|l| l.persuades).count();
    let argues_prior = logit(persuasive as f64 / labels.len() as f64);
    let mut rows = Vec::new();
    for (subject, claims) in TWEET_SUBJECTS {
        let question = question_of(claims[0].0);
        let sides = reading.sides(&question)?;
        for label in labels.iter().filter(|label| label.subject == subject) {
            let whole = ocr_text(&label.lines).replace('\n', " ");
            let text = ocr_text(&of_picture(&label.lines)).replace('\n', " ");
            let around = clauses(&without_links(&label.text)).into_owned();
            let stances = reading.stances(&question.claim, &[&text, &around])?;
            let vectors = reading.sentences.embed(&[&text, &around])?;
            let like = |n: usize, text: &str| {
                let vector = vectors.get(n).filter(|_| !text.trim().is_empty());
                let vector = vector.map(Vec::as_slice);
                sides
                    .likeness(vector.into_iter())
                    .map_or(0.0, |l| l.difference())
            };
            let decoded = picture::decode(&fs::read(&label.image)?)?;
            let photograph = f64::from(picture::measure(&decoded.image, &label.lines).photograph);
            rows.push(Row {
                group: subject.to_owned(),
                stance: vec![
                    balance(&stances[0]),
                    balance(&stances[1]),
                    like(0, &text),
                    like(1, &around),
                ],
                argument: argument_row(&whole, photograph, side(&stances[0])),
                sides: [label.supports, !label.supports],
                priors: [0.0, 0.0],
                argues: label.persuades,
                argues_prior,
            });
        }
    }
    Ok(rows)
}

/// A picture of images/sample with its judgement for a topic.
pub struct Judged {
    pub topic: Topic,
    pub image: ImageEvidence,
    pub on_topic: bool,
    /// Whether it is PRO, and whether it is CON.
    pub sides: [bool; 2],
}

/// The judged pictures of images/sample, by topic, with their evidence.
pub fn judged_sample(data: &Path, evidence: &Path) -> Result<Vec<Judged>> {
    let dir = data.join("images/sample");
    let path = dir.join("qrels.txt");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (Qrels::Images(judged), errors) = qrels::read(&text) else {
        bail!("{} does not hold judgements of images", path.display());
    };
    ensure!(
        errors.is_empty(),
        "{} has lines that are not judgements",
        path.display()
    );
    let collection = ImageCollection::open(&dir)?;
    let store = Store::open_to_read(evidence, CHANNELS)?;
    let mut found = Vec::new();
    for topic in read_topics(&dir.join("topics.xml"))? {
        let Some(of_topic) = judged.get(&topic.id) else {
            continue;
        };
        for entry in &collection.entries {
            let Some(grades) = of_topic.get(&entry.id) else {
                continue;
            };
            let is = |stance| grades.stance(stance).is_some_and(|grade| grade > 0);
            if let Some(image) = ImageEvidence::read(&store, &entry.id, CHANNELS)? {
                found.push(Judged {
                    topic: topic.clone(),
                    image,
                    on_topic: grades.on_topic.is_some_and(|grade| grade > 0),
                    sides: Stance::BOTH.map(is),
                });
            }
        }
    }
    Ok(found)
}

/// The judged on-topic pictures of images/sample.
fn sample(inputs: &Inputs, reading: &mut Reading) -> Result<Vec<Row>> {
    let judged = judged_sample(inputs.data, inputs.evidence)?;
    let mut rows = Vec::new();
    for of_topic in judged.chunk_by(|a, b| a.topic.id == b.topic.id) {
        let Some(Judged { topic, .. }) = of_topic.first() else {
            continue;
        };
        let question = question_of(&topic.title);
        let likeness = reading.sides(&question)?;
        for Judged { image, sides, .. } in of_topic.iter().filter(|j| j.on_topic) {
            let whole = image.ocr_text.replace('\n', " ");
            let lines = image.ocr_lines().unwrap_or_default();
            let text = ocr_text(&of_picture(lines)).replace('\n', " ");
            let around = clauses(&image.near_text);
            let stances = reading.stances(&question.claim, &[&text, &around])?;
            let like = |part| {
                let vectors = image.evidence.of_part(part);
                let vectors = vectors.map(|SentenceVector(vector)| vector.as_slice());
                let likeness = likeness.likeness(vectors);
                likeness.map_or(0.0, |l| l.difference())
            };
            let picture = image.evidence.get::<PictureStatistics>();
            let photograph = picture.map_or(1.0, |p| f64::from(p.photograph));
            rows.push(Row {
                group: topic.id.0.clone(),
                stance: vec![
                    balance(&stances[0]),
                    balance(&stances[1]),
                    like(TextPart::Ocr),
                    like(TextPart::Near),
                ],
                argument: argument_row(&whole, photograph, side(&stances[0])),
                argues: sides.contains(&true),
                sides: *sides,
                priors: [logit(SIDE_PRIOR); 2],
                argues_prior: logit(ARGUES_PRIOR),
            });
        }
    }
    Ok(rows)
}

/// The weights of stance and of arguing, with those set by hand as the prior mean.
fn learn(rows: &[&Row]) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut x, mut y, mut offsets): (Vec<Vec<f64>>, _, _) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        for ((sign, is), prior) in [1.0, -1.0].into_iter().zip(row.sides).zip(row.priors) {
            let spoken = row
                .stance
                .iter()
                .zip(STANCE)
                .map(|(v, (_, w))| sign * v * w);
            let spoken: Vec<f64> = spoken.collect();
            x.push(
                spoken
                    .chunks(SHARE_A_FACTOR)
                    .map(|both| both.iter().sum())
                    .collect(),
            );
            y.push(f64::from(is));
            offsets.push(prior);
        }
    }
    let factors = around_prior(&[1.0; STANCE.len() / SHARE_A_FACTOR], &x, &y, &offsets)?;
    let stance = STANCE.iter().enumerate();
    let stance = stance
        .map(|(n, (_, w))| w * factors[n / SHARE_A_FACTOR])
        .collect();
    let x: Vec<Vec<f64>> = rows.iter().map(|row| row.argument.clone()).collect();
    let y: Vec<f64> = rows.iter().map(|row| f64::from(row.argues)).collect();
    let offsets: Vec<f64> = rows.iter().map(|row| row.argues_prior).collect();
    Ok((
        stance,
        around_prior(&ARGUMENT.map(|(_, w)| w), &x, &y, &offsets)?,
    ))
}

/// The weights of a logistic regression with a normal prior around the weights `hand`.
fn around_prior(hand: &[f64], x: &[Vec<f64>], y: &[f64], offsets: &[f64]) -> Result<Vec<f64>> {
    let dot = |row: &[f64]| row.iter().zip(hand).map(|(x, w)| x * w).sum::<f64>();
    let offsets: Vec<f64> = x.iter().zip(offsets).map(|(row, o)| o + dot(row)).collect();
    let scaled: Vec<Vec<f64>> = x
        .iter()
        .map(|row| {
            row.iter()
                .zip(hand)
                .map(|(x, w)| x * w * PRIOR_DEVIATION)
                .collect()
        })
        .collect();
    let moved = logistic_regression_from(&scaled, y, &offsets, 1.0)?;
    Ok(hand
        .iter()
        .zip(moved)
        // so few pictures must not reverse a signal that is known to help
        .map(|(w, d)| (w * (1.0 + PRIOR_DEVIATION * d)).max(0.1 * w))
        .collect())
}

/// The mean cross-entropy and the AUC of stance and of arguing, where each group is measured with weights learned from the others,
/// or with the weights set by hand.
fn cross_validated(rows: &[Row], by_hand: bool) -> Result<[[f64; 2]; 2]> {
    let mut groups: Vec<&str> = rows.iter().map(|row| row.group.as_str()).collect();
    groups.dedup();
    let (mut stance, mut argues) = (Vec::new(), Vec::new());
    for group in groups {
        let known: Vec<&Row> = rows.iter().filter(|row| row.group != group).collect();
        let (of_stance, of_argument) = if by_hand {
            (
                STANCE.map(|(_, w)| w).to_vec(),
                ARGUMENT.map(|(_, w)| w).to_vec(),
            )
        } else {
            learn(&known)?
        };
        let dot = |w: &[f64], x: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        for row in rows.iter().filter(|row| row.group == group) {
            let sum = dot(&of_stance, &row.stance);
            for ((sign, is), prior) in [1.0, -1.0].into_iter().zip(row.sides).zip(row.priors) {
                stance.push((format!("{group} {sign}"), prior + sign * sum, is));
            }
            let sum = dot(&of_argument, &row.argument);
            argues.push((group.to_owned(), row.argues_prior + sum, row.argues));
        }
    }
    Ok([stance, argues].map(|rows| {
        let losses = rows.iter().map(|(_, x, is)| {
            let p = logistic(if *is { *x } else { -*x });
            -p.max(1e-9).ln()
        });
        [
            losses.sum::<f64>() / rows.len() as f64,
            auc(rows.into_iter()),
        ]
    }))
}
