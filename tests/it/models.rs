//! Models are fetched from a server on the loopback interface, and files on disk are accepted or refused.

use std::fs;
use std::path::Path;

use riposte::disk::hex;
use riposte::weights::{
    FetchOutcome, FetchReport, ModelCatalogue, ModelStatus, Models, Trust, fetch, list,
};
use sha2::{Digest, Sha256};

use crate::support::assert_says;
use crate::support::files::write;
use crate::support::need::{Model, need};
use crate::support::program::WorkDir;
use crate::support::server::{Page, Server};

/// A port of this machine that no program listens on.
const UNREACHABLE: &str = "127.0.0.1:9";

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A catalogue with one model, `m`. Each of its files has a name, lines that pin it, and addresses.
fn models(dir: &Path, files: &[(&str, String, Vec<String>)]) -> Models {
    let mut toml = "[[model]]\nname = \"m\"\nrole = \"ocr\"\ndefault = true\ngives = \"text\"\n\
                    licence = \"free\"\npaper = \"none\"\nsize = \"1 kB\"\n"
        .to_owned();
    for (name, pinned, urls) in files {
        let sources: Vec<String> = urls
            .iter()
            .map(|u| format!("{{ url = \"{u}\" }}"))
            .collect();
        toml += &format!(
            "[[model.file]]\nfile = \"{name}\"\n{pinned}\nsource = [{}]\n",
            sources.join(", ")
        );
    }
    Models::with_catalogue(dir, ModelCatalogue::parse(&toml).unwrap())
}

fn pinned(body: &[u8]) -> String {
    format!("bytes = {}\nsha256 = \"{}\"", body.len(), sha256(body))
}

fn fetch_all(models: &Models) -> FetchReport {
    fetch(models, &[], &mut |_| ()).unwrap()
}

