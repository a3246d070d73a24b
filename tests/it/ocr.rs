//! Text in images, which the real models read.

use std::path::{Path, PathBuf};

use image::{Rgb, RgbImage};
use riposte::evidence::ocr::{OcrLine, OcrsReader, PpOcr, Script, TextReader};
use riposte_nn::conv::NumericMode;

use crate::support::need::{Data, Model, need};
use crate::support::root;

/// A replacement for the recogniser of ocrs, which cannot be fetched: it reads "x" for each stroke of ink (tests/reference/ink_recogniser.py).
fn ink_recogniser() -> PathBuf {
    root().join("src/evidence/ocr/reference/ink-recogniser.onnx")
}

/// The detector and the recogniser of PP-OCRv4.
fn weights() -> Option<[PathBuf; 2]> {
    let model = need(Model("ppocr-v4"))?;
    Some(["det.onnx", "rec.onnx"].map(|file| model.path(file)))
}

pub(crate) fn ppocr() -> Option<PpOcr> {
    let [det, rec] = weights()?;
    Some(PpOcr::load(&det, &rec, NumericMode::Auto, Script::Latin).expect("the real weights load"))
}

fn text(lines: &[OcrLine]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
    lines.join(" ")
}

/// The lines of text in tests/it/data/poster-words.png (tests/reference/poster_words.py). Each is in a strip with a height of `STRIP` pixels and
/// its baseline at `BASELINE`, four times as large as on a poster.
const LINES: [&str; 2] = ["Votes for all citizens", "at sixteen"];
const STRIP: u32 = 224;
const BASELINE: f32 = 160.0;

/// Draws one of [`LINES`] with its baseline beginning at `start`, rotated clockwise by `degrees`.
fn write(image: &mut RgbImage, words: &str, start: (f32, f32), degrees: f32, ink: [u8; 3]) {
    let letters = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/it/data/poster-words.png"
    );
    let letters = image::open(letters)
        .expect("the letters of the posters")
        .into_luma8();
    let line = LINES.iter().position(|line| *line == words);
    let top = line.expect("a line of poster-words.png") as u32 * STRIP;
    let (sin, cos) = degrees.to_radians().sin_cos();
    let fine = 4.0;
    for y in 0..STRIP {
        for x in 0..letters.width() {
            let cover = f32::from(letters.get_pixel(x, top + y).0[0]) / 255.0;
            let (along, below) = (x as f32 / fine, (y as f32 - BASELINE) / fine);
            let x = start.0 + along * cos - below * sin;
            let y = start.1 + along * sin + below * cos;
            if let Some(pixel) = image.get_pixel_mut_checked(x as u32, y as u32) {
                let share = (cover * 1.5).min(1.0) / fine;
                for (value, ink) in pixel.0.iter_mut().zip(ink) {
                    *value =
                        (f32::from(*value) + (f32::from(ink) - f32::from(*value)) * share) as u8;
                }
            }
        }
    }
}

fn poster(ground: [u8; 3], ink: [u8; 3], degrees: f32) -> RgbImage {
    let mut image = RgbImage::from_pixel(640, 400, Rgb(ground));
    write(
        &mut image,
        "Votes for all citizens",
        (70.0, 150.0),
        degrees,
        ink,
    );
    write(&mut image, "at sixteen", (70.0, 230.0), degrees, ink);
    image
}

