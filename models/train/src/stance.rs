//! `train stance`: trains the stance encoder, which starts from all-MiniLM-L6-v2, on claims and texts.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context, Result};
use candle_core::Device;
use rayon::prelude::*;
use riposte::reading::pieces::Pieces;
use riposte::reading::stance_encoder::{
    self, MAX_TOKENS, StanceClass, StanceEncoder, StanceReading, TrainedTensor,
};
use riposte::score::object_stance::{Objects, PREFERENCE};
use riposte_nn::tokens::Tokenizer;
use seeded_random::Random;
use tokenizers::Encoding;

use crate::base_model::BaseModel;
use crate::checkpoint;
use crate::data::{self, Challenge, Comparison, Match, StanceExample, StanceSet, TWEET_SUBJECTS};
use crate::measures::{macro_f1, spearman};
use crate::network::{Batch, Network, Target};
use crate::operations::to_vec;
use crate::optimiser::Optimiser;
use crate::targets::{self, TargetExample, TargetSet, Targets};
use crate::twins::{self, Side};

/// The settings of training. The defaults were chosen on the development parts; the card of the weights names them.
pub struct Recipe {
    pub seed: u64,
    pub passes: usize,
    /// The highest learning rates of the encoder and of the head.
    pub rates: [f64; 2],
    /// The weight file that a second training begins with. It learns the stance towards targets, and repeats a part of what the first has learned.
    pub after: Option<PathBuf>,
    /// Collections that the second training does not learn from, so that they can be measured as a stranger's.
    pub without: Vec<String>,
    /// Whether the second training leaves out the parts of the collections of targets that are for measuring.
    pub holds_out: bool,
}

/// Pairs in a batch.
const BATCH: usize = 32;
/// Pairs whose gradients are computed together. Several such parts of a batch are computed at once, but added in a fixed order, so that the
/// weights do not depend on the number of threads.
const PART: usize = 8;
/// Batches are cut from chunks of this many pairs that are sorted by length, so that there is little padding.
const CHUNK: usize = 40 * BATCH;
/// Label smoothing: this share of the probability is spread over all classes.
const SMOOTHING: f32 = 0.05;
/// The share of all steps in which the learning rate rises; it falls linearly in the rest.
const WARM_UP: f64 = 0.06;
/// Steps between two checkpoints of training.
const KEPT_EVERY: usize = 200;

/// Percentages of the pairs of a pass.
mod share {
    /// Arguments of argq30k that a pass shows. Not all are needed, because there are many for each topic.
    pub const RATED: usize = 60;
    /// Claims that are also shown negated or otherwise reversed, with the opposite label.
    pub const OTHER_CLAIM: usize = 30;
    /// Texts that are also shown as a twin.
    pub const TWIN: usize = 35;
    /// Texts that are also shown with an unrelated claim; half of these claims are chosen for sharing words with the text.
    pub const UNRELATED: usize = 10;
    /// Texts whose claim is also shown with a text that takes no side.
    pub const NEUTRAL: usize = 5;
    /// Matches of arguments and key points.
    pub const MATCHES: usize = 8;
    /// Sentences of CompSent-19 without a comparison, which are nearly three quarters of it.
    pub const UNCOMPARED: usize = 35;
}

/// Percentages of the pairs of a pass of the second training.
mod second {
    /// Pairs of the first training that are repeated, so that nothing is forgotten.
    pub const REPEATED: usize = 40;
    /// Of these, comparisons of two objects.
    pub const COMPARED: usize = 70;
    /// Texts of several sentences that are also shown by their last sentences alone, as riposte reads them.
    pub const ENDING: usize = 30;
    /// Texts that are also shown with another claim about their target.
    pub const OTHER_CLAIM: usize = 60;
    /// Texts that are also shown with a target that they are not about.
    pub const UNRELATED: usize = 35;
    /// Texts that name their target and are also shown as a judgement of one of two objects.
    pub const OBJECT: usize = 25;
    /// Repeated texts that are shown as a post.
    pub const POST: usize = 8;
}

/// The number of generated comparisons in a pass, and how often a pass shows each hard pair.
const MADE_COMPARISONS: usize = 400;
const HARD_PAIR_TIMES: usize = 2;

/// A claim, a text, and their labels.
#[derive(Clone, Debug)]
struct Pair {
    claim: String,
    text: String,
    target: Target,
}

