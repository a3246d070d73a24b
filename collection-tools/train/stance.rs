//! The pair encoder: all-MiniLM-L6-v2 trained further on claims and texts, some minutes a pass over them on two cores.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use candle_core::{Device, Tensor};
use riposte::nn::tokens::Tokenizer;
use riposte::nn::transformer::Backend;
use riposte::reading::pair::{self, Class, MAX_TOKENS, PairEncoder, TrainedTensor};
use riposte::score::object_stance::{Objects, PREFERENCE};
use riposte::topic::question;
use riposte::weights::{ModelStatus, Models};
use tokenizers::Encoding;

use super::data::{self, StanceSet, Stanced, TWEETS};
use super::network::{Batch, Network, Optimiser};
use crate::chance::Chance;

/// The published encoder.
const MODEL: &str = "all-minilm-l6-v2";

/// How it is trained. Chosen on the development parts; the card of the weights has these numbers.
pub struct Recipe {
    pub seed: u64,
    pub passes: usize,
    /// Learning rates of the encoder and of the head, at their highest.
    pub rates: [f64; 2],
    /// Weights to go on from, in place of the published ones and a head from chance.
    pub from: Option<Vec<u8>>,
}

/// Pairs a step.
const BATCH: usize = 32;
/// Batches are cut from this many pairs, sorted by length, so that little is filled up.
const SORTED: usize = 40 * BATCH;
/// Of the probability, shared by all classes.
const SMOOTHING: f64 = 0.05;
/// Share of the steps in which the rate rises.
const WARM_UP: f64 = 0.1;
/// In a hundred: claims that are given negated too, with the opposite label; texts given with a claim of another matter
/// too; sentences without a comparison that are kept.
const NEGATED: usize = 35;
const FOREIGN: usize = 5;
const UNCOMPARED: usize = 50;

/// A claim, a text and what the text does to the claim.
pub struct Pair {
    pub claim: String,
    pub text: String,
    pub class: Class,
}

/// Trains, prints how it goes, and saves the weight file after each pass.
pub fn train(
    dir: &Path,
    models: Option<&Path>,
    recipe: &Recipe,
    save: &dyn Fn(&[u8]) -> Result<()>,
) -> Result<()> {
    let (base, sha) = base(models)?;
    let sets = data::stance_sets(dir)?;
    let comparisons = data::comparisons(&dir.join("comparative/compsent19-train.csv"))?;
    let held = data::comparisons(&dir.join("comparative/compsent19-val.csv"))?;
    let tokenizer = pair::tokenizer(&base)?;
    let mut chance = Chance::new(recipe.seed, "stance", 0);
    let network = Network::new(&base, MAX_TOKENS, &mut chance, device())?;
    let published: Vec<Vec<f32>> = numbers(&network)?;
    if let Some(bytes) = &recipe.from {
        for (learned, published) in network.learned.iter().zip(&published) {
            let trained = pair::unpack(bytes, &sha, &learned.name, published.clone())?;
            let trained = Tensor::from_vec(trained, learned.var.shape(), learned.var.device())?;
            learned.var.set(&trained)?;
        }
    }
    let mut optimiser = Optimiser::new(&network.learned);
    let started = Instant::now();
    let mut steps = 0;
    let mut all_steps = 0.0;
    written(&network, &published, &sha, &base, recipe, &sets)?;
    for pass in 0..recipe.passes {
        let pairs = one_pass(&sets, &comparisons, recipe.from.is_none(), &mut chance);
        let tokenized = tokenize(&tokenizer, &pairs)?;
        let batches = batches(&tokenized, &mut chance);
        if pass == 0 {
            all_steps = (batches.len() * recipe.passes) as f64;
        }
        let mut losses = 0.0;
        for (n, batch) in batches.iter().enumerate() {
            let rows: Vec<(&Encoding, u32)> = batch
                .iter()
                .map(|&at| (&tokenized[at], pairs[at].class as u32))
                .collect();
            let loss = network.loss(&Batch::new(&rows, MAX_TOKENS), SMOOTHING, &mut chance)?;
            let grads = loss.backward()?;
            let done = f64::from(steps) / all_steps;
            let factor = (done / WARM_UP + 1e-3)
                .min((1.0 - done) / (1.0 - WARM_UP))
                .max(0.0);
            optimiser.step(&network.learned, &grads, recipe.rates.map(|r| r * factor))?;
            steps += 1;
            losses += f64::from(loss.to_scalar::<f32>()?);
            if (n + 1) % 50 == 0 {
                let took = started.elapsed().as_secs_f64();
                println!(
                    "pass {} of {}, step {} of {}, loss {:.3}, {took:.0} s, about {:.0} s left",
                    pass + 1,
                    recipe.passes,
                    n + 1,
                    batches.len(),
                    losses / 50.0,
                    (took * (all_steps / f64::from(steps) - 1.0)).max(0.0),
                );
                losses = 0.0;
            }
        }
        let encoder = written(&network, &published, &sha, &base, recipe, &sets)?;
        let found = on_dev(&encoder, &sets, &held)?;
        println!("after pass {}: {found}", pass + 1);
        save(&file(&network, &published, &sha, recipe, &found)?)?;
    }
    Ok(())
}

