//! `train object-stance`: learns the three models of object stance from the judged passages of Task 2 and the stance encoder's reading of
//! their sentences.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use riposte::collection::read_topics;
use riposte::reading::stance_encoder::StanceEncoder;
use riposte::score::object_stance::{
    Cascade, CascadeText, ObjectStanceFeatures, Objects, PREFERENCE, SentencePreference, features,
    neutral_names, reading, takes_names, which_names,
};
use riposte_eval::{ObjectStance, TopicId};

use crate::base_model::BaseModel;
use crate::data;
use crate::fit::{fit, rounded, table};

/// L2 penalties of the three models.
const TAKES_PENALTY: f64 = 10.0;
const NEUTRAL_PENALTY: f64 = 10.0;
const WHICH_PENALTY: f64 = 5.0;
/// Macro-F1 rewards finding rare stances. The probability of a stance is multiplied by how many times rarer than NO it is, to
/// this power; with 1, all stances would count as equally frequent.
const RARITY: f64 = 0.75;
/// How many times the topics are divided into five random groups, for the second figure in the first lines of the file.
const DIVISIONS: u64 = 10;

/// A judged passage.
struct Row {
    topic: TopicId,
    features: ObjectStanceFeatures,
    stance: ObjectStance,
}

/// The weight file, with the figures of cross-validation in its first lines.
pub fn train(dir: &Path, models: Option<&Path>) -> Result<String> {
    let base = BaseModel::find(models)?;
    let encoder = base.stance_encoder()?;
    let (lexical, with_encoder) = rows(dir, &encoder)?;
    let mut text = String::from(
        "# Which of two objects a passage favours: weights of src/score/object_stance.rs.\n\
         # train object-stance --data DATA -o models/own/object-stance.toml\n\
         # From passages/stance.qrels, without and with the stance encoder's reading of sentences (stance.safetensors). A line has the\n\
         # macro-F1 of FIRST, SECOND, NEUTRAL and NO over the passages of all topics, each topic left out of training in turn; in brackets\n\
         # the F1 of each stance; then the mean, minimum and maximum of the macro-F1 when the topics are divided into five groups at\n\
         # random, ten times. Features and penalties were chosen among some forty variants by these same figures, so expect less on new\n\
         # topics.\n",
    );
    let mut tables = String::new();
    for (name, rows, encoder) in [
        ("lexical", &lexical, false),
        ("encoder", &with_encoder, true),
    ] {
        let each = f1(rows, &cross_validated(rows, &topics(rows), encoder)?);
        let mut divisions = Vec::new();
        for seed in 1..=DIVISIONS {
            let found = cross_validated(rows, &random_groups(rows, seed), encoder)?;
            divisions.push(mean(&f1(rows, &found)));
        }
        let lowest = divisions.iter().copied().fold(1.0, f64::min);
        let highest = divisions.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "# {name}: {:.3} [{}]; {:.3}, {lowest:.3}, {highest:.3}",
            mean(&each),
            each.map(|x| format!("{x:.2}")).join(" "),
            mean(&divisions),
        );
        let all: Vec<&Row> = rows.iter().collect();
        let steps = learn(&all, encoder)?;
        let _ = write!(tables, "\n[{name}]\nfactors = {:?}\n", steps.factors);
        tables += &table(
            &format!("{name}.takes"),
            &steps.takes,
            &takes_names(encoder),
        );
        tables += &table(
            &format!("{name}.neutral"),
            &steps.neutral,
            &neutral_names(encoder),
        );
        tables += &table(
            &format!("{name}.which"),
            &steps.which,
            &which_names(encoder),
        );
    }
    print!("{text}");
    Ok(text + &tables)
}

/// The judged passages in the order of topics, without and with the encoder's reading of their sentences.
fn rows(dir: &Path, encoder: &StanceEncoder) -> Result<(Vec<Row>, Vec<Row>)> {
    let dir = dir.join("passages");
    let objects: HashMap<TopicId, Objects> = read_topics(&dir.join("topics.xml"))?
        .into_iter()
        .filter_map(|topic| {
            let [first, second] = topic.objects?;
            Some((topic.id, Objects::new(&first, &second)))
        })
        .collect();
    let passages = data::passages(&dir.join("passages.jsonl.gz"))?;
    let judged = data::stances(&dir.join("stance.qrels"), &passages)?;
    let (mut lexical, mut with_encoder) = (Vec::new(), Vec::new());
    for judged in judged {
        let objects = objects
            .get(&judged.topic)
            .with_context(|| format!("topic {} has no objects", judged.topic))?;
        let masked = objects.masked(&judged.text);
        let pairs: Vec<(&str, &str)> = masked
            .iter()
            .flatten()
            .map(|text| (PREFERENCE, text.as_str()))
            .collect();
        let logits = encoder.logits(&pairs)?;
        let readings: Vec<SentencePreference> =
            logits.as_chunks::<2>().0.iter().map(reading).collect();
        for (rows, readings) in [
            (&mut lexical, None),
            (&mut with_encoder, Some(&readings[..])),
        ] {
            rows.push(Row {
                topic: judged.topic.clone(),
                features: features(objects, &judged.text, readings),
                stance: judged.judgement,
            });
        }
    }
    Ok((lexical, with_encoder))
}

