//! A model as the readers see it, and the one core it runs on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use rten::{Model, ModelOptions, RunOptions, ThreadPool};
use rten_tensor::{NdTensor, Tensor};

/// A network with one input and one output.
pub(super) trait Network: Send + Sync {
    /// Runs on `core`. `input` is (batch, channel, height, width).
    fn run(&self, input: NdTensor<f32, 4>, core: &Core) -> Result<Tensor<f32>>;
}

impl Network for Model {
    fn run(&self, input: NdTensor<f32, 4>, core: &Core) -> Result<Tensor<f32>> {
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&core.0)));
        let output = self.run_one(input.into(), Some(options))?;
        Ok(output.try_into()?)
    }
}

/// Loads an ONNX or rten model file, whichever its bytes say, with weights packed for speed.
pub(super) fn load_model(path: &Path) -> Result<Model> {
    let attempt = || format!("loading the text model {}", path.display());
    let bytes = std::fs::read(path).with_context(attempt)?;
    // rten checks what it loads, but a damaged graph may still break an assertion inside it
    catch_unwind(AssertUnwindSafe(|| {
        ModelOptions::with_all_ops()
            .prepack_weights(true)
            .load(bytes)
    }))
    .map_err(|panic| anyhow!("damaged model: {}", message_of(&*panic)))
    .and_then(|loaded| Ok(loaded?))
    .with_context(attempt)
}

/// One thread of rten's.
///
/// rten runs a model on a pool of its own, by default one of all cores for the whole process. One
/// image a core is faster than one image on all cores, so each `read` borrows a pool of one thread.
pub(super) struct Core(Arc<ThreadPool>);

/// Cores, as many as there ever were `read`s at a time.
#[derive(Default)]
pub(super) struct Cores(Mutex<Vec<Core>>);

impl Cores {
    /// Does `work` on a core that nobody else uses meanwhile.
    ///
    /// A panic in there (in a model that was damaged in a way nothing noticed) is this image's error.
    pub(super) fn run<T: Send>(&self, work: impl FnOnce(&Core) -> Result<T> + Send) -> Result<T> {
        let idle = |cores: &Self| cores.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let core = idle(self).unwrap_or_else(|| Core(Arc::new(ThreadPool::with_num_threads(1))));
        // The plain thread between the two pools: a rayon worker that waits for another pool takes up
        // the next job of its own, and would pile image upon image on its stack.
        let done = std::thread::scope(|scope| scope.spawn(|| core.0.run(|| work(&core))).join());
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
