//! The trainable stance encoder, in candle. `riposte::reading::stance_encoder` runs the trained network.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use candle_core::{DType, Device, Tensor, Var};
use riposte::reading::stance_encoder::{
    CLASSES, HEAD_DENSE, HEAD_OUT, OUTPUTS, StanceClass, unpack,
};
use riposte_candle::{BatchShape, LayerOps, MASKED, layer_forward};
use riposte_nn::checkpoint::Checkpoint;
use riposte_nn::transformer::bert::{BARE, BertConfig};
use riposte_nn::transformer::{Affine, Layer};
use seeded_random::Random;
use tokenizers::Encoding;

use crate::operations::{Training, to_vec};

/// A tensor that training changes.
pub struct Parameter {
    pub name: String,
    pub var: Var,
    /// Whether it belongs to the head, which starts from random weights and has a separate learning rate.
    pub in_head: bool,
}

impl Parameter {
    /// Whether weight decay applies to it; it does not to biases and norms.
    pub fn decays(&self) -> bool {
        self.var.rank() == 2
    }
}

/// The encoder and its head. Training changes the layers and the head; the embeddings stay those of the published checkpoint.
pub struct Network {
    config: BertConfig,
    device: Device,
    /// Word embeddings (vocabulary, hidden).
    words: Tensor,
    /// Sums of position and type embeddings (2 × longest, hidden): those of the claim, then those of the text.
    positions: Tensor,
    /// The layer norm over the sum of both.
    norm: Affine<Tensor>,
    pub parameters: Vec<Parameter>,
    /// The index in `parameters` by name.
    index: HashMap<String, usize>,
}

/// The labels of a pair. None where a label is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Target {
    pub class: Option<StanceClass>,
    /// In [0, 1].
    pub quality: Option<f32>,
    /// In [0, 1].
    pub relevance: Option<f32>,
}

/// The weights of quality and relevance in the loss; the cross-entropy of the classes has the weight 1.
const QUALITY_SHARE: f32 = 1.5;
const RELEVANCE_SHARE: f32 = 0.3;

/// Tokenized pairs, padded to the longest of them.
pub struct Batch {
    shape: BatchShape,
    ids: Vec<u32>,
    positions: Vec<u32>,
    /// Added to the attention scores: 0 for a token, a large negative number for padding.
    mask: Vec<f32>,
    targets: Vec<Target>,
}

impl Batch {
    /// `longest`: as in [`Network::new`].
    pub fn new(pairs: &[(&Encoding, Target)], longest: usize) -> Batch {
        let count = pairs.len();
        let length = pairs.iter().map(|(e, _)| e.len()).max().unwrap_or(0);
        let mut batch = Batch {
            shape: BatchShape { count, length },
            ids: vec![0; count * length],
            positions: vec![0; count * length],
            mask: vec![MASKED; count * length],
            targets: pairs.iter().map(|(_, target)| *target).collect(),
        };
        for (row, (encoding, _)) in pairs.iter().enumerate() {
            for (at, (&id, &kind)) in encoding
                .get_ids()
                .iter()
                .zip(encoding.get_type_ids())
                .enumerate()
            {
                let cell = row * length + at;
                batch.ids[cell] = id;
                batch.positions[cell] = kind * longest as u32 + at as u32;
                batch.mask[cell] = 0.0;
            }
        }
        batch
    }
}

