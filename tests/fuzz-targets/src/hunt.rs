//! Runs a target on its corpus and on mutated inputs, and keeps the inputs that make it fail.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use anyhow::{Context, Result};
use seeded_random::Random;

use crate::Target;
use crate::mutate::mutated;

/// The time limit for one input. It is longer for code that is not optimised.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });
/// An input may take this many times as long while the process does not compute: other programs may use all processors.
const WAITING: u32 = 12;
/// The slowest input is kept if it takes longer than this, because a larger input of its kind could exceed the limit.
const SLOW: Duration = Duration::from_millis(500);
/// The limit for the resident memory of the process, in which the tests of several targets run at once. Decoding an image of 100 million
/// pixels takes up to 640 MB, and its 8-bit pixels take 300 MB.
const MEMORY_KB: u64 = 4 << 20;
/// The time between two checks by the watchdog.
const WATCH: Duration = Duration::from_millis(20);

/// The result of running a target.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The number of inputs that were run, including those of the corpus.
    pub inputs: u64,
    pub took: Duration,
    /// The longest time that an input took.
    pub slowest: Duration,
    /// For each panic message, the file with the first input that caused it.
    pub failures: BTreeMap<String, PathBuf>,
}

/// The committed inputs of a target, by the names of their files.
///
/// # Errors
/// The corpus is empty, or an input cannot be read.
pub fn corpus(target: &Target) -> Result<Vec<(String, Vec<u8>)>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let reading = || format!("cannot read the corpus {}", dir.display());
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&dir).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        inputs.push((name.into_owned(), fs::read(&path).with_context(reading)?));
    }
    inputs.sort();
    anyhow::ensure!(!inputs.is_empty(), "{} is empty", dir.display());
    Ok(inputs)
}

/// The directory for failing inputs of a target.
pub fn failures_of(target: &Target) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let default = || workspace.unwrap_or(Path::new(".")).join("target");
    let base = std::env::var_os("CARGO_TARGET_DIR").map_or_else(default, PathBuf::from);
    base.join("fuzz-failures").join(target.name)
}

/// Runs the target on its corpus and then, until `time` is over, on mutated inputs. The inputs depend on `seed`, their number depends on the
/// machine.
///
/// An input that takes too long or too much memory is written to [`failures_of`], and then the process ends. If an input ends the process in
/// another way, it is in the file `at-work` there.
///
/// # Errors
/// The corpus cannot be read, or a failing input cannot be written.
pub fn hunt(target: &'static Target, seed: u64, time: Duration) -> Result<Outcome> {
    let committed = corpus(target)?;
    let pool: Vec<Vec<u8>> = committed.iter().map(|(_, bytes)| bytes.clone()).collect();
    let watchdog = Watchdog::start(target);
    let record = Record::create(target)?;
    let mut outcome = Outcome::default();
    let start = Instant::now();
    let mut random = Random::new(seed, target.name, 0);
    let mut queue = committed.into_iter().map(|(_, bytes)| bytes);
    loop {
        let input = match queue.next() {
            Some(input) => input,
            None if start.elapsed() >= time => break,
            None => {
                let mut input = mutated(&mut random, &pool, target.words);
                if let Some(mend) = target.mend
                    && random.percent(75)
                {
                    mend(&mut input);
                }
                input
            }
        };
        let input: Arc<[u8]> = input.into();
        let began = Instant::now();
        record.write(&input)?;
        watchdog.begin(&input, began);
        let ended = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        watchdog.end();
        if began.elapsed() > outcome.slowest.max(SLOW) {
            fs::write(failures_of(target).join("slowest"), &input)?;
        }
        outcome.slowest = outcome.slowest.max(began.elapsed());
        outcome.inputs += 1;
        if let Err(panic) = ended {
            let said = message_of(&*panic);
            if let Entry::Vacant(first) = outcome.failures.entry(said) {
                first.insert(save(target, &input)?);
            }
        }
    }
    outcome.took = start.elapsed();
    record.remove();
    Ok(outcome)
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// Writes a failing input to a file whose name is a hash of its bytes.
fn save(target: &Target, input: &[u8]) -> Result<PathBuf> {
    let dir = failures_of(target);
    let writing = || format!("cannot write a failing input to {}", dir.display());
    fs::create_dir_all(&dir).with_context(writing)?;
    let mut hash = DefaultHasher::new();
    input.hash(&mut hash);
    let path = dir.join(format!("{:016x}", hash.finish()));
    fs::write(&path, input).with_context(writing)?;
    Ok(path)
}

/// A file with the present input. It is written before the target runs, because a failed allocation or a stack overflow ends the process at
/// once.
struct Record {
    path: PathBuf,
    file: File,
}

impl Record {
    fn create(target: &Target) -> Result<Record> {
        let dir = failures_of(target);
        let writing = || format!("cannot write to {}", dir.display());
        fs::create_dir_all(&dir).with_context(writing)?;
        let path = dir.join("at-work");
        let file = File::create(&path).with_context(writing)?;
        Ok(Record { path, file })
    }

    fn write(&self, input: &[u8]) -> Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        Ok(file.write_all(input)?)
    }

    /// Removes the file, when the process has survived all inputs.
    fn remove(self) {
        let _ = fs::remove_file(self.path);
    }
}

/// The present input, and the time when the target began to read it.
type AtWork = Arc<Mutex<Option<(Arc<[u8]>, Instant)>>>;

/// Writes an input to a file and ends the process if the input takes too much time or memory.
struct Watchdog {
    at_work: AtWork,
    stop: Arc<AtomicBool>,
}

impl Watchdog {
    fn start(target: &'static Target) -> Watchdog {
        let at_work: AtWork = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let (watched, stopped) = (Arc::clone(&at_work), Arc::clone(&stop));
        thread::spawn(move || {
            // the input that was seen last, by its beginning, and how long the process had computed then
            let mut seen: Option<(Instant, Option<Duration>)> = None;
            while !stopped.load(Ordering::Relaxed) {
                thread::sleep(WATCH);
                let at_work = lock(&watched).clone();
                let Some((input, began)) = at_work else {
                    continue;
                };
                let now = computing_time();
                let before = match seen {
                    Some((of, before)) if of == began => before,
                    _ => now,
                };
                seen = Some((began, before));
                let computed = now
                    .zip(before)
                    .map(|(now, before)| now.saturating_sub(before));
                let is_at_work = computed.is_none_or(|time| time > TIME);
                let took = began.elapsed();
                let what = if took > TIME && is_at_work || took > TIME * WAITING {
                    format!("took more than {} s", TIME.as_secs())
                } else if resident_kb().is_some_and(|kb| kb > MEMORY_KB) {
                    format!("took more than {} MB", MEMORY_KB >> 10)
                } else {
                    continue;
                };
                match save(target, &input) {
                    Ok(path) => eprintln!("{}: {} {what}", target.name, path.display()),
                    Err(error) => eprintln!("{}: an input {what}; {error:#}", target.name),
                }
                process::abort();
            }
        });
        Watchdog { at_work, stop }
    }

    fn begin(&self, input: &Arc<[u8]>, began: Instant) {
        *lock(&self.at_work) = Some((Arc::clone(input), began));
    }

    fn end(&self) {
        *lock(&self.at_work) = None;
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The resident memory of this process; `None` if the system has no such file.
fn resident_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The time for which this process has computed; `None` if the system has no such file.
fn computing_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // the second field is the program's name, in brackets; the 14th and the 15th are in hundredths of a second
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let mut next = || times.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((next()? + next()?) * 10))
}
