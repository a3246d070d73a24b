//! A plan to rank images.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use riposte_eval::DocId;
use riposte_eval::candidates::RerankCandidates;
use riposte_eval::edition::Edition;
use riposte_eval::topic::Topic;

use super::{OnRun, Resolved, RunTarget, Wishes};
use crate::collection::images::ImageCollection;
use crate::collection::{FaultKind, read_bytes};
use crate::disk::regular;
use crate::events::{Event, OnEvent, of_approach};
use crate::files::{TopicSource, decode, own_topics, report_broken_lines};
use crate::images::ImageRankingSettings;
use crate::ingest::extraction::{ExtractionHost, report_faults};
use crate::limits::MAX_RUN_BYTES;
use crate::recipes::NamedApproach;
use crate::recipes::channels::CHANNELS;
use crate::recipes::image_approach::{ImageApproach, ListForm};
use crate::recipes::settings::Setting;
use crate::runs::finished::MadeRun;
use crate::runs::images::{ImageRequest, OpenImages, uses_arguments};
use crate::runs::open_collection::ImagesKey;
use crate::runs::run_files::OutputSettings;
use crate::session::Session;
use crate::weights::ModelRole;

/// The images that are ranked, and the approaches, in a plan.
pub(super) struct PlannedImages<'a> {
    images: ImagesToRank,
    edition: &'static Edition,
    /// `None` for all images.
    candidates: Option<Arc<RerankCandidates>>,
    runs: Vec<(ImageApproach, RunTarget<'a>)>,
}

/// The images of a collection: their names, or all that ranks them if they are open.
enum ImagesToRank {
    Listed(ImageCollection),
    Open(Arc<OpenImages>),
}

impl<'a> PlannedImages<'a> {
    /// Lists the images, if they are not open, and reads the topics and candidates.
    ///
    /// # Errors
    /// A file cannot be read or has nothing to rank, or settings do not fit the edition.
    pub fn plan(
        resolved: &mut Resolved<'a>,
        named: &[&ImageApproach],
        output: Option<&'a OutputSettings>,
        on_event: &mut OnEvent,
    ) -> Result<Self> {
        let (wishes, kept) = (resolved.wishes, resolved.kept);
        let is_open = kept.is_some_and(|kept| !kept.images.is_empty());
        // errors in the collection come before those in the topics
        let list = || resolved.source.open_or_stored();
        let listed = (!is_open).then(list).transpose()?;
        let (topics, mut candidates) = read_topics(wishes, &resolved.source.input, on_event)?;
        let edition = match wishes.edition {
            Some(year) => Edition::find(None, year)
                .with_context(|| format!("--edition {year}: the image task had no such year"))?,
            None => Edition::of_topics(&topics),
        };
        for (option, is_given) in [("--overlap", wishes.overlap), ("--debate", wishes.debate)] {
            ensure!(
                !is_given || edition.has_stances(),
                "{option} is for lists for and against a claim (--edition {})",
                Edition::years_with_stances()
            );
        }
        ensure!(
            !wishes.debate || wishes.arguments.is_some(),
            "--debate needs --arguments, which are on the sheets"
        );
        let approaches = approaches(edition, named, &wishes.set)?;
        if wishes.arguments.is_some() && !wishes.debate {
            let mut named = approaches.iter();
            if let Some(ImageApproach { name, .. }) = named.find(|named| !uses_arguments(named)) {
                bail!("the approach {name} does not use --arguments");
            }
        }
        resolved.topics = topics;
        resolved.source.session = with_named_models(&resolved.source.session, &approaches)?;
        let key = images_key(resolved);
        let open = kept.and_then(|kept| kept.images.find(&key));
        let images = match open.filter(|_| candidates.is_none()) {
            Some(open) => ImagesToRank::Open(open),
            None => {
                let mut collection = listed.map_or_else(|| key.source.open_or_stored(), Ok)?;
                if let Some(candidates) = &mut candidates {
                    restrict(&mut collection, candidates, on_event)?;
                }
                ImagesToRank::Listed(collection)
            }
        };
        let names: Vec<NamedApproach> = approaches.iter().map(ImageApproach::named).collect();
        let targets = wishes.targets(edition.run_file(), &names, output)?;
        Ok(PlannedImages {
            images,
            edition,
            candidates: candidates.map(Arc::new),
            runs: approaches.into_iter().zip(targets).collect(),
        })
    }

