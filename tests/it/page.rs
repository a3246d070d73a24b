//! The words that a page has about an image: the element of the image is found, the words around it are separated from the others, and malformed
//! pages can be read.

use proptest::prelude::*;
use riposte::evidence::page::{FoundBy, NEAR_WORDS, PageWords, decode, read};
use riposte::limits::MAX_MAIN_WORDS;

use crate::support::files::entries;
use crate::support::need::{Data, need};

const URL: &str = "https://img.example.org/2021/poster-voting-age.jpg";

fn read_at(html: &str, xpath: &str) -> PageWords {
    read(html, &[xpath.to_owned()], URL)
}

fn read_by_url(html: &str) -> PageWords {
    read(html, &[], URL)
}

/// An image element that a test recognises by its alternative text.
fn poster(attributes: &str) -> String {
    format!("<img alt='the poster' {attributes}>")
}

#[test]
fn every_image_of_the_real_sample_is_found_in_its_page() {
    let Some(images) = need(Data("images/sample/images")) else {
        return;
    };
    let (mut pages, mut by_xpath, mut by_url, mut named, mut with_words) = (0, 0, 0, 0, 0);
    let (mut fallen_back, mut lines, mut resolved) = (0, 0, 0);
    for image in entries(&images).iter().flat_map(|prefix| entries(prefix)) {
        let url = std::fs::read_to_string(image.join("image-url.txt")).unwrap();
        for page in entries(&image.join("pages")) {
            let snapshot = page.join("snapshot");
            let (html, broken) = decode(&std::fs::read(snapshot.join("dom.html")).unwrap());
            assert!(!broken, "{}", page.display());
            let xpaths = std::fs::read_to_string(snapshot.join("image-xpath.txt")).unwrap();
            let xpaths: Vec<String> = xpaths.lines().map(str::to_owned).collect();
            let words = read(&html, &xpaths, &url);
            pages += 1;
            by_xpath += usize::from(words.found == FoundBy::XPath);
            fallen_back += usize::from(words.found == FoundBy::Url);
            named += usize::from(words.names_image);
            let near = words.before.split(' ').count() + words.after.split(' ').count();
            with_words += usize::from(!words.title.is_empty() && near > 10);
            for xpath in &xpaths {
                let alone = read(&html, std::slice::from_ref(xpath), &url);
                lines += usize::from(!xpath.is_empty());
                resolved += usize::from(alone.found == FoundBy::XPath && alone.names_image);
            }
            // each image must also be found by its address
            let url_alone = read(&html, &[], &url);
            by_url += usize::from(url_alone.found == FoundBy::Url && url_alone.names_image);
        }
    }
    assert_eq!((pages, by_xpath, named, with_words), (25, 25, 25, 25));
    assert_eq!((fallen_back, by_url, resolved), (0, 25, lines));
    assert!(lines > 0);
}

#[test]
fn xpaths_of_browsers_lead_to_the_image() {
    let html = format!(
        "<!DOCTYPE html><title>t</title><div><p>one<p>two</div><div id=box><table><tr><td>{}</table></div>
         <svg><image href='x'/></svg><picture><source srcset='other.webp'>{}</picture>
         <noscript><p><img src='{URL}' alt='without scripts'></p></noscript>",
        poster("src='a.gif'"),
        poster("src='b.gif'"),
    );
    for (xpath, alt) in [
        (
            "/HTML[1]/BODY[1]/DIV[2]/TABLE[1]/TBODY[1]/TR[1]/TD[1]/IMG[1]",
            "the poster",
        ),
        ("/html/body/div[2]/table/tbody/tr/td/img", "the poster"),
        (
            "  /HTML[1]/BODY[1]/DIV[2]/TABLE/TBODY/TR/TD/IMG[1] \r",
            "the poster",
        ),
        ("//*[@id=\"box\"]/table/tbody/tr/td/img", "the poster"),
        (
            "id('box')/TABLE[1]/*[1]/TR[1]/TD[1]/IMG[1]/@src",
            "the poster",
        ),
        ("/HTML[1]/BODY[1]/PICTURE[1]", "the poster"),
        ("/HTML[1]/BODY[1]/PICTURE[1]/SOURCE[1]", "the poster"),
        (
            "/HTML[1]/BODY[1]/NOSCRIPT[1]/P[1]/IMG[1]",
            "without scripts",
        ),
        ("/HTML[1]/BODY[1]/*[name()='svg'][1]/svg:image[1]", ""),
    ] {
        // the image has another address, so only the XPath can find it
        let words = read(
            &html,
            &[xpath.to_owned()],
            "http://example.org/no-such-file.png",
        );
        assert_eq!(
            (words.found, words.alt.as_str()),
            (FoundBy::XPath, alt),
            "{xpath}"
        );
        assert!(!words.names_image, "{xpath}");
    }
    for xpath in [
        "",
        "/",
        "/HTML[1]/BODY[1]/IMG[1]",
        "/HTML[1]/BODY[0]",
        "/HTML[1]/BODY[1]/DIV[9]/IMG[1]",
        "//*[@id=",
        "id(é",
    ] {
        let words = read(&html.replace(URL, "c.gif"), &[xpath.to_owned()], URL);
        assert_eq!(words.found, FoundBy::Nothing, "{xpath}");
    }
}

