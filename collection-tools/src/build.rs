//! `build`: makes a collection from folders of images and of pages that a browser saved.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use riposte::collection::images::bytes_of;
use riposte::collection::read_topics;
use riposte::evidence::picture;
use scraper::{ElementRef, Html, Selector};

use crate::counted;
use crate::files::{id, new_directory, write};

#[derive(clap::Args)]
pub struct Options {
    /// Folder of images, with its subfolders
    #[arg(long)]
    images: PathBuf,
    /// Folder of saved pages (.html, .htm, .xhtml), with its subfolders
    #[arg(long)]
    pages: PathBuf,
    /// The file of topics, which is copied unchanged
    #[arg(long)]
    topics: PathBuf,
    /// More links between images and pages, one per line: image file name, tab, page file name
    #[arg(long)]
    links: Option<PathBuf>,
    /// Where to write: a new or an empty directory
    out: PathBuf,
}

/// Writes the collection. The result is whether every image can be decoded and has a page.
pub fn run(options: &Options) -> Result<bool> {
    read_topics(&options.topics)?;
    let images = files(&options.images)?;
    let pages: Vec<PathBuf> = files(&options.pages)?
        .into_iter()
        .filter(|path| matches!(extension(path).as_str(), "html" | "htm" | "xhtml"))
        .collect();
    let named = match &options.links {
        Some(path) => read_links(path)?,
        None => BTreeSet::new(),
    };
    let mut appearances: BTreeMap<&Path, Vec<Appearance>> = BTreeMap::new();
    let known = ImageFiles::of(&images);
    for page in &pages {
        let bytes = bytes_of(page).map_err(|what| anyhow::anyhow!("{}: {what}", page.display()))?;
        for (image, appearance) in appearances_on(page, &bytes, &known, &named) {
            appearances.entry(image).or_default().push(appearance);
        }
    }
    new_directory(&options.out)?;
    fs::copy(&options.topics, options.out.join("topics.xml"))
        .with_context(|| format!("cannot copy {}", options.topics.display()))?;
    let (mut written, mut faults) = (0, 0);
    for image in &images {
        // Files that are not images, such as the scripts of a saved page, are faults only if they have the extension of an image.
        let decoded = bytes_of(image)
            .map_err(anyhow::Error::msg)
            .and_then(|bytes| picture::decode(&bytes).map(|decoded| (bytes, decoded)));
        let (bytes, decoded) = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                if IMAGE_EXTENSIONS.contains(&extension(image).as_str()) {
                    eprintln!("{}: {error:#}; left out", image.display());
                    faults += 1;
                }
                continue;
            }
        };
        let pages = appearances.remove(image.as_path()).unwrap_or_default();
        if pages.is_empty() {
            eprintln!("{}: no page shows it", image.display());
            faults += 1;
        }
        let name = image.strip_prefix(&options.images).unwrap_or(image);
        write_image(&options.out, name, &bytes, &decoded, &pages)?;
        written += 1;
    }
    if written == 0 {
        bail!("there is no image in {}", options.images.display());
    }
    println!(
        "{}: {}, {} read",
        options.out.display(),
        counted(written, "image"),
        counted(pages.len(), "page")
    );
    Ok(faults == 0)
}

/// File name extensions of images.
const IMAGE_EXTENSIONS: [&str; 10] = [
    "webp", "png", "jpg", "jpeg", "gif", "bmp", "ico", "tif", "tiff", "avif",
];

/// The appearance of an image on a page.
struct Appearance {
    page_url: String,
    html: Vec<u8>,
    text: String,
    xpaths: Vec<String>,
}

fn write_image(
    out: &Path,
    name: &Path,
    bytes: &[u8],
    decoded: &picture::DecodedImage,
    pages: &[Appearance],
) -> Result<()> {
    let url = format!("file:{}", name.to_string_lossy().replace('\\', "/"));
    let id = id('I', &url);
    let home = out
        .join("images")
        .join(id.get(..3).unwrap_or(&id))
        .join(&id);
    // The layout demands this name; readers recognise the format by the bytes.
    write(&home.join("image.webp"), bytes)?;
    write(&home.join("image-url.txt"), &url)?;
    let phash = picture::perceptual_hash(&decoded.image);
    write(&home.join("image-phash.txt"), format!("{phash:064b}"))?;
    for page in pages {
        let home = home.join("pages").join(self::id('P', &page.page_url));
        write(&home.join("page-url.txt"), &page.page_url)?;
        write(&home.join("rankings.jsonl"), "")?;
        write(&home.join("snapshot/dom.html"), &page.html)?;
        write(&home.join("snapshot/text.txt"), &page.text)?;
        write(
            &home.join("snapshot/image-xpath.txt"),
            page.xpaths.join("\n") + "\n",
        )?;
    }
    Ok(())
}

/// The image files, by the names that a page can use for them.
struct ImageFiles<'a> {
    by_path: BTreeMap<PathBuf, &'a Path>,
    /// None if several images have the same file name.
    by_name: BTreeMap<String, Option<&'a Path>>,
}

impl<'a> ImageFiles<'a> {
    fn of(images: &'a [PathBuf]) -> Self {
        let mut known = ImageFiles {
            by_path: BTreeMap::new(),
            by_name: BTreeMap::new(),
        };
        for image in images {
            if let Ok(path) = image.canonicalize() {
                known.by_path.insert(path, image);
            }
            known
                .by_name
                .entry(name_of(image))
                .and_modify(|one| *one = None)
                .or_insert(Some(image));
        }
        known
    }

