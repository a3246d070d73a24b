//! A model as the readers see it, and the one core it runs on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView, Tensor};

use crate::nn::conv::{
    BufferPool, Classifier, Compiled, ConvNet, FeatureMap, NumericMode, compile,
};

/// A network with one input and one output.
///
/// What of its beginning a [`ConvNet`] can compute is computed there, for its speed, and its last product as [`Classifier`]; the
/// rest by rten. A file that is no ONNX is all rten's.
pub(super) struct Network {
    model: Model,
    front: Option<Front>,
    end: Option<(Classifier, NodeId)>,
}

/// The beginning of a network.
struct Front {
    net: ConvNet,
    /// Where rten goes on; none if nothing is left.
    then: Option<NodeId>,
}

impl Network {
    /// Loads an ONNX or rten model file, whichever its bytes say, with weights packed for speed.
    pub(super) fn load(path: &Path) -> Result<Network> {
        let bytes = read(path)?;
        // what is rten's to run and not ours is no error; rten has found damage by then, but may have looked away where we do not
        let compiled = catch_unwind(|| compile(&bytes, NumericMode::Auto));
        let (beginning, end) = match compiled {
            Ok(Ok(Compiled { trunk, classifier })) => (trunk.ok(), classifier),
            _ => (None, None),
        };
        let model = load_model(bytes, path)?;
        let front = beginning.and_then(|net| Front::new(net, &model));
        let end = end.and_then(|end| {
            let reached = model.find_node(end.input_name())?;
            Some((end, reached))
        });
        let mut network = Network { model, front, end };
        // rten names maps that it then computes together with others, and cannot stop there
        if network.end.is_some()
            && network
                .run(FeatureMap::filled(48, 64, 3, 0.0), &mut Core::new())
                .is_err()
        {
            network.end = None;
        }
        Ok(network)
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// Runs on `core`. The answer is (1, channel, height, width), or what the network makes of that.
    pub(super) fn run(&self, picture: FeatureMap, core: &mut Core) -> Result<Tensor<f32>> {
        let (first, map) = match &self.front {
            None => (self.model.input_ids().first().copied(), picture),
            Some(front) => (front.then, front.net.run(picture, &mut core.memory)?),
        };
        let size = [1, map.channels, map.height, map.width];
        let tensor = match map.stride {
            1 => NdTensor::from_data(size, map.data.to_vec()),
            _ => NdTensor::from_fn(size, |[_, channel, y, x]| map.at(y, x, channel)),
        };
        core.memory.recycle(map);
        let Some(first) = first else {
            return Ok(tensor.into_dyn());
        };
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&core.pool)));
        let last = match &self.end {
            Some((_, reached)) => &[*reached],
            None => self.model.output_ids(),
        };
        let answers = self
            .model
            .run(vec![(first, tensor.into())], last, Some(options))?;
        let answer: Tensor<f32> = answers
            .into_iter()
            .next()
            .context("a network without output")?
            .try_into()?;
        match &self.end {
            Some((classes, _)) => {
                let rows: NdTensorView<f32, 3> = answer.view().try_into()?;
                Ok(classes.run(rows, &mut core.memory)?.into_dyn())
            }
            None => Ok(answer),
        }
    }
}

impl Front {
    /// None if the model knows no such output.
    fn new(net: ConvNet, model: &Model) -> Option<Front> {
        let reached = model.find_node(net.output_name())?;
        let whole = model.output_ids().first() == Some(&reached);
        Some(Front {
            net,
            then: (!whole).then_some(reached),
        })
    }
}

/// The bytes of a model file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| attempt(path))
}

fn attempt(path: &Path) -> String {
    format!("loading the text model {}", path.display())
}

/// The model of these bytes, which came from `path`: ONNX or rten, whichever they say, with weights packed for speed.
pub(super) fn load_model(bytes: Vec<u8>, path: &Path) -> Result<Model> {
    // rten checks what it loads, but a damaged graph may still break an assertion inside it
    catch_unwind(AssertUnwindSafe(|| {
        ModelOptions::with_all_ops()
            .prepack_weights(true)
            .load(bytes)
    }))
    .map_err(|panic| anyhow!("damaged model: {}", message_of(&*panic)))
    .and_then(|loaded| Ok(loaded?))
    .with_context(|| attempt(path))
}