#[test]
fn without_an_xpath_the_address_finds_the_image() {
    for attributes in [
        "src='https://img.example.org/2021/poster-voting-age.jpg'",
        "src='//img.example.org/2021/poster-voting-age.jpg?w=300'",
        "src='/2021/poster-voting-age.jpg'",
        "src='blank.gif' data-src='http://img.example.org/2021/poster-voting-age.jpg'",
        "src='data:image/gif;base64,R0lGOD' srcset='small.jpg 300w, https://img.example.org/2021/poster-voting-age.jpg 900w'",
        "data-lazy-srcset='https://cdn.example.net/w_300,h_200/poster-voting-age.jpg 2x'",
        "src='https://cdn.example.net/thumbs/poster-voting-age-300x200.jpg'",
        "src='https://cdn.example.net/thumbs/poster%2Dvoting%2Dage.jpg'",
    ] {
        let html = format!(
            "<p>Before.</p><img src='logo.png' alt=logo>{}<p>After.</p>",
            poster(attributes)
        );
        let words = read_by_url(&html);
        assert_eq!(
            (words.found, words.alt.as_str()),
            (FoundBy::Url, "the poster"),
            "{attributes}"
        );
        assert_eq!(
            (words.before.as_str(), words.after.as_str()),
            ("Before.", "After."),
            "{attributes}"
        );
    }
    for html in [
        format!(
            "<p>Before.</p><a href='{URL}'><img src=thumb.png alt='the poster'></a><p>After.</p>"
        ),
        format!(
            "<p>Before.</p><noscript><img src='{URL}' alt='the poster'></noscript><p>After.</p>"
        ),
        format!(
            "<p>Before.</p><picture><source srcset='{URL}'><img src=x.png alt='the poster'></picture><p>After.</p>"
        ),
    ] {
        let words = read_by_url(&html);
        assert_eq!(
            (words.found, words.alt.as_str(), words.names_image),
            (FoundBy::Url, "the poster", true),
            "{html}"
        );
        assert_eq!(
            (words.before.as_str(), words.after.as_str()),
            ("Before.", "After."),
            "{html}"
        );
    }
    let styled = read_by_url(&format!(
        "<p>Before.</p><div style=\"background:url('{URL}')\"></div><p>After.</p>"
    ));
    assert_eq!(
        (styled.found, styled.before.as_str()),
        (FoundBy::Url, "Before.")
    );
    assert_eq!(
        read_by_url("<img src='another-poster-voting-age.jpg'>").found,
        FoundBy::Nothing
    );
    assert_eq!(
        read("<img src='a.jpg'><img>", &[], "").found,
        FoundBy::Nothing
    );
}

#[test]
fn a_common_file_name_finds_the_image_only_if_it_is_unique() {
    let url = "https://example.org/a/image.jpg";
    let once = "<img src='/other/image.jpg'><img src=logo.png>";
    assert_eq!(read(once, &[], url).found, FoundBy::Url);
    let twice = "<img src='/b/image.jpg'><img src='/c/image.jpg'>";
    assert_eq!(read(twice, &[], url).found, FoundBy::Nothing);
    let with_its_path = "<img src='/b/image.jpg'><img src='/a/image.jpg' alt=this>";
    assert_eq!(read(with_its_path, &[], url).alt, "this");
    // addresses without a file name are distinguished by their queries
    let query = "https://example.org/r/?id=7";
    let images =
        "<img src='https://example.org/r/?id=5'><img src='http://example.org/r/?id=7' alt=this>";
    assert_eq!(read(images, &[], query).alt, "this");
}

