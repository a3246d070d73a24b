//! The lines of the text in a picture that can belong to a clause, column by column.

use super::{clauses, is_label, is_source};
use crate::evidence::ocr::OcrLine;

/// A chart has at least this many lines that are numbers.
const CHART_NUMBERS: usize = 3;

/// The labels of a chart's axes have at most this many words. They stand in a row with another label, or are lower than this share of the height of
/// the largest words.
const LABEL_WORDS: usize = 3;
const LABEL_HEIGHT: f32 = 0.75;

/// The lines of the text in a picture that can belong to a clause. In a chart, the labels of the axes are left out, too: short lines that are beside
/// others or smaller than the title.
pub fn of_picture(lines: &[OcrLine]) -> Vec<OcrLine> {
    let is_chart = lines.iter().filter(|line| is_label(&line.text)).count() >= CHART_NUMBERS;
    let is_worded = |line: &&OcrLine| !is_label(&line.text) && !is_source(&line.text);
    let tallest = lines
        .iter()
        .filter(is_worded)
        .map(height)
        .fold(0.0, f32::max);
    let is_short = |line: &&OcrLine| line.text.split_whitespace().count() <= LABEL_WORDS;
    let is_axis = |line: &OcrLine| {
        let is_beside = |other: &OcrLine| !std::ptr::eq(line, other) && in_a_row(line, other);
        let is_label = || {
            height(line) < LABEL_HEIGHT * tallest || lines.iter().filter(is_short).any(is_beside)
        };
        is_chart && is_short(&line) && is_label()
    };
    let kept = lines.iter().filter(is_worded).filter(|line| !is_axis(line));
    let cleaned = kept.filter_map(|line| {
        let text = clauses(&line.text);
        (!text.trim().is_empty()).then(|| OcrLine {
            text: text.into_owned(),
            ..line.clone()
        })
    });
    columns(&cleaned.collect::<Vec<_>>())
}

/// Divides blocks into their columns. Lines of two signs that are held side by side can be in one block, line by line in turn. The parts of one line
/// are joined already, so lines without a common column of pixels are not one text.
fn columns(lines: &[OcrLine]) -> Vec<OcrLine> {
    let mut divided = Vec::with_capacity(lines.len());
    let mut number = 0;
    for block in lines.chunk_by(|a, b| a.block == b.block) {
        // the ends of each column, and its lines
        let mut columns: Vec<([f32; 2], Vec<usize>)> = Vec::new();
        for (at, line) in block.iter().enumerate() {
            let (mut ends, mut members) = (ends(line), vec![at]);
            // a line can join columns that were apart
            columns.retain(|(other, of_column)| {
                let is_apart = other[1] <= ends[0] || ends[1] <= other[0];
                if !is_apart {
                    ends = [ends[0].min(other[0]), ends[1].max(other[1])];
                    members.extend(of_column);
                }
                is_apart
            });
            members.sort_unstable();
            columns.push((ends, members));
        }
        columns.sort_by_key(|(_, members)| members.first().copied());
        if columns.iter().any(|(_, members)| members.len() == 1) {
            columns = vec![([0.0; 2], (0..block.len()).collect())];
        }
        for (_, members) in columns {
            let lines = members.iter().filter_map(|at| block.get(*at));
            divided.extend(lines.map(|line| OcrLine {
                block: number,
                ..line.clone()
            }));
            number += 1;
        }
    }
    divided
}

/// The left and the right end of a line.
fn ends(line: &OcrLine) -> [f32; 2] {
    let ends = line.corners.map(|(x, _)| x);
    [
        ends.into_iter().fold(f32::INFINITY, f32::min),
        ends.into_iter().fold(f32::NEG_INFINITY, f32::max),
    ]
}

