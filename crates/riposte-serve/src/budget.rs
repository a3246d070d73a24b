//! A bound for the bytes of all answers together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::body::Bytes;

use crate::cache::Encoded;
use crate::refusal::Refusal;

/// Counts the bytes of all answers that are kept or being sent. Clients that ask for much and read slowly would otherwise fill the memory, each with an
/// answer of its own.
pub(crate) struct Budget {
    most: usize,
    held: Arc<AtomicUsize>,
}

/// Bytes that count until the last part of them is dropped: by the cache, and by the connection that has sent it.
struct Held {
    bytes: Bytes,
    held: Arc<AtomicUsize>,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Budget {
        let held = Arc::default();
        Budget { most, held }
    }

    /// # Errors
    /// There is no room for the answer.
    pub(crate) fn hold(&self, answer: Encoded) -> Result<Encoded, Refusal> {
        let bytes = answer.bytes;
        let before = self.held.fetch_add(bytes.len(), Ordering::Relaxed);
        let is_too_much = before.saturating_add(bytes.len()) > self.most;
        let held = Arc::clone(&self.held);
        // dropped at once if there is no room
        let bytes = Bytes::from_owner(Held { bytes, held });
        match is_too_much {
            true => Err(Refusal::Busy),
            false => Ok(Encoded { bytes, ..answer }),
        }
    }

    /// The bytes that are held.
    pub(crate) fn bytes(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(length: usize) -> Encoded {
        Encoded {
            content_type: "text/plain",
            bytes: vec![7; length].into(),
        }
    }

    #[test]
    fn bytes_count_until_their_last_part_is_dropped() {
        let budget = Budget::new(100);
        let held = budget.hold(answer(60)).unwrap();
        assert_eq!(held.bytes[59], 7);
        assert_eq!(budget.hold(answer(60)).unwrap_err(), Refusal::Busy);
        assert_eq!(budget.bytes(), 60);
        let part = held.bytes.slice(0..1);
        drop(held);
        assert_eq!(budget.bytes(), 60);
        drop(part);
        assert_eq!(budget.bytes(), 0);
        assert!(budget.hold(answer(100)).is_ok());
    }
}