impl Network {
    /// The published checkpoint in `dir` with a random head. `longest`: the maximum number of tokens of a pair.
    ///
    /// # Errors
    /// The checkpoint cannot be read.
    pub fn new(dir: &Path, longest: usize, random: &mut Random, device: Device) -> Result<Network> {
        let config = BertConfig::read(dir)?;
        let hidden = config.hidden_size;
        let model = config.describe(&BARE);
        let expected = model.expected_tensors();
        let checkpoint = Checkpoint::open(dir, &expected)?;
        let table = |rows: Vec<f32>| -> Result<Tensor> {
            let count = rows.len() / hidden;
            Ok(Tensor::from_vec(rows, (count, hidden), &device)?)
        };
        let vector =
            |name: &str| Ok::<_, anyhow::Error>(Tensor::new(checkpoint.read(name)?, &device)?);
        let norm = BARE.norm();
        let mut network = Network {
            words: table(checkpoint.read(&BARE.words())?)?,
            positions: table(model.typed_positions(longest, &checkpoint)?)?,
            norm: Affine {
                weight: vector(&format!("{norm}.weight"))?,
                bias: vector(&format!("{norm}.bias"))?,
            },
            parameters: Vec::new(),
            index: HashMap::new(),
            config,
            device: device.clone(),
        };
        let mut layers: Vec<_> = expected
            .into_iter()
            .filter(|(name, _)| name.starts_with(BARE.layers.layers))
            .collect();
        layers.sort();
        for (name, shape) in layers {
            let tensor = Tensor::from_vec(checkpoint.read(&name)?, shape, &device)?;
            network.add(name, tensor, false)?;
        }
        for (name, out) in [(HEAD_DENSE, hidden), (HEAD_OUT, OUTPUTS)] {
            // uniform initial weights (Glorot and Bengio 2010)
            let reach = (6.0 / (hidden + out) as f64).sqrt();
            let weight: Vec<f32> = (0..out * hidden)
                .map(|_| (f64::from(random.signed_fraction()) * reach) as f32)
                .collect();
            let weight = Tensor::from_vec(weight, (out, hidden), &network.device)?;
            network.add(format!("{name}.weight"), weight, true)?;
            let bias = Tensor::zeros(out, DType::F32, &network.device)?;
            network.add(format!("{name}.bias"), bias, true)?;
        }
        Ok(network)
    }

    /// Sets all parameters to those of a weight file that was trained from the checkpoint with the sha256 `base`.
    ///
    /// # Errors
    /// The file cannot be read, or belongs to another checkpoint.
    pub fn begin_with(&self, file: &[u8], base: &str) -> Result<()> {
        for parameter in &self.parameters {
            let var = &parameter.var;
            let numbers = unpack(file, base, &parameter.name, to_vec(var.as_tensor())?)?;
            var.set(&Tensor::from_vec(numbers, var.shape(), &self.device)?)?;
        }
        Ok(())
    }

    fn add(&mut self, name: String, tensor: Tensor, in_head: bool) -> Result<()> {
        self.index.insert(name.clone(), self.parameters.len());
        self.parameters.push(Parameter {
            name,
            var: Var::from_tensor(&tensor)?,
            in_head,
        });
        Ok(())
    }

    fn tensor(&self, name: &str) -> Result<Tensor> {
        let at = self
            .index
            .get(name)
            .with_context(|| format!("the network has no tensor {name}"))?;
        Ok(self.parameters[*at].var.as_tensor().clone())
    }

    /// The loss of a batch: the cross-entropy of the class with label smoothing (the label has the probability `1 - smoothing`, and all
    /// classes share the rest), and the cross-entropies of quality and relevance. It is a sum over the known labels, divided by `pairs`. Dropout
    /// is applied.
    pub fn loss(
        &self,
        batch: &Batch,
        pairs: usize,
        smoothing: f32,
        random: &mut Random,
    ) -> Result<Tensor> {
        let outputs = self.forward(batch, Some(random))?;
        let count = batch.shape.count;
        let (mut classes, mut grades, mut known) = (Vec::new(), Vec::new(), Vec::new());
        for target in &batch.targets {
            let mut row = [0.0; CLASSES];
            if let Some(class) = target.class {
                row = [smoothing / CLASSES as f32; CLASSES];
                row[class as usize] += 1.0 - smoothing;
            }
            classes.extend(row);
            for (grade, share) in [
                (target.quality, QUALITY_SHARE),
                (target.relevance, RELEVANCE_SHARE),
            ] {
                grades.push(grade.unwrap_or(0.0));
                known.push(grade.map_or(0.0, |_| share));
            }
        }
        let tensor = |rows: Vec<f32>| Tensor::from_vec(rows, (count, ()), &self.device);
        let log = candle_nn::ops::log_softmax(&outputs.narrow(1, 0, CLASSES)?, 1)?;
        let of_classes = (log * tensor(classes)?)?.sum_all()?.neg()?;
        // -t log σ(x) - (1 - t) log(1 - σ(x)), without overflow
        let x = outputs.narrow(1, CLASSES, OUTPUTS - CLASSES)?;
        let softplus = (x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?)?;
        let of_grades = ((softplus - (x * tensor(grades)?)?)? * tensor(known)?)?.sum_all()?;
        Ok(((of_classes + of_grades)? / pairs as f64)?)
    }