    /// Computes missing evidence, updates the indexes, and makes one run with each approach.
    ///
    /// # Errors
    /// A store, a model or the index fails, or the user has stopped the run. What was computed before is stored in every case.
    pub fn run(
        self,
        resolved: &Resolved,
        host: &ExtractionHost,
        on_event: &mut OnEvent,
        on_run: &mut OnRun,
    ) -> Result<()> {
        let key = images_key(resolved);
        let images = match self.images {
            ImagesToRank::Open(images) => images,
            ImagesToRank::Listed(collection) => {
                let ImagesKey { source, arguments } = key.clone();
                let open =
                    || OpenImages::open(collection, source, arguments.as_deref(), host, on_event);
                match resolved.kept.filter(|_| self.candidates.is_none()) {
                    Some(kept) => kept.images.get(key, open)?,
                    None => Arc::new(open()?),
                }
            }
        };
        let (wishes, several) = (resolved.wishes, self.runs.len() > 1);
        for (approach, RunTarget { tag, files }) in self.runs {
            let name = approach.name.clone();
            let keep = files
                .as_ref()
                .map(|files| files.keep(resolved.topics.len()));
            let settings = ImageRankingSettings {
                approach,
                parts: wishes.parts,
                overlap: wishes.overlap,
                tag,
                claim_length: self.edition.length as usize,
                candidates: self.candidates.clone(),
                keep: keep.unwrap_or_default(),
            };
            let request = ImageRequest {
                topics: &resolved.topics,
                edition: self.edition,
                settings,
                debate: wishes.debate,
            };
            let ranked = of_approach(several, &name, on_event, |on_event| {
                images.rank(&request, host, on_event)
            });
            if resolved.kept.is_some() {
                images.unlock();
            }
            let run = ranked?;
            let description = run.describe(resolved.topics.len())?;
            let made = MadeRun::Images(Box::new(run));
            resolved.finish(made, description, files.as_ref(), on_event, on_run)?;
        }
        report_faults(&images.extracted().summary, on_event);
        Ok(())
    }
}

/// All that decides what is open for a plan.
fn images_key(resolved: &Resolved) -> ImagesKey {
    ImagesKey {
        source: resolved.source.clone(),
        arguments: resolved.wishes.arguments.clone(),
    }
}

/// The topics, and the candidates if there are any.
fn read_topics(
    wishes: &Wishes,
    input: &Path,
    on_event: &mut OnEvent,
) -> Result<(Vec<Topic>, Option<RerankCandidates>)> {
    if matches!(wishes.topics, TopicSource::Given(_)) {
        // the candidates of a collection are for its own topics
        return Ok((wishes.read_topics(input, on_event)?, None));
    }
    let names = ["rerank.jsonl", "rerank.jsonl.gz"];
    let own = || regular::first_of(names.map(|name| input.join(name)));
    let mut candidates = None;
    let candidates_file = match wishes.candidates.clone() {
        None => own()?,
        given => given,
    };
    if let Some(file) = candidates_file {
        let (read, faults) = RerankCandidates::read(&decode(read_bytes(&file, MAX_RUN_BYTES)?));
        report_broken_lines(FaultKind::Candidate, &file, &faults, on_event);
        candidates = Some(read);
    }
    let of_candidates = candidates
        .as_ref()
        .map_or(&[][..], RerankCandidates::topics);
    let has_own = || anyhow::Ok(own_topics(input)?.is_some());
    if matches!(wishes.topics, TopicSource::Collection) && !of_candidates.is_empty() && !has_own()?
    {
        return Ok((of_candidates.to_vec(), candidates));
    }
    Ok((wishes.read_topics(input, on_event)?, candidates))
}

