//! The answer to a question, from the rankings of a run with this one topic.

use std::path::Path;

use anyhow::{Context, Result, bail};
use riposte_claims::claims;
use riposte_eval::topic::Topic;
use riposte_eval::{Stance, TextTask, objects, run};
use riposte_page::answer::{Answer, Image, Side, Undecided};

use super::documents::{self, arguments_of, illustrate};
use super::judge::{judge, mark_padding};
use super::marker::Marker;
use crate::debate::sheet::DebateSheet;
use crate::ingest::own_folder::OwnFolder;
use crate::runs::finished::MadeRun;
use crate::runs::images::ImageRun;
use crate::runs::texts::FinishedTextRun;

/// The answer that a run gives, by at most `number` of each kind. Images of an own folder are named by its files.
///
/// # Errors
/// A document cannot be read, or the run has none of what is asked for.
pub fn of_run(
    topic: &Topic,
    number: usize,
    run: &MadeRun,
    folder: Option<&OwnFolder>,
) -> Result<Answer> {
    match run {
        MadeRun::Images(run) => of_images(topic, number, run, folder),
        MadeRun::Searched(run) if run.task == TextTask::Controversial => {
            of_arguments(topic, number, run)
        }
        MadeRun::Searched(run) => of_texts(topic, number, run),
        MadeRun::Asked(_) => bail!("the approach asks a service, whose answers have no texts"),
    }
}

/// The first images of both lists, and the arguments of the debate sheet if there is one.
fn of_images(
    topic: &Topic,
    number: usize,
    run: &ImageRun,
    folder: Option<&OwnFolder>,
) -> Result<Answer> {
    let question = topic.title.as_str();
    let sheet = run.sheets.first();
    let mut words = Marker::new(question);
    let [mut pro, mut con, mut undecided] = [Vec::new(), Vec::new(), Vec::new()];
    for line in run
        .ranking
        .lines
        .iter()
        .filter(|line| line.rank as usize <= number)
    {
        let mut explained = run.ranking.explained.iter();
        let explained = explained.find(|one| one.image == line.image);
        let mut image = documents::image(line, explained, &run.images, &mut words)?;
        if let Some(sheet) = sheet {
            illustrate(&mut image, sheet);
        }
        let key = (line.topic.clone(), line.image.clone());
        let side = run.ranking.sides.get(&key).copied().flatten();
        let other = side.filter(|side| *side != line.stance);
        if let Some(score) = other.and_then(|side| explained?.score(side)) {
            // it is shown on the side that it takes, so with its score there
            image.score = run::written_score(score.value())?;
        }
        match side {
            Some(Stance::Pro) => pro.push(image),
            Some(Stance::Con) => con.push(image),
            None => undecided.push(image),
        }
    }
    for images in [&mut pro, &mut con, &mut undecided] {
        images.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    }
    let mut answer = laid_out(question, sheet, number, |side| {
        Some(std::mem::take(match side {
            Some(Stance::Pro) => &mut pro,
            Some(Stance::Con) => &mut con,
            None => &mut undecided,
        }))
    });
    if let Some(folder) = folder {
        show_files_of(&mut answer, folder);
    }
    judge(&mut answer, run.ranking.judged.get(&topic.id), sheet);
    Ok(answer)
}

/// Names the files of the folder that the collection was made of, and not their copies.
fn show_files_of(answer: &mut Answer, folder: &OwnFolder) {
    for image in answer.images_mut() {
        let copy = image.file.as_deref().map(Path::new);
        if let Some(file) = copy.and_then(|copy| folder.original(copy)) {
            image.file = Some(file.display().to_string());
        }
    }
}

/// The arguments of the debate sheet.
fn of_arguments(topic: &Topic, number: usize, run: &FinishedTextRun) -> Result<Answer> {
    let sheet = run.sheets.first().context("the run has no debate sheet")?;
    let mut answer = laid_out(&topic.title, Some(sheet), number, |_| None);
    judge(&mut answer, run.judged.get(&topic.id), Some(sheet));
    Ok(answer)
}

/// The first texts of the ranking.
///
/// # Errors
/// A document cannot be read.
pub(crate) fn of_texts(topic: &Topic, number: usize, run: &FinishedTextRun) -> Result<Answer> {
    let question = topic.title.as_str();
    let index = run.indexes.first().context("the approach has no index")?;
    let mut words = Marker::new(question);
    let lines = run.lines.iter().take(number);
    let texts = lines.map(|line| documents::text(line, index, &mut words));
    let objects = objects::from_title(question);
    let mut answer = Answer {
        question: question.to_owned(),
        texts: Some(texts.collect::<Result<_>>()?),
        objects: objects.filter(|_| run.task == TextTask::Comparative),
        ..Answer::default()
    };
    judge(&mut answer, run.judged.get(&topic.id), None);
    Ok(answer)
}

/// A debate sheet as the answer to its question, with these images of each side, and of what is undecided.
pub(crate) fn of_sheet(
    question: &str,
    sheet: &DebateSheet,
    images: impl FnMut(Option<Stance>) -> Option<Vec<Image>>,
) -> Answer {
    let mut answer = laid_out(question, Some(sheet), usize::MAX, images);
    mark_padding(&mut answer);
    answer
}

/// The sides of a question with these images, and the first arguments of a debate sheet.
fn laid_out(
    question: &str,
    sheet: Option<&DebateSheet>,
    number: usize,
    mut images: impl FnMut(Option<Stance>) -> Option<Vec<Image>>,
) -> Answer {
    let arguments = |side| sheet.map(|sheet| arguments_of(sheet, side, number));
    let (claim, counter_claim) = claims(question);
    let sides = [(Stance::Pro, claim), (Stance::Con, counter_claim)];
    let sides = sides.map(|(side, claim)| Side {
        side,
        claim,
        arguments: arguments(Some(side)),
        images: images(Some(side)),
    });
    let undecided = arguments(None);
    let count = undecided.as_ref().map_or(0, Vec::len);
    Answer {
        question: question.to_owned(),
        sides: sides.into(),
        undecided: Some(Undecided {
            more_arguments: sheet.map(|sheet| sheet.undecided.saturating_sub(count)),
            arguments: undecided,
            images: images(None),
        }),
        ..Answer::default()
    }
}
