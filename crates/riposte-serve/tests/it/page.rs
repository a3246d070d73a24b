//! What a browser gets, with scripts off.

use std::sync::atomic::Ordering::SeqCst;

use crate::attack;
use crate::client::Response;
use crate::html::Page;
use crate::stub::Running;

fn start() -> Running {
    Running::start(|_| {})
}

impl Running {
    /// Asks as a browser does.
    pub fn browse(&self, path: &str) -> Response {
        let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        self.send(&format!("GET {path}"), &[("accept", accept)], "")
    }

    fn page(&self, path: &str) -> Page {
        let response = self.browse(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        Page::of(&response)
    }
}

#[test]
fn the_first_page_has_a_box_the_collections_and_their_questions() {
    let server = start();
    let first = server.page("/");
    assert_eq!(first.attribute("form", "action"), "/");
    assert_eq!(first.attributes("form [name]", "name"), ["q", "collection"]);
    assert_eq!(first.text("h2"), "debates");
    assert_eq!(first.text(".facts"), "1,234 documents: arguments, images");
    // each question is a link to its answer, which waits for the models
    let example = first.attribute(".examples a", "href");
    assert_eq!(example, "/?q=Should+zoos+be+closed%3F&collection=debates");
    let answer = server.page(&example);
    assert_eq!(answer.text("h1"), "Should zoos be closed?");
    assert_eq!(answer.all(".side").len(), 3);
    let head = server.send("HEAD /", &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn both_sides_stand_beside_each_other_with_the_strongest_first() {
    let server = start();
    let page = server.page("/?q=Close+zoos%3F");
    assert_eq!(
        page.texts("h2"),
        [
            "For yes, the claim of Pro",
            "Against no, the claim of Con",
            "Undecided what takes no clear side",
            "Keep this answer"
        ]
    );
    for (class, side) in [("pro", "Pro"), ("con", "Con")] {
        let side = |number: usize| format!("{side} argument {number}");
        let words = page.texts(&format!(".sides > .side.{class} .words"));
        assert_eq!(words, [side(1), side(2), side(3), side(4), side(5)]);
    }
    // the bar of what is against it is on the right
    assert_eq!(
        page.attributes(".con .argument .lean .con", "x")[0],
        "60.0%"
    );
    assert_eq!(
        page.attributes(".con .argument .lean .pro", "width")[0],
        "0.0%"
    );
    assert_eq!(
        page.attributes(".pro .argument .lean", "aria-label")[0],
        "P(pro) − P(con) +0.800"
    );
    assert_eq!(page.texts(".pro .repeats summary")[0], "2 nearly the same");
    assert_eq!(
        page.attributes(".pro .repeats a", "href")[0],
        "/document/debates/d8?q=Close+zoos%3F"
    );
    assert_eq!(page.attributes(".pro img", "alt"), ["Born to be wild"]);
    assert_eq!(page.text(".undecided .empty"), "and 2 more");
    // the second argument alone is no end of the list
    assert!(page.all(".padding").is_empty());
    let two = server.page("/?q=Close+zoos%3F&hits=2");
    assert_eq!(two.texts(".padding"), ["less likely to be about it"; 2]);
    let order = two.attributes(".pro .arguments > li", "class");
    assert_eq!(order, ["argument", "padding", "argument"]);
}

#[test]
fn what_the_question_was_understood_as_can_be_corrected_by_a_form() {
    let server = start();
    let page = server.page("/?q=Close+zoos%3F&tab=arguments");
    assert_eq!(page.texts(".understood dt"), ["yes:", "no:"]);
    assert_eq!(
        page.texts(".understood dd"),
        ["zoos should be closed", "zoos should not be closed"]
    );
    assert_eq!(
        page.text(".understood .facts"),
        "negative: the question is against its subject"
    );
    assert_eq!(page.attribute("#claim", "value"), "zoos should be closed");
    assert_eq!(
        page.attributes(".correct [name]", "name"),
        ["q", "collection", "tab", "claim"]
    );
    let corrected =
        server.page("/?q=Close+zoos%3F&collection=debates&tab=arguments&claim=cages+are+bad");
    assert!(corrected.texts(".words")[0].contains(r#"claim: Some("cages are bad")"#));
    // and stays so on the way to other tabs and explanations
    let onward = [
        corrected.attributes(".tabs a", "href"),
        corrected.attributes("a.why", "href"),
    ];
    assert!(
        onward
            .iter()
            .flatten()
            .all(|link| link.contains("claim=cages+are+bad"))
    );
    // a debate whose desk does not say it has it in its sides
    assert_eq!(
        server.page("/?q=zoos").texts(".understood dd"),
        ["the claim of Pro", "the claim of Con"]
    );
}

#[test]
fn a_tab_lists_one_kind_and_its_filters_reach_the_desk() {
    let server = start();
    let page = server
        .page("/?q=Close+zoos%3F&tab=arguments&side=con&portal=debate.org&minimum=0.25&hits=3");
    assert_eq!(
        page.texts(".tabs a"),
        ["For and against", "Arguments", "Images"]
    );
    assert_eq!(page.text(".tabs [aria-current=page]"), "Arguments");
    let read = &page.texts(".words")[0];
    for field in [
        "kind: Some(Arguments)",
        "side: Some(Con)",
        r#"portal: Some("debate.org")"#,
        "minimum: Some(0.25)",
        "hits: 3",
    ] {
        assert!(read.contains(field), "{field}: {read}");
    }
    assert_eq!(page.text(".filters option[selected]"), "against");
    assert_eq!(page.attribute(".filters [name=minimum]", "value"), "0.25");
    assert_eq!(
        page.attribute(".filters [name=portal]", "value"),
        "debate.org"
    );
    assert_eq!(page.attributes("datalist option", "value"), ["debate.org"]);
    assert_eq!(
        page.attributes(".texts > li", "class"),
        ["text con", "text con", "padding", "text con"]
    );
    let kept = page.attributes(".keep a", "href");
    let filtered = |link: &String| link.ends_with("&side=con&portal=debate.org&minimum=0.25");
    assert!(kept.len() == 3 && kept.iter().all(filtered), "{kept:?}");
    assert_eq!(server.get(&kept[1]).status, 200);
    assert_eq!(server.get(&kept[2]).status, 200);
    let images = server.page("/?q=Close+zoos%3F&tab=images");
    assert_eq!(images.texts(".card .rank"), ["CON 1", "CON 2", "CON 3"]);
    assert!(images.all("[name=portal]").is_empty());
    assert_eq!(server.browse("/?tab=videos").status, 400);
}

#[test]
fn more_results_are_a_link_to_the_first_new_one() {
    let server = start();
    let more = |path: &str| server.page(path).attributes("a.more", "href");
    let link = &more("/?q=Close+zoos%3F&tab=arguments&hits=2&claim=cages+are+bad")[0];
    assert!(link.contains("hits=4") && link.contains("claim=cages+are+bad"));
    let (path, anchor) = link.split_once('#').unwrap();
    let page = server.page(path);
    assert_eq!(page.texts(".rank"), ["1", "2", "3"]);
    // the browser goes there also without a script, and on with the keyboard from there
    let first_new = format!("a.open#{anchor}[href^='/document/debates/d3?']");
    assert_eq!(page.all(&first_new).len(), 1);
    // there are no more than these
    assert!(more(path).is_empty());
    // a filter leaves some out, so there can be more although these are few
    let filtered = &more("/?q=Close+zoos%3F&tab=arguments&side=con")[0];
    assert!(filtered.contains("hits=40") && filtered.contains("side=con"));
    assert!(more("/?q=large&tab=arguments&hits=500").is_empty());
    // the first new image is in the first list
    let images = &more("/?q=Close+zoos%3F&tab=images&hits=3")[0];
    assert!(images.ends_with("#result-4"), "{images}");
}

#[test]
fn a_result_leads_to_its_document_and_to_its_explanation_and_back() {
    let server = start();
    let page = server.page("/?q=Close+zoos%3F");
    let why = &page.attributes(".pro a.why", "href")[0];
    assert_eq!(why, "/why?q=Close+zoos%3F&collection=debates&id=d1");
    let explained = server.page(why);
    assert_eq!(explained.text(".explanation .reason"), "It has the words.");
    assert_eq!(
        explained.texts(".tree > li > details > ul > li b"),
        ["bm25"]
    );
    assert_eq!(explained.texts(".tree i"), ["0.3000", "0.2000"]);
    let back = explained.attribute(".crumbs a", "href");
    assert_eq!(server.page(&back).text("h1"), "Close zoos?");
    let document = server.page("/document/debates/a%2Fb%20%C3%A4?q=Close+zoos%3F");
    assert_eq!(
        (document.text("h1"), document.text(".whole")),
        ("A title".to_owned(), "A text.".to_owned())
    );
    let back = document.attribute(".crumbs a", "href");
    assert_eq!(server.page(&back).text("h1"), "Close zoos?");
    assert!(server.page("/document/debates/1").all(".crumbs").is_empty());
}

#[test]
fn nothing_about_it_is_said_above_all_and_results_are_no_answers() {
    let server = start();
    for (path, by) in [
        ("/?q=nothing", "below 0.51, judged by words only."),
        ("/?q=nothing&tab=arguments", "below 0.94."),
    ] {
        let page = server.page(path);
        let said = page.text(".nothing");
        assert!(
            said.starts_with("This collection seems to have nothing about it: "),
            "{said}"
        );
        assert!(said.contains(by), "{said}");
        assert!(!page.all("details.nearest:not([open]) .words").is_empty());
        assert!(page.all("main > :not(.nearest) .words").is_empty());
    }
}

#[test]
fn an_answer_can_be_kept_in_other_forms() {
    let server = start();
    let page = server.page("/?q=Close+zoos%3F&claim=cages+are+bad");
    let links = page.attributes(".keep a", "href");
    let [this, json, arguments, images, report] = links.as_slice() else {
        panic!("{links:?}");
    };
    assert_eq!(page.texts(".keep a[download='report.html']"), ["Report"]);
    let kept = server.get(report).text();
    for field in [
        r#"Some("cages are bad")"#,
        "number: 5",
        r#"Some("debates")"#,
    ] {
        assert!(kept.contains(field), "{field}: {kept}");
    }
    assert_eq!(
        server.browse(this).text(),
        server.browse(&format!("{this}&stage=read")).text()
    );
    assert_eq!(
        server.get(json).json()["sides"][0]["arguments"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    assert!(json.contains("claim=cages+are+bad"));
    for (run, list) in [(arguments, "Q0"), (images, "CON")] {
        let line = format!("1 {list} d1 1 0.300000 riposte\n");
        assert!(server.get(run).text().starts_with(&line), "{run}");
    }
}

#[test]
fn results_by_words_are_there_while_models_are_busy_and_say_what_follows() {
    let server = start();
    let page = server.page("/?q=Close+zoos%3F&stage=words&claim=cages+are+bad");
    assert_eq!(page.texts(".words"), ["Zoos 1.", "Zoos 2.", "Zoos 3."]);
    assert_eq!(page.text("[role=status] a"), "Wait for what they read");
    let next = page.attribute("main", "data-next");
    assert_eq!(next, page.attribute("[role=status] a", "href"));
    assert_eq!(server.page(&next).all(".side").len(), 3);
    // nothing is found by the words of an image alone
    let images = server.page("/?q=Close+zoos%3F&stage=words&tab=images");
    assert!(images.all("li.text").is_empty());
    assert!(images.attribute("main", "data-next").contains("tab=images"));
}

#[test]
fn a_browser_reads_why_there_is_no_answer_and_a_program_gets_json() {
    let server = start();
    for (path, status, words) in [
        ("/?q=german", 422, "The question looks German."),
        (
            "/?q=damaged&collection=debates",
            503,
            "The collection is damaged.",
        ),
        ("/?q=fail", 500, "The server failed; its log says why."),
        ("/?q=panic", 500, "The server failed; its log says why."),
        (
            "/?q=zoos&collection=none",
            404,
            "There is no collection \"none\".",
        ),
        (
            "/document/debates/none",
            404,
            "There is no document \"none\".",
        ),
        ("/why?q=zoos", 400, "`id` is missing."),
        ("/run?q=zoos&hits=0", 400, "`hits` must be from 1 to 10000."),
        (
            "/none",
            404,
            "There is no such route; /api/openapi.json lists all.",
        ),
    ] {
        let response = server.browse(path);
        assert_eq!(response.status, status, "{path}");
        let page = Page::of(&response);
        assert_eq!(page.text(".refused"), words, "{path}");
        let again = page.attributes("a.button", "href");
        let expected = [500, 503].contains(&status).then(|| path.to_owned());
        assert_eq!(again, Vec::from_iter(expected));
        let program = server.get(path);
        assert_eq!(program.status, status);
        assert!(!program.error().is_empty());
    }
    let damaged = server.browse("/?q=damaged&collection=debates");
    assert_eq!(damaged.header("retry-after"), Some("2"));
    let page = Page::of(&damaged);
    assert!(page.text("main").contains("another try in 2 seconds"));
    // the question is still in the box
    assert_eq!(
        page.attributes("form [name]", "value"),
        ["damaged", "debates"]
    );
}

#[test]
fn a_collection_that_attacks_is_shown_as_text() {
    let server = start();
    server.stub.version.store(66, SeqCst);
    let shown = attack::text();
    let shown: String = shown.chars().take(60).collect();
    for path in [
        "/",
        "/?q=attack",
        "/?q=attack&tab=arguments",
        "/?q=attack&tab=images",
        "/?q=attack&stage=words",
        "/why?q=attack&id=attack",
        "/document/debates/attack?q=attack",
        "/?q=attack%22%3E%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E&claim=%22%3E%3Cscript%3E&portal=%22%3E%3Cscript%3E&tab=arguments",
        "/document/debates/attack?q=%3C%2Ftitle%3E%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E",
    ] {
        // the page is checked for what it must not have
        let page = server.page(path);
        assert!(page.text("body").contains(&shown), "{path}");
        assert!(
            page.attributes("a", "href")
                .iter()
                .all(|href| !href.contains("javascript:"))
        );
    }
    let page = server.page("/?q=attack");
    assert!(
        page.texts(".foot span")
            .iter()
            .any(|text| text == attack::SCRIPT)
    );
    for path in [
        "/?q=zoos&collection=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E",
        "/%3Cscript%3Ewindow.pwned=1%3C/script%3E",
        "/?%22%3E%3Cscript%3E=1&q=%22%3E%3Cscript%3E1&collection=%22%3E",
    ] {
        let refused = server.browse(path);
        assert!([400, 404].contains(&refused.status), "{path}");
        Page::of(&refused);
    }
}

#[test]
fn files_of_the_page_are_kept_under_names_that_change_with_them() {
    let server = start();
    let page = server.page("/");
    for (address, kind) in [
        (
            page.attribute("link[rel=stylesheet]", "href"),
            "text/css; charset=utf-8",
        ),
        (
            page.attribute("script", "src"),
            "text/javascript; charset=utf-8",
        ),
        (page.attribute("link[rel=icon]", "href"), "image/svg+xml"),
    ] {
        let file = server.get(&address);
        assert_eq!(file.header("content-type"), Some(kind));
        assert_eq!(
            file.header("cache-control"),
            Some("private, max-age=31536000, immutable")
        );
        let hash = address
            .rsplit_once('-')
            .unwrap()
            .1
            .split_once('.')
            .unwrap()
            .0;
        assert!(
            hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()),
            "{address}"
        );
        assert_eq!(
            server
                .get(&address.replace(hash, "0000000000000000"))
                .status,
            404
        );
        // nothing is loaded from elsewhere
        assert!(
            !file.text().contains("://") || kind == "image/svg+xml",
            "{address}"
        );
    }
    assert_eq!(server.get("/asset/page.css").status, 404);
}

#[test]
fn pictures_have_their_types() {
    let server = start();
    let picture = server.get("/picture/debates/1");
    assert_eq!(picture.header("content-type"), Some("image/webp"));
    assert_eq!(picture.body, b"RIFF....WEBP");
    assert_eq!(picture.header("cache-control"), Some("private, max-age=60"));
    let missing = server.get("/picture/debates/none");
    assert_eq!(
        (missing.status, missing.header("cache-control")),
        (404, Some("no-store"))
    );
    assert_eq!(server.get("/picture/none/1").status, 404);
}

/// The policy allows what the page has: its own script, style, pictures and requests, and forms that lead here. All else is forbidden.
#[test]
fn every_response_forbids_what_the_page_does_not_need() {
    let server = start();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                  form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                  require-trusted-types-for 'script'; trusted-types 'none'";
    for path in [
        "/",
        "/?q=zoos",
        "/why?q=zoos&id=1",
        "/run?q=zoos",
        "/document/debates/1",
        "/picture/debates/1",
        "/api/search?q=zoos",
        "/api/search",
        "/none",
        "/metrics",
        "/health",
        "/?q=panic",
    ] {
        for response in [server.get(path), server.browse(path)] {
            assert_eq!(
                response.header("content-security-policy"),
                Some(policy),
                "{path}"
            );
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(
                response.header("cross-origin-resource-policy"),
                Some("same-origin")
            );
        }
    }
    let refused = server.send("GET /", &[("host", "evil.example")], "");
    assert_eq!(refused.header("content-security-policy"), Some(policy));
}
