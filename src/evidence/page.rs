//! Reads the words of a page about an image: the words of the image's element, those around it, and those of the whole page.
//!
//! Title, alternative text, caption, headings, words before and after, and main text are separate, because they have different
//! weights in ranking. The page is parsed by the HTML5 algorithm, as in browsers, because the image's XPath was made by a browser.

mod article;
mod blocks;
mod elements;
mod find;
pub mod images;
mod labels;
mod text;
mod title;
mod url;

pub use blocks::NEAR_WORDS;
pub use find::FoundBy;

use anyhow::Result;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use rusqlite::{Row, ToSql};

use super::channel::{Channel, Extractor, NewExtractor, Precision, PutRow};
use super::document::DocumentInWork;
use super::guarded::guarded;
use super::store::{ALL, Store};
use super::table::ColumnType::{Integer, Text};
use super::table::EvidenceTable;
use super::{ChannelValue, Evidence};
use crate::collection::images::{CrawlRank, ImageDocument};
use crate::collection::{Fault, FaultKind};
use crate::html::parse;
use crate::weights::CheckedModel;
use article::Article;
use blocks::Blocks;
use labels::Labels;
use text::first_of;

/// Identifies this reader in the evidence store. A change in what [`read`] returns needs a new number.
pub(crate) const PRODUCER: &str = "page/2";

/// The pages that show an image. `found` says how the image's element in the page was found (xpath, url, no). `names_image` says whether the element
/// has the name of the image.
pub(crate) static PAGE: EvidenceTable = EvidenceTable::new(
    "page",
    1,
    &[
        (Text, "page url found"),
        (Integer, "names_image"),
        (
            Text,
            "title description alt title_attribute caption headings before after main",
        ),
    ],
)
.with_large_rows();

/// The titles of pages as they are, where [`PageWords::title`] is another.
pub(crate) static FULL_TITLE: EvidenceTable =
    EvidenceTable::new("full_title", 1, &[(Text, "page title")]).added_later();

/// The ranks at which the crawl found a page of an image.
static CRAWL_RANK: EvidenceTable = EvidenceTable::new(
    "crawl_rank",
    2,
    &[
        (Text, "page"),
        (Integer, "number"),
        (Text, "query topic"),
        (Integer, "rank"),
    ],
)
.seldom_read();

/// The texts that the collection gives for an image; no row if it gives none.
pub(crate) static GIVEN_TEXT: EvidenceTable =
    EvidenceTable::new("given_text", 0, &[(Text, "caption text")]);

/// A page that shows the image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageEvidence {
    /// The name of the page's directory.
    pub id: String,
    pub url: String,
    pub words: PageWords,
    pub rankings: Vec<CrawlRank>,
}

impl PageEvidence {
    /// The texts nearest to the image, the nearest first; texts that repeat an earlier one are left out.
    pub fn near(&self) -> String {
        let w = &self.words;
        let parts = [&w.alt, &w.title_attribute, &w.caption, &w.before, &w.after];
        let mut near = String::new();
        for part in parts {
            if !part.is_empty() && !near.contains(part.as_str()) {
                if !near.is_empty() {
                    near.push(' ');
                }
                near.push_str(part);
            }
        }
        near
    }
}

impl ChannelValue for Vec<PageEvidence> {}

/// The channel of the pages that show an image, and of the texts that the collection gives for it.
pub struct Pages;

impl Channel for Pages {
    fn name(&self) -> &'static str {
        "page"
    }

    fn tables(&self) -> &'static [&'static EvidenceTable] {
        const { &[&PAGE, &CRAWL_RANK, &GIVEN_TEXT, &FULL_TITLE] }
    }

    fn extractor(&self, _: Option<CheckedModel>, _: Precision) -> NewExtractor {
        Ok(Box::new(Pages))
    }

    fn rows(&self, evidence: &Evidence, put: &mut PutRow) -> rusqlite::Result<()> {
        let given = &evidence.given;
        if !given.is_empty() {
            put(&GIVEN_TEXT, &[&given.caption, &given.text])?;
        }
        for page in evidence.list::<PageEvidence>() {
            let w = &page.words;
            put(
                &PAGE,
                &[
                    &page.id,
                    &page.url,
                    &<&str>::from(w.found),
                    &w.names_image,
                    &w.title,
                    &w.description,
                    &w.alt,
                    &w.title_attribute,
                    &w.caption,
                    &w.headings,
                    &w.before,
                    &w.after,
                    &w.main,
                ],
            )?;
            if w.full_title != w.title {
                put(&FULL_TITLE, &[&page.id, &w.full_title])?;
            }
            for (number, r) in (0i64..).zip(&page.rankings) {
                let values: [&dyn ToSql; 5] = [&page.id, &number, &r.query, &r.topic, &r.rank];
                put(&CRAWL_RANK, &values)?;
            }
        }
        Ok(())
    }

    fn read(
        &self,
        table: &EvidenceTable,
        row: &Row,
        evidence: &mut Evidence,
    ) -> rusqlite::Result<()> {
        if table.name == PAGE.name {
            evidence.get_mut::<Vec<_>>().push(page_of(row)?);
        } else if table.name == GIVEN_TEXT.name {
            evidence.given.caption = row.get(1)?;
            evidence.given.text = row.get(2)?;
        } else {
            let id = row.get_ref(1)?.as_str()?;
            let pages = evidence.get_mut::<Vec<PageEvidence>>();
            let page = pages.iter_mut().find(|page| page.id == id);
            match page {
                Some(page) if table.name == FULL_TITLE.name => {
                    page.words.full_title = row.get(2)?
                }
                Some(page) => page.rankings.push(rank_of(row)?),
                None => {}
            }
        }
        Ok(())
    }
}

