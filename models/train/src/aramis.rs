//! `train aramis`: the networks of the published system Aramis, for argumentativeness and for stance. The team had some 9,500
//! labels. Here there are only some 170 pictures, so training stops early and weights decay.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use riposte::evidence::sentiment::Vader;
use riposte::evidence::{
    Evidence, PageEvidence, PartValue, TextPart, VaderValence, ocr_text, picture,
};
use riposte::index::analyzer::Analyzer;
use riposte::index::images::ImageEvidence;
use riposte::recipes::image_approach::ImageApproach;
use riposte::systems::aramis::layers::DenseLayer;
use riposte::systems::aramis::networks::{
    ArgumentInputs, ArgumentNetwork, StanceNetwork, side, stance_inputs, tokens,
};
use riposte_eval::DocId;

use crate::aramis_learning::{
    ArgumentLearner, CON, Example, Learner, NEUTRAL, PRO, StanceInputs, StanceLearner, learn,
};
use crate::data::{TWEET_SUBJECTS, without_links};
use crate::images::{Judged, Tweet, judged_sample, read_tweets};
use crate::measures::{auc, macro_f1};

#[derive(clap::Args)]
pub struct Options {
    /// Directory of the development data
    #[arg(long)]
    data: PathBuf,
    /// The output of `riposte read` for imagearg/images/*.jpg
    #[arg(long)]
    ocr: PathBuf,
    /// The evidence of images/sample (`riposte extract`)
    #[arg(long)]
    evidence: PathBuf,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory for aramis-argument.toml and aramis-stance.toml
    #[arg(short)]
    output: PathBuf,
}

/// Prints the figures of cross-validation, and writes both networks.
pub fn run(options: &Options) -> Result<()> {
    let analyzer = ImageApproach::find("aramis")?.relevance.analyzer;
    let tweets = read_tweets(&options.data, &options.ocr)?;
    let judged = judged_sample(&options.data, &options.evidence)?;
    let (arguments, stances) = examples(&tweets, &judged, &analyzer)?;
    let write = |name: &str, text: String| {
        let path = options.output.join(name);
        fs::write(&path, text)
            .with_context(|| format!("cannot write the weights to {}", path.display()))
    };
    let argument = ArgumentLearner::default();
    let head = head(
        "argumentativeness",
        "aramis-argument.toml",
        &arguments,
        &argument_figures(&arguments, &argument, options.seed),
        "argues or not: the picture made its tweet more persuasive, or was judged to be PRO or CON",
    );
    print!("{head}");
    let all: Vec<&Example<ArgumentInputs>> = arguments.iter().collect();
    let network = learn(&argument, &all, options.seed).0;
    let mut text = format!(
        "{head}\nfilter = [{}]\nfilter_bias = {:.5}\n",
        numbers(&network.filter),
        network.filter_bias
    );
    for (name, layers) in [
        ("map", &network.map),
        ("colours", &network.colours),
        ("trunk", &network.trunk),
    ] {
        write_layers(&mut text, name, layers);
    }
    write("aramis-argument.toml", text)?;

    let stance = StanceLearner::default();
    let head = self::head(
        "stance",
        "aramis-stance.toml",
        &stances,
        &stance_figures(&stances, &stance, options.seed),
        "CON, neutral or PRO: the stance of the tweet, or the judgement; a tweet is also neutral towards the claim of the other subject",
    );
    print!("{head}");
    let all: Vec<&Example<StanceInputs>> = stances.iter().collect();
    let network = learn(&stance, &all, options.seed).0;
    let mut text = format!("{head}\n");
    write_layers(&mut text, "layers", &network.layers);
    write("aramis-stance.toml", text)
}

/// The first lines of a weight file.
fn head<I>(what: &str, file: &str, rows: &[Example<I>], figures: &str, classes: &str) -> String {
    format!(
        "# The network of Aramis for {what}, with riposte's own weights: src/systems/aramis/networks.rs.\n\
         # train aramis --data DATA --ocr OCR --evidence EVIDENCE -o models/own (which writes {file})\n\
         # From {} examples with the pictures of imagearg and images/sample ({classes}).\n\
         # Figures for each of the two subjects and two topics, by weights learned from the others:\n{figures}",
        rows.len()
    )
}

fn numbers(row: &[f64]) -> String {
    let rounded: Vec<String> = row.iter().map(|x| format!("{x:.4}")).collect();
    rounded.join(", ")
}

fn write_layers(text: &mut String, name: &str, layers: &[DenseLayer]) {
    let _ = writeln!(text, "{name} = [");
    for layer in layers {
        let _ = writeln!(text, "  {{ weights = [");
        for row in &layer.weights {
            let _ = writeln!(text, "    [{}],", numbers(row));
        }
        let _ = writeln!(text, "  ], bias = [{}] }},", numbers(&layer.bias));
    }
    let _ = writeln!(text, "]");
}

type Examples = (Vec<Example<ArgumentInputs>>, Vec<Example<StanceInputs>>);

