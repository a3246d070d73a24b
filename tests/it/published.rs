//! The terms of the approaches that rebuild published systems. The expected terms follow by hand from what the code of each system does to a
//! text.

use riposte::collection::task::Task;
use riposte::index::analyzer::{StopList, terms};
use riposte::recipes::approaches;
use riposte::recipes::text_approach::TextApproach;
use riposte_eval::TextTask;

use crate::support::collection::{argument, write_arguments};
use crate::support::program::{WorkDir, rank_arguments, succeed};
use crate::support::root;

const SENTENCE: &str = "Don't the People's rights (yesssss!) matter in 2000?";

fn approach(task: TextTask, name: &str) -> TextApproach {
    TextApproach::find(task, name).unwrap()
}

/// The approach, the terms that it makes of [`SENTENCE`] in a document, and those in a query if they differ.
const TERMS: &str = "
elrond | people's rights yesssss matter 2000
skeletor | don't peopl right yesssss matter 2000
jean-pierre-polnareff | don't the people rights yess matter 200 | don't people rights yess matter 200
yeagerists | don't the people's rights yesssss matter in 2000
deadpool | don't people's rights yesssss matter 2000
goemon-ishikawa | people's rights yesssss matter 2000
shanks | yesssss matter 2000
macbeth | don t the people s rights yesssss matter in 2000 | don't the people's rights yesssss matter in 2000
little-foot | don people rights yesssss matter 2000
aldo-nadi | don't people' right yesssss matter 2000
grimjack | don't the peopl right yesssss matter in 2000 | don't peopl right yesssss matter 2000
";

/// Reasons for these terms:
///
/// - elrond: the stop list has "don't"; KStem changes only words that consist of letters, and not "rights", because it is in its lexicon.
/// - jean-pierre-polnareff: two of a repeated letter or digit are kept; then words of 3 to 20 characters are kept, and stop words are removed from
///   queries.
/// - goemon-ishikawa: ATIRE's list has "don't"; nothing is stemmed.
/// - shanks: this system's own long list has "rights" and "people"; the possessive is removed first.
/// - macbeth: words are split at punctuation in documents, but not in queries.
/// - little-foot: words of one letter are left out: the "t" of "don't" and the "s" of "people's".
/// - aldo-nadi: no possessive filter precedes Porter's stemmer, which removes the "s".
/// - grimjack: stop words are removed from queries, but not from documents.
#[test]
fn each_system_makes_its_own_terms_of_a_sentence() {
    for row in TERMS.trim().lines() {
        let fields: Vec<&str> = row.split(" | ").collect();
        let task = match fields[0] {
            "aldo-nadi" | "grimjack" => TextTask::Comparative,
            _ => TextTask::Controversial,
        };
        let approach = approach(task, fields[0]);
        let retrieval = &approach.retrieval[0];
        let of = |analyzer: &riposte::index::analyzer::Analyzer| {
            terms(&mut analyzer.build(), SENTENCE).join(" ")
        };
        assert_eq!(of(&retrieval.analyzer), fields[1], "{row}");
        let query = retrieval.query_analyzer.as_ref().map(of);
        assert_eq!(query.as_deref(), fields.get(2).copied(), "{row}");
    }
}

#[test]
fn elrond_pos_chooses_words_by_their_parts_of_speech() {
    let text = "Shouldn't convicted felons be allowed to vote? They've voted, and the anti-war party's leaders (in 2003) lost.";
    // "should", "be" and "the" are stop words. "n't" (RB), "to" (TO), "they" (PRP), "and" (CC), "'s" (POS), "in" (IN), "2003" (CD) and all
    // punctuation are left out because of their tags, but "'ve" is not. The parts of "anti-war" have the tag of the whole word. Then Porter's
    // stemmer is applied.
    let typed = "<VBN>convict <NNS>felon <VBN>allow <VB>vote <VBP>'ve <VBN>vote <JJ>anti <JJ>war <NN>parti <NNS>leader <VBD>lost";
    let plain = "convict felon allow vote 've vote anti war parti leader lost";
    let approach = approach(TextTask::Controversial, "elrond-pos");
    let found = approach.retrieval.iter().map(|retrieval| {
        let analyzer = &retrieval.analyzer;
        terms(&mut analyzer.build(), text).join(" ")
    });
    assert_eq!(found.collect::<Vec<_>>(), [plain, typed]);
}

#[test]
fn captain_tempesta_adds_the_share_of_adjectives() {
    let dir = WorkDir::new();
    std::fs::create_dir(dir.path("in")).unwrap();
    let topics = "<topics><topic><number>1</number><title>Are cats or dogs better?</title><objects>cats, dogs</objects></topic></topics>";
    std::fs::write(dir.path("in/topics.xml"), topics).unwrap();
    // three passages with the same terms and the same length, of ten words: two, one and none of them are adjectives
    let passages = [
        ("two", "Cats and dogs are small animals with a soft coat."),
        ("one", "Cats and dogs are small animals with a winter coat."),
        (
            "none",
            "Cats and dogs are house animals with a winter coat.",
        ),
    ];
    let lines = passages
        .map(|(id, text)| format!("{}\n", serde_json::json!({ "id": id, "contents": text })));
    std::fs::write(dir.path("in/passages.jsonl"), lines.concat()).unwrap();
    dir.succeeds("comparative -i in -o out --index kept --no-stance --approach captain-tempesta");
    let run = dir.read("out/run.txt");
    let scores: Vec<(&str, f64)> = run
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .map(|columns| (columns[2], columns[4].parse().unwrap()))
        .collect();
    let [("two", two), ("one", one), ("none", none)] = scores[..] else {
        panic!("{run}");
    };
    assert!((two - one - 0.1).abs() < 1e-5, "{run}");
    assert!((one - none - 0.1).abs() < 1e-5, "{run}");
}