/// Whether the middle of each line is beside the other line.
fn in_a_row(a: &OcrLine, b: &OcrLine) -> bool {
    let ends = |line: &OcrLine| {
        let ys = line.corners.map(|(_, y)| y);
        (
            ys.into_iter().fold(f32::INFINITY, f32::min),
            ys.into_iter().fold(f32::NEG_INFINITY, f32::max),
        )
    };
    let ((top, bottom), (other_top, other_bottom)) = (ends(a), ends(b));
    let is_in = |middle: f32, top: f32, bottom: f32| top < middle && middle < bottom;
    is_in((top + bottom) / 2.0, other_top, other_bottom)
        && is_in((other_top + other_bottom) / 2.0, top, bottom)
}

/// The height of a line's letters.
fn height(line: &OcrLine) -> f32 {
    let [top, _, _, bottom] = line.corners;
    (bottom.0 - top.0).hypot(bottom.1 - top.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_read_without_the_labels_of_its_axes() {
        let line = |y: f32, height: f32, text: &str| OcrLine {
            text: text.to_owned(),
            confidence: 1.0,
            corners: [(0.0, y), (90.0, y), (90.0, y + height), (0.0, y + height)],
            block: 0,
        };
        let chart = [
            line(0.0, 32.0, "Would you still come without your car?"),
            line(90.0, 20.0, "80"),
            line(150.0, 20.0, "60"),
            line(140.0, 25.0, "58"),
            line(364.0, 21.0, "no"),
            // nearly as high as the title, but in a row with "no"
            line(361.0, 26.0, "perhaps"),
            line(419.0, 18.0, "Source: Kestrel Falls survey office, n = 3506"),
        ];
        let texts = |lines: &[OcrLine]| -> Vec<String> {
            of_picture(lines)
                .into_iter()
                .map(|line| line.text)
                .collect()
        };
        assert_eq!(texts(&chart), ["Would you still come without your car?"]);
        // a poster has small words, too
        let poster = [
            line(0.0, 60.0, "BAN"),
            line(0.0, 20.0, "all the"),
            line(70.0, 60.0, "CARS"),
        ];
        assert_eq!(texts(&poster), ["BAN", "all the", "CARS"]);
    }

    #[test]
    fn signs_side_by_side_are_two_texts() {
        let line = |x: f32, y: f32, text: &str| OcrLine {
            text: text.to_owned(),
            confidence: 1.0,
            corners: [(x, y), (x + 100.0, y), (x + 100.0, y + 30.0), (x, y + 30.0)],
            block: 0,
        };
        let read = |lines: &[OcrLine]| -> Vec<(u32, String)> {
            let read = of_picture(lines).into_iter();
            read.map(|line| (line.block, line.text)).collect()
        };
        let signs = [
            line(180.0, 60.0, "PARK THE"),
            line(60.0, 115.0, "LESS"),
            line(180.0, 118.0, "CAR, MEET"),
            line(60.0, 151.0, "TRAFFIC"),
            line(180.0, 170.0, "THE TOWN"),
        ];
        let numbered = |lines: &[(u32, &str)]| -> Vec<(u32, String)> {
            lines
                .iter()
                .map(|(n, text)| (*n, text.to_string()))
                .collect()
        };
        assert_eq!(
            read(&signs),
            numbered(&[
                (0, "PARK THE"),
                (0, "CAR, MEET"),
                (0, "THE TOWN"),
                (1, "LESS"),
                (1, "TRAFFIC")
            ])
        );
        // a single line beside others is part of them, and a line across both joins them
        let beside = [
            line(0.0, 0.0, "ONE"),
            line(200.0, 0.0, "TWO"),
            line(200.0, 40.0, "THREE"),
        ];
        assert_eq!(
            read(&beside),
            numbered(&[(0, "ONE"), (0, "TWO"), (0, "THREE")])
        );
        let mut across = signs.to_vec();
        across.push(line(110.0, 220.0, "JOIN US"));
        assert!(read(&across).iter().all(|(block, _)| *block == 0));
    }
}
