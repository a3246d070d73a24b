//! A network that a reader loads and runs, and the thread that it runs on.

use std::panic::catch_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use image::RgbImage;
use riposte_nn::conv::{
    BufferPool, Classifier, CompileExtent, FeatureMap, NetworkParts, NumericMode, compile,
};
use riposte_nn::onnx;
use rten::{Model, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView, Tensor, TensorView};

use super::OcrLine;
use super::backend::{NetworkBackend, PartRuntime};
use crate::disk::regular;
use crate::evidence::guarded::{self, message_of};
use crate::limits::{MAX_OCR_MODEL_BYTES, MIN_TEXT_SIDE};
use crate::threads;

/// A network with one input and one output.
///
/// The convolution runtime ([`riposte_nn::conv`]) computes the network's beginning as far as it knows the operators, the convolutions just before the
/// output layer, and that layer. rten computes the rest, and all of a network that the convolution runtime refuses.
pub(super) struct Network {
    pub(super) model: Model,
    parts: Option<NetworkParts>,
    /// The output layer.
    classifier: Option<Classifier>,
    /// The part that rten computes.
    rest: Rest,
    /// The labels that are kept of those that the network predicts; `None` if all are.
    kept: Option<Vec<usize>>,
    /// Which runtimes compute the network, and why.
    pub(super) backend: NetworkBackend,
}

/// rten's part of a network: the tensors that it starts from, and those that it has to compute.
#[derive(Default)]
struct Rest {
    takes: Vec<NodeId>,
    gives: Vec<NodeId>,
}

/// A part of a network that the convolution runtime computes, or why it does not.
type Part<T> = Result<T, String>;

impl Network {
    /// Loads a model file, in the ONNX or the rten format, with weights packed for speed. `name` is the network's part in
    /// reading.
    ///
    /// # Errors
    /// The file cannot be read, or is not a model. A model that the convolution runtime refuses is not an error: its `backend` has the reason.
    pub(super) fn load(name: &'static str, path: &Path, mode: NumericMode) -> Result<Network> {
        Self::load_keeping(name, path, mode, |_| Ok(None))
    }

    /// Like [`Network::load`], but keeps only some labels on the last axis of the output: those that `kept` returns, in that order. Their
    /// probabilities are divided by their sum. All labels are kept if `kept` returns `None`.
    ///
    /// # Errors
    /// Those of [`Network::load`], and those of `kept`.
    pub(super) fn load_keeping(
        name: &'static str,
        path: &Path,
        mode: NumericMode,
        kept: impl FnOnce(&Model) -> Result<Option<Vec<usize>>>,
    ) -> Result<Network> {
        let bytes = read(path)?;
        let model = load_model(bytes.clone(), path)?;
        let mut network = Network {
            kept: kept(&model)?,
            model,
            parts: None,
            classifier: None,
            rest: Rest::default(),
            backend: NetworkBackend {
                network: name,
                convolutions: PartRuntime::Rten {
                    because: String::new(),
                },
                output_layer: None,
            },
        };
        let mut failure = None;
        for extent in [
            CompileExtent::Head,
            CompileExtent::OutputLayer,
            CompileExtent::Trunk,
        ] {
            let (parts, classifier) =
                compile_guarded(&bytes, mode, network.kept.as_deref(), extent);
            match network.adopt(parts, classifier) {
                Ok(()) => break,
                Err(because) => failure = Some(because),
            }
        }
        if let (None, Some(because)) = (&network.classifier, failure) {
            network.backend.output_layer = Some(PartRuntime::Rten { because });
        }
        Ok(network)
    }

