//! A model in a folder: `model.json` for what is read by people, `model.safetensors` for the numbers.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::tensors::{Numbers, Tensor, decode, encode};
use super::{LangevinModel, Provenance};
use crate::data::checksum;
use crate::error::{Error, Result};
use crate::io::{AtomicFile, read_regular};
use crate::simulate::Scheme;

/// The layout of the files; raised when older versions could not read them.
const FORMAT: u64 = 1;

const DESCRIPTION: &str = "model.json";
const TENSORS: &str = "model.safetensors";

/// Lists of at least this many numbers go to the tensor file.
const LONG: usize = 64;

/// `model.json`. Arrays are replaced by the names and shapes of tensors: `{"array": name, "shape": [..]}`
/// for a matrix, `{"list": name, "shape": [n]}` for a list.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    format: u64,
    /// Of the tensor file, in hexadecimal.
    checksum: String,
    /// Of this description without this entry, in hexadecimal; not in models of versions before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description_checksum: Option<String>,
    names: Vec<String>,
    provenance: Provenance,
    starts: Value,
    score: Value,
    mobility: Value,
    /// Left out where the state is the record.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    observation: Value,
    /// Left out where the coordinates are any real numbers.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    space: Value,
    /// Left out where the model was not validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    validated_step: Option<Step>,
}

/// Step and scheme of the simulations that validated a model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    dt: f64,
    scheme: Scheme,
}

impl LangevinModel {
    /// Write the model to `model.json` and `model.safetensors` in a folder, which is made if need be.
    ///
    /// # Errors
    /// When a part cannot be stored, such as a score in fields of one's own, or a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let mut tensors = BTreeMap::new();
        let mut lifted = |name: &str, part: serde_json::Result<Value>| {
            let mut part = part.map_err(|error| {
                Error::input(format!("the {name} of the model cannot be saved: {error}"))
            })?;
            lift(&mut part, name, &mut tensors);
            Ok::<Value, Error>(part)
        };
        let mut description = Description {
            format: FORMAT,
            checksum: String::new(),
            description_checksum: None,
            names: self.names.clone(),
            provenance: self.provenance.clone(),
            starts: lifted("starts", serde_json::to_value(&self.starts))?,
            score: lifted("score", serde_json::to_value(&*self.score))?,
            mobility: lifted("mobility", serde_json::to_value(&self.mobility.stored))?,
            observation: match self.observation.is_plain() {
                true => Value::Null,
                false => lifted("observation", serde_json::to_value(&self.observation))?,
            },
            space: match self.space.is_plain() {
                true => Value::Null,
                false => lifted("space", serde_json::to_value(&self.space))?,
            },
            validated_step: self.validated_step.map(|(dt, scheme)| Step { dt, scheme }),
        };
        let file = encode(&tensors);
        description.checksum = format!("{:016x}", checksum(&file));
        let plain = "a description is plain";
        let text = serde_json::to_vec_pretty(&description).expect(plain);
        let written: Value = serde_json::from_slice(&text).expect(plain);
        description.description_checksum = Some(checksum_of(&written));
        let text = serde_json::to_vec_pretty(&description).expect(plain);
        // JSON has no infinities: what cannot be read back is not written.
        assemble(folder, description, &tensors)?;
        fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        write(&folder.join(TENSORS), &file)?;
        write(&folder.join(DESCRIPTION), &text)
    }

    /// Read a model that [`LangevinModel::save`] wrote.
    ///
    /// # Errors
    /// When a file is missing, damaged, changed after it was written, no regular file, or of another version
    /// of the format.
    pub fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(DESCRIPTION);
        let text = read(&path)?;
        let damaged = |error: serde_json::Error| {
            Error::file(
                &path,
                format!("is not the description of a model ({error}); save the model again"),
            )
        };
        let mut value: Value = serde_json::from_slice(&text).map_err(damaged)?;
        if let Some(format) = value["format"].as_u64()
            && format != FORMAT
        {
            return Err(Error::file(
                &path,
                format!(
                    "has format {format}, but this version reads format {FORMAT}; use the version of \
                     ergode that wrote it ({}), or save the model again",
                    value["provenance"]["ergode"].as_str().unwrap_or("unknown")
                ),
            ));
        }
        let expected = value
            .as_object_mut()
            .and_then(|map| map.remove("description_checksum"));
        let unchanged = expected.is_none_or(|expected| expected == checksum_of(&value));
        let description: Description = serde_json::from_value(value).map_err(damaged)?;
        let tensors_path = folder.join(TENSORS);
        let file = read(&tensors_path)?;
        if format!("{:016x}", checksum(&file)) != description.checksum {
            return Err(Error::file(
                &tensors_path,
                format!(
                    "does not match {DESCRIPTION}: it is truncated, changed, or belongs to another \
                     model; save the model again"
                ),
            ));
        }
        let tensors = decode(&file)
            .map_err(|what| Error::file(&tensors_path, format!("{what}; save the model again")))?;
        // Files that do not belong together say more than that they were changed.
        let model = assemble(folder, description, &tensors)?;
        match unchanged {
            true => Ok(model),
            false => Err(Error::file(
                &path,
                "was changed after it was written: its checksum does not match; save the model \
                 again, or rerun the fit",
            )),
        }
    }
}

