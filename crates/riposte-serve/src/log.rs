//! The log of requests.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A request that is over, or a connection that was refused. It prints as one line.
#[derive(Clone, Debug)]
pub struct LogRecord<'r> {
    /// When it was over.
    pub time: SystemTime,
    /// The method; `-` for a connection.
    pub method: &'r str,
    /// The template of the route, such as `/api/documents/{collection}/{id}`; `-` if there is none.
    pub route: &'r str,
    /// The status code. 499 says that the client left before it had an answer.
    pub status: u16,
    /// How long it took until the answer could be sent.
    pub elapsed: Duration,
    /// The question, if questions are logged.
    pub question: Option<&'r str>,
    /// Why the server failed; the client was not told.
    pub reason: Option<&'r str>,
}

impl Display for LogRecord<'_> {
    /// For example `2026-11-27T09:30:00Z GET /api/search 200 12 ms`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let LogRecord {
            method,
            route,
            status,
            ..
        } = self;
        let milliseconds = self.elapsed.as_millis();
        write_time(self.time, f)?;
        write!(f, " {method} {route} {status} {milliseconds} ms")?;
        // escaped, so that no text can end the line or colour a terminal
        if let Some(question) = self.question {
            write!(f, " {question:?}")?;
        }
        if let Some(reason) = self.reason {
            write!(f, " failed: {}", reason.escape_debug())?;
        }
        Ok(())
    }
}

/// Writes a time in UTC, as RFC 3339 has it. The date is computed from the days since 1970 by the rules of the Gregorian calendar, with years that begin in
/// March, so that a leap day is the last one.
fn write_time(time: SystemTime, f: &mut Formatter<'_>) -> fmt::Result {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    // 719,468 days from 1 March of the year 0 to 1970
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    write!(
        f,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seconds: u64) -> LogRecord<'static> {
        LogRecord {
            time: UNIX_EPOCH + Duration::from_secs(seconds),
            method: "GET",
            route: "/api/search",
            status: 200,
            elapsed: Duration::from_millis(12),
            question: None,
            reason: None,
        }
    }

    #[test]
    fn a_record_is_a_line_with_a_date() {
        let lines = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_795_744_805, "2026-11-27T02:00:05Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, time) in lines {
            let line = record(seconds).to_string();
            assert_eq!(line, format!("{time} GET /api/search 200 12 ms"));
        }
    }

    #[test]
    fn a_question_cannot_forge_a_line() {
        let record = LogRecord {
            question: Some("zoos\n1970-01-01T00:00:00Z GET / 200\u{1b}[31m"),
            reason: Some("one\ntwo"),
            ..record(0)
        };
        let line = record.to_string();
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(line.ends_with(r"failed: one\ntwo"), "{line}");
    }
}
