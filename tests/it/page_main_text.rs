//! The main text of a page: the article survives, whatever the words in its labels are, with its lists and tables.

use riposte::evidence::page::{PageWords, read};

const URL: &str = "https://img.example.org/2021/poster-voting-age.jpg";
/// What other pages say in the margin: longer than what Readability is content with.
const OTHERS: &str = "We use cookies to keep this site running, to remember your choices, and to count how many people read which page. ";

fn read_page(html: &str) -> PageWords {
    read(html, &[], URL)
}

fn paragraph(number: usize) -> String {
    format!(
        "Reason {number}: lowering the voting age gives young people a say in what shapes their lives, its friends hold, and nobody has shown any harm."
    )
}

/// The article has 12 paragraphs, with the image after the sixth. `wrap` makes an element of each part.
fn article(wrap: impl Fn(&str) -> String) -> String {
    let image = format!("<p><img src='{URL}' alt='a poster'></p>");
    let parts = (0..12).map(|number| {
        let image = if number == 6 { image.as_str() } else { "" };
        wrap(&format!("{image}<p>{}</p>", paragraph(number)))
    });
    parts.collect()
}

/// A page with this article, an `h1` above it, and a margin.
fn page(article: &str) -> String {
    format!(
        "<title>Voting age</title><body><nav><a href=/>Home</a></nav><div class=top><h1>Voting age</h1></div>{article}
        <footer><p>{}</p></footer>",
        OTHERS.repeat(8)
    )
}

fn assert_survives(html: &str, what: &str) {
    let words = read_page(html);
    let lost: Vec<usize> = (0..12)
        .filter(|number| !words.main.contains(&paragraph(*number)))
        .collect();
    assert!(lost.is_empty(), "{what}: {lost:?} of {:?}", words.main);
    assert!(!words.main.contains("cookies"), "{what}: {:?}", words.main);
    assert!(
        words.before.ends_with("shown any harm."),
        "{what}: {:?}",
        words.before
    );
    assert!(
        words.after.starts_with("Reason 6:"),
        "{what}: {:?}",
        words.after
    );
}

/// Words by which navigation and the like are recognised, also as parts of others.
const WORDS: [&str; 40] = [
    "nav",
    "navbar",
    "navigation",
    "menu",
    "breadcrumb",
    "breadcrumbs",
    "sidebar",
    "footer",
    "cookie",
    "consent",
    "gdpr",
    "share",
    "sharing",
    "related",
    "recommended",
    "newsletter",
    "subscribe",
    "masthead",
    "pagination",
    "toolbar",
    "widget",
    "modal",
    "popup",
    "login",
    "signup",
    "advertisement",
    "banner",
    "community",
    "extra",
    "header",
    "social",
    "sponsor",
    "pager",
    "hidden",
    "contact",
    "media",
    "meta",
    "promo",
    "scroll",
    "tags",
];

#[test]
fn no_word_in_labels_throws_an_article_away() {
    for word in WORDS {
        for label in [
            word.to_owned(),
            format!("site-{word}"),
            format!("{word}-container"),
            format!("with-{word}"),
            format!("{word}Wrapper"),
        ] {
            for attribute in ["class", "id"] {
                // around the whole article, and around each paragraph
                let all = format!(
                    "<div {attribute}='{label}'>{}</div>",
                    article(str::to_owned)
                );
                assert_survives(&page(&all), &format!("{attribute}={label} around all"));
                let each = article(|part| format!("<div {attribute}='{label}'>{part}</div>"));
                assert_survives(
                    &page(&format!("<div>{each}</div>")),
                    &format!("{attribute}={label} around each"),
                );
            }
        }
    }
}

#[test]
fn articles_of_elementor_survive() {
    let widget = |part: &str| {
        format!(
            "<div class='elementor-element elementor-widget elementor-widget-text-editor' data-widget_type='text-editor.default'>
            <div class='elementor-widget-container'>{part}</div></div>"
        )
    };
    let section = |part: &str| {
        format!(
            "<section class='elementor-section elementor-top-section'><div class='elementor-container elementor-column-gap-default'>
            <div class='elementor-column elementor-col-100'><div class='elementor-widget-wrap elementor-element-populated'>{}</div></div></div></section>",
            widget(part)
        )
    };
    for (what, inner) in [
        ("a widget for all", widget(&article(str::to_owned))),
        ("a widget for each", article(widget)),
        ("a section for each", article(section)),
    ] {
        let elementor = format!(
            "<div data-elementor-type='wp-post' class='elementor elementor-12'>{inner}</div>"
        );
        assert_survives(&page(&elementor), what);
        // with links in widgets of their own
        let links =
            widget("<ul><li><a href=/a>A page</a></li><li><a href=/b>Another one</a></li></ul>");
        assert_survives(&page(&format!("{links}{elementor}{links}")), what);
    }
}

#[test]
fn a_pager_within_the_text_does_not_end_it() {
    let pager = "<div class=pagination><a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/4>4</a></div>";
    let text = article(|part| format!("{part}{pager}"));
    assert_survives(&page(&format!("<div class=content>{text}</div>")), "pager");
}

#[test]
fn comments_are_not_the_article_even_if_there_are_more_of_them() {
    let comment = "<div class=comment><p>I have never read such nonsense in my life, and I have read a lot, said someone, at length.</p></div>";
    let comments = format!(
        "<div id=comments class=comments-area>{}</div>",
        comment.repeat(200)
    );
    let html = page(&format!(
        "<div class=post>{}</div>{comments}",
        article(str::to_owned)
    ));
    assert_survives(&html, "comments");
    assert!(!read_page(&html).main.contains("nonsense"));
}

#[test]
fn tables_and_lists_are_text() {
    let row = |n: usize| {
        format!(
            "<tr><th>Country {n}</th><td>{n} of 100 young people</td><td>since {}</td></tr>",
            1990 + n
        )
    };
    let table = format!("<table>{}</table>", (0..8).map(row).collect::<String>());
    let list = |n: usize| format!("<li>Ground {n} is short.</li>");
    let list: String = (0..8).map(list).collect();
    let terms: String = (0..8)
        .map(|n| format!("<dt>Term {n}</dt><dd>Meaning {n} of it.</dd>"))
        .collect();
    for (what, inner, some) in [
        ("table", table, "7 of 100 young people"),
        ("list", format!("<ul>{list}</ul>"), "Ground 7 is short."),
        (
            "ordered list",
            format!("<ol>{list}</ol>"),
            "Ground 7 is short.",
        ),
        (
            "list of terms",
            format!("<dl>{terms}</dl>"),
            "Meaning 7 of it.",
        ),
    ] {
        for labelled in [inner.clone(), format!("<div class=wrap>{inner}</div>")] {
            let html = page(&format!(
                "<div class=content>{}{labelled}{}</div>",
                article(str::to_owned),
                "<p>The end.</p>"
            ));
            assert_survives(&html, what);
            let main = read_page(&html).main;
            assert!(main.contains(some), "{what}: {main:?}");
        }
    }
    // a page that is a list
    let entries = (0..12).map(|number| format!("<li>{}</li>", paragraph(number)));
    let image = format!("<img src='{URL}'>");
    let list = entries.collect::<String>();
    let words = read_page(&page(&format!("<div>{image}<ol>{list}</ol></div>")));
    assert!(
        words.main.contains(&paragraph(0)) && words.main.contains(&paragraph(11)),
        "{:?}",
        words.main
    );
}
