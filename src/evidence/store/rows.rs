//! Writes and reads the evidence of one document as rows.

use std::path::PathBuf;

use anyhow::Result;
use rusqlite::{Connection, OptionalExtension, params};

use super::checksum::{self, Table};
use super::{ChannelOutput, Record};
use crate::collection::images::{CrawlRank, FileState, GivenTexts};
use crate::evidence::ocr::{self, OcrLine};
use crate::evidence::page::{FoundBy, PageWords};
use crate::evidence::picture::Picture;
use crate::evidence::{AfinnValence, Channel, Evidence, PageEvidence, Part, PartValue};
use crate::trec::{DocId, Fault, FaultKind};

/// The tables that hold a channel's evidence.
pub(super) fn tables(channel: Channel) -> &'static [&'static str] {
    match channel {
        Channel::Page => &["page", "crawl_rank", "given_text"],
        Channel::Ocr => &["ocr_line", "ocr_block"],
        Channel::Picture => &["picture"],
        Channel::Clip => &["clip"],
        Channel::Sentence => &["sentence"],
        Channel::Vader => &["vader"],
        Channel::Afinn => &["afinn"],
    }
}

/// Removes a channel of a document.
pub(super) fn clear(c: &Connection, document: &str, channel: Channel) -> rusqlite::Result<()> {
    for table in tables(channel) {
        c.prepare_cached(&format!("DELETE FROM {table} WHERE document = ?"))?
            .execute([document])?;
    }
    for table in ["work", "fault"] {
        c.prepare_cached(&format!(
            "DELETE FROM {table} WHERE document = ? AND channel = ?"
        ))?
        .execute([document, channel.word()])?;
    }
    Ok(())
}

/// Writes a record, and the checksums of the rows that it changes.
pub(super) fn write_record(c: &Connection, record: &Record) -> Result<()> {
    write_rows(c, record)?;
    checksum::add(c, &record.document)
}

/// Records the files of a document.
pub(super) fn write_file_state(c: &Connection, document: &str, files: &FileState) -> Result<()> {
    c.prepare_cached("INSERT OR REPLACE INTO file_state VALUES (?, ?, ?)")?
        .execute([document, &files.state, &files.content])?;
    Ok(())
}

fn write_rows(c: &Connection, record: &Record) -> Result<()> {
    let id = record.document.as_str();
    let content: Option<String> = c
        .prepare_cached("SELECT content FROM file_state WHERE document = ?")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let has_other_content = match (&content, &record.files) {
        (Some(before), Some(files)) => *before != files.content,
        _ => false,
    };
    let before: Option<String> = c
        .prepare_cached("SELECT fingerprint FROM document WHERE document = ?")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    if has_other_content || before.is_some_and(|before| before != record.fingerprint) {
        for channel in Channel::ALL {
            clear(c, id, channel)?;
        }
    }
    c.prepare_cached("INSERT OR REPLACE INTO document VALUES (?, ?, ?)")?
        .execute([id, &record.fingerprint, &record.url])?;
    if let Some(files) = &record.files {
        write_file_state(c, id, files)?;
    }

    for channel in Channel::ALL {
        if made(record, channel).is_some() {
            for derived in Channel::ALL
                .into_iter()
                .filter(|d| d.uses().contains(&channel))
            {
                clear(c, id, derived)?;
            }
        }
    }
    for channel in Channel::ALL {
        let Some((producer, faults)) = made(record, channel) else {
            continue;
        };
        clear(c, id, channel)?;
        c.prepare_cached("INSERT INTO work VALUES (?, ?, ?)")?
            .execute([id, channel.word(), producer])?;
        for (number, fault) in faults.iter().enumerate() {
            c.prepare_cached("INSERT INTO fault VALUES (?, ?, ?, ?, ?, ?, ?)")?
                .execute(params![
                    id,
                    channel.word(),
                    number as i64,
                    fault.kind.word(),
                    fault.path.to_string_lossy(),
                    fault.line.map(|line| line as i64),
                    fault.what
                ])?;
        }
    }
    for (channel, backend) in &record.backends {
        c.prepare_cached("INSERT OR REPLACE INTO backend VALUES (?, ?, ?, ?)")?
            .execute(params![
                id,
                channel.word(),
                backend.name,
                backend.numeric.word()
            ])?;
    }
    Ok(write_values(c, id, record)?)
}

