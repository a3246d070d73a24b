//! The grammar that all commands share: judgements, names of runs, short names of measures, mistyped words, help, --quiet and --json.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use riposte::recipes::channels::CHANNELS;
use riposte::weights::ModelCatalogue;
use serde_json::Value;

use crate::support::collection::{argument, write_arguments};
use crate::support::files::{json_lines, text};
use crate::support::need::{Python, need};
use crate::support::program::{
    WorkDir, code, collection_tools, on_terminal, riposte, stderr, stdout, succeed,
};
use crate::support::{assert_says, golden_evidence, sample};

/// Judgements of images for two topics, and a run with the images of the first topic.
const QRELS: &str = "1 ONTOPIC I0123456789abcde0 1\n1 PRO I0123456789abcde0 1\n1 ONTOPIC I0123456789abcde1 1\n2 ONTOPIC I0123456789abcde2 1\n";
const RUN: &str = "1 PRO I0123456789abcde0 1 2 one\n1 CON I0123456789abcde1 1 1 one\n";
const BOTH: &str = "1 PRO I0123456789abcde0 1 2 two\n2 CON I0123456789abcde2 1 1 two\n";

fn images() -> WorkDir {
    WorkDir::with(&[
        ("qrels", QRELS.as_bytes()),
        ("run.txt", RUN.as_bytes()),
        ("both.txt", BOTH.as_bytes()),
    ])
}

#[test]
fn judgements_are_an_option_or_the_first_word_and_runs_can_be_named() {
    let dir = images();
    let values = |line: &str| {
        let (printed, _) = dir.succeeds(line);
        let cells = json_lines(&printed);
        let of_cell = |cell: &Value| {
            let word = |name: &str| cell[name].as_str().unwrap().to_owned();
            (word("run"), word("qrels"), cell["value"].to_string())
        };
        cells.iter().map(of_cell).collect::<Vec<_>>()
    };
    let measure = "topicRelevanceP@10 --json";
    let first = values(&format!("evaluate qrels run.txt {measure}"));
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].2, "0.1");
    assert_eq!(
        values(&format!("evaluate --qrels qrels run.txt {measure}")),
        first
    );
    assert_eq!(
        values(&format!("evaluate run.txt {measure} --qrels qrels")),
        first
    );
    // judgements can be given as the first word and with the option
    let two = values(&format!("evaluate qrels run.txt --qrels x=qrels {measure}"));
    let names: Vec<&str> = two.iter().map(|(_, qrels, _)| qrels.as_str()).collect();
    assert_eq!(names, ["qrels", "x"]);
    let named = values(&format!(
        "evaluate --qrels qrels a=run.txt b=run.txt {measure}"
    ));
    let names: Vec<&str> = named.iter().map(|(run, ..)| run.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    dir.refuses(
        "
        evaluate --qrels qrels a=run.txt a=both.txt | two runs are named a
        evaluate --qrels qrels a=gone.txt | there is no file gone.txt
        evaluate --qrels qrels | required
        ",
    );
    // other commands also take named runs
    let (_, printed, _) = dir.run("verify a=run.txt");
    assert!(printed.starts_with("a: "), "{printed}");
    dir.succeeds("export run a=run.txt -o plain --qrels qrels");
}

#[test]
fn the_short_name_of_a_measure_means_all_three_of_images() {
    let dir = images();
    let measures = |measure: &str| {
        let (printed, _) =
            dir.succeeds(&format!("evaluate --qrels qrels run.txt {measure} --json"));
        let of = |cell: &Value| format!("{} {}", cell["measure"].as_str().unwrap(), cell["value"]);
        json_lines(&printed).iter().map(of).collect::<Vec<_>>()
    };
    let long = "topicRelevanceP@10 argumentativenessP@10 stanceRelevanceP@10";
    assert_eq!(measures("P@10"), measures(long));
    assert_eq!(measures("P@10")[0], "topicRelevanceP@10 0.1");
    assert_eq!(
        measures("P(list=PRO)@10")[2],
        "stanceRelevanceP(list=PRO)@10 0.1"
    );
    let (code, _, said) = dir.run("evaluate --qrels qrels run.txt P@5");
    assert_eq!(code, 2);
    assert!(said.contains("image runs are measured @10"), "{said}");
}