impl Pair {
    /// A text that takes a side, or none, on the claim that it is about.
    fn on_topic(claim: &str, text: &str, class: StanceClass) -> Pair {
        Pair {
            claim: claim.to_owned(),
            text: text.to_owned(),
            target: Target {
                class: Some(class),
                quality: None,
                relevance: Some(1.0),
            },
        }
    }

    fn off_topic(claim: &str, text: &str) -> Pair {
        let mut pair = Pair::on_topic(claim, text, StanceClass::Neither);
        pair.target.relevance = Some(0.0);
        pair
    }
}

/// The training data.
struct Material {
    sets: Vec<StanceSet>,
    comparisons: Vec<Comparison>,
    /// Comparisons that were written for training.
    written_comparisons: Vec<Comparison>,
    matches: Vec<Match>,
    hard_pairs: Vec<Challenge>,
    /// What the second training adds; empty in the first.
    targets: Vec<TargetSet>,
    /// The distinct claims of all sets but the tweets, with their words.
    claims: Vec<(String, HashSet<String>)>,
}

impl Material {
    fn read(dir: &Path, recipe: &Recipe) -> Result<Material> {
        let mut sets = data::stance_sets(dir)?;
        sets.retain(|set| !recipe.without.iter().any(|name| name == set.name));
        let mut targets = Vec::new();
        if recipe.after.is_some() {
            targets = targets::target_sets(dir)?;
            targets.retain(|set| !recipe.without.iter().any(|name| name == set.name));
            if recipe.holds_out {
                for set in &mut targets {
                    set.all = set.divided().training;
                }
            }
        }
        let of_argkp = sets.iter().filter(|set| set.name == "ArgKP");
        let topics: HashSet<&str> = of_argkp
            .flat_map(|set| set.training.iter().map(|row| row.group.as_str()))
            .collect();
        let matches = data::matches(dir, "train", &topics)?;
        let mut claims: Vec<String> = sets
            .iter()
            .filter(|set| set.name != "tweets")
            .flat_map(|set| set.training.iter().map(|row| row.claim.clone()))
            .collect();
        claims.sort_unstable();
        claims.dedup();
        let mut hard_pairs = data::written_pairs()?;
        hard_pairs.extend(data::challenges("learn")?);
        Ok(Material {
            comparisons: data::comparisons(&dir.join("comparative/compsent19-train.csv"))?,
            written_comparisons: data::written_comparisons()?,
            matches,
            hard_pairs,
            targets,
            claims: claims
                .into_iter()
                .map(|claim| {
                    let words = content_words(&claim);
                    (claim, words)
                })
                .collect(),
            sets,
        })
    }
}

/// The words of a text that have at least four letters, each cut to its first five.
fn content_words(text: &str) -> HashSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() >= 4 && !matches!(*word, "should" | "that" | "this"))
        .map(|word| word.chars().take(5).collect())
        .collect()
}