/// The producer and the faults of a channel, if the record has the channel.
fn made(record: &Record, channel: Channel) -> Option<(&str, &[Fault])> {
    fn of<T>(made: &Option<ChannelOutput<T>>) -> Option<(&str, &[Fault])> {
        made.as_ref()
            .map(|m| (m.producer.as_str(), m.faults.as_slice()))
    }
    match channel {
        Channel::Page => of(&record.pages),
        Channel::Ocr => of(&record.ocr),
        Channel::Picture => of(&record.picture),
        Channel::Clip => of(&record.clip),
        Channel::Sentence => of(&record.sentences),
        Channel::Vader => of(&record.vader),
        Channel::Afinn => of(&record.afinn),
    }
}

impl Record {
    /// The faults of all channels.
    pub(crate) fn faults_mut(&mut self) -> impl Iterator<Item = &mut Fault> {
        fn of<T>(made: &mut Option<ChannelOutput<T>>) -> &mut [Fault] {
            made.as_mut()
                .map_or(&mut [], |made| made.faults.as_mut_slice())
        }
        [
            of(&mut self.pages),
            of(&mut self.ocr),
            of(&mut self.picture),
            of(&mut self.clip),
            of(&mut self.sentences),
            of(&mut self.vader),
            of(&mut self.afinn),
        ]
        .into_iter()
        .flatten()
    }
}

