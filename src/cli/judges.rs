//! `verify` and `evaluate`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{EvaluateArgs, VerifyArgs, say};
use crate::collection::images::ImageCollection;
use crate::collection::read_topics;
use crate::judge::Edition;
use crate::judge::evaluate::evaluate_images;
use crate::judge::verify::{ImageRules, is_valid, verify_images};
use crate::trec::{qrels, run};

/// Exit code 0 if every run is valid, 1 if one is not.
pub fn verify(args: &VerifyArgs) -> Result<u8> {
    let mut rules = ImageRules::edition(edition(&args.edition));
    if let Some(dir) = &args.input {
        let collection = ImageCollection::open(dir)?;
        rules = rules.with_images(collection.entries().iter().map(|e| e.id.clone()));
        if args.topics.is_none() {
            let topics = read_topics(&dir.join("topics.xml"))?;
            rules = rules.with_topics(topics.into_iter().map(|t| t.id));
        }
    }
    if let Some(file) = &args.topics {
        rules = rules.with_topics(read_topics(file)?.into_iter().map(|t| t.id));
    }
    let mut all_valid = true;
    for run in &args.runs {
        let path = run_file(run);
        let bytes =
            fs::read(&path).with_context(|| format!("cannot read the run {}", path.display()))?;
        let findings = verify_images(&String::from_utf8_lossy(&bytes), &rules);
        for finding in &findings {
            say(&format_args!("{}: {finding}\n", path.display()))?;
        }
        let valid = is_valid(&findings);
        let verdict = if valid { "valid" } else { "NOT valid" };
        say(&format_args!(
            "{}: {verdict}
",
            path.display()
        ))?;
        all_valid &= valid;
    }
    Ok(u8::from(!all_valid))
}

/// Exit code 1 if there are lines that could not be read.
pub fn evaluate(args: &EvaluateArgs) -> Result<u8> {
    let text = fs::read(&args.qrels)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .with_context(|| format!("cannot read the judgements {}", args.qrels.display()))?;
    let (judgements, mut errors) = qrels::read_images(&text);
    for error in &errors {
        eprintln!("{}: {error}", args.qrels.display());
    }
    for run in &args.runs {
        let path = run_file(run);
        let text = fs::read(&path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .with_context(|| format!("cannot read the run {}", path.display()))?;
        let (lines, broken) = run::read_images(&text);
        for error in &broken {
            eprintln!("{}: {error}", path.display());
        }
        errors.extend(broken);
        let evaluation = evaluate_images(&lines, &judgements, edition(&args.edition));
        say(&format_args!("{}\n{evaluation}", path.display()))?;
        if args.by_topic {
            say(&format_args!("\n{}", evaluation.by_topic()))?;
        }
    }
    Ok(u8::from(!errors.is_empty()))
}

fn edition(year: &str) -> Edition {
    match year {
        "2023" => Edition::Touche2023,
        _ => Edition::Touche2022,
    }
}

/// TIRA hands runs as a file or as the directory that holds run.txt.
fn run_file(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join("run.txt"),
        false => path.to_owned(),
    }
}
