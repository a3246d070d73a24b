//! A network that a reader loads and runs, and the thread that it runs on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView, Tensor};

use super::backend::{Backend, Runtime};
use crate::nn::conv::{BufferPool, Classifier, ConvNet, FeatureMap, NumericMode, compile};
use crate::nn::onnx;

/// A network with one input and one output.
///
/// The convolution runtime ([`crate::nn::conv`]) computes as much of its beginning as it knows, and its output layer; rten computes
/// the rest, and all of a network that the convolution runtime refuses.
pub(super) struct Network {
    model: Model,
    trunk: Option<Trunk>,
    /// The output layer, and the tensor that rten computes for it.
    output_layer: Option<(Classifier, NodeId)>,
    /// The labels that are kept of those that the network predicts; None if all are.
    kept: Option<Vec<usize>>,
    backend: Backend,
}

/// The beginning of a network, computed by the convolution runtime.
struct Trunk {
    net: ConvNet,
    /// The tensor from which rten continues; None if the trunk is the whole network.
    then: Option<NodeId>,
}

/// A part of a network that the convolution runtime computes, or why it does not.
type Part<T> = Result<T, String>;

impl Network {
    /// Loads a model file, in the ONNX or the rten format, with weights packed for speed. `name` is the network's part in
    /// reading.
    ///
    /// # Errors
    /// The file cannot be read, or is no model. A model that the convolution runtime refuses is no error:
    /// [`Network::backend`] has the reason.
    pub(super) fn load(name: &'static str, path: &Path, mode: NumericMode) -> Result<Network> {
        Self::load_keeping(name, path, mode, |_| Ok(None))
    }

    /// As [`Network::load`]. Of the labels on the last axis of the output, those that `kept` returns are kept, in that order, and
    /// their probabilities divided by their sum; all if it returns None.
    ///
    /// # Errors
    /// As for [`Network::load`], or those of `kept`.
    pub(super) fn load_keeping(
        name: &'static str,
        path: &Path,
        mode: NumericMode,
        kept: impl FnOnce(&Model) -> Result<Option<Vec<usize>>>,
    ) -> Result<Network> {
        let bytes = read(path)?;
        let model = load_model(bytes.clone(), path)?;
        let kept = kept(&model)?;
        let (trunk, classifier) = compile_guarded(&bytes, mode, kept.as_deref());
        drop(bytes);
        let trunk = trunk.and_then(|net| Trunk::new(net, &model));
        let output_layer =
            classifier.map(
                |classifier| match model.find_node(classifier.input_name()) {
                    Some(reached) => Ok((classifier, reached)),
                    None => Err(format!(
                        "rten does not know the output layer's input {}",
                        classifier.input_name()
                    )),
                },
            );
        let convolutions = match &trunk {
            Ok(trunk) => Runtime::Conv(trunk.net.numeric()),
            Err(because) => Runtime::Rten {
                because: because.clone(),
            },
        };
        let mut network = Network {
            model,
            trunk: trunk.ok(),
            output_layer: None,
            kept,
            backend: Backend {
                network: name,
                convolutions,
                output_layer: None,
            },
        };
        network.backend.output_layer =
            output_layer.map(
                |part| match part.and_then(|part| network.try_output_layer(part)) {
                    Ok(runtime) => runtime,
                    Err(because) => Runtime::Rten { because },
                },
            );
        Ok(network)
    }

