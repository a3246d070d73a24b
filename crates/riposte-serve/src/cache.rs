//! Answers that were given before, within a bound of bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use lru::LruCache;

/// The body of an answer, and its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Encoded {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Bytes,
}

/// The key of a kept answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    /// The version of what it was answered from.
    pub(crate) version: u64,
    /// The route and the request.
    pub(crate) request: Arc<str>,
}

/// The least recently used answers are forgotten first.
pub(crate) struct AnswerCache {
    most_bytes: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    entries: LruCache<CacheKey, Encoded>,
    bytes: usize,
}

/// What an entry takes in bytes besides its texts: the entry itself, its place in a table that is half empty, and the allocator's share.
const OVERHEAD: usize = 256;

/// An answer of more than this part of the cache is not kept: it would push out all others.
const PART: usize = 8;

impl AnswerCache {
    pub(crate) fn new(most_bytes: usize) -> AnswerCache {
        let entries = LruCache::unbounded();
        let inner = Mutex::new(Inner { entries, bytes: 0 });
        AnswerCache { most_bytes, inner }
    }

    pub(crate) fn get(&self, key: &CacheKey) -> Option<Encoded> {
        self.lock().entries.get(key).cloned()
    }

    pub(crate) fn put(&self, key: CacheKey, answer: Encoded) {
        let bytes = cost(&key, &answer);
        if bytes > self.most_bytes / PART {
            return;
        }
        let mut inner = self.lock();
        let before = inner.entries.push(key, answer);
        // an unbounded list returns only an entry with the same key
        inner.bytes -= before.map_or(0, |(key, answer)| cost(&key, &answer));
        inner.bytes += bytes;
        while inner.bytes > self.most_bytes
            && let Some((key, answer)) = inner.entries.pop_lru()
        {
            inner.bytes -= cost(&key, &answer);
        }
    }

    /// The bytes that the cache takes.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(key: &CacheKey, answer: &Encoded) -> usize {
    OVERHEAD + key.request.len() + answer.bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(version: u64, request: &str) -> CacheKey {
        let request = request.into();
        CacheKey { version, request }
    }

    fn answer(bytes: Vec<u8>) -> Encoded {
        Encoded {
            content_type: "text/plain",
            bytes: bytes.into(),
        }
    }

    #[test]
    fn a_million_different_questions_stay_within_the_bytes() {
        const BYTES: usize = 1 << 20;
        let cache = AnswerCache::new(BYTES);
        for number in 0..1_000_000_usize {
            cache.put(key(1, &number.to_string()), answer(vec![0; number % 500]));
            assert!(cache.bytes() <= BYTES);
        }
        let inner = cache.lock();
        let entries = inner.entries.len();
        assert!((1000..=BYTES / OVERHEAD).contains(&entries), "{entries}");
        let bytes = inner.entries.iter().map(|(key, answer)| cost(key, answer));
        assert_eq!(inner.bytes, bytes.sum::<usize>());
        drop(inner);
        assert!(cache.get(&key(1, "999999")).is_some());
        assert!(cache.get(&key(1, "0")).is_none());
    }

    #[test]
    fn what_was_asked_lately_stays() {
        let cache = AnswerCache::new(100_000);
        cache.put(key(1, "kept"), answer(vec![1; 1000]));
        for number in 0..1000 {
            cache.put(key(1, &number.to_string()), answer(vec![0; 1000]));
            assert_eq!(cache.get(&key(1, "kept")).unwrap().bytes[0], 1);
        }
    }

    #[test]
    fn another_version_has_other_answers_and_the_same_question_one() {
        let cache = AnswerCache::new(100_000);
        cache.put(key(1, "q"), answer(vec![1]));
        assert!(cache.get(&key(2, "q")).is_none());
        let bytes = cache.bytes();
        cache.put(key(1, "q"), answer(vec![2]));
        assert_eq!(cache.bytes(), bytes);
        assert_eq!(cache.get(&key(1, "q")).unwrap().bytes[0], 2);
    }

    #[test]
    fn an_answer_that_would_push_out_all_others_is_not_kept() {
        let cache = AnswerCache::new(8000);
        cache.put(key(1, "small"), answer(vec![0; 100]));
        cache.put(key(1, "large"), answer(vec![0; 1000]));
        assert!(cache.get(&key(1, "large")).is_none());
        assert!(cache.get(&key(1, "small")).is_some());
        AnswerCache::new(0).put(key(1, "off"), answer(vec![]));
    }
}
