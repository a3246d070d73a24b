//! Collections of folders with pictures and pages: what is read, what is left out, and what a killed run leaves.

use std::fmt::Write as _;
use std::fs;

use image::{ImageFormat, Rgb, RgbImage};

use super::{TOPICS, assert_is_used, assert_words_are_found, images, page, picture, run, texts};
use crate::support::files::{entries, name};
use crate::support::pictures::{encoded, grey};
use crate::support::program::{WorkDir, riposte};
use crate::support::{assert_says, wait};

#[test]
fn a_folder_of_pictures_and_pages_becomes_a_collection() {
    let dir = WorkDir::with(&[
        ("saved/A page_files/red.png", &picture(200)),
        ("saved/A page_files/copy.png", &picture(200)),
        (
            "saved/A page_files/icon.png",
            &grey(16, 16, ImageFormat::Png),
        ),
        ("saved/A page_files/gone.png", b"<html>404"),
        (
            "saved/A page_files/chart.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        ),
        ("saved/A page_files/alone.png", &picture(10)),
        ("saved/A page_files/site.js", b"alert()"),
        ("topics.xml", TOPICS.as_bytes()),
    ]);
    let html = "<!DOCTYPE html>\n<!-- saved from url=(0026)https://example.org/a?b=1 -->\n<html><body><p>Zoos before</p>\
        <p><img src=\"x.gif\"><img src=\"./A%20page_files/red.png\"><img src=\"./A%20page_files/icon.png\">\
        <img src='A page_files/gone.png'><img src='A page_files/chart.svg'><img src='A page_files/copy.png'></p>\
        <script>var hidden</script></body></html>";
    fs::write(dir.path("saved/A page.html"), html).unwrap();
    let (code, said) = run(&dir, "collection new made --from saved --topics topics.xml");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "gone.png: an HTML page, not an image",
            "made: 1 image on 1 page of 1 that were read",
            "1 picture: no page shows it",
            "1 picture: smaller than --min-side",
            "1 picture: SVG, AVIF or HEIF",
            "1 image element: its picture was not saved",
            "1 topic: rank them with `riposte images -i made -o OUT`",
            "1 fault: image 1",
        ],
    );
    let made = dir.path("made");
    // both copies are one picture
    assert_eq!(
        texts(&made, "image-xpath.txt"),
        ["/HTML[1]/BODY[1]/P[2]/IMG[2]\n/HTML[1]/BODY[1]/P[2]/IMG[6]\n"]
    );
    assert_eq!(texts(&made, "page-url.txt"), ["https://example.org/a?b=1"]);
    assert_eq!(texts(&made, "text.txt"), ["Zoos before\n"]);
    assert_eq!(texts(&made, "dom.html"), [html]);
    assert_eq!(
        texts(&made, "image-url.txt"),
        ["file:A page_files/copy.png"]
    );
    assert_eq!(fs::read_to_string(made.join("topics.xml")).unwrap(), TOPICS);
    let image = &images(&made)[0];
    assert_eq!(fs::read(image.join("image.png")).unwrap(), picture(200));
    assert_is_used(&dir, "made", 1);
    assert_words_are_found(&dir, "made");
    // the same files make the same collection
    dir.succeeds("collection new again --from saved");
    assert_eq!(images(&dir.path("again"))[0].file_name(), image.file_name());
    // with --strict, and with pictures that no page shows
    let (code, said) = run(
        &dir,
        "collection new kept --from saved --keep-unshown --strict",
    );
    assert_eq!(code, 1, "{said}");
    assert_says(
        &said,
        &["kept: 2 images on 1 page", "1 image without a page"],
    );
    let (code, said) = run(&dir, "collection check kept");
    assert_eq!(code, 1, "{said}");
    assert_says(&said, &["page: ", "no page"]);
}

#[test]
fn pictures_alone_become_a_collection() {
    let dir = WorkDir::with(&[("in/b/1.png", &picture(1)), ("in/2", &picture(2))]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "made: 2 images on 0 pages",
            "2 images without a page",
            "no topics: ask it with `riposte ask",
        ],
    );
    let (code, said) = run(&dir, "collection check made");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &["made: 2 images, 0 pages, no topics", "no image has a page"],
    );
}