    /// Computes the output layer by the convolution runtime from now on, if that works: rten may have fused the operators around
    /// its input with others, and then cannot return that tensor, which shows only when it is asked to.
    fn try_output_layer(&mut self, part: (Classifier, NodeId)) -> Part<Runtime> {
        let numeric = part.0.numeric();
        self.output_layer = Some(part);
        let image = FeatureMap::filled(48, 64, 3, 0.0);
        match self.run(image, &mut Core::new()) {
            Ok(_) => Ok(Runtime::Conv(numeric)),
            Err(error) => {
                self.output_layer = None;
                Err(format!("a trial run failed: {error:#}"))
            }
        }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// Which runtimes compute the network, and why.
    pub(super) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Computes the network's output for an image on `core`: (1, channels, height, width), or the shape into which the network's
    /// last layers bring that.
    pub(super) fn run(&self, image: FeatureMap, core: &mut Core) -> Result<Tensor<f32>> {
        let (first, map) = match &self.trunk {
            None => (self.model.input_ids().first().copied(), image),
            Some(trunk) => (trunk.then, trunk.net.run(image, &mut core.pool)?),
        };
        let size = [1, map.channels, map.height, map.width];
        let tensor = match map.stride {
            1 => NdTensor::from_data(size, map.data.to_vec()),
            _ => NdTensor::from_fn(size, |[_, channel, y, x]| map.at(y, x, channel)),
        };
        core.pool.recycle(map);
        let Some(first) = first else {
            return Ok(tensor.into_dyn());
        };
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&core.thread)));
        let last = match &self.output_layer {
            Some((_, reached)) => &[*reached],
            None => self.model.output_ids(),
        };
        let outputs = self
            .model
            .run(vec![(first, tensor.into())], last, Some(options))?;
        let output: Tensor<f32> = outputs
            .into_iter()
            .next()
            .context("the network has no output")?
            .try_into()?;
        match &self.output_layer {
            Some((classifier, _)) => {
                let features: NdTensorView<f32, 3> = output.view().try_into()?;
                Ok(classifier.run(features, &mut core.pool)?.into_dyn())
            }
            None => match &self.kept {
                Some(kept) => keep(output, kept),
                None => Ok(output),
            },
        }
    }
}

/// The probabilities (1, steps, kept) of the labels `kept`, divided by their sum at each step, from those of all labels,
/// (1, steps, labels). A label that does not exist has probability 0.
///
/// # Errors
/// The output has another number of axes.
fn keep(output: Tensor<f32>, kept: &[usize]) -> Result<Tensor<f32>> {
    let all: NdTensorView<f32, 3> = output.view().try_into()?;
    let [batch, steps, _] = all.shape();
    let mut some = NdTensor::zeros([batch, steps, kept.len()]);
    for line in 0..batch {
        for step in 0..steps {
            let of_label = |&label: &usize| all.get([line, step, label]).copied().unwrap_or(0.0);
            let sum: f32 = kept.iter().map(of_label).sum();
            let scale = if sum > 0.0 { sum.recip() } else { 0.0 };
            for (n, label) in kept.iter().enumerate() {
                some[[line, step, n]] = of_label(label) * scale;
            }
        }
    }
    Ok(some.into_dyn())
}

/// Compiles a model for the convolution runtime: its trunk, and its output layer if it has one.
///
/// A damaged file may break an assertion in there; that is a refusal like any other, and rten decides whether it is a model.
fn compile_guarded(
    bytes: &[u8],
    mode: NumericMode,
    kept: Option<&[usize]>,
) -> (Part<ConvNet>, Option<Classifier>) {
    match catch_unwind(|| compile(bytes, mode, kept)) {
        Ok(Ok(compiled)) => {
            let trunk = compiled.trunk.map_err(|error| format!("{error:#}"));
            (trunk, compiled.classifier)
        }
        Ok(Err(error)) => (Err(format!("{error:#}")), None),
        Err(panic) => {
            let message = message_of(&*panic);
            (Err(format!("compiling it failed: {message}")), None)
        }
    }
}

impl Trunk {
    /// # Errors
    /// The model does not know the tensor where the trunk ends.
    fn new(net: ConvNet, model: &Model) -> Part<Trunk> {
        let reached = model.find_node(net.output_name());
        let reached = reached
            .ok_or_else(|| format!("rten does not know the tensor {}", net.output_name()))?;
        let whole = model.output_ids().first() == Some(&reached);
        Ok(Trunk {
            net,
            then: (!whole).then_some(reached),
        })
    }
}

