//! `generate`: a collection out of code alone. Its judgements follow from how each picture was made.
//!
//! The same seed gives the same bytes. Pictures are made independently of each other, so memory does
//! not grow with their number.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use image::codecs::{jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder};
use image::{ExtendedColorType, ImageEncoder, RgbImage};
use rayon::prelude::*;
use riposte::evidence::picture::perceptual_hash;
use riposte::trec;
use sha2::{Digest, Sha256};

use crate::draw::Fonts;
use crate::pages::{Bent, Carried, Writer};
use crate::pictures::{self, Drawn, Shown};
use crate::topics::{Subjects, Topic};
use seeded_random::Random;

/// How many of 22 pictures of a topic show what: the real collection has more PRO than CON, and a third is off topic.
const DECK: [(Shown, usize); 5] = [
    (Shown::Pro, 7),
    (Shown::Con, 5),
    (Shown::Both, 1),
    (Shown::Topic, 3),
    (Shown::Nothing, 6),
];

const HOSTS: [&str; 14] = [
    "daily-lantern.example",
    "www.morning-ledger.example",
    "openforum.example",
    "town-and-field.example",
    "blog.nordby-notes.example",
    "www.the-weekly-lens.example",
    "kestrel-times.example",
    "debate-corner.example",
    "citizen-voice.example",
    "www.plain-facts.example",
    "harbour-post.example",
    "thinkpiece.example",
    "school-gazette.example",
    "www.market-square.example",
];

#[derive(clap::Args)]
pub struct Options {
    /// Number of topics (at most those that topics.toml has)
    #[arg(long, default_value_t = 6)]
    topics: usize,
    /// Number of images
    #[arg(long, default_value_t = 66)]
    images: usize,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write: a new or an empty directory
    dir: std::path::PathBuf,
}

pub fn run(options: &Options) -> Result<()> {
    let subjects = Subjects::load()?;
    if !(1..=subjects.topics.len()).contains(&options.topics) {
        bail!(
            "--topics must be from 1 to {}, not {}",
            subjects.topics.len(),
            options.topics
        );
    }
    let plan = Plan {
        topics: &subjects.topics[..options.topics],
        fonts: Fonts::load()?,
        subjects: &subjects,
        seed: options.seed,
    };
    new_directory(&options.dir)?;
    let lab: Vec<_> = plan.topics.iter().enumerate().map(lab_topic).collect();
    write(&options.dir.join("topics.xml"), topics_xml(&lab))?;
    let judged = (0..options.images)
        .into_par_iter()
        .map(|number| plan.make(number, &options.dir))
        .collect::<Result<Vec<_>>>()?;
    let mut lines: Vec<(usize, String, [bool; 3])> = judged.into_iter().flatten().collect();
    lines.sort();
    let mut qrels = String::new();
    for (topic, id, [on_topic, pro, con]) in &lines {
        for (word, holds) in [("ONTOPIC", on_topic), ("PRO", pro), ("CON", con)] {
            qrels.push_str(&format!("{topic} {word} {id} {}\n", u8::from(*holds)));
        }
    }
    write(&options.dir.join("qrels.txt"), qrels)?;
    println!(
        "{}: {} images, {} topics, {} judgements (seed {})",
        options.dir.display(),
        options.images,
        options.topics,
        lines.len(),
        options.seed
    );
    Ok(())
}

/// A directory that holds nothing yet.
pub fn new_directory(dir: &Path) -> Result<()> {
    let what = || format!("cannot make the directory {}", dir.display());
    fs::create_dir_all(dir).with_context(what)?;
    if fs::read_dir(dir).with_context(what)?.next().is_some() {
        bail!("{} is not empty: give a new directory", dir.display());
    }
    Ok(())
}

pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot make the directory {}", parent.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// A letter and the first 16 hex digits of the URL's SHA-256.
pub fn id(letter: char, url: &str) -> String {
    let digest = Sha256::digest(url.as_bytes());
    let hex: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{letter}{hex}")
}

/// The lab's topics file.
pub fn topics_xml(topics: &[trec::topic::Topic]) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let mut xml = String::from("<topics>\n");
    for topic in topics {
        xml.push_str(&format!(
            "  <topic>\n    <number>{}</number>\n",
            escape(&topic.id.0)
        ));
        let fields = [
            ("title", Some(&topic.title)),
            ("description", topic.description.as_ref()),
            ("narrative", topic.narrative.as_ref()),
        ];
        for (name, text) in fields {
            if let Some(text) = text {
                xml.push_str(&format!("    <{name}>{}</{name}>\n", escape(text)));
            }
        }
        xml.push_str("  </topic>\n");
    }
    xml.push_str("</topics>\n");
    xml
}

/// A topic as the lab words it; the first is number 1.
fn lab_topic((at, topic): (usize, &Topic)) -> trec::topic::Topic {
    trec::topic::Topic {
        id: trec::TopicId((at + 1).to_string()),
        title: topic.title.clone(),
        description: Some(topic.description.clone()),
        narrative: Some(topic.narrative.clone()),
        objects: None,
    }
}

