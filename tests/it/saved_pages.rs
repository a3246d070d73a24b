//! Real pages, which wget and Chromium save from a local server, become a collection that is ranked and reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use riposte::collection::saved::location::resolve;
use riposte::disk::hex;
use riposte::evidence::page::{self, FoundBy, PageWords};
use sha2::{Digest, Sha256};

use crate::support::assert_says;
use crate::support::browser::Page as Browser;
use crate::support::files::{entries, name, text};
use crate::support::need::{Chromium, Data, Program, need};
use crate::support::program::WorkDir;
use crate::support::server::{Page, Server};

/// What the addresses of an image have in common, where its file name does not say which picture it is.
const KEYS: [(&str, &str); 3] = [
    ("I0538673fe011264e", "283760360_"),
    ("I11f32c6af7d50a3e", "i=1435588753"),
    ("I208be82ba17b76f8", "220495001_"),
];

/// A page of the published crawl, and the picture that it shows.
struct Original {
    picture: Vec<u8>,
    html: String,
    /// The address of the page, and that of its picture, on the local server.
    url: String,
    picture_url: String,
    xpaths: Vec<String>,
    /// What clients ask for, to get the picture.
    picture_paths: BTreeSet<String>,
    /// What riposte reads of the page at the published XPath.
    words: PageWords,
}

impl Original {
    /// Reads a page, and puts it and its picture on the server. All hosts of the web become folders of it: `https://example.org/a` is `/example.org/a`.
    fn read(image: &Path, server: &Server) -> Original {
        let picture = fs::read(image.join("image.webp")).unwrap();
        let picture_url = fs::read_to_string(image.join("image-url.txt")).unwrap();
        let page = &entries(&image.join("pages"))[0];
        let url = fs::read_to_string(page.join("page-url.txt")).unwrap();
        let html = fs::read_to_string(page.join("snapshot/dom.html")).unwrap();
        let xpaths = fs::read_to_string(page.join("snapshot/image-xpath.txt")).unwrap();
        let xpaths: Vec<String> = xpaths.lines().map(str::to_owned).collect();
        let (html, url) = (local(&html, server), local(url.trim(), server));
        let picture_url = local(picture_url.trim(), server);
        let words = page::read(&html, &xpaths, &picture_url);
        let mut original = Original {
            picture,
            html,
            url,
            picture_url,
            xpaths,
            picture_paths: BTreeSet::new(),
            words,
        };
        let mut addresses = original.picture_addresses(name(image), &server.address);
        addresses.insert(original.picture_url.clone());
        for url in addresses {
            let path = put(server, &url, "image/webp", &original.picture);
            original.picture_paths.insert(path);
        }
        let html = original.html.as_bytes();
        put(server, &original.url, "text/html; charset=utf-8", html);
        original
    }

    /// The addresses in the page that lead to the picture, in all sizes: for the server, they have the same bytes.
    fn picture_addresses(&self, id: &str, address: &str) -> BTreeSet<String> {
        let file = self.picture_url.rsplit('/').next().unwrap();
        let stem = file.split('?').next().unwrap();
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let key = KEYS.iter().find(|(of, _)| *of == id);
        let key = key.map_or(stem, |(_, key)| key);
        let base = self.html.split_once("<base href=\"");
        let base = base.and_then(|(_, rest)| rest.split('"').next());
        let base = base.map_or(self.url.clone(), |base| resolve(&self.url, base).unwrap());
        let html = self.html.replace("&quot;", "\"").replace("&amp;", "&");
        let parts = html.split(|c: char| c.is_whitespace() || "\"'()<>".contains(c));
        let parts = parts.map(|part| part.split('#').next().unwrap());
        let urls = parts.filter(|part| part.contains(key) && part.contains('/'));
        urls.filter_map(|url| resolve(&base, url.trim_end_matches(',')))
            .filter(|url| url.starts_with(address) && *url != self.url)
            .collect()
    }

    fn place(&self) -> Place {
        let is_in = |name: &str| self.xpaths.iter().all(|xpath| xpath.contains(name));
        match () {
            () if is_in("/HEAD[1]/") => Place::Head,
            () if is_in("/NOSCRIPT[") => Place::NoScript,
            () => Place::Body,
        }
    }
}

/// Where a page names its picture.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Only in a `meta`: neither wget nor Chromium saves the picture, but an archive can have it.
    Head,
    /// In a `noscript`: wget saves the picture, and Chromium loads it, but does not save it.
    NoScript,
    Body,
}

/// A text in which all addresses of the web are those of the server.
fn local(text: &str, server: &Server) -> String {
    let text = text.replace("https://", "http://");
    let text = text.replace("\"//", "\"http://").replace("(//", "(http://");
    let text = text.replace("&quot;//", "&quot;http://");
    text.replace("http://", &format!("{}/", server.address))
}

