//! The unknown key or name because of which serde refuses a text.
//!
//! serde tells an error type the name and the known ones, but toml's own keeps only the sentence. So a refused text is read again with an error type that
//! keeps them.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;

/// A name, and those that are known in its place.
type Unknown = (String, &'static [&'static str]);

/// The first name in a text that serde refuses because it is none of the known ones; `None` if it refuses something else.
pub(super) fn unknown<T: DeserializeOwned>(text: &str) -> Option<Unknown> {
    let table = text.parse().ok()?;
    T::deserialize(Read(Value::Table(table))).err()?.0
}

/// An error of serde, of which only an unknown name is kept.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
struct Refusal(Option<Unknown>);

impl de::Error for Refusal {
    fn custom<M: fmt::Display>(_: M) -> Refusal {
        Refusal(None)
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Refusal {
        Refusal(Some((name.to_owned(), known)))
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Refusal {
        Refusal(Some((name.to_owned(), known)))
    }
}

/// A value that is read with this error.
struct Read(Value);

impl IntoDeserializer<'_, Refusal> for Read {
    type Deserializer = Read;

    fn into_deserializer(self) -> Read {
        self
    }
}

impl<'de> Deserializer<'de> for Read {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(values) => {
                visitor.visit_seq(SeqDeserializer::new(values.into_iter().map(Read)))
            }
            Value::Table(table) => visitor.visit_map(MapDeserializer::new(
                table.into_iter().map(|(key, value)| (key, Read(value))),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Table(table) => {
                let entries = table.into_iter().map(|(key, value)| (key, Read(value)));
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(entries)))
            }
            Value::String(name) => visitor.visit_enum(name.into_deserializer()),
            _ => Err(Refusal(None)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