#[test]
fn posters_of_any_colour_and_slant_are_read() {
    let Some(reader) = ppocr() else { return };
    let (black, white) = ([0; 3], [255; 3]);
    for (name, ground, ink, degrees) in [
        ("black on white", white, black, 0.0),
        ("white on black", black, white, 0.0),
        ("yellow on blue", [20, 40, 160], [250, 220, 40], 0.0),
        ("falling", white, black, 15.0),
        ("rising", white, black, -15.0),
    ] {
        let mut image = poster(ground, ink, degrees);
        if degrees < 0.0 {
            // rising lines need space above them
            image = RgbImage::from_pixel(640, 400, Rgb(ground));
            write(
                &mut image,
                "Votes for all citizens",
                (60.0, 280.0),
                degrees,
                ink,
            );
            write(&mut image, "at sixteen", (80.0, 355.0), degrees, ink);
        }
        let lines = reader.read(&image).unwrap();
        assert_eq!(text(&lines), "Votes for all citizens at sixteen", "{name}");
        assert!(
            lines
                .iter()
                .all(|line| (0.8..=1.0).contains(&line.confidence)),
            "{name}: {lines:?}"
        );
    }
}

#[test]
fn corners_go_clockwise_from_the_upper_left_of_the_text() {
    let Some(reader) = ppocr() else { return };
    let lines = reader.read(&poster([255; 3], [0; 3], 15.0)).unwrap();
    let [upper_left, upper_right, lower_right, lower_left] = lines[0].corners;
    let slant = (upper_right.1 - upper_left.1)
        .atan2(upper_right.0 - upper_left.0)
        .to_degrees();
    assert!((slant - 15.0).abs() < 2.0, "{slant}°");
    assert!(lower_left.1 > upper_left.1 && lower_right.1 > upper_right.1);
    // the baseline of the text starts at (70, 150)
    assert!(
        (40.0..75.0).contains(&lower_left.0),
        "{:?}",
        lines[0].corners
    );
}

#[test]
fn text_turned_by_a_quarter_is_read_in_both_directions() {
    let Some(reader) = ppocr() else { return };
    let level = poster([255; 3], [0; 3], 0.0);
    for turned in [
        image::imageops::rotate90(&level),
        image::imageops::rotate270(&level),
    ] {
        let read = text(&reader.read(&turned).unwrap());
        assert!(read.contains("Votes for all citizens"), "{read}");
    }
}

#[test]
fn images_without_text_or_of_odd_shape_give_no_lines() {
    let Some(reader) = ppocr() else { return };
    for (width, height) in [(0, 0), (1, 1), (1, 3000), (5000, 1), (31, 33), (300, 300)] {
        let image = RgbImage::from_pixel(width, height, Rgb([255; 3]));
        assert_eq!(reader.read(&image).unwrap(), [], "{width} × {height}");
    }
}

#[test]
fn a_bar_that_is_too_thin_to_be_a_line_does_not_take_the_text_with_it() {
    let Some(reader) = ppocr() else { return };
    // the detector finds this broken bar of 8 × 920 pixels as a text. Scaled to the height of a line, it would be less than a pixel wide
    let mut image = RgbImage::from_pixel(900, 1000, Rgb([255; 3]));
    write(
        &mut image,
        "Votes for all citizens",
        (70.0, 150.0),
        0.0,
        [0; 3],
    );
    for y in (40..960).filter(|y| y % 10 < 6) {
        for x in 800..808 {
            image.put_pixel(x, y, Rgb([0; 3]));
        }
    }
    let read = text(&reader.read(&image).unwrap());
    assert!(read.contains("Votes for all citizens"), "{read}");
}

#[test]
fn threads_that_share_a_reader_read_the_same() {
    let Some(reader) = ppocr() else { return };
    let image = poster([255; 3], [0; 3], 0.0);
    let alone = reader.read(&image).unwrap();
    std::thread::scope(|scope| {
        let reading: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| reader.read(&image).unwrap()))
            .collect();
        for lines in reading {
            assert_eq!(lines.join().unwrap(), alone);
        }
    });
    assert_eq!(alone.len(), 2);
}

#[test]
fn the_producer_names_the_engine_the_code_and_the_weights() {
    let of_script = |script| PpOcr::producer_of("0123abcd", script);
    assert_eq!(of_script(Script::Latin), "ppocr-v4 code 6 latin 0123abcd");
    assert_eq!(of_script(Script::All), "ppocr-v4 code 6 all 0123abcd");
    let of_ocrs = OcrsReader::producer_of("4567cdef");
    assert_eq!(of_ocrs, "ocrs code 2 4567cdef");
}