/// The length of the longest line, without the sequences for colours.
fn longest(shown: &str) -> usize {
    let lines = without_colours(shown);
    let lengths = lines.lines().map(|line| line.chars().count());
    lengths.max().unwrap_or(0)
}

fn without_colours(shown: &str) -> String {
    let mut pieces = shown.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| {
        all + piece.split_once('m').map_or(piece, |(_, rest)| rest)
    })
}

#[test]
fn tables_fit_a_terminal_and_show_no_measure_twice() {
    let dir = images();
    for line in [
        "evaluate --qrels qrels run.txt both.txt",
        "evaluate --qrels qrels run.txt both.txt --ci --by-topic",
        "evaluate --qrels qrels run.txt both.txt --correction holm",
        "models list",
    ] {
        let (printed, _) = dir.succeeds(line);
        assert!(longest(&printed) <= 80, "{line}:\n{printed}");
    }
    // a line with a single long name can be wider
    let (_, systems, _) = dir.run("approaches --systems");
    for line in systems.lines().filter(|line| line.trim().contains(' ')) {
        assert!(longest(line) <= 80, "{line}");
    }
    // the runs and the judgements have different topics, so there are twice as many measures, in several blocks
    let (_, both, _) = dir.run("evaluate --qrels qrels run.txt both.txt");
    assert!(both.contains("topicRelevanceP(topics=judged)@10"), "{both}");
    let blocks = both.lines().filter(|line| line.starts_with("run  "));
    assert!(blocks.count() > 2, "{both}");
    // every block names the runs
    assert_eq!(both.matches("\nboth.txt").count(), 8, "{both}");
    // for runs with all judged topics, both kinds of measures are equal
    let (_, all, _) = dir.run("evaluate --qrels qrels both.txt b=both.txt");
    assert!(!all.contains("topics=judged"), "{all}");
    assert!(all.contains("stanceRelevanceP@10"), "{all}");
}

#[test]
fn lines_that_the_organisers_leave_out_are_counted_in_a_note() {
    let dir = images();
    let (code, _, said) = dir.run("evaluate --qrels qrels run.txt");
    assert_eq!((code, said.as_str()), (0, ""));
    // a list has each rank once, and none above 10. Three of the twenty places of topic 1 are on topic and one of topic 2: .15 and .05
    let broken =
        format!("{RUN}1 PRO I0123456789abcde1 1 1 one\n2 PRO I0123456789abcde2 11 1 one\n");
    fs::write(dir.path("broken.txt"), broken).unwrap();
    let (printed, said) =
        dir.succeeds("evaluate --qrels qrels broken.txt topicRelevanceP@10 --json");
    let counted = "broken.txt: 2 lines that riposte counts break a rule of the task";
    // without the two lines, the run has only topic 1: .10, and both of its images are argumentative or not as before
    let figures = "it leaves out 1 topic completely; its P@10 is 0.100 on topic, ";
    assert_says(&said, &[counted, figures, "riposte's is 0.100 on topic, "]);
    assert_eq!(json_lines(&printed)[0]["value"].to_string(), "0.1");
    let (code, printed, _) = dir.run("verify mine=broken.txt --task images");
    assert_eq!(code, 1);
    assert_says(&printed, &["mine: line 3: ", "mine: line 4: "]);
    assert!(printed.ends_with("mine: NOT valid\n"), "{printed}");
}

