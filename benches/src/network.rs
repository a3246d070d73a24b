//! Times the convolutions of a network by themselves, for `benches/networks.py`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use riposte_nn::conv::{BufferPool, CompileExtent, NumericMode, compile};
use serde_json::json;

#[derive(Args)]
pub struct Options {
    /// A network from an image to a map, as an ONNX file
    model: PathBuf,
    /// Rows and columns of the image, such as 960x960
    #[arg(long, value_parser = sides, default_value = "960x960")]
    size: (usize, usize),
    /// Multiply in floats, even if the processor multiplies bytes
    #[arg(long)]
    float: bool,
    #[arg(long, default_value_t = 10)]
    rounds: usize,
}

fn sides(text: &str) -> Result<(usize, usize)> {
    let (rows, columns) = text.split_once('x').context("not ROWSxCOLUMNS")?;
    let (rows, columns) = (rows.parse()?, columns.parse()?);
    ensure!(rows > 0 && columns > 0, "a side is zero");
    Ok((rows, columns))
}

/// Prints the milliseconds of each round, one image on one core.
pub fn run(options: &Options) -> Result<()> {
    let path = options.model.display();
    let bytes = std::fs::read(&options.model).with_context(|| path.to_string())?;
    let mode = match options.float {
        true => NumericMode::Float,
        false => NumericMode::Auto,
    };
    let compiled =
        compile(&bytes, mode, None, CompileExtent::Trunk).with_context(|| path.to_string())?;
    let parts = compiled.parts.with_context(|| path.to_string())?;
    ensure!(
        parts.rest.is_empty() && parts.handed_over == 0,
        "{path}: has operators that are computed elsewhere"
    );
    let (rows, columns) = options.size;
    let mut pool = BufferPool::default();
    let mut milliseconds = Vec::new();
    for _ in 0..options.rounds {
        let mut image = pool.image(rows, columns, 3);
        for (n, number) in image.data.iter_mut().enumerate() {
            *number = (n * 7919 % 2003) as f32 / 1001.0 - 1.0;
        }
        let start = Instant::now();
        let maps = parts.trunk.run(vec![image], &mut pool)?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        maps.into_iter().for_each(|map| pool.recycle(map));
    }
    println!("{}", json!({"milliseconds": milliseconds}));
    Ok(())
}
