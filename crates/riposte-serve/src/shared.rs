//! Equal requests at the same moment: one call answers all of them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};

use crate::cache::{CacheKey, Encoded};
use crate::desk::Call;
use crate::refusal::Refusal;

/// What waits for the answer of a call, and stops the call when it is dropped.
pub(crate) type Waits<T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send>>;

/// Calls in progress, by their requests. Each client that waits for a call shares its future, so the call goes on until the last of them has left;
/// the map has only a weak reference. It never has more entries than calls that run or wait for a thread, and one more.
#[derive(Default)]
pub(crate) struct SharedCalls {
    calls: Mutex<HashMap<CacheKey, InProgress>>,
    joined: AtomicU64,
}

struct InProgress {
    call: Call,
    waits: WeakShared<Waits<Encoded>>,
}

impl SharedCalls {
    /// Joins the call that answers this already, for a client that waits until `deadline`, or begins one.
    ///
    /// # Errors
    /// Those of `begin`.
    pub(crate) fn join(
        &self,
        key: CacheKey,
        deadline: Instant,
        begin: impl FnOnce() -> Result<(Call, Waits<Encoded>), Refusal>,
    ) -> Result<Shared<Waits<Encoded>>, Refusal> {
        // it is held for a moment: beginning a call only puts it into a queue
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = calls.get(&key)
            && let Some(waits) = found.waits.upgrade()
            && found.call.join(deadline)
        {
            self.joined.fetch_add(1, Ordering::Relaxed);
            return Ok(waits);
        }
        let (call, waits) = begin()?;
        let waits = waits.shared();
        calls.retain(|_, other| other.waits.upgrade().is_some());
        if let Some(waits) = waits.downgrade() {
            calls.insert(key, InProgress { call, waits });
        }
        Ok(waits)
    }

    /// The number of requests that have joined the call of another one.
    pub(crate) fn joined(&self) -> u64 {
        self.joined.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_that_nobody_waits_for_are_forgotten_and_not_joined() {
        let calls = SharedCalls::default();
        let deadline = Instant::now() + Duration::from_secs(60);
        let begin = |deadline: Instant| {
            let waits: Waits<Encoded> = Box::pin(std::future::pending());
            Ok((Call::until(deadline), waits))
        };
        let key = |number: u64| CacheKey {
            version: number,
            request: "zoos".into(),
        };
        let kept = calls.join(key(0), deadline, || begin(deadline)).unwrap();
        let same = calls.join(key(0), deadline, || panic!("it is there"));
        assert!(kept.ptr_eq(&same.unwrap()));
        assert_eq!(calls.joined(), 1);
        for number in 1..1000 {
            // each client leaves at once
            let _ = calls.join(key(number), deadline, || begin(deadline));
            assert!(calls.calls.lock().unwrap().len() <= 2);
        }
        // what fails to begin is no call
        let refused = calls.join(key(1), deadline, || Err(Refusal::Busy));
        assert_eq!(refused.unwrap_err(), Refusal::Busy);
        // a call whose time is over is left alone: who waits for it is being told so
        let late = calls.join(key(2), deadline, || begin(Instant::now()));
        let next = calls.join(key(2), deadline, || begin(deadline)).unwrap();
        assert!(!next.ptr_eq(&late.unwrap()));
        assert_eq!(calls.joined(), 1);
    }
}
