//! `riposte-bench sentences`: encodes texts with the sentence encoder, for sentences.py.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use riposte::evidence::sentence::Sentences;
use riposte::runs::resources::Meter;
use riposte_nn::transformer::EncoderBackend;
use serde_json::{Value, json};

use crate::search::cpu_seconds;

#[derive(clap::Args)]
pub struct Options {
    /// The checkpoint of the sentence encoder
    #[arg(long, value_name = "DIR")]
    encoder: PathBuf,
    /// Number of vectors that each answer has
    #[arg(long, default_value_t = 20)]
    shown: usize,
}

/// Loads the encoder, announces `{"ready": true}`, and answers each line, a JSON array of texts, with the seconds by the clock and of the processor and
/// with the first vectors. RAYON_NUM_THREADS and RTEN_NUM_THREADS set the number of threads.
pub fn run(options: &Options) -> Result<()> {
    let model = Sentences::load(&options.encoder, EncoderBackend::Auto)?;
    let mut output = io::stdout().lock();
    let mut answer = |value: Value| -> Result<()> {
        writeln!(output, "{value}")?;
        Ok(output.flush()?)
    };
    answer(json!({ "ready": true }))?;
    for line in io::stdin().lock().lines() {
        let texts: Vec<String> = serde_json::from_str(&line?)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (start, meter) = (Instant::now(), Meter::start());
        let vectors = model.embed(&texts)?;
        let seconds = start.elapsed().as_secs_f64();
        let cpu =
            cpu_seconds(&meter).context("the system does not say how long the processor worked")?;
        answer(json!({
            "seconds": seconds,
            "cpu": cpu,
            "shown": vectors.get(..options.shown.min(vectors.len())),
        }))?;
    }
    Ok(())
}