/// The network as the program will have it. What rounding to four bits and another arithmetic make of the logits is printed.
fn written(
    network: &Network,
    published: &[Vec<f32>],
    sha: &str,
    base: &Path,
    recipe: &Recipe,
    sets: &[StanceSet],
) -> Result<PairEncoder> {
    let file = file(network, published, sha, recipe, "")?;
    let encoder = PairEncoder::load_trained(base, sha, &file, Backend::default())?;
    let rows = sets.iter().flat_map(|set| set.dev.iter().take(BATCH));
    let pairs: Vec<Pair> = rows
        .map(|row| Pair {
            claim: row.claim.clone(),
            text: row.text.clone(),
            class: class(row.supports),
        })
        .collect();
    let tokenized = tokenize(&pair::tokenizer(base)?, &pairs)?;
    let texts: Vec<(&str, &str)> = pairs
        .iter()
        .map(|p| (p.claim.as_str(), p.text.as_str()))
        .collect();
    let (mut sum, mut most) = (0f32, 0f32);
    for (tokenized, texts) in tokenized.chunks(BATCH).zip(texts.chunks(BATCH)) {
        let rows: Vec<(&Encoding, u32)> = tokenized.iter().map(|e| (e, 0)).collect();
        let ours = network.logits(&Batch::new(&rows, MAX_TOKENS))?;
        for (a, b) in ours
            .iter()
            .flatten()
            .zip(encoder.logits(texts)?.iter().flatten())
        {
            sum += (a - b).abs();
            most = most.max((a - b).abs());
        }
    }
    let mean = sum / (pairs.len() * pair::CLASSES) as f32;
    println!("logits as written differ by {mean:.4}, at most {most:.4}");
    Ok(encoder)
}

/// The published checkpoint's directory and sha256.
pub fn base(models: Option<&Path>) -> Result<(std::path::PathBuf, String)> {
    match Models::at(models)?.find(MODEL)? {
        ModelStatus::Ready(model) => Ok((model.dir.clone(), model.sha256.clone())),
        _ => bail!("{MODEL} is not there or not whole: `riposte models fetch {MODEL}`"),
    }
}

/// With the cargo feature `cuda` the first such device, if there is one.
fn device() -> Device {
    #[cfg(feature = "cuda")]
    if let Ok(device) = Device::new_cuda(0) {
        return device;
    }
    Device::Cpu
}

fn numbers(network: &Network) -> Result<Vec<Vec<f32>>> {
    let numbers = network.learned.iter();
    numbers
        .map(|l| Ok(l.var.flatten_all()?.to_vec1()?))
        .collect()
}

