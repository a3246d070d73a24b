//! The stages of extraction on the committed sample: `cargo bench -p benches --bench stages`; `-- Decode` after it takes one of them.
//!
//! They compare a change with the commit before it. `make -C benches bench` compares the stages with other programs.

use std::fs;
use std::path::Path;

use benches::stages::{Item, Stage, prepare};
use divan::Bencher;
use divan::counter::ItemsCount;
use riposte::collection::images::ImageCollection;
use riposte::evidence::page;
use riposte::weights::Models;
use serde_json::json;

/// Number of images of the sample that are used; more would only take longer.
const IMAGES: usize = 8;

fn main() {
    divan::main();
}

#[divan::bench(args = <Stage as clap::ValueEnum>::value_variants(), sample_count = 10, sample_size = 1)]
fn stage(bencher: Bencher, stage: &Stage) {
    let models = Models::at(None).expect("a models directory");
    let items = items(*stage);
    let units = match prepare(*stage, &items, &models, IMAGES) {
        Ok(units) => units,
        Err(why) => {
            eprintln!("skipped {stage}: {why:#}");
            return;
        }
    };
    let count = ItemsCount::new(items.len());
    bencher.counter(count).bench_local(|| {
        for unit in &units {
            divan::black_box(unit.run().expect("the stage runs"));
        }
    });
}

/// The items of the stage from the sample.
fn items(stage: Stage) -> Vec<Item> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample");
    let collection = ImageCollection::open(&sample).expect("the sample is there");
    let mut items = Vec::new();
    for entry in collection.entries.iter().take(IMAGES) {
        let mut faults = Vec::new();
        let listing = entry.list(&mut faults);
        let document = entry.read(&listing, &mut faults);
        for (dir, source) in listing.pages.iter().zip(&document.pages) {
            let html = dir.join("snapshot/dom.html");
            let Ok(bytes) = fs::read(&html) else {
                continue;
            };
            let words = page::read(&page::decode(&bytes).0, &source.xpaths, &document.url);
            match stage {
                Stage::Page => {
                    items.push(json!({"html": html, "xpaths": source.xpaths, "url": document.url}))
                }
                Stage::Vader | Stage::Sentences => items.push(json!(words.main)),
                Stage::ClipText => items.push(json!(words.title)),
                Stage::Decode | Stage::Resize | Stage::Ocr | Stage::ClipImage => {}
            }
        }
        if matches!(
            stage,
            Stage::Decode | Stage::Resize | Stage::Ocr | Stage::ClipImage
        ) {
            items.push(json!(listing.images[0]));
        }
    }
    serde_json::from_value(json!(items)).expect("a list of items")
}
