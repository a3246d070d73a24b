//! A user adds models of their own, from directories and from a hub on the loopback interface, uses them by their names, and removes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use riposte::disk::hex;
use rusqlite::Connection;
use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::support::checkpoint::{edit_header, edit_json};
use crate::support::files::{copy, entries, name, text, write};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout};
use crate::support::server::{Page, Server};
use crate::support::{assert_says, reference, sample, wait};
use crate::texts::{arguments_in, with_collection};

const COMMIT: &str = "3d74acf9a28c67741b2f4f2ea7635f0aaf6f0268";
const OTHER_COMMIT: &str = "c237dc49a33fc61debc9276459120b7eac67e7ef";

/// The directory of the models of [`riposte`].
fn models(dir: &WorkDir) -> PathBuf {
    dir.path("no-models")
}

/// The names of everything in the models directory, without riposte's lock.
fn installed(dir: &WorkDir) -> Vec<String> {
    let there = entries(&models(dir));
    let names = there.iter().map(|path| name(path).to_owned());
    names.filter(|name| name != ".added.toml.lock").collect()
}

/// A copy of a small checkpoint in `dir`, under its name.
fn checkpoint(dir: &WorkDir, of: &str) -> PathBuf {
    let path = dir.path(of);
    copy(&reference(of), &path);
    path
}

fn row(dir: &WorkDir, model: &str) -> Option<Value> {
    let (printed, _) = dir.succeeds("models list --json");
    let mut rows = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.find(|row| row["name"] == model)
}

