//! The stages of extraction one by one: for `riposte-bench stage`, which is timed in turn with other programs, and for the bench
//! `stages`, which times riposte only.

use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use image::RgbImage;
use riposte::evidence::clip::{Clip, Pixels};
use riposte::evidence::ocr::{OcrLine, PpOcr, Script, TextReader};
use riposte::evidence::page::{self, PageWords};
use riposte::evidence::picture;
use riposte::evidence::sentence::Sentences;
use riposte::evidence::sentiment::Vader;
use riposte::weights::{CheckedModel, ModelStatus, Models};
use riposte_nn::conv::{Numeric, NumericMode};
use riposte_nn::transformer::EncoderBackend;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Stage {
    /// Bytes to pixels
    Decode,
    /// Pixels to CLIP's input
    Resize,
    /// The bytes of dom.html to title, words around the image and main text
    Page,
    /// VADER over a text
    Vader,
    /// The text in a decoded image
    Ocr,
    /// CLIP's image tower on its input
    ClipImage,
    /// CLIP's text tower, with its tokenizer
    ClipText,
    /// The sentence encoder, with its tokenizer
    Sentences,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An input of a stage.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Item {
    /// The path of an image, or a text.
    Text(String),
    Page(PageItem),
}

#[derive(Clone, Deserialize)]
pub struct PageItem {
    html: PathBuf,
    xpaths: Vec<String>,
    url: String,
}

/// The output of a unit.
pub enum Output {
    Image(RgbImage),
    Pixels(Pixels),
    Words(Box<PageWords>),
    Number(f64),
    Lines(Vec<OcrLine>),
    Vectors(Vec<Vec<f32>>),
}

/// A piece of work that is timed separately: one item, or a batch of items.
pub struct Unit(Box<dyn Fn() -> Result<Output>>);

impl Unit {
    pub fn run(&self) -> Result<Output> {
        (self.0)()
    }
}

/// The units of a stage. Everything that comes before the stage is done here: models are loaded, files read, and the outputs of
/// earlier stages computed.
///
/// # Errors
/// A model is missing, a file cannot be read, or an item does not fit the stage.
pub fn prepare(stage: Stage, items: &[Item], models: &Models, batch: usize) -> Result<Vec<Unit>> {
    let clip = Box::new(|| clip(models));
    prepare_with(stage, items, models, clip, batch)
}

/// As [`prepare`], with another image-text model.
///
/// # Errors
/// Those of [`prepare`], and of `clip`.
pub fn prepare_with(
    stage: Stage,
    items: &[Item],
    models: &Models,
    clip: Box<dyn Fn() -> Result<Clip> + '_>,
    batch: usize,
) -> Result<Vec<Unit>> {
    match stage {
        Stage::Decode => each(items, |item| {
            let bytes = read(file(item)?)?;
            Ok(move || Ok(Output::Image(picture::decode(&bytes)?.image)))
        }),
        Stage::Resize => {
            let clip = Rc::new(clip()?);
            each(items, |item| {
                let (clip, image) = (clip.clone(), decode(item)?);
                Ok(move || Ok(Output::Pixels(clip.preprocess(&image))))
            })
        }
        Stage::Page => each(items, |item| {
            let Item::Page(PageItem { html, xpaths, url }) = item.clone() else {
                bail!("an item of the stage page must be an object with html, xpaths and url");
            };
            let bytes = read(&html)?;
            Ok(move || {
                let (html, _) = page::decode(&bytes);
                Ok(Output::Words(Box::new(page::read(&html, &xpaths, &url))))
            })
        }),
        Stage::Vader => {
            let vader = Rc::new(Vader::new());
            each(items, |item| {
                let (vader, text) = (vader.clone(), text(item)?.to_owned());
                Ok(move || Ok(Output::Number(vader.compound(&text))))
            })
        }
        Stage::Ocr => {
            let model = model(models, "ppocr-v4")?;
            let (det, rec) = (model.path("det.onnx"), model.path("rec.onnx"));
            let reader = Rc::new(PpOcr::load(&det, &rec, NumericMode::Auto, Script::Latin)?);
            each(items, |item| {
                let (reader, image) = (reader.clone(), decode(item)?);
                Ok(move || Ok(Output::Lines(reader.read(&image)?)))
            })
        }
        Stage::ClipImage => {
            let clip = Rc::new(clip()?);
            batches(items, batch, |items| {
                let clip = clip.clone();
                let pixels = items
                    .iter()
                    .map(|item| Ok(clip.preprocess(&decode(item)?)))
                    .collect::<Result<Vec<_>>>()?;
                Ok(move || Ok(Output::Vectors(clip.embed_images(&pixels)?)))
            })
        }
        Stage::ClipText => {
            let clip = Rc::new(clip()?);
            batches(items, items.len(), |items| {
                let (clip, texts) = (clip.clone(), texts(items)?);
                Ok(move || Ok(Output::Vectors(clip.embed_texts(&borrowed(&texts))?)))
            })
        }
        Stage::Sentences => {
            let model = model(models, "all-minilm-l6-v2")?;
            let sentences = Rc::new(Sentences::load(&model.dir, EncoderBackend::Auto)?);
            batches(items, items.len(), |items| {
                let (sentences, texts) = (sentences.clone(), texts(items)?);
                Ok(move || Ok(Output::Vectors(sentences.embed(&borrowed(&texts))?)))
            })
        }
    }
}

/// One unit for each item.
fn each<F>(items: &[Item], make: impl Fn(&Item) -> Result<F>) -> Result<Vec<Unit>>
where
    F: Fn() -> Result<Output> + 'static,
{
    batches(items, 1, |items| make(&items[0]))
}

/// One unit for each batch of `size` items.
fn batches<F>(items: &[Item], size: usize, make: impl Fn(&[Item]) -> Result<F>) -> Result<Vec<Unit>>
where
    F: Fn() -> Result<Output> + 'static,
{
    let unit = |items| Ok(Unit(Box::new(make(items)?)));
    items.chunks(size.max(1)).map(unit).collect()
}

fn model(models: &Models, name: &str) -> Result<CheckedModel> {
    match models.find(name)? {
        ModelStatus::Ready(model) => Ok(model),
        _ => bail!("the model {name} is not in {}", models.dir().display()),
    }
}

fn clip(models: &Models) -> Result<Clip> {
    let model = model(models, "clip-vit-base-patch32")?;
    Clip::load(&model.dir, EncoderBackend::Auto, Numeric::Float)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn text(item: &Item) -> Result<&str> {
    match item {
        Item::Text(text) => Ok(text),
        Item::Page(_) => bail!("only items of the stage page are objects"),
    }
}

fn texts(items: &[Item]) -> Result<Vec<String>> {
    items.iter().map(|i| text(i).map(str::to_owned)).collect()
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn file(item: &Item) -> Result<&Path> {
    text(item).map(Path::new)
}

fn decode(item: &Item) -> Result<RgbImage> {
    let path = file(item)?;
    let decoded = picture::decode(&read(path)?);
    Ok(decoded
        .with_context(|| format!("cannot decode {}", path.display()))?
        .image)
}