fn page_of(row: &Row) -> rusqlite::Result<PageEvidence> {
    Ok(PageEvidence {
        id: row.get(1)?,
        url: row.get(2)?,
        words: PageWords {
            found: row.get_ref(3)?.as_str()?.parse().unwrap_or_default(),
            names_image: row.get(4)?,
            title: row.get(5)?,
            full_title: row.get(5)?,
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
    })
}

impl Store {
    /// Calls `each` with every rank at which the crawl found a document, ordered by document.
    pub fn each_crawl_rank(&self, mut each: impl FnMut(&str, &CrawlRank)) -> Result<()> {
        self.each_row(&CRAWL_RANK, ALL, |row| {
            each(row.get_ref(0)?.as_str()?, &rank_of(row)?);
            Ok(())
        })
    }

    /// For each way of finding the image's element in a page ("xpath", "url", "no"): in how many pages it was found so, and in how many
    /// of them the element names the image. These counts are for the terminal, and the only values that are not verified.
    pub fn elements(&self) -> Result<Vec<(String, i64, i64)>> {
        let sql =
            "SELECT found, count(*), sum(names_image) FROM page GROUP BY found ORDER BY found DESC";
        self.reading(|c| {
            let mut statement = c.prepare(sql)?;
            let counts =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(counts.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// A row of the table of crawl ranks.
fn rank_of(row: &Row) -> rusqlite::Result<CrawlRank> {
    Ok(CrawlRank {
        query: row.get(3)?,
        topic: row.get(4)?,
        rank: row.get(5)?,
    })
}

impl Extractor for Pages {
    fn producer(&self) -> String {
        PRODUCER.to_owned()
    }

    fn compute(&self, document: &mut DocumentInWork) -> Result<()> {
        let mut faults = std::mem::take(&mut document.listing_faults);
        let entry = document.entry;
        let source = (document.clock).nested("read", || entry.read(&document.listing, &mut faults));
        document.faults.append(&mut faults);
        document.evidence.url.clone_from(&source.url);
        document.evidence.given.clone_from(&source.given);
        let pages = pages(source, document);
        document.evidence.put(pages);
        Ok(())
    }
}

/// The words of all pages.
fn pages(source: ImageDocument, document: &mut DocumentInWork) -> Vec<PageEvidence> {
    let mut pages = Vec::new();
    for page in source.pages {
        let dir = document.entry.dir.join("pages").join(&page.id);
        let path = dir.join("snapshot/dom.html");
        let faults = &mut document.faults;
        let words = match page.html {
            Some(bytes) => {
                let (html, invalid) = decode(&bytes);
                if invalid {
                    let what = "parts of it are not text; the rest was read";
                    faults.push(Fault::in_file(FaultKind::Page, &path, what));
                }
                guarded(|| Ok(read(&html, &page.xpaths, &source.url))).unwrap_or_else(|error| {
                    faults.push(Fault::in_file(FaultKind::Page, &path, format!("{error:#}")));
                    PageWords::default()
                })
            }
            None => PageWords {
                main: page.text.unwrap_or_default(),
                ..PageWords::default()
            },
        };
        pages.push(PageEvidence {
            id: page.id,
            url: page.url,
            words,
            rankings: page.rankings,
        });
    }
    pages
}

/// The words of a page that shows an image, with normalised white space. A text that the page does not have is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageWords {
    /// How the image's element was found.
    pub found: FoundBy,
    /// Whether the element contains the image's file name or, if the URL has none, its URL.
    pub names_image: bool,
    /// The title of the article without the name of the site: that for other sites (`og:title`), else the `title`, shortened as Readability does,
    /// else the first `h1`.
    pub title: String,
    /// The title as it is: the document's `title`, else `og:title`, else the first `h1`.
    pub full_title: String,
    /// The document's `description`, else that of `og:` or `twitter:`.
    pub description: String,
    /// The image's alternative text.
    pub alt: String,
    /// The `title` attribute of the image or, if it has none, of the link around it.
    pub title_attribute: String,
    /// The `figcaption`, or a text beside the image that is marked up or formatted as a caption.
    pub caption: String,
    /// The headings above the image, the outermost first, one per line, without those that repeat the title.
    pub headings: String,
    /// Up to [`NEAR_WORDS`] words before the image, in document order, without the caption.
    pub before: String,
    /// Up to [`NEAR_WORDS`] words after it. If the image has no position in the text (it was found in a `meta` of the head, and no
    /// element of the body shows it), the first words of the main text.
    pub after: String,
    /// Up to [`MAX_MAIN_WORDS`](crate::limits::MAX_MAIN_WORDS) words of the main text, one block per line.
    pub main: String,
}

/// Reads what a page says about the image at `image_url`. `xpaths` are the positions of the image, as a browser writes them; there may be
/// none.
///
/// There are no errors: any text is a page, and what cannot be found is empty. Takes time linear in the length of `html`.
pub fn read(html: &str, xpaths: &[String], image_url: &str) -> PageWords {
    let tree = parse(html);
    let url = url::ImageUrl::new(image_url);
    let image = find::image(&tree, xpaths, &url);
    let head = text::PageMetadata::read(&tree);
    let position = image.position;
    let caption_node = position.and_then(|image| text::caption_node(&tree, image));
    let caption = caption_node.map(|node| text::of_subtree(&tree, node));
    let caption = first_of([caption.unwrap_or_default(), image.caption]);
    let unread = blocks::unread(&tree, image.position);
    let labels = Labels::read(&tree, &unread);
    let article = Article::read(&tree, &unread, &labels);
    let blocks = Blocks::read(
        &tree,
        image.position,
        caption_node,
        &unread,
        &labels,
        &article,
    );
    let full_title = first_of([head.title, head.og_title, blocks.first_heading()]);
    let sites = [article.site.as_str(), title::host(&head.address)];
    let title = first_of([article.title, full_title.clone()]);
    let title = title::without_site(&title, &sites).to_owned();
    let main = blocks.main();
    let (mut before, mut after) = blocks.near(&caption);
    // the body shows the file, but only as a teaser in the margin
    if image.is_meta
        && text::word_count(&before) + text::word_count(&after) < blocks::MIN_NEAR_WORDS
    {
        (before, after) = (String::new(), blocks.start(&main));
    }
    PageWords {
        found: image.found,
        names_image: image.names_image,
        headings: blocks.headings(&main, [&full_title, &title]),
        title,
        full_title,
        description: head.description,
        alt: match image.alt.as_str() {
            "" if image.is_meta => head.image_alt,
            _ => image.alt,
        },
        title_attribute: image.title,
        caption,
        before,
        after,
        main: blocks.join(&main),
    }
}

/// Decodes an HTML file. Returns its text, and whether it contained sequences that are invalid in its encoding.
///
/// The encoding is that of the byte order mark, if there is one; else UTF-8, if the bytes are valid (a browser's snapshots are, even if
/// their `meta` says otherwise); else that of the `meta` declaration; else windows-1252, the web's default, if there is no valid UTF-8
/// sequence beyond ASCII; else UTF-8, with U+FFFD for invalid sequences.
pub fn decode(bytes: &[u8]) -> (String, bool) {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        let (text, _, broken) = encoding.decode(bytes);
        return (text.into_owned(), broken);
    }
    let Err(first_error) = std::str::from_utf8(bytes) else {
        return (String::from_utf8_lossy(bytes).into_owned(), false);
    };
    if let Some(encoding) = declared(bytes).filter(|encoding| *encoding != UTF_8) {
        let (text, broken) = encoding.decode_without_bom_handling(bytes);
        return (text.into_owned(), broken);
    }
    let valid = bytes.get(..first_error.valid_up_to()).unwrap_or_default();
    let lossy = String::from_utf8_lossy(bytes);
    if valid.is_ascii() && lossy.chars().all(|c| c.is_ascii() || c == '\u{fffd}') {
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
        return (text.into_owned(), true);
    }
    (lossy.into_owned(), true)
}

/// The encoding that a `meta` in the first 4096 bytes declares. UTF-16 means UTF-8 there (HTML standard, "prescan").
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..4096).unwrap_or(bytes).to_ascii_lowercase();
    let at = start.windows(8).position(|window| window == b"charset=")?;
    let label = start[at + 8..].iter().copied();
    let label = label.skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '));
    let label = label.take_while(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte));
    Encoding::for_label(&label.collect::<Vec<u8>>()).map(Encoding::output_encoding)
}