/// One judged pair: topic number, image, and whether it is on topic, PRO, CON.
type Judged = (usize, String, [bool; 3]);

struct Plan<'a> {
    topics: &'a [Topic],
    fonts: Fonts,
    subjects: &'a Subjects,
    seed: u64,
}

/// What a picture is of, before it is drawn.
struct Role<'a> {
    /// Index of the topic that it was found for.
    at: usize,
    topic: &'a Topic,
    shown: Shown,
    /// Counts the pictures that show the same of the same topic.
    turn: usize,
}

impl Plan<'_> {
    fn random(&self, what: &str, number: usize) -> Random {
        Random::new(self.seed, what, number as u64)
    }

    /// Topics take turns; each deals its pictures from a shuffled deck.
    fn role(&self, number: usize) -> Option<Role<'_>> {
        let at = number % self.topics.len();
        let topic = self.topics.get(at)?;
        let size: usize = DECK.iter().map(|(_, n)| n).sum();
        let turn = number / self.topics.len();
        let mut deck: Vec<Shown> = DECK.iter().flat_map(|&(shown, n)| vec![shown; n]).collect();
        self.random("deck", at + self.topics.len() * (turn / size))
            .shuffle(&mut deck);
        let shown = *deck.get(turn % size)?;
        let before = deck
            .iter()
            .take(turn % size)
            .filter(|s| **s == shown)
            .count();
        let each = DECK
            .iter()
            .find(|(s, _)| *s == shown)
            .map_or(0, |(_, n)| *n);
        // The topic's number moves the start, so that a small collection has every kind.
        Some(Role {
            at,
            topic,
            shown,
            turn: before + each * (turn / size) + at,
        })
    }

    /// The picture that `number` repeats, smaller or recompressed, if it is a near-duplicate.
    fn original(&self, number: usize) -> Option<usize> {
        let mut random = self.random("copy", number);
        let rounds = number / self.topics.len();
        let is_copy = rounds > 0 && random.percent(7);
        // Of the same topic, so that its page and its judgements stay what they are.
        is_copy.then(|| number % self.topics.len() + self.topics.len() * random.below(rounds))
    }

    fn make(&self, number: usize, dir: &Path) -> Result<Vec<Judged>> {
        let mut source = number;
        while let Some(original) = self.original(source) {
            source = original;
        }
        let role = self.role(source).context("a collection needs a topic")?;
        let drawn = pictures::draw(
            &self.fonts,
            self.subjects,
            role.topic,
            role.shown,
            role.turn,
            self.random("picture", source),
        )?;
        let mut random = self.random("page", number);
        let (image, bytes) = encode(&drawn.image, source != number, &mut random)
            .with_context(|| format!("encoding image {number}"))?;
        let url = self.image_url(&role, &drawn, number, &mut random);
        let id = id('I', &url);
        let home = dir.join("images").join(&id[..3]).join(&id);
        write(&home.join("image.webp"), bytes)?;
        write(&home.join("image-url.txt"), &url)?;
        write(
            &home.join("image-phash.txt"),
            format!("{:064b}", perceptual_hash(&image)),
        )?;
        for page in 0..if random.percent(12) { 2 } else { 1 } {
            let carried = Carried {
                url: &url,
                kind: drawn.kind,
                words: &drawn.words,
                width: image.width(),
                height: image.height(),
                shown: role.shown,
            };
            self.page(&role, &carried, number, page, &home, &mut random)?;
        }
        Ok(self.judge(&role, &id, &mut random))
    }

    fn image_url(&self, role: &Role, drawn: &Drawn, number: usize, random: &mut Random) -> String {
        let host = random.pick(&HOSTS);
        let year = random.between(2012, 2023);
        let words = match random.below(3) {
            0 if role.shown != Shown::Nothing => {
                slug(&format!("{} {}", role.topic.short, drawn.kind))
            }
            1 if !drawn.words.is_empty() => slug(&drawn.words),
            _ => format!("img-{:04}", random.below(10_000)),
        };
        let ending = random.pick(&["jpg", "jpg", "png", "webp"]);
        // The number keeps two images from having one address.
        format!("https://{host}/wp-content/uploads/{year}/{words}-{number}.{ending}")
    }

    fn page(
        &self,
        role: &Role,
        carried: &Carried,
        number: usize,
        page: usize,
        home: &Path,
        random: &mut Random,
    ) -> Result<()> {
        let bent = bent(role.shown, random);
        let host = random.pick(&HOSTS);
        let path = match bent {
            Bent::Astray => "life",
            _ => random.pick(&["opinion", "news", "debate", "society"]),
        };
        let url = format!(
            "https://{host}/{path}/{}-{}",
            random.between(10_000, 99_999),
            number * 2 + page
        );
        let written = Writer {
            subjects: self.subjects,
            topic: role.topic,
            bent,
            host,
            url: &url,
            random: Random::new(random.next_u64(), "writer", page as u64),
        }
        .write(carried);
        let home = home.join("pages").join(id('P', &url));
        write(&home.join("page-url.txt"), &url)?;
        write(&home.join("rankings.jsonl"), rankings(role, bent, random))?;
        write(&home.join("snapshot/dom.html"), written.html)?;
        write(&home.join("snapshot/text.txt"), written.text)?;
        write(
            &home.join("snapshot/image-xpath.txt"),
            written.xpaths.join("\n") + "\n",
        )
    }

    /// The topic that it was found for, and often one more, for which it is off topic.
    fn judge(&self, role: &Role, id: &str, random: &mut Random) -> Vec<Judged> {
        let grades = match role.shown {
            Shown::Pro => [true, true, false],
            Shown::Con => [true, false, true],
            Shown::Both => [true, true, true],
            Shown::Topic => [true, false, false],
            Shown::Nothing => [false; 3],
        };
        let mut judged = vec![(role.at + 1, id.to_owned(), grades)];
        let other = random.below(self.topics.len());
        if other != role.at && random.percent(50) {
            judged.push((other + 1, id.to_owned(), [false; 3]));
        }
        judged
    }
}

