//! The page in a real browser.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use need::{Chromium, need};
use scraper::{Html, Selector};

use crate::client::{connect, read_all};
use crate::stub::Running;

/// Runs the browser once, and returns what it prints.
fn run(chromium: &Path, args: &[&str], address: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut browser = Command::new(chromium);
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-component-update",
    ]);
    // time passes in the page until nothing is left to load
    browser.args([
        "--virtual-time-budget=20000",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    browser.args(args).arg(address).stderr(Stdio::null());
    let output = browser.output().unwrap();
    assert!(output.status.success(), "{browser:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The document as it is when the scripts have run.
fn dom(chromium: &Path, address: &str) -> Html {
    Html::parse_document(&run(chromium, &["--dump-dom"], address))
}

/// Stands between the browser and the server, and adds a script to that of the page. Returns the address, at which the script acts as a reader does: the
/// policy of the page forbids scripts from elsewhere.
fn driven(server: &Running, script: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (here, there) = (listener.local_addr().unwrap(), server.address);
    let pass = move |mut stream: TcpStream| {
        let mut request = String::new();
        let mut line = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        while lines.read_line(&mut line).unwrap_or(0) > 2 {
            // a connection for each request
            if !line.to_ascii_lowercase().starts_with("connection:") {
                request += &line;
            }
            line.clear();
        }
        let mut onward = connect(there);
        let _ = write!(onward, "{request}connection: close\r\n\r\n");
        let mut answer = read_all(&mut onward);
        if request.starts_with("GET /asset/page-") && request.contains(".js HTTP") {
            let said = String::from_utf8(answer).unwrap();
            let (head, body) = said.split_once("\r\n\r\n").unwrap();
            let head = head
                .lines()
                .filter(|line| !line.starts_with("content-length"));
            let head: Vec<&str> = head.collect();
            answer = format!("{}\r\n\r\n{body}{script}", head.join("\r\n")).into_bytes();
        }
        let _ = stream.write_all(&answer);
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || pass(stream));
        }
    });
    format!("http://{here}")
}

fn attribute(page: &Html, name: &str) -> String {
    let value = page.root_element().attr(name);
    value.unwrap_or_default().to_owned()
}

fn count(page: &Html, selector: &str) -> usize {
    page.select(&Selector::parse(selector).unwrap()).count()
}

fn text(page: &Html, selector: &str) -> String {
    let selector = Selector::parse(selector).unwrap();
    page.select(&selector)
        .flat_map(|element| element.text())
        .collect()
}

#[test]
fn results_by_words_are_replaced_by_what_models_have_read() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    let address = |query: &str| format!("http://{}/?{query}", server.address);
    let page = dom(&chromium, &address("q=Close+zoos%3F&stage=words"));
    assert_eq!(count(&page, "html.js main .sides > .side"), 3);
    assert_eq!(count(&page, ".reading, [aria-busy]"), 0);
    assert!(text(&page, "body > [role=status]").contains("Models have read"));
    // what goes wrong is said, with a button, and the results by words stay
    let failed = dom(&chromium, &address("q=damaged&stage=words&tab=arguments"));
    assert_eq!(count(&failed, "main .refused"), 1, "the words fail, too");
    let none = Running::start(|settings| settings.deadline = std::time::Duration::from_millis(200));
    let late = format!("http://{}/?q=wait&stage=words&tab=images", none.address);
    let late = dom(&chromium, &late);
    assert!(text(&late, ".reading.failed").contains("There was no answer in time."));
    assert_eq!(text(&late, ".reading.failed button"), "Try again");
}

#[test]
fn an_attack_runs_nothing_and_asks_nobody() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    server
        .stub
        .version
        .store(66, std::sync::atomic::Ordering::SeqCst);
    for path in [
        "?q=attack&stage=words",
        "?q=attack&tab=images",
        "why?q=attack&id=1",
        "document/debates/attack",
    ] {
        let page = dom(&chromium, &format!("http://{}/{path}", server.address));
        assert_eq!(count(&page, "html.js"), 1, "{path}");
        assert_eq!(count(&page, "script"), 1, "{path}");
        assert_eq!(
            count(&page, "[onerror], [onmouseover], [src*=evil]"),
            0,
            "{path}"
        );
    }
}

