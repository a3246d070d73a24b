//! The evidence about a document: what the collection gives, and the values of the channels.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Debug;

use riposte_eval::DocId;

use crate::collection::images::GivenTexts;

/// What a channel has found of a document. Its file defines the type, by which [`Evidence::get`] finds the value.
pub trait ChannelValue: Any + Debug + Send + Sync {}

/// All evidence about a document.
#[derive(Debug, Default)]
pub struct Evidence {
    pub id: DocId,
    /// The address at which the image was found; empty if unknown.
    pub url: String,
    pub given: GivenTexts,
    values: BTreeMap<TypeId, Box<dyn ChannelValue>>,
}

impl Evidence {
    /// A document of which nothing is known yet.
    pub fn of(id: DocId) -> Evidence {
        Evidence {
            id,
            ..Evidence::default()
        }
    }

    /// The value of a channel; `None` if the channel has not been computed or has found nothing.
    pub fn get<V: ChannelValue>(&self) -> Option<&V> {
        let value: &dyn Any = &**self.values.get(&TypeId::of::<V>())?;
        value.downcast_ref()
    }

    /// The values of a channel that finds several; empty where [`Evidence::get`] is `None`.
    pub fn list<T>(&self) -> &[T]
    where
        Vec<T>: ChannelValue,
    {
        self.get::<Vec<T>>().map_or(&[], Vec::as_slice)
    }

    /// The value of a channel, which is added if there is none.
    pub fn get_mut<V: ChannelValue + Default>(&mut self) -> &mut V {
        let value = self.values.entry(TypeId::of::<V>());
        let value: &mut dyn Any = &mut **value.or_insert_with(|| Box::<V>::default());
        value.downcast_mut().expect("the key is the value's type")
    }

    /// Sets the value of a channel.
    pub fn put<V: ChannelValue>(&mut self, value: V) {
        self.values.insert(TypeId::of::<V>(), Box::new(value));
    }

    /// Adds the values of the channels of other evidence.
    pub(super) fn add(&mut self, other: Evidence) {
        self.values.extend(other.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Brightness(f64);

    impl ChannelValue for Brightness {}
    impl ChannelValue for Vec<char> {}

    #[test]
    fn a_value_is_found_by_its_type() {
        let mut evidence = Evidence::of(DocId("I1".into()));
        assert_eq!(evidence.get::<Brightness>(), None);
        assert!(evidence.list::<char>().is_empty());
        evidence.put(Brightness(0.25));
        evidence.put(Brightness(0.5));
        evidence.get_mut::<Vec<char>>().push('a');
        evidence.get_mut::<Vec<char>>().push('b');
        assert_eq!(evidence.get(), Some(&Brightness(0.5)));
        assert_eq!(evidence.list::<char>(), ['a', 'b']);
    }
}