    /// Makes the convolution runtime compute these parts from now on.
    ///
    /// # Errors
    /// rten cannot compute what is left: it may have fused the operators that write and read a tensor at the border of two parts, and then it can
    /// neither take nor return that tensor. A trial run finds this out.
    fn adopt(&mut self, parts: Part<NetworkParts>, classifier: Option<Classifier>) -> Part<()> {
        let resolved = parts.and_then(|parts| {
            let takes = self.nodes(&parts.outputs[..parts.handed_over])?;
            let gives = match parts.rest.as_slice() {
                [] => Vec::new(),
                // rten knows the outputs of the model, whatever their names are
                _ if classifier.is_none() => self.model.output_ids().to_vec(),
                rest => self.nodes(rest)?,
            };
            Ok((parts, Rest { takes, gives }))
        });
        let (parts, rest) = match resolved {
            Ok((parts, rest)) => {
                let head = parts.head.as_ref().map(|head| head.net.numeric());
                let numeric = head.unwrap_or_default().max(parts.trunk.numeric());
                self.backend.convolutions = PartRuntime::Conv(numeric);
                (Some(parts), rest)
            }
            Err(because) => {
                let gives = match &classifier {
                    Some(classifier) => self.nodes(std::slice::from_ref(&classifier.input_name))?,
                    None => self.model.output_ids().to_vec(),
                };
                self.backend.convolutions = PartRuntime::Rten { because };
                let takes = self.model.input_ids().iter().take(1).copied().collect();
                (None, Rest { takes, gives })
            }
        };
        let numeric = classifier.as_ref().map(Classifier::numeric);
        (self.parts, self.rest, self.classifier) = (parts, rest, classifier);
        self.backend.output_layer = numeric.map(PartRuntime::Conv);
        if numeric.is_none() {
            return Ok(());
        }
        let image = FeatureMap::filled(48, 64, 3, 0.0);
        let output = Core::new().and_then(|mut core| self.run(image, &mut core));
        output.map_err(|error| format!("a trial run failed: {error:#}"))?;
        Ok(())
    }

    /// The nodes with these names.
    ///
    /// # Errors
    /// rten does not know one of them.
    fn nodes(&self, names: &[String]) -> Part<Vec<NodeId>> {
        let node = |name: &String| {
            let found = self.model.find_node(name);
            found.ok_or_else(|| format!("rten does not know the tensor {name}"))
        };
        names.iter().map(node).collect()
    }

    /// Computes the network's output for an image on `core`. Its shape is (1, channels, height, width), or the shape that the network's last layers
    /// give.
    pub(super) fn run(&self, image: FeatureMap, core: &mut Core) -> Result<Tensor<f32>> {
        let mut maps = match &self.parts {
            None => vec![image],
            Some(parts) => parts.trunk.run(vec![image], &mut core.pool)?,
        };
        let mut tensors = self.run_rest(&maps, core)?;
        if let (Some(parts), Some(classifier)) = (&self.parts, &self.classifier)
            && let Some(head) = &parts.head
        {
            let mut inputs = Vec::new();
            for (name, stride) in head.inputs.iter().zip(head.net.strides()) {
                let place = |names: &[String]| names.iter().position(|n| n == name);
                inputs.push(match (place(&parts.outputs), place(&parts.rest)) {
                    (Some(n), _) => std::mem::take(&mut maps[n]),
                    (None, Some(n)) => map_of(tensors[n].view(), stride, &mut core.pool)?,
                    (None, None) => bail!("nothing computes the tensor {name}"),
                });
            }
            maps.extend(head.net.run(inputs, &mut core.pool)?);
            let row = maps.last().context("the network has no output")?;
            let labels = classifier.run_map(row, &mut core.pool)?;
            maps.into_iter().for_each(|map| core.pool.recycle(map));
            return Ok(labels.into_dyn());
        }
        let output = match tensors.pop() {
            Some(tensor) => tensor,
            None => tensor_of(maps.first().context("the network has no output")?),
        };
        maps.into_iter().for_each(|map| core.pool.recycle(map));
        match (&self.classifier, &self.kept) {
            (Some(classifier), _) => {
                let features: NdTensorView<f32, 3> = output.view().try_into()?;
                Ok(classifier.run(features, &mut core.pool)?.into_dyn())
            }
            (None, Some(kept)) => keep(output, kept),
            (None, None) => Ok(output),
        }
    }

    /// The tensors that rten computes from the maps it is given.
    fn run_rest(&self, maps: &[FeatureMap], core: &Core) -> Result<Vec<Tensor<f32>>> {
        if self.rest.gives.is_empty() {
            return Ok(Vec::new());
        }
        let inputs = self.rest.takes.iter().zip(maps);
        let inputs = inputs.map(|(&node, map)| (node, tensor_of(map).into()));
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&core.thread)));
        let outputs = self
            .model
            .run(inputs.collect(), &self.rest.gives, Some(options))?;
        let outputs = outputs.into_iter().map(|output| Ok(output.try_into()?));
        outputs.collect()
    }
}

/// A map as rten takes it: (1, channels, height, width).
fn tensor_of(map: &FeatureMap) -> Tensor<f32> {
    let size = [1, map.channels, map.height, map.width];
    let tensor = match map.stride {
        1 => NdTensor::from_data(size, map.data.to_vec()),
        _ => NdTensor::from_fn(size, |[_, channel, y, x]| map.at(y, x, channel)),
    };
    tensor.into_dyn()
}

