//! `generate`: generates a collection. The judgements of a picture follow from how it was drawn.
//!
//! The same seed gives the same bytes. Pictures are made independently of each other, so that memory does not grow with
//! their number.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::{ExtendedColorType, ImageEncoder, RgbImage};
use rayon::prelude::*;
use riposte::evidence::picture::perceptual_hash;
use riposte_eval::TopicId;
use seeded_random::Random;

use crate::canvas::Fonts;
use crate::files::{id, id_of_digits, new_directory, topics_xml, write};
use crate::pages::{EmbeddedPicture, PageWriter, Slant};
use crate::painter::Picture;
use crate::pictures::{self, Content};
use crate::topics::{Subjects, Topic};
use crate::{claims, counted};

/// The contents of 22 pictures of a topic. As in the real collection, more pictures are PRO than CON, and many are off topic.
const DECK: [(Content, usize); 5] = [
    (Content::Pro, 7),
    (Content::Con, 5),
    (Content::Both, 1),
    (Content::OnTopic, 3),
    (Content::OffTopic, 6),
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
    /// Number of topics, 10 at most
    #[arg(long, default_value_t = 6)]
    topics: usize,
    /// Number of images
    #[arg(long, default_value_t = 66)]
    images: usize,
    /// Number of additional images that argue for both sides: pros and cons in two columns or panels, or a disputed claim
    #[arg(long, value_name = "N", default_value_t = 0)]
    two_sided: usize,
    /// Make a collection in the form of 2025: arguments.xml with two claims for each topic, captions and texts beside the images, ids of 24
    /// digits, grades from 0 to 2
    #[arg(long)]
    claims: bool,
    /// The same seed gives the same bytes; --two-sided does not change the other images
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write: a new or an empty directory
    dir: PathBuf,
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
    let generator = Generator {
        topics: &subjects.topics[..options.topics],
        fonts: Fonts::load()?,
        subjects: &subjects,
        seed: options.seed,
        images: options.images,
        claims: options.claims,
    };
    let images = options.images + options.two_sided;
    new_directory(&options.dir)?;
    if options.claims {
        let xml = claims::arguments_xml(generator.topics);
        write(&options.dir.join("arguments.xml"), xml)?;
    } else {
        let topics: Vec<_> = generator.topics.iter().enumerate().map(lab_topic).collect();
        write(&options.dir.join("topics.xml"), topics_xml(&topics))?;
    }
    let judgements = (0..images)
        .into_par_iter()
        .map(|number| generator.make(number, &options.dir))
        .collect::<Result<Vec<_>>>()?;
    let mut judgements: Vec<Judgement> = judgements.into_iter().flatten().collect();
    judgements.sort();
    let mut qrels = String::new();
    for Judgement {
        topic,
        image,
        grades,
    } in &judgements
    {
        if options.claims {
            qrels.push_str(&claims::judgements(*topic, image, *grades));
            continue;
        }
        for (word, holds) in ["ONTOPIC", "PRO", "CON"].into_iter().zip(grades) {
            qrels.push_str(&format!("{topic} {word} {image} {}\n", u8::from(*holds)));
        }
    }
    write(&options.dir.join("qrels.txt"), qrels)?;
    println!(
        "{}: {}, {}, {} (seed {})",
        options.dir.display(),
        counted(images, "image"),
        counted(options.topics, "topic"),
        counted(judgements.len(), "judgement"),
        options.seed
    );
    Ok(())
}

/// A topic in the form of the lab's topics; the first one has the number 1.
fn lab_topic((at, topic): (usize, &Topic)) -> riposte_eval::topic::Topic {
    riposte_eval::topic::Topic {
        id: TopicId((at + 1).to_string()),
        title: topic.title.clone(),
        description: Some(topic.description.clone()),
        narrative: Some(topic.narrative.clone()),
        objects: None,
        argument: None,
    }
}

/// The judgement of an image for a topic.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Judgement {
    /// The number of the topic.
    topic: usize,
    image: String,
    /// Whether it is on topic, PRO, CON.
    grades: [bool; 3],
}

struct Generator<'a> {
    topics: &'a [Topic],
    fonts: Fonts,
    subjects: &'a Subjects,
    seed: u64,
    /// Number of images that are dealt from the deck; the others argue for both sides.
    images: usize,
    /// Whether the collection has the form of 2025.
    claims: bool,
}

/// The topic and the content of a picture, before it is drawn.
struct Role<'a> {
    /// The index of the topic that the picture is found for.
    at: usize,
    topic: &'a Topic,
    content: Content,
    /// The number of the picture among those of the same topic and content.
    turn: usize,
}