    /// The image that `src` refers to on a page in `folder`; else the only image with that file name.
    fn find(&self, src: &str, folder: &Path) -> Option<&'a Path> {
        let src = src.split(['?', '#']).next().unwrap_or_default();
        let local = percent_decoded(src.strip_prefix("file://").unwrap_or(src));
        let path = folder.join(&local).canonicalize().ok();
        if let Some(image) = path.and_then(|path| self.by_path.get(&path)) {
            return Some(image);
        }
        self.by_name
            .get(local.rsplit(['/', '\\']).next()?)
            .copied()
            .flatten()
    }
}

/// The images that a page shows, each with the page and the XPaths of its elements.
fn appearances_on<'a>(
    page: &Path,
    bytes: &[u8],
    known: &ImageFiles<'a>,
    links: &BTreeSet<(String, String)>,
) -> Vec<(&'a Path, Appearance)> {
    let source = String::from_utf8_lossy(bytes);
    let html = Html::parse_document(&source);
    let folder = page.parent().unwrap_or(Path::new("."));
    let mut elements: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
    for node in html
        .root_element()
        .descendants()
        .filter_map(ElementRef::wrap)
    {
        let sources: &[&str] = match node.value().name() {
            "img" => &["src", "data-src"],
            "meta" => &["content"],
            _ => continue,
        };
        let image = sources
            .iter()
            .filter_map(|name| node.attr(name))
            .find_map(|src| known.find(src, folder));
        if let Some(image) = image {
            elements.entry(image).or_default().push(xpath(node));
        }
    }
    for (image, on) in links {
        if *on == name_of(page)
            && let Some(Some(image)) = known.by_name.get(image)
        {
            elements.entry(image).or_default();
        }
    }
    let page_url = page_url(&source, &html).unwrap_or_else(|| format!("file:{}", name_of(page)));
    let text = words(&html);
    elements
        .into_iter()
        .map(|(image, xpaths)| {
            let appearance = Appearance {
                page_url: page_url.clone(),
                html: bytes.to_vec(),
                text: text.clone(),
                xpaths,
            };
            (image, appearance)
        })
        .collect()
}

/// The XPath of an element as `/HTML[1]/BODY[1]/IMG[2]`: names in capitals, positions among siblings of the same name.
fn xpath(element: ElementRef) -> String {
    let mut steps: Vec<String> = Vec::new();
    let mut next = Some(element);
    while let Some(element) = next {
        let name = element.value().name();
        let before = element
            .prev_siblings()
            .filter_map(ElementRef::wrap)
            .filter(|sibling| sibling.value().name() == name)
            .count();
        steps.push(format!("/{}[{}]", name.to_uppercase(), before + 1));
        next = element.parent().and_then(ElementRef::wrap);
    }
    steps.reverse();
    steps.concat()
}

/// The address of the page, from the comment that browsers write into a saved page, else from its canonical link.
fn page_url(source: &str, html: &Html) -> Option<String> {
    let saved = source
        .split_once("<!-- saved from url=(")
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(_, rest)| rest.split_once(" -->"))
        .map(|(url, _)| url.trim().to_owned());
    let attribute = |selector: &str, name: &str| {
        let selector = Selector::parse(selector).ok()?;
        let value = html.select(&selector).next()?.attr(name)?;
        Some(value.to_owned())
    };
    saved
        .or_else(|| attribute("link[rel=canonical]", "href"))
        .or_else(|| attribute("meta[property='og:url']", "content"))
        .filter(|url| url.starts_with("http"))
}

/// The text of the page without scripts and styles, one line for each text node.
fn words(html: &Html) -> String {
    let mut out = String::new();
    for node in html.root_element().descendants() {
        let hidden = |name: &str| matches!(name, "script" | "style" | "noscript" | "template");
        let parent = node.parent().and_then(ElementRef::wrap);
        if let Some(text) = node.value().as_text()
            && !parent.is_some_and(|parent| hidden(parent.value().name()))
        {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if !line.is_empty() {
                out.push_str(&line);
                out.push('\n');
            }
        }
    }
    out
}

/// The pairs of image and page file names in the file of links.
fn read_links(path: &Path) -> Result<BTreeSet<(String, String)>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(n, line)| {
            let (image, page) = line.split_once('\t').with_context(|| {
                format!(
                    "{}:{}: the line is not an image, a tab and a page",
                    path.display(),
                    n + 1
                )
            })?;
            Ok((image.trim().to_owned(), page.trim().to_owned()))
        })
        .collect()
}

/// All files under a folder, ordered by path.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = || format!("cannot list {}", folder.display());
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).with_context(listing)? {
        let path = entry.with_context(listing)?.path();
        if path.is_dir() {
            out.extend(files(&path)?);
        } else {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or(OsStr::new(""))
        .to_string_lossy()
        .into_owned()
}

/// The extension in lower case.
fn extension(path: &Path) -> String {
    path.extension()
        .unwrap_or(OsStr::new(""))
        .to_string_lossy()
        .to_lowercase()
}

/// The text with "%20" decoded to a space, and so on. A "%" without two hex digits after it stays.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
