//! `riposte-bench stage`: runs one stage of extraction, loaded and warmed up, to be timed in turn with other programs (bench.py).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use riposte::evidence::clip::Clip;
use riposte::evidence::{PageEvidence, ocr_text};
use riposte::weights::Models;
use riposte_nn::conv::Numeric;
use riposte_nn::transformer::EncoderBackend;
use serde_json::{Value, json};

use crate::stages::{Item, Output, Stage, Unit, prepare, prepare_with};

/// How long the stage runs before the first round, so that caches are filled and clock rates have risen.
const WARM_UP: Duration = Duration::from_secs(2);

/// A shorter round is repeated and its mean reported, because a short time cannot be measured exactly.
const SHORTEST_ROUND: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub struct Options {
    #[arg(value_enum)]
    stage: Stage,
    /// A JSON array of the items to work on: image files, texts, or for `page` objects with html, xpaths and url
    items: PathBuf,
    /// Directory of the models
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Number of images that go through CLIP together
    #[arg(long, default_value_t = 8)]
    batch: usize,
    /// Directory of an image-text model, for clip-image and clip-text. By default clip-vit-base-patch32 of the models
    #[arg(long, value_name = "DIR")]
    clip: Option<PathBuf>,
    /// Compute it with candle
    #[arg(long, requires = "clip")]
    candle: bool,
}

impl Options {
    fn units(&self, items: &[Item], models: &Models) -> Result<Vec<Unit>> {
        let Some(dir) = &self.clip else {
            return prepare(self.stage, items, models, self.batch);
        };
        let backend = match self.candle {
            true => EncoderBackend::Given(riposte_candle::layers),
            false => EncoderBackend::Auto,
        };
        let clip = Box::new(move || Clip::load(dir, backend, Numeric::Float));
        prepare_with(self.stage, items, models, clip, self.batch)
    }
}

/// Loads the stage, warms it up, and answers the lines of standard input. RAYON_NUM_THREADS and RTEN_NUM_THREADS set the number of
/// threads.
pub fn run(options: &Options) -> Result<()> {
    let reading = || format!("cannot read {}", options.items.display());
    let file = File::open(&options.items).with_context(reading)?;
    let items: Vec<Item> = serde_json::from_reader(BufReader::new(file)).with_context(reading)?;
    let models = Models::at(options.models.as_deref())?;
    let units = options.units(&items, &models)?;
    let start = Instant::now();
    for unit in units.iter().cycle() {
        unit.run()?;
        if start.elapsed() > WARM_UP {
            break;
        }
    }
    answer_lines(&units, items.len(), io::stdin().lock(), io::stdout().lock())
}

/// Announces `{"ready": items}`, then answers each line of the input with a line of JSON: `go` with the seconds of a round, `show`
/// with the output for each item in the first round, `memory` with the peak of this process in MB.
fn answer_lines(
    units: &[Unit],
    items: usize,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<()> {
    let mut answer = |value: Value| -> Result<()> {
        writeln!(output, "{value}")?;
        Ok(output.flush()?)
    };
    answer(json!({ "ready": items }))?;
    let mut shown = Vec::new();
    for line in input.lines() {
        answer(match line?.as_str() {
            "go" => round(units, &mut shown)?,
            "show" => json!({ "shown": shown }),
            "memory" => json!({ "mb": peak_memory()? }),
            other => bail!("the line {other:?} is none of go, show and memory"),
        })?;
    }
    Ok(())
}

/// The seconds of a round, in total and of each unit. `shown` gets the outputs of the first round.
fn round(units: &[Unit], shown: &mut Vec<Value>) -> Result<Value> {
    let mut each = vec![0.0; units.len()];
    let start = Instant::now();
    let mut times = 0.0;
    let is_first = shown.is_empty();
    while times == 0.0 || start.elapsed() < SHORTEST_ROUND {
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

/// The output for each item in a form that can be compared with the output of other programs.
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

/// The most memory that this process has held, in MB. Linux alone says it.
fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: u64 = kib
        .context("the system does not say how much memory was held")?
        .parse()?;
    Ok(kib * 1024 / 1_000_000)
}

fn mean(values: impl ExactSizeIterator<Item = impl Into<f64>>) -> f64 {
    let count = values.len().max(1) as f64;
    values.map(Into::into).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_answers_round_by_round() {
        let items: Vec<Item> =
            serde_json::from_value(json!(["I love it.", "It is a table."])).unwrap();
        // VADER needs no model
        let models = Models::at(None).unwrap();
        let units = prepare(Stage::Vader, &items, &models, 1).unwrap();
        let mut output = Vec::new();
        answer_lines(&units, items.len(), &b"go\ngo\nshow\n"[..], &mut output).unwrap();
        let answers: Vec<Value> = output
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(answers.len(), 4, "{answers:?}");
        assert_eq!(answers[0]["ready"], 2);
        for round in &answers[1..3] {
            assert!(round["seconds"].as_f64().unwrap() >= 0.0, "{round}");
            assert_eq!(round["each"].as_array().unwrap().len(), 2);
        }
        let shown = &answers[3]["shown"];
        assert!(
            shown[0].as_f64().unwrap() > 0.5 && shown[1] == 0.0,
            "{shown}"
        );
    }
}
