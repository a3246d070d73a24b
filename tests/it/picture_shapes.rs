//! Pictures with extreme shapes or declared sizes: each gives evidence or a fault that names it, within a minute and 1.2 GB.

use std::fs;
use std::path::Path;
use std::time::Duration;

use image::{ImageFormat, RgbaImage};
use tempfile::TempDir;

use crate::support::assert_says;
use crate::support::bounded::{Ended, run_within};
use crate::support::files::{json_lines, text, write};
use crate::support::need::{Model, need};
use crate::support::pictures::{
    animated_webp, encoded, gif, grey, hollow_bmp, hollow_png, hollow_tiff, id, write_collection,
};
use crate::support::program::{WorkDir, code, riposte, stderr, stdout, typed};

const MINUTE: Duration = Duration::from_secs(60);

/// Maximum memory of riposte for one document, in bytes.
const MEMORY: u64 = 1_200_000_000;

#[track_caller]
fn assert_bounded(ended: &Ended) {
    assert!(
        ended.peak < MEMORY,
        "it took {} MB\n{}",
        ended.peak / 1_000_000,
        stderr(&ended.output)
    );
}

/// Runs `riposte extract`, without models, on documents with these pictures.
fn extract(home: &Path, pictures: &[Vec<u8>]) -> Ended {
    let input = home.join("collection");
    write_collection(&input, pictures);
    let evidence = home.join("evidence.sqlite");
    let args = typed(
        "extract -v -i {} --evidence {}",
        &[text(&input), text(&evidence)],
    );
    run_within(MINUTE, riposte(home, &args).args(["--threads", "1"]))
}

/// For each format, pictures with a height or width of one pixel, also with 16 bits where the format allows it.
#[test]
fn strips_of_all_formats_are_measured_within_bounds() {
    let mut pictures = Vec::new();
    // BMP and TIFF are not compressed here, so they are shorter. GIF and JPEG store a side in 16 bits, WebP in 14. The BMP decoder reads up to
    // 65,535 pixels
    for (format, length) in [
        (ImageFormat::Png, 5_000_000),
        (ImageFormat::Png, 20_000_000),
        (ImageFormat::Bmp, 65_535),
        (ImageFormat::Tiff, 1_000_000),
        (ImageFormat::Pnm, 5_000_000),
        (ImageFormat::Gif, 65_535),
        (ImageFormat::WebP, 16_383),
        (ImageFormat::Jpeg, 65_500),
    ] {
        pictures.push(grey(length, 1, format));
        pictures.push(grey(1, length, format));
    }
    let deep = image::ImageBuffer::from_pixel(3_000, 2_000, image::Rgba([40_000_u16; 4]));
    pictures.push(encoded(deep.clone(), ImageFormat::Png));
    pictures.push(encoded(deep, ImageFormat::Tiff));
    pictures.push(gif(500, 400));
    pictures.push(animated_webp(500, 400));
    let home = TempDir::new().unwrap();
    let ended = extract(home.path(), &pictures);
    assert_bounded(&ended);
    assert_eq!(code(&ended.output), 0, "{}", stderr(&ended.output));
    let evidence = rusqlite::Connection::open(home.path().join("evidence.sqlite")).unwrap();
    let measured: i64 = evidence
        .query_row("SELECT count(*) FROM picture", [], |row| row.get(0))
        .unwrap();
    assert_eq!(measured as usize, pictures.len());
}

#[test]
fn sizes_that_are_only_declared_are_faults_within_bounds() {
    let pictures = [
        // more than 100 million pixels
        (hollow_png(100_000, 100_000, 8), "100000 × 100000 pixels"),
        (hollow_png(2_000_000_000, 1, 8), "Memory limit exceeded"),
        (hollow_bmp(60_000, 60_000), "60000 × 60000 pixels"),
        (hollow_tiff(60_000, 60_000), "60000 × 60000 pixels"),
        (
            b"P6\n100000 100000\n255\n".to_vec(),
            "100000 × 100000 pixels",
        ),
        (gif(65_535, 65_535), "65535 × 65535 pixels"),
        (animated_webp(16_383, 16_383), "16383 × 16383 pixels"),
        // more than 400 MB, or an animation with more than 50 million pixels
        (hollow_png(10_000, 9_000, 16), "which take 720000000 bytes"),
        (hollow_tiff(10_000, 9_000), "which take 540000000 bytes"),
        (
            b"P6\n10000 9000\n65535\n".to_vec(),
            "which take 540000000 bytes",
        ),
        (
            gif(10_000, 6_000),
            "an animated gif file of 10000 × 6000 pixels",
        ),
        (
            animated_webp(10_000, 6_000),
            "an animated webp file of 10000 × 6000",
        ),
        // sizes below the limits, but without the pixels
        (
            hollow_png(10_000, 10_000, 8),
            "a png file that cannot be decoded",
        ),
        (
            hollow_png(7_000, 7_000, 16),
            "a png file that cannot be decoded",
        ),
        (
            hollow_bmp(10_000, 10_000),
            "a bmp file that cannot be decoded",
        ),
        (
            hollow_tiff(8_000, 8_000),
            "a tiff file that cannot be decoded",
        ),
        (
            b"P6\n10000 10000\n255\n".to_vec(),
            "a pnm file that cannot be decoded",
        ),
    ];
    let home = TempDir::new().unwrap();
    let bytes: Vec<Vec<u8>> = pictures.iter().map(|(bytes, _)| bytes.clone()).collect();
    let ended = extract(home.path(), &bytes);
    assert_bounded(&ended);
    assert_eq!(code(&ended.output), 0, "{}", stderr(&ended.output));
    let error = stderr(&ended.output);
    for (n, (_, what)) in pictures.iter().enumerate() {
        let path = format!("{}/image.png: ", id(n));
        let named = error.lines().any(|l| l.contains(&path) && l.contains(what));
        assert!(named, "{path}{what}\n{error}");
    }
}

