//! Energy, as the counters of processors say (RAPL, which Linux shows in files).
//!
//! A counter begins again at 0 when it has reached its range, which a busy processor does in some minutes to an hour. So a thread reads the
//! counters from time to time. It runs only where there are counters that may be read: many systems allow that to root alone.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::disk::regular;
use crate::limits::MAX_ENERGY_BYTES;

/// The directory of the counters.
pub(super) const ZONES: &str = "/sys/class/powercap";

/// The beginning of the names of RAPL's counters. Those of intel-rapl-mmio count the same processors again.
const PREFIX: &str = "intel-rapl:";

/// Time between two readings. The smallest usual range, 65 kJ, lasts for over a minute at 1000 W.
const INTERVAL: Duration = Duration::from_secs(30);

/// Joules since the start of a meter; `None` if no counter says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Energy {
    pub processors: Option<f64>,
    pub memory: Option<f64>,
}

/// Adds up what the counters say, from its start on until it is dropped.
pub(super) struct EnergyMeter {
    zones: Arc<Mutex<Vec<Zone>>>,
    /// The thread ends when this is dropped.
    _reader: Option<Sender<()>>,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Processor,
    Memory,
}

/// A counter. Numbers are in microjoules.
#[derive(Debug)]
struct Zone {
    dir: PathBuf,
    part: Part,
    /// The counter begins again at 0 after this value.
    range: u64,
    last: u64,
    /// The sum since the start; `None` once the counter could not be read.
    sum: Option<u64>,
}

impl EnergyMeter {
    /// `dir` is the directory of the counters.
    pub fn start(dir: &Path) -> EnergyMeter {
        let zones = Zone::all(dir);
        let has_zones = !zones.is_empty();
        let zones = Arc::new(Mutex::new(zones));
        let mut reader = None;
        if has_zones {
            let (sender, ends) = mpsc::channel::<()>();
            let read = Arc::clone(&zones);
            let thread = thread::Builder::new().name("energy".to_owned());
            let started = thread.spawn(move || {
                while ends.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    read_all(&read);
                }
            });
            match started {
                Ok(_) => reader = Some(sender),
                // sums that could lack a whole range are no sums
                Err(_) => lock(&zones).clear(),
            }
        }
        EnergyMeter {
            zones,
            _reader: reader,
        }
    }

    /// The energy since the start.
    pub fn used(&self) -> Energy {
        read_all(&self.zones);
        let zones = lock(&self.zones);
        let joules = |part: Part| {
            let mut sums = zones.iter().filter(|zone| zone.part == part).peekable();
            sums.peek()?;
            // one processor of two would look like a small sum
            let sums: Option<Vec<u64>> = sums.map(|zone| zone.sum).collect();
            Some(sums?.into_iter().map(|sum| sum as f64 / 1e6).sum())
        };
        Energy {
            processors: joules(Part::Processor),
            memory: joules(Part::Memory),
        }
    }
}

impl Zone {
    /// All counters of processors and memory; none if one of them cannot be read.
    fn all(dir: &Path) -> Vec<Zone> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let dirs = entries.map(|entry| entry.path());
        let dirs = dirs.filter(|dir| {
            let name = dir.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(PREFIX))
        });
        let zones = dirs.filter_map(|dir| Some((Part::of(&dir)?, dir)));
        let zones: Option<Vec<Zone>> = zones.map(|(part, dir)| Zone::open(dir, part)).collect();
        zones.unwrap_or_default()
    }

    fn open(dir: PathBuf, part: Part) -> Option<Zone> {
        Some(Zone {
            range: number(&dir, "max_energy_range_uj")?,
            last: number(&dir, "energy_uj")?,
            sum: Some(0),
            dir,
            part,
        })
    }

    /// Adds what has been used since the last reading.
    fn read(&mut self) {
        let now = number(&self.dir, "energy_uj");
        self.sum = self.sum.zip(now).map(|(sum, now)| {
            let used = match now.checked_sub(self.last) {
                Some(used) => used,
                None => self.range.saturating_sub(self.last).saturating_add(now),
            };
            sum.saturating_add(used)
        });
        self.last = now.unwrap_or(self.last);
    }
}

impl Part {
    /// What the counter in a directory counts. `None` for the parts of a processor, whose energy is in the processor's, and for the whole machine,
    /// which few machines measure.
    fn of(dir: &Path) -> Option<Part> {
        let name = regular::read_text(&dir.join("name"), MAX_ENERGY_BYTES).ok()?;
        match name.trim() {
            "dram" => Some(Part::Memory),
            name if name.starts_with("package") => Some(Part::Processor),
            _ => None,
        }
    }
}

fn number(dir: &Path, file: &str) -> Option<u64> {
    let text = regular::read_text(&dir.join(file), MAX_ENERGY_BYTES).ok()?;
    text.trim().parse().ok()
}

fn read_all(zones: &Mutex<Vec<Zone>>) {
    lock(zones).iter_mut().for_each(Zone::read);
}

fn lock(zones: &Mutex<Vec<Zone>>) -> std::sync::MutexGuard<'_, Vec<Zone>> {
    // a number that was not added is no reason to end a run
    zones.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn zone(dir: &Path, zone: &str, name: &str, microjoules: u64) {
        let dir = dir.join(zone);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("name"), format!("{name}\n")).unwrap();
        fs::write(dir.join("max_energy_range_uj"), "9000000\n").unwrap();
        fs::write(dir.join("energy_uj"), format!("{microjoules}\n")).unwrap();
    }

    #[test]
    fn processors_and_memory_are_added_up_and_a_counter_that_begins_again_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let set = |name, what, value| zone(dir.path(), name, what, value);
        set("intel-rapl:0", "package-0", 1_000_000);
        set("intel-rapl:1", "package-1", 8_000_000);
        set("intel-rapl:0:0", "core", 5);
        set("intel-rapl:0:1", "dram", 4_000_000);
        set("intel-rapl-mmio:0", "package-0", 1_000_000);
        let meter = EnergyMeter::start(dir.path());
        let nothing = Energy {
            processors: Some(0.0),
            memory: Some(0.0),
        };
        assert_eq!(meter.used(), nothing);
        set("intel-rapl:0", "package-0", 3_000_000);
        set("intel-rapl:1", "package-1", 500_000);
        set("intel-rapl:0:0", "core", 900_000);
        set("intel-rapl-mmio:0", "package-0", 3_000_000);
        let used = Energy {
            processors: Some(2.0 + 1.0 + 0.5),
            memory: Some(0.0),
        };
        assert_eq!(meter.used(), used);
        // a second reading adds nothing
        assert_eq!(meter.used(), used);
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let dir = tempfile::tempdir().unwrap();
        let unknown = Energy::default();
        assert_eq!(EnergyMeter::start(&dir.path().join("none")).used(), unknown);
        zone(dir.path(), "intel-rapl:0", "package-0", 1);
        zone(dir.path(), "intel-rapl:1", "package-1", 1);
        let meter = EnergyMeter::start(dir.path());
        fs::remove_file(dir.path().join("intel-rapl:1/energy_uj")).unwrap();
        assert_eq!(meter.used(), unknown);
        assert_eq!(EnergyMeter::start(dir.path()).used(), unknown);
    }
}
