//! Published models as they lie on a disk: a folder, or the Hugging Face cache.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpforge_golden::{ModelTensor, read_text};
use warpforge_tensor::{Tensor, safetensors};

use crate::error::wrong;
use crate::trainer::shape;
use crate::{Named, TrainError};

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const VOCABULARY: &str = "vocab.txt";
const TOKENIZER: &str = "tokenizer_config.json";
const JSON_LIMIT: u64 = 16 << 20;

/// A model in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubModel {
    directory: PathBuf,
}

/// The sizes of a BERT, as `config.json` has them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelConfig {
    /// The kind of model; `bert` is known.
    pub model_type: String,
    /// Tokens in the vocabulary.
    pub vocab_size: u64,
    /// The width.
    pub hidden_size: u64,
    /// Encoder layers.
    pub num_hidden_layers: u64,
    /// Attention heads.
    pub num_attention_heads: u64,
    /// The width inside the feed-forward part.
    pub intermediate_size: u64,
    /// The longest sequence.
    pub max_position_embeddings: u64,
    /// The spread of weights that are not in the file.
    #[serde(default = "usual_spread")]
    pub initializer_range: f64,
}

fn usual_spread() -> f64 {
    0.02
}

#[derive(Deserialize)]
struct TokenizerConfig {
    #[serde(default)]
    do_lower_case: Option<bool>,
}

impl HubModel {
    /// Finds a model: a folder, or the name of one in the Hugging Face cache.
    pub fn find(name: &str) -> Result<Self, TrainError> {
        if Path::new(name).is_dir() {
            return Ok(Self { directory: PathBuf::from(name) });
        }
        let cache = cache(|name| std::env::var_os(name).map(PathBuf::from));
        let Some(cache) = cache else {
            return Err(TrainError::Settings(format!(
                "{name:?} is no folder, and there is no home to look for a Hugging Face cache in"
            )));
        };
        Self::cached(&cache, name)
    }

    /// A model in a Hugging Face cache, at the revision that `main` stands for.
    pub fn cached(cache: &Path, name: &str) -> Result<Self, TrainError> {
        let part = |part: &str| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(plain)
        };
        let missing = || {
            TrainError::Settings(format!(
                "{name:?} is neither a folder nor a model in {}; get it once with \
                 `huggingface-cli download {name}`, or name a folder with {CONFIG}, {WEIGHTS} and \
                 {VOCABULARY}",
                cache.display()
            ))
        };
        if name.split('/').count() > 2 || !name.split('/').all(part) {
            return Err(missing());
        }
        let folder = cache.join(format!("models--{}", name.replace('/', "--")));
        let revision = read_text(&folder.join("refs/main"), 1000).map_err(|_| missing())?;
        let revision = revision.trim();
        if !part(revision) {
            return Err(missing());
        }
        let directory = folder.join("snapshots").join(revision);
        if directory.is_dir() { Ok(Self { directory }) } else { Err(missing()) }
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its sizes.
    pub fn config(&self) -> Result<ModelConfig, TrainError> {
        let path = self.directory.join(CONFIG);
        let config: ModelConfig = serde_json::from_str(&read_text(&path, JSON_LIMIT)?)
            .map_err(|error| wrong(&path, error))?;
        if config.model_type != "bert" {
            let found: String = config.model_type.chars().take(60).collect();
            return Err(wrong(&path, format_args!("its model_type is {found:?}; bert is known")));
        }
        Ok(config)
    }

    /// Its vocabulary, if it has one.
    pub fn vocabulary(&self) -> Option<PathBuf> {
        Some(self.directory.join(VOCABULARY)).filter(|path| path.is_file())
    }

    /// Whether its vocabulary is of lower case: so it is unless it says otherwise.
    pub fn lowercase(&self) -> Result<bool, TrainError> {
        let path = self.directory.join(TOKENIZER);
        if !path.is_file() {
            return Ok(true);
        }
        let config: TokenizerConfig = serde_json::from_str(&read_text(&path, JSON_LIMIT)?)
            .map_err(|error| wrong(&path, error))?;
        Ok(config.do_lower_case.unwrap_or(true))
    }

    /// Where its weights lie.
    pub fn weights_path(&self) -> PathBuf {
        self.directory.join(WEIGHTS)
    }

    /// The weights that a model to be trained wants. What is only in its head, and so not in the file of a model that was made for
    /// something else, is drawn from the seed as BERT does: weights from a normal distribution, biases zero.
    pub fn weights(&self, wanted: &[ModelTensor], seed: u64) -> Result<Named, TrainError> {
        let path = self.weights_path();
        let file = safetensors::File::open(&path)?;
        let spread = self.config()?.initializer_range;
        let mut random = Normal::new(seed);
        let mut found = Named::new();
        let mut missing = Vec::new();
        for tensor in wanted {
            let shape = shape(&tensor.shape)?;
            match names(&tensor.name).into_iter().find(|name| file.info(name).is_some()) {
                Some(name) => {
                    let held = file.tensor(&name)?;
                    if *held.shape() != shape {
                        return Err(wrong(
                            &path,
                            format_args!(
                                "{name:?} has the sizes {:?}, the model {:?}",
                                held.shape().sizes(),
                                tensor.shape
                            ),
                        ));
                    }
                    let held = if held.dtype() == tensor.dtype {
                        held
                    } else {
                        Tensor::from_elements(tensor.dtype, shape, &held.elements())?
                    };
                    found.push((tensor.name.clone(), held));
                }
                None if tensor.name.starts_with("qa_outputs.") => {
                    let count = shape.elements();
                    let values = if tensor.name.ends_with(".bias") {
                        vec![0.0; count]
                    } else {
                        (0..count).map(|_| spread * random.next()).collect()
                    };
                    let drawn = Tensor::from_floats(tensor.dtype, shape, values)?;
                    found.push((tensor.name.clone(), drawn));
                }
                None => missing.push(tensor.name.as_str()),
            }
        }
        match missing.as_slice() {
            [] => Ok(found),
            [first, ..] => Err(wrong(
                &path,
                format_args!(
                    "{} tensors of the model are missing; the first is {first:?}",
                    missing.len()
                ),
            )),
        }
    }
}