#[test]
fn a_directory_that_is_used_and_sources_that_are_none_are_refused() {
    let dir = WorkDir::with(&[
        ("in/1.png", &picture(1)),
        ("used/mine.txt", b"x"),
        ("words/a.txt", b"x"),
        (
            "broken.xml",
            b"<topics><topic><number>1</number><title></title></topic></topics>",
        ),
    ]);
    fs::create_dir(dir.path("empty")).unwrap();
    dir.refuses(
        "collection new used --from in | used is not empty: give a new directory
         collection new in/made --from in | in/made is in the folder in of --from
         collection new made --from nowhere | cannot list nowhere
         collection new made --from words | nothing to write: 0 pictures and 0 pages were read
         collection new made --from in --topics broken.xml | cannot read the topics in broken.xml
         collection check words | words is not an image collection",
    );
    assert!(!dir.path("made").exists() && !dir.path("in/made").exists());
    assert_eq!(dir.read("used/mine.txt"), "x");
    dir.succeeds("collection new empty --from in");
    assert_eq!(images(&dir.path("empty")).len(), 1);
    // nothing temporary is left
    let left = entries(&dir.path(""))
        .into_iter()
        .filter(|path| name(path).starts_with(".riposte-"));
    assert_eq!(left.count(), 0);
}

/// Only files below the folders are read, whatever pages and links name.
#[cfg(unix)]
#[test]
fn nothing_outside_the_folders_is_read() {
    let dir = WorkDir::with(&[
        ("secret.png", &picture(1)),
        ("in/own.png", &picture(2)),
        ("in/1.html", page("../secret.png", "Out").as_bytes()),
        ("in/2.html", page("file:///etc/passwd", "Out").as_bytes()),
        ("in/3.html", page("linked.png", "Out").as_bytes()),
        ("in/4.html", page("../in/./x/../own.png", "In").as_bytes()),
    ]);
    std::os::unix::fs::symlink(dir.path("secret.png"), dir.path("in/linked.png")).unwrap();
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["made: 1 image on 1 page of 4", "1 symbolic link"]);
    assert_eq!(texts(&dir.path("made"), "image-url.txt"), ["file:own.png"]);
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_nothing_and_the_next_one_removes_what_it_wrote() {
    let dir = WorkDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    let shade = encoded(
        RgbImage::from_pixel(300, 300, Rgb([1, 2, 3])),
        ImageFormat::Png,
    );
    for n in 0..3000u32 {
        // decoders ignore what is behind a picture
        let bytes = [&shade[..], &n.to_be_bytes()].concat();
        fs::write(dir.path(&format!("in/{n}.png")), bytes).unwrap();
    }
    let mut command = riposte(
        &dir.path("home"),
        &["collection", "new", "made", "--from", "in"],
    );
    let child = command.current_dir(dir.path("")).spawn().unwrap();
    let temporary = || {
        let found = entries(&dir.path("")).into_iter();
        found
            .filter(|path| name(path).starts_with(".riposte-"))
            .count()
    };
    let is_killed = wait::kill_when(child, || temporary() >= 2);
    assert!(is_killed, "it has ended too early");
    assert!(!dir.path("made").exists() && temporary() > 0);
    fs::create_dir(dir.path("few")).unwrap();
    fs::copy(dir.path("in/0.png"), dir.path("few/0.png")).unwrap();
    dir.succeeds("collection new made --from few");
    assert_eq!((images(&dir.path("made")).len(), temporary()), (1, 0));
}

#[test]
fn a_page_with_a_hundred_thousand_images_is_read_up_to_a_bound() {
    let mut html = String::from("<body><p>Zoos</p>");
    for n in 0..100_000 {
        write!(html, "<img src='{}.png'>", n % 3).unwrap();
    }
    let dir = WorkDir::with(&[
        ("in/0.png", &picture(1)),
        ("in/1.png", &picture(2)),
        ("in/a.html", html.as_bytes()),
    ]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "made: 2 images on 1 page",
            "99000 image elements: beyond what is read of a page",
        ],
    );
    assert_is_used(&dir, "made", 2);
}