impl Generator<'_> {
    /// The random stream for one purpose and picture.
    fn random(&self, what: &str, number: usize) -> Random {
        Random::new(self.seed, what, number as u64)
    }

    /// The topics take turns; each deals its pictures from a shuffled deck.
    fn role(&self, number: usize) -> Option<Role<'_>> {
        if let Some(turn) = number.checked_sub(self.images) {
            let at = turn % self.topics.len();
            return Some(Role {
                at,
                topic: self.topics.get(at)?,
                content: Content::TwoSided,
                turn,
            });
        }
        let at = number % self.topics.len();
        let topic = self.topics.get(at)?;
        let size: usize = DECK.iter().map(|(_, n)| n).sum();
        let turn = number / self.topics.len();
        let mut deck: Vec<Content> = DECK
            .iter()
            .flat_map(|&(content, n)| vec![content; n])
            .collect();
        self.random("deck", at + self.topics.len() * (turn / size))
            .shuffle(&mut deck);
        let content = *deck.get(turn % size)?;
        let before = deck
            .iter()
            .take(turn % size)
            .filter(|other| **other == content)
            .count();
        let each = DECK
            .iter()
            .find(|(other, _)| *other == content)
            .map_or(0, |(_, n)| *n);
        // Each topic starts at another kind of picture, so that a small collection has every kind.
        Some(Role {
            at,
            topic,
            content,
            turn: before + each * (turn / size) + at,
        })
    }

    /// The number of the picture that picture `number` copies, smaller or recompressed. None if picture `number` is an original.
    fn original(&self, number: usize) -> Option<usize> {
        if number >= self.images {
            return None;
        }
        let mut random = self.random("copy", number);
        let rounds = number / self.topics.len();
        let is_copy = rounds > 0 && random.percent(7);
        // The original has the same topic, so that page and judgements fit the copy too.
        is_copy.then(|| number % self.topics.len() + self.topics.len() * random.below(rounds))
    }

    fn make(&self, number: usize, dir: &Path) -> Result<Vec<Judgement>> {
        let mut source = number;
        while let Some(original) = self.original(source) {
            source = original;
        }
        let role = self.role(source).context("a collection needs a topic")?;
        let picture = pictures::draw(
            &self.fonts,
            self.subjects,
            role.topic,
            role.content,
            role.turn,
            self.random("picture", source),
        )?;
        let mut random = self.random("page", number);
        let (image, bytes) = encode(&picture.image, source != number, &mut random)
            .with_context(|| format!("encoding image {number}"))?;
        let url = self.image_url(&role, &picture, number, &mut random);
        let id = id_of_digits('I', &url, if self.claims { 24 } else { 16 });
        let home = dir.join("images").join(&id[..3]).join(&id);
        write(&home.join("image.webp"), bytes)?;
        write(&home.join("image-url.txt"), &url)?;
        write(
            &home.join("image-phash.txt"),
            format!("{:064b}", perceptual_hash(&image)),
        )?;
        if self.claims {
            let caption = claims::caption(picture.kind, role.content, role.topic);
            write(&home.join("image-caption.txt"), caption)?;
            write(&home.join("image-text.txt"), &picture.words)?;
        }
        let pages = if random.percent(12) { 2 } else { 1 };
        for page in 0..pages {
            let embedded = EmbeddedPicture {
                url: &url,
                kind: picture.kind,
                words: &picture.words,
                width: image.width(),
                height: image.height(),
                content: role.content,
            };
            self.page(&role, &embedded, number, page, &home, &mut random)?;
        }
        Ok(self.judge(&role, &id, &mut random))
    }

    fn image_url(
        &self,
        role: &Role,
        picture: &Picture,
        number: usize,
        random: &mut Random,
    ) -> String {
        let host = random.pick(&HOSTS);
        let year = random.between(2012, 2023);
        let words = match random.below(3) {
            0 if role.content != Content::OffTopic => {
                slug(&format!("{} {}", role.topic.short, picture.kind))
            }
            1 if !picture.words.is_empty() => slug(&picture.words),
            _ => format!("img-{:04}", random.below(10_000)),
        };
        let ending = random.pick(&["jpg", "jpg", "png", "webp"]);
        // The number makes the address unique.
        format!("https://{host}/wp-content/uploads/{year}/{words}-{number}.{ending}")
    }

    fn page(
        &self,
        role: &Role,
        picture: &EmbeddedPicture,
        number: usize,
        page: usize,
        home: &Path,
        random: &mut Random,
    ) -> Result<()> {
        let slant = slant(role.content, random);
        let host = random.pick(&HOSTS);
        let path = match slant {
            Slant::OffTopic => "life",
            _ => random.pick(&["opinion", "news", "debate", "society"]),
        };
        let url = format!(
            "https://{host}/{path}/{}-{}",
            random.between(10_000, 99_999),
            number * 2 + page
        );
        let written = PageWriter {
            subjects: self.subjects,
            topic: role.topic,
            slant,
            host,
            url: &url,
            random: Random::new(random.next_u64(), "writer", page as u64),
        }
        .write(picture);
        let home = home.join("pages").join(id('P', &url));
        write(&home.join("page-url.txt"), &url)?;
        write(&home.join("rankings.jsonl"), rankings(role, slant, random))?;
        write(&home.join("snapshot/dom.html"), written.html)?;
        write(&home.join("snapshot/text.txt"), written.text)?;
        write(
            &home.join("snapshot/image-xpath.txt"),
            written.xpaths.join("\n") + "\n",
        )
    }

    /// The judgement for the topic that the image was found for and, for some images, that for another topic, for which the image is off topic.
    fn judge(&self, role: &Role, id: &str, random: &mut Random) -> Vec<Judgement> {
        let grades = match role.content {
            Content::Pro => [true, true, false],
            Content::Con => [true, false, true],
            Content::Both | Content::TwoSided => [true, true, true],
            Content::OnTopic => [true, false, false],
            Content::OffTopic => [false; 3],
        };
        let judgement = |at: usize, grades| Judgement {
            topic: at + 1,
            image: id.to_owned(),
            grades,
        };
        let mut judgements = vec![judgement(role.at, grades)];
        let other = random.below(self.topics.len());
        if other != role.at && random.percent(50) {
            judgements.push(judgement(other, [false; 3]));
        }
        judgements
    }
}