/// The producers of vectors of sentences that are stored for texts.
fn producers(dir: &WorkDir) -> Vec<String> {
    let file = Connection::open(dir.path("kept/workspace.sqlite")).unwrap();
    let query = "SELECT DISTINCT producer FROM output WHERE producer LIKE '%sentence/%' ORDER BY 1";
    let mut rows = file.prepare(query).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn sentence_encoders_of_every_family_search_texts() {
    let dir = with_collection(arguments_in);
    let rank = |options: &str| {
        let line =
            format!("controversial -i in -o out --index kept --approach robin-hood-use {options}");
        dir.run(&line)
    };
    let mut runs = Vec::new();
    for model in [
        "tiny-mpnet",
        "tiny-xlm-roberta",
        "tiny-modernbert",
        "tiny-nomic-bert",
    ] {
        checkpoint(&dir, model);
        dir.succeeds(&format!("models add {model}"));
        let (code, _, said) = rank(&format!("--sentence {model}"));
        assert_eq!(code, 0, "{said}");
        let run = dir.read("out/run.txt");
        assert!(run.lines().count() > 2, "{run}");
        // by a recipe's setting, from what is stored
        dir.succeeds(&format!(
            "controversial -i in -o again --index kept --approach robin-hood-use --set sentence={model} --tag riposte-robin-hood-use"
        ));
        assert_eq!(dir.read("again/run.txt"), run);
        runs.push(run);
    }
    runs.dedup();
    assert_eq!(runs.len(), 4, "{runs:?}");
    // tiny-mpnet and tiny-nomic-bert have other prompts for queries than for documents
    let producers = producers(&dir);
    let of_queries = producers.iter().filter(|name| name.starts_with("query "));
    assert_eq!(
        (of_queries.count(), producers.len()),
        (2, 4),
        "{producers:?}"
    );

    // one that only candle computes
    fs::remove_dir_all(dir.path("kept")).unwrap();
    let (code, _, said) = rank("--sentence tiny-nomic-bert --backend packed");
    assert_eq!(code, 2);
    assert_says(
        &said,
        &["--backend packed", "only candle computes this model"],
    );
    let (code, _, said) = rank("--sentence tiny-nomic-bert --backend candle");
    assert_eq!(code, 0, "{said}");
    let (code, _, said) = rank("--sentence tiny-mpnet --backend packed");
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_model_of_each_role_is_added_and_is_used_only_by_its_name() {
    let dir = WorkDir::new();
    let all = [
        ("tiny-clip", "clip", "--clip"),
        ("tiny-open-clip", "clip", "--clip"),
        ("tiny-siglip", "clip", "--clip"),
        ("tiny-siglip2", "clip", "--clip"),
        ("tiny-chinese-clip", "clip", "--clip"),
        ("tiny-sentence", "sentence", "--sentence"),
        ("tiny-mpnet", "sentence", "--sentence"),
        ("tiny-xlm-roberta", "sentence", "--sentence"),
        ("tiny-modernbert", "sentence", "--sentence"),
        ("tiny-nomic-bert", "sentence", "--sentence"),
        ("tiny-cross", "cross", "--cross"),
    ];
    for (model, role, option) in all {
        let from = checkpoint(&dir, model);
        let (printed, _) = dir.succeeds(&format!("models add {model} --licence CC0-1.0"));
        assert_says(&printed, &[model, &format!("{option} {model}"), "CC0-1.0"]);
        let row = row(&dir, model).unwrap();
        assert_eq!(row["role"], role);
        assert_eq!(row["installed"], true, "{row}");
        assert_eq!(row["default"], false);
        assert_eq!(row["licence"], "CC0-1.0");
        assert_eq!(row["checksum"], "as added");
        assert_eq!(row["source"], text(&fs::canonicalize(&from).unwrap()));
        // the same again
        let (printed, _) = dir.succeeds(&format!("models add {model}"));
        assert_says(&printed, &["was added before"]);
        // the files are riposte's own
        fs::remove_dir_all(&from).unwrap();
    }
    let extract = |options: &str| {
        let input = text(sample());
        dir.run(&format!(
            "extract -i {input} --limit 3 --evidence e.sqlite{options}"
        ))
    };
    let (code, _, said) = extract("");
    assert_eq!(code, 0, "{said}");
    assert_says(
        &said,
        &[
            "no clip model is installed",
            "no sentence model is installed",
        ],
    );
    let (code, _, said) = extract(" --clip tiny-clip --sentence tiny-xlm-roberta");
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["3 images  tiny-clip", "tiny-xlm-roberta"]);
    let (code, _, said) = extract(" --clip tiny-clop");
    assert_eq!(code, 2);
    assert_says(&said, &["did you mean tiny-clip?"]);
    let (script, _) = dir.succeeds("completions bash");
    assert_says(&script, &["tiny-clip", "tiny-cross"]);

    // a file that has changed since
    write(&models(&dir).join("tiny-clip/config.json"), "{}");
    let (code, _, said) = extract(" --clip tiny-clip");
    assert_eq!(code, 2);
    assert_says(
        &said,
        &[
            "damaged: config.json",
            "riposte models remove tiny-clip",
            "riposte models add",
        ],
    );
    // what is there is not the model that would be added again
    checkpoint(&dir, "tiny-clip");
    dir.refuses("models add tiny-clip | there already, with other files");

    for (model, ..) in all {
        let (printed, _) = dir.succeeds(&format!("models remove {model}"));
        assert_says(&printed, &["removed", "riposte models add"]);
        assert!(row(&dir, model).is_none());
    }
    assert_eq!(installed(&dir), ["added.toml"]);
    dir.refuses("models remove tiny-clip | there is no model named");
}

#[test]
fn a_cross_encoder_of_ones_own_re_ranks() {
    let dir = with_collection(arguments_in);
    dir.succeeds(&format!("models add {}", text(&reference("tiny-cross"))));
    let ranked = |options: &str| {
        let line = format!("controversial -i in -o out --approach macbeth{options}");
        let (_, said) = dir.succeeds(&line);
        (dir.read("out/run.txt"), said)
    };
    // a model of the user's is never the default
    let (without, said) = ranked("");
    assert_says(&said, &["the cross-encoder is off"]);
    let (with, said) = ranked(" --cross tiny-cross");
    assert!(!said.contains("the cross-encoder is off"), "{said}");
    assert_ne!(with, without);
    assert_says(&dir.read("out/ir-metadata.yml"), &["tiny-cross"]);
}

#[test]
fn a_model_that_riposte_cannot_use_is_refused_in_one_line_and_leaves_nothing() {
    let dir = WorkDir::new();
    let clip = checkpoint(&dir, "tiny-clip");
    let refuses = |from: &Path, why: &[&str]| {
        let (code, printed, said) = dir.run(&format!("models add {} --name x -q", text(from)));
        assert_eq!((code, printed.as_str()), (2, ""), "{said}");
        assert_says(&said, why);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.contains(".riposte-"), "{said}");
        let left = entries(dir.path("").as_path());
        let left = left.iter().any(|path| name(path) == "no-models");
        assert!(!left || installed(&dir).is_empty(), "{:?}", installed(&dir));
    };
    let changed = |change: &dyn Fn(&Path)| {
        let _ = fs::remove_dir_all(dir.path("m"));
        copy(&clip, &dir.path("m"));
        change(&dir.path("m"));
        dir.path("m")
    };
    let without = |file: &'static str| changed(&move |m| fs::remove_file(m.join(file)).unwrap());
    let renamed = |to: &'static str| {
        changed(&move |m| fs::rename(m.join("model.safetensors"), m.join(to)).unwrap())
    };
    let config =
        |change: &dyn Fn(&mut Value)| changed(&|m| edit_json(&m.join("config.json"), change));
    refuses(&dir.path("nowhere"), &["cannot read", "nowhere"]);
    refuses(&clip.join("config.json"), &["config.json"]);
    refuses(&without("config.json"), &["no config.json"]);
    refuses(&without("tokenizer.json"), &["m/tokenizer.json"]);
    refuses(&without("model.safetensors"), &["no model.safetensors"]);
    refuses(
        &renamed("pytorch_model.bin"),
        &["pytorch_model.bin", "no pickles", "save_pretrained"],
    );
    refuses(&renamed("open_clip.pt"), &["open_clip.pt", "no pickles"]);
    refuses(
        &renamed("model.safetensors.index.json"),
        &["max_shard_size"],
    );
    refuses(&renamed("clip-q4.gguf"), &["clip-q4.gguf", "GGUF"]);
    refuses(
        &renamed("vision_model.onnx"),
        &["no text_model.onnx", "both towers"],
    );
    refuses(&renamed("model.onnx"), &["model.onnx", "two files"]);
    refuses(
        &changed(&|m| write(&m.join("config.json"), "{")),
        &["config.json"],
    );
    refuses(
        &config(&|c| {
            c["model_type"] = json!("llama");
            c["architectures"] = json!(["LlamaForCausalLM"]);
            c.as_object_mut().unwrap().remove("text_config");
        }),
        &["config.json", "LlamaForCausalLM"],
    );
    refuses(
        &config(&|c| c["quantization_config"] = json!({"bits": 8})),
        &["quantization_config"],
    );
    let damaged = changed(&|m| {
        let weights = m.join("model.safetensors");
        let bytes = fs::read(&weights).unwrap();
        fs::write(&weights, &bytes[..bytes.len() - 7]).unwrap();
    });
    refuses(&damaged, &["m/model.safetensors", "truncated or damaged"]);
    let quantised = changed(&|m| {
        edit_header(m, |header| {
            let (_, tensor) = header
                .iter_mut()
                .find(|(name, _)| name.contains("layers.0.mlp.fc1.weight"))
                .unwrap();
            tensor["dtype"] = json!("I32");
        });
    });
    refuses(&quantised, &["expected F32, F16 or BF16"]);
    // weights that are all the same number give all texts the same vector, or none
    let empty = changed(&|m| {
        let weights = m.join("model.safetensors");
        let mut bytes = fs::read(&weights).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[8 + header..].fill(0);
        fs::write(&weights, bytes).unwrap();
    });
    refuses(&empty, &["the weights are damaged"]);
    let mut infinite = fs::read(clip.join("model.safetensors")).unwrap();
    let length = infinite.len();
    for number in infinite[length - 4000..].as_chunks_mut::<4>().0 {
        *number = f32::NAN.to_le_bytes();
    }
    refuses(
        &changed(&|m| write(&m.join("model.safetensors"), &infinite)),
        &["the weights are damaged"],
    );
    // a model for sentences whose pooling riposte does not compute
    let pooling = |m: &Path| {
        fs::remove_dir_all(m).unwrap();
        copy(&reference("tiny-xlm-roberta"), m);
        let path = m.join("1_Pooling/config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        config["pooling_mode"] = json!("weightedmean");
        write(&path, config.to_string());
    };
    refuses(
        &changed(&pooling),
        &["1_Pooling/config.json", "weightedmean"],
    );
}

