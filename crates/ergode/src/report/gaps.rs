//! Numbers in JSON, where one that is not finite is `null`.

/// `Vec<f64>`.
pub(super) mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::report) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|v| v.is_finite().then_some(*v)))
    }

    pub(in crate::report) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }
}

/// `Vec<[f64; 2]>`.
pub(super) mod pairs {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::report) fn serialize<S: Serializer>(
        pairs: &[[f64; 2]],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let finite = |v: f64| v.is_finite().then_some(v);
        serializer.collect_seq(pairs.iter().map(|pair| pair.map(finite)))
    }

    pub(in crate::report) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<[f64; 2]>, D::Error> {
        let pairs = Vec::<[Option<f64>; 2]>::deserialize(deserializer)?;
        let number = |v: Option<f64>| v.unwrap_or(f64::NAN);
        Ok(pairs.into_iter().map(|pair| pair.map(number)).collect())
    }
}

/// `Array2<f64>` as its rows.
pub(super) mod matrix {
    use ndarray::Array2;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::report) fn serialize<S: Serializer>(
        values: &Array2<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let row = |row: ndarray::ArrayView1<f64>| -> Vec<Option<f64>> {
            row.iter().map(|v| v.is_finite().then_some(*v)).collect()
        };
        serializer.collect_seq(values.outer_iter().map(row))
    }

    pub(in crate::report) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Array2<f64>, D::Error> {
        let rows = Vec::<Vec<Option<f64>>>::deserialize(deserializer)?;
        let shape = (rows.len(), rows.first().map_or(0, Vec::len));
        let values: Vec<f64> = rows
            .into_iter()
            .flatten()
            .map(|v| v.unwrap_or(f64::NAN))
            .collect();
        Array2::from_shape_vec(shape, values).map_err(D::Error::custom)
    }
}
