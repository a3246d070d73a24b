//! The picture itself: its pixels, statistics of its colours and edges, and a hash for near-duplicates.

pub(super) mod decode;
mod hash;
pub(super) mod jpeg;
mod statistics;

pub use decode::{DecodedImage, decode};
pub use hash::{hamming, perceptual_hash};
pub use statistics::{PictureStatistics, measure};

use anyhow::{Context, Result};
use riposte_eval::DocId;
use rusqlite::Row;

use super::channel::{Channel, Extractor, NewExtractor, Precision, PutRow};
use super::document::DocumentInWork;
use super::store::{ALL, Store};
use super::table::ColumnType::{Integer, Real, Text};
use super::table::EvidenceTable;
use super::{ChannelValue, Evidence};
use crate::weights::CheckedModel;

/// Identifies the statistics and the hash in the evidence store. A change of any of them needs a new number.
pub(crate) const PRODUCER: &str = "picture 1";

/// The statistics of pictures. `phash` has 16 hexadecimal digits, and `average` is rrggbb.
static PICTURE: EvidenceTable = EvidenceTable::new(
    "picture",
    0,
    &[
        (Integer, "width height"),
        (Text, "phash"),
        (
            Real,
            "text_fraction brightness contrast saturation colourfulness red green blue bright dark",
        ),
        (Text, "average"),
        (Integer, "colours"),
        (Real, "edges flat photograph"),
    ],
);

impl ChannelValue for PictureStatistics {}

/// The channel of a picture's size, colours and perceptual hash.
pub struct PictureChannel;

impl Channel for PictureChannel {
    fn name(&self) -> &'static str {
        "picture"
    }

    fn uses(&self) -> &'static [&'static str] {
        &["ocr"]
    }

    fn tables(&self) -> &'static [&'static EvidenceTable] {
        const { &[&PICTURE] }
    }

    fn is_copied(&self) -> bool {
        true
    }

    fn extractor(&self, _: Option<CheckedModel>, _: Precision) -> NewExtractor {
        Ok(Box::new(PictureChannel))
    }

    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
        let Some(p) = evidence.get::<PictureStatistics>() else {
            return Ok(());
        };
        let [r, g, b] = p.average;
        put(
            &PICTURE,
            &[
                &p.width,
                &p.height,
                &format!("{:016x}", p.phash),
                &p.text_fraction,
                &p.brightness,
                &p.contrast,
                &p.saturation,
                &p.colourfulness,
                &p.red,
                &p.green,
                &p.blue,
                &p.bright,
                &p.dark,
                &format!("{r:02x}{g:02x}{b:02x}"),
                &p.colours,
                &p.edges,
                &p.flat,
                &p.photograph,
            ],
        )
    }

    fn read(&self, _: &EvidenceTable, row: &Row, evidence: &mut Evidence) -> rusqlite::Result<()> {
        evidence.put(picture_of(row)?);
        Ok(())
    }
}

impl Extractor for PictureChannel {
    fn producer(&self) -> String {
        PRODUCER.to_owned()
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        let image = document.image();
        document.add_image_faults();
        let evidence = &mut document.evidence;
        if let Some(image) = image {
            evidence.put(measure(&image.picture.image, evidence.list()));
        }
        Ok(())
    }
}

impl Store {
    /// The perceptual hashes of all images that could be decoded, by document.
    pub fn perceptual_hashes(&self) -> Result<Vec<(DocId, u64)>> {
        let mut hashes = Vec::new();
        self.each_row(&PICTURE, ALL, |row| {
            hashes.push((DocId(row.get(0)?), row.get::<_, String>(3)?));
            Ok(())
        })?;
        let path = self.path().display();
        let hashes = hashes.into_iter().map(|(id, text)| {
            let hash = u64::from_str_radix(&text, 16);
            let hash = hash.with_context(|| format!("{path}: {text:?} is not a perceptual hash"));
            Ok((id, hash?))
        });
        hashes.collect()
    }
}

/// A row of the table.
fn picture_of(row: &Row) -> rusqlite::Result<PictureStatistics> {
    Ok(PictureStatistics {
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

/// Parses rrggbb. Anything else is black.
fn colour_of(hex: &str) -> [u8; 3] {
    let [_, r, g, b] = u32::from_str_radix(hex, 16).unwrap_or(0).to_be_bytes();
    [r, g, b]
}
