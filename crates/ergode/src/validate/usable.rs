//! Observables that users write, tried on the record before anything is fitted.

use super::config::ValidateConfig;
use crate::control::Control;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::observable::{Expressions, Functions};

/// Rows that are evaluated together.
const TOGETHER: usize = 4096;

/// Refuses observables that are no expressions of the coordinates of `record`, or not finite on one of its rows.
///
/// # Errors
/// When there is one; the message has the expression and the first row.
pub(crate) fn refuse_unusable(
    config: &ValidateConfig,
    record: &Ensemble,
    control: &Control,
) -> Result<()> {
    let lists = [
        ("validate.observables", &config.observables),
        ("validate.other_observables", &config.other_observables),
    ];
    for (key, texts) in lists.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let library = Expressions::parse(&texts, record.names(), &[])
            .map_err(|error| Error::input(format!("{key}: {error}")))?;
        refuse_infinite(key, &library, record, control)?;
    }
    Ok(())
}

fn refuse_infinite(
    key: &str,
    library: &Expressions,
    record: &Ensemble,
    control: &Control,
) -> Result<()> {
    let dim = record.dim();
    let (mut rows, mut tile, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for segment in record.segments() {
        let trajectory = &record.trajectories()[segment.trajectory];
        for start in segment.rows.clone().step_by(TOGETHER) {
            let end = segment.rows.end.min(start + TOGETHER);
            let n = end - start;
            rows.resize(n * dim, 0.0);
            trajectory.copy_rows(start..end, &mut rows);
            tile.resize(n * dim, 0.0);
            for (s, row) in rows.chunks_exact(dim).enumerate() {
                row.iter()
                    .enumerate()
                    .for_each(|(i, x)| tile[i * n + s] = *x);
            }
            values.resize(n * library.len(), 0.0);
            library.values(&tile, &mut values);
            control.advance(0)?;
            // The first row, not the first expression.
            let bad = values.iter().enumerate().filter(|(_, v)| !v.is_finite());
            let Some((place, value)) = bad.min_by_key(|(place, _)| place % n) else {
                continue;
            };
            let (k, s) = (place / n, place % n);
            let state = record.names().iter().zip(&rows[s * dim..(s + 1) * dim]);
            let state: Vec<String> = state
                .take(6)
                .map(|(name, x)| format!("{name} = {x}"))
                .collect();
            return Err(record.intact::<()>(Ok(())).err().unwrap_or_else(|| {
                Error::input(format!(
                    "{key}: \"{}\" is {value} in row {} of trajectory {} (both counted from 0), where {}; \
                     choose an observable that is finite on all of the record",
                    library.labels()[k],
                    start + s,
                    segment.trajectory,
                    state.join(", ")
                ))
            }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    fn refusal(texts: &[&str]) -> Option<String> {
        let rows = Array3::from_shape_fn((2, 5000, 1), |(k, i, _)| match (k, i) {
            (1, 4500) => -0.5,
            _ => 1.0 + (i as f64).sin().abs(),
        });
        let data = Ensemble::from_array3(rows.into(), 0.1).unwrap();
        let data = data.with_names(vec!["x".to_owned()]).unwrap();
        let config = ValidateConfig {
            other_observables: texts.iter().map(|&text| text.to_owned()).collect(),
            ..ValidateConfig::default()
        };
        let refused = refuse_unusable(&config, &data, &Control::new());
        refused.err().map(|error| error.to_string())
    }

    #[test]
    fn the_first_row_that_is_not_finite_is_named() {
        assert_eq!(refusal(&[]), None);
        assert_eq!(refusal(&["x^2", "log(x + 1)"]), None);
        let message = refusal(&["x", "log(x)"]).unwrap();
        assert!(
            message.starts_with(
                "validate.other_observables: \"log(x)\" is NaN in row 4500 of trajectory 1"
            ),
            "{message}"
        );
        assert!(message.contains("x = -0.5"), "{message}");
        let message = refusal(&["x^99999999999"]).unwrap();
        assert!(
            message.contains("is inf in row 1 of trajectory 0"),
            "{message}"
        );
        let message = refusal(&["x +"]).unwrap();
        assert!(message.contains("the expression ends"), "{message}");
    }
}
