//! Open things that stay open between requests.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use crate::limits::MAX_OPEN;

/// Open things, each with all the settings that it was opened with; the last one used is at the end.
pub struct Shelf<K, T>(Mutex<Vec<(K, Arc<T>)>>);

impl<K, T> Default for Shelf<K, T> {
    fn default() -> Self {
        Shelf(Mutex::new(Vec::new()))
    }
}

impl<K: PartialEq, T> Shelf<K, T> {
    /// What was opened with these settings. If there is nothing, opens it; requests at the same time wait for that.
    ///
    /// # Errors
    /// It cannot be opened. The next request tries again.
    pub fn get(&self, settings: K, open: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = used(&mut kept, &settings) {
            return Ok(value);
        }
        let value = Arc::new(open()?);
        kept.push((settings, Arc::clone(&value)));
        if kept.len() > MAX_OPEN {
            kept.remove(0);
        }
        Ok(value)
    }

    /// What was opened with these settings, if it still is.
    pub fn find(&self, settings: &K) -> Option<Arc<T>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used(&mut kept, settings)
    }

    /// Whether nothing is open.
    pub fn is_empty(&self) -> bool {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.is_empty()
    }
}

/// What was opened with these settings. It becomes the one that was used last.
fn used<K: PartialEq, T>(kept: &mut Vec<(K, Arc<T>)>, settings: &K) -> Option<Arc<T>> {
    let at = kept.iter().position(|(of, _)| of == settings)?;
    let found = kept.remove(at);
    let value = Arc::clone(&found.1);
    kept.push(found);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_opened_once_and_the_oldest_is_closed() {
        let shelf = Shelf::<String, _>::default();
        let mut opened = 0;
        let mut get = |name: usize| {
            let value = shelf.get(name.to_string(), || {
                opened += 1;
                Ok(opened)
            });
            *value.unwrap()
        };
        assert_eq!((get(0), get(0), get(1), get(0)), (1, 1, 2, 1));
        // 1 is the one that was not used for the longest time
        for name in 2..=MAX_OPEN {
            get(name);
        }
        assert_eq!(get(0), 1);
        assert_eq!(get(1), MAX_OPEN + 2);
    }

    #[test]
    fn what_cannot_be_opened_is_tried_again() {
        let shelf = Shelf::<String, _>::default();
        assert!(
            shelf
                .get("a".into(), || anyhow::bail!("it is locked"))
                .is_err()
        );
        assert_eq!(*shelf.get("a".into(), || Ok(1)).unwrap(), 1);
    }
}