/// Reads a model file, and checks that it can be parsed.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).with_context(|| attempt(path))?;
    onnx::check(&bytes).with_context(|| attempt(path))?;
    Ok(bytes)
}

fn attempt(path: &Path) -> String {
    format!("loading the text model {}", path.display())
}

/// Loads a model in the ONNX or the rten format, with weights packed for speed. `path` is named in errors.
pub(super) fn load_model(bytes: Vec<u8>, path: &Path) -> Result<Model> {
    // rten checks what it loads, but a damaged graph may still break an assertion in it
    catch_unwind(AssertUnwindSafe(|| {
        ModelOptions::with_all_ops()
            .prepack_weights(true)
            .load(bytes)
    }))
    .map_err(|panic| anyhow!("damaged model: {}", message_of(&*panic)))
    .and_then(|loaded| Ok(loaded?))
    .with_context(|| attempt(path))
}

/// What a reader uses on one core: a thread of rten's, and buffers.
///
/// By default rten runs a model on one thread pool for the whole process, with a thread for each core. One image on each core is faster than
/// one image on all cores, so each `read` borrows a pool of one thread.
pub(super) struct Core {
    thread: Arc<ThreadPool>,
    pub(super) pool: BufferPool,
}

impl Core {
    fn new() -> Core {
        Core {
            thread: Arc::new(ThreadPool::with_num_threads(1)),
            pool: BufferPool::default(),
        }
    }
}

/// The cores that are not in use. There are as many as there were `read`s at a time.
#[derive(Default)]
pub(super) struct Cores(Mutex<Vec<Core>>);

