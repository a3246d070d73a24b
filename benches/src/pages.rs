//! Prints what riposte reads in the pages of a file, for `benches/pages.py`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use flate2::read::MultiGzDecoder;
use riposte::evidence::page;
use serde::Deserialize;
use serde_json::json;

#[derive(Args)]
pub struct Options {
    /// Pages, a line of JSON each, packed with gzip
    file: PathBuf,
}

#[derive(Deserialize)]
struct Page {
    id: String,
    html: String,
    image_url: Option<String>,
    xpath: Option<String>,
}

pub fn run(options: &Options) -> Result<()> {
    let file = File::open(&options.file).with_context(|| options.file.display().to_string())?;
    for line in BufReader::new(MultiGzDecoder::new(file)).lines() {
        let page: Page = serde_json::from_str(&line?)?;
        let xpaths: Vec<String> = page.xpath.into_iter().collect();
        let start = Instant::now();
        let words = page::read(
            &page.html,
            &xpaths,
            page.image_url.as_deref().unwrap_or_default(),
        );
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}",
            json!({"id": page.id, "system": "riposte", "title": words.title, "text": words.main, "seconds": seconds})
        );
    }
    Ok(())
}