/// Puts a file on the server. Returns what a client asks for, to get it.
fn put(server: &Server, url: &str, kind: &str, body: &[u8]) -> String {
    let path = url.strip_prefix(&server.address);
    let path = path.unwrap_or_else(|| panic!("{url} is not on the server"));
    let page = Page {
        status: 200,
        headers: vec![("Content-Type", kind.to_owned())],
        body: body.to_vec(),
        ..Page::default()
    };
    server.page(path, page);
    path.to_owned()
}

/// The id of a picture, which is a hash of its bytes.
fn id(picture: &[u8]) -> String {
    format!("I{}", hex(&Sha256::digest(picture)[..8]))
}

/// The ids of the pictures that the server has sent since the last call.
fn delivered(server: &Server, originals: &[Original]) -> BTreeSet<String> {
    let mut ids = BTreeMap::new();
    for original in originals {
        let of_picture = original.picture_paths.iter();
        ids.extend(of_picture.map(|path| (path.as_str(), id(&original.picture))));
    }
    let requests = server.requests();
    let sent = requests.iter().filter_map(|path| ids.get(&**path));
    sent.cloned().collect()
}

/// Saves pages with wget.
fn save_with_wget(dir: &WorkDir, wget: &Path, urls: &[&str], options: &[&str]) {
    let mut command = Command::new(wget);
    command.args([
        "-q",
        "-e",
        "robots=off",
        "--no-proxy",
        "--tries=1",
        "--timeout=30",
    ]);
    command.arg("--page-requisites").args(options).args(urls);
    let code = command.current_dir(dir.path("")).status().unwrap().code();
    // scripts and style sheets of the pages are not there, which makes the exit code 8
    assert!(matches!(code, Some(0 | 8)), "{command:?}: {code:?}");
}

/// Saves pages with Chromium, each into a file of the folder `mhtml`.
fn save_with_chromium(dir: &WorkDir, urls: &[&str]) {
    fs::create_dir(dir.path("mhtml")).unwrap();
    // as high as the longest page: some pictures are only loaded when they are seen
    let browser = Browser::open("about:blank", (1280, 20_000)).unwrap();
    // the pages are as they were after their scripts had run; most of these are missing here, and the others lead away from the page
    browser.forbid_scripts();
    for (number, url) in urls.iter().enumerate() {
        browser.go(url);
        let file = dir.path(&format!("mhtml/{number}.mhtml"));
        fs::write(file, browser.saved()).unwrap();
    }
}

/// An image of a collection.
struct Made {
    id: String,
    /// Whether it was inside a page (`data:`).
    is_embedded: bool,
    /// The address, the HTML and the XPaths of each page.
    pages: Vec<(String, String, Vec<String>)>,
    url: String,
}

fn made(dir: &Path) -> Vec<Made> {
    let prefixes = entries(&dir.join("images"));
    let images = prefixes.iter().flat_map(|prefix| entries(prefix));
    let of_image = |image: PathBuf| {
        let url = fs::read_to_string(image.join("image-url.txt")).unwrap();
        let read = |page: &PathBuf, name: &str| fs::read_to_string(page.join(name)).unwrap();
        let pages = entries(&image.join("pages"));
        let pages = pages.iter().map(|page| {
            let xpaths = read(page, "snapshot/image-xpath.txt");
            (
                read(page, "page-url.txt"),
                read(page, "snapshot/dom.html"),
                xpaths.lines().map(str::to_owned).collect(),
            )
        });
        Made {
            id: name(&image).to_owned(),
            is_embedded: url.starts_with("embedded:"),
            pages: pages.collect(),
            url,
        }
    };
    images.map(of_image).collect()
}

/// The collection has the picture of a page where the page was published with it, and riposte reads the same words near it.
fn assert_is_as_published(original: &Original, collection: &[Made]) {
    let id = id(&original.picture);
    let image = collection.iter().find(|image| image.id == id);
    let image = image.unwrap_or_else(|| panic!("{} is missing", original.picture_url));
    let has_xpath = |xpath: &String| original.xpaths.contains(xpath);
    let page = image
        .pages
        .iter()
        .find(|(.., xpaths)| xpaths.iter().any(has_xpath));
    let (_, html, xpaths) = page.unwrap_or_else(|| {
        let found: Vec<_> = image
            .pages
            .iter()
            .map(|(url, _, xpaths)| (url, xpaths))
            .collect();
        panic!("{}: {:?} in {found:?}", original.url, original.xpaths)
    });
    let words = page::read(html, &original.xpaths, &image.url);
    assert_eq!(words.title, original.words.title, "{}", original.url);
    // what a `meta` names has no place in the text
    if original.place() != Place::Head {
        let near = |words: &PageWords| [words.before.clone(), words.after.clone()];
        assert_eq!(near(&words), near(&original.words), "{}", original.url);
        assert_ne!(near(&words), ["", ""], "{}", original.url);
    }
    let words = page::read(html, xpaths, &image.url);
    assert_eq!(words.found, FoundBy::XPath, "{}", original.url);
}