#[test]
fn what_runs_can_reach_at_most_is_a_row_of_the_table() {
    let dir = images();
    let rows = |line: &str| {
        let (printed, _) = dir.succeeds(line);
        assert!(longest(&printed) <= 80, "{printed}");
        let table = printed.lines().take_while(|line| !line.is_empty());
        let rows: Vec<(String, String)> = table
            .filter_map(|line| Some((line.get(..9)?.trim_end(), line.get(9..)?)))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        (rows, printed)
    };
    let row = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let measure = "topicRelevanceP@10";
    // topic 1 has two images on topic for twenty places, topic 2 has one
    let (one, printed) = rows(&format!("evaluate --qrels qrels run.txt {measure}"));
    assert_eq!(one[1], row("run.txt", "0.1000"));
    assert_eq!(one[2], row("at most", "0.1000"));
    let why = "at most: what a perfect run has";
    assert!(printed.contains(why), "{printed}");
    let same = format!("evaluate --qrels qrels run.txt b=run.txt {measure}");
    let (same, _) = rows(&same);
    let names: Vec<&str> = same.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..4], ["run", "run.txt", "b", "at most"]);
    // runs of other topics can reach other values
    let (two, printed) = rows(&format!(
        "evaluate --qrels qrels run.txt both.txt {measure}"
    ));
    assert_eq!(two[2], row("  at most", "0.1000"));
    assert_eq!(two[3], row("both.txt", "0.0500"), "{printed}");
    assert_eq!(two[4], row("  at most", "0.0750"), "{printed}");
    // the table of a single run has both numbers beside each other
    let (_, printed, _) = dir.run("evaluate --qrels qrels run.txt");
    assert!(longest(&printed) <= 80, "{printed}");
    assert_says(&printed, &["0.100 of 0.100  0.050 of 0.050"]);
    // texts have no such row
    let texts = [("texts", "1 0 d1 1\n"), ("run", "1 Q0 d1 1 1.0 t\n")];
    for (name, contents) in texts {
        fs::write(dir.path(name), contents).unwrap();
    }
    let (_, printed, _) = dir.run("evaluate --qrels texts run b=run");
    assert!(!printed.contains("at most"), "{printed}");
}

#[test]
fn tables_have_colours_on_a_terminal_alone() {
    let dir = images();
    let args = ["evaluate", "--qrels", "qrels", "run.txt", "both.txt"];
    let mut command = riposte(&dir.path(""), &args);
    command.current_dir(dir.path(""));
    let piped = stdout(&succeed(&mut command));
    assert!(!piped.contains('\u{1b}'), "{piped}");
    let Some(python) = need(Python) else {
        return;
    };
    command.env_remove("NO_COLOR");
    let shown = on_terminal(&python, 80, &command);
    assert!(shown.contains("\u{1b}[1mrun"), "a bold heading: {shown:?}");
    assert!(shown.contains("\u{1b}[32m"), "the best value in green");
    assert_eq!(without_colours(&shown), piped);
    command.env("NO_COLOR", "1");
    assert_eq!(on_terminal(&python, 80, &command), piped);
    // the wider the terminal, the fewer the blocks
    let wide = on_terminal(&python, 300, &command);
    assert_eq!(wide.matches("\nboth.txt").count(), 2, "{wide}");
}

#[test]
fn verify_finds_the_task_of_a_run() {
    let image = "I0123456789abcdef";
    for (task, lines) in [
        ("images", format!("1 PRO {image} 1 2 t\n1 CON {image} 1 1 t\n")),
        ("images", format!("60 PRO {image} 1 2 t\n")),
        (
            "images",
            format!("{{\"argument_id\": \"1-1\", \"method\": \"retrieval\", \"image_id\": \"{image}\", \"rank\": 1, \"tag\": \"t\"}}\n"),
        ),
        ("controversial", "51 Q0 S428a8bea-A6fcf1b51 1 7.5 t\n".into()),
        ("controversial", "1 PRO S428a8bea-A6fcf1b51__PREMISE__1,S428a8bea-A6fcf1b51__CONC__1 1 7.5 t\n".into()),
        ("controversial", "1 Q0 10113b57-2019-04-18T18:28:52Z-00001-000 1 7.5 t\n".into()),
        ("comparative", "2 FIRST clueweb12-0608wb-66-03868___1 1 7.5 t\n2 Q0 clueweb12-0608wb-66-03868___2 2 7 t\n".into()),
        ("comparative", "51 Q0 clueweb12-0608wb-66-03868 1 7.5 t\n".into()),
        ("rank", "q1 Q0 doc-1 1 7.5 t\nq1 Q0 doc-2 2 7 t\n".into()),
    ] {
        let dir = WorkDir::with(&[("run.txt", lines.as_bytes())]);
        let (_, printed, said) = dir.run("verify run.txt --json");
        let verdict = &json_lines(&printed)[0];
        assert_eq!(verdict["task"], task, "{lines}{said}");
        let (_, _, said) = dir.run("verify run.txt");
        assert!(said.contains(&format!("as a run for `{task}`")), "{said}");
        // --task overrides the inferred task
        let (_, printed, _) = dir.run("verify run.txt --json --task rank --edition 2022");
        assert_eq!(json_lines(&printed)[0]["task"], "rank");
    }
    // the year follows from the lines: apart from missing topics, such runs are valid
    for (lines, valid) in [
        ("51 Q0 clueweb12-0608wb-66-03868 1 7.5 t\n", true),
        (
            "2 FIRST clueweb12-0608wb-66-03868___1 1 7.5 t\n100 NO clueweb12-0608wb-66-03868___1 1 7 t\n",
            true,
        ),
        ("60 PRO I0123456789abcdef01234567 1 2 t\n", true),
        ("60 FIRST clueweb12-0608wb-66-03868___1 1 7.5 t\n", true),
        ("101 Q0 S428a8bea-A6fcf1b51 1 7.5 t\n", false),
    ] {
        let dir = WorkDir::with(&[("run.txt", lines.as_bytes())]);
        let (_, printed, _) = dir.run("verify run.txt --json");
        let verdict = &json_lines(&printed)[0];
        // runs with stances are checked by the topics of 2022
        let topic = verdict["findings"].as_array().unwrap().iter();
        let wrong = topic.filter(|finding| finding["severity"] == "error");
        assert_eq!(wrong.count() == 0, valid, "{lines}: {verdict:#}");
    }
}