/// A tensor of shape (1, channels, height, width) as a map with this stride.
///
/// # Errors
/// The tensor has another shape, or more channels than the stride.
fn map_of(tensor: TensorView<f32>, stride: usize, pool: &mut BufferPool) -> Result<FeatureMap> {
    let tensor: NdTensorView<f32, 4> = tensor.try_into()?;
    let [batch, channels, height, width] = tensor.shape();
    ensure!(
        batch == 1 && channels <= stride,
        "the network has a tensor of shape {:?}",
        tensor.shape()
    );
    let mut map = pool.map(height, width, channels, stride)?;
    let pixels = tensor.slice(0).permuted([1, 2, 0]).to_contiguous();
    let pixels = pixels.data().chunks(channels.max(1));
    for (to, from) in map.data.chunks_mut(stride).zip(pixels) {
        to[..channels].copy_from_slice(from);
        to[channels..].fill(0.0);
    }
    Ok(map)
}

/// The probabilities (1, steps, kept) of the labels `kept`, taken from those of all labels, (1, steps, labels), and divided by their sum at each
/// step. A label that does not exist has probability 0.
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

/// Compiles a model for the convolution runtime: the parts before its output layer, and the output layer if it has one.
///
/// A damaged file may break an assertion of the compiler. That is a refusal like any other, and rten decides whether the file is a model.
fn compile_guarded(
    bytes: &[u8],
    mode: NumericMode,
    kept: Option<&[usize]>,
    extent: CompileExtent,
) -> (Part<NetworkParts>, Option<Classifier>) {
    match catch_unwind(|| compile(bytes, mode, kept, extent)) {
        Ok(Ok(compiled)) => {
            let parts = compiled.parts.map_err(|error| error.to_string());
            (parts, compiled.classifier)
        }
        Ok(Err(error)) => (Err(error.to_string()), None),
        Err(panic) => (
            Err(format!("compiling it failed: {}", message_of(&*panic))),
            None,
        ),
    }
}

/// Reads a model file, and checks that it can be parsed.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = regular::read(path, MAX_OCR_MODEL_BYTES).with_context(|| attempt(path))?;
    onnx::check(&bytes).with_context(|| attempt(path))?;
    Ok(bytes)
}

fn attempt(path: &Path) -> String {
    format!("loading the text model {}", path.display())
}

/// As [`guarded::load_model`]. `path` is named in errors.
pub(super) fn load_model(bytes: Vec<u8>, path: &Path) -> Result<Model> {
    guarded::load_model(bytes).with_context(|| attempt(path))
}

/// What a reader uses on one core: a thread for rten, and buffers.
///
/// By default rten runs a model on one thread pool for the whole process, with a thread for each core. One image on each core is faster than
/// one image on all cores, so each `read` borrows a pool of one thread.
pub(super) struct Core {
    thread: Arc<ThreadPool>,
    pub(super) pool: BufferPool,
}

impl Core {
    /// # Errors
    /// Its thread cannot be started.
    pub(super) fn new() -> Result<Core> {
        // rten panics if it cannot start one
        threads::spawn_detached(|| ())?;
        Ok(Core {
            thread: Arc::new(ThreadPool::with_num_threads(1)),
            pool: BufferPool::default(),
        })
    }
}

/// The idle cores. There are as many cores as there were simultaneous calls of `read`.
#[derive(Default)]
pub(super) struct Cores(Mutex<Vec<Core>>);

impl Cores {
    /// Reads an image on a core that nothing else uses at the same time. Returns no lines if the image is too small for legible text.
    ///
    /// # Errors
    /// Those of `read`. A panic in it is an error too, because it concerns only one image.
    pub(super) fn read(
        &self,
        image: &RgbImage,
        read: impl FnOnce(&RgbImage, &mut Core) -> Result<Vec<OcrLine>> + Send,
    ) -> Result<Vec<OcrLine>> {
        if image.width().min(image.height()) < MIN_TEXT_SIDE {
            return Ok(Vec::new());
        }
        let idle = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let core = idle().pop();
        let mut core = core.map_or_else(Core::new, Ok)?;
        let thread = Arc::clone(&core.thread);
        // The caller may be a worker of another rayon pool. If it waited for rten's pool directly, it would take up its own pool's
        // next job meanwhile, and image after image would pile up on its stack. So it waits for a plain thread.
        let work = || thread.run(|| read(image, &mut core));
        let done: Result<_> = std::thread::scope(|scope| Ok(threads::spawn(scope, work)?.join()));
        idle().push(core);
        done?.unwrap_or_else(|panic| bail!("the text reader panicked: {}", message_of(&*panic)))
    }
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
            .join("src/evidence/ocr/reference")
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

