//! Where the weights of a model come from.

use std::collections::HashMap;

use crate::checkpoint::{Checkpoint, EmbeddingTable, ExpectedTensor};
use crate::error::{Error, Result, ensure};

/// Where a model's tensors come from. A checkpoint is one; another can change the tensors of a checkpoint.
pub trait TensorSource {
    /// The tensor of this name, row after row.
    ///
    /// # Errors
    /// There is no such tensor, or it cannot be read. An error of the source's own is [`Error::other`].
    fn tensor(&self, name: &str) -> Result<Vec<f32>>;

    /// The matrix of this name, whose rows may be read later.
    ///
    /// # Errors
    /// As [`TensorSource::tensor`], or it is no matrix.
    fn table(&self, name: &str) -> Result<EmbeddingTable>;
}

impl TensorSource for Checkpoint {
    fn tensor(&self, name: &str) -> Result<Vec<f32>> {
        self.read(name)
    }

    fn table(&self, name: &str) -> Result<EmbeddingTable> {
        Checkpoint::table(self, name)
    }
}

/// A source whose tensors have the sizes that the model expects. A checkpoint is compared with them when it is opened, but other sources are not.
pub(super) struct CheckedSource<'s, S> {
    source: &'s S,
    expected: HashMap<String, Vec<usize>>,
}

impl<'s, S: TensorSource> CheckedSource<'s, S> {
    pub(super) fn new(source: &'s S, expected: Vec<ExpectedTensor>) -> Self {
        CheckedSource {
            source,
            expected: expected.into_iter().collect(),
        }
    }

    fn shape(&self, name: &str) -> Result<&[usize]> {
        let shape = self.expected.get(name).map(Vec::as_slice);
        shape.ok_or_else(|| Error::Model(format!("the model has no tensor {name}")))
    }
}

impl<S: TensorSource> TensorSource for CheckedSource<'_, S> {
    fn tensor(&self, name: &str) -> Result<Vec<f32>> {
        let shape = self.shape(name)?;
        let numbers = self.source.tensor(name)?;
        ensure!(
            Some(numbers.len())
                == shape
                    .iter()
                    .try_fold(1usize, |n, &side| n.checked_mul(side)),
            Model,
            "tensor {name} has {} numbers: expected shape {shape:?}",
            numbers.len()
        );
        Ok(numbers)
    }

    fn table(&self, name: &str) -> Result<EmbeddingTable> {
        let shape = self.shape(name)?;
        let table = self.source.table(name)?;
        let (rows, width) = table.shape();
        ensure!(
            *shape == [rows, width],
            Model,
            "tensor {name} has shape [{rows}, {width}]: expected {shape:?}"
        );
        Ok(table)
    }
}