fn file(
    network: &Network,
    published: &[Vec<f32>],
    sha: &str,
    recipe: &Recipe,
    found: &str,
) -> Result<Vec<u8>> {
    let card = format!(
        "claims and texts; from Perspectrum, IBM claims, ArgKP, debates, tweets, CompSent-19; seed {}, {} passes, rate {}{}; {found}",
        recipe.seed,
        recipe.passes,
        recipe.rates[0],
        if recipe.from.is_some() {
            ", from a trained one"
        } else {
            ""
        },
    );
    let tensors: Vec<_> = network
        .learned
        .iter()
        .zip(numbers(network)?)
        .zip(published)
        .map(|((l, trained), published)| {
            let published = (!l.of_head).then(|| published.clone());
            TrainedTensor {
                name: l.name.clone(),
                shape: l.var.dims().to_vec(),
                numbers: trained,
                published,
            }
        })
        .collect();
    pair::pack(sha, &card, &tensors)
}

fn class(supports: bool) -> Class {
    if supports { Class::Pro } else { Class::Con }
}

/// What is shown in one pass, in the order of the collections. In a `first` training tweets are shown with any claim about their
/// subject; where it goes on, with its own, and half of them with another one too.
fn one_pass(
    sets: &[StanceSet],
    comparisons: &[data::Comparison],
    first: bool,
    chance: &mut Chance,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let claims: Vec<&str> = sets
        .iter()
        .filter(|set| set.name != "tweets")
        .flat_map(|set| set.learned.iter().map(|row| row.claim.as_str()))
        .collect();
    for set in sets {
        // the smallest of the collections, with the hardest texts
        let times = if set.name == "IBM claims" { 2 } else { 1 };
        for row in set.learned.iter().cycle().take(times * set.learned.len()) {
            let mut own = Pair {
                claim: row.claim.clone(),
                text: row.text.clone(),
                class: class(row.supports),
            };
            if set.name == "tweets" {
                if first {
                    own = of_subject(row, 0, chance).unwrap_or(own);
                } else if chance.percent(50) {
                    pairs.extend(of_subject(row, 1, chance));
                }
            } else if chance.percent(NEGATED)
                && let Some(negated) = question::negated(&row.claim)
            {
                pairs.push(Pair {
                    claim: negated,
                    text: row.text.clone(),
                    class: class(!row.supports),
                });
            }
            if chance.percent(FOREIGN) {
                pairs.push(Pair {
                    claim: claims[chance.below(claims.len())].to_owned(),
                    text: row.text.clone(),
                    class: Class::Neither,
                });
            }
            pairs.push(own);
        }
    }
    for comparison in comparisons {
        let [as_is, swapped] = masked(comparison);
        let sentences = match comparison.first_is_better {
            Some(better) => vec![(as_is, class(better)), (swapped, class(!better))],
            None if chance.percent(UNCOMPARED / 2) => vec![(as_is, Class::Neither)],
            None if chance.percent(UNCOMPARED / 2) => vec![(swapped, Class::Neither)],
            None => Vec::new(),
        };
        pairs.extend(sentences.into_iter().map(|(text, class)| Pair {
            claim: PREFERENCE.to_owned(),
            text,
            class,
        }));
    }
    pairs
}

/// A tweet with one of the claims about its subject, for it or against it, so that the two subjects are not learned as two
/// claims; `from` the first or a later one of them.
fn of_subject(row: &Stanced, from: usize, chance: &mut Chance) -> Option<Pair> {
    let (_, claims) = TWEETS.iter().find(|(subject, _)| *subject == row.group)?;
    let (claim, agrees) = claims[from + chance.below(claims.len() - from)];
    Some(Pair {
        claim: claim.to_owned(),
        text: row.text.clone(),
        class: class(row.supports == agrees),
    })
}