/// One thread of rten's, and the buffers that are used there.
///
/// rten runs a model on a pool of its own, by default one of all cores for the whole process. One
/// image a core is faster than one image on all cores, so each `read` borrows a pool of one thread.
pub(super) struct Core {
    pool: Arc<ThreadPool>,
    pub(super) memory: BufferPool,
}

impl Core {
    fn new() -> Core {
        Core {
            pool: Arc::new(ThreadPool::with_num_threads(1)),
            memory: BufferPool::default(),
        }
    }
}

/// Cores, as many as there ever were `read`s at a time.
#[derive(Default)]
pub(super) struct Cores(Mutex<Vec<Core>>);

impl Cores {
    /// Does `work` on a core that nobody else uses meanwhile.
    ///
    /// A panic in there (in a model that was damaged in a way nothing noticed) is this image's error.
    pub(super) fn run<T: Send>(
        &self,
        work: impl FnOnce(&mut Core) -> Result<T> + Send,
    ) -> Result<T> {
        let idle = |cores: &Self| cores.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut core = idle(self).unwrap_or_else(Core::new);
        let pool = Arc::clone(&core.pool);
        // The plain thread between the two pools: a rayon worker that waits for another pool takes up
        // the next job of its own, and would pile image upon image on its stack.
        let done = std::thread::scope(|scope| scope.spawn(|| pool.run(|| work(&mut core))).join());
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(core);
        match done {
            Ok(result) => result,
            Err(panic) => bail!("the text reader broke off: {}", message_of(&*panic)),
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rten_tensor::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Reference {
        height: usize,
        width: usize,
        shape: Vec<usize>,
        values: Vec<f32>,
    }

    fn reference(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/reference")
            .join(name)
    }

    fn picture(height: usize, width: usize) -> FeatureMap {
        let mut picture = FeatureMap::filled(height, width, 3, 0.0);
        for (place, colours) in picture.data.chunks_mut(3).enumerate() {
            let (y, x) = (place / width, place % width);
            for (c, colour) in colours.iter_mut().enumerate() {
                *colour = ((7 * x + 13 * y + 5 * c) % 17) as f32 / 17.0 - 0.5;
            }
        }
        picture
    }

    /// convnet_reference.py's networks: one that is computed here to its end, one that rten ends.
    #[test]
    fn networks_compute_what_onnxruntime_computes() {
        let values = std::fs::read_to_string(reference("convnet.json")).unwrap();
        let said: HashMap<String, Reference> = serde_json::from_str(&values).unwrap();
        assert_eq!(said.len(), 2);
        for (name, expected) in said {
            let network = Network::load(&reference(&format!("{name}.onnx"))).unwrap();
            let front = network
                .front
                .as_ref()
                .expect("nothing of it is computed here");
            assert_eq!(front.then.is_some(), name == "convnet-recogniser");
            let mut core = Core::new();
            // again with the buffers of the first time, and of another size
            for _ in 0..2 {
                let answer = network
                    .run(picture(expected.height, expected.width), &mut core)
                    .unwrap();
                assert_eq!(answer.shape(), expected.shape, "{name}");
                for (n, (a, b)) in answer.iter().zip(&expected.values).enumerate() {
                    // 70 rows are multiplied in bytes, where the machine can
                    let tolerance = if name == "convnet-recogniser" {
                        2e-2
                    } else {
                        1e-4
                    };
                    assert!(
                        (a - b).abs() < tolerance,
                        "{name}, number {n}: {a}, not {b}"
                    );
                }
                network.run(picture(36, 48), &mut core).unwrap();
            }
            assert!(network.run(picture(1, 1), &mut core).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_no_network_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.onnx");
        for bytes in [
            &b""[..],
            b"not a model",
            &[0x3a, 0xff, 0xff, 0xff, 0x0f, 0x01],
        ] {
            std::fs::write(&path, bytes).unwrap();
            let Err(error) = Network::load(&path) else {
                panic!("{bytes:?} is a network");
            };
            assert!(format!("{error:#}").contains("model.onnx"), "{error:#}");
        }
    }
}