/// The examples of both networks.
fn examples(tweets: &[Tweet], judged: &[Judged], analyzer: &Analyzer) -> Result<Examples> {
    let (mut arguments, mut stances) = (Vec::new(), Vec::new());
    let claims = TWEET_SUBJECTS.map(|(subject, claims)| (subject, tokens(analyzer, claims[0].0)));
    for tweet in tweets {
        let image = image_of(tweet)?;
        arguments.push(Example {
            group: tweet.subject.clone(),
            inputs: ArgumentInputs::of(&image),
            class: usize::from(tweet.persuades),
            weight: 1.0,
        });
        for (subject, claim) in &claims {
            let class = match (*subject == tweet.subject, tweet.supports) {
                (false, _) => NEUTRAL,
                (true, true) => PRO,
                (true, false) => CON,
            };
            stances.push(Example {
                group: tweet.subject.clone(),
                inputs: stance_inputs(&image, claim, analyzer),
                class,
                weight: 1.0,
            });
        }
    }
    for of in judged {
        let group = of.topic.id.0.clone();
        if of.on_topic {
            arguments.push(Example {
                group: group.clone(),
                inputs: ArgumentInputs::of(&of.image),
                class: usize::from(of.sides.contains(&true)),
                weight: 1.0,
            });
        }
        let class = match of.sides {
            [true, false] => PRO,
            [false, true] => CON,
            _ => NEUTRAL,
        };
        stances.push(Example {
            group,
            inputs: stance_inputs(&of.image, &tokens(analyzer, &of.topic.title), analyzer),
            class,
            weight: 1.0,
        });
    }
    // each class counts as much as the neutral one, as in the program of Aramis
    let count = |class| stances.iter().filter(|e| e.class == class).count() as f64;
    let counts = [CON, NEUTRAL, PRO].map(count);
    for example in &mut stances {
        example.weight = counts[NEUTRAL] / counts[example.class];
    }
    Ok((arguments, stances))
}

/// The evidence of a tweet's picture, with the tweet as the words around it.
fn image_of(tweet: &Tweet) -> Result<ImageEvidence> {
    let decoded = picture::decode(&fs::read(&tweet.image)?)?;
    let picture = picture::measure(&decoded.image, &tweet.lines);
    let ocr = ocr_text(&tweet.lines);
    let near = without_links(&tweet.text);
    let vader = Vader::new();
    let sentiment = |page: &str, part, text: &str| PartValue {
        page: page.to_owned(),
        part,
        value: VaderValence(vader.compound(text)),
    };
    let mut evidence = Evidence::of(DocId(tweet.image.display().to_string()));
    evidence.put(vec![
        sentiment("tweet", TextPart::Near, &near),
        sentiment("", TextPart::Ocr, &ocr),
    ]);
    evidence.put(tweet.lines.clone());
    evidence.put(picture);
    evidence.put(vec![PageEvidence {
        id: "tweet".to_owned(),
        ..PageEvidence::default()
    }]);
    Ok(ImageEvidence {
        evidence,
        ocr_text: ocr,
        was_read: true,
        near_text: near,
    })
}

/// For each example the output of a network that was trained on the other groups.
fn held_out<L: Learner, T>(
    examples: &[Example<L::Inputs>],
    learner: &L,
    seed: u64,
    say: impl Fn(&L::Network, &L::Inputs) -> T,
) -> Vec<T> {
    let mut networks: Vec<(&str, L::Network)> = Vec::new();
    let mut said = Vec::new();
    for example in examples {
        let group = example.group.as_str();
        if networks.iter().all(|(of, _)| *of != group) {
            let others: Vec<_> = examples.iter().filter(|e| e.group != group).collect();
            networks.push((group, learn(learner, &others, seed).0));
        }
        let network = networks.iter().find(|(of, _)| *of == group);
        said.extend(network.map(|(_, network)| say(network, &example.inputs)));
    }
    said
}

fn share(right: impl Iterator<Item = bool>) -> f64 {
    let right: Vec<bool> = right.collect();
    right.iter().filter(|is| **is).count() as f64 / right.len().max(1) as f64
}

/// The commonest class.
fn majority<I>(examples: &[Example<I>]) -> usize {
    let count = |class: &usize| examples.iter().filter(|e| e.class == *class).count();
    (0..3).max_by_key(count).unwrap_or(0)
}

fn argument_figures(
    examples: &[Example<ArgumentInputs>],
    learner: &ArgumentLearner,
    seed: u64,
) -> String {
    let argues = held_out(examples, learner, seed, ArgumentNetwork::argues);
    let right = examples
        .iter()
        .zip(&argues)
        .map(|(e, p)| (*p > 0.5) == (e.class == 1));
    let most = majority(examples);
    let scored = examples.iter().zip(&argues);
    format!(
        "# accuracy {:.3} (the commonest class: {:.3}), AUC over pairs within a group {:.3} (chance: .5)\n",
        share(right),
        share(examples.iter().map(|e| e.class == most)),
        auc(scored.map(|(e, p)| (e.group.clone(), *p, e.class == 1)))
    )
}

fn stance_figures(
    examples: &[Example<StanceInputs>],
    learner: &StanceLearner,
    seed: u64,
) -> String {
    let say = |network: &StanceNetwork, inputs: &StanceInputs| network.probabilities(inputs);
    let found = held_out(examples, learner, seed, say);
    let class = |p: &[f64; 3]| (side(*p) + 1) as usize;
    let truth = || examples.iter().map(|e| e.class);
    let most = majority(examples);
    let sided: Vec<(&Example<StanceInputs>, bool)> = (examples.iter().zip(&found))
        .filter(|(e, _)| e.class != NEUTRAL)
        .map(|(e, p)| (e, (p[PRO] > p[CON]) == (e.class == PRO)))
        .collect();
    let pro = share(sided.iter().map(|(e, _)| e.class == PRO));
    format!(
        "# three classes: accuracy {:.3} (the commonest class: {:.3}), macro-F1 {:.3} (the commonest class: {:.3})\n\
         # PRO against CON, for the {} examples that are either: accuracy {:.3} (the commonest class: {:.3})\n",
        share(truth().zip(&found).map(|(truth, p)| truth == class(p))),
        share(truth().map(|truth| truth == most)),
        macro_f1(truth(), found.iter().map(class)),
        macro_f1(truth(), truth().map(|_| most)),
        sided.len(),
        share(sided.iter().map(|(_, right)| *right)),
        pro.max(1.0 - pro)
    )
}
