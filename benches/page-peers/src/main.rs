//! Prints the main texts that other Rust programs find in the pages of a file, a line of JSON each, for `benches/pages.py`.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::panic::catch_unwind;
use std::time::Instant;

use dom_smoothie::{Config, Readability, TextMode};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Page {
    id: String,
    html: String,
}

/// A title and a main text.
type Found = Option<(String, String)>;

const PEERS: [(&str, fn(&str) -> Found); 4] = [
    ("dom_smoothie", |html| {
        let config = Config {
            text_mode: TextMode::Formatted,
            ..Config::default()
        };
        let article = Readability::new(html, None, Some(config))
            .ok()?
            .parse()
            .ok()?;
        Some((article.title, article.text_content.to_string()))
    }),
    ("trafilatura (Rust)", |html| {
        let article = trafilatura::extract(html, &trafilatura::Options::default()).ok()?;
        Some((article.metadata.title, article.content_text))
    }),
    ("rs-trafilatura", |html| {
        let article = rs_trafilatura::extract(html).ok()?;
        Some((
            article.metadata.title.unwrap_or_default(),
            article.content_text,
        ))
    }),
    ("legible", |html| {
        let article = legible::parse(html, None, None).ok()?;
        Some((article.title, article.text_content))
    }),
];

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args()
        .nth(1)
        .ok_or("usage: page-peers PAGES.jsonl.gz")?;
    for line in BufReader::new(MultiGzDecoder::new(File::open(file)?)).lines() {
        let page: Page = serde_json::from_str(&line?)?;
        for (name, read) in PEERS {
            let start = Instant::now();
            // some panic
            let found = catch_unwind(|| read(&page.html)).unwrap_or_default();
            let seconds = start.elapsed().as_secs_f64();
            let (title, text) = found.unwrap_or_default();
            println!(
                "{}",
                json!({"id": page.id, "system": name, "title": title, "text": text, "seconds": seconds})
            );
        }
    }
    Ok(())
}