/// Trains, prints the progress, and calls `save` with the weight file after each pass. A training that was stopped continues from the file
/// `checkpoint`.
pub fn train(
    dir: &Path,
    models: Option<&Path>,
    recipe: &Recipe,
    checkpoint: &Path,
    save: &dyn Fn(&[u8]) -> Result<()>,
) -> Result<()> {
    let base = BaseModel::find(models)?;
    let material = Material::read(dir, recipe)?;
    let dev_targets: Vec<(&str, Vec<TargetExample>)> = targets::target_sets(dir)?
        .iter()
        .map(|set| (set.name, set.divided().dev))
        .collect();
    let dev_comparisons = data::comparisons(&dir.join("comparative/compsent19-val.csv"))?;
    let tokenizer = stance_encoder::tokenizer(&base.dir)?;
    let mut random = Random::new(recipe.seed, "stance", 0);
    let network = Network::new(&base.dir, MAX_TOKENS, &mut random, device())?;
    let published: Vec<Vec<f32>> = values(&network)?;
    if let Some(path) = &recipe.after {
        let first = fs::read(path)
            .with_context(|| format!("cannot read the weights {}", path.display()))?;
        network.begin_with(&first, &base.sha256)?;
    }
    let mut optimiser = Optimiser::new(&network.parameters);
    let made_by = format!(
        "{} {} {} {:?} {:?} {:x}",
        base.sha256,
        recipe.seed,
        recipe.passes,
        recipe.rates,
        recipe.after,
        fingerprint(&pass_of(&material, recipe, 0)),
    );
    let done_before = checkpoint::read(checkpoint, &made_by, &network, &mut optimiser)?;
    if done_before > 0 {
        println!(
            "continuing from step {done_before} of {}",
            checkpoint.display()
        );
    }
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(available_parallelism().map_or(1, usize::from))
        .build()?;
    let all_steps = (0..recipe.passes as u64)
        .map(|pass| {
            let pairs = pass_of(&material, recipe, pass);
            println!("pass {}: {} pairs", pass + 1, pairs.len());
            // each chunk but the last is a whole number of batches
            pairs.len().div_ceil(BATCH)
        })
        .sum();
    let mut progress = Progress::new(done_before, all_steps);
    let mut step = 0;
    for pass in 0..recipe.passes {
        let pairs = pass_of(&material, recipe, pass as u64);
        let tokenized = tokenize(&tokenizer, &pairs)?;
        let batches = batches(
            &tokenized,
            &mut Random::new(recipe.seed, "order", pass as u64),
        );
        for batch in &batches {
            step += 1;
            if step <= done_before {
                continue;
            }
            let rows: Vec<(&Encoding, Target)> = batch
                .iter()
                .map(|&at| (&tokenized[at], pairs[at].target))
                .collect();
            let (loss, gradients) =
                threads.install(|| gradients(&network, &rows, recipe.seed, step as u64))?;
            let done = (step - 1) as f64 / all_steps as f64;
            let factor = (done / WARM_UP + 1e-3)
                .min((1.0 - done) / (1.0 - WARM_UP))
                .max(0.0);
            let rates = recipe.rates.map(|rate| rate * factor);
            threads.install(|| optimiser.step(&network.parameters, &gradients, rates))?;
            progress.add(step, loss);
            if step % KEPT_EVERY == 0 {
                checkpoint::write(checkpoint, &made_by, &network, &optimiser)?;
            }
        }
        if step > done_before {
            let encoder = as_written(&network, &published, &base, recipe, &material.sets)?;
            let found = threads.install(|| {
                let mut found = on_dev(&encoder, &material.sets, &dev_comparisons)?;
                if recipe.after.is_none() || recipe.holds_out {
                    found += &on_targets(&encoder, &dev_targets)?;
                }
                Ok::<_, anyhow::Error>(found)
            })?;
            println!("after pass {}: {found}", pass + 1);
            save(&weight_file(&network, &published, &base, recipe, &found)?)?;
        }
    }
    checkpoint::remove(checkpoint)
}

/// A hash of the claims and texts, so that training never continues from a checkpoint of other data.
fn fingerprint(pairs: &[Pair]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for pair in pairs {
        (&pair.claim, &pair.text).hash(&mut hasher);
    }
    hasher.finish()
}

/// Prints the loss and the time left, every 50 steps.
struct Progress {
    started: Instant,
    from: usize,
    all: usize,
    losses: f64,
}

impl Progress {
    fn new(from: usize, all: usize) -> Progress {
        Progress {
            started: Instant::now(),
            from,
            all,
            losses: 0.0,
        }
    }

    fn add(&mut self, step: usize, loss: f64) {
        const EVERY: usize = 50;
        self.losses += loss;
        if step.is_multiple_of(EVERY) {
            let took = self.started.elapsed().as_secs_f64();
            let rate = took / (step - self.from) as f64;
            println!(
                "step {step} of {}, loss {:.3}, {took:.0} s, about {:.0} s left",
                self.all,
                self.losses / EVERY as f64,
                rate * self.all.saturating_sub(step) as f64,
            );
            self.losses = 0.0;
        }
    }
}

