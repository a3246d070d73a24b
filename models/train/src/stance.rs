//! `train stance`: the pair encoder, which is all-MiniLM-L6-v2 trained further on claims and texts. The default three passes take about
//! an hour on two cores.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use candle_core::{Device, Tensor};
use riposte::nn::tokens::Tokenizer;
use riposte::nn::transformer::Backend;
use riposte::reading::pair::{self, Class, MAX_TOKENS, PairEncoder, TrainedTensor};
use riposte::score::object_stance::{Objects, PREFERENCE};
use riposte::topic::question;
use tokenizers::Encoding;

use crate::base_model::BaseModel;
use crate::data::{self, Comparison, StanceExample, StanceSet, TWEET_SUBJECTS};
use crate::measures::macro_f1;
use crate::network::{Batch, Network};
use crate::operations::to_vec;
use crate::optimiser::Optimiser;
use seeded_random::Random;

/// The settings of training. The defaults were chosen on the development parts; the card of the weights names them.
pub struct Recipe {
    pub seed: u64,
    pub passes: usize,
    /// The highest learning rates of the encoder and of the head.
    pub rates: [f64; 2],
    /// Weights to continue from; without them training starts from the published encoder and a random head.
    pub from: Option<Vec<u8>>,
}

/// Pairs in a batch.
const BATCH: usize = 32;
/// Batches are cut from chunks of this many pairs that are sorted by length, so that there is little padding.
const CHUNK: usize = 40 * BATCH;
/// Label smoothing: this share of the probability is spread over all classes.
const SMOOTHING: f64 = 0.05;
/// The share of all steps in which the learning rate rises; it falls linearly in the rest.
const WARM_UP: f64 = 0.1;
/// Percentage of the claims that are also shown negated, with the opposite label.
const NEGATED: usize = 35;
/// Percentage of the texts that are also shown with an unrelated claim.
const UNRELATED: usize = 5;
/// A sentence without a comparison is shown as it is with half of this percentage, else with its objects swapped with the same
/// percentage, else not at all.
const UNCOMPARED: usize = 50;

/// A claim, a text, and the stance of the text towards the claim.
struct Pair {
    claim: String,
    text: String,
    class: Class,
}

