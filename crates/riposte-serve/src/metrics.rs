//! Counts and times of requests, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The upper bounds of the histogram, in milliseconds. An answer that was given before should be in the first four, a new one below 250 or 600.
const BOUNDS: [u64; 12] = [1, 5, 10, 20, 50, 100, 250, 600, 1000, 2500, 10_000, 60_000];

/// What is counted of requests, by route and status. Routes are templates, so there are few.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<(String, u16), Times>>);

#[derive(Clone, Copy, Default)]
struct Times {
    /// The number of requests that took at most each bound, and more than the one before.
    within: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

/// What is measured when somebody asks.
pub(crate) struct Gauges {
    pub(crate) waiting: usize,
    pub(crate) waiting_quick: usize,
    pub(crate) connections: usize,
    pub(crate) cache_bytes: usize,
    pub(crate) answer_bytes: usize,
    /// Since the start.
    pub(crate) joined: u64,
    /// Where the system tells it.
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) open_files: Option<usize>,
}

impl Metrics {
    pub(crate) fn count(&self, route: &str, status: u16, elapsed: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = all.entry((route.to_owned(), status)).or_default();
        times.count += 1;
        times.sum = times.sum.saturating_add(elapsed);
        let mut bounds = BOUNDS.iter().zip(&mut times.within);
        let bound = bounds.find(|(bound, _)| elapsed <= Duration::from_millis(**bound));
        if let Some((_, within)) = bound {
            *within += 1;
        }
    }

    /// # Errors
    /// None: a string takes all texts.
    pub(crate) fn text(&self, gauges: &Gauges) -> Result<String, fmt::Error> {
        let all = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut text = String::new();
        let name = "riposte_request_seconds";
        writeln!(text, "# HELP {name} Time until an answer could be sent.")?;
        writeln!(text, "# TYPE {name} histogram")?;
        for ((route, status), times) in &all {
            // routes contain no quotation marks and no backslashes, so they need no escapes
            let labels = format!("route=\"{route}\",status=\"{status}\"");
            let mut up_to = 0;
            for (bound, within) in BOUNDS.iter().zip(times.within) {
                up_to += within;
                let seconds = Duration::from_millis(*bound).as_secs_f64();
                writeln!(text, "{name}_bucket{{{labels},le=\"{seconds}\"}} {up_to}")?;
            }
            let (count, sum) = (times.count, times.sum.as_secs_f64());
            writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}")?;
            writeln!(text, "{name}_sum{{{labels}}} {sum}")?;
            writeln!(text, "{name}_count{{{labels}}} {count}")?;
        }
        let name = "riposte_joined_requests_total";
        let help = "Requests that were answered by the call of an equal one.";
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter")?;
        writeln!(text, "{name} {}", gauges.joined)?;
        let mut gauge = |name: &str, help: &str, values: &[(&str, u64)]| {
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge")?;
            let mut values = values.iter();
            values.try_for_each(|(labels, value)| writeln!(text, "{name}{labels} {value}"))
        };
        let queues = [
            ("{queue=\"models\"}", gauges.waiting as u64),
            ("{queue=\"quick\"}", gauges.waiting_quick as u64),
        ];
        gauge(
            "riposte_waiting_calls",
            "Calls that wait for a thread.",
            &queues,
        )?;
        let connections = [("", gauges.connections as u64)];
        gauge("riposte_connections", "Open connections.", &connections)?;
        let cache = [("", gauges.cache_bytes as u64)];
        gauge(
            "riposte_cache_bytes",
            "Bytes of answers that are kept.",
            &cache,
        )?;
        let answers = [("", gauges.answer_bytes as u64)];
        let help = "Bytes of answers that are kept or being sent.";
        gauge("riposte_answer_bytes", help, &answers)?;
        if let Some(bytes) = gauges.resident_bytes {
            let help = "Memory of the process.";
            gauge("process_resident_memory_bytes", help, &[("", bytes)])?;
        }
        if let Some(files) = gauges.open_files {
            let help = "File handles of the process.";
            gauge("process_open_fds", help, &[("", files as u64)])?;
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_all_buckets_from_its_time_on() {
        let metrics = Metrics::default();
        metrics.count("/api/search", 200, Duration::from_millis(15));
        metrics.count("/api/search", 200, Duration::from_secs(100));
        metrics.count("/api/search", 503, Duration::from_millis(1));
        let gauges = Gauges {
            waiting: 2,
            waiting_quick: 0,
            connections: 1,
            cache_bytes: 7,
            answer_bytes: 9,
            joined: 3,
            resident_bytes: Some(4096),
            open_files: None,
        };
        let text = metrics.text(&gauges).unwrap();
        let series = |line: &str| text.lines().any(|it| it == line);
        let labels = "route=\"/api/search\",status=\"200\"";
        assert!(series(&format!(
            "riposte_request_seconds_bucket{{{labels},le=\"0.01\"}} 0"
        )));
        assert!(series(&format!(
            "riposte_request_seconds_bucket{{{labels},le=\"0.02\"}} 1"
        )));
        assert!(series(&format!(
            "riposte_request_seconds_bucket{{{labels},le=\"60\"}} 1"
        )));
        assert!(series(&format!(
            "riposte_request_seconds_bucket{{{labels},le=\"+Inf\"}} 2"
        )));
        assert!(series(&format!(
            "riposte_request_seconds_sum{{{labels}}} 100.015"
        )));
        assert!(series("riposte_waiting_calls{queue=\"models\"} 2"));
        assert!(series("riposte_joined_requests_total 3"));
        assert!(series("process_resident_memory_bytes 4096"));
        assert!(!text.contains("process_open_fds"));
    }
}