#[test]
fn the_debate_sheet_is_one_printed_page() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    let dir = tempfile::tempdir().unwrap();
    let pdf = dir.path().join("sheet.pdf");
    let print = format!("--print-to-pdf={}", pdf.display());
    for query in ["q=Close+zoos%3F", "q=attack&hits=100"] {
        run(
            &chromium,
            &[&print, "--no-pdf-header-footer"],
            &format!("http://{}/?{query}", server.address),
        );
        let bytes = std::fs::read(&pdf).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let pages = text.split("/Type /Page").skip(1);
        let pages = pages.filter(|rest| !rest.starts_with('s')).count();
        assert_eq!(pages, 1, "{query}");
    }
}

/// Clicks on "More results", and says in attributes of the page what is there while the answer is waited for, and where the focus is afterwards.
const MORE: &str = r##"
addEventListener("error", (event) => { document.documentElement.dataset.error = event.message; });
addEventListener("load", () => {
  const said = document.documentElement.dataset;
  const link = document.querySelector("a.more");
  if (!link) return;
  if (location.hash === "#fail") link.href = "/?q=damaged&tab=arguments";
  document.querySelector(".ranking li").dataset.mark = "";
  document.querySelector(".nearest")?.setAttribute("open", "");
  link.focus();
  link.click();
  link.click();
  const elsewhere = location.hash === "#elsewhere" && document.querySelectorAll("main a.open")[1];
  if (elsewhere) elsewhere.focus();
  said.during = document.querySelectorAll("main[aria-busy] a.open").length;
  const wait = setInterval(() => {
    if (document.querySelector("main[aria-busy]")) return;
    clearInterval(wait);
    said.focus = document.activeElement.getAttribute("href") ?? document.activeElement.textContent;
    said.address = location.search + location.hash;
  }, 20);
});
"##;

#[test]
fn more_results_come_below_those_that_are_there_and_get_the_focus() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    let address = driven(&server, MORE);
    let ask = |question: &str, rest: &str| {
        let query = format!("q={question}&collection=debates&tab=arguments&hits=2{rest}");
        let page = dom(&chromium, &format!("{address}/?{query}"));
        assert_eq!(attribute(&page, "data-error"), "");
        assert_eq!(attribute(&page, "data-during"), "2", "what is shown stays");
        page
    };
    let page = ask("Close+zoos%3F", "");
    assert_eq!(count(&page, "main li a.open"), 3);
    // they are the same elements, with what was opened in them
    assert_eq!(count(&page, "main li:first-child[data-mark] a.open"), 1);
    let third = "/document/debates/d3?q=Close+zoos%3F";
    assert_eq!(attribute(&page, "data-focus"), third);
    assert_eq!(text(&page, "body > [role=status]"), "1 more results.");
    let reproduces = "?q=Close+zoos%3F&collection=debates&tab=arguments&hits=4#result-3";
    assert_eq!(attribute(&page, "data-address"), reproduces);
    // whoever has gone on to another result stays there
    let elsewhere = ask("Close+zoos%3F", "#elsewhere");
    assert_eq!(count(&elsewhere, "main li a.open"), 3);
    let second = "/document/debates/d2?q=Close+zoos%3F";
    assert_eq!(attribute(&elsewhere, "data-focus"), second);
    // what was folded away stays open
    let nearest = ask("nothing", "");
    let third = "/document/debates/d3?q=nothing";
    assert_eq!(attribute(&nearest, "data-focus"), third);
    // what goes wrong is said, and the results stay
    let failed = ask("Close+zoos%3F", "#fail");
    assert_eq!(count(&failed, "main li a.open"), 2);
    assert!(text(&failed, ".ranking .failed").contains("The collection is damaged."));
    assert_eq!(attribute(&failed, "data-focus"), "Try again");
}

/// Without the script of the page, the link leads to the first new result.
#[test]
fn the_address_of_more_results_puts_the_focus_on_the_first_new_one() {
    let Some(chromium) = need(Chromium) else {
        return;
    };
    let server = Running::start(|_| {});
    let says = r#"addEventListener("load", () => setTimeout(() => { document.documentElement.dataset.focus = document.activeElement.id; }, 500));"#;
    let address = driven(&server, says);
    let query = "q=Close+zoos%3F&tab=arguments&hits=4#result-3";
    let page = dom(&chromium, &format!("{address}/?{query}"));
    assert_eq!(attribute(&page, "data-focus"), "result-3");
}