#[test]
fn a_picture_on_every_page_keeps_ten_of_them() {
    let dir = WorkDir::with(&[("in/logo.png", &picture(1))]);
    for n in 0..25 {
        fs::write(dir.path(&format!("in/{n}.html")), page("logo.png", "Zoos")).unwrap();
    }
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &["made: 1 image on 10 pages of 25", "15 appearances"],
    );
}

/// wget and browsers save pages and pictures under the names that their addresses have.
#[test]
fn files_are_recognised_by_their_beginnings() {
    let dir = WorkDir::with(&[
        (
            "in/quote/1503883",
            page("../a.jpeg%3Fw=7", "Zoos").as_bytes(),
        ),
        (
            "in/page.php?id=1",
            b"<?xml version='1.0'?><!-- x --><html><img src='b.asp?x'>",
        ),
        ("in/a.jpeg?w=7", &picture(1)),
        ("in/b.asp?x", &picture(2)),
        ("in/words", b"words <html>"),
        ("in/style.css?1", b"<!-- p {} -->"),
    ]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["made: 2 images on 2 pages of 2 that were read"]);
}

#[test]
fn pictures_are_found_where_scripts_and_styles_put_them() {
    let html = "<head><meta property='twitter:image' content='4.png'></head><body><p>Zoos before</p>\
        <div style='background-image: url(\"1.png\")'></div><p><img data-large-file='./2.png' src='data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'></p>\
        <noscript><img src='3.png'></noscript><noscript><img src='counter.gif'></noscript></body>";
    let dir = WorkDir::with(&[
        ("in/1.png", &picture(1)),
        ("in/2.png", &picture(2)),
        ("in/3.png", &picture(3)),
        ("in/4.png", &picture(4)),
        ("in/5.html", html.as_bytes()),
    ]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["made: 4 images on 1 page of 1 that were read"]);
    // no browser with scripts shows the counter
    assert!(!said.contains("left out"), "{said}");
    assert_eq!(
        texts(&dir.path("made"), "image-xpath.txt"),
        [
            "/HTML[1]/BODY[1]/DIV[1]\n",
            "/HTML[1]/BODY[1]/NOSCRIPT[1]/IMG[1]\n",
            "/HTML[1]/BODY[1]/P[2]/IMG[1]\n",
            "/HTML[1]/HEAD[1]/META[1]\n",
        ]
    );
    assert_is_used(&dir, "made", 4);
}

#[test]
fn broken_pictures_that_no_page_shows_are_counted() {
    let whole = picture(3);
    let dir = WorkDir::with(&[
        ("in/1.png", &picture(1)),
        ("in/2.png", &picture(2)),
        ("in/cut.png", &whole[..whole.len() / 2]),
        ("in/gone.jpg", b"<html>404"),
        (
            "in/drawing.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        ),
        ("in/a.html", page("1.png", "Zoos").as_bytes()),
    ]);
    let (code, said) = run(&dir, "collection new made --from in --strict");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "made: 1 image on 1 page",
            "  2 pictures: no page shows it (--keep-unshown",
            "  2 pictures: no page shows it, and it is broken",
        ],
    );
    let (code, said) = run(
        &dir,
        "collection new kept --from in --keep-unshown --strict",
    );
    assert_eq!(code, 1, "{said}");
    assert_says(&said, &["cut.png: ", "gone.jpg: ", "2 faults: image 2"]);
}

#[test]
fn web_archives_that_are_not_read_are_named() {
    let names = [
        ("a.arc", "warcio recompress"),
        ("b.ARC.GZ", "warcio recompress"),
        ("c.har", "har2warc"),
        ("d.maff", "unpack it"),
        ("e.webarchive", "SingleFile"),
        ("f.zim", "zimdump"),
        ("g.warc.bz2", "bunzip2"),
        ("h.warc.xz", "unxz"),
        ("i.mhtml.gz", "gunzip"),
    ];
    let dir = WorkDir::with(&[("in/1.png", &picture(1))]);
    for (file, _) in names {
        fs::write(dir.path(&format!("in/{file}")), "x").unwrap();
    }
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    for (file, advice) in names {
        let mut lines = said.lines();
        let line = lines.find(|line| line.contains(file));
        let line = line.unwrap_or_else(|| panic!("{file} in {said}"));
        assert!(line.contains(advice), "{line}");
    }
    assert_says(&said, &["made: 1 image", "9 faults: page 9"]);
}
