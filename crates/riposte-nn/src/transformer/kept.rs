//! Packed layers as bytes, so that a start reads them instead of packing and quantising the weights again.
//!
//! The bytes are a safetensors file. They are for the machine that made them: the order of the weights is that of its instructions
//! ([`crate::conv::int8_instructions`]).

use safetensors::tensor::{SafeTensors, TensorView};
use safetensors::{Dtype, serialize};

use crate::checkpoint::floats;
use crate::error::{Error, Result, ensure};

/// Keeps packed layers from one start of the program to the next.
///
/// Whoever keeps them has to tell apart the weights from which they were packed, the instructions of the machine and [`LAYOUT`], and to notice
/// damage: here, only the sizes are checked.
pub trait LayerCache {
    /// The bytes that were kept; `None` if there are none, or if they are damaged.
    fn get(&self) -> Option<Vec<u8>>;

    /// Keeps these bytes. If that is not possible, the next start packs the weights again.
    fn put(&self, bytes: &[u8]);
}

/// It rises whenever the same weights would be quantised or laid out in another way.
pub const LAYOUT: u32 = 2;

/// Tensors to be kept, by name.
#[derive(Default)]
pub(super) struct PackedTensors(Vec<(String, Dtype, Vec<u8>)>);

impl PackedTensors {
    pub fn add_floats(&mut self, name: String, numbers: &[f32]) {
        let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.0.push((name, Dtype::F32, bytes));
    }

    pub fn add_bytes(&mut self, name: String, bytes: &[i8]) {
        let bytes = bytes.iter().map(|byte| byte.cast_unsigned()).collect();
        self.0.push((name, Dtype::I8, bytes));
    }

    pub fn add_counts(&mut self, name: String, numbers: &[usize]) {
        let bytes = numbers.iter().flat_map(|&n| (n as u64).to_le_bytes());
        self.0.push((name, Dtype::U64, bytes.collect()));
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut views = Vec::new();
        for (name, dtype, bytes) in &self.0 {
            let length = bytes.len() * 8 / dtype.bitsize();
            let view = TensorView::new(*dtype, vec![length], bytes);
            views.push((name.as_str(), view.map_err(Error::other)?));
        }
        serialize(views, None).map_err(Error::other)
    }
}

/// Tensors that were kept.
pub(super) struct CachedTensors<'a>(SafeTensors<'a>);

impl<'a> CachedTensors<'a> {
    /// # Errors
    /// The bytes are not those of [`PackedTensors`].
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let parts = SafeTensors::deserialize(bytes).map_err(Error::other)?;
        Ok(CachedTensors(parts))
    }

    fn get(&self, name: &str, dtype: Dtype, length: usize) -> Result<&'a [u8]> {
        let tensor = self.0.tensor(name).map_err(Error::other)?;
        ensure!(
            tensor.dtype() == dtype && tensor.shape() == [length],
            Model,
            "{name} is not {length} numbers of type {dtype}"
        );
        Ok(tensor.data())
    }

    pub fn floats(&self, name: &str, length: usize) -> Result<Vec<f32>> {
        let numbers = floats(Dtype::F32, self.get(name, Dtype::F32, length)?);
        numbers.ok_or_else(|| Error::Model(format!("{name} has no floats")))
    }

    /// Numbers of one byte each, in two's complement.
    pub fn bytes(&self, name: &str, length: usize) -> Result<&'a [u8]> {
        self.get(name, Dtype::I8, length)
    }

    pub fn counts(&self, name: &str, length: usize) -> Result<Vec<usize>> {
        let bytes = self.get(name, Dtype::U64, length)?;
        let numbers = bytes.as_chunks::<8>().0.iter();
        numbers
            .map(|bytes| usize::try_from(u64::from_le_bytes(*bytes)).map_err(Error::other))
            .collect()
    }
}