#[test]
fn an_element_that_names_the_image_is_preferred() {
    let html = format!(
        "<img src='ad.gif' alt=ad><p>Text.</p>{}",
        poster(&format!("src='{URL}'"))
    );
    let words = read_at(&html, "/HTML[1]/BODY[1]/IMG[1]");
    assert_eq!(
        (words.found, words.alt.as_str(), words.names_image),
        (FoundBy::Url, "the poster", true)
    );
    // no element has the address of the image, so it can be found only by the XPath
    let words = read_at(
        "<img src='data:,' alt=placeholder>",
        "/HTML[1]/BODY[1]/IMG[1]",
    );
    assert_eq!(
        (words.found, words.alt.as_str(), words.names_image),
        (FoundBy::XPath, "placeholder", false)
    );
    // an XPath into the body has priority over one into the head
    let html = format!(
        "<head><meta property='og:image' content='{URL}'></head><p>Text.</p>{}",
        poster(&format!("src='{URL}'"))
    );
    let xpaths = [
        "/HTML[1]/HEAD[1]/META[1]".to_owned(),
        "/HTML[1]/BODY[1]/IMG[1]".to_owned(),
    ];
    let words = read(&html, &xpaths, URL);
    assert_eq!(
        (words.found, words.before.as_str()),
        (FoundBy::XPath, "Text.")
    );
}

#[test]
fn an_image_of_the_head_has_the_words_around_the_element_of_the_body_that_shows_it() {
    let text = "Sixteen year olds may work, marry and pay taxes, and nobody has shown why they should not vote as well. ";
    let head = format!(
        "<head><title>T</title><meta property='og:image' content='{URL}'>
        <meta property='og:image:alt' content='a poster'></head>"
    );
    let xpath = "/HTML[1]/HEAD[1]/META[1]";
    let shown = format!(
        "{head}<p>{text}<p>It begins here.{}<p>It goes on there, and this is the end of it all. {text}",
        poster("src='https://cdn.example.net/poster-voting-age.jpg'")
    );
    let words = read_at(&shown, xpath);
    assert_eq!((words.found, words.names_image), (FoundBy::XPath, true));
    assert!(
        words.before.ends_with("It begins here."),
        "{}",
        words.before
    );
    assert!(
        words.after.starts_with("It goes on there"),
        "{}",
        words.after
    );
    assert_eq!(words.alt, "the poster");
    let only_meta =
        format!("{head}<nav><a href=/>Home</a> <a href=/x>News</a></nav><p>{text}<p>{text}");
    let words = read_at(&only_meta, xpath);
    assert_eq!(
        (words.found, words.alt.as_str()),
        (FoundBy::XPath, "a poster")
    );
    assert_eq!(words.before, "");
    assert!(
        words.after.starts_with("Sixteen year olds"),
        "{}",
        words.after
    );
}

#[test]
fn title_caption_headings_and_words_around_are_kept_apart() {
    let html = format!(
        "<html><head><title> Voting \n age</title><meta name=Description content=' Should it be\tlowered? '></head><body>
         <nav><a href=/>Home</a></nav><h1>Voting age</h1><h2>Reasons</h2><h3>Elsewhere</h3><h2>Against</h2>
         <p>Young people <b>pay</b> ta<i>x</i>es.<br>They work.</p><h4>Maturity</h4>
         <figure><a href='/big' title='Enlarge'>{}</a><figcaption>A poster in <i>Vienna</i>.</figcaption></figure>
         <p>It did no harm.</p></body></html>",
        poster(&format!("src='{URL}' title='Vote at 16'"))
    );
    let words = read_by_url(&html);
    let expected = PageWords {
        found: FoundBy::Url,
        names_image: true,
        title: "Voting age".into(),
        full_title: "Voting age".into(),
        description: "Should it be lowered?".into(),
        alt: "the poster".into(),
        title_attribute: "Vote at 16".into(),
        caption: "A poster in Vienna.".into(),
        headings: "Against\nMaturity".into(),
        before: "Voting age Reasons Elsewhere Against Young people pay taxes. They work. Maturity"
            .into(),
        after: "It did no harm.".into(),
        main: words.main.clone(),
    };
    assert_eq!(words, expected);
    assert!(
        words.main.contains("Young people pay taxes. They work.\n"),
        "{}",
        words.main
    );
    assert!(!words.main.contains("Home"), "{}", words.main);
    let untitled = read_by_url(&html.replace("title='Vote at 16'", ""));
    assert_eq!(untitled.title_attribute, "Enlarge");
}