/// The loss of a batch and its gradients, in the order of the parameters.
fn gradients(
    network: &Network,
    rows: &[(&Encoding, Target)],
    seed: u64,
    step: u64,
) -> Result<(f64, Vec<Vec<f32>>)> {
    let parts: Vec<(f64, Vec<Vec<f32>>)> = rows
        .par_chunks(PART)
        .enumerate()
        .map(|(n, part)| {
            let number = step * (BATCH / PART) as u64 + n as u64;
            let mut random = Random::new(seed, "dropout", number);
            let batch = Batch::new(part, MAX_TOKENS);
            let loss = network.loss(&batch, rows.len(), SMOOTHING, &mut random)?;
            let found = loss.backward()?;
            let gradients = network.parameters.iter().map(|parameter| {
                match found.get(parameter.var.as_tensor()) {
                    Some(gradient) => Ok(to_vec(gradient)?),
                    None => Ok(vec![0.0; parameter.var.elem_count()]),
                }
            });
            let gradients = gradients.collect::<Result<_>>()?;
            Ok((f64::from(loss.to_scalar::<f32>()?), gradients))
        })
        .collect::<Result<_>>()?;
    let mut parts = parts.into_iter();
    let (mut loss, mut sums) = parts.next().unwrap_or_default();
    for (of_part, gradients) in parts {
        loss += of_part;
        sums.par_iter_mut().zip(&gradients).for_each(|(sum, part)| {
            sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        });
    }
    Ok((loss, sums))
}

