//! `bench-stages`: one stage of extraction, held ready to be timed round by round beside other programs (benches/bench.py).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use riposte::evidence::PageEvidence;
use riposte::evidence::ocr_text;
use riposte::weights::Models;
use serde_json::{Value, json};

use crate::stages::{Item, Output, Stage, Unit, prepare};

/// How long work goes on before the first round: caches are filled, clocks have risen.
const WARM: Duration = Duration::from_secs(2);

/// A round of less work than this is done again, and its mean told: a clock has no finer grain to be trusted.
const ROUND: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub struct Options {
    #[arg(value_enum)]
    stage: Stage,
    /// What to work on, a JSON array: image files, texts, or for `page` objects with html, xpaths and url
    items: PathBuf,
    /// The models' directory
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Images that go through CLIP together
    #[arg(long, default_value_t = 8)]
    batch: usize,
}

/// Loads and warms up, says so, and then answers lines on stdin with a line of JSON each: `go` with the seconds of a
/// round, `show` with what the stage made of each item in the first of them. How many threads there are, RAYON_NUM_THREADS and RTEN_NUM_THREADS say.
pub fn run(options: &Options) -> Result<()> {
    let reading = || format!("cannot read {}", options.items.display());
    let file = File::open(&options.items).with_context(reading)?;
    let items: Vec<Item> = serde_json::from_reader(BufReader::new(file)).with_context(reading)?;
    let models = Models::at(options.models.as_deref())?;
    let units = prepare(options.stage, &items, &models, options.batch)?;
    let start = Instant::now();
    for unit in units.iter().cycle() {
        unit.run()?;
        if start.elapsed() > WARM {
            break;
        }
    }
    answer(&json!({"ready": items.len()}))?;
    let mut shown = Vec::new();
    for line in io::stdin().lock().lines() {
        answer(&match line?.as_str() {
            "go" => round(&units, &mut shown)?,
            "show" => json!({ "shown": shown }),
            other => bail!("{other:?} is neither go nor show"),
        })?;
    }
    Ok(())
}

fn answer(value: &Value) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}

/// Seconds of each unit. What the first round makes is put into `shown`.
fn round(units: &[Unit], shown: &mut Vec<Value>) -> Result<Value> {
    let mut each = vec![0.0; units.len()];
    let start = Instant::now();
    let mut times = 0.0;
    let is_first = shown.is_empty();
    while times == 0.0 || start.elapsed() < ROUND {
        for (unit, sum) in units.iter().zip(&mut each) {
            let start = Instant::now();
            let output = unit.run()?;
            *sum += start.elapsed().as_secs_f64();
            if is_first && times == 0.0 {
                shown.extend(show(output));
            }
        }
        times += 1.0;
    }
    let each: Vec<f64> = each.iter().map(|sum| sum / times).collect();
    Ok(json!({"seconds": each.iter().sum::<f64>(), "each": each}))
}

/// What is made of each item, where others can be held to it.
fn show(output: Output) -> Vec<Value> {
    match output {
        Output::Image(image) => vec![json!(mean(image.as_raw().iter().copied()))],
        Output::Pixels(pixels) => vec![json!(mean(pixels.values.iter().copied()))],
        Output::Words(words) => {
            let page = PageEvidence {
                words: *words,
                ..PageEvidence::default()
            };
            let near = page.near();
            vec![json!({"title": page.words.title, "near": near, "main": page.words.main})]
        }
        Output::Number(number) => vec![json!(number)],
        Output::Lines(lines) => vec![json!(ocr_text(&lines))],
        Output::Vectors(vectors) => vectors.iter().map(|vector| json!(vector)).collect(),
    }
}

fn mean(values: impl ExactSizeIterator<Item = impl Into<f64>>) -> f64 {
    let count = values.len().max(1) as f64;
    values.map(Into::into).sum::<f64>() / count
}