/// The named approaches, or the default approach of the edition with these settings.
///
/// # Errors
/// An approach makes lists in a form that this edition does not accept, or a setting is wrong.
fn approaches(
    edition: &Edition,
    named: &[&ImageApproach],
    set: &[Setting],
) -> Result<Vec<ImageApproach>> {
    let (form, default, theirs) = if edition.has_stances() {
        let theirs = "one list for each claim, and this year needs lists for and against it";
        (ListForm::Stances, "riposte", theirs)
    } else {
        let theirs = "lists for and against a claim, and this year needs a single list";
        (ListForm::Claims, "riposte-claims", theirs)
    };
    if named.is_empty() {
        return Ok(vec![ImageApproach::find_with(default, set)?]);
    }
    let mut others = named.iter().filter(|approach| approach.form != form);
    if let Some(ImageApproach { name, .. }) = others.next() {
        bail!("the approach {name} makes {theirs} (--edition {edition}): {default} makes these");
    }
    Ok(named.iter().copied().cloned().collect())
}

/// The session with the models that the approaches name, where the user has chosen none.
///
/// # Errors
/// Approaches name different models: all of them rank by the same evidence.
fn with_named_models(session: &Session, approaches: &[ImageApproach]) -> Result<Session> {
    let mut session = session.clone();
    for channel in CHANNELS {
        let (name, Some(role)) = (channel.name(), channel.role()) else {
            continue;
        };
        let is_chosen = session.models.chosen(role).is_some();
        if is_chosen || session.options.chosen.contains_key(name) {
            continue;
        }
        match model_of_all(name, approaches)? {
            // texts are embedded by it, too
            model if role == ModelRole::Sentence => {
                session.models = session.models.with_sentence(model);
            }
            Some(model) => drop(session.options.chosen.insert(name, model)),
            None => {}
        }
    }
    Ok(session)
}

/// The model of a channel that all approaches name; `None` if they name none.
fn model_of_all(channel: &str, approaches: &[ImageApproach]) -> Result<Option<String>> {
    let Some((first, others)) = approaches.split_first() else {
        return Ok(None);
    };
    let of = |approach: &ImageApproach| approach.model(channel).map(str::to_owned);
    if let Some(other) = others.iter().find(|other| of(other) != of(first)) {
        let named = |of: Option<String>| of.unwrap_or_else(|| "none".to_owned());
        bail!(
            "the approaches {} and {} name different models ({channel}: {} and {}), but all approaches of a run rank by the same evidence: rank with them one after the other, or choose one model for all with --{channel}",
            first.name,
            other.name,
            named(of(first)),
            named(of(other))
        );
    }
    Ok(of(first))
}

/// Leaves in the collection only the images that are candidates for some topic.
///
/// # Errors
/// The collection has none of them.
fn restrict(
    collection: &mut ImageCollection,
    candidates: &mut RerankCandidates,
    on_event: &mut OnEvent,
) -> Result<()> {
    let known: Vec<&DocId> = collection.entries.iter().map(|entry| &entry.id).collect();
    let missing = candidates.resolve(&known);
    let wanted: Vec<DocId> = candidates.documents().into_iter().cloned().collect();
    ensure!(
        !wanted.is_empty(),
        "the collection has none of the candidates (the images to re-rank)"
    );
    let count = wanted.len();
    on_event(Event::note(format!(
        "only the {count} candidates are ranked"
    )));
    if missing > 0 {
        on_event(Event::note(format!(
            "{missing} more candidates are not in the collection"
        )));
    }
    collection.retain(&wanted);
    Ok(())
}