/// What the page of a picture does: mostly what the picture does, but far from always.
fn bent(shown: Shown, random: &mut Random) -> Bent {
    let dice = random.below(100);
    let (own, opposite) = match shown {
        Shown::Con => (Bent::Con, Bent::Pro),
        _ => (Bent::Pro, Bent::Con),
    };
    match shown {
        Shown::Pro | Shown::Con => match dice {
            0..55 => own,
            55..77 => Bent::Balanced,
            77..90 => Bent::Neutral,
            _ => opposite,
        },
        Shown::Both | Shown::Topic => match dice {
            0..20 => Bent::Pro,
            20..40 => Bent::Con,
            40..70 => Bent::Balanced,
            _ => Bent::Neutral,
        },
        Shown::Nothing => match dice {
            0..15 => Bent::Pro,
            15..30 => Bent::Con,
            30..45 => Bent::Balanced,
            45..60 => Bent::Neutral,
            _ => Bent::Astray,
        },
    }
}

/// The searches that found the page, with ranks that hint at what was found and often mislead.
fn rankings(role: &Role, bent: Bent, random: &mut Random) -> String {
    let short = &role.topic.short;
    let mut lines = String::new();
    for _ in 0..random.between(1, 3) {
        let good = match (role.shown, bent) {
            (Shown::Pro, _) | (Shown::Topic, Bent::Pro) => 65,
            (Shown::Con, _) | (Shown::Topic, Bent::Con) => 35,
            _ => 50,
        };
        let query = match random.below(6) {
            0 => role.topic.title.clone(),
            1 => format!(
                "{short} {}",
                random.pick(&["meme", "quote", "stats", "protests"])
            ),
            2 => short.clone(),
            _ if random.percent(good) => format!("{short} good"),
            _ => format!("{short} anti"),
        };
        let lowest = match role.shown {
            Shown::Nothing => 40,
            _ => 1,
        };
        let rank = random.between(random.clone().between(1, lowest), 100);
        let line =
            serde_json::json!({"query": query, "topic": (role.at + 1).to_string(), "rank": rank});
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

/// Lower-case words with hyphens, at most 60 characters.
fn slug(text: &str) -> String {
    let words: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                ' '
            }
        })
        .collect();
    let mut slug = words.split_whitespace().collect::<Vec<_>>().join("-");
    slug.truncate(60);
    slug
}

/// The file's bytes and the pixels in them: lossless WebP; as in the crawl, `image.webp` is now and
/// then a PNG. A near-duplicate is a smaller WebP or a JPEG.
fn encode(image: &RgbImage, copy: bool, random: &mut Random) -> Result<(RgbImage, Vec<u8>)> {
    let mut bytes = Vec::new();
    let as_jpeg = random.percent(50);
    let image = match copy && !as_jpeg {
        true => reduced(image, random.between(70, 90) as u32),
        false => image.clone(),
    };
    let (width, height) = image.dimensions();
    let colour = ExtendedColorType::Rgb8;
    if copy && as_jpeg {
        JpegEncoder::new_with_quality(&mut bytes, 70).write_image(&image, width, height, colour)?;
        return Ok((image::load_from_memory(&bytes)?.to_rgb8(), bytes));
    }
    match random.percent(4) {
        true => PngEncoder::new(&mut bytes).write_image(&image, width, height, colour)?,
        false => {
            WebPEncoder::new_lossless(&mut bytes).write_image(&image, width, height, colour)?
        }
    }
    Ok((image, bytes))
}

/// To `percent` of its width and height; the nearest pixel, so that its colours stay few.
fn reduced(image: &RgbImage, percent: u32) -> RgbImage {
    let size = |n: u32| (n * percent / 100).max(1);
    RgbImage::from_fn(size(image.width()), size(image.height()), |x, y| {
        *image.get_pixel(
            (x * 100 / percent).min(image.width() - 1),
            (y * 100 / percent).min(image.height() - 1),
        )
    })
}
