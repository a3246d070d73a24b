//! `train evaluate-heads`: compares the stance models with the baselines that they have to beat, on the development parts.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte::evidence::sentence::Sentences;
use riposte::evidence::sentiment::{Afinn, Vader};
use riposte::reading::pieces::ClaimedPieces;
use riposte::reading::stance_encoder::{StanceClass, StanceEncoder};
use riposte::score::object_stance::{self, Objects, PREFERENCE};
use riposte::score::text_stance::TextStanceModel;
use riposte::weights::{ModelStatus, Models};
use riposte_eval::ObjectStance;

use crate::Sources;
use crate::data::{self, StanceExample, StanceSet};
use crate::fit::logistic_regression;
use crate::measures::{Answer, calibration_error, macro_f1, reliability, spearman};
use crate::stance::{masked, on_comparisons};
use crate::text_stance::{Figures, Inputs, read, sided, sources};

/// Maximum number of texts of a collection that the regression over frozen vectors learns from.
const FROZEN_EXAMPLES: usize = 3000;
/// L2 penalty of the regression over frozen vectors.
const FROZEN_PENALTY: f64 = 1.0;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    sources: Sources,
    /// The weights of `stance --after … --hold-out`, for the figures of texts about targets
    #[arg(long, value_name = "FILE")]
    held_out: Option<PathBuf>,
    /// Write a reliability plot of all answers to this SVG file
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// Prints a table in Markdown.
pub fn run(options: &Options) -> Result<()> {
    let models = options.sources.models.as_deref();
    let base = options.sources.encoder()?;
    let encoder = base.stance_encoder()?;
    let sentences = Sentences::load(&base.dir, base.backend)?;
    let afinn = match Models::at(models)?.find("afinn")? {
        ModelStatus::Ready(model) => Some(Afinn::load(&model.path("AFINN-en-165.txt"))?),
        _ => None,
    };
    let vader = Vader::new();
    let model = TextStanceModel::committed();
    println!(
        "| development part | texts | majority | VADER | AFINN | frozen vectors | words | stance encoder | together | ECE |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    let mut all = Vec::new();
    for set in data::stance_sets(&options.sources.data)? {
        let mut row = format!("| {} | {} |", set.name, set.dev.len());
        let mut column = |found: Option<Vec<bool>>| {
            let _ = match found {
                Some(found) => write!(row, " {:.3} |", f1(&set.dev, &found)),
                None => write!(row, " – |"),
            };
        };
        let pro = set.training.iter().filter(|row| row.supports).count() * 2 > set.training.len();
        column(Some(vec![pro; set.dev.len()]));
        let by_sign = |valence: &dyn Fn(&str) -> f64| {
            let found = set.dev.iter().map(|row| valence(&row.text) >= 0.0);
            Some(found.collect())
        };
        column(by_sign(&|text| vader.compound(text)));
        column(
            afinn
                .as_ref()
                .and_then(|afinn| by_sign(&|text| afinn.valence(text).sum)),
        );
        column(Some(frozen(&sentences, &set)?));
        let words = |row: &StanceExample| model.words(&row.claim, &row.text) > 0.0;
        column(Some(set.dev.iter().map(words).collect()));
        let readings = read(&encoder, sided(&set))?;
        // the first piece is the beginning of the text, or all of it
        let of_whole = readings.iter().map(|reading| {
            let logits = reading.logits.first();
            logits.is_some_and(|[con, pro, _]| pro > con)
        });
        column(Some(of_whole.collect()));
        let answers: Vec<Answer> = readings
            .iter()
            .map(|reading| {
                let s = reading.stances(model);
                (s.pro_of_sides(), reading.class == StanceClass::Pro)
            })
            .collect();
        let together = answers.iter().map(|(probability, _)| *probability > 0.5);
        column(Some(together.collect()));
        println!("{row} {:.3} |", calibration_error(&answers));
        all.extend(answers);
    }
    comparisons(&options.sources.data, &encoder)?;
    if let Some(held_out) = &options.held_out {
        targets(
            &Inputs {
                data: &options.sources.data,
                models,
                held_out,
            },
            model,
        )?;
    }
    qualities(&options.sources.data, &encoder)?;
    challenges(&encoder, model)?;
    if let Some(path) = &options.plot {
        fs::write(path, plot(&all)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Prints the figures of comments and tweets about targets, as weights read them that have not learned from them.
fn targets(inputs: &Inputs, model: &TextStanceModel) -> Result<()> {
    println!(
        "\n| texts about targets | texts | three classes | PRO and CON of three | ECE | PRO against CON | ECE |\n|---|---|---|---|---|---|---|"
    );
    for source in sources(inputs)? {
        if !matches!(source.name, "VAST" | "SemEval") {
            continue;
        }
        let found = Figures::of(&source.readings, model);
        println!(
            "| {} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            source.name,
            source.readings.len(),
            found.classes.0,
            found.pro_and_con,
            found.classes.1,
            found.sides.0,
            found.sides.1
        );
    }
    Ok(())
}

/// Prints how well the encoder's quality agrees with people's ratings of arguments, on topics that it was not trained on.
fn qualities(dir: &Path, encoder: &StanceEncoder) -> Result<()> {
    let dev = data::rated_arguments(&dir.join("stance/argq30k-dev.csv.gz"))?;
    let pairs: Vec<(&str, &str)> = dev
        .iter()
        .map(|row| (row.claim.as_str(), row.text.as_str()))
        .collect();
    let readings = encoder.read(&pairs)?;
    let pairs: Vec<(f64, f64)> = dev
        .iter()
        .zip(&readings)
        .filter_map(|(row, reading)| Some((f64::from(reading.quality), row.quality?)))
        .collect();
    println!(
        "\nQuality of {} arguments of argq30k, Spearman: {:.3}",
        pairs.len(),
        spearman(&pairs)
    );
    Ok(())
}

/// Prints the macro-F1 of the three classes on the hard pairs, by phenomenon. The encoder was trained on the part `learn`.
fn challenges(encoder: &StanceEncoder, model: &TextStanceModel) -> Result<()> {
    println!(
        "\n| phenomenon | pairs to learn from | macro-F1 | pairs kept back | macro-F1 |\n|---|---|---|---|---|"
    );
    let mut parts: Vec<Vec<(String, StanceClass, StanceClass)>> = Vec::new();
    for part in ["learn", "kept"] {
        let rows = data::challenges(part)?;
        let texts = rows.iter();
        let pieces = ClaimedPieces::of(texts.map(|row| (row.claim.as_str(), row.text.as_str())));
        let logits = pieces.by_text(encoder.logits(&pieces.pairs())?);
        let answers = rows.iter().zip(&logits).map(|(row, logits)| {
            let s = model.stances(&row.claim, &row.text, Some(logits));
            let found = if s.neither >= s.pro.max(s.con) {
                StanceClass::Neither
            } else if s.pro > s.con {
                StanceClass::Pro
            } else {
                StanceClass::Con
            };
            (row.phenomenon.clone(), row.class, found)
        });
        parts.push(answers.collect());
    }
    let mut names: Vec<String> = Vec::new();
    for (name, ..) in parts.iter().flatten() {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let cells = |keeps: &dyn Fn(&str) -> bool| -> String {
        let cell = |answers: &Vec<(String, StanceClass, StanceClass)>| {
            let kept: Vec<_> = answers.iter().filter(|(name, ..)| keeps(name)).collect();
            let f1 = macro_f1(
                kept.iter().map(|(_, truth, _)| *truth),
                kept.iter().map(|(.., found)| *found),
            );
            format!(" {} | {f1:.3} |", kept.len())
        };
        parts.iter().map(cell).collect()
    };
    for name in &names {
        println!("| {name} |{}", cells(&|other| other == name));
    }
    println!("| all |{}", cells(&|_| true));
    Ok(())
}

fn f1(rows: &[StanceExample], found: &[bool]) -> f64 {
    macro_f1(rows.iter().map(|row| row.supports), found.iter().copied())
}

/// The answers of a logistic regression over the vectors of claim and text, the absolute values of their difference, and their
/// product, learned from this collection only.
fn frozen(sentences: &Sentences, set: &StanceSet) -> Result<Vec<bool>> {
    let step = set.training.len().div_ceil(FROZEN_EXAMPLES).max(1);
    let training: Vec<&StanceExample> = set.training.iter().step_by(step).collect();
    let features = |rows: &[&StanceExample]| -> Result<Vec<Vec<f64>>> {
        let claims: Vec<&str> = rows.iter().map(|row| row.claim.as_str()).collect();
        let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        let mut distinct = claims.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let of_claims = sentences.embed(&distinct)?;
        let of_texts = sentences.embed(&texts)?;
        let of_claims = claims.iter().map(|claim| {
            let at = distinct.binary_search(claim).unwrap_or_default();
            &of_claims[at]
        });
        let row = |(u, v): (&Vec<f32>, &Vec<f32>)| {
            let both = || u.iter().zip(v);
            let numbers = u.iter().chain(v).copied();
            let numbers = numbers
                .chain(both().map(|(a, b)| (a - b).abs()))
                .chain(both().map(|(a, b)| a * b));
            numbers.map(f64::from).collect()
        };
        Ok(of_claims.zip(&of_texts).map(row).collect())
    };
    let truth: Vec<f64> = training.iter().map(|row| f64::from(row.supports)).collect();
    let (bias, weights) = logistic_regression(&features(&training)?, &truth, FROZEN_PENALTY, true)?;
    let dev: Vec<&StanceExample> = set.dev.iter().collect();
    Ok(features(&dev)?
        .iter()
        .map(|row| bias + row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() > 0.0)
        .collect())
}

/// Prints the row of the development part of CompSent-19: the encoder alone, and the decision of object stance.
fn comparisons(dir: &Path, encoder: &StanceEncoder) -> Result<()> {
    let dev = data::comparisons(&dir.join("comparative/compsent19-val.csv"))?;
    let truth = || dev.iter().map(|c| c.first_is_better);
    let majority = macro_f1(truth(), dev.iter().map(|_| None));
    let encoder_alone = on_comparisons(encoder, &dev)?;
    let model = object_stance::ObjectStanceModel::committed();
    let mut found = Vec::new();
    for comparison in &dev {
        let [first, second] = &comparison.objects;
        let objects = Objects::new(first, second);
        let pairs = objects.masked(&comparison.sentence);
        let texts: Vec<(&str, &str)> = pairs
            .iter()
            .flatten()
            .map(|text| (PREFERENCE, text.as_str()))
            .collect();
        let logits = encoder.logits(&texts)?;
        let belief = model.belief(
            &objects,
            &comparison.sentence,
            Some(logits.as_chunks::<2>().0),
        );
        found.push(match belief.decision {
            ObjectStance::First => Some(true),
            ObjectStance::Second => Some(false),
            ObjectStance::Neutral | ObjectStance::No => None,
        });
    }
    let compares: Vec<Answer> = dev
        .iter()
        .map(|comparison| {
            let [as_is, swapped] = masked(comparison);
            let logits = encoder.logits(&[(PREFERENCE, &as_is), (PREFERENCE, &swapped)])?;
            let reading = object_stance::reading(&[logits[0], logits[1]]);
            Ok((reading.prefers, comparison.first_is_better.is_some()))
        })
        .collect::<Result<_>>()?;
    println!(
        "| CompSent-19 (three classes) | {} | {majority:.3} | – | – | – | – | {encoder_alone:.3} | {:.3} | {:.3} |",
        dev.len(),
        macro_f1(truth(), found.into_iter()),
        calibration_error(&compares),
    );
    Ok(())
}

/// A reliability plot: for each bin of confidence, a bar with the accuracy and the number of its answers; and the line where accuracy equals
/// confidence.
fn plot(answers: &[Answer]) -> String {
    const SIZE: f64 = 320.0;
    const EDGE: f64 = 48.0;
    let x = |p: f64| EDGE + (p - 0.5) * 2.0 * SIZE;
    let y = |p: f64| EDGE + (1.0 - p) * 2.0 * SIZE;
    let whole = SIZE + 2.0 * EDGE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole} {whole}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{whole}\" height=\"{whole}\" fill=\"#fff\"/>\n"
    );
    for (bin, n) in reliability(answers).iter().zip(0..) {
        if bin.count > 0.0 {
            let from = 0.5 + f64::from(n) * 0.05;
            let top = y(bin.accuracy.max(0.5));
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#4477aa\"><title>{} answers, sure {:.3}, right {:.3}</title></rect>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"9\" fill=\"#333\">{}</text>",
                x(from) + 1.0,
                SIZE / 10.0 - 2.0,
                y(0.5) - top,
                bin.count,
                bin.confidence,
                bin.accuracy,
                x(from + 0.025),
                top - 4.0,
                bin.count,
            );
        }
    }
    for tick in [0.5, 0.6, 0.7, 0.8, 0.9, 1.0] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            x(tick),
            y(0.5) + 16.0,
            EDGE - 6.0,
            y(tick) + 4.0,
        );
    }
    let _ = writeln!(
        svg,
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#cc3311\" stroke-dasharray=\"4 3\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">how sure an answer is (PRO or CON)</text>\n\
         <text transform=\"translate(12 {}) rotate(-90)\" text-anchor=\"middle\">how often it is right</text>\n</svg>",
        x(0.5),
        y(0.5),
        x(1.0),
        y(1.0),
        whole / 2.0,
        whole - 8.0,
        whole / 2.0,
    );
    svg
}
