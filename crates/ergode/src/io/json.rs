//! JSON of results, in which a number that is none is null.

use std::vec;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// Reads a value that `serde_json` wrote: where a floating-point number is asked for, null is NaN, which JSON
/// cannot write.
pub(crate) fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, Error> {
    let value: Value = serde_json::from_slice(text)?;
    T::deserialize(Numbers(value))
}

/// A value whose nulls are NaN where numbers are asked for.
struct Numbers(Value);

type Keys = StringDeserializer<Error>;

impl<'de> Deserializer<'de> for Numbers {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(list) => visitor.visit_seq(Items(list.into_iter())),
            Value::Object(map) => visitor.visit_map(Entries::new(map)),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_f64(f64::NAN),
            other => other.deserialize_f64(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            other => visitor.visit_some(Self(other)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(map) if map.len() == 1 => {
                let mut entries = map.into_iter();
                let (variant, content) = entries.next().expect("it has one entry");
                visitor.visit_enum(Variant { variant, content })
            }
            other => other.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// A list.
struct Items(vec::IntoIter<Value>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let next = self.0.next();
        next.map(|value| seed.deserialize(Numbers(value)))
            .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// An object, and the value of the key that was read last.
struct Entries {
    rest: serde_json::map::IntoIter,
    value: Value,
}

impl Entries {
    fn new(map: Map<String, Value>) -> Self {
        Self {
            rest: map.into_iter(),
            value: Value::Null,
        }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = value;
        let key: Keys = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Numbers(self.value.take()))
    }
}

/// A variant of an enumeration that has content.
struct Variant {
    variant: String,
    content: Value,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Numbers;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Numbers), Error> {
        let variant: Keys = self.variant.into_deserializer();
        Ok((seed.deserialize(variant)?, Numbers(self.content)))
    }
}

impl<'de> VariantAccess<'de> for Numbers {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        serde::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Plain,
        Number(f64),
        Pair(f64, u32),
        Named { value: f64, maybe: Option<f64> },
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Whole {
        list: Vec<f64>,
        map: BTreeMap<String, f64>,
        kinds: Vec<Kind>,
        maybe: Option<f64>,
        count: u64,
        pair: (f64, bool),
    }

    #[test]
    fn numbers_that_are_none_come_back() {
        let whole = Whole {
            list: vec![1.5, f64::NAN, 3.0],
            map: BTreeMap::from([("a".to_owned(), f64::NAN)]),
            kinds: vec![
                Kind::Plain,
                Kind::Number(f64::NAN),
                Kind::Pair(f64::NAN, 4),
                Kind::Named {
                    value: f64::NAN,
                    maybe: None,
                },
            ],
            maybe: None,
            count: 7,
            pair: (f64::NAN, true),
        };
        let text = serde_json::to_vec(&whole).unwrap();
        let read: Whole = from_json(&text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{whole:?}"));
    }

    #[test]
    fn null_is_no_count_and_no_text() {
        assert!(from_json::<Vec<u64>>(b"[null]").is_err());
        assert!(from_json::<Vec<String>>(b"[null]").is_err());
        assert!(from_json::<Kind>(br#"{"Other": 1}"#).is_err());
    }
}