#[test]
fn a_latin_text_is_read_alike_in_latin_and_in_all_scripts() {
    let Some([det, rec]) = weights() else { return };
    let [latin, all] = [Script::Latin, Script::All]
        .map(|script| PpOcr::load(&det, &rec, NumericMode::Auto, script).unwrap());
    let image = poster([255; 3], [0; 3], 0.0);
    let (latin, all) = (latin.read(&image).unwrap(), all.read(&image).unwrap());
    assert_eq!(text(&latin), LINES.join(" "));
    assert_eq!(text(&all), text(&latin));
    for (latin, all) in latin.iter().zip(&all) {
        // the other labels' probability is distributed among the Latin ones
        assert!(
            latin.confidence >= all.confidence - 1e-3,
            "{latin:?} {all:?}"
        );
    }
}

fn refusal(det: &Path, rec: &Path) -> String {
    format!(
        "{:#}",
        PpOcr::load(det, rec, NumericMode::Auto, Script::Latin)
            .err()
            .expect("an error")
    )
}

#[test]
fn absent_and_empty_weights_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.onnx");
    assert!(refusal(&absent, &absent).contains("absent.onnx"));
    let empty = folder.path().join("empty.onnx");
    std::fs::write(&empty, b"").unwrap();
    assert!(refusal(&empty, &empty).contains("empty.onnx"));
}

#[test]
fn swapped_and_truncated_weights_are_refused_by_name() {
    let Some([det, rec]) = weights() else { return };
    assert!(refusal(&rec, &det).contains("is not a PP-OCR detector"));
    assert!(refusal(&det, &det).contains("is not a PP-OCR recogniser"));
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.onnx");
    let bytes = std::fs::read(&det).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    assert!(refusal(&cut, &rec).contains("cut.onnx"));
}

#[test]
fn ocrs_finds_words_with_the_published_detector() {
    let Some(detection) = need(Data("models/text-detection.rten")) else {
        return;
    };
    let reader = OcrsReader::load(&detection, &ink_recogniser(), NumericMode::Auto).unwrap();

    let lines = reader.read(&poster([255; 3], [0; 3], 0.0)).unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, baseline) in lines.iter().zip([150.0, 230.0]) {
        assert!(
            !line.text.is_empty() && line.text.chars().all(|c| c == 'x'),
            "{line:?}"
        );
        assert!(line.confidence > 0.5);
        let [upper_left, _, lower_right, _] = line.corners;
        assert!(
            upper_left.1 < baseline && lower_right.1 >= baseline - 6.0,
            "{line:?}"
        );
        assert!((60.0..=80.0).contains(&upper_left.0), "{line:?}");
    }
    assert_eq!(
        reader
            .read(&RgbImage::from_pixel(200, 100, Rgb([255; 3])))
            .unwrap(),
        []
    );
    assert_eq!(
        reader
            .read(&RgbImage::from_pixel(1, 1, Rgb([0; 3])))
            .unwrap(),
        []
    );
    // ocrs itself would pad this strip to 1,000,000 × 800 pixels
    let strip = RgbImage::from_pixel(1_000_000, 60, Rgb([255; 3]));
    assert_eq!(reader.read(&strip).unwrap(), []);
}

#[test]
fn ocrs_refuses_the_models_of_another_engine() {
    let (Some([det, _]), Some(detection)) = (weights(), need(Data("models/text-detection.rten")))
    else {
        return;
    };
    let refusal = |a: &Path, b: &Path| {
        format!(
            "{:#}",
            OcrsReader::load(a, b, NumericMode::Auto)
                .err()
                .expect("an error")
        )
    };
    assert!(refusal(&det, &ink_recogniser()).contains("is not an ocrs text detector"));
    assert!(refusal(&detection, &det).contains("is not an ocrs recogniser"));
}