fn write_values(c: &Connection, id: &str, record: &Record) -> rusqlite::Result<()> {
    if record.pages.is_some() && !record.given.is_empty() {
        c.prepare_cached("INSERT INTO given_text VALUES (?, ?, ?)")?
            .execute([id, &record.given.caption, &record.given.text])?;
    }
    for page in record.pages.iter().flat_map(|made| &made.value) {
        let w = &page.words;
        c.prepare_cached("INSERT OR REPLACE INTO page VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?
            .execute(params![
                id,
                page.id,
                page.url,
                w.found.word(),
                w.names_image,
                w.title,
                w.description,
                w.alt,
                w.title_attribute,
                w.caption,
                w.headings,
                w.before,
                w.after,
                w.main
            ])?;
        for (number, r) in page.rankings.iter().enumerate() {
            c.prepare_cached("INSERT OR REPLACE INTO crawl_rank VALUES (?,?,?,?,?,?)")?
                .execute(params![
                    id,
                    page.id,
                    number as i64,
                    r.query,
                    r.topic,
                    r.rank
                ])?;
        }
    }
    for (number, line) in record.ocr.iter().flat_map(|made| &made.value).enumerate() {
        let [a, b, d, e] = line.corners;
        c.prepare_cached("INSERT INTO ocr_line VALUES (?,?,?,?,?,?,?,?,?,?,?,?)")?
            .execute(params![
                id,
                number as i64,
                line.text,
                line.confidence,
                a.0,
                a.1,
                b.0,
                b.1,
                d.0,
                d.1,
                e.0,
                e.1
            ])?;
    }
    let mut first = 0;
    for (number, block) in (record.ocr.iter())
        .flat_map(|made| ocr::blocks(&made.value))
        .enumerate()
    {
        c.prepare_cached("INSERT INTO ocr_block VALUES (?, ?, ?)")?
            .execute(params![id, number as i64, first as i64])?;
        first += block.lines.len();
    }
    if let Some(ChannelOutput { value: Some(p), .. }) = &record.picture {
        c.prepare_cached("INSERT INTO picture VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?
            .execute(params![
                id,
                p.width,
                p.height,
                format!("{:016x}", p.phash),
                p.text_fraction,
                p.brightness,
                p.contrast,
                p.saturation,
                p.colourfulness,
                p.red,
                p.green,
                p.blue,
                p.bright,
                p.dark,
                hex_colour(p.average),
                p.colours,
                p.edges,
                p.flat,
                p.photograph
            ])?;
    }
    if let Some(ChannelOutput {
        value: Some(vector),
        ..
    }) = &record.clip
    {
        c.prepare_cached("INSERT INTO clip VALUES (?, ?)")?
            .execute(params![id, blob_of(vector)])?;
    }
    for s in record.sentences.iter().flat_map(|made| &made.value) {
        c.prepare_cached("INSERT OR REPLACE INTO sentence VALUES (?, ?, ?, ?)")?
            .execute(params![id, s.page, s.part.word(), blob_of(&s.value)])?;
    }
    for s in record.vader.iter().flat_map(|made| &made.value) {
        c.prepare_cached("INSERT OR REPLACE INTO vader VALUES (?, ?, ?, ?)")?
            .execute(params![id, s.page, s.part.word(), s.value])?;
    }
    for s in record.afinn.iter().flat_map(|made| &made.value) {
        c.prepare_cached("INSERT OR REPLACE INTO afinn VALUES (?, ?, ?, ?, ?)")?
            .execute(params![
                id,
                s.page,
                s.part.word(),
                s.value.sum,
                s.value.words as i64
            ])?;
    }
    Ok(())
}

/// The evidence that is read of a document besides its words and its picture statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvidenceFields {
    pub rankings: bool,
    pub clip: bool,
    pub sentences: bool,
    /// The values of VADER and AFINN.
    pub sentiment: bool,
}

impl EvidenceFields {
    /// All evidence.
    pub const ALL: EvidenceFields = EvidenceFields {
        rankings: true,
        clip: true,
        sentences: true,
        sentiment: true,
    };
}

pub(super) fn read_document(
    c: &Connection,
    id: &DocId,
    wanted: EvidenceFields,
) -> Result<Option<Evidence>> {
    let key = id.0.as_str();
    let mut url: Option<String> = None;
    checksum::read(c, &checksum::DOCUMENT, (key, key), |row| {
        url = Some(row.get(2)?);
        Ok(())
    })?;
    let Some(url) = url else { return Ok(None) };
    let mut evidence = Evidence {
        id: id.clone(),
        url,
        given: given(c, key)?,
        pages: pages(c, key)?,
        ocr: ocr_lines(c, key)?,
        picture: picture(c, key)?,
        clip: None,
        sentences: Vec::new(),
        vader: Vec::new(),
        afinn: Vec::new(),
    };
    if wanted.rankings {
        let pages = &mut evidence.pages;
        checksum::read(c, &checksum::CRAWL_RANK, (key, key), |row| {
            let page = row.get_ref(1)?.as_str()?;
            if let Some(page) = pages.iter_mut().find(|known| known.id == page) {
                page.rankings.push(rank_of(row)?);
            }
            Ok(())
        })?;
    }
    if wanted.clip {
        checksum::read(c, &checksum::CLIP, (key, key), |row| {
            evidence.clip = Some(vector_of(row.get_ref(1)?.as_blob()?)?);
            Ok(())
        })?;
    }
    if wanted.sentences {
        evidence.sentences = parts(c, key, &checksum::SENTENCE, |row| {
            vector_of(row.get_ref(3)?.as_blob()?)
        })?;
    }
    if wanted.sentiment {
        evidence.vader = parts(c, key, &checksum::VADER, |row| row.get(3))?;
        evidence.afinn = parts(c, key, &checksum::AFINN, |row| {
            Ok(AfinnValence {
                sum: row.get(3)?,
                words: row.get::<_, i64>(4)? as u64,
            })
        })?;
    }
    Ok(Some(evidence))
}

/// The words of a document.
#[derive(Clone, Debug, Default)]
pub struct StoredWords {
    /// The pages, without their crawl ranks.
    pub pages: Vec<PageEvidence>,
    /// The lines of text in the image.
    pub lines: Vec<OcrLine>,
    pub given: GivenTexts,
}

pub(super) fn read_words(c: &Connection, id: &DocId) -> Result<StoredWords> {
    Ok(StoredWords {
        pages: pages(c, &id.0)?,
        lines: ocr_lines(c, &id.0)?,
        given: given(c, &id.0)?,
    })
}

fn given(c: &Connection, key: &str) -> Result<GivenTexts> {
    let mut given = GivenTexts::default();
    checksum::read(c, &checksum::GIVEN_TEXT, (key, key), |row| {
        given.caption = row.get(1)?;
        given.text = row.get(2)?;
        Ok(())
    })?;
    Ok(given)
}

fn pages(c: &Connection, key: &str) -> Result<Vec<PageEvidence>> {
    let mut pages = Vec::new();
    checksum::read(c, &checksum::PAGE, (key, key), |row| {
        pages.push(PageEvidence {
            id: row.get(1)?,
            url: row.get(2)?,
            words: PageWords {
                found: FoundBy::parse(row.get_ref(3)?.as_str()?),
                names_image: row.get(4)?,
                title: row.get(5)?,
                description: row.get(6)?,
                alt: row.get(7)?,
                title_attribute: row.get(8)?,
                caption: row.get(9)?,
                headings: row.get(10)?,
                before: row.get(11)?,
                after: row.get(12)?,
                main: row.get(13)?,
            },
            rankings: Vec::new(),
        });
        Ok(())
    })?;
    Ok(pages)
}

/// A row of the table of crawl ranks.
pub(super) fn rank_of(row: &rusqlite::Row) -> rusqlite::Result<CrawlRank> {
    Ok(CrawlRank {
        query: row.get(3)?,
        topic: row.get(4)?,
        rank: row.get(5)?,
    })
}

/// The lines of text in a document's image. If an earlier build stored lines without blocks, each line becomes a block.
fn ocr_lines(c: &Connection, key: &str) -> Result<Vec<OcrLine>> {
    let mut lines = Vec::new();
    checksum::read(c, &checksum::OCR_LINE, (key, key), |row| {
        lines.push(OcrLine {
            text: row.get(2)?,
            confidence: row.get(3)?,
            corners: [
                (row.get(4)?, row.get(5)?),
                (row.get(6)?, row.get(7)?),
                (row.get(8)?, row.get(9)?),
                (row.get(10)?, row.get(11)?),
            ],
            block: lines.len() as u32,
        });
        Ok(())
    })?;
    checksum::read(c, &checksum::OCR_BLOCK, (key, key), |row| {
        let (block, first): (u32, u32) = (row.get(1)?, row.get(2)?);
        for line in lines.iter_mut().skip(first as usize) {
            line.block = block;
        }
        Ok(())
    })?;
    Ok(lines)
}

fn picture(c: &Connection, key: &str) -> Result<Option<Picture>> {
    let mut picture = None;
    checksum::read(c, &checksum::PICTURE, (key, key), |row| {
        picture = Some(picture_of(row)?);
        Ok(())
    })?;
    Ok(picture)
}

pub(super) fn picture_of(row: &rusqlite::Row) -> rusqlite::Result<Picture> {
    Ok(Picture {
        width: row.get(1)?,
        height: row.get(2)?,
        phash: u64::from_str_radix(row.get_ref(3)?.as_str()?, 16).unwrap_or(0),
        text_fraction: row.get(4)?,
        brightness: row.get(5)?,
        contrast: row.get(6)?,
        saturation: row.get(7)?,
        colourfulness: row.get(8)?,
        red: row.get(9)?,
        green: row.get(10)?,
        blue: row.get(11)?,
        bright: row.get(12)?,
        dark: row.get(13)?,
        average: colour_of(row.get_ref(14)?.as_str()?),
        colours: row.get(15)?,
        edges: row.get(16)?,
        flat: row.get(17)?,
        photograph: row.get(18)?,
    })
}

fn parts<T>(
    c: &Connection,
    key: &str,
    table: &Table,
    mut value: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>,
) -> Result<Vec<PartValue<T>>> {
    let mut parts = Vec::new();
    checksum::read(c, table, (key, key), |row| {
        if let Some(part) = Part::parse(row.get_ref(2)?.as_str()?) {
            parts.push(PartValue {
                page: row.get(1)?,
                part,
                value: value(row)?,
            });
        }
        Ok(())
    })?;
    Ok(parts)
}

/// A row of the table of faults.
pub(super) fn fault_of(row: &rusqlite::Row) -> rusqlite::Result<Fault> {
    let kind: String = row.get(3)?;
    Ok(Fault {
        kind: FaultKind::parse(&kind).unwrap_or(FaultKind::Layout),
        path: PathBuf::from(row.get::<_, String>(4)?),
        line: row.get::<_, Option<i64>>(5)?.map(|line| line as u64),
        what: row.get(6)?,
    })
}

fn hex_colour([r, g, b]: [u8; 3]) -> String {
    format!("{r:02x}{g:02x}{b:02x}")
}

/// Parses rrggbb. Anything else is black.
fn colour_of(hex: &str) -> [u8; 3] {
    let [_, r, g, b] = u32::from_str_radix(hex, 16).unwrap_or(0).to_be_bytes();
    [r, g, b]
}

pub(crate) fn blob_of(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub(crate) fn vector_of(blob: &[u8]) -> rusqlite::Result<Vec<f32>> {
    let (numbers, rest) = blob.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(rusqlite::Error::InvalidColumnType(
            0,
            "vector".into(),
            rusqlite::types::Type::Blob,
        ));
    }
    Ok(numbers
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect())
}