/// The largest pictures within the limits are decoded within the memory limit, each in a separate process.
#[test]
fn the_largest_pictures_take_less_than_the_bound() {
    for picture in [
        gif(10_000, 5_000),
        animated_webp(10_000, 5_000),
        grey(65_535, 1_000, ImageFormat::Png),
        grey(16_383, 6_000, ImageFormat::WebP),
        encoded(RgbaImage::new(9_000, 9_000), ImageFormat::Png),
    ] {
        let home = TempDir::new().unwrap();
        let ended = extract(home.path(), &[picture]);
        assert_bounded(&ended);
        assert_eq!(code(&ended.output), 0, "{}", stderr(&ended.output));
    }
}

#[test]
fn strips_are_read_within_bounds() {
    let Some(ocr) = need(Model("ppocr-v4")) else {
        return;
    };
    for picture in [
        grey(5_000_000, 1, ImageFormat::Png),
        grey(1, 5_000_000, ImageFormat::Png),
        grey(20_000_000, 1, ImageFormat::Png),
        grey(65_535, 1_000, ImageFormat::Png),
        grey(12, 4_000_000, ImageFormat::Png),
    ] {
        let home = TempDir::new().unwrap();
        let path = home.path().join("picture.png");
        fs::write(&path, picture).unwrap();
        let mut command = riposte(home.path(), &["read", text(&path)]);
        let ended = run_within(
            MINUTE,
            command.env("RIPOSTE_MODELS", ocr.dir.parent().unwrap()),
        );
        assert_bounded(&ended);
        assert_eq!(code(&ended.output), 0, "{}", stderr(&ended.output));
        let answers = json_lines(&stdout(&ended.output));
        assert_eq!(answers[0]["lines"].as_array().unwrap().len(), 0);
    }
}

/// A palette whose length is no multiple of three makes the PNG decoder panic.
#[test]
fn a_picture_on_which_a_decoder_panics_is_a_fault_of_every_command() {
    let odd = include_bytes!("../fuzz-targets/corpus/pictures/odd-palette.png");
    let dir = WorkDir::with(&[("pictures/odd.png", odd)]);
    let whole = grey(80, 80, ImageFormat::Png);
    write(&dir.path("pictures/whole.png"), &whole);
    let (_, said) = dir.succeeds("collection new made --from pictures");
    assert_says(&said, &["odd.png: a library panicked on it"]);
    write_collection(&dir.path("crawl"), &[odd.to_vec(), whole]);
    let mut commands = vec![
        ("collection check crawl".to_owned(), 1),
        ("extract -i crawl --evidence evidence.sqlite".to_owned(), 0),
        (
            "images -i crawl -o out --evidence evidence.sqlite".to_owned(),
            0,
        ),
        (
            "inspect out -i crawl --evidence evidence.sqlite -o report".to_owned(),
            0,
        ),
    ];
    if let Some(model) = need(Model("ppocr-v4")) {
        let models = model.path("det.onnx");
        let models = text(models.parent().and_then(Path::parent).unwrap()).to_owned();
        let read = format!("read --models {models} pictures/odd.png");
        commands.push((format!("{read} pictures/whole.png"), 0));
        commands.push((read, 2));
    }
    for (command, expected) in commands {
        let (code, printed, said) = dir.run(&command);
        assert_eq!(code, expected, "{command}: {said}");
        // a check prints what it finds
        assert_says(&(printed + &said), &["a library panicked on it"]);
    }
}
