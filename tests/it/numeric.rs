//! Which runtime reads the text in images, with which numbers, and what is recorded about this.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use image::RgbImage;
use riposte::collection::images::ImageCollection;
use riposte::evidence::channel::{Extractor, Precision};
use riposte::evidence::extract::{ExtractionScope, Extractors, GROUP, Shard, extract};
use riposte::evidence::ocr::backend::{NetworkBackend, PartRuntime};
use riposte::evidence::ocr::{OcrLine, PpOcr, Script, TextReader};
use riposte::evidence::store::{self, Store};
use riposte::lazy::Lazy;
use riposte::recipes::channels::CHANNELS;
use riposte_nn::conv::{Numeric, NumericMode};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::need::{Model, need};

const IMAGES: usize = 2;

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample")
}

/// A reader that finds one line in each image, and reports that it computes in these numbers.
struct Stub {
    backends: [NetworkBackend; 1],
    reads: Arc<AtomicUsize>,
}

impl TextReader for Stub {
    fn backends(&self) -> &[NetworkBackend] {
        &self.backends
    }

    fn read(&self, _: &RgbImage) -> anyhow::Result<Vec<OcrLine>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(vec![OcrLine {
            text: self.backends[0].numeric().to_string(),
            confidence: 1.0,
            corners: [(0.0, 0.0); 4],
            block: 0,
        }])
    }
}

fn stub(producer: &str, numeric: Numeric) -> Extractors {
    counting(Arc::default(), producer, numeric)
}

/// A reader that counts the images that are read.
fn counting(reads: Arc<AtomicUsize>, producer: &str, numeric: Numeric) -> Extractors {
    let load = move || {
        let backend = NetworkBackend {
            network: "recogniser",
            convolutions: PartRuntime::Conv(numeric),
            output_layer: None,
        };
        let reader: Box<dyn TextReader> = Box::new(Stub {
            backends: [backend],
            reads: reads.clone(),
        });
        Ok(reader)
    };
    let mut reader = Some(Lazy::new(producer.to_owned(), load));
    let tools = Extractors::new(CHANNELS, |channel| match (channel.name(), channel.role()) {
        ("ocr", _) => Ok(reader
            .take()
            .map(|reader| Box::new(reader) as Box<dyn Extractor>)),
        (_, Some(_)) => Ok(None),
        (_, None) => channel.extractor(None, Precision::default()).map(Some),
    });
    tools.unwrap()
}

/// Extracts the evidence of the sample's first images. Returns the number of images for which something was computed.
fn extract_sample(store: &mut Store, tools: &Extractors) -> usize {
    extract_first(&sample(), IMAGES, store, tools)
}

fn extract_first(input: &Path, images: usize, store: &mut Store, tools: &Extractors) -> usize {
    let collection = ImageCollection::open(input).unwrap();
    let extent = ExtractionScope {
        shard: Shard::WHOLE,
        limit: Some(images),
        threads: 1,
        rehash: false,
    };
    let stop = AtomicBool::new(false);
    extract(&collection, store, tools, extent, &stop, &mut |_| {})
        .unwrap()
        .computed
}

fn recorded(store: &Store) -> BTreeMap<Option<Numeric>, usize> {
    store.numerics("ocr").unwrap()
}

#[test]
fn another_numeric_alone_recomputes_nothing_and_another_producer_does() {
    let dir = TempDir::new().unwrap();
    let mut store = Store::open(&dir.path().join("evidence"), CHANNELS).unwrap();
    assert_eq!(
        extract_sample(&mut store, &stub("stub/1", Numeric::Float)),
        IMAGES
    );
    let floats = BTreeMap::from([(Some(Numeric::Float), IMAGES)]);
    assert_eq!(recorded(&store), floats);
    let (id, _) = store.text_hashes().unwrap().remove(0);
    let expected = store::ChannelBackend {
        name: "recogniser conv float".to_owned(),
        numeric: Numeric::Float,
    };
    assert_eq!(store.backend(&id, "ocr").unwrap(), Some(expected));
    assert_eq!(store.backend(&id, "page").unwrap(), None);

    assert_eq!(
        extract_sample(&mut store, &stub("stub/1", Numeric::Int8)),
        0
    );
    assert_eq!(recorded(&store), floats);
    assert_eq!(store.read(&id).unwrap().unwrap().ocr_text(), "float");

    assert_eq!(
        extract_sample(&mut store, &stub("stub/2", Numeric::Int8)),
        IMAGES
    );
    assert_eq!(
        recorded(&store),
        BTreeMap::from([(Some(Numeric::Int8), IMAGES)])
    );
    assert_eq!(store.read(&id).unwrap().unwrap().ocr_text(), "int8");
}

#[test]
fn merging_takes_the_backends_along_and_knows_none_of_older_stores() {
    let dir = TempDir::new().unwrap();
    let shard = dir.path().join("shard");
    extract_sample(
        &mut Store::open(&shard, CHANNELS).unwrap(),
        &stub("stub/1", Numeric::Int8),
    );
    let mut all = Store::open(&dir.path().join("all"), CHANNELS).unwrap();
    assert_eq!(all.merge(&shard).unwrap().documents, IMAGES);
    assert_eq!(
        recorded(&all),
        BTreeMap::from([(Some(Numeric::Int8), IMAGES)])
    );

    let older = Connection::open(&shard).unwrap();
    older
        .execute_batch("DROP TRIGGER work_removed; DROP TRIGGER work_changed; DROP TABLE backend;")
        .unwrap();
    drop(older);
    let mut all = Store::open(&dir.path().join("again"), CHANNELS).unwrap();
    assert_eq!(all.merge(&shard).unwrap().documents, IMAGES);
    assert_eq!(recorded(&all), BTreeMap::from([(None, IMAGES)]));
    // the older store gets the table when it is opened for writing, and nothing is computed because of that
    let mut older = Store::open(&shard, CHANNELS).unwrap();
    assert_eq!(
        extract_sample(&mut older, &stub("stub/1", Numeric::Int8)),
        0
    );
    assert_eq!(recorded(&older), BTreeMap::from([(None, IMAGES)]));
}