#[test]
fn verify_goes_by_the_collection_as_inspect_does() {
    let dir = WorkDir::with(&[(
        "in/topics.xml",
        b"<topics><topic><number>1</number><title>Should guns be banned?</title></topic></topics>",
    )]);
    let premise = |town: usize| {
        format!(
            "Guns kill many people in the streets of town {town}, and so they should be banned at once, say those who live there."
        )
    };
    write_arguments(
        &dir.path("in"),
        (0..20).map(|n| argument(&format!("a{n}"), "Ban guns", &premise(n), "PRO")),
    );
    let home = dir.path("");
    let (home, input, out) = (home.as_path(), dir.path("in"), dir.path("out"));
    let input = text(&input);
    let run = ["controversial", "-i", input, "-o", text(&out)];
    succeed(&mut riposte(home, &run));
    let verified = succeed(&mut riposte(home, &["verify", text(&out), "-i", input]));
    assert!(
        stdout(&verified).contains(": valid"),
        "{}",
        stdout(&verified)
    );
    assert_eq!(
        stderr(&verified),
        "",
        "there is nothing to infer from lines"
    );
}

#[test]
fn a_run_has_its_own_task_in_a_collection_with_images_and_texts() {
    let dir = WorkDir::new();
    let input = text(sample());
    let of_images = "1 PRO I00d3d1c260e4659b 1 2 t\n";
    let of_texts = "1 Q0 Sac18745b-A3ad91ee9 1 2 t\n";
    for (run, task, page) in [
        (of_images, "images", "Image retrieval"),
        (of_texts, "controversial", "Arguments for"),
    ] {
        fs::write(dir.path("run.txt"), run).unwrap();
        let (_, printed, said) = dir.run(&format!("verify run.txt -i {input} --json"));
        assert_eq!(json_lines(&printed)[0]["task"], task, "{said}");
        dir.succeeds(&format!(
            "inspect -q run.txt -i {input} -o report --index kept"
        ));
        let index = dir.read("report/index.html");
        assert!(index.contains(page), "{task}");
    }
}

/// The help of each command, with the words of the command.
fn helps(home: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![Vec::<String>::new()];
    while let Some(words) = waiting.pop() {
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        args.push("--help");
        let help = stdout(&succeed(&mut riposte(home, &args)));
        let commands = help
            .split_once("\nCommands:\n")
            .map_or("", |(_, rest)| rest);
        for line in commands.lines().take_while(|line| line.starts_with("  ")) {
            let name = line.split_whitespace().next().unwrap();
            if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
                waiting.push([words.clone(), vec![name.to_owned()]].concat());
            }
        }
        found.push((words.join(" "), help));
    }
    found
}

#[test]
fn help_fits_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    for (command, help) in helps(home.path()) {
        assert!(longest(&help) <= 100, "{command}:\n{help}");
    }
    let Some(python) = need(Python) else {
        return;
    };
    for command in ["images", "evaluate", "models fetch"] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let shown = on_terminal(&python, 72, &riposte(home.path(), &args));
        // the usage of `evaluate` is not wrapped
        let (_, options) = shown.split_once("Options:").unwrap();
        assert!(longest(options) <= 72, "{options}");
    }
}

