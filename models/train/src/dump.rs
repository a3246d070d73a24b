//! Temporary: readings of all development texts.
use std::io::Write;
use std::path::Path;
use anyhow::Result;
use riposte::reading::pieces::Pieces;
use riposte::reading::stance_encoder::{Class, StanceEncoder};
use riposte_claims::words::sentences;
use serde_json::json;
use crate::base_model::BaseModel;
use crate::data;
use crate::targets;

pub fn run(dir: &Path, weights: &Path, output: &Path) -> Result<()> {
    let base = BaseModel::find(None)?;
    let encoder = StanceEncoder::load_trained(&base.dir, &base.sha256, &std::fs::read(weights)?, riposte_nn::transformer::Backend::Auto)?;
    let sets = data::stance_sets(dir)?;
    let mut rows: Vec<(String, String, String, Class, String)> = Vec::new();
    for set in &sets {
        let n = set.dev.len();
        let step = n.div_ceil(600).max(1);
        for (i, row) in set.dev.iter().enumerate().step_by(step) {
            let class = if row.supports { Class::Pro } else { Class::Con };
            rows.push((set.name.into(), row.claim.clone(), row.text.clone(), class, row.group.clone()));
            let other = &set.dev[(i + n / 2) % n];
            if i % (3 * step) == 0 && other.group != row.group {
                rows.push((set.name.into(), other.claim.clone(), row.text.clone(), Class::Neither, other.group.clone()));
            }
        }
    }
    for set in targets::target_sets(dir)? {
        for row in set.divided().dev {
            rows.push((set.name.into(), row.claim(), row.text.clone(), row.class, row.target.clone()));
        }
    }
    for row in data::challenges("kept")? {
        rows.push(("hard".into(), row.claim.clone(), row.text.clone(), row.class, row.phenomenon.clone()));
    }
    let mut out = std::io::BufWriter::new(std::fs::File::create(output)?);
    for part in rows.chunks(256) {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut kinds = Vec::new();
        for (at, (_, claim, text, ..)) in part.iter().enumerate() {
            let pieces = Pieces::of(text);
            let all: Vec<_> = sentences(&pieces.whole).iter().map(|s| (s.start, s.words().count())).collect();
            let mut add = |kind: &'static str, piece: &str| { kinds.push((at, kind)); pairs.push((claim.clone(), piece.to_owned())); };
            add("whole", &pieces.whole);
            add("raw", text);
            for s in &pieces.sentences { add("sentence", s); }
            if let Some(t) = &pieces.with_tags { add("tags", t); }
            let total: usize = all.iter().map(|a| a.1).sum();
            for most in [40, 70] {
                let mut words = 0; let mut from = None;
                for (start, n) in all.iter().rev() { if words > 0 && words + n > most { break; } words += n; from = Some(*start); }
                if let Some(from) = from && words < total { add(if most == 40 { "tail40" } else { "tail70" }, &pieces.whole[from..]); }
            }
        }
        let texts: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let readings = encoder.read(&texts)?;
        for (at, (set, claim, text, class, group)) in part.iter().enumerate() {
            let mut row = json!({"set": set, "claim": claim, "text": text, "class": format!("{class:?}"), "group": group});
            let (s, n) = riposte::score::text_stance::features(claim, text);
            row["nfeatures"] = json!(n);
            row["sfeatures"] = json!(s);
            let mut pieces = serde_json::Map::new();
            for ((of, kind), reading) in kinds.iter().zip(&readings) {
                if *of == at {
                    let list = pieces.entry((*kind).to_owned()).or_insert_with(|| json!([]));
                    list.as_array_mut().unwrap().push(json!(reading.outputs()));
                }
            }
            row["pieces"] = serde_json::Value::Object(pieces);
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
}
