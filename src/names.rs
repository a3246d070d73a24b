//! The names of the variants of enums. strum derives them, and serde reads and writes the same names.

/// Implements serde's traits with the names that strum derives. The error for an unknown name is serde's own. The enums must derive `EnumString`,
/// `IntoStaticStr` and `VariantNames`.
macro_rules! serde_by_name {
    ($($name:ty),+) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.into())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                name.parse().map_err(|_| {
                    let known = <$name as strum::VariantNames>::VARIANTS;
                    serde::de::Error::unknown_variant(&name, known)
                })
            }
        }
    )+};
}

pub(crate) use serde_by_name;
