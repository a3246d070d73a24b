//! The tensors of a checkpoint, as candle-transformers asks for them.

use std::collections::HashMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use riposte_nn::checkpoint::Checkpoint;

/// The tensors of a checkpoint, widened to 32 bits. Only tensors that were compared with the configuration are asked for.
pub(crate) struct CheckpointTensors {
    checkpoint: Arc<Checkpoint>,
    /// The names in the file, by the names that are asked for. `None`: they are the same.
    names: Option<HashMap<String, String>>,
}

impl CheckpointTensors {
    /// All tensors, by their names in the file.
    pub fn all(checkpoint: Arc<Checkpoint>, device: &Device) -> VarBuilder<'static> {
        Self::builder(checkpoint, None, device)
    }

    /// The tensors in `names`: their names in the file, by the names that candle-transformers gives them.
    pub fn named(
        checkpoint: Arc<Checkpoint>,
        names: HashMap<String, String>,
        device: &Device,
    ) -> VarBuilder<'static> {
        Self::builder(checkpoint, Some(names), device)
    }

    fn builder(
        checkpoint: Arc<Checkpoint>,
        names: Option<HashMap<String, String>>,
        device: &Device,
    ) -> VarBuilder<'static> {
        let weights = CheckpointTensors { checkpoint, names };
        VarBuilder::from_backend(Box::new(weights), DType::F32, device.clone())
    }

    /// The name of a tensor in the file.
    fn place<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        match &self.names {
            Some(names) => names.get(name).map(String::as_str),
            None => Some(name),
        }
    }
}

impl SimpleBackend for CheckpointTensors {
    fn get(&self, shape: Shape, name: &str, _: Init, _: DType, device: &Device) -> Result<Tensor> {
        let Some(place) = self.place(name) else {
            candle_core::bail!("the model has no tensor {name}");
        };
        let numbers = self.checkpoint.read(place);
        Tensor::from_vec(numbers.map_err(candle_core::Error::wrap)?, shape, device)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("tensor {name} is asked for without its shape")
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.place(name)
            .is_some_and(|place| self.checkpoint.has(place))
    }
}