/// Trains, prints the progress, and hands the weight file to `save` after each pass.
pub fn train(
    dir: &Path,
    models: Option<&Path>,
    recipe: &Recipe,
    save: &dyn Fn(&[u8]) -> Result<()>,
) -> Result<()> {
    let base = BaseModel::find(models)?;
    let sets = data::stance_sets(dir)?;
    let comparisons = data::comparisons(&dir.join("comparative/compsent19-train.csv"))?;
    let dev_comparisons = data::comparisons(&dir.join("comparative/compsent19-val.csv"))?;
    let tokenizer = pair::tokenizer(&base.dir)?;
    let mut random = Random::new(recipe.seed, "stance", 0);
    let network = Network::new(&base.dir, MAX_TOKENS, &mut random, device())?;
    let published: Vec<Vec<f32>> = values(&network)?;
    if let Some(bytes) = &recipe.from {
        for (parameter, published) in network.parameters.iter().zip(&published) {
            let trained = pair::unpack(bytes, &base.sha256, &parameter.name, published.clone())?;
            let (shape, device) = (parameter.var.shape(), parameter.var.device());
            parameter
                .var
                .set(&Tensor::from_vec(trained, shape, device)?)?;
        }
    }
    let mut optimiser = Optimiser::new(&network.parameters);
    let started = Instant::now();
    let mut steps = 0;
    let mut all_steps = 0.0;
    as_written(&network, &published, &base, recipe, &sets)?;
    for pass in 0..recipe.passes {
        let pairs = one_pass(&sets, &comparisons, recipe.from.is_none(), &mut random);
        let tokenized = tokenize(&tokenizer, &pairs)?;
        let batches = batches(&tokenized, &mut random);
        if pass == 0 {
            all_steps = (batches.len() * recipe.passes) as f64;
        }
        let mut losses = 0.0;
        for (n, batch) in batches.iter().enumerate() {
            let rows: Vec<(&Encoding, u32)> = batch
                .iter()
                .map(|&at| (&tokenized[at], pairs[at].class as u32))
                .collect();
            let loss = network.loss(&Batch::new(&rows, MAX_TOKENS), SMOOTHING, &mut random)?;
            let grads = loss.backward()?;
            let done = f64::from(steps) / all_steps;
            let factor = (done / WARM_UP + 1e-3)
                .min((1.0 - done) / (1.0 - WARM_UP))
                .max(0.0);
            optimiser.step(
                &network.parameters,
                &grads,
                recipe.rates.map(|r| r * factor),
            )?;
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
        let encoder = as_written(&network, &published, &base, recipe, &sets)?;
        let found = on_dev(&encoder, &sets, &dev_comparisons)?;
        println!("after pass {}: {found}", pass + 1);
        save(&weight_file(&network, &published, &base, recipe, &found)?)?;
    }
    Ok(())
}

/// The encoder as riposte will apply it. Prints how far its logits are from the network's, since it stores weights in four bits and
/// computes in another order.
fn as_written(
    network: &Network,
    published: &[Vec<f32>],
    base: &BaseModel,
    recipe: &Recipe,
    sets: &[StanceSet],
) -> Result<PairEncoder> {
    let file = weight_file(network, published, base, recipe, "")?;
    let encoder = PairEncoder::load_trained(&base.dir, &base.sha256, &file, Backend::default())?;
    let rows = sets.iter().flat_map(|set| set.dev.iter().take(BATCH));
    let pairs: Vec<Pair> = rows
        .map(|row| Pair {
            claim: row.claim.clone(),
            text: row.text.clone(),
            class: class(row.supports),
        })
        .collect();
    let tokenized = tokenize(&pair::tokenizer(&base.dir)?, &pairs)?;
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
    println!("logits of the written weights differ by {mean:.4} on average, {most:.4} at most");
    Ok(encoder)
}

/// The first CUDA device, if the package is built with the feature `cuda` and there is one; else the CPU.
fn device() -> Device {
    #[cfg(feature = "cuda")]
    if let Ok(device) = Device::new_cuda(0) {
        return device;
    }
    Device::Cpu
}

/// The values of each parameter.
fn values(network: &Network) -> Result<Vec<Vec<f32>>> {
    let parameters = network.parameters.iter();
    parameters
        .map(|parameter| Ok(to_vec(parameter.var.as_tensor())?))
        .collect()
}

/// The bytes of the weight file, whose card says what it was trained on and how well it does.
fn weight_file(
    network: &Network,
    published: &[Vec<f32>],
    base: &BaseModel,
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
        .parameters
        .iter()
        .zip(values(network)?)
        .zip(published)
        .map(|((parameter, trained), published)| {
            let published = (!parameter.in_head).then(|| published.clone());
            TrainedTensor {
                name: parameter.name.clone(),
                shape: parameter.var.dims().to_vec(),
                numbers: trained,
                published,
            }
        })
        .collect();
    pair::pack(&base.sha256, &card, &tensors)
}

fn class(supports: bool) -> Class {
    if supports { Class::Pro } else { Class::Con }
}

/// The pairs of one pass, in the order of the collections. In a `first` training each tweet is shown with any of the claims about its
/// subject; in a continued one with the claim that it is labelled for, and half of the tweets also with another claim.
fn one_pass(
    sets: &[StanceSet],
    comparisons: &[Comparison],
    first: bool,
    random: &mut Random,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let claims: Vec<&str> = sets
        .iter()
        .filter(|set| set.name != "tweets")
        .flat_map(|set| set.training.iter().map(|row| row.claim.as_str()))
        .collect();
    for set in sets {
        // the smallest collection, with the hardest texts, is shown twice
        let times = if set.name == "IBM claims" { 2 } else { 1 };
        for row in set.training.iter().cycle().take(times * set.training.len()) {
            let mut own = Pair {
                claim: row.claim.clone(),
                text: row.text.clone(),
                class: class(row.supports),
            };
            if set.name == "tweets" {
                if first {
                    own = with_subject_claim(row, 0, random).unwrap_or(own);
                } else if random.percent(50) {
                    pairs.extend(with_subject_claim(row, 1, random));
                }
            } else if random.percent(NEGATED)
                && let Some(negated) = question::negated(&row.claim)
            {
                pairs.push(Pair {
                    claim: negated,
                    text: row.text.clone(),
                    class: class(!row.supports),
                });
            }
            if random.percent(UNRELATED) {
                pairs.push(Pair {
                    claim: claims[random.below(claims.len())].to_owned(),
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
            None if random.percent(UNCOMPARED / 2) => vec![(as_is, Class::Neither)],
            None if random.percent(UNCOMPARED / 2) => vec![(swapped, Class::Neither)],
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

/// A tweet with a random claim about its subject, from the claim with index `from` on. Claims for and against the subject keep the
/// encoder from learning the two subjects by heart.
fn with_subject_claim(row: &StanceExample, from: usize, random: &mut Random) -> Option<Pair> {
    let (_, claims) = TWEET_SUBJECTS
        .iter()
        .find(|(subject, _)| *subject == row.group)?;
    let (claim, agrees) = claims[from + random.below(claims.len() - from)];
    Some(Pair {
        claim: claim.to_owned(),
        text: row.text.clone(),
        class: class(row.supports == agrees),
    })
}

/// The comparison with its objects replaced by OBJA and OBJB, and with the two swapped. Of several sentences, the one that names both
/// objects is taken.
pub fn masked(comparison: &Comparison) -> [String; 2] {
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

/// Batches of the indices of pairs of similar length, in random order.
fn batches(tokenized: &[Encoding], random: &mut Random) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tokenized.len()).collect();
    random.shuffle(&mut order);
    let mut batches = Vec::new();
    for part in order.chunks_mut(CHUNK) {
        part.sort_by_key(|&at| tokenized[at].len());
        batches.extend(part.chunks(BATCH).map(<[usize]>::to_vec));
    }
    random.shuffle(&mut batches);
    batches
}

/// The macro-F1 of PRO and CON on the development part of each collection, and the share of texts for which "neither" was the
/// likeliest class.
fn on_dev(encoder: &PairEncoder, sets: &[StanceSet], comparisons: &[Comparison]) -> Result<String> {
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

/// The macro-F1 of the answers "first object", "second object" and "neither" on comparisons.
pub fn on_comparisons(encoder: &PairEncoder, comparisons: &[Comparison]) -> Result<f64> {
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