#[test]
fn a_file_of_another_task_is_answered_with_a_few_of_its_lines() {
    let dir = images();
    let lines: String = (1..=500)
        .map(|rank| format!("1 Q0 d{rank} {rank} {} t\n", 500 - rank))
        .collect();
    fs::write(dir.path("texts.txt"), lines).unwrap();
    for (line, expected) in [
        ("export run texts.txt -o plain", 2),
        ("evaluate --qrels texts.txt run.txt", 2),
    ] {
        let (code, _, said) = dir.run(line);
        assert_eq!(code, expected, "{line}: {said}");
        let broken = said.lines().filter(|line| line.starts_with("texts.txt:"));
        assert_eq!(broken.count(), 10, "{line}: {said}");
    }
}

#[test]
fn what_is_no_file_is_named_and_what_is_needed_is_said() {
    let dir = images();
    fs::create_dir(dir.path("runs")).unwrap();
    dir.refuses(
        "
        evaluate run.txt qrels | judgements are missing: give their file
        evaluate --qrels runs run.txt | runs is a directory: judgements are a file
        evaluate --qrels qrels runs | there is no run in runs
        evaluate --qrels qrels run.txt nDCG@5 | cannot be computed from judgements of images
        evaluate --qrels qrels run.txt out/two.txt | there is no file out/two.txt
        index -i nowhere | there is no file or directory nowhere
        verify run.txt -i nowhere | there is no file or directory nowhere
        index -i runs | runs has no collection
        stance --text words | give --topic or --objects
        ",
    );
}

#[test]
fn missing_topics_are_named_in_ranges() {
    let dir = images();
    let (_, printed, _) = dir.run("verify both.txt");
    assert_says(&printed, &["nothing for 48 topics: 3–50 ("]);
    fs::write(
        dir.path("gaps.txt"),
        "5 PRO I0123456789abcde0 1 2 two\n8 CON I0123456789abcde2 1 1 two\n",
    )
    .unwrap();
    let (_, printed, _) = dir.run("verify gaps.txt");
    assert_says(&printed, &["nothing for 48 topics: 1–4, 6, 7, 9–50 ("]);
}

#[test]
fn q_is_quiet_in_every_command_that_can_be_quiet() {
    let dir = WorkDir::with(&[
        (
            "in/corpus.jsonl",
            b"{\"_id\": \"d\", \"text\": \"cats purr\"}\n",
        ),
        (
            "in/queries.jsonl",
            b"{\"_id\": \"q\", \"text\": \"cats\"}\n",
        ),
    ]);
    let helps = helps(&dir.path(""));
    assert!(helps.len() > 20, "{}", helps.len());
    let mut quiet = BTreeSet::new();
    for (command, help) in &helps {
        let short = help.contains("-q,");
        assert_eq!(help.contains("--quiet"), short, "{command}");
        assert_eq!(help.contains("-q, --quiet"), short, "{command}");
        if short {
            quiet.insert(command.as_str());
        }
    }
    for command in ["images", "rank", "index", "ask", "models fetch", "inspect"] {
        assert!(quiet.contains(command), "{command} is not in {quiet:?}");
    }
    let (code, _, said) = dir.run("index -q -i in --index kept");
    assert_eq!((code, said.as_str()), (0, ""));
    let (_, said) = dir.succeeds("rank --quiet=progress -i in -o out --index kept --approach bm25");
    assert!(
        !said.contains("seconds") && !said.contains("documents"),
        "{said}"
    );
    // notes and faults are said unless it is quiet, and listed all the same
    let broken = "{\"_id\": \"d\", \"text\": \"cats purr\"}\nbroken\n";
    fs::write(dir.path("in/corpus.jsonl"), broken).unwrap();
    let line = "rank -i in -o out --index kept --approach riposte";
    let (_, said) = dir.succeeds(&format!("{line} --quiet=progress"));
    assert_says(&said, &["note: ", "1 fault: "]);
    let (_, said) = dir.succeeds(&format!("{line} -q"));
    assert_eq!(said, "");
    assert!(dir.path("out/faults.jsonl").is_file());
    // with --strict, faults are why the exit code is 1
    let (code, _, said) = dir.run(&format!("{line} -q --strict"));
    assert_eq!((code, said.lines().count()), (1, 1), "{said}");
    assert_says(&said, &["1 fault: "]);
}