    /// The outputs for each pair of a batch, without dropout.
    pub fn outputs(&self, batch: &Batch) -> Result<Vec<Vec<f32>>> {
        Ok(self.forward(batch, None)?.to_vec2()?)
    }

    fn forward(&self, batch: &Batch, random: Option<&mut Random>) -> Result<Tensor> {
        let config = self.config.encoder();
        let mut ops = Training { random };
        let BatchShape { count, length } = batch.shape;
        let rows = |table: &Tensor, rows: &[u32]| -> Result<Tensor> {
            let rows = Tensor::from_slice(rows, count * length, &self.device)?;
            Ok(table.index_select(&rows, 0)?)
        };
        let x = (rows(&self.words, &batch.ids)? + rows(&self.positions, &batch.positions)?)?;
        let x = ops.norm(&x, &self.norm, config.epsilon)?.detach();
        let mut x = ops.dropout(x)?;
        let mask = Tensor::from_slice(&batch.mask, (count, 1, 1, length), &self.device)?;
        for n in 0..config.layers {
            let layer = Layer::read(&BARE.layers, n, |name| self.tensor(name))?;
            x = layer_forward(&config, &layer, x, batch.shape, Some(&mask), &mut ops)?;
        }
        let first = x
            .reshape((count, length, config.hidden))?
            .narrow(1, 0, 1)?
            .squeeze(1)?
            .contiguous()?;
        let head = |name: &str| -> Result<Affine<Tensor>> {
            Ok(Affine {
                weight: self.tensor(&format!("{name}.weight"))?,
                bias: self.tensor(&format!("{name}.bias"))?,
            })
        };
        let first = ops.dropout(first)?;
        let hidden = ops.linear(&first, &head(HEAD_DENSE)?)?.tanh()?;
        let hidden = ops.dropout(hidden)?;
        Ok(ops.linear(&hidden, &head(HEAD_OUT)?)?)
    }
}

#[cfg(test)]
mod tests {
    use riposte::reading::stance_encoder::tokenizer;

    use super::*;

    #[test]
    fn every_layer_has_gradients_and_logits_do_not_depend_on_padding() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/tiny-sentence");
        let longest = 48;
        let mut random = Random::new(1, "network", 0);
        let network = Network::new(&dir, longest, &mut random, Device::Cpu).unwrap();
        let pairs = [
            ("guns kill", "people kill people"),
            ("the death penalty", "no"),
        ];
        let tokens = tokenizer(&dir).unwrap().encode(pairs).unwrap();
        let target = |class| Target {
            class,
            quality: Some(0.4),
            relevance: Some(1.0),
        };
        let rows = [
            (&tokens[0], target(Some(StanceClass::Con))),
            (&tokens[1], target(None)),
        ];
        let batch = Batch::new(&rows, longest);

        let loss = network.loss(&batch, 2, 0.1, &mut random).unwrap();
        let gradients = loss.backward().unwrap();
        assert!(
            network
                .parameters
                .iter()
                .any(|p| p.name.starts_with("encoder.layer.1."))
        );
        for Parameter { name, var, .. } in &network.parameters {
            let gradient = gradients.get(var.as_tensor());
            let gradient = gradient.unwrap_or_else(|| panic!("{name} has no gradient"));
            let gradient: Vec<f32> = gradient.flatten_all().unwrap().to_vec1().unwrap();
            assert!(gradient.iter().all(|g| g.is_finite()), "{name}");
            // the bias of a key shifts all scores of a row alike, which softmax ignores
            if !name.ends_with("key.bias") {
                assert!(
                    gradient.iter().any(|g| g.abs() > 1e-9),
                    "{name} does not learn"
                );
            }
        }

        let together = network.outputs(&batch).unwrap();
        for (row, expected) in rows.iter().zip(together) {
            let alone = network.outputs(&Batch::new(&[*row], longest)).unwrap();
            for (a, b) in alone[0].iter().zip(&expected) {
                assert!((a - b).abs() < 1e-5, "{alone:?}, not {expected:?}");
            }
        }
    }
}