#[test]
fn the_name_of_the_site_is_only_in_the_full_title() {
    let head = "<meta property='og:site_name' content='The Daily'><link rel=canonical href='https://www.dailynews.example/a'>";
    for (own, social, title) in [
        ("Voting age | The Daily", "", "Voting age"),
        ("Voting age - Daily News", "", "Voting age"),
        (
            "Voting age | The Daily",
            "Should they vote? - The Daily",
            "Should they vote?",
        ),
        ("The Daily", "", "The Daily"),
    ] {
        let social = match social {
            "" => String::new(),
            social => format!("<meta property='og:title' content='{social}'>"),
        };
        let words = read_by_url(&format!(
            "<title>{own}</title>{head}{social}<h1>{title}</h1><p>Text.</p>"
        ));
        assert_eq!(
            (words.title.as_str(), words.full_title.as_str()),
            (title, own)
        );
        assert_eq!(words.headings, "", "it repeats the title");
    }
    let untitled = read_by_url("<h1>Voting age</h1><p>Text.</p>");
    assert_eq!(
        (untitled.title.as_str(), untitled.full_title.as_str()),
        ("Voting age", "Voting age")
    );
}

#[test]
fn captions_are_found_without_a_figure() {
    let image = poster(&format!("src='{URL}' aria-describedby=words"));
    for around in [
        format!("<div>{image}<p class='wp-caption-text'>A poster in Vienna.</p></div>"),
        format!(
            "<div><div>{image}</div><div class='image__caption'>A poster in Vienna.</div></div>"
        ),
        format!("<p>{image}<br><em>A poster in Vienna.</em></p>"),
        format!("<p><a href=/big>{image}</a> <small>A poster in Vienna.</small></p>"),
        format!("<div>{image}</div><div id=words>A poster in Vienna.</div>"),
        format!(
            "<figure><figcaption>Fig. 1</figcaption>{image}<div>A poster in Vienna.</div></figure>"
        ),
    ] {
        let words = read_by_url(&format!("<body><p>Before.</p>{around}<p>After.</p>"));
        assert!(
            words.caption.ends_with("A poster in Vienna."),
            "{around}: {:?}",
            words.caption
        );
        assert_eq!(
            (words.before.as_str(), words.after.as_str()),
            ("Before.", "After."),
            "{around}"
        );
    }
    // the caption of another image is ignored
    let two = format!("<div>{image}<img src=other.png><p class=caption>Another thing.</p></div>");
    assert_eq!(read_by_url(&two).caption, "");
}

#[test]
fn invisible_elements_and_navigation_give_no_words() {
    let hidden = "<script>var hidden;</script><style>.hidden{}</style><noscript>hidden</noscript>
        <template><p>hidden</p></template><div hidden>hidden</div><span aria-hidden=true>hidden</span>
        <div style='color:red; DISPLAY : none'><p>hidden</p></div><input type=hidden value=hidden>
        <select><option>hidden</select><svg><title>hidden</title><text>hidden</text></svg><!-- hidden -->
        <nav><ul><li><a href=/>hidden</a></ul></nav><footer><a href=/>hidden</a></footer>
        <div class='site-footer'>hidden</div><ul><li><a>hidden</a><li><a>hidden</a><li><a>hidden</a><li><a>hidden</a></ul>";
    let html = format!(
        "<title>t</title>{hidden}<p>Before.</p>{hidden}{}{hidden}<p>After.</p>{hidden}",
        poster(&format!("src='{URL}'"))
    );
    let words = read_by_url(&html);
    assert_eq!(
        (words.before.as_str(), words.after.as_str()),
        ("Before.", "After.")
    );
    assert!(!words.main.contains("hidden"), "{}", words.main);
    // a page that was hidden by a dialog when it was saved can still be read
    let html = format!(
        "<body aria-hidden=true style='display:none'><p>Before.</p>{}<p>After.</p>",
        poster(&format!("src='{URL}'"))
    );
    assert_eq!(read_by_url(&html).after, "After.");
}

