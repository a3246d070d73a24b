//! Models in memory that several parts of a process use.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::Compute;
use crate::lazy::Lazy;

/// A name that only one model has, and how the model computes.
pub(super) type ModelKey = (String, Compute);

type SharedModel = (ModelKey, Arc<dyn Any + Send + Sync>);

/// Models that are kept, and loaded when they are first used.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Vec<SharedModel>>>);

impl Shared {
    /// The model with this key, or the one that `make` makes.
    pub fn get<T: Send + Sync + 'static>(
        &self,
        key: ModelKey,
        make: impl FnOnce() -> Lazy<T>,
    ) -> Arc<Lazy<T>> {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = models.iter().filter(|(of, _)| *of == key);
        let known = known.find_map(|(_, model)| Arc::clone(model).downcast::<Lazy<T>>().ok());
        known.unwrap_or_else(|| {
            let model = Arc::new(make());
            models.push((key, Arc::clone(&model) as Arc<dyn Any + Send + Sync>));
            model
        })
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Shared")
    }
}

#[cfg(test)]
mod tests {
    use riposte_nn::conv::NumericMode;

    use super::*;

    #[test]
    fn a_model_is_made_once_for_each_key_and_type() {
        let shared = Shared::default();
        let make = |number: i32| move || Lazy::new("n".into(), move || Ok(number));
        let key = |name: &str| (name.to_owned(), Compute::default());
        let first = shared.get(key("a"), make(1));
        let again = shared.clone().get(key("a"), make(2));
        assert_eq!((*first.get().unwrap(), *again.get().unwrap()), (1, 1));
        assert_eq!(*shared.get(key("b"), make(3)).get().unwrap(), 3);
        let floats = Compute {
            numeric: NumericMode::Float,
            ..Compute::default()
        };
        assert_eq!(*shared.get(("a".into(), floats), make(4)).get().unwrap(), 4);
        let other = shared.get(key("a"), || Lazy::new("n".into(), || Ok("text")));
        assert_eq!(*other.get().unwrap(), "text");
    }
}
