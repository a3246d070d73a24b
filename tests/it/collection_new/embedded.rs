//! Collections of pages with pictures inside them (`data:`), as SingleFile saves them.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;

use super::{assert_is_used, assert_words_are_found, images, picture, run, texts};
use crate::support::assert_says;
use crate::support::pictures::grey;
use crate::support::program::WorkDir;

fn data(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// A page of SingleFile: a picture, one that occurs twice and is therefore a variable of a style sheet, an icon and a drawing.
fn single_file() -> String {
    let (shown, twice, icon) = (picture(1), picture(2), grey(16, 16, ImageFormat::Png));
    let drawing = "data:image/svg+xml,<svg xmlns=&quot;http://www.w3.org/2000/svg&quot; width=&quot;80&quot;/>";
    let variable =
        "background-image: var(--sf-img-2) !important; background-size: 100% 100% !important";
    format!(
        "<!DOCTYPE html> <html lang=en><!--\n Page saved with SingleFile \n url: https://example.org/zoo?a=1 \n saved date: Thu Nov 26 2026\n-->\
         <meta charset=utf-8><style>:root{{--sf-img-2: url(\"{}\");--sf-img-3: url(\"{}\")}}</style><link rel=icon href=\"{}\"></head>\
         <body><p>Zoos before</p><p><img src=\"{drawing}\" style=\"{variable}\"><img src=\"{drawing}\" style='{variable}'></p>\
         <p>Cages <img src={} alt=cages></p><p>Animals after</p><img src=\"{}\"><img src=\"{drawing}\"></body>",
        data(&twice),
        data(&picture(3)),
        data(&icon),
        data(&shown),
        data(&icon)
    )
}

#[test]
fn a_page_of_singlefile_gives_its_pictures() {
    let dir = WorkDir::with(&[("in/zoo.html", single_file().as_bytes())]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "made: 2 images on 1 page of 1 that were read",
            // the third picture of the style sheet
            "1 picture: no page shows it",
            "2 image elements: the image is inside the page (data:), and small, broken or a drawing",
        ],
    );
    let made = dir.path("made");
    let mut pictures: Vec<Vec<u8>> = images(&made)
        .iter()
        .map(|image| fs::read(image.join("image.png")).unwrap())
        .collect();
    pictures.sort();
    let mut expected = vec![picture(1), picture(2)];
    expected.sort();
    assert_eq!(pictures, expected);
    assert_eq!(
        texts(&made, "image-xpath.txt"),
        [
            "/HTML[1]/BODY[1]/P[2]/IMG[1]\n/HTML[1]/BODY[1]/P[2]/IMG[2]\n",
            "/HTML[1]/BODY[1]/P[3]/IMG[1]\n"
        ]
    );
    assert_eq!(
        texts(&made, "page-url.txt"),
        ["https://example.org/zoo?a=1"; 2]
    );
    // the pictures are stored once, and not in the copies of the page
    for html in texts(&made, "dom.html") {
        assert!(!html.contains(&STANDARD.encode(picture(1))[..60]), "{html}");
        assert!(html.contains("Animals after"), "{html}");
    }
    assert_is_used(&dir, "made", 2);
    assert_words_are_found(&dir, "made");
    // icons are pictures for those who want them
    let (code, said) = run(&dir, "collection new small --from in --min-side 8");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["small: 3 images on 1 page"]);
}

#[test]
fn a_page_that_is_large_only_by_its_pictures_is_read() {
    let mut html = String::from("<body><p>Zoos</p>");
    let shown = data(&picture(1));
    let noise: Vec<u8> = [picture(2), vec![7; 14 << 20]].concat();
    html.push_str(&format!("<img src='{shown}'><img src='{}'>", data(&noise)));
    let broken =
        "<img src='data:image/png;base64,iVBORw0KGgo='><img src='data:image/png;base64,!!'>";
    html.push_str(broken);
    let dir = WorkDir::with(&[("in/a.html", html.as_bytes())]);
    let (code, said) = run(&dir, "collection new made --from in");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "made: 2 images on 1 page of 1",
            "1 image element: the image is inside the page",
            "1 fault: image 1",
        ],
    );
}