/// The slant of a page that shows a picture: often, but not always, that of the picture.
fn slant(content: Content, random: &mut Random) -> Slant {
    let dice = random.below(100);
    let (own, opposite) = match content {
        Content::Con => (Slant::Con, Slant::Pro),
        _ => (Slant::Pro, Slant::Con),
    };
    match content {
        Content::Pro | Content::Con => match dice {
            0..55 => own,
            55..77 => Slant::Balanced,
            77..90 => Slant::Neutral,
            _ => opposite,
        },
        Content::Both | Content::TwoSided | Content::OnTopic => match dice {
            0..20 => Slant::Pro,
            20..40 => Slant::Con,
            40..70 => Slant::Balanced,
            _ => Slant::Neutral,
        },
        Content::OffTopic => match dice {
            0..15 => Slant::Pro,
            15..30 => Slant::Con,
            30..45 => Slant::Balanced,
            45..60 => Slant::Neutral,
            _ => Slant::OffTopic,
        },
    }
}

/// The searches that found the page, with ranks that hint at the content and often mislead.
fn rankings(role: &Role, slant: Slant, random: &mut Random) -> String {
    let short = &role.topic.short;
    let mut lines = String::new();
    for _ in 0..random.between(1, 3) {
        let good = match (role.content, slant) {
            (Content::Pro, _) | (Content::OnTopic, Slant::Pro) => 65,
            (Content::Con, _) | (Content::OnTopic, Slant::Con) => 35,
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
        let lowest = if role.content == Content::OffTopic {
            40
        } else {
            1
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

/// The pixels and the bytes of the file: a lossless WebP, or sometimes, as in the crawl, a PNG that is named `image.webp`. A
/// near-duplicate is a smaller picture or a JPEG.
fn encode(image: &RgbImage, copy: bool, random: &mut Random) -> Result<(RgbImage, Vec<u8>)> {
    let mut bytes = Vec::new();
    let as_jpeg = random.percent(50);
    let image = if copy && !as_jpeg {
        reduced(image, random.between(70, 90) as u32)
    } else {
        image.clone()
    };
    let (width, height) = image.dimensions();
    let colour = ExtendedColorType::Rgb8;
    if copy && as_jpeg {
        JpegEncoder::new_with_quality(&mut bytes, 70).write_image(&image, width, height, colour)?;
        return Ok((image::load_from_memory(&bytes)?.to_rgb8(), bytes));
    }
    if random.percent(4) {
        PngEncoder::new(&mut bytes).write_image(&image, width, height, colour)?;
    } else {
        WebPEncoder::new_lossless(&mut bytes).write_image(&image, width, height, colour)?;
    }
    Ok((image, bytes))
}

/// The image at `percent` of its width and height, by the nearest pixel, so that there are no new colours.
fn reduced(image: &RgbImage, percent: u32) -> RgbImage {
    let size = |n: u32| (n * percent / 100).max(1);
    RgbImage::from_fn(size(image.width()), size(image.height()), |x, y| {
        *image.get_pixel(
            (x * 100 / percent).min(image.width() - 1),
            (y * 100 / percent).min(image.height() - 1),
        )
    })
}