#[test]
fn twenty_five_real_pages_become_a_collection() {
    let Some(sample) = need(Data("images/sample")) else {
        return;
    };
    let (wget, chromium) = (need(Program("wget")), need(Chromium));
    if wget.is_none() && chromium.is_none() {
        return;
    }
    let server = Server::start();
    let images = entries(&sample.join("images"));
    let images = images.iter().flat_map(|prefix| entries(prefix));
    let mut originals: Vec<Original> = images
        .map(|image| Original::read(&image, &server))
        .collect();
    assert_eq!(originals.len(), 25);
    originals.sort_by_key(Original::place);
    let in_head = originals.iter().filter(|one| one.place() == Place::Head);
    let in_head = in_head.count();
    let (archived, others) = originals.split_at(if wget.is_some() { in_head } else { 0 });
    let (in_files, in_browser) = others.split_at(match (&wget, &chromium) {
        (None, _) => 0,
        (_, None) => others.len(),
        _ => others.len() / 2,
    });
    let dir = WorkDir::new();
    let mut sent = BTreeSet::new();
    let mut sources = Vec::new();
    if let Some(wget) = &wget {
        let urls: Vec<&str> = archived
            .iter()
            .flat_map(|o| [&*o.url, &o.picture_url])
            .collect();
        save_with_wget(&dir, wget, &urls, &["--warc-file=crawl", "-P", "unused"]);
        let urls: Vec<&str> = in_files.iter().map(|original| &*original.url).collect();
        save_with_wget(&dir, wget, &urls, &["--convert-links", "-P", "folder"]);
        sent.extend(delivered(&server, &originals));
        // a list of pages with their pictures, and pages whose pictures wget reads from the HTML
        assert_eq!(sent.len(), archived.len() + in_files.len());
        sources.extend(["crawl.warc.gz", "folder"]);
    }
    if chromium.is_some() {
        let urls: Vec<&str> = in_browser.iter().map(|original| &*original.url).collect();
        save_with_chromium(&dir, &urls);
        let mut shown = delivered(&server, &originals);
        for original in in_browser.iter().filter(|one| one.place() != Place::Body) {
            shown.remove(&id(&original.picture));
        }
        let in_body = in_browser.iter().filter(|one| one.place() == Place::Body);
        assert_eq!(shown.len(), in_body.count());
        sent.extend(shown);
        sources.push("mhtml");
    }
    let topics = sample.join("topics.xml");
    let made_of = sources.join(" ");
    let (said, faults) = dir.succeeds(&format!(
        "collection new all --from {made_of} --topics {}",
        text(&topics)
    ));
    assert_eq!(faults, "", "{said}");
    let collection = made(&dir.path("all"));
    // some pages hold further pictures themselves
    let of_site = collection.iter().filter(|image| !image.is_embedded);
    let mut ids: BTreeSet<String> = of_site.map(|image| image.id.clone()).collect();
    // without wget, Chromium saves a page that names its picture in a `noscript` and elsewhere
    for original in in_browser.iter().filter(|one| one.place() != Place::Body) {
        ids.remove(&id(&original.picture));
    }
    assert_eq!(ids, sent, "{said}");
    assert!(ids.len() >= 14, "{said}");
    let counted = format!("all: {} images on ", collection.len());
    assert_says(&said, &[&counted, "2 topics: rank them with"]);
    for original in archived.iter().chain(in_files) {
        assert_is_as_published(original, &collection);
    }
    assert_is_used(&dir, &collection, &topics);
}

/// The collection is valid, is ranked, and a report shows each image of the run.
fn assert_is_used(dir: &WorkDir, collection: &[Made], topics: &Path) {
    let (said, _) = dir.succeeds("collection check all");
    assert_says(
        &said,
        &[&format!("all: {} images, ", collection.len()), "2 topics"],
    );
    dir.succeeds("images --quiet=progress -i all -o out --explain out/explain.jsonl");
    let explained = dir.read("out/explain.jsonl");
    assert!(explained.contains("\"bm25 near\""), "{explained}");
    let (said, _) = dir.succeeds(&format!("verify out -i all --topics {}", text(topics)));
    assert_says(&said, &["valid by the rules of the task"]);
    dir.succeeds("inspect --quiet=progress out -i all -o report");
    let run = dir.read("out/run.txt");
    let mut topics = BTreeSet::new();
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (topic, image) = (fields[0], fields[2]);
        assert!(collection.iter().any(|one| one.id == image), "{line}");
        let shown = dir.read(&format!("report/topic-{topic}.html"));
        let picture = format!("pictures/{image}-card.webp");
        assert!(shown.contains(&format!("<img src=\"{picture}\"")), "{line}");
        let picture = image::open(dir.path(&format!("report/{picture}"))).unwrap();
        assert!(picture.width() >= 64, "{line}");
        topics.insert(topic.to_owned());
    }
    assert_eq!(topics, ["34", "48"].map(str::to_owned).into());
    assert!(run.lines().count() >= 20, "{run}");
}
