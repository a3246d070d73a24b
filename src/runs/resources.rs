//! What making a run took: time and memory, in the fields in which the program tirex-tracker adds them to ir_metadata.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::disk::regular;

/// Linux counts the time of processes in hundredths of a second on every architecture that riposte is built for.
const TICK: Duration = Duration::from_millis(10);

/// Measures from its start on.
pub struct Meter {
    began: Instant,
    cpu: Option<CpuTime>,
}

/// What was used between the start of a [`Meter`] and a later moment. What this system does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    pub wall: Option<Duration>,
    /// Of all threads of this process, and of the processes that it started and that have ended.
    pub cpu: Option<CpuTime>,
    /// The most memory that this process has had since it began, in units of 1000 bytes.
    pub peak_kilobytes: Option<u64>,
}

/// Time that processors spent on a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the program itself.
    pub user: Duration,
    /// In the kernel, on behalf of the program.
    pub system: Duration,
}

impl Meter {
    pub fn start() -> Meter {
        Meter {
            began: Instant::now(),
            cpu: CpuTime::of_text(&about("stat")),
        }
    }

    /// What has been used since the start.
    pub fn used(&self) -> Used {
        Used {
            wall: Some(self.began.elapsed()),
            cpu: CpuTime::of_text(&about("stat"))
                .zip(self.cpu)
                .map(|(now, then)| CpuTime {
                    user: now.user.saturating_sub(then.user),
                    system: now.system.saturating_sub(then.system),
                }),
            peak_kilobytes: peak_kilobytes(&about("status")),
        }
    }
}

impl Used {
    /// The part `resources` of ir_metadata. What is not known is null.
    pub fn to_json(self) -> Value {
        let milliseconds = |time: Duration| format!("{} ms", time.as_millis());
        let ram = |peak: u64| json!({"used process": {"max": peak}});
        json!({
            "runtime": {
                "wallclock": self.wall.map(milliseconds),
                "user": self.cpu.map(|cpu| milliseconds(cpu.user)),
                "system": self.cpu.map(|cpu| milliseconds(cpu.system)),
            },
            "ram": self.peak_kilobytes.map(ram),
        })
    }
}

impl CpuTime {
    /// Reads the text of `/proc/self/stat`.
    fn of_text(text: &str) -> Option<CpuTime> {
        // the second field is the program's name in brackets, which can have blanks and brackets in it
        let (_, fields) = text.rsplit_once(')')?;
        // the 14th to 17th fields: user and system time of the process, and of the children that it has waited for
        let times = fields.split_whitespace().skip(11).take(4);
        let times = times.map(|ticks| Some(TICK * ticks.parse::<u32>().ok()?));
        let times: Vec<Duration> = times.collect::<Option<_>>()?;
        let &[user, system, user_of_children, system_of_children] = times.as_slice() else {
            return None;
        };
        Some(CpuTime {
            user: user + user_of_children,
            system: system + system_of_children,
        })
    }
}

/// The most memory that another process has had since it began, in units of 1000 bytes. `None` if it has ended, or the system does not say.
pub fn peak_of(process: u32) -> Option<u64> {
    peak_kilobytes(&about_process(&process.to_string(), "status"))
}

/// A file about this process; empty where there is none.
fn about(file: &str) -> String {
    about_process("self", file)
}

fn about_process(process: &str, file: &str) -> String {
    let path = Path::new("/proc").join(process).join(file);
    regular::read_text(&path, crate::limits::MAX_PROCESS_FILE_BYTES).unwrap_or_default()
}

/// The peak of the memory, from the text of `/proc/self/status`, which says it in KiB.
fn peak_kilobytes(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_a_name_with_blanks_and_brackets() {
        let text = "10847 (my (odd) 9 name) R 1 2 3 0 -1 4194304 101 0 0 0 250 30 100 7 20 0 1 0 8893214 3133440\n";
        let time = CpuTime::of_text(text).unwrap();
        assert_eq!(time.user, Duration::from_millis(3500));
        assert_eq!(time.system, Duration::from_millis(370));
        for broken in [
            "",
            "10847 (cat) R 1 2",
            "1 (cat) R 1 2 3 4 5 6 7 8 9 10 x 1 1 1",
        ] {
            assert_eq!(CpuTime::of_text(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_peak_is_in_units_of_a_thousand_bytes() {
        let status = "Name:\tcat\nVmPeak:\t    3060 kB\nVmHWM:\t    2000 kB\nVmRSS:\t 1712 kB\n";
        assert_eq!(peak_kilobytes(status), Some(2048));
        assert_eq!(peak_kilobytes("VmHWM:\t 5 MB\n"), None);
        assert_eq!(peak_kilobytes(""), None);
    }

    #[test]
    fn the_fields_are_those_of_tirex_tracker() {
        let used = Used {
            wall: Some(Duration::from_micros(1_086_900)),
            cpu: Some(CpuTime {
                user: Duration::from_millis(900),
                system: Duration::from_millis(20),
            }),
            peak_kilobytes: Some(5062),
        };
        assert_eq!(
            used.to_json(),
            json!({
                "runtime": {"wallclock": "1086 ms", "user": "900 ms", "system": "20 ms"},
                "ram": {"used process": {"max": 5062}},
            })
        );
        assert!(Used::default().to_json()["ram"].is_null());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_meter_counts_the_work_between_its_start_and_the_question() {
        let meter = Meter::start();
        let before = meter.used();
        let start = Instant::now();
        // the clock of processes ticks a hundred times a second
        while start.elapsed() < Duration::from_millis(100) {
            std::hint::black_box(start);
        }
        let after = meter.used();
        assert!(after.wall.unwrap() >= before.wall.unwrap() + Duration::from_millis(100));
        let total = |used: &Used| used.cpu.map(|cpu| cpu.user + cpu.system).unwrap();
        assert!(total(&after) > total(&before));
        assert!(after.peak_kilobytes.unwrap() > 0);
    }
}