#[test]
fn names_do_not_lead_elsewhere_and_stand_for_nothing_else() {
    let dir = WorkDir::new();
    checkpoint(&dir, "tiny-clip");
    dir.refuses(
        "
        models add tiny-clip --name ../x | cannot be the name of a model
        models add tiny-clip --name a/b | cannot be the name of a model
        models add tiny-clip --name .hidden | cannot be the name of a model
        models add tiny-clip --name -x | unexpected argument
        models add tiny-clip --name all | another meaning
        models add tiny-clip --name Sentence | another meaning
        models add tiny-clip --name x.part | another meaning
        models add tiny-clip --name Added.toml | another meaning
        models add tiny-clip --name CLIP-vit-base-patch32 | riposte's own list has a model
        models add hf:one | expected hf:OWNER/NAME
        models add hf:../one | expected hf:OWNER/NAME
        models remove ../tiny-clip | there is no model named
        models remove tiny-clip | there is no model named
        models remove afinn | the model afinn is not in
        ",
    );
    assert!(dir.path("tiny-clip/config.json").is_file());
    // "." has a name, too
    let home = dir.path("tiny-clip");
    let output = riposte(&dir.path(""), &["models", "add", "."])
        .current_dir(home)
        .output();
    assert_eq!(code(&output.unwrap()), 0);
    assert_eq!(installed(&dir), ["added.toml", "tiny-clip"]);
    dir.refuses(
        "
        models add tiny-clip --name Tiny-Clip | there already, with other files
        models remove tinyclip | did you mean tiny-clip?
        ",
    );
}

