//! The memory that riposte takes does not grow with what is asked of it, or with what a file claims.

use std::fs;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::bounded::run_within;
use crate::support::files::text;
use crate::support::need::{Peer, need};
use crate::support::program::{code, riposte, stderr, succeed};
use crate::support::{assert_says, golden_evidence, sample};

/// The explanations of thousands of topics would take gigabytes.
#[test]
fn images_for_many_topics_take_no_more_memory_than_for_a_few() {
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("e.sqlite");
    fs::copy(golden_evidence(), &evidence).unwrap();
    let run = |number: usize, explained: bool| {
        let topics = home.path().join("topics.jsonl");
        let topic = |n| format!("{{\"qid\": \"{n}\", \"query\": \"Should zoos be closed?\"}}\n");
        fs::write(&topics, (1..=number).map(topic).collect::<String>()).unwrap();
        let (out, explain) = (home.path().join("out"), home.path().join("explain.jsonl"));
        let mut command = riposte(
            home.path(),
            &["images", "--quiet=progress", "-i", text(sample())],
        );
        command.args(["-o", text(&out), "--topics", text(&topics)]);
        command.args(["--evidence", text(&evidence)]);
        if explained {
            command.args(["--explain", text(&explain)]);
        }
        let ended = run_within(Duration::from_secs(300), &mut command);
        assert_eq!(code(&ended.output), 0, "{}", stderr(&ended.output));
        let lines = explained.then(|| fs::read_to_string(&explain).unwrap());
        (ended.peak, lines.unwrap_or_default())
    };
    // the explanations of a single topic stay in memory
    let (_, of_one) = run(1, true);
    let (few, _) = run(64, false);
    // those of 400 topics take more than 300 MB
    let (many, lines) = run(400, true);
    let (without, _) = run(400, false);
    for peak in [many, without] {
        let more = peak.saturating_sub(few) >> 20;
        assert!(more < 60, "{more} MB more than for 64 topics");
    }
    let first: Vec<&str> = lines.lines().take(of_one.lines().count()).collect();
    assert_eq!(first, of_one.lines().collect::<Vec<_>>());
    assert_eq!(lines.lines().count(), 400 * first.len());
}

/// Files of some kilobytes: a text of 300 MB, a list of a million elements that are the same long text, and a list of four million nulls.
const SMALL_FILES: &str = "
import sys
from pyarrow import DictionaryArray, ListArray, array, int32, int64, nulls, parquet, string, table
def write(name, page, **options):
    rows = {'id': ['I1'], 'run': array([1], int64()), 'page': page}
    parquet.write_table(table(rows), sys.argv[1] + '/' + name + '.parquet', compression='zstd', **options)
def list_of(elements):
    return ListArray.from_arrays(array([0, len(elements)], int32()), elements)
write('text', ['a' * 300_000_000], use_dictionary=False)
write('texts', list_of(DictionaryArray.from_arrays(array([0] * 1_000_000, int32()), array(['a' * 100_000]))))
write('nulls', list_of(nulls(4_000_000, string())))
";

#[test]
fn a_small_parquet_file_takes_no_gigabytes() {
    let Some(python) = need(Peer("pyarrow")) else {
        return;
    };
    let home = TempDir::new().unwrap();
    succeed(Command::new(python).args(["-c", SMALL_FILES, text(home.path())]));
    for (name, why, most) in [
        ("text", "row group 1 has more than 256 MiB after", 200 << 20),
        (
            "texts",
            "its row 1 has more than 256 MiB in memory",
            500 << 20,
        ),
        (
            "nulls",
            "its row 1 has more than 256 MiB in memory",
            500 << 20,
        ),
    ] {
        let shard = home.path().join(name);
        fs::create_dir(&shard).unwrap();
        let file = shard.join("part.parquet");
        fs::rename(home.path().join(format!("{name}.parquet")), &file).unwrap();
        assert!(fs::metadata(&file).unwrap().len() < 100_000);
        let store = home.path().join("new.sqlite");
        let mut merge = riposte(home.path(), &["merge", text(&store), text(&shard)]);
        let ended = run_within(Duration::from_secs(60), &mut merge);
        let said = stderr(&ended.output);
        assert_eq!(code(&ended.output), 2, "{said}");
        assert_says(&said, &["part.parquet", "row group 1", why]);
        assert!(ended.peak < most, "{name}: {} bytes", ended.peak);
    }
}

/// Where the system gives a process less than it needs, an error says so, or the command works all the same; no signal ends it.
#[cfg(unix)]
#[test]
fn small_limits_of_the_system_are_named_errors_or_do_not_matter() {
    use std::os::unix::process::ExitStatusExt;
    let home = TempDir::new().unwrap();
    let run = |limit: &str, line: &str| {
        let words = line.split(' ').map(|word| match word {
            "SAMPLE" => text(sample()),
            word => word,
        });
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]);
        let inner = riposte(home.path(), &[]);
        command.arg(inner.get_program()).args(words);
        command.envs(
            inner
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let output = command.current_dir(home.path()).output().unwrap();
        assert_eq!(
            output.status.signal(),
            None,
            "{limit}: {line}: {}",
            stderr(&output)
        );
        output
    };
    let qrels = sample().join("qrels.txt");
    let evaluate = format!("evaluate --qrels {} out/run.txt", text(&qrels));
    // a stack of 64 KiB is enough to start another thread
    for stack in ["-s 8192", "-s 1000", "-s 64"] {
        for line in [
            "images --quiet=progress -i SAMPLE -o out",
            evaluate.as_str(),
            "verify out/run.txt",
            "inspect out --quiet=progress -i SAMPLE -o report",
        ] {
            let output = run(stack, line);
            assert_eq!(code(&output), 0, "{stack}: {line}: {}", stderr(&output));
        }
    }
    for memory in ["-v 1000000", "-v 400000", "-v 150000"] {
        for line in [
            "images --quiet=progress -i SAMPLE -o out",
            "inspect out --quiet=progress -i SAMPLE -o report",
            "controversial -i SAMPLE -o texts",
        ] {
            let output = run(memory, line);
            assert_eq!(code(&output), 2, "{memory}: {line}");
            let said = stderr(&output);
            assert_says(
                &said,
                &[
                    "the address space of a process is limited",
                    "needs at least 1024 MiB",
                ],
            );
        }
        let output = run(memory, &evaluate);
        assert_eq!(code(&output), 0, "{memory}: {}", stderr(&output));
    }
}