/// What a tensor may be called in a file: as in the model, without the model's own prefix, and as TensorFlow called it.
fn names(name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    names.extend(name.strip_prefix("bert.").map(str::to_owned));
    for place in 0..names.len() {
        let old = names[place]
            .replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta");
        if old != names[place] {
            names.push(old);
        }
    }
    names
}

/// Where the Hugging Face cache is.
fn cache(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let home = || variable("HOME").map(|home| home.join(".cache"));
    variable("HF_HUB_CACHE").or_else(|| {
        let base = variable("HF_HOME").or_else(|| {
            let cache = variable("XDG_CACHE_HOME").or_else(home)?;
            Some(cache.join("huggingface"))
        })?;
        Some(base.join("hub"))
    })
}

/// Numbers of the normal distribution, by Box and Muller from SplitMix64.
struct Normal {
    state: u64,
    kept: Option<f64>,
}

impl Normal {
    fn new(seed: u64) -> Self {
        Self { state: seed, kept: None }
    }

    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        self.kept = Some(radius * angle.sin());
        radius * angle.cos()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use warpforge_tensor::{DType, Shape};

    use super::*;

    fn tensor(sizes: &[usize], value: f64) -> Tensor {
        let shape = Shape::new(sizes).unwrap();
        let count = shape.elements();
        Tensor::from_floats(DType::F32, shape, vec![value; count]).unwrap()
    }

    fn wanted(name: &str, sizes: &[usize]) -> ModelTensor {
        ModelTensor {
            name: name.to_owned(),
            role: "parameter".to_owned(),
            shape: sizes.to_owned(),
            dtype: DType::F32,
            trainable: true,
        }
    }

    fn model(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(
            folder.join(CONFIG),
            r#"{"model_type": "bert", "vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1,
                "num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 16}"#,
        )
        .unwrap();
        let old = tensor(&[4], 2.0);
        let plain = tensor(&[2], 3.0);
        let held = [("bert.a.LayerNorm.gamma", &old), ("b.bias", &plain)];
        safetensors::write(folder.join(WEIGHTS), held, &BTreeMap::new()).unwrap();
    }

    #[test]
    fn a_cache_is_read_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let held = folder.path().join("models--org--bert");
        model(&held.join("snapshots/abc"));
        fs::create_dir(held.join("refs")).unwrap();
        fs::write(held.join("refs/main"), "abc\n").unwrap();
        let found = HubModel::cached(folder.path(), "org/bert").unwrap();
        assert_eq!(found.config().unwrap().hidden_size, 4);
        assert!(found.vocabulary().is_none() && found.lowercase().unwrap());
        for name in ["org/other", "../models--org--bert", "a/b/c", ""] {
            let error = HubModel::cached(folder.path(), name).unwrap_err().to_string();
            assert!(error.contains("neither a folder nor a model"), "{error}");
        }
        fs::write(held.join("refs/main"), "../../..").unwrap();
        assert!(HubModel::cached(folder.path(), "org/bert").is_err());
    }

    #[test]
    fn weights_are_found_under_their_old_names_and_heads_are_drawn() {
        let folder = tempfile::tempdir().unwrap();
        model(folder.path());
        let model = HubModel::find(folder.path().to_str().unwrap()).unwrap();
        let head = wanted("qa_outputs.weight", &[2, 4]);
        let tensors = [wanted("bert.a.LayerNorm.weight", &[4]), wanted("bert.b.bias", &[2]), head];
        let found = model.weights(&tensors, 7).unwrap();
        assert_eq!(found[0].1, tensor(&[4], 2.0));
        assert_eq!(found[1].1, tensor(&[2], 3.0));
        assert!(
            found[2].1.floats().unwrap().iter().all(|value| value.abs() < 0.2 && *value != 0.0)
        );
        assert_eq!(found, model.weights(&tensors, 7).unwrap());
        let error = model.weights(&[wanted("bert.c", &[1])], 7).unwrap_err().to_string();
        assert!(error.ends_with("1 tensors of the model are missing; the first is \"bert.c\""));
        let error = model.weights(&[wanted("bert.b.bias", &[3])], 7).unwrap_err().to_string();
        assert!(error.contains("has the sizes [2], the model [3]"), "{error}");
    }

    #[test]
    fn the_cache_is_where_its_variables_say() {
        let known = |pairs: &'static [(&'static str, &'static str)]| {
            cache(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| PathBuf::from(pair.1)))
        };
        assert_eq!(known(&[("HOME", "/h")]), Some("/h/.cache/huggingface/hub".into()));
        assert_eq!(known(&[("HOME", "/h"), ("HF_HOME", "/f")]), Some("/f/hub".into()));
        assert_eq!(known(&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/f")]), Some("/c".into()));
        assert_eq!(known(&[]), None);
    }
}