#[test]
fn a_build_that_does_not_know_backends_leaves_none_of_what_it_replaces() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("evidence");
    let mut store = Store::open(&path, CHANNELS).unwrap();
    extract_sample(&mut store, &stub("stub/1", Numeric::Int8));
    let (id, _) = store.text_hashes().unwrap().remove(0);
    // an older build does this to a channel that it computes again
    Connection::open(&path)
        .unwrap()
        .execute_batch(&format!(
            "DELETE FROM work WHERE document = '{0}' AND channel = 'ocr';
             INSERT INTO work VALUES ('{0}', 'ocr', 'stub/0');",
            id.0
        ))
        .unwrap();
    assert_eq!(store.backend(&id, "ocr").unwrap(), None);
    assert_eq!(
        recorded(&store),
        BTreeMap::from([(None, 1), (Some(Numeric::Int8), IMAGES - 1)])
    );
}

/// If an image was read before, another document with this image gets its text and its backend.
#[test]
fn an_image_that_was_read_before_brings_its_backend() {
    let dir = TempDir::new().unwrap();
    // An image is known when its group is stored. The worker can be four groups ahead: one group is being stored, two wait, and one is about to
    // be sent.
    let count = 6 * GROUP;
    for n in 0..count {
        let document = dir.path().join(format!("images/I00/I{n:016x}"));
        fs::create_dir_all(document.join("pages")).unwrap();
        fs::write(document.join("image-url.txt"), "https://example.org/image").unwrap();
        let image = RgbImage::from_pixel(16, 16, image::Rgb([200; 3]));
        image.save(document.join("image.png")).unwrap();
    }
    let mut store = Store::open(&dir.path().join("evidence"), CHANNELS).unwrap();
    let reads = Arc::new(AtomicUsize::new(0));
    let tools = counting(reads.clone(), "stub/1", Numeric::Int8);
    assert_eq!(extract_first(dir.path(), count, &mut store, &tools), count);
    assert!(reads.load(Ordering::Relaxed) < count);
    assert_eq!(
        recorded(&store),
        BTreeMap::from([(Some(Numeric::Int8), count)])
    );
}

/// The numbers in which this machine computes large products by default.
fn fastest() -> Numeric {
    #[cfg(target_arch = "x86_64")]
    {
        let avx512 = is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512bw");
        let avx2 = is_x86_feature_detected!("avxvnni") && is_x86_feature_detected!("fma");
        if avx512 || avx2 {
            return Numeric::Int8;
        }
    }
    Numeric::Float
}

#[test]
fn the_convolution_runtime_computes_both_networks_of_the_real_ppocr() {
    let Some(model) = need(Model("ppocr-v4")) else {
        return;
    };
    for (mode, numeric) in [
        (NumericMode::Auto, fastest()),
        (NumericMode::Float, Numeric::Float),
    ] {
        let (det, rec) = (model.path("det.onnx"), model.path("rec.onnx"));
        let reader = PpOcr::load(&det, &rec, mode, Script::Latin).unwrap();
        let expected = [
            NetworkBackend {
                network: "detector",
                convolutions: PartRuntime::Conv(numeric),
                output_layer: None,
            },
            NetworkBackend {
                network: "recogniser",
                convolutions: PartRuntime::Conv(numeric),
                output_layer: Some(PartRuntime::Conv(numeric)),
            },
        ];
        assert_eq!(reader.backends(), expected);
    }
}

#[test]
fn float_on_the_command_line_reads_in_floats_and_the_table_says_so() {
    let Some(model) = need(Model("ppocr-v4")) else {
        return;
    };
    let home = TempDir::new().unwrap();
    let evidence = home.path().join("evidence");
    // only this model is copied: other models would be used too, and take longer
    let models = home.path().join("models");
    let copy = models.join("ppocr-v4");
    fs::create_dir_all(&copy).unwrap();
    for file in ["det.onnx", "rec.onnx"] {
        fs::copy(model.path(file), copy.join(file)).unwrap();
    }
    let extract = |numeric: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_riposte"))
            .args(["extract", "--limit", "1", "--numeric", numeric, "-i"])
            .arg(sample())
            .arg("--evidence")
            .arg(&evidence)
            .env("RIPOSTE_MODELS", &models)
            .env("XDG_CACHE_HOME", home.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = extract("float");
    let floats = "ppocr-v4; detector float, recogniser float (convolution runtime)";
    assert!(said.contains(floats), "{said}");
    // stored evidence is kept, whatever numbers are requested, and no model is loaded
    let said = extract("auto");
    assert!(said.contains(" 0 of them new"), "{said}");
    assert!(!said.contains("convolution runtime"), "{said}");
    let store = Store::open_to_read(&evidence, CHANNELS).unwrap();
    assert_eq!(
        recorded(&store),
        BTreeMap::from([(Some(Numeric::Float), 1)])
    );
    drop(store);

    // evidence that was computed in int8 is kept too, with a note
    Connection::open(&evidence)
        .unwrap()
        .execute("UPDATE backend SET numeric = 'int8'", [])
        .unwrap();
    let said = extract("float");
    assert!(said.contains("read in int8 is kept (images: 1)"), "{said}");
    assert!(said.contains(" 0 of them new"), "{said}");
}