#[test]
fn words_around_are_limited_and_come_from_the_same_part_of_the_page() {
    let many: Vec<String> = (0..200).map(|n| format!("word{n}")).collect();
    let many = many.join(" ");
    let image = poster(&format!("src='{URL}'"));
    let words = read_by_url(&format!("<p>{many}</p>{image}<p>{many}</p>"));
    assert_eq!(words.before.split(' ').count(), NEAR_WORDS);
    assert!(
        words.before.starts_with("word140 ") && words.before.ends_with(" word199"),
        "{}",
        words.before
    );
    assert!(
        words.after.starts_with("word0 ") && words.after.ends_with(" word59"),
        "{}",
        words.after
    );
    let own = "The age at which people may vote is a matter of law in every country, and it has been lowered many times.";
    let words = read_by_url(&format!(
        "<article><p>Another story.</p></article><article><p>{own}</p>{image}<p>The end.</p></article>
         <article><p>A third story.</p></article>"
    ));
    assert_eq!(
        (words.before.as_str(), words.after.as_str()),
        (own, "The end.")
    );
    let entry = |image: &str, text: &str| format!("<li class=card>{image}<p>{text}</p></li>");
    let words = read_by_url(&format!(
        "<h2>Posters</h2><ul>{}{}{}</ul>",
        entry("<img src=a.png>", "A cat on a mat."),
        entry(&image, own),
        entry("<img src=b.png>", "A dog in a fog."),
    ));
    assert_eq!((words.before.as_str(), words.after.as_str()), ("", own));
    assert_eq!(words.headings, "Posters");
}

#[test]
fn the_main_text_is_the_article() {
    let paragraph = "Lowering the voting age gives young people a say in what shapes their lives for longest, its friends hold. ";
    let menu: String = (0..30)
        .map(|n| format!("<li><a href=/{n}>Section {n}</a></li>"))
        .collect();
    let body = format!("<p>{paragraph}</p><h2>Reasons</h2><p>{paragraph}</p><p>{paragraph}</p>");
    let teasers =
        "<div><h3><a href=/x>You will not believe this</a></h3><a href=/x>Read more</a></div>"
            .repeat(5);
    for html in [
        format!("<ul>{menu}</ul><main><article>{body}</article></main><div>{teasers}</div>"),
        format!("<ul>{menu}</ul><div>{body}</div><div>{teasers}</div><div>© 2021</div>"),
        format!("<table><tr><td>{menu}<td>{body}<td>{teasers}</table>"),
    ] {
        let main = read_by_url(&html).main;
        assert_eq!(main.matches(paragraph.trim()).count(), 3, "{main}");
        assert!(main.contains("Reasons"), "{main}");
        assert!(
            !main.contains("Section") && !main.contains("believe"),
            "{main}"
        );
    }
    let long = format!("<p>{}</p>", "word ".repeat(3 * MAX_MAIN_WORDS));
    assert_eq!(read_by_url(&long).main.split(' ').count(), MAX_MAIN_WORDS);
}

