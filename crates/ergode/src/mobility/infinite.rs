//! Numbers in JSON that may be infinite, written as `null`.

/// `f64`.
pub(super) mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::mobility) fn serialize<S: Serializer>(
        value: &f64,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub(in crate::mobility) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}

/// `Vec<f64>`.
pub(super) mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::mobility) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|v| v.is_finite().then_some(*v)))
    }

    pub(in crate::mobility) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values
            .into_iter()
            .map(|v| v.unwrap_or(f64::INFINITY))
            .collect())
    }
}
