//! Image collections, saved pages, Parquet and frames.

use std::time::Duration;

limits! {
    IMAGES

    /// A file of a document.
    /// The largest of the crawl has 60 MB.
    /// Fault.
    pub const MAX_DOCUMENT_FILE_BYTES: u64 = 256 << 20;

    /// All texts of a document.
    /// They are in memory together.
    /// Fault on the file that exceeds it.
    pub const MAX_DOCUMENT_TEXT_BYTES: u64 = 128 << 20;

    /// A picture file.
    /// Decoders copy the file.
    /// Fault.
    pub const MAX_PICTURE_BYTES: usize = 96 << 20;

    /// An icon.
    /// A PNG within an icon is decoded without separate limits.
    /// Fault.
    pub const MAX_ICON_BYTES: usize = 1 << 20;

    /// Pixels of a picture.
    /// The largest of the crawl has 21 million.
    /// Fault, before anything is allocated.
    pub const MAX_PICTURE_PIXELS: u64 = 100_000_000;

    /// Pixels of an animation.
    /// A frame of an animation is held three times.
    /// Fault, before anything is allocated.
    pub const MAX_ANIMATED_PIXELS: u64 = MAX_PICTURE_PIXELS / 2;

    /// Decoded bytes of a picture.
    /// 100 million pixels of 8-bit RGBA, 50 million of 16-bit RGBA.
    /// Fault, before anything is allocated.
    pub const MAX_DECODED_BYTES: u64 = 400_000_000;

    /// Memory of a decoder, besides the pixels.
    /// TIFF holds a copy of the pixels.
    /// Fault.
    pub const MAX_DECODER_BYTES: u64 = 512 << 20;

    /// Pixels of the shorter side of the smallest picture with text.
    /// Smaller letters cannot be read.
    /// riposte looks for no text.
    pub const MIN_TEXT_SIDE: u32 = 8;

    /// Pixels of the input of text detection.
    /// Larger inputs take longer and hardly find more words, except in small print.
    /// The picture is reduced.
    pub const MAX_DETECTOR_PIXELS: f32 = 0.9e6;

    /// Pixels of this input with padding.
    /// Padding makes a strip of 12,500,000 × 8 pixels 18 times as large; it matters only for sides with a ratio above 50.
    /// The picture is reduced.
    pub const MAX_PADDED_PIXELS: usize = 2 * MAX_DETECTOR_PIXELS as usize;

    /// Pixels of the input of text detection for small print.
    /// Larger inputs find more words only in small print.
    /// The picture is reduced.
    pub const MAX_FINE_PIXELS: f32 = 3.6e6;

    /// Pixels of this input with padding.
    /// Padding makes a strip of 12,500,000 × 8 pixels 18 times as large; it matters only for sides with a ratio above 50.
    /// The picture is reduced.
    pub const MAX_FINE_PADDED_PIXELS: usize = 2 * MAX_FINE_PIXELS as usize;

    /// Pixels for ocrs.
    /// It keeps two copies of four bytes for each pixel.
    /// The picture is reduced.
    pub const MAX_OCRS_PIXELS: usize = 30_000_000;

    /// Lines of text in a picture.
    /// A picture with more lines is noise.
    /// The first lines that are found are read.
    pub const MAX_BOXES: usize = 1000;

    /// Pixels in the width of all lines of text in a picture together.
    /// The time to read a picture grows with it; these are 1,800 to 2,400 words, a page of a newspaper; of 25 real pictures, the median has 5,000 pixels and the largest 74,000.
    /// The smallest lines are left out.
    pub const MAX_LINES_WIDTH: usize = 240_000;

    /// Pixels in the width of a line of text, at least, at the recogniser's height.
    /// Its network divides widths by eight.
    /// The line is stretched; one that the recogniser refuses is left out.
    pub const MIN_LINE_WIDTH: f32 = 8.0;

    /// Pixels in the width of a line of text, at the recogniser's height.
    /// Longer lines are not text.
    /// The line is squeezed; one that the recogniser refuses is left out.
    pub const MAX_LINE_WIDTH: f32 = 4096.0;

    /// Texts of a picture, divided neither by columns nor by rows, that are compared with each other.
    /// The time grows with the cube of their number.
    /// They are ordered only by their upper edges.
    pub const MAX_TANGLED_TEXTS: usize = 300;

    /// A page's HTML.
    /// Pages have up to 1 MB.
    /// The rest of the page is ignored.
    pub const MAX_HTML_BYTES: usize = 64 << 20;

    /// Nodes of a page's HTML.
    /// Unclosed formatting elements multiply nodes.
    /// The rest of the page is ignored.
    pub const MAX_HTML_NODES: usize = 1_000_000;

    /// Elements around an element of a page.
    /// As in browsers; the time of the tree builder is quadratic in the depth.
    /// Tags of deeper elements are ignored, their text is read.
    pub const MAX_HTML_DEPTH: usize = 512;

    /// Attributes of an element.
    /// Each is compared with all earlier ones.
    /// The rest of the tag is ignored.
    pub const MAX_HTML_ATTRIBUTES: usize = 1000;

    /// XPaths of a page.
    /// Each can lead through all elements; pages have two or three.
    /// The first ones are tried.
    pub const MAX_XPATHS: usize = 100;

    /// Words of the main text of a page.
    /// More than an article has, fewer than a book or a log file: of 121 real pages ([evidence.md](evidence.md#the-main-text-of-a-page)) the longest has 5,257 words, and of the pages of `sample/` 608, so nothing of them is lost.
    /// Only the beginning is stored.
    pub const MAX_MAIN_WORDS: usize = 10_000;

    /// Elements of a page whose main text is looked for.
    /// Real pages have some thousand elements.
    /// All text that is not declared as navigation and the like is the main text.
    pub const MAX_ARTICLE_ELEMENTS: usize = 50_000;

    /// Text of such a page, each byte counted once for each element around it.
    /// Readability reads a text again for each element around it.
    /// All text that is not declared as navigation and the like is the main text.
    pub const MAX_NESTED_BYTES: usize = 64 << 20;

    /// A class or an id of which words are looked at.
    /// A longer one is no word of a person.
    /// It says nothing.
    pub const MAX_LABEL_BYTES: usize = 64;

    /// A title from which the name of the site is taken.
    /// The time grows with the square of its length.
    /// It stays as it is.
    pub const MAX_TITLE_BYTES: usize = 1000;

    /// A document on which a process crashed, in a separate process.
    /// One of the largest takes less than a minute on one core.
    /// Fault: "riposte died in it: passed over".
    pub const MAX_PROBE_TIME: Duration = Duration::from_secs(600);

    /// Notes of the documents at work, beside the store.
    /// A note for each worker.
    /// Later notes are ignored: after a crash, riposte does not know that it worked on these documents.
    pub const MAX_AT_WORK_BYTES: u64 = 1 << 24;

    /// A note of a document at work, with its newline.
    /// A document's id, the name of a directory, has at most 255 bytes.
    /// The note is not written, with the same effect.
    pub const MAX_NOTE_BYTES: usize = 400;

    /// Shards of a text index.
    /// All are open at the same time.
    /// Error.
    pub const MAX_SHARDS: usize = 10_000;

    /// The list of shards.
    /// A list of the most shards has a tenth of it.
    /// Error.
    pub const MAX_SHARD_LIST_BYTES: u64 = 1 << 20;

    /// A shard's description.
    /// It has a few lines.
    /// Error.
    pub const MAX_SHARD_ABOUT_BYTES: u64 = 1 << 16;

    /// The list of segments of a shard's index.
    /// tantivy writes it.
    /// Error.
    pub const MAX_SEGMENT_LIST_BYTES: u64 = 16 << 20;

    /// Directories within directories of a Parquet table.
    /// Spark makes one level for each column that divides the files.
    /// Error.
    pub const MAX_TABLE_DEPTH: usize = 8;

    /// A group of rows in Parquet, after decompression.
    /// Spark begins a new group after 128 MB; a row can have all values of its group.
    /// Error.
    pub const MAX_ROW_GROUP_BYTES: i64 = 256 << 20;

    /// A row in Parquet, in memory.
    /// Equal values are stored once in the file.
    /// Error.
    pub const MAX_ROW_BYTES: u64 = 256 << 20;

    /// Values of a column in a group of rows in Parquet.
    /// A list of a million equal values takes some kilobytes in the file.
    /// Error.
    pub const MAX_COLUMN_VALUES: usize = 1 << 24;

    /// The header of a frame of `extract --stream`.
    /// It is in memory; this suffices for more than ten thousand files with the longest paths.
    /// Error.
    pub const MAX_FRAME_HEADER_BYTES: u64 = 16 << 20;

    /// The id of a document in a frame.
    /// It is the name of a directory.
    /// Error.
    pub const MAX_FRAME_ID_BYTES: usize = 255;

    /// Files in a frame, each as large as a file of a document.
    /// Documents of the crawl have a few hundred.
    /// Error.
    pub const MAX_FRAME_FILES: usize = 50_000;

    /// The path of a file in a frame.
    /// The header that lists them is in memory.
    /// Error.
    pub const MAX_FRAME_PATH_BYTES: usize = 1024;

    /// Names in the path of a file in a frame.
    /// The deepest of the crawl have four, and each can make a directory.
    /// Error.
    pub const MAX_FRAME_DEPTH: usize = 8;

    /// All files of a frame.
    /// They are on disk.
    /// Error.
    pub const MAX_FRAME_BYTES: u64 = 1 << 30;

    /// Files below a folder (`collection new`).
    /// Their names are in memory.
    /// Error.
    pub const MAX_SAVED_FILES: usize = 2_000_000;

    /// Folders within folders (`collection new`).
    /// Their names are in memory.
    /// Error.
    pub const MAX_SAVED_DEPTH: usize = 64;

    /// A text in a folder (`ask -i FOLDER`).
    /// A book has a few megabytes.
    /// Fault.
    pub const MAX_FOLDER_TEXT_BYTES: u64 = 16 << 20;

    /// What riposte notes of such a collection.
    /// It has less than a kilobyte.
    /// The collection is made again.
    pub const MAX_FOLDER_RECORD_BYTES: u64 = 1 << 16;

    /// A saved page or picture, a record of a WARC file.
    /// Decoders of pictures take no more.
    /// Fault.
    pub const MAX_SAVED_FILE_BYTES: u64 = 96 << 20;

    /// An MHTML file.
    /// It is read as a whole.
    /// Fault.
    pub const MAX_MHTML_BYTES: u64 = 256 << 20;

    /// Parts of an MHTML file.
    /// A page with a thousand pictures has as many.
    /// Fault.
    pub const MAX_MHTML_PARTS: usize = 100_000;

    /// Parts within parts of an MHTML file.
    /// Browsers write one level, and mail programs three.
    /// Fault.
    pub const MAX_MHTML_DEPTH: usize = 8;

    /// A block of headers in MHTML, HTTP or WARC.
    /// Servers send a few kilobytes.
    /// Fault in WARC, otherwise the rest is ignored.
    pub const MAX_HEADER_BLOCK_BYTES: usize = 1 << 20;

    /// Headers in such a block.
    /// Servers send a few kilobytes.
    /// Fault in WARC, otherwise the rest is ignored.
    pub const MAX_HEADERS: usize = 1000;

    /// What a WARC file unpacks to, in multiples of its size.
    /// Records of a crawl are three to ten times as large as packed; zeros are a thousand times.
    /// Fault; the records before are used.
    pub const MAX_WARC_GROWTH: u64 = 200;

    /// What a WARC file unpacks to besides.
    /// A small file can have a larger ratio.
    /// Fault; the records before are used.
    pub const MAX_WARC_MORE_BYTES: u64 = 64 << 20;

    /// The window of a WARC file that is packed with zstd.
    /// The decoder allocates it.
    /// Fault.
    pub const MAX_WARC_WINDOW_BYTES: u64 = 128 << 20;

    /// The dictionary of such a file, packed or unpacked.
    /// Crawlers make dictionaries of some hundred kilobytes.
    /// Fault.
    pub const MAX_DICTIONARY_BYTES: u64 = 16 << 20;

    /// The type of a picture inside a page (`data:`).
    /// It is "image/png;base64" or the like.
    /// The picture stays in the page.
    pub const MAX_DATA_TYPE_BYTES: usize = 128;

    /// The window of an HTTP body that is packed with zstd.
    /// Browsers refuse more.
    /// Fault.
    pub const MAX_HTTP_WINDOW_BYTES: u64 = 8 << 20;

    /// Members of a WACZ file.
    /// A crawl has a WARC file for each gigabyte.
    /// Fault.
    pub const MAX_WACZ_MEMBERS: usize = 100_000;

    /// A list of pages in a WACZ file.
    /// These are some hundred thousand pages.
    /// The rest of the list is not read.
    pub const MAX_PAGE_LIST_BYTES: u64 = 64 << 20;

    /// Pages, and pictures, of a new collection.
    /// What is known of each is in memory; the published crawl has 23,841 pictures.
    /// Error; further redirects are ignored.
    pub const MAX_GATHERED_ITEMS: usize = 1_000_000;

    /// A page of a new collection.
    /// Its HTML, without the pictures inside it, is stored with each picture that it shows, and all texts of a document have a limit.
    /// Fault.
    pub const MAX_NEW_PAGE_BYTES: usize = 12 << 20;

    /// Addresses in an attribute, and elements in a `picture`.
    /// A `srcset` has ten.
    /// The others are ignored.
    pub const MAX_URLS: usize = 128;

    /// An address in a page.
    /// Browsers send no longer ones.
    /// The image or page is left out.
    pub const MAX_URL_BYTES: usize = 8 << 10;

    /// An address in an archive.
    /// Browsers send no longer ones.
    /// The image or page is left out.
    pub const MAX_LOCATION_BYTES: usize = 8 << 10;

    /// Redirects, one to the next, in an archive.
    /// They can go in a circle.
    /// The picture counts as not saved.
    pub const MAX_ARCHIVED_REDIRECTS: usize = 5;

    /// Images of a page in a new collection.
    /// A page is stored with each picture that it shows.
    /// The others are left out, and counted.
    pub const MAX_PAGE_IMAGES: usize = 1000;

    /// The copies of the HTML of a page.
    /// A page is stored with each picture that it shows.
    /// The others are left out, and counted.
    pub const MAX_COPIED_BYTES: usize = 256 << 20;

    /// Pages of a picture in a new collection.
    /// All pages of a site show its logo.
    /// The others are left out, and counted.
    pub const MAX_PICTURE_PAGES: usize = 10;

    /// Judgements that `collection check` checks.
    /// As for reading them.
    /// Fault.
    pub const MAX_JUDGEMENTS_BYTES: u64 = 256 << 20;
}
