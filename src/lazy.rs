//! A model that is loaded when it is first used. A run over stored evidence always needs the name of a model, but seldom the model itself.

use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Result;

/// A model that may not be loaded yet.
pub struct Lazy<T> {
    producer: String,
    load: Box<dyn Fn() -> Result<T> + Send + Sync>,
    loading: Mutex<()>,
    loaded: OnceLock<T>,
}

impl<T> Lazy<T> {
    /// Wraps a model without loading it. `producer` is the name that the loaded model will have as a producer.
    pub fn new(producer: String, load: impl Fn() -> Result<T> + Send + Sync + 'static) -> Self {
        Lazy {
            producer,
            load: Box::new(load),
            loading: Mutex::new(()),
            loaded: OnceLock::new(),
        }
    }

    /// The name under which the model's results are stored.
    pub fn producer(&self) -> &str {
        &self.producer
    }

    /// The model. The first call loads it; calls from other threads wait for that.
    ///
    /// # Errors
    /// The model cannot be loaded. The next call tries again.
    pub fn get(&self) -> Result<&T> {
        if let Some(model) = self.loaded.get() {
            return Ok(model);
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = self.loaded.get() {
            return Ok(model);
        }
        let model = (self.load)()?;
        Ok(self.loaded.get_or_init(|| model))
    }

    /// The model, if it has been loaded.
    pub fn loaded(&self) -> Option<&T> {
        self.loaded.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_model_is_loaded_once_and_not_before_it_is_used() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let model = Lazy::new("m/1".to_owned(), move || {
            match counted.fetch_add(1, Ordering::Relaxed) {
                0 => anyhow::bail!("the disk is not mounted yet"),
                call => Ok(call),
            }
        });
        assert_eq!(
            (model.producer(), calls.load(Ordering::Relaxed)),
            ("m/1", 0)
        );
        assert!(model.get().is_err() && model.loaded().is_none());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*model.get().unwrap(), 1));
            }
        });
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        assert_eq!(model.loaded(), Some(&1));
    }
}
