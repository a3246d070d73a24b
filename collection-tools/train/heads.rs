//! `evaluate-heads`: the heads of stance beside what they have to beat, on the development parts.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use riposte::evidence::sentence::Sentences;
use riposte::evidence::sentiment::{Afinn, Vader};
use riposte::reading::pair::PairEncoder;
use riposte::score::object_stance::{Objects, reading};
use riposte::score::text_stance::Model;
use riposte::trec::ObjectStance;
use riposte::weights::{ModelStatus, Models};

use super::data::{self, StanceSet, Stanced};
use super::fit::logistic_regression;
use super::stance::{base, macro_f1, masked, on_comparisons};
use super::text_stance::{Read, calibration_error, read, reliability};

/// Texts of a collection that the regression over frozen vectors learns from, and its penalty.
const FROZEN: usize = 3000;
const PENALTY: f64 = 1.0;

#[derive(clap::Args)]
pub struct Options {
    /// Folder of the development data
    #[arg(long)]
    data: PathBuf,
    /// Directory of the models
    #[arg(long)]
    models: Option<PathBuf>,
    /// How sure the answers are and how often they are right, as SVG
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// Prints a table in Markdown.
pub fn run(options: &Options) -> Result<()> {
    let models = options.models.as_deref();
    let (dir, sha) = base(models)?;
    let encoder = PairEncoder::load(&dir, &sha)?;
    let sentences = Sentences::load(&dir, &sha)?;
    let afinn = match Models::at(models)?.find("afinn")? {
        ModelStatus::Ready(model) => Some(Afinn::load(&model.path("AFINN-en-165.txt"))?),
        _ => None,
    };
    let model = Model::committed();
    println!(
        "| development part | texts | majority | VADER | AFINN | frozen vectors | words | pair encoder | together | ECE |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    let mut all = Vec::new();
    for set in data::stance_sets(&options.data)? {
        let mut row = format!("| {} | {} |", set.name, set.dev.len());
        let mut column = |found: Option<Vec<bool>>| {
            let _ = match found {
                Some(found) => write!(row, " {:.3} |", f1(&set.dev, &found)),
                None => write!(row, " – |"),
            };
        };
        let pro = set.learned.iter().filter(|row| row.supports).count() * 2 > set.learned.len();
        column(Some(vec![pro; set.dev.len()]));
        let by =
            |of: &dyn Fn(&str) -> f64| Some(set.dev.iter().map(|r| of(&r.text) >= 0.0).collect());
        column(by(&|text| Vader::new().compound(text)));
        column(
            afinn
                .as_ref()
                .and_then(|afinn| by(&|text| afinn.valence(text).sum)),
        );
        column(Some(frozen(&sentences, &set)?));
        let words = |row: &Stanced| model.words(&row.claim, &row.text) > 0.0;
        column(Some(set.dev.iter().map(words).collect()));
        let read: Vec<Read> = read(&encoder, set.dev.clone())?;
        let whole = |r: &Read| r.logits.first().is_some_and(|[con, pro, _]| pro > con);
        column(Some(read.iter().map(whole).collect()));
        let shares: Vec<(f64, bool)> = read
            .iter()
            .map(|r| {
                let s = model.stances(&r.row.claim, &r.row.text, Some(&r.logits));
                (s.pro / (s.pro + s.con), r.row.supports)
            })
            .collect();
        column(Some(shares.iter().map(|(share, _)| *share > 0.5).collect()));
        println!("{row} {:.3} |", calibration_error(&shares));
        all.extend(shares);
    }
    comparisons(&options.data, &encoder)?;
    if let Some(path) = &options.plot {
        fs::write(path, plot(&all)).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn f1(rows: &[Stanced], found: &[bool]) -> f64 {
    macro_f1(rows.iter().map(|row| row.supports), found.iter().copied())
}

/// Logistic regression over the vectors of claim and text, their difference and their product, each collection by itself.
fn frozen(sentences: &Sentences, set: &StanceSet) -> Result<Vec<bool>> {
    let step = set.learned.len().div_ceil(FROZEN).max(1);
    let learned: Vec<&Stanced> = set.learned.iter().step_by(step).collect();
    let features = |rows: &[&Stanced]| -> Result<Vec<Vec<f64>>> {
        let claims: Vec<&str> = rows.iter().map(|row| row.claim.as_str()).collect();
        let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        let mut different = claims.clone();
        different.sort_unstable();
        different.dedup();
        let of_claims = sentences.embed(&different)?;
        let of_texts = sentences.embed(&texts)?;
        let of_claims = claims.iter().map(|claim| {
            let at = different.binary_search(claim).unwrap_or_default();
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
    let truth: Vec<f64> = learned.iter().map(|row| f64::from(row.supports)).collect();
    let (bias, weights) = logistic_regression(&features(&learned)?, &truth, PENALTY, true)?;
    let dev: Vec<&Stanced> = set.dev.iter().collect();
    Ok(features(&dev)?
        .iter()
        .map(|row| bias + row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() > 0.0)
        .collect())
}

/// CompSent-19's own development part, and the same as the program answers.
fn comparisons(dir: &Path, encoder: &PairEncoder) -> Result<()> {
    let held = data::comparisons(&dir.join("comparative/compsent19-val.csv"))?;
    let truth = || held.iter().map(|c| c.first_is_better);
    let majority = macro_f1(truth(), held.iter().map(|_| None));
    let encoder_alone = on_comparisons(encoder, &held)?;
    let model = riposte::score::object_stance::Model::committed();
    let mut found = Vec::new();
    for comparison in &held {
        let [first, second] = &comparison.objects;
        let objects = Objects::new(first, second);
        let pairs = objects.masked(&comparison.sentence);
        let texts: Vec<(&str, &str)> = pairs
            .iter()
            .flatten()
            .map(|text| (riposte::score::object_stance::PREFERENCE, text.as_str()))
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
    let sure: Vec<(f64, bool)> = held
        .iter()
        .map(|comparison| Ok((masked(comparison), comparison.first_is_better.is_some())))
        .map(|row: Result<([String; 2], bool)>| {
            let ([as_is, swapped], compares) = row?;
            let claim = riposte::score::object_stance::PREFERENCE;
            let logits = encoder.logits(&[(claim, &as_is), (claim, &swapped)])?;
            Ok((reading(&[logits[0], logits[1]]).prefers, compares))
        })
        .collect::<Result<_>>()?;
    println!(
        "| CompSent-19 (three classes) | {} | {majority:.3} | – | – | – | – | {encoder_alone:.3} | {:.3} | {:.3} |",
        held.len(),
        macro_f1(truth(), found.into_iter()),
        calibration_error(&sure),
    );
    Ok(())
}

/// A reliability plot: a bar a bin, the line that they should reach, and how many answers each stands for.
fn plot(shares: &[(f64, bool)]) -> String {
    const SIZE: f64 = 320.0;
    const EDGE: f64 = 48.0;
    let x = |p: f64| EDGE + (p - 0.5) * 2.0 * SIZE;
    let y = |p: f64| EDGE + (1.0 - p) * 2.0 * SIZE;
    let whole = SIZE + 2.0 * EDGE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole} {whole}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{whole}\" height=\"{whole}\" fill=\"#fff\"/>\n"
    );
    for (bin, n) in reliability(shares).iter().zip(0..) {
        if bin.count > 0.0 {
            let from = 0.5 + f64::from(n) * 0.05;
            let top = y(bin.right.max(0.5));
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#4477aa\"><title>{} answers, sure {:.3}, right {:.3}</title></rect>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"9\" fill=\"#333\">{}</text>",
                x(from) + 1.0,
                SIZE / 10.0 - 2.0,
                y(0.5) - top,
                bin.count,
                bin.sure,
                bin.right,
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