/// The encoder as riposte will run it. Prints how far its outputs are from the network's: they differ because it stores weights in four bits
/// and computes in another order.
fn as_written(
    network: &Network,
    published: &[Vec<f32>],
    base: &BaseModel,
    recipe: &Recipe,
    sets: &[StanceSet],
) -> Result<StanceEncoder> {
    let file = weight_file(network, published, base, recipe, "")?;
    let encoder = StanceEncoder::load_trained(&base.dir, &base.sha256, &file, base.backend)?;
    let rows = sets.iter().flat_map(|set| set.dev.iter().take(BATCH));
    let pairs: Vec<Pair> = rows
        .map(|row| Pair::on_topic(&row.claim, &row.text, class(row.supports)))
        .collect();
    let tokenized = tokenize(&stance_encoder::tokenizer(&base.dir)?, &pairs)?;
    let texts: Vec<(&str, &str)> = pairs
        .iter()
        .map(|p| (p.claim.as_str(), p.text.as_str()))
        .collect();
    let (mut sum, mut most) = (0f32, 0f32);
    for (tokenized, texts) in tokenized.chunks(BATCH).zip(texts.chunks(BATCH)) {
        let rows: Vec<(&Encoding, Target)> =
            tokenized.iter().map(|e| (e, Target::default())).collect();
        let ours = network.outputs(&Batch::new(&rows, MAX_TOKENS))?;
        let written = encoder.read(texts)?;
        let written = written.iter().flat_map(StanceReading::outputs);
        for (a, b) in ours.iter().flatten().zip(written) {
            sum += (a - b).abs();
            most = most.max((a - b).abs());
        }
    }
    let mean = sum / (pairs.len() * stance_encoder::OUTPUTS) as f32;
    println!("outputs of the written weights differ by {mean:.4} on average, {most:.4} at most");
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

/// The bytes of the weight file. Its card names the training data and the figures.
fn weight_file(
    network: &Network,
    published: &[Vec<f32>],
    base: &BaseModel,
    recipe: &Recipe,
    found: &str,
) -> Result<Vec<u8>> {
    let (targets, after) = match recipe.after {
        Some(_) => (", VAST, SemEval-2016 task 6A", " after a first training"),
        None => ("", ""),
    };
    let card = format!(
        "claims and texts; from Perspectrum, IBM claims, ArgKP, argq30k, debates, tweets, CompSent-19{targets}, and pairs of our own; CC BY-SA 4.0; \
         seed {}, {} passes{after}, rate {}; {found}",
        recipe.seed, recipe.passes, recipe.rates[0],
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
    stance_encoder::pack(&base.sha256, &card, &tensors)
}

fn class(supports: bool) -> StanceClass {
    if supports {
        StanceClass::Pro
    } else {
        StanceClass::Con
    }
}

/// The pairs of a pass of the first or the second training.
fn pass_of(material: &Material, recipe: &Recipe, pass: u64) -> Vec<Pair> {
    if recipe.after.is_none() {
        return one_pass(material, recipe.seed, pass);
    }
    let mut random = Random::new(recipe.seed, "second", pass);
    let random = &mut random;
    // the claims of tweets are fixed from the third pass on
    let mut pairs = one_pass(material, recipe.seed, pass + 2);
    pairs.retain(|pair| {
        let is_comparison = pair.claim == PREFERENCE;
        random.percent(if is_comparison {
            second::COMPARED
        } else {
            second::REPEATED
        })
    });
    for pair in &mut pairs {
        if pair.claim != PREFERENCE && random.percent(second::POST) {
            pair.text = targets::as_post(&pair.claim, &pair.text, random);
        }
    }
    for set in &material.targets {
        let of_texts = Targets::of(&set.all);
        for row in &set.all {
            pairs.push(of_target(&row.claim(), row, row.class));
            if random.percent(second::OTHER_CLAIM) {
                let (claim, same) = targets::other_claim(&row.target, random);
                let class = match row.class {
                    StanceClass::Neither => StanceClass::Neither,
                    StanceClass::Pro => class(same),
                    StanceClass::Con => class(!same),
                };
                pairs.push(of_target(&claim, row, class));
            }
            if let [_, ending] = Pieces::of(&row.text).sentences.as_slice()
                && random.percent(second::ENDING)
            {
                let mut pair = of_target(&row.claim(), row, row.class);
                pair.text = ending.clone().into_owned();
                pairs.push(pair);
            }
            if random.percent(second::UNRELATED)
                && let Some(target) = of_texts.unrelated(&row.text, random)
            {
                let (claim, _) = targets::other_claim(target, random);
                pairs.push(Pair::off_topic(&claim, &row.text));
            }
            if random.percent(second::OBJECT) {
                pairs.extend(of_object(row, random));
            }
        }
    }
    // posts are read with and without the hashtags at their end
    for pair in &mut pairs {
        let pieces = Pieces::of(&pair.text);
        if pair.claim != PREFERENCE && pieces.whole != pair.text.as_str() {
            let with_tags = pieces.with_tags.filter(|_| random.percent(50));
            pair.text = with_tags.unwrap_or_else(|| pieces.whole.into_owned());
        }
    }
    pairs
}

/// A text and a claim about its target. Whether a text that takes no side is about the target is unknown.
fn of_target(claim: &str, row: &TargetExample, class: StanceClass) -> Pair {
    let mut pair = Pair::on_topic(claim, &row.text, class);
    if row.class == StanceClass::Neither {
        pair.target.relevance = None;
    }
    pair
}

/// A text that names its target, as a judgement of one of two objects: who is for the target prefers it. None if the text does not name it.
fn of_object(row: &TargetExample, random: &mut Random) -> Option<Pair> {
    let lower = row.text.to_lowercase();
    let target = row.target.to_lowercase();
    if !lower.contains(&target) {
        return None;
    }
    let is_first = random.percent(50);
    let text = lower.replace(&target, if is_first { "OBJA" } else { "OBJB" });
    Some(of_objects(
        &text,
        match row.class {
            StanceClass::Neither => StanceClass::Neither,
            StanceClass::Pro => class(is_first),
            StanceClass::Con => class(!is_first),
        },
    ))
}

/// The pairs of a pass of the first training, in the order of the collections.
fn one_pass(material: &Material, seed: u64, pass: u64) -> Vec<Pair> {
    let mut random = Random::new(seed, "pairs", pass);
    let random = &mut random;
    let mut pairs = Vec::new();
    let rated: HashSet<&str> = material
        .sets
        .iter()
        .filter(|set| set.name == "argq30k")
        .flat_map(|set| set.training.iter().map(|row| row.text.as_str()))
        .collect();
    for set in &material.sets {
        // the smallest collection, with the hardest texts, is shown twice
        let times = if set.name == "IBM claims" { 2 } else { 1 };
        let is_tweets = set.name == "tweets";
        let opposites = (!is_tweets).then(|| ByClaim::new(&set.training));
        for row in set.training.iter().cycle().take(times * set.training.len()) {
            let is_skipped = match set.name {
                "argq30k" => !random.percent(share::RATED),
                "ArgKP" => rated.contains(row.text.as_str()),
                _ => false,
            };
            if is_skipped {
                continue;
            }
            let Some(opposites) = &opposites else {
                pairs.extend(of_tweet(row, pass, random));
                if random.percent(share::UNRELATED)
                    && let Some(claim) = other_claim(material, row, random)
                {
                    pairs.push(Pair::off_topic(claim, &row.text));
                }
                continue;
            };
            let mut own = Pair::on_topic(&row.claim, &row.text, class(row.supports));
            own.target.quality = row.quality.map(|quality| quality as f32);
            pairs.push(own);
            if random.percent(share::OTHER_CLAIM)
                && let Some((claim, same)) = twins::of_claim(&row.claim, random)
            {
                pairs.push(Pair::on_topic(
                    &claim,
                    &row.text,
                    class(row.supports == same),
                ));
            }
            if random.percent(share::TWIN) {
                let other = opposites.opposite_of(row, random);
                if let Some((text, side)) = twins::of_text(row, other, random) {
                    let class = match side {
                        Side::OfA => class(row.supports),
                        Side::AgainstA | Side::OfB => class(!row.supports),
                        Side::Neither => StanceClass::Neither,
                    };
                    pairs.push(Pair::on_topic(&row.claim, &text, class));
                }
            }
            if random.percent(share::UNRELATED)
                && let Some(claim) = other_claim(material, row, random)
            {
                pairs.push(Pair::off_topic(claim, &row.text));
            }
            if random.percent(share::NEUTRAL) {
                let (text, is_unrelated) = twins::neutral(&row.claim, random);
                pairs.push(if is_unrelated {
                    Pair::off_topic(&row.claim, &text)
                } else {
                    Pair::on_topic(&row.claim, &text, StanceClass::Neither)
                });
            }
        }
    }
    for row in &material.matches {
        if random.percent(share::MATCHES) {
            let mut pair = Pair::on_topic(&row.key_point, &row.argument, StanceClass::Pro);
            if !row.matches {
                // it is unknown whether the argument supports another point of its side
                pair.target.class = None;
                pair.target.relevance = Some(0.0);
            }
            pairs.push(pair);
        }
    }
    for row in &material.hard_pairs {
        for _ in 0..HARD_PAIR_TIMES {
            let twin = random
                .percent(share::OTHER_CLAIM)
                .then(|| twins::of_claim(&row.claim, random));
            let (claim, same) = twin.flatten().unwrap_or((row.claim.clone(), true));
            let class = match row.class {
                StanceClass::Pro => class(same),
                StanceClass::Con => class(!same),
                StanceClass::Neither => StanceClass::Neither,
            };
            let mut pair = Pair::on_topic(&claim, &row.text, class);
            if row.class == StanceClass::Neither {
                // some of these texts are about the claim
                pair.target.relevance = None;
            }
            pairs.push(pair);
        }
    }
    // a pass shows one order of the objects: shown both, the encoder learns the sentences by heart
    for comparison in &material.comparisons {
        if comparison.first_is_better.is_none() && !random.percent(share::UNCOMPARED) {
            continue;
        }
        let order = random.below(2);
        pairs.push(of_comparison(comparison, order));
    }
    for comparison in &material.written_comparisons {
        pairs.extend([0, 1].map(|order| of_comparison(comparison, order)));
    }
    for _ in 0..MADE_COMPARISONS {
        let (text, first_is_better) = twins::comparison(random);
        pairs.push(of_objects(
            &text,
            first_is_better.map_or(StanceClass::Neither, class),
        ));
    }
    pairs
}

/// The sentence with its objects in the given order (0) or swapped (1).
fn of_comparison(comparison: &Comparison, order: usize) -> Pair {
    let class = match comparison.first_is_better {
        Some(better) => class(better == (order == 0)),
        None => StanceClass::Neither,
    };
    of_objects(&masked(comparison)[order], class)
}

/// A sentence about OBJA and OBJB.
fn of_objects(text: &str, class: StanceClass) -> Pair {
    let mut pair = Pair::on_topic(PREFERENCE, text, class);
    pair.target.relevance = None;
    pair
}

/// A tweet with a random one of the claims about its subject. Claims for and against the subject keep the encoder from learning the two subjects
/// by heart. From the third pass on, the tweet is also shown with the claim that it is labelled for.
fn of_tweet(row: &StanceExample, pass: u64, random: &mut Random) -> Vec<Pair> {
    let subject = TWEET_SUBJECTS
        .iter()
        .find(|(subject, _)| *subject == row.group);
    let Some((_, claims)) = subject else {
        return Vec::new();
    };
    let (claim, agrees) = claims[random.below(claims.len())];
    let mut pairs = vec![Pair::on_topic(
        claim,
        &row.text,
        class(row.supports == agrees),
    )];
    if pass >= 2 {
        pairs.push(Pair::on_topic(&row.claim, &row.text, class(row.supports)));
    }
    pairs
}

/// The rows of a collection by claim and stance.
struct ByClaim<'a>(HashMap<(&'a str, bool), Vec<&'a StanceExample>>);

impl<'a> ByClaim<'a> {
    fn new(rows: &'a [StanceExample]) -> ByClaim<'a> {
        let mut by_claim: HashMap<_, Vec<&StanceExample>> = HashMap::new();
        for row in rows {
            let key = (row.claim.as_str(), row.supports);
            by_claim.entry(key).or_default().push(row);
        }
        ByClaim(by_claim)
    }

    /// A text about the same claim with the opposite stance.
    fn opposite_of(&self, row: &StanceExample, random: &mut Random) -> Option<&'a StanceExample> {
        let rows = self.0.get(&(row.claim.as_str(), !row.supports))?;
        rows.get(random.below(rows.len())).copied()
    }
}

/// A claim that the text is not about: a random one, or that one of several which shares most words with the text. Claims that share a word
/// with the text's own claim are left out.
fn other_claim<'m>(
    material: &'m Material,
    row: &StanceExample,
    random: &mut Random,
) -> Option<&'m str> {
    const LOOKED_AT: usize = 40;
    let (own, text) = (content_words(&row.claim), content_words(&row.text));
    let looked_at = if random.percent(50) { 1 } else { LOOKED_AT };
    let mut best: Option<(usize, &str)> = None;
    for _ in 0..looked_at {
        let (claim, words) = &material.claims[random.below(material.claims.len())];
        let shared = words.intersection(&text).count();
        if words.is_disjoint(&own) && best.is_none_or(|(most, _)| shared > most) {
            best = Some((shared, claim));
        }
    }
    best.map(|(_, claim)| claim)
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
    Ok(tokenizer.encode(texts)?)
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
fn on_dev(
    encoder: &StanceEncoder,
    sets: &[StanceSet],
    comparisons: &[Comparison],
) -> Result<String> {
    let mut line = String::new();
    for set in sets {
        let pairs: Vec<(&str, &str)> = set
            .dev
            .iter()
            .map(|row| (row.claim.as_str(), row.text.as_str()))
            .collect();
        let readings = encoder.read(&pairs)?;
        let logits: Vec<_> = readings.iter().map(|reading| reading.stance).collect();
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
        let qualities: Vec<(f64, f64)> = set
            .dev
            .iter()
            .zip(&readings)
            .filter_map(|(row, reading)| Some((f64::from(reading.quality), row.quality?)))
            .collect();
        if !qualities.is_empty() {
            let _ = write!(line, "quality {:.3}, ", spearman(&qualities));
        }
    }
    let _ = write!(
        line,
        "CompSent {:.3}",
        on_comparisons(encoder, comparisons)?
    );
    Ok(line)
}