/// The checksum of a description as text in one line, which does not depend on how it is laid out.
fn checksum_of(description: &Value) -> String {
    format!("{:016x}", checksum(description.to_string().as_bytes()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    match path.try_exists() {
        Ok(false) => Err(Error::file(
            path,
            format!("does not exist; a saved model has {DESCRIPTION} and {TENSORS} in one folder"),
        )),
        _ => read_regular(path),
    }
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    let written = file.file().write_all(content);
    written.map_err(|error| Error::io(path, error))?;
    file.commit()
}

/// The model of a description whose arrays are in `tensors`.
fn assemble(
    folder: &Path,
    description: Description,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<LangevinModel> {
    let path = folder.join(DESCRIPTION);
    let mut model = LangevinModel::assemble(
        description.names,
        Arc::new(part(&path, "score", description.score, tensors)?),
        part(&path, "mobility", description.mobility, tensors)?,
        part(&path, "start states", description.starts, tensors)?,
        description.provenance,
    )?;
    if let Some(step) = description.validated_step {
        model = model.with_validated_step(step.dt, step.scheme)?;
    }
    if !description.space.is_null() {
        model = model.with_space(part(&path, "space", description.space, tensors)?)?;
    }
    if description.observation.is_null() {
        return Ok(model);
    }
    model.with_observation(part(
        &path,
        "observation",
        description.observation,
        tensors,
    )?)
}

fn part<T: DeserializeOwned>(
    path: &Path,
    name: &str,
    mut value: Value,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<T> {
    lower(&mut value, tensors).map_err(|what| {
        Error::file(
            path,
            format!(
                "{what} in {TENSORS}; the two files do not belong together, save the model again"
            ),
        )
    })?;
    serde_json::from_value(value).map_err(|error| {
        Error::file(
            path,
            format!("the {name} of the model cannot be read ({error}); save the model again"),
        )
    })
}

/// Moves arrays and long lists of numbers from `value` to `tensors`, named by their place.
fn lift(value: &mut Value, name: &str, tensors: &mut BTreeMap<String, Tensor>) {
    let mut keep = |kind: &str, shape: Vec<usize>, numbers: Numbers| {
        let reference = json!({kind: name, "shape": shape});
        tensors.insert(name.to_owned(), Tensor { shape, numbers });
        reference
    };
    if let Some((shape, data)) = as_array(value)
        && let Some(numbers) = as_numbers(data)
    {
        *value = keep("array", shape, numbers);
        return;
    }
    match value {
        Value::Array(list) => {
            if list.len() >= LONG
                && let Some(numbers) = as_numbers(list)
            {
                *value = keep("list", vec![numbers.len()], numbers);
                return;
            }
            for (k, entry) in list.iter_mut().enumerate() {
                lift(entry, &format!("{name}.{k}"), tensors);
            }
        }
        Value::Object(map) => {
            for (key, entry) in map {
                lift(entry, &format!("{name}.{key}"), tensors);
            }
        }
        _ => {}
    }
}

/// Shape and numbers of an `ndarray` array as `serde` writes it.
fn as_array(value: &Value) -> Option<(Vec<usize>, &Vec<Value>)> {
    let map = value.as_object().filter(|map| map.len() == 3)?;
    map.get("v")?;
    let shape = serde_json::from_value(map.get("dim")?.clone()).ok()?;
    Some((shape, map.get("data")?.as_array()?))
}

/// The numbers of a list, in the narrowest kind that holds them exactly.
fn as_numbers(list: &[Value]) -> Option<Numbers> {
    if let Some(values) = list.iter().map(Value::as_i64).collect() {
        return Some(Numbers::I64(values));
    }
    let values: Vec<f64> = list
        .iter()
        .map(|value| value.as_f64().filter(|_| value.is_f64()))
        .collect::<Option<_>>()?;
    let narrow = |v: &f64| f64::from(*v as f32).to_bits() == v.to_bits();
    Some(if values.iter().all(narrow) {
        Numbers::F32(values.iter().map(|v| *v as f32).collect())
    } else {
        Numbers::F64(values)
    })
}

/// Puts the tensors back where [`lift`] took them from, or says which is missing.
fn lower(value: &mut Value, tensors: &BTreeMap<String, Tensor>) -> std::result::Result<(), String> {
    let reference = |map: &Map<String, Value>, kind: &str| -> Option<(String, Vec<usize>)> {
        let name = map
            .get(kind)
            .filter(|_| map.len() == 2)?
            .as_str()?
            .to_owned();
        let shape = serde_json::from_value(map.get("shape")?.clone()).ok()?;
        Some((name, shape))
    };
    match value {
        Value::Object(map) => {
            for kind in ["array", "list"] {
                if let Some((name, shape)) = reference(map, kind) {
                    let tensor = tensors
                        .get(&name)
                        .ok_or_else(|| format!("refers to a tensor \"{name}\" that is not"))?;
                    if tensor.shape != shape {
                        return Err(format!(
                            "expects a tensor \"{name}\" of shape {shape:?}, but its shape is {:?}",
                            tensor.shape
                        ));
                    }
                    let numbers = as_values(&tensor.numbers);
                    *value = match kind {
                        "array" => json!({"v": 1, "dim": shape, "data": numbers}),
                        _ => Value::Array(numbers),
                    };
                    return Ok(());
                }
            }
            map.values_mut().try_for_each(|entry| lower(entry, tensors))
        }
        Value::Array(list) => list.iter_mut().try_for_each(|entry| lower(entry, tensors)),
        _ => Ok(()),
    }
}

fn as_values(numbers: &Numbers) -> Vec<Value> {
    match numbers {
        Numbers::F32(values) => values.iter().map(|v| json!(f64::from(*v))).collect(),
        Numbers::F64(values) => values.iter().map(|v| json!(v)).collect(),
        Numbers::I64(values) => values.iter().map(|v| json!(v)).collect(),
    }
}