    /// The networks of tests/reference/convnet.py: one that the convolution runtime computes to its end, one whose end rten computes, and one whose
    /// middle rten computes.
    #[test]
    fn networks_compute_what_onnxruntime_computes() {
        let values = std::fs::read_to_string(reference("convnet.json")).unwrap();
        let said: HashMap<String, Reference> = serde_json::from_str(&values).unwrap();
        assert_eq!(said.len(), 3);
        for (name, expected) in said {
            let path = reference(&format!("{name}.onnx"));
            let network = Network::load("toy", &path, NumericMode::Auto).unwrap();
            let parts = network.parts.as_ref().expect("it is compiled");
            // how many tensors rten takes and gives, and whether it computes the middle of the network
            let (takes, gives) = (network.rest.takes.len(), network.rest.gives.len());
            let expected_parts = match name.as_str() {
                "convnet-detector" => (0, 0, false),
                "convnet-recogniser" => (2, 1, false),
                _ => (1, 1, true),
            };
            assert_eq!(
                (takes, gives, parts.head.is_some()),
                expected_parts,
                "{name}"
            );
            assert_eq!(network.classifier.is_some(), parts.head.is_some());
            // of these networks, only the reader has products that are large enough for int8
            let bound = if parts.head.is_some() { 0.01 } else { 1e-4 };
            let mut core = Core::new().unwrap();
            // twice, so that the second run uses the buffers of the first and of an image of another size
            for _ in 0..2 {
                let output = network
                    .run(image(expected.height, expected.width), &mut core)
                    .unwrap();
                assert_eq!(output.shape(), expected.shape, "{name}");
                for (n, (a, b)) in output.iter().zip(&expected.values).enumerate() {
                    assert!((a - b).abs() < bound, "{name}, number {n}: {a}, not {b}");
                }
                network.run(image(36, 48), &mut core).unwrap();
            }
            assert!(network.run(image(1, 1), &mut core).is_err(), "{name}");
        }
    }

    /// The probabilities of the labels of each step, without the batch.
    fn steps(network: &Network) -> Vec<Vec<f32>> {
        let output = network
            .run(image(48, 40), &mut Core::new().unwrap())
            .unwrap();
        let output: NdTensorView<f32, 3> = output.view().try_into().unwrap();
        let [_, steps, labels] = output.shape();
        let of_step = |step| (0..labels).map(|n| output[[0, step, n]]).collect();
        (0..steps).map(of_step).collect()
    }

    #[test]
    fn labels_that_are_kept_share_the_probability_whichever_runtime_computes_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rec.onnx");
        std::fs::write(&path, onnx_writer::recogniser().model()).unwrap();
        let all = steps(&Network::load("toy", &path, NumericMode::Float).unwrap());
        assert_eq!(all[0].len(), 12);
        let kept = vec![0, 7, 3, 11];
        let load = |kept: Vec<usize>| {
            Network::load_keeping("toy", &path, NumericMode::Float, |_| Ok(Some(kept))).unwrap()
        };
        let mut network = load(kept.clone());
        let conv = Some(PartRuntime::Conv(riposte_nn::conv::Numeric::Float));
        assert_eq!(network.backend.output_layer, conv);
        let by_conv = steps(&network);
        network.classifier = None;
        network.rest.gives = network.model.output_ids().to_vec();
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
        assert!(network.backend.output_layer.is_none());
        assert!(steps(&network).iter().all(|step| step[2] == 0.0));
    }

    #[test]
    fn a_model_that_the_convolution_runtime_refuses_is_run_by_rten_and_the_reason_is_kept() {
        let bytes = std::fs::read(reference("convnet-detector.onnx")).unwrap();
        let ink = reference("ink-recogniser.onnx");
        let network = Network::load("toy", &ink, NumericMode::Auto).unwrap();
        match &network.backend.convolutions {
            PartRuntime::Rten { because } => assert!(!because.is_empty()),
            PartRuntime::Conv(_) => panic!("it begins with a convolution"),
        }
        // cut short, it is not an ONNX model
        let half = &bytes[..bytes.len() / 2];
        let (parts, classifier) =
            compile_guarded(half, NumericMode::Auto, None, CompileExtent::Head);
        let reason = parts.err().expect("half a model");
        assert!(reason.starts_with("it is not an ONNX model"), "{reason}");
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
