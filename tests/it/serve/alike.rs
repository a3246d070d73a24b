//! One question has one answer: in the terminal, as JSON, on the debate sheet, on the server's page and its routes, and in Python.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Response, Server, serve, start, without_addresses};
use crate::support::files::{text, write};
use crate::support::models::MINILM;
use crate::support::need::{Model, Python, need};
use crate::support::program::{code, riposte, stderr, stdout, succeed};
use crate::support::{root, sample};

/// The sample answers the first two, and has much about the second that takes no side. Nothing in it is about the third.
const ZOOS: &str = "Should zoos be closed?";
const SUMMER_TIME: &str = "Should summer time be abolished?";
const ABSENT: &str = "Should Germany leave the European Union?";
const GERMAN: &str = "Sollten Zoos geschlossen werden?";

const NOTHING: &str = "This collection seems to have nothing about it";
const DIVIDER: &str = "less likely to be about it";

/// Prints the answer as a data frame has it and as a notebook shows it, or the error.
const ASK: &str = "import json, sys, riposte
try:
    answer = riposte.Collection(sys.argv[1]).ask(sys.argv[2], number=10)
    print(json.dumps({'data': answer.data, 'nothing': answer.nothing_about_it, 'shown': answer._repr_html_()}))
except riposte.RiposteError as error:
    print(json.dumps({'error': error.message}))
";

/// A server for the sample, and where the other doors are.
struct Doors {
    home: TempDir,
    server: Server,
    python: std::path::PathBuf,
    models: std::path::PathBuf,
}

/// What one door shows of the lists of an answer.
struct Shown {
    door: &'static str,
    html: String,
    /// What stands before the part for the claim, the part against it, and that without a side.
    begins: [&'static str; 3],
}

impl Doors {
    fn open() -> Option<Doors> {
        let model = need(Model(MINILM))?;
        let python = need(Python)?;
        let models = model.dir.parent().unwrap().to_owned();
        let home = TempDir::new().unwrap();
        let mut command = serve(home.path(), &[sample()], &[]);
        let server = Server::start(command.env("RIPOSTE_MODELS", &models));
        Some(Doors {
            home,
            server,
            python,
            models,
        })
    }

    fn ask(&self, question: &str, options: &[&str]) -> Command {
        let words = ["ask", "-q", question, "-n", "10", "-i", text(sample())];
        let mut command = riposte(self.home.path(), &[&words, options].concat());
        command.env("RIPOSTE_MODELS", &self.models);
        command
    }

    fn python(&self, question: &str) -> Value {
        let like = self.ask(question, &[]);
        let mut command = Command::new(&self.python);
        command.args(["-c", ASK, text(sample()), question]);
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("PYTHONPATH", root().join("python/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("RIPOSTE_BINARY", env!("CARGO_BIN_EXE_riposte"));
        serde_json::from_str(&stdout(&succeed(&mut command))).unwrap()
    }

    fn get(&self, route: &str, question: &str, more: &str) -> Response {
        let question = question.replace(' ', "+").replace('?', "%3F");
        self.server.get(&format!("{route}?q={question}{more}"))
    }
}

/// The ids that stand in a text, in their order there.
fn in_order<'a>(text: &str, ids: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = ids
        .iter()
        .filter_map(|id| Some((text.find(id)?, *id)))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).collect()
}

/// The lists of an answer: for the claim, against it, and without a side.
fn lists(answer: &Value) -> [&Value; 3] {
    [
        &answer["sides"][0],
        &answer["sides"][1],
        &answer["undecided"],
    ]
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn ids<'a>(of: impl IntoIterator<Item = &'a Value>) -> Vec<&'a str> {
    of.into_iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect()
}

impl Shown {
    /// The parts, in the order of `begins`; empty if there is none.
    fn parts(&self) -> [&str; 3] {
        let places = self.begins.map(|begin| self.html.find(begin));
        let ends = places.iter().flatten().copied().chain([self.html.len()]);
        let ends: Vec<usize> = ends.collect();
        places.map(|place| {
            let Some(place) = place else {
                return "";
            };
            let end = ends.iter().find(|end| **end > place).unwrap();
            &self.html[place..*end]
        })
    }

    /// Checks that the lists have what the answer has, in its order, with the line at the same places.
    fn assert_is(&self, answer: &Value) {
        let door = self.door;
        for (part, list) in self.parts().into_iter().zip(lists(answer)) {
            let (arguments, images) = (array(&list["arguments"]), array(&list["images"]));
            let argument_ids = ids(arguments);
            assert_eq!(in_order(part, &argument_ids), argument_ids, "{door}");
            let image_ids = ids(images);
            let mut shown = in_order(part, &image_ids);
            assert_eq!(shown.len(), image_ids.len(), "{door}: {image_ids:?}");
            // an image that illustrates an argument can be shown with it, out of the order of the list
            let illustrates = |id: &&str| {
                let mut images = images.iter();
                images.any(|image| image["id"] == **id && image["argument"].is_string())
            };
            let mut others = image_ids;
            shown.retain(|id| !illustrates(id));
            others.retain(|id| !illustrates(id));
            assert_eq!(shown, others, "{door}");

            let first = |of: &'_ [Value]| -> Option<String> {
                let padding = of.iter().find(|one| one["padding"] == true)?;
                Some(padding["id"].as_str()?.to_owned())
            };
            let below: Vec<String> = [first(arguments), first(images)]
                .into_iter()
                .flatten()
                .collect();
            let all = [argument_ids, ids(images)].concat();
            let divided = part.split(DIVIDER).skip(1);
            let divided: Vec<&str> = divided.map(|after| in_order(after, &all)[0]).collect();
            assert_eq!(divided, below, "{door}");
        }
    }
}

