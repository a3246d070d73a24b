//! The saved state from which a stopped training continues: values and moments of all parameters, in a safetensors file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor};

use crate::network::Network;
use crate::operations::to_vec;
use crate::optimiser::Optimiser;

/// The name of the tensor with the number of steps, as little-endian bytes.
const STEPS: &str = "steps";
/// The name of the tensor with the settings of the training, as the bytes of a text.
const MADE_BY: &str = "made by";

/// Writes the state to `path`. `made_by` names the settings: only a training with the same settings continues from it.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, made_by: &str, network: &Network, optimiser: &Optimiser) -> Result<()> {
    let mut tensors: HashMap<String, Tensor> = HashMap::new();
    for (parameter, [first, second]) in network.parameters.iter().zip(&optimiser.moments) {
        let tensor = parameter.var.as_tensor().to_device(&Device::Cpu)?;
        let of = |numbers: &[f32]| Tensor::from_slice(numbers, tensor.shape(), &Device::Cpu);
        tensors.insert(format!("{} first", parameter.name), of(first)?);
        tensors.insert(format!("{} second", parameter.name), of(second)?);
        tensors.insert(parameter.name.clone(), tensor);
    }
    let one = |bytes: &[u8]| Tensor::from_slice(bytes, bytes.len(), &Device::Cpu);
    tensors.insert(STEPS.into(), one(&optimiser.steps.to_le_bytes())?);
    tensors.insert(MADE_BY.into(), one(made_by.as_bytes())?);
    let unfinished = path.with_extension("unfinished");
    let written = candle_core::safetensors::save(&tensors, &unfinished);
    written
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(fs::rename(&unfinished, path)?))
        .with_context(|| format!("cannot write the checkpoint {}", path.display()))
}

/// Sets the network and the optimiser to the state in the file at `path`. Returns the number of steps done; 0 if there is no file.
///
/// # Errors
/// The file cannot be read, or another training wrote it.
pub fn read(
    path: &Path,
    made_by: &str,
    network: &Network,
    optimiser: &mut Optimiser,
) -> Result<usize> {
    if !path.exists() {
        return Ok(0);
    }
    let reading = || format!("cannot continue from the checkpoint {}", path.display());
    let state = || -> Result<(HashMap<String, Tensor>, i32)> {
        let tensors = candle_core::safetensors::load_buffer(&fs::read(path)?, &Device::Cpu)?;
        let bytes = |name: &str| -> Result<Vec<u8>> {
            let tensor = tensors.get(name).context("it is not a checkpoint")?;
            Ok(tensor.to_dtype(DType::U8)?.to_vec1()?)
        };
        ensure!(
            bytes(MADE_BY)? == made_by.as_bytes(),
            "another training wrote it; delete it to start from the beginning"
        );
        let steps = bytes(STEPS)?.try_into().ok().map(i32::from_le_bytes);
        Ok((tensors, steps.context("its number of steps is damaged")?))
    };
    let (tensors, steps) = state().with_context(reading)?;
    for (parameter, moments) in network.parameters.iter().zip(&mut optimiser.moments) {
        let tensor = |ending: &str| {
            let name = format!("{}{ending}", parameter.name);
            let tensor = tensors.get(&name);
            tensor.with_context(|| format!("{}: it has no tensor {name}", reading()))
        };
        parameter
            .var
            .set(&tensor("")?.to_device(parameter.var.device())?)?;
        *moments = [to_vec(tensor(" first")?)?, to_vec(tensor(" second")?)?];
    }
    optimiser.steps = steps;
    usize::try_from(steps).with_context(reading)
}

/// Deletes the file, which a finished training no longer needs.
///
/// # Errors
/// The file cannot be deleted.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot delete {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use riposte::reading::stance_encoder::tokenizer;
    use seeded_random::Random;

    use super::*;

    #[test]
    fn a_training_goes_on_from_the_state_that_it_left() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/tiny-sentence");
        assert!(tokenizer(&dir).is_ok());
        let network = |seed| {
            let mut random = Random::new(seed, "network", 0);
            Network::new(&dir, 48, &mut random, Device::Cpu).unwrap()
        };
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("state");
        let (left, other) = (network(1), network(2));
        let mut optimiser = Optimiser::new(&left.parameters);
        let gradients: Vec<Vec<f32>> = left
            .parameters
            .iter()
            .map(|p| vec![0.25; p.var.elem_count()])
            .collect();
        optimiser
            .step(&left.parameters, &gradients, [1e-3; 2])
            .unwrap();
        let mut fresh = Optimiser::new(&other.parameters);
        assert_eq!(read(&path, "a", &other, &mut fresh).unwrap(), 0);
        write(&path, "a", &left, &optimiser).unwrap();
        assert!(read(&path, "b", &other, &mut fresh).is_err());
        assert_eq!(read(&path, "a", &other, &mut fresh).unwrap(), 1);
        for optimiser in [(&left, &mut optimiser), (&other, &mut fresh)] {
            let (network, optimiser) = optimiser;
            optimiser
                .step(&network.parameters, &gradients, [1e-3; 2])
                .unwrap();
        }
        for (a, b) in left.parameters.iter().zip(&other.parameters) {
            let values = |p: &crate::network::Parameter| to_vec(p.var.as_tensor()).unwrap();
            assert_eq!(values(a), values(b), "{}", a.name);
        }
        remove(&path).unwrap();
        remove(&path).unwrap();
    }
}