#[test]
fn no_approach_of_a_team_leaves_documents_out() {
    for task in [TextTask::Controversial, TextTask::Comparative] {
        for about in approaches::all(Task::Texts(task)).unwrap() {
            let approach = approach(task, &about.name);
            let keeps = approach.keeps().short && approach.keeps().duplicates;
            // a service decides which documents it returns
            let keeps = keeps || approach.service.is_some();
            // the report of this team says that it left out short texts
            let keeps = keeps
                || approach.name == "oscar-francois-de-jarjayes" && approach.keeps().duplicates;
            assert!(
                keeps || approach.name.starts_with("riposte"),
                "{}",
                approach.name
            );
        }
    }
}

#[test]
fn macbeth_searches_one_portal_and_yeagerists_writes_five_documents() {
    let home = tempfile::tempdir().unwrap();
    let arguments = (0..12).map(|n| {
        let premise = format!("Zoos should be banned, say {n} people.");
        let mut argument = argument(&format!("a{n:02}"), "Ban zoos", &premise, "PRO");
        let portal = if n % 3 == 0 { "debateorg" } else { "idebate" };
        argument["context"] = serde_json::json!({ "sourceDomain": portal });
        argument
    });
    write_arguments(home.path(), arguments);
    let topics =
        "<topics><topic><number>1</number><title>Should zoos be banned?</title></topic></topics>";
    std::fs::write(home.path().join("topics.xml"), topics).unwrap();
    let found = |approach: &str| {
        let out = home.path().join(approach);
        let mut command = rank_arguments(home.path(), home.path(), &out);
        succeed(command.args(["--quiet=progress", "--approach", approach]));
        let run = std::fs::read_to_string(out.join("run.txt")).unwrap();
        let mut ids: Vec<String> = run
            .lines()
            .map(|line| line.split(' ').nth(2).unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(found("macbeth"), ["a00", "a03", "a06", "a09"]);
    assert_eq!(found("yeagerists").len(), 5);
    assert_eq!(found("deadpool").len(), 12);
}

#[test]
fn a_stop_list_from_a_file_is_in_force_whether_the_index_is_new_or_not() {
    let dir = WorkDir::new();
    let premises = [
        "the tax is bad for them",
        "zoos are the best of all",
        "the the the the",
    ];
    let arguments = premises.iter().enumerate();
    let arguments = arguments.map(|(n, text)| argument(&format!("a{n}"), "c", text, "PRO"));
    std::fs::create_dir(dir.path("in")).unwrap();
    write_arguments(&dir.path("in"), arguments);
    let topics = "<topics><topic><number>1</number><title>the tax</title></topic></topics>";
    std::fs::write(dir.path("in/topics.xml"), topics).unwrap();
    std::fs::write(dir.path("mine.txt"), "# of my own\nThe\nis\n").unwrap();
    let recipe = "name = \"mine\"\nkeep = { short = true, duplicates = true }\n[[retrieval]]\n\
        analyzer = \"stop=./mine.txt\"\nsimilarity = { name = \"bm25\", k1 = 1.2, b = 0.75 }\n\
        fields = { premises = 1.0 }\nfeedback = { documents = 1, terms = 9, original = 0.5 }\n";
    std::fs::write(dir.path("mine.toml"), recipe).unwrap();
    let mut runs = Vec::new();
    for _ in 0..2 {
        dir.succeeds("controversial -i in -o out --index kept --approach mine.toml");
        runs.push(dir.read("out/run.txt"));
    }
    // feedback uses terms of "the tax is bad for them". If "the" were among the terms, all three documents would be found
    assert_eq!(runs[0].lines().count(), 1, "{}", runs[0]);
    assert_eq!(runs[1], runs[0]);
    std::fs::write(dir.path("mine.txt"), "tax\n").unwrap();
    dir.succeeds("controversial -i in -o out --index kept --approach mine.toml");
    assert_eq!(
        dir.read("out/run.txt").lines().count(),
        3,
        "another list, another index"
    );
}

#[test]
fn the_reference_has_every_key_and_name() {
    let reference = std::fs::read_to_string(root().join("docs/approaches.md")).unwrap();
    for task in ["controversial", "comparative", "rank", "images"] {
        let template = root().join(format!("approaches/template-{task}.toml"));
        for line in std::fs::read_to_string(template).unwrap().lines() {
            let line = line.strip_prefix("# or ").unwrap_or(line);
            if line.starts_with("# ") {
                continue;
            }
            let line = line.trim_start_matches('#');
            let Some((key, _)) = line.split_once(" = ") else {
                continue;
            };
            let key = key.trim_matches('"');
            let is_key = key
                .chars()
                .all(|c| c.is_ascii_lowercase() || " _".contains(c));
            if is_key && !["name", "source", "unknown", "model"].contains(&key) {
                let named = [format!("`{key}`"), format!(".{key}`")];
                assert!(
                    named.iter().any(|name| reference.contains(name)),
                    "{key} of {task}"
                );
            }
        }
    }
    for list in StopList::names() {
        assert!(reference.contains(&format!("`{list}`")), "{list}");
    }
}