#[test]
fn a_damaged_list_of_added_models_is_an_error_with_its_line() {
    let dir = WorkDir::new();
    write(
        &models(&dir).join("added.toml"),
        "[[model]]\nname = \"x\"\nrole = \"clap\"\n",
    );
    for line in ["models list", "models add .", "models remove x"] {
        let (code, _, said) = dir.run(line);
        assert_eq!(code, 2, "{line}");
        assert_says(&said, &["added.toml", "line 3", "clap"]);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[cfg(unix)]
#[test]
fn removing_keeps_what_is_not_of_the_model() {
    use std::os::unix::fs::symlink;
    let dir = WorkDir::new();
    checkpoint(&dir, "tiny-xlm-roberta");
    dir.succeeds("models add tiny-xlm-roberta --name mine");
    let mine = models(&dir).join("mine");
    write(&mine.join("notes.txt"), "my own");
    let (_, said) = dir.succeeds("models remove mine");
    assert_says(&said, &["other files stay in"]);
    assert_eq!(entries(&mine), [mine.join("notes.txt")]);
    // its directory is taken
    dir.refuses("models add tiny-xlm-roberta --name mine | there already, with other files");
    fs::remove_dir_all(&mine).unwrap();
    dir.succeeds("models add tiny-xlm-roberta --name mine");
    // links lead to files of the user's
    let elsewhere = dir.path("elsewhere");
    fs::rename(mine.join("1_Pooling"), &elsewhere).unwrap();
    symlink(&elsewhere, mine.join("1_Pooling")).unwrap();
    dir.refuses("models remove mine | 1_Pooling is a symbolic link");
    assert!(elsewhere.join("config.json").is_file());
    fs::remove_file(mine.join("1_Pooling")).unwrap();
    fs::rename(&mine, elsewhere.join("mine")).unwrap();
    symlink(elsewhere.join("mine"), &mine).unwrap();
    dir.refuses("models remove mine | mine is a symbolic link");
    assert!(elsewhere.join("mine/config.json").is_file());
}

#[test]
fn a_model_of_riposte_s_own_list_is_removed_and_can_be_fetched_again() {
    let dir = WorkDir::new();
    let afinn = models(&dir).join("afinn");
    write(&afinn.join("AFINN-en-165.txt"), "x");
    write(&afinn.join("AFINN-en-165.txt.part"), "x");
    let (printed, _) = dir.succeeds("models remove afinn");
    assert_says(&printed, &["`riposte models fetch afinn` gets it again"]);
    assert!(!afinn.exists());
    assert_eq!(row(&dir, "afinn").unwrap()["installed"], false);
}

// ---- the hub ----

/// Publishes the files of a checkpoint as the hub does: weights are behind a redirect, with their sha256; of other files, the git id is known.
fn publish(
    server: &Server,
    repository: &str,
    revision: &str,
    commit: &str,
    dir: &Path,
    page: &Page,
) {
    let mut names = Vec::new();
    for path in entries(dir) {
        let (file, body) = (name(&path), fs::read(&path).unwrap());
        let at = format!("/{repository}/resolve/{commit}/{file}");
        let hub = ("X-Repo-Commit", commit.to_owned());
        if file.ends_with(".safetensors") {
            let sha256 = hex(&Sha256::digest(&body));
            let cdn = format!("/cdn/{sha256}");
            let headers = vec![
                hub,
                ("X-Linked-Etag", format!("\"{sha256}\"")),
                ("X-Linked-Size", body.len().to_string()),
                (
                    "Location",
                    format!("{}{cdn}", server.address.replace("127.0.0.1", "localhost")),
                ),
            ];
            server.page(
                &at,
                Page {
                    status: 302,
                    headers,
                    ..page.clone()
                },
            );
            let headers = vec![("ETag", "\"cdn\"".to_owned())];
            server.page(
                &cdn,
                Page {
                    status: 200,
                    body,
                    headers,
                    authorization: None,
                    ..page.clone()
                },
            );
        } else {
            let mut git = Sha1::new_with_prefix(format!("blob {}\0", body.len()));
            git.update(&body);
            let id = hex(&git.finalize());
            let headers = vec![hub, ("ETag", format!("\"{id}\""))];
            let authorization = page.authorization;
            server.page(
                &at,
                Page {
                    status: 200,
                    body,
                    headers,
                    authorization,
                    ..Page::default()
                },
            );
        }
        names.push(json!({"rfilename": file}));
    }
    names.push(json!({"rfilename": "../../escape.json"}));
    let answer =
        json!({"id": repository, "sha": commit, "siblings": names, "cardData": {"license": "mit"}});
    let at = format!("/api/models/{repository}/revision/{revision}");
    let (body, authorization) = (answer.to_string().into_bytes(), page.authorization);
    server.page(
        &at,
        Page {
            status: 200,
            body,
            authorization,
            ..Page::default()
        },
    );
}

/// Publishes the small CLIP model as the only revision of a repository.
fn publish_clip(server: &Server, repository: &str, page: &Page) {
    let dir = reference("tiny-clip");
    publish(server, repository, "main", COMMIT, &dir, page);
}

/// `riposte models add` with this hub.
fn adds(dir: &WorkDir, server: &Server, args: &[&str]) -> Command {
    let mut command = riposte(&dir.path(""), &["models", "add"]);
    command
        .args(args)
        .env("HF_ENDPOINT", format!("{}/", server.address));
    command
}

#[track_caller]
fn says(output: &Output, expected: i32, parts: &[&str]) {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(code(output), expected, "{said}");
    assert_says(&said, parts);
}

#[track_caller]
fn adds_tiny(dir: &WorkDir, server: &Server, said: &str) {
    let output = adds(dir, server, &["hf:o/tiny"]).output().unwrap();
    says(&output, 0, &[said]);
}

#[test]
fn a_model_of_the_hub_is_added_at_the_commit_of_its_revision() {
    let (dir, server) = (WorkDir::new(), Server::start());
    publish_clip(&server, "o/tiny", &Page::default());
    let output = adds(&dir, &server, &["hf:o/tiny"]).output().unwrap();
    says(
        &output,
        0,
        &["tiny: added", "--clip tiny", "licence: mit", COMMIT],
    );
    let row_of = row(&dir, "tiny").unwrap();
    assert_eq!(row_of["revision"], COMMIT);
    assert_eq!(row_of["source"], "hf:o/tiny");
    assert_eq!(row_of["licence"], "mit");
    assert_eq!(installed(&dir), ["added.toml", "tiny"]);
    for file in entries(&reference("tiny-clip")) {
        let copied = models(&dir).join("tiny").join(name(&file));
        assert_eq!(fs::read(copied).unwrap(), fs::read(&file).unwrap());
    }
    assert!(!dir.path("escape.json").exists());
    // nothing is downloaded again
    server.requests();
    let output = adds(&dir, &server, &["hf:o/tiny@main"]).output().unwrap();
    says(&output, 0, &["was added before"]);
    assert_eq!(server.requests(), ["/api/models/o/tiny/revision/main"]);

    // another revision has another commit; its name is escaped
    publish(
        &server,
        "o/tiny",
        "refs%2Fpr%2F1",
        OTHER_COMMIT,
        &reference("tiny-clip-gelu"),
        &Page::default(),
    );
    let output = adds(&dir, &server, &["hf:o/tiny@refs/pr/1"])
        .output()
        .unwrap();
    says(&output, 2, &["there already, with other files"]);
    let output = adds(&dir, &server, &["hf:o/tiny@refs/pr/1", "--name", "gelu"])
        .output()
        .unwrap();
    says(&output, 0, &["gelu: added", OTHER_COMMIT]);

    // a lost file comes back, from the same commit
    fs::remove_file(models(&dir).join("tiny/config.json")).unwrap();
    let fetch = |name: &str| {
        let mut command = riposte(&dir.path(""), &["models", "fetch", name]);
        command
            .env("HF_ENDPOINT", &server.address)
            .output()
            .unwrap()
    };
    says(&fetch("tiny"), 0, &["tiny/config.json"]);
    assert_eq!(row(&dir, "tiny").unwrap()["installed"], true);
    let (printed, _) = dir.succeeds("models remove tiny");
    assert_says(
        &printed,
        &[&format!(
            "riposte models add hf:o/tiny@{COMMIT} --name tiny"
        )],
    );
}

#[test]
fn a_broken_connection_and_a_killed_process_are_continued() {
    let (dir, server) = (WorkDir::new(), Server::start());
    let cut = Page {
        cut: Some((50_000, 2)),
        ..Page::default()
    };
    publish_clip(&server, "o/tiny", &cut);
    adds_tiny(&dir, &server, "tiny: added");
    let ranges: Vec<String> = server
        .requests()
        .into_iter()
        .filter(|r| r.starts_with("/cdn/"))
        .collect();
    let ends: Vec<&str> = ranges
        .iter()
        .filter_map(|r| r.split_once(' '))
        .map(|(_, at)| at)
        .collect();
    assert_eq!(ends, ["50000", "100000"]);
    dir.succeeds("models remove tiny");

    // 60,000 bytes have arrived when the process is killed
    let stall = Page {
        stall: Some((60_000, 1)),
        ..Page::default()
    };
    publish_clip(&server, "o/tiny", &stall);
    let child = adds(&dir, &server, &["hf:o/tiny"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let part = models(&dir).join("tiny.part/model.safetensors.part");
    let has_come = || fs::metadata(&part).is_ok_and(|found| found.len() >= 60_000);
    assert!(wait::kill_when(child, has_come));
    // nothing of it is a model
    assert_eq!(installed(&dir), ["added.toml", "tiny.part"]);
    assert!(row(&dir, "tiny").is_none());
    server.requests();
    adds_tiny(&dir, &server, "tiny: added");
    let requests = server.requests();
    assert!(
        requests.iter().any(|r| r.ends_with(" 60000")),
        "{requests:?}"
    );
    // the settings were there
    assert!(
        !requests.iter().any(|r| r.ends_with("config.json")),
        "{requests:?}"
    );
    assert_eq!(installed(&dir), ["added.toml", "tiny"]);
    assert_eq!(row(&dir, "tiny").unwrap()["installed"], true);

    // killed before the entry was written: the files are there under their name
    write(&models(&dir).join("added.toml"), "");
    adds_tiny(&dir, &server, "tiny");
    assert_eq!(row(&dir, "tiny").unwrap()["installed"], true);

    // a beginning that nobody continues
    publish_clip(&server, "o/tiny", &stall);
    write(&models(&dir).join("begun.part/config.json"), "{}");
    dir.succeeds("models remove begun");
    assert_eq!(installed(&dir), ["added.toml", "tiny"]);
}

#[test]
fn a_token_opens_a_gated_model_and_is_never_shown() {
    let (dir, server) = (WorkDir::new(), Server::start());
    let gated = Page {
        authorization: Some("Bearer hf_secret"),
        ..Page::default()
    };
    publish_clip(&server, "o/gated", &gated);
    let page = format!("{}/o/gated", server.address);
    let output = adds(&dir, &server, &["hf:o/gated"]).output().unwrap();
    says(&output, 2, &["401", "HF_TOKEN", &page]);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    let output = adds(&dir, &server, &["hf:o/gated"])
        .env("HF_TOKEN", "hf_wrong")
        .output()
        .unwrap();
    says(
        &output,
        2,
        &["401", "the token of HF_TOKEN does not open it"],
    );
    assert!(!stderr(&output).contains("hf_wrong"));
    // the store behind the hub would refuse the token
    let output = adds(&dir, &server, &["hf:o/gated"])
        .env("HF_TOKEN", "hf_secret\n")
        .output()
        .unwrap();
    says(&output, 0, &["gated: added"]);
    assert!(!stderr(&output).contains("hf_secret"));
    for file in [
        models(&dir).join("added.toml"),
        models(&dir).join("gated/fetched.toml"),
    ] {
        assert!(!fs::read_to_string(file).unwrap().contains("hf_secret"));
    }
}

#[test]
fn what_the_hub_does_not_have_or_sends_wrong_is_one_line() {
    let (dir, server) = (WorkDir::new(), Server::start());
    let add = |what: &str| adds(&dir, &server, &[what, "-q"]).output().unwrap();
    let one_line = |output: &Output, parts: &[&str]| {
        says(output, 2, parts);
        assert_eq!(stderr(output).lines().count(), 1, "{}", stderr(output));
    };
    one_line(&add("hf:o/none@v1"), &["hf:o/none@v1", "404"]);
    // wrong bytes of the weights
    publish_clip(&server, "o/wrong", &Page::default());
    let weights = fs::read(reference("tiny-clip/model.safetensors")).unwrap();
    let sha256 = hex(&Sha256::digest(&weights));
    let mut wrong = weights.clone();
    wrong[100_000] ^= 1;
    server.file(&format!("/cdn/{sha256}"), &wrong);
    one_line(
        &add("hf:o/wrong"),
        &["model.safetensors", "sha256", "but the publisher gives"],
    );
    assert!(!models(&dir).join("wrong").exists());
    // and of a file of settings
    server.file(&format!("/cdn/{sha256}"), &weights);
    publish_clip(&server, "o/settings", &Page::default());
    let headers = vec![
        ("X-Repo-Commit", COMMIT.to_owned()),
        ("ETag", format!("\"{}\"", "a".repeat(40))),
    ];
    let body = fs::read(reference("tiny-clip/config.json")).unwrap();
    let at = format!("/o/settings/resolve/{COMMIT}/config.json");
    server.page(
        &at,
        Page {
            status: 200,
            headers,
            body,
            ..Page::default()
        },
    );
    one_line(&add("hf:o/settings"), &["config.json", "git id"]);
    // a file that is listed and not there
    server.page(
        &at,
        Page {
            status: 404,
            ..Page::default()
        },
    );
    one_line(&add("hf:o/settings"), &["config.json", "404"]);
    // the weights of another model are not downloaded
    let llama = dir.path("llama");
    copy(&reference("tiny-clip"), &llama);
    write(
        &llama.join("config.json"),
        r#"{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}"#,
    );
    publish(&server, "o/llama", "main", COMMIT, &llama, &Page::default());
    server.requests();
    one_line(&add("hf:o/llama"), &["LlamaForCausalLM"]);
    assert!(
        !server
            .requests()
            .iter()
            .any(|r| r.contains("safetensors") || r.contains("cdn"))
    );
    assert!(!models(&dir).join("llama.part").exists());
    // answers that make no sense
    server.file("/api/models/o/html/revision/main", b"<html>");
    one_line(&add("hf:o/html"), &["hf:o/html@main"]);
    server.file(
        "/api/models/o/commit/revision/main",
        br#"{"sha": "../../x", "siblings": []}"#,
    );
    one_line(&add("hf:o/commit"), &["is not a commit"]);
    let output = riposte(&dir.path(""), &["models", "add", "hf:o/n"])
        .env("HF_ENDPOINT", "file:///etc")
        .output();
    one_line(&output.unwrap(), &["HF_ENDPOINT", "not a web address"]);
    assert!(!installed(&dir).iter().any(|name| name == "added.toml"));
}