#[test]
fn a_note_names_its_approach_if_there_are_several() {
    let dir = images();
    let input = text(sample());
    let line = format!("images -i {input} -o out --evidence e.sqlite --limit 5");
    fs::copy(golden_evidence(), dir.path("e.sqlite")).unwrap();
    let (_, said) = dir.succeeds(&format!("{line} --approach minsc"));
    assert_says(&said, &["\nnote: topic "]);
    let (_, said) = dir.succeeds(&format!("{line} --approach minsc --approach boromir-afinn"));
    assert_says(
        &said,
        &["note: minsc: topic ", "note: boromir-afinn: topic "],
    );
    assert!(!said.contains("note: topic "), "{said}");
}

#[test]
fn help_names_what_options_take() {
    let home = tempfile::tempdir().unwrap();
    let help = |args: &[&str]| {
        let printed = stdout(&succeed(riposte(home.path(), args).arg("--help")));
        printed.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let fetch = help(&["models", "fetch"]);
    for entry in ModelCatalogue::embedded().unwrap().entries() {
        assert!(fetch.contains(&entry.role.to_string()), "{}", entry.role);
        assert!(
            !entry.default || fetch.contains(&entry.name),
            "{}",
            entry.name
        );
    }
    for word in ["all", "sha256", "pip", "exit code"] {
        assert!(fetch.contains(word), "{word}: {fetch}");
    }
    for command in ["images", "extract"] {
        let help = help(&[command]);
        let require = help.split("--require").nth(1).unwrap();
        let require = require.split(" --").next().unwrap();
        for channel in CHANNELS {
            assert!(
                require.contains(channel.name()),
                "{}: {require}",
                channel.name()
            );
        }
    }
}

#[test]
fn a_mistyped_name_is_answered_with_the_one_that_was_meant() {
    let dir = images();
    dir.refuses(
        "
        controversial -i in -o out --approach elrnd | there is no controversial approach named elrnd: did you mean elrond? (riposte approaches lists all)
        images -i in -o out --approach misc | there is no image approach named misc: did you mean minsc?
        approaches show pipin-took | there is no approach named pipin-took: did you mean pippin-took?
        approaches show dirichlet --task images | there is no image approach named dirichlet: choose one of riposte, minsc
        evaluate --qrels qrels run.txt nDGC@10 | did you mean nDCG@10?
        evaluate --qrels qrels run.txt ndcg(dcg='log2')@5 | did you mean nDCG(dcg='log2')@5?
        evaluate --qrels qrels run.txt topicrelevanceP@10 | did you mean topicRelevanceP@10?
        images -i in -o out --require orc | did you mean ocr?
        models fetch clp | did you mean clip?
        models fetch minilm clip-vit-base-patch23 | did you mean clip-vit-base-patch32?
        read --ocr ppocr4 qrels | did you mean ppocr-v4?
        extract -i in --require sentense,clip | did you mean sentence?
        ",
    );
    // a word that resembles no name is answered with all names
    let (_, _, said) = dir.run("evaluate --qrels qrels run.txt zzzzzz@10");
    assert!(
        !said.contains("did you mean") && said.contains("known are P, R"),
        "{said}"
    );
    let (_, _, said) = dir.run("models fetch zzzzzz");
    assert!(
        !said.contains("did you mean") && said.contains("ppocr-v4"),
        "{said}"
    );
    let (_, _, said) = dir.run("images -i in -o out --require zzzzzz");
    assert!(
        !said.contains("did you mean") && said.contains("vader"),
        "{said}"
    );
}

#[test]
fn json_is_printed_where_it_is_asked_for() {
    let dir = images();
    let objects = |line: &str, expected: i32| {
        let (code, printed, said) = dir.run(line);
        assert_eq!(code, expected, "{line}: {said}");
        json_lines(&printed)
    };
    let models = objects("models list --json", 0);
    let catalogue = ModelCatalogue::embedded().unwrap();
    assert_eq!(models.len(), catalogue.entries().len());
    assert_eq!(models[0]["name"], catalogue.entries()[0].name);
    assert_eq!(models[0]["installed"], false);
    assert!(
        models[0]["missing"]
            .as_array()
            .is_some_and(|files| !files.is_empty())
    );
    assert!(objects("approaches --json", 0).len() > 100);
    let verified = objects("verify run.txt both.txt --json", 0);
    assert_eq!(verified.len(), 2);
    assert_eq!(verified[0]["run"], "run.txt");
    assert_eq!(verified[0]["valid"], true);
    let findings = verified[0]["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding["rule"] == "MissingTopics")
    );
    fs::write(dir.path("broken.txt"), "broken\n").unwrap();
    let broken = objects("verify broken.txt --json", 1);
    assert_eq!(broken[0]["valid"], false);
    assert_eq!(broken[0]["findings"][0]["line"], 1);
    let json = objects("evaluate --qrels qrels run.txt --json", 0);
    assert_eq!(json.len(), 6);
    assert_eq!(
        json,
        objects("evaluate --qrels qrels run.txt --format jsonl", 0)
    );
    let (code, _, said) = dir.run("evaluate --qrels qrels run.txt --json --format tsv");
    assert_eq!(code, 2, "{said}");
    fs::create_dir(dir.path("in")).unwrap();
    fs::write(
        dir.path("in/corpus.jsonl"),
        "{\"_id\": \"d\", \"text\": \"cats purr\"}\n",
    )
    .unwrap();
    let index = objects("index -i in --index kept --json --approach bm25", 0);
    assert_eq!(index[0]["documents"], 1);
}

#[test]
fn answers_repeat_the_id_and_the_text_of_their_lines() {
    let dir = WorkDir::new();
    let lines = [
        r#"{"id": "a7", "topic": "Should cars be banned?", "text": "They kill."}"#,
        r#"{"id": 8, "topic": "Should cars be banned?"}"#,
        r#"{"topic": "Should cars be banned?", "text": "I love them."}"#,
    ];
    fs::write(dir.path("lines.jsonl"), lines.join("\n")).unwrap();
    for (command, answer) in [("stance", "stance"), ("quality", "quality")] {
        let (code, printed, _) = dir.run(&format!("{command} --jsonl lines.jsonl"));
        assert_eq!(code, 0, "the second line has no text");
        let answers = json_lines(&printed);
        assert_eq!(answers[0]["id"], "a7");
        assert_eq!(answers[0]["text"], "They kill.");
        assert!(!answers[0][answer].is_null(), "{printed}");
        assert_eq!(answers[1], Value::Null);
        assert_eq!(answers[2]["text"], "I love them.");
        assert!(answers[2].get("id").is_none(), "{printed}");
    }
}

#[test]
fn subset_cuts_a_collection_of_one_s_own() {
    let dir = WorkDir::new();
    let images = ImageFiles::of_sample(3);
    for (n, bytes) in images.0.iter().enumerate() {
        fs::create_dir_all(dir.path("images")).unwrap();
        fs::create_dir_all(dir.path("pages")).unwrap();
        fs::write(dir.path(&format!("images/{n}.webp")), bytes).unwrap();
        let page = format!("<html><body><img src=\"../images/{n}.webp\"></body></html>");
        fs::write(dir.path(&format!("pages/{n}.html")), page).unwrap();
    }
    let tools = |args: &[&str]| {
        let mut command = collection_tools(args);
        command.current_dir(dir.path(""));
        command.output().unwrap()
    };
    let topics = sample().join("topics.xml");
    let topics = text(&topics);
    dir.succeeds(&format!(
        "collection new built --from images pages --topics {topics}"
    ));
    let cut = tools(&["subset", "built", "cut", "--topics", "1,2", "--images", "2"]);
    assert_eq!(code(&cut), 0, "{}", stderr(&cut));
    assert!(
        stdout(&cut).contains("2 images, 2 topics"),
        "{}",
        stdout(&cut)
    );
    let (checked, _) = dir.succeeds("collection check cut");
    assert!(checked.contains("cut: 2 images"), "{checked}");
}

/// The bytes of some images of the sample.
struct ImageFiles(Vec<Vec<u8>>);

impl ImageFiles {
    fn of_sample(count: usize) -> ImageFiles {
        let collection = riposte::collection::images::ImageCollection::open(sample()).unwrap();
        let images = collection.entries.iter().take(count);
        ImageFiles(
            images
                .map(|entry| fs::read(entry.dir.join("image.webp")).unwrap())
                .collect(),
        )
    }
}