/// On texts about targets: the macro-F1 of the three classes, and that of PRO against CON, where the text takes a side and the likelier of the two is
/// the answer.
fn on_targets(encoder: &StanceEncoder, sets: &[(&str, Vec<TargetExample>)]) -> Result<String> {
    let mut line = String::new();
    for (name, rows) in sets {
        let claims: Vec<String> = rows.iter().map(TargetExample::claim).collect();
        let texts = rows.iter().map(|row| row.text.as_str());
        let pairs: Vec<(&str, &str)> = claims.iter().map(String::as_str).zip(texts).collect();
        let logits = encoder.logits(&pairs)?;
        let likeliest = |[con, pro, neither]: &[f32; 3]| match () {
            () if neither >= con && neither >= pro => StanceClass::Neither,
            () if pro > con => StanceClass::Pro,
            () => StanceClass::Con,
        };
        let three = macro_f1(
            rows.iter().map(|row| row.class),
            logits.iter().map(likeliest),
        );
        let sided = || {
            rows.iter()
                .zip(&logits)
                .filter(|(row, _)| row.class != StanceClass::Neither)
        };
        let two = macro_f1(
            sided().map(|(row, _)| row.class == StanceClass::Pro),
            sided().map(|(_, [con, pro, _])| pro > con),
        );
        let _ = write!(line, ", {name} {three:.3} (three), {two:.3}");
    }
    Ok(line)
}

/// The macro-F1 of the answers "first object", "second object" and "neither" on comparisons.
pub fn on_comparisons(encoder: &StanceEncoder, comparisons: &[Comparison]) -> Result<f64> {
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