#[test]
fn bytes_are_decoded_by_their_encoding() {
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("é".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    for (bytes, text, broken) in [
        (&b"plain"[..], "plain", false),
        ("\u{feff}<p>é".as_bytes(), "<p>é", false),
        (&utf16, "é", false),
        // a browser saves pages as UTF-8, whatever encoding they declare
        (
            "<meta charset=iso-8859-1>é".as_bytes(),
            "<meta charset=iso-8859-1>é",
            false,
        ),
        (
            b"<meta charset='windows-1251'>\xcc\xe8\xf0",
            "<meta charset='windows-1251'>Мир",
            false,
        ),
        (
            b"<META content=\"text/html; charset=Shift_JIS\">\x93\xfa",
            "<META content=\"text/html; charset=Shift_JIS\">日",
            false,
        ),
        (b"caf\xe9 \x93x\x94", "café “x”", true),
        ("é and \u{1}".as_bytes(), "é and \u{1}", false),
        (b"\xc3\xa9 and \xff", "é and \u{fffd}", true),
        (b"\xff and \xc3\xa9", "\u{fffd} and é", true),
        (b"", "", false),
    ] {
        assert_eq!(decode(bytes), (text.to_owned(), broken), "{bytes:?}");
    }
}

/// If the time grew with the square of the length, these pages would take hours.
#[test]
fn deep_and_wide_pages_are_read_with_little_stack() {
    let image = poster(&format!("src='{URL}'"));
    let paragraph =
        "<div class='a b'><p>Young people <a href='/x'>pay taxes</a> and should vote.</p></div>\n";
    for (what, html) in [
        (
            "nested",
            format!("<p>Before.{}{image}<p>After.", "<div>".repeat(100_000)),
        ),
        (
            "nested inline",
            format!("{}{image}", "<b><i>x".repeat(50_000)),
        ),
        (
            "nested lists, closed",
            format!(
                "{}{image}{}",
                "<ul><li>".repeat(50_000),
                "</ul>".repeat(50_000)
            ),
        ),
        (
            "unclosed formatting",
            format!(
                "{image}{}",
                (0..20_000)
                    .map(|n| format!("<p><b id={n}>x"))
                    .collect::<String>()
            ),
        ),
        (
            "tables",
            format!("{}{image}", "<table><tr><td>".repeat(30_000)),
        ),
        ("long", format!("{}{image}", paragraph.repeat(60_000))),
        (
            "wide",
            format!("{image}{}", "<img class=c src=x.png>".repeat(200_000)),
        ),
        (
            "attributes",
            format!(
                "{image}<p {}>",
                (0..500_000).map(|n| format!("a{n}=1 ")).collect::<String>()
            ),
        ),
        (
            "scripts",
            format!(
                "{image}{}",
                "<script>1</script><style></style>".repeat(100_000)
            ),
        ),
        (
            "noscripts",
            format!(
                "{}{image}",
                format!("<noscript><img src='{URL}'></noscript>").repeat(20_000)
            ),
        ),
        ("open tags", "<".repeat(1_000_000)),
        (
            "deep paragraphs",
            format!(
                "{image}{}{}",
                "<section>".repeat(480),
                "<p>Young people, who pay taxes, should vote.</p>".repeat(30_000)
            ),
        ),
        (
            "separators",
            format!("<title>{}</title>{image}<p>x", "a - ".repeat(100_000)),
        ),
        (
            "labels",
            format!("{image}<p class='{}'>x", "widget ".repeat(200_000)),
        ),
    ] {
        // a worker thread can have a stack of this size
        let thread = std::thread::Builder::new()
            .stack_size(512 << 10)
            .spawn(move || read_by_url(&html));
        let words = thread.unwrap().join().unwrap();
        assert!(words.found == FoundBy::Url || what == "open tags", "{what}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), xpath in "[/\\[\\]A-Za-z0-9*@\"'(=) ]{0,40}") {
        let (text, _) = decode(&bytes);
        read(&text, &[xpath], &text);
    }

    #[test]
    fn no_tags_make_the_reader_panic_and_words_are_normalised(parts in proptest::collection::vec(
        prop_oneof![
            Just("<table>"), Just("<tr>"), Just("<td>"), Just("</table>"), Just("<p>"), Just("</p>"), Just("<b>"), Just("</b>"),
            Just("<a href=x>"), Just("</a>"), Just("<select>"), Just("<option>"), Just("<svg>"), Just("<title>"), Just("</title>"),
            Just("<template>"), Just("</template>"), Just("<noscript>"), Just("</noscript>"), Just("<img src=poster-voting-age.jpg>"),
            Just("<figure>"), Just("<figcaption>"), Just("</figure>"), Just("<h1>"), Just("</h1>"), Just("<article>"), Just("</article>"),
            Just("<body hidden>"), Just("<frameset>"), Just("<plaintext>"), Just("<math>"), Just("<picture>"), Just("<source srcset=poster-voting-age.jpg>"),
            Just("</div>"), Just("<div class=nav>"), Just("<li class=card>"), Just("words of text "), Just("&amp;"), Just("<!--"), Just("-->"),
            Just("<meta content='poster-voting-age.jpg' property='og:image'>"),
        ], 0..60), step in 0usize..4)
    {
        let html = parts.concat();
        let words = read_at(&html, &format!("/HTML[1]/BODY[1]/*[{step}]/*[1]"));
        for text in [&words.title, &words.alt, &words.caption, &words.before, &words.after] {
            prop_assert!(!text.contains("  ") && text.trim() == text, "{text:?}");
        }
        prop_assert!(words.before.split(' ').count() <= NEAR_WORDS && words.after.split(' ').count() <= NEAR_WORDS);
    }
}