/// The reasons why the sources of the first file failed.
fn reasons(report: &FetchReport) -> Vec<String> {
    match &report.files[0].outcome {
        FetchOutcome::Failed { tried } => tried.iter().map(|of| of.why.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

fn trust(models: &Models) -> Trust {
    match models.find("m").unwrap() {
        ModelStatus::Ready(model) => model.trust,
        other => panic!("{other:?}"),
    }
}

fn why_wrong(models: &Models) -> String {
    match models.find("m").unwrap() {
        ModelStatus::Wrong { file, why } => format!("{file}: {why}"),
        other => panic!("{other:?}"),
    }
}

/// Writes the file until its times change: the clock of the file system can be so coarse that two quick writes have the same time, and riposte
/// notices a change without a change of length only by the times.
fn rewrite(path: &Path, bytes: &[u8]) {
    let times = || {
        let metadata = fs::metadata(path).unwrap();
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = ();
        (metadata.modified().unwrap(), changed)
    };
    let before = times();
    while times() == before {
        fs::write(path, bytes).unwrap();
    }
}

/// 20,000 bytes that do not repeat periodically, so that a wrong offset is noticed.
fn content() -> Vec<u8> {
    (0..20_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

#[test]
fn a_fetched_model_is_ready_and_is_not_fetched_again() {
    let (dir, server, body) = (tempfile::tempdir().unwrap(), Server::start(), content());
    let url = server.file("/a", &body);
    let models = models(dir.path(), &[("a", pinned(&body), vec![url.clone()])]);
    assert_eq!(
        models.find("m").unwrap(),
        ModelStatus::Missing {
            files: vec!["a".into()]
        }
    );

    let report = fetch_all(&models);
    assert_eq!(report.exit_code(), 0);
    let fetched = FetchOutcome::Fetched {
        bytes: 20_000,
        from: url,
    };
    assert_eq!(report.files[0].outcome, fetched);
    let ModelStatus::Ready(model) = models.find("m").unwrap() else {
        panic!("the model is not ready");
    };
    assert_eq!(fs::read(model.path("a")).unwrap(), body);
    assert_eq!(
        model.sha256,
        sha256(format!("a {}\n", sha256(&body)).as_bytes())
    );
    assert_eq!(model.trust, Trust::Pinned);
    assert_eq!(server.requests(), ["/a"]);

    assert_eq!(fetch_all(&models).files[0].outcome, FetchOutcome::Installed);
    assert_eq!(server.requests(), [""; 0]);
    assert!(fetch(&models, &["n".into()], &mut |_| ()).is_err());
    assert!(models.find("n").is_err());
}

#[test]
fn an_interrupted_transfer_continues_where_it_stopped() {
    let (dir, server, body) = (tempfile::tempdir().unwrap(), Server::start(), content());
    let page = |times| Page {
        status: 200,
        body: body.clone(),
        cut: Some((5_000, times)),
        ..Page::default()
    };
    let url = server.page("/a", page(2));
    let models = models(dir.path(), &[("a", pinned(&body), vec![url])]);
    assert_eq!(fetch_all(&models).exit_code(), 0);
    assert_eq!(server.requests(), ["/a", "/a 5000", "/a 10000"]);
    assert_eq!(fs::read(dir.path().join("m/a")).unwrap(), body);
    assert!(!dir.path().join("m/a.part").exists());
}

#[test]
fn the_next_fetch_continues_unless_the_file_has_changed_on_the_server() {
    let (dir, server, body) = (tempfile::tempdir().unwrap(), Server::start(), content());
    let page = |etag: &str, cut| Page {
        status: 200,
        headers: vec![("ETag", etag.to_owned())],
        body: body.clone(),
        cut,
        ..Page::default()
    };
    // 7,000 bytes are there already; this fetch gets no further bytes in two tries, so it gives up
    let url = server.page("/a", page("\"one\"", Some((0, 9))));
    let unpinned = models(dir.path(), &[("a", String::new(), vec![url])]);
    fs::create_dir_all(dir.path().join("m")).unwrap();
    fs::write(dir.path().join("m/a.part"), &body[..7_000]).unwrap();
    let beginning = format!("from = \"{}/a\"\nversion = '\"one\"'\n", server.address);
    fs::write(dir.path().join("m/a.part.toml"), beginning).unwrap();
    let report = fetch_all(&unpinned);
    assert_eq!(report.exit_code(), 2);
    assert!(reasons(&report)[0].contains("after 7000 bytes"), "{report}");
    assert_eq!(server.requests(), ["/a 7000", "/a 7000"]);
    // an unfinished file is not a model
    assert_eq!(
        unpinned.find("m").unwrap(),
        ModelStatus::Missing {
            files: vec!["a".into()]
        }
    );

    server.page("/a", page("\"one\"", None));
    assert_eq!(fetch_all(&unpinned).exit_code(), 0);
    assert_eq!(server.requests(), ["/a 7000"]);
    assert_eq!(fs::read(dir.path().join("m/a")).unwrap(), body);

    // another file is at the same address: the server sends all of it, and the old beginning is dropped
    fs::rename(dir.path().join("m/a"), dir.path().join("m/a.part")).unwrap();
    let beginning = format!("from = \"{}/a\"\nversion = '\"one\"'\n", server.address);
    fs::write(dir.path().join("m/a.part.toml"), beginning).unwrap();
    fs::write(dir.path().join("m/a.part"), vec![0; 7_000]).unwrap();
    server.page("/a", page("\"two\"", None));
    assert_eq!(fetch_all(&unpinned).exit_code(), 0);
    assert_eq!(fs::read(dir.path().join("m/a")).unwrap(), body);
}

#[test]
fn wrong_bytes_are_refused_and_the_next_source_is_tried() {
    let (dir, server, body) = (tempfile::tempdir().unwrap(), Server::start(), content());
    let mut other = body.clone();
    other[19_999] ^= 1;
    let urls = vec![
        format!("{}/absent", server.address),
        server.file("/other", &other),
        server.file("/short", &body[..10]),
    ];
    let bad = models(dir.path(), &[("a", pinned(&body), urls.clone())]);
    let report = fetch_all(&bad);
    assert_eq!(report.exit_code(), 2);
    let why = reasons(&report);
    assert!(why[0].contains("404"), "{why:?}");
    assert!(
        why[1].contains(&sha256(&body)) && why[1].contains(&sha256(&other)),
        "{why:?}"
    );
    assert!(
        why[2].contains("10 bytes") && why[2].contains("20000"),
        "{why:?}"
    );
    let left: Vec<_> = fs::read_dir(dir.path().join("m"))
        .unwrap()
        .flatten()
        .collect();
    assert!(!left.iter().any(|f| f.file_name() == "a"), "{left:?}");

    let good = [urls, vec![server.file("/good", &body)]].concat();
    let good = models(dir.path(), &[("a", pinned(&body), good)]);
    let report = fetch_all(&good);
    assert_eq!(report.exit_code(), 0, "{report}");
    assert_eq!(trust(&good), Trust::Pinned);
}

#[test]
fn a_host_that_cannot_be_reached_is_tried_once_and_the_next_source_is_used() {
    let (dir, server, body) = (tempfile::tempdir().unwrap(), Server::start(), content());
    let blocked = UNREACHABLE;
    let urls = |path: &str| vec![format!("http://{blocked}{path}"), server.file(path, &body)];
    let both = models(
        dir.path(),
        &[
            ("a", pinned(&body), urls("/a")),
            ("b", pinned(&body), urls("/b")),
        ],
    );
    let report = fetch_all(&both);
    assert_eq!(report.exit_code(), 0, "{report}");
    assert_eq!(server.requests(), ["/a", "/b"]);

    let dir = tempfile::tempdir().unwrap();
    let only = |path: &str| vec![format!("http://{blocked}{path}")];
    let none = models(
        dir.path(),
        &[
            ("a", pinned(&body), only("/a")),
            ("b", pinned(&body), only("/b")),
            ("c", pinned(&body), vec![server.file("/c", &body)]),
        ],
    );
    let report = fetch_all(&none);
    assert_eq!(report.exit_code(), 1, "one of the three files was fetched");
    assert!(
        reasons(&report)[0].contains(&format!("cannot reach {blocked}")),
        "{report}"
    );
    assert!(
        report.to_string().contains("could not be reached before"),
        "{report}"
    );
    let ModelStatus::Missing { files } = none.find("m").unwrap() else {
        panic!("the model is not missing");
    };
    assert_eq!(files, ["a", "b"]);
}

#[test]
fn an_unpinned_file_is_compared_with_the_checksum_of_its_publisher() {
    let (dir, server, body) = (tempfile::tempdir().unwrap(), Server::start(), content());
    let store = server.file("/store", &body);
    let hub = |checksum: &str| Page {
        status: 302,
        headers: vec![
            ("Location", store.clone()),
            ("X-Linked-Etag", format!("\"{checksum}\"")),
            ("X-Linked-Size", "20000".into()),
            ("X-Repo-Commit", "c0ffee".into()),
        ],
        ..Page::default()
    };
    let url = server.page("/hub", hub(&sha256(b"something else")));
    let models = models(dir.path(), &[("a", String::new(), vec![url])]);
    let report = fetch_all(&models);
    let why = reasons(&report);
    assert!(
        why[0].contains("the publisher gives") && why[0].contains(&sha256(&body)),
        "{why:?}"
    );

    server.page("/hub", hub(&sha256(&body)));
    assert_eq!(fetch_all(&models).exit_code(), 0);
    assert_eq!(trust(&models), Trust::Publisher);
    let record = fs::read_to_string(dir.path().join("m/fetched.toml")).unwrap();
    assert_says(&record, &["c0ffee", &sha256(&body)]);
}

#[test]
fn small_files_of_the_hub_are_compared_with_their_git_id() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start());
    // echo 'test content' | git hash-object --stdin
    let page = |id: &str| Page {
        status: 200,
        headers: vec![
            ("ETag", format!("\"{id}\"")),
            ("X-Repo-Commit", "c0ffee".into()),
        ],
        body: b"test content\n".to_vec(),
        ..Page::default()
    };
    let url = server.page("/a", page("0000000000000000000000000000000000000000"));
    let models = models(dir.path(), &[("a", String::new(), vec![url])]);
    assert!(reasons(&fetch_all(&models))[0].contains("d670460b4b4aece5915caf5c68d12f560a9fe3e4"));
    server.page("/a", page("d670460b4b4aece5915caf5c68d12f560a9fe3e4"));
    assert_eq!(fetch_all(&models).exit_code(), 0);
    assert_eq!(trust(&models), Trust::Publisher);
}

#[test]
fn a_file_that_is_there_is_used_only_if_its_bytes_are_right() {
    let (dir, body) = (tempfile::tempdir().unwrap(), content());
    let pinned = models(
        dir.path(),
        &[("a", pinned(&body), vec![format!("http://{UNREACHABLE}/a")])],
    );
    let path = dir.path().join("m/a");
    fs::create_dir_all(dir.path().join("m")).unwrap();

    fs::write(dir.path().join("m/a.part"), &body).unwrap();
    assert_eq!(
        pinned.find("m").unwrap(),
        ModelStatus::Missing {
            files: vec!["a".into()]
        }
    );
    fs::write(&path, &body[..5]).unwrap();
    assert_eq!(why_wrong(&pinned), "a: is 5 bytes, must be 20000");
    fs::write(&path, &body).unwrap();
    assert_eq!(trust(&pinned), Trust::Pinned);

    // one bit changes, but neither the length nor the time of modification
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let mut other = body.clone();
    other[0] ^= 1;
    rewrite(&path, &other);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    // only Unix has a time of the last change that programs cannot set
    if cfg!(unix) {
        let why = why_wrong(&pinned);
        assert!(why.contains("must be"), "{why}");
    }

    // the catalogue has priority over a record beside the file, and a wrong record does no harm
    let record = dir.path().join("m/verified.toml");
    let former = fs::read_to_string(&record).unwrap();
    rewrite(&path, &body);
    assert_eq!(trust(&pinned), Trust::Pinned);
    let of_body = fs::read_to_string(&record).unwrap();
    fs::write(&record, of_body.replace(&sha256(&body), &sha256(b"forged"))).unwrap();
    assert_eq!(trust(&pinned), Trust::Pinned);
    if cfg!(unix) {
        // a copy of the directory has the record, but its file has another inode
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir(copy.path().join("m")).unwrap();
        fs::write(copy.path().join("m/a"), &other).unwrap();
        for record in [&former, &of_body] {
            fs::write(copy.path().join("m/verified.toml"), record).unwrap();
            let source = vec![format!("http://{UNREACHABLE}/a")];
            let copied = models(copy.path(), &[("a", self::pinned(&body), source)]);
            let why = why_wrong(&copied);
            assert!(why.contains("must be"), "{why}");
        }
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(
        pinned.find("m").unwrap(),
        ModelStatus::Missing {
            files: vec!["a".into()]
        }
    );
}

#[test]
fn an_unpinned_file_put_there_by_hand_is_trusted_on_first_use_but_replaced_by_fetch() {
    let (dir, server, body) = (tempfile::tempdir().unwrap(), Server::start(), content());
    let url = server.file("/a", &body);
    let models = models(dir.path(), &[("a", String::new(), vec![url])]);
    let path = dir.path().join("m/a");
    fs::create_dir_all(dir.path().join("m")).unwrap();
    fs::write(&path, b"by hand").unwrap();
    assert_eq!(trust(&models), Trust::FirstUse);
    rewrite(&path, b"changed");
    let why = why_wrong(&models);
    assert!(why.contains("must be"), "{why}");

    assert_eq!(fetch_all(&models).exit_code(), 0);
    assert_eq!(server.requests(), ["/a"]);
    assert_eq!(fs::read(&path).unwrap(), body);
    assert_eq!(
        trust(&models),
        Trust::FirstUse,
        "this publisher sends no checksum"
    );
    // this fetch records the source of the file
    assert_eq!(fetch_all(&models).files[0].outcome, FetchOutcome::Installed);
}

#[test]
fn the_list_tells_present_missing_and_damaged_models_apart() {
    let (dir, body) = (tempfile::tempdir().unwrap(), content());
    let models = models(
        dir.path(),
        &[("a", pinned(&body), vec![format!("http://{UNREACHABLE}/a")])],
    );
    let status = || list(&models).remove(0).status;
    let missing = ModelStatus::Missing {
        files: vec!["a".to_owned()],
    };
    assert_eq!(status(), missing);
    fs::create_dir_all(dir.path().join("m")).unwrap();
    fs::write(dir.path().join("m/a"), &body).unwrap();
    assert!(matches!(status(), ModelStatus::Ready(model) if model.bytes == 20_000));
    fs::write(dir.path().join("m/a"), b"x").unwrap();
    let wrong = ModelStatus::Wrong {
        file: "a".to_owned(),
        why: "is 1 bytes, must be 20000".to_owned(),
    };
    assert_eq!(status(), wrong);
}

#[test]
fn the_table_of_models_says_what_is_installed_and_what_is_damaged() {
    let dir = WorkDir::new();
    let row = |name: &str| {
        let (table, _) = dir.succeeds("models list");
        let row = table.lines().find(|line| line.starts_with(name)).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        (words.join(" "), table)
    };
    assert_eq!(row("afinn").0, "afinn lexicon yes no 39 kB pinned");
    write(&dir.path("no-models/afinn/AFINN-en-165.txt"), "x");
    let (afinn, table) = row("afinn");
    assert_eq!(afinn, "afinn lexicon yes WRONG 39 kB pinned");
    assert_says(&table, &["AFINN-en-165.txt: is 1 bytes, must be "]);
}

/// Computes all checksums: riposte itself would read the checksums that it has stored.
#[test]
fn models_of_this_machine_have_the_bytes_of_the_catalogue() {
    for entry in ModelCatalogue::embedded().unwrap().entries() {
        let Some(model) = need(Model(&entry.name)) else {
            continue;
        };
        let (mut all, mut size) = (String::new(), 0);
        for file in &entry.files {
            let bytes = fs::read(model.path(&file.file)).unwrap();
            let found = sha256(&bytes);
            let pinned = file.sha256.as_ref();
            assert_eq!(*pinned.unwrap_or(&found), found, "{}", file.file);
            all += &format!("{} {found}\n", file.file);
            size += bytes.len() as u64;
        }
        assert_eq!(model.sha256, sha256(all.as_bytes()), "{}", entry.name);
        assert_eq!(model.bytes, size, "{}", entry.name);
    }
}