impl Cores {
    /// Does `work` on a core that nothing else uses meanwhile.
    ///
    /// # Errors
    /// Those of the work. A panic in it is an error too: it concerns one image.
    pub(super) fn run<T: Send>(
        &self,
        work: impl FnOnce(&mut Core) -> Result<T> + Send,
    ) -> Result<T> {
        let idle = |cores: &Self| cores.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut core = idle(self).unwrap_or_else(Core::new);
        let thread = Arc::clone(&core.thread);
        // The caller may be a worker of another rayon pool. If it waited for rten's pool directly, it would take up its own pool's
        // next job meanwhile, and image after image would pile up on its stack. So it waits for a plain thread.
        let done =
            std::thread::scope(|scope| scope.spawn(|| thread.run(|| work(&mut core))).join());
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(core);
        match done {
            Ok(result) => result,
            Err(panic) => bail!("the text reader panicked: {}", message_of(&*panic)),
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
            .join("src/nn/reference")
            .join(name)
    }

    /// The input of tests/reference/convnet.py.
    fn image(height: usize, width: usize) -> FeatureMap {
        let mut image = FeatureMap::filled(height, width, 3, 0.0);
        for (pixel, colours) in image.data.chunks_mut(3).enumerate() {
            let (y, x) = (pixel / width, pixel % width);
            for (c, colour) in colours.iter_mut().enumerate() {
                *colour = ((7 * x + 13 * y + 5 * c) % 17) as f32 / 17.0 - 0.5;
            }
        }
        image
    }

    /// The networks of tests/reference/convnet.py: one that is computed here to its end, one whose end rten computes.
    #[test]
    fn networks_compute_what_onnxruntime_computes() {
        let values = std::fs::read_to_string(reference("convnet.json")).unwrap();
        let said: HashMap<String, Reference> = serde_json::from_str(&values).unwrap();
        assert_eq!(said.len(), 2);
        for (name, expected) in said {
            let path = reference(&format!("{name}.onnx"));
            let network = Network::load("toy", &path, NumericMode::Auto).unwrap();
            let trunk = network.trunk.as_ref().expect("it is compiled");
            assert_eq!(trunk.then.is_some(), name == "convnet-recogniser");
            let mut core = Core::new();
            // twice, so that the second run uses the buffers of the first and of an image of another size
            for _ in 0..2 {
                let output = network
                    .run(image(expected.height, expected.width), &mut core)
                    .unwrap();
                assert_eq!(output.shape(), expected.shape, "{name}");
                for (n, (a, b)) in output.iter().zip(&expected.values).enumerate() {
                    assert!((a - b).abs() < 1e-4, "{name}, number {n}: {a}, not {b}");
                }
                network.run(image(36, 48), &mut core).unwrap();
            }
            assert!(network.run(image(1, 1), &mut core).is_err(), "{name}");
        }
    }

    /// The probabilities of the labels of each step, without the batch.
    fn steps(network: &Network) -> Vec<Vec<f32>> {
        let output = network.run(image(48, 40), &mut Core::new()).unwrap();
        let output: NdTensorView<f32, 3> = output.view().try_into().unwrap();
        let [_, steps, labels] = output.shape();
        let of_step = |step| (0..labels).map(|n| output[[0, step, n]]).collect();
        (0..steps).map(of_step).collect()
    }

    #[test]
    fn labels_that_are_kept_share_the_probability_whichever_runtime_computes_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rec.onnx");
        std::fs::write(&path, crate::nn::onnx_writer::recogniser().model()).unwrap();
        let all = steps(&Network::load("toy", &path, NumericMode::Float).unwrap());
        assert_eq!(all[0].len(), 12);
        let kept = vec![0, 7, 3, 11];
        let load = |kept: Vec<usize>| {
            Network::load_keeping("toy", &path, NumericMode::Float, |_| Ok(Some(kept))).unwrap()
        };
        let mut network = load(kept.clone());
        let conv = Some(Runtime::Conv(crate::nn::conv::Numeric::Float));
        assert_eq!(network.backend().output_layer, conv);
        let by_conv = steps(&network);
        network.output_layer = None;
        for some in [by_conv, steps(&network)] {
            assert_eq!(some.len(), all.len());
            for (some, all) in some.iter().zip(&all) {
                let sum: f32 = kept.iter().map(|&label| all[label]).sum();
                assert!(sum < 0.999, "the others have no probability");
                assert_eq!(some.len(), kept.len());
                for (p, &label) in some.iter().zip(&kept) {
                    assert!((p - all[label] / sum).abs() < 1e-5, "{label}: {p}");
                }
            }
        }
        // a label that the network does not have gets probability 0, and the others share the rest
        let network = load(vec![0, 7, 12]);
        assert!(network.backend().output_layer.is_none());
        assert!(steps(&network).iter().all(|step| step[2] == 0.0));
    }

    #[test]
    fn a_model_that_the_convolution_runtime_refuses_is_run_by_rten_and_the_reason_is_kept() {
        let bytes = std::fs::read(reference("convnet-detector.onnx")).unwrap();
        let ink = reference("ink-recogniser.onnx");
        let network = Network::load("toy", &ink, NumericMode::Auto).unwrap();
        match &network.backend().convolutions {
            Runtime::Rten { because } => assert!(!because.is_empty()),
            Runtime::Conv(_) => panic!("it begins with a convolution"),
        }
        // cut short, it is no ONNX model
        let (trunk, classifier) =
            compile_guarded(&bytes[..bytes.len() / 2], NumericMode::Auto, None);
        let reason = trunk.err().expect("half a model");
        assert!(reason.starts_with("it is no ONNX model"), "{reason}");
        assert!(classifier.is_none());
    }

    #[test]
    fn a_file_that_is_no_model_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.onnx");
        for bytes in [
            &b""[..],
            b"not a model",
            &[0x3a, 0xff, 0xff, 0xff, 0x0f, 0x01],
        ] {
            std::fs::write(&path, bytes).unwrap();
            let Err(error) = Network::load("toy", &path, NumericMode::Auto) else {
                panic!("{bytes:?} is a network");
            };
            assert!(format!("{error:#}").contains("model.onnx"), "{error:#}");
        }
    }
}