/// Learns the three models and the factors.
fn learn(rows: &[&Row], encoder: bool) -> Result<CascadeText> {
    let step = |of: &dyn Fn(&ObjectStanceFeatures) -> Vec<f64>,
                target: &dyn Fn(ObjectStance) -> Option<bool>| {
        let known = rows
            .iter()
            .filter_map(|row| Some((of(&row.features), f64::from(target(row.stance)?))));
        known.unzip::<Vec<f64>, f64, Vec<_>, Vec<_>>()
    };
    let (x, y) = step(&|f| f.takes.clone(), &|s| Some(s != ObjectStance::No));
    let takes = fit(&takes_names(encoder), &x, &y, TAKES_PENALTY, false)?;
    let (x, y) = step(&|f| f.neutral.clone(), &|s| match s {
        ObjectStance::No => None,
        other => Some(other == ObjectStance::Neutral),
    });
    let neutral = fit(&neutral_names(encoder), &x, &y, NEUTRAL_PENALTY, false)?;
    let (x, y) = step(&|f| f.which.clone(), &|s| match s {
        ObjectStance::First => Some(true),
        ObjectStance::Second => Some(false),
        _ => None,
    });
    let which = fit(&which_names(encoder), &x, &y, WHICH_PENALTY, true)?;
    Ok(CascadeText {
        factors: factors(rows),
        takes,
        neutral,
        which,
    })
}

/// The group of each row, with one group for each topic.
fn topics(rows: &[Row]) -> Vec<usize> {
    let mut group = 0;
    let mut last = None;
    rows.iter()
        .map(|row| {
            if last
                .replace(&row.topic)
                .is_some_and(|last| *last != row.topic)
            {
                group += 1;
            }
            group
        })
        .collect()
}

/// The group of each row, where the topics are divided into five groups at random.
fn random_groups(rows: &[Row], seed: u64) -> Vec<usize> {
    let topics = topics(rows);
    let count = topics.last().map_or(0, |last| last + 1);
    let mut order: Vec<usize> = (0..count).collect();
    // a Fisher-Yates shuffle with the generator of Knuth's MMIX: the committed figures come from it
    let mut state = seed;
    for i in (1..count).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    let mut group = vec![0; count];
    for (place, topic) in order.into_iter().enumerate() {
        group[topic] = place % 5;
    }
    topics.into_iter().map(|topic| group[topic]).collect()
}

/// The stance of each row by models and factors that are learned from the rows of the other groups.
fn cross_validated(rows: &[Row], groups: &[usize], encoder: bool) -> Result<Vec<ObjectStance>> {
    let mut found = vec![ObjectStance::No; rows.len()];
    for group in 0..=groups.iter().copied().max().unwrap_or(0) {
        let known: Vec<&Row> = rows
            .iter()
            .zip(groups)
            .filter(|(_, g)| **g != group)
            .map(|(r, _)| r)
            .collect();
        let steps = Cascade::new(learn(&known, encoder)?, encoder)?;
        let rest = found
            .iter_mut()
            .zip(rows)
            .zip(groups)
            .filter(|(_, g)| **g == group);
        for ((found, row), _) in rest {
            *found = steps.belief(&row.features).decision;
        }
    }
    Ok(found)
}

/// The factors of FIRST and SECOND, and of NEUTRAL.
fn factors(rows: &[&Row]) -> [f64; 2] {
    let count = |stance| rows.iter().filter(|row| row.stance == stance).count() as f64;
    let objects = (count(ObjectStance::First) + count(ObjectStance::Second)) / 2.0;
    [objects, count(ObjectStance::Neutral)]
        .map(|rare| rounded((count(ObjectStance::No).max(1.0) / rare.max(1.0)).powf(RARITY)))
}

/// The F1 of each stance in the order of [`ObjectStance::ALL`]; 0 for a stance that is neither judged nor found.
fn f1<'a>(rows: impl IntoIterator<Item = &'a Row>, found: &[ObjectStance]) -> [f64; 4] {
    let pairs: Vec<(ObjectStance, ObjectStance)> = rows
        .into_iter()
        .map(|row| row.stance)
        .zip(found.iter().copied())
        .collect();
    ObjectStance::ALL.map(|stance| {
        let both = pairs
            .iter()
            .filter(|(a, b)| *a == stance && *b == stance)
            .count() as f64;
        let any = pairs
            .iter()
            .map(|(a, b)| usize::from(*a == stance) + usize::from(*b == stance));
        2.0 * both / (any.sum::<usize>() as f64).max(1.0)
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