/// The sentence with names for its objects, and with the names swapped: of several the one that names both.
pub fn masked(comparison: &data::Comparison) -> [String; 2] {
    let [first, second] = &comparison.objects;
    let sentences = Objects::new(first, second).masked(&comparison.sentence);
    let both = |pair: &&[String; 2]| pair[0].contains("OBJA") && pair[0].contains("OBJB");
    let one = sentences.iter().find(both).or(sentences.first()).cloned();
    one.unwrap_or_else(|| [(); 2].map(|()| comparison.sentence.clone()))
}

fn tokenize(tokenizer: &Tokenizer, pairs: &[Pair]) -> Result<Vec<Encoding>> {
    let texts: Vec<(&str, &str)> = pairs
        .iter()
        .map(|pair| (pair.claim.as_str(), pair.text.as_str()))
        .collect();
    tokenizer.encode(texts)
}

/// Pairs of about the same length together, in an order by chance.
fn batches(tokenized: &[Encoding], chance: &mut Chance) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tokenized.len()).collect();
    chance.shuffle(&mut order);
    let mut batches = Vec::new();
    for part in order.chunks_mut(SORTED) {
        part.sort_by_key(|&at| tokenized[at].len());
        batches.extend(part.chunks(BATCH).map(<[usize]>::to_vec));
    }
    chance.shuffle(&mut batches);
    batches
}

/// Macro-F1 of PRO and CON on the development part of each collection, and how often neither was the likeliest.
fn on_dev(
    encoder: &PairEncoder,
    sets: &[StanceSet],
    comparisons: &[data::Comparison],
) -> Result<String> {
    let mut line = String::new();
    for set in sets {
        let pairs: Vec<(&str, &str)> = set
            .dev
            .iter()
            .map(|row| (row.claim.as_str(), row.text.as_str()))
            .collect();
        let logits = encoder.logits(&pairs)?;
        let f1 = macro_f1(
            set.dev.iter().map(|row| row.supports),
            logits.iter().map(|[con, pro, _]| pro > con),
        );
        let neither = logits
            .iter()
            .filter(|[con, pro, n]| n > con && n > pro)
            .count();
        let share = neither as f64 / logits.len().max(1) as f64;
        let _ = write!(line, "{} {f1:.3} ({share:.3} neither), ", set.name);
    }
    let _ = write!(
        line,
        "CompSent {:.3}",
        on_comparisons(encoder, comparisons)?
    );
    Ok(line)
}

/// Macro-F1 of the first object, the second and none.
pub fn on_comparisons(encoder: &PairEncoder, comparisons: &[data::Comparison]) -> Result<f64> {
    let sentences: Vec<[String; 2]> = comparisons.iter().map(masked).collect();
    let pairs: Vec<(&str, &str)> = sentences
        .iter()
        .map(|s| (PREFERENCE, s[0].as_str()))
        .collect();
    let found = encoder.logits(&pairs)?;
    let truth = comparisons.iter().map(|c| c.first_is_better);
    let found = found
        .iter()
        .map(|[con, pro, neither]| match (con, pro, neither) {
            (c, p, n) if n >= c && n >= p => None,
            (c, p, _) => Some(p > c),
        });
    Ok(macro_f1(truth, found))
}

/// Mean F1 of the answers that occur.
pub fn macro_f1<T: PartialEq>(
    truth: impl Iterator<Item = T>,
    found: impl Iterator<Item = T>,
) -> f64 {
    let pairs: Vec<(T, T)> = truth.zip(found).collect();
    let mut classes: Vec<&T> = Vec::new();
    for (truth, _) in &pairs {
        if !classes.contains(&truth) {
            classes.push(truth);
        }
    }
    let f1 = |class: &T| {
        let hits = pairs
            .iter()
            .filter(|(a, b)| a == class && b == class)
            .count() as f64;
        let missed = pairs
            .iter()
            .filter(|(a, b)| (a == class) != (b == class))
            .count() as f64;
        2.0 * hits / (2.0 * hits + missed).max(1.0)
    };
    classes.iter().map(|class| f1(class)).sum::<f64>() / classes.len().max(1) as f64
}