/// Checks that nothing stands there twice, that each image is like the argument that it illustrates, and that no undecided one illustrates any.
fn assert_honest(answer: &Value) {
    let all = lists(answer);
    let arguments = || all.iter().flat_map(|list| array(&list["arguments"]));
    let images = || all.iter().flat_map(|list| array(&list["images"]));
    let mut seen: Vec<&str> = ids(arguments().chain(images()));
    seen.extend(arguments().map(|argument| argument["text"].as_str().unwrap()));
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "{answer}");
    for list in all {
        let of_side = ids(array(&list["arguments"]));
        for image in array(&list["images"]) {
            let Some(argument) = image["argument"].as_str() else {
                continue;
            };
            assert!(list["side"].is_string(), "{image}");
            assert!(of_side.contains(&argument), "{image}");
            assert!(image["likeness"].as_f64().unwrap() >= 0.7, "{image}");
            assert_eq!(image["padding"], false, "{image}");
        }
    }
}

fn utf8(response: Response) -> (u16, String) {
    (response.0, String::from_utf8(response.1).unwrap())
}

/// The texts in one line, without tags.
fn words(html: &str) -> String {
    let pieces = html.split('<').map(|piece| match piece.split_once('>') {
        Some((_, after)) => after,
        None => piece,
    });
    let text = pieces.collect::<String>();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn answers(doors: &Doors, question: &str) -> Value {
    let out = doors.home.path().join("out");
    let output = succeed(&mut doors.ask(question, &["--json", "-o", text(&out)]));
    let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let of_python = doors.python(question);
    assert_eq!(of_python["data"], answer);
    assert_eq!(of_python["nothing"], answer["nothing_about_it"]);

    let (_, of_server) = utf8(doors.get("/api/debate", question, "&number=10"));
    let mut of_server: Value = serde_json::from_str(&of_server).unwrap();
    let mut expected = answer.clone();
    for answer in [&mut of_server, &mut expected] {
        without_addresses(answer);
    }
    assert_eq!(of_server, expected);

    let sheet = fs::read_to_string(out.join("report/debate-asked.html")).unwrap();
    let (_, page) = utf8(doors.get("/", question, "&stage=read&hits=10"));
    let (_, report) = utf8(doors.get("/report", question, "&number=10"));
    let terminal = stdout(&succeed(&mut doors.ask(question, &[])));
    let sections = [
        "class=\"side pro\"",
        "class=\"side con\"",
        "class=\"side undecided\"",
    ];
    let (_, saved) = report.split_once("data-view=\"debate\"").unwrap();
    let saved = saved.split("</article>").next().unwrap();
    for (door, html, begins) in [
        (
            "terminal",
            &*terminal,
            ["\nFOR", "\nAGAINST", "\nUNDECIDED"],
        ),
        ("sheet", &*sheet, sections),
        ("saved report", saved, sections),
        ("page", &*page, sections),
    ] {
        let shown = Shown {
            door,
            html: html.to_owned(),
            begins,
        };
        shown.assert_is(&answer);
        // the same sentence with the same numbers
        let said = words(html);
        let is_nothing = answer["nothing_about_it"] == true;
        assert_eq!(said.contains(NOTHING), is_nothing, "{door}: {said}");
        if is_nothing {
            let about = answer["presence"]["about"].as_f64().unwrap();
            let least = answer["presence"]["least"].as_f64().unwrap();
            let numbers = format!("about it with a probability of {about:.2}, below {least}");
            assert!(said.contains(&numbers), "{door}: {said}");
        }
    }
    let notebook = of_python["shown"].as_str().unwrap();
    let is_nothing = answer["nothing_about_it"] == true;
    assert_eq!(notebook.contains(NOTHING), is_nothing, "{notebook}");
    let padded = lists(&answer).into_iter();
    let padded = padded.flat_map(|list| [&list["arguments"], &list["images"]]);
    let padded = padded.filter(|list| array(list).iter().any(|one| one["padding"] == true));
    assert_eq!(notebook.matches(DIVIDER).count(), padded.count());
    assert_honest(&answer);
    answer
}

#[test]
fn a_question_has_the_same_answer_wherever_it_is_asked() {
    let Some(doors) = Doors::open() else {
        return;
    };
    let zoos = answers(&doors, ZOOS);
    assert_eq!(zoos["nothing_about_it"], false);
    let images = lists(&zoos).map(|list| array(&list["images"]).len());
    assert_eq!(images.iter().sum::<usize>(), 20);
    assert!(array(&zoos["sides"][0]["arguments"]).len() > 2, "{zoos}");
    let summer = answers(&doors, SUMMER_TIME);
    assert!(!array(&summer["undecided"]["arguments"]).is_empty());
    assert!(!array(&summer["undecided"]["images"]).is_empty());
    let absent = answers(&doors, ABSENT);
    assert_eq!(absent["nothing_about_it"], true);

    // what would stand on the wrong side is refused with the same words
    let refused = doors.ask(GERMAN, &[]).output().unwrap();
    assert_eq!((code(&refused), &*stdout(&refused)), (2, ""));
    let why = stderr(&refused);
    let why = why.trim().strip_prefix("riposte: ").unwrap();
    assert!(why.contains("looks German") && why.ends_with("Ask in English"));
    assert_eq!(doors.python(GERMAN), json!({"error": why}));
    for (route, more) in [("/api/debate", ""), ("/report", ""), ("/", "&stage=read")] {
        let (status, body) = utf8(doors.get(route, GERMAN, more));
        assert_eq!(status, 422, "{route}");
        // a page begins a sentence with it
        let (_, words) = why.split_once(' ').unwrap();
        assert!(body.contains(words), "{route}: {body}");
    }
}

/// Many arguments of debate portals have no conclusion.
#[test]
fn arguments_without_a_conclusion_answer() {
    let home = TempDir::new().unwrap();
    let argument = |id: &str, conclusion: Option<&str>| {
        let premise = "Zoos should be closed because wild animals belong in freedom and never in a cage, wherever they were born and whoever feeds them there";
        json!({"id": id, "conclusion": conclusion, "premises": [{"text": format!("{premise} in the year of {id}."), "stance": "PRO"}]})
    };
    let arguments = json!([argument("a1", Some("")), argument("a2", None)]);
    let input = home.path().join("arguments");
    write(
        &input.join("args-me.json"),
        json!({"arguments": arguments}).to_string(),
    );
    let server = Server::start(&mut serve(home.path(), &[Path::new(&input)], &[]));
    for route in [
        "/api/debate?q=Should+zoos+be+closed%3F",
        "/api/debate?q=Should+zoos+be+closed%3F&claim=",
        "/api/search?q=Should+zoos+be+closed%3F",
        "/report?q=Should+zoos+be+closed%3F",
        "/?q=Should+zoos+be+closed%3F&stage=read",
        "/api/documents/arguments/a1",
        "/api/explain?q=Should+zoos+be+closed%3F&id=a2",
    ] {
        let (status, body) = utf8(server.get(route));
        assert_eq!(status, 200, "{route}: {body}");
    }
}

/// A folder of notes is served like a collection: the question decides as what its texts are read, and a new note is noticed.
#[test]
fn a_folder_of_texts_is_served() {
    let home = TempDir::new().unwrap();
    let notes = home.path().join("notes");
    let zoos = "Zoos should be closed. Wild animals belong in freedom and never in a cage, wherever they were born and whoever feeds them there, day after day.";
    let pets = "Cats are much better pets than dogs, because cats are quiet and clean, and a cat needs no walks in the rain, which nobody likes at all.";
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("zoos.md"), zoos).unwrap();
    fs::write(notes.join("pets.txt"), pets).unwrap();
    let server = start(home.path(), &notes);
    let collections = server.json("/api/collections");
    assert_eq!(collections[0]["name"], "notes");
    assert_eq!(
        collections[0]["kinds"],
        json!(["arguments", "passages", "documents"])
    );
    let claim = server.json("/api/debate?q=Should%20zoos%20be%20closed%3F");
    assert_eq!(claim["sides"].as_array().unwrap().len(), 2, "{claim}");
    assert!(claim.to_string().contains("zoos.md"), "{claim}");
    let compared = "/api/debate?q=Which%20is%20better%2C%20a%20cat%20or%20a%20dog%3F";
    let compared = server.json(compared);
    assert_eq!(compared["objects"], json!(["cat", "dog"]), "{compared}");
    assert_eq!(compared["texts"][0]["id"], "pets.txt", "{compared}");
    let found = server.json("/api/search?q=What%20do%20cats%20need%3F");
    assert_eq!(found["kind"], "documents", "{found}");
    let why = server.json("/api/explain?q=What%20do%20cats%20need%3F&id=pets.txt");
    assert_eq!(why["score"], found["results"][0]["score"]);

    fs::write(notes.join("ducks.txt"), "The ducks of the park need bread.").unwrap();
    server.wait_for("notes has changed");
    let found = server.json("/api/search?q=What%20do%20ducks%20need%3F");
    assert_eq!(found["results"][0]["id"], "ducks.txt", "{found}");
}
