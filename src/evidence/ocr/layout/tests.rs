use proptest::prelude::*;

use super::*;
use crate::evidence::ocr::blocks;

/// A level line of letters that are half as wide as the line is high.
fn line(x: f32, y: f32, height: f32, text: &str) -> ReadLine {
    let count = text.chars().count();
    let width = count as f32 * height / 2.0;
    wide_line(x, y, width, height, text)
}

/// A level line with letters of equal width.
fn wide_line(x: f32, y: f32, width: f32, height: f32, text: &str) -> ReadLine {
    let count = text.chars().count();
    let places = (0..count).map(|n| (n as f32 + 0.5) / count as f32);
    let reading = DecodedLine {
        text: text.to_owned(),
        confidence: 0.9,
        places: places.collect(),
    };
    let (right, bottom) = (x + width, y + height);
    ReadLine::new(reading, [(x, y), (right, y), (right, bottom), (x, bottom)])
}

/// Lines of 20 letters with a pitch of 1.1 times their height of 20 pixels.
fn column(x: f32, y: f32, texts: &[&str]) -> Vec<ReadLine> {
    let lines = texts.iter().enumerate();
    lines
        .map(|(n, text)| wide_line(x, y + 22.0 * n as f32, 200.0, 20.0, text))
        .collect()
}

/// The texts of the blocks, with a stroke between lines.
fn read(lines: Vec<ReadLine>) -> Vec<String> {
    let lines = arrange(lines);
    let block = |block: crate::evidence::ocr::TextBlock| {
        let texts: Vec<&str> = block.lines.iter().map(|line| line.text.as_str()).collect();
        texts.join("|")
    };
    blocks(&lines).map(block).collect()
}

fn turned(lines: &[ReadLine], degrees: f32) -> Vec<ReadLine> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let mut lines = lines.to_vec();
    for read in &mut lines {
        read.line.corners = (read.line.corners)
            .map(|(x, y)| (x * cos - y * sin + 500.0, x * sin + y * cos + 500.0));
    }
    lines
}

/// The `atan2f` of glibc 2.36 gets the last bit of each of these angles wrong, and so the sine.
#[test]
fn the_direction_of_a_line_is_the_same_whatever_the_c_library_has() {
    for (x, y, cosine, sine) in [
        (571.0, -20.0, 0x3f7f_d7d6, 0xbd0f_6132),
        (865.0, 24.0, 0x3f7f_e6ca, 0x3ce3_347e),
        (802.0, 137.0, 0x3f7c_583f, 0x3e2c_6cd0),
    ] {
        let mut line = line(0.0, 0.0, 20.0, "text");
        line.line.corners = [(0.0, 0.0), (x, y), (x, y + 20.0), (0.0, 20.0)];
        let (found_cosine, found_sine) = direction(&[line]);
        assert_eq!(
            (found_cosine.to_bits(), found_sine.to_bits()),
            (cosine, sine)
        );
    }
}

#[test]
fn columns_are_read_one_after_the_other_between_what_spans_them() {
    let page = [
        vec![line(0.0, 0.0, 40.0, "A heading of the page")],
        column(0.0, 60.0, &["one", "two", "three"]),
        column(215.0, 60.0, &["four", "five", "six"]),
        vec![wide_line(
            0.0,
            150.0,
            415.0,
            20.0,
            "a line through both of the columns",
        )],
        column(0.0, 200.0, &["seven", "eight", "nine"]),
        column(215.0, 200.0, &["ten", "eleven", "twelve"]),
    ]
    .concat();
    let expected = [
        "A heading of the page",
        "one|two|three",
        "four|five|six",
        "a line through both of the columns",
        "seven|eight|nine",
        "ten|eleven|twelve",
    ];
    assert_eq!(read(page.clone()), expected);
    // on a slanted photograph, and on one that lies on its side
    for degrees in [-8.0, 3.0, 90.0] {
        assert_eq!(read(turned(&page, degrees)), expected, "{degrees}°");
    }
}

#[test]
fn pros_and_cons_are_read_side_by_side_even_if_their_rows_are_far_apart() {
    let mut page = vec![line(80.0, 0.0, 50.0, "Uniforms")];
    for (row, (pro, con)) in [
        ("PROS", "CONS"),
        ("save time", "cost money"),
        ("look equal", "hide nothing"),
        ("are smart", "are dull"),
    ]
    .into_iter()
    .enumerate()
    {
        let y = 100.0 + 45.0 * row as f32;
        page.push(line(0.0, y, 20.0, pro));
        page.push(line(200.0, y, 20.0, con));
    }
    let texts: String = read(page).join("|");
    assert_eq!(
        texts,
        "Uniforms|PROS|save time|look equal|are smart|CONS|cost money|hide nothing|are dull"
    );
}

#[test]
fn panels_are_blocks_and_a_note_below_them_comes_last() {
    let mut page = Vec::new();
    for (n, name) in ["first", "second", "third"].into_iter().enumerate() {
        let x = 260.0 * n as f32;
        page.push(line(x, 0.0, 32.0, name));
        page.extend(column(x, 40.0, &["a line of text", "and its end"]));
    }
    page.push(line(0.0, 130.0, 14.0, "Source: a survey"));
    assert_eq!(
        read(page),
        [
            "first",
            "a line of text|and its end",
            "second",
            "a line of text|and its end",
            "third",
            "a line of text|and its end",
            "Source: a survey",
        ]
    );
}

#[test]
fn boxes_of_one_line_stay_one_line() {
    // three boxes of words, and a heading whose words are as far apart as the columns above it
    let mut page = column(0.0, 0.0, &["one", "two", "three"]);
    page.extend(column(215.0, 0.0, &["four", "five", "six"]));
    page.push(wide_line(0.0, 80.0, 200.0, 60.0, "What Kids"));
    page.push(wide_line(225.0, 80.0, 300.0, 60.0, "Need Most"));
    for (x, word) in [(0.0, "and"), (38.0, "more"), (86.0, "words")] {
        page.push(line(x, 160.0, 20.0, word));
    }
    assert_eq!(
        read(page),
        [
            "one|two|three",
            "four|five|six",
            "What Kids|Need Most",
            "and|more|words"
        ]
    );
}

#[test]
fn tables_are_read_row_by_row() {
    let rows = [
        ["Wind", "12 %", "30 %"],
        ["Coal", "40 %", "22 %"],
        ["Sun", "3 %", "15 %"],
    ];
    let mut page = vec![line(0.0, 0.0, 30.0, "Shares of electricity in two years")];
    for (n, row) in rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            page.push(line(
                150.0 * column as f32,
                60.0 + 30.0 * n as f32,
                20.0,
                cell,
            ));
        }
    }
    assert_eq!(
        read(page),
        [
            "Shares of electricity in two years",
            "Wind|12 %|30 %|Coal|40 %|22 %|Sun|3 %|15 %"
        ]
    );
    let form = [
        ("Name:", "Ada"),
        ("Born:", "in London"),
        ("Trade:", "mathematics"),
    ];
    let lines = form.iter().enumerate().flat_map(|(n, (label, value))| {
        let y = 30.0 * n as f32;
        [line(0.0, y, 20.0, label), line(150.0, y, 20.0, value)]
    });
    assert_eq!(
        read(lines.collect()),
        ["Name:|Ada|Born:|in London|Trade:|mathematics"]
    );
}

#[test]
fn a_line_that_was_found_across_a_gutter_is_divided_at_it() {
    let mut page = column(0.0, 0.0, &["one", "two"]);
    page.extend(column(220.0, 0.0, &["five", "six"]));
    // its two halves have 20 letters each, with one blank between them that is as wide as the gutter
    let text = "ten letters or more. and as many or more.";
    let mut found = wide_line(0.0, 44.0, 420.0, 20.0, text);
    let places = (0..20).map(|n| 10.0 * n as f32 + 5.0);
    let right = places.clone().map(|x| x + 220.0);
    let all = places.chain([210.0]).chain(right);
    found.places = all.map(|x| x / 420.0).collect();
    page.push(found);
    page.extend(column(0.0, 66.0, &["three", "four"]));
    page.extend(column(220.0, 66.0, &["seven", "eight"]));
    let lines = arrange(page);
    assert_eq!(
        blocks(&lines).map(|block| block.text()).collect::<Vec<_>>(),
        [
            "one\ntwo\nten letters or more.\nthree\nfour",
            "five\nsix\nand as many or more.\nseven\neight"
        ]
    );
    let half = lines.iter().find(|line| line.text.starts_with("ten"));
    let [_, right, ..] = half.unwrap().corners;
    assert!((195.0..215.0).contains(&right.0), "{right:?}");
}

#[test]
fn paragraphs_are_divided_by_gaps_and_sizes() {
    let mut page = column(0.0, 0.0, &["one", "two"]);
    page.extend(column(0.0, 80.0, &["three", "four"]));
    page.push(line(0.0, 130.0, 50.0, "LOUD"));
    assert_eq!(read(page), ["one|two", "three|four", "LOUD"]);
    // lines that are set wide apart throughout are one paragraph
    let wide = (0..4).map(|n| line(0.0, 45.0 * n as f32, 20.0, "a line"));
    assert_eq!(read(wide.collect()), ["a line|a line|a line|a line"]);
}

#[test]
fn words_around_a_picture_have_an_order() {
    // boxes that interlock so that no cut is possible: boxes above come first, then boxes at the left
    let page = vec![
        wide_line(0.0, 0.0, 300.0, 40.0, "top"),
        wide_line(320.0, 0.0, 40.0, 300.0, "right"),
        wide_line(0.0, 60.0, 40.0, 300.0, "left"),
        wide_line(60.0, 320.0, 300.0, 40.0, "bottom"),
    ];
    let texts: Vec<String> = arrange(page).into_iter().map(|line| line.text).collect();
    assert_eq!(texts, ["top", "left", "right", "bottom"]);
}

fn any_line() -> impl Strategy<Value = ReadLine> {
    let corner = || prop_oneof![9 => 0.0..400.0_f32, 1 => prop::num::f32::ANY];
    let text = "[a-z]{1,5}( [a-z0-9%:]{1,5}){0,4}";
    let places = prop::option::of(prop::collection::vec(0.0..1.0_f32, 0..12));
    let grid = (0..6_u8, 0..12_u8, 1..5_u8).prop_map(|(x, y, length)| {
        let (x, y, width) = (
            f32::from(x) * 70.0,
            f32::from(y) * 24.0,
            f32::from(length) * 33.0,
        );
        [(x, y), (x + width, y), (x + width, y + 20.0), (x, y + 20.0)]
    });
    let anywhere = prop::array::uniform4((corner(), corner()));
    (
        prop_oneof![3 => grid, 1 => anywhere],
        text,
        0.5..1.0_f32,
        places,
    )
        .prop_map(|(corners, text, confidence, places)| {
            let count = text.chars().count();
            let even = || {
                (0..count)
                    .map(|n| (n as f32 + 0.5) / count as f32)
                    .collect()
            };
            let mut places: Vec<f32> = places.unwrap_or_else(even);
            places.sort_by(f32::total_cmp);
            let reading = DecodedLine {
                text,
                confidence,
                places,
            };
            ReadLine::new(reading, corners)
        })
}

fn words(texts: impl Iterator<Item = String>) -> Vec<String> {
    let split = |text: String| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let mut words: Vec<String> = texts.flat_map(split).collect();
    words.sort();
    words
}

/// A line as text, so that equal lines are equal whatever NaN is in them.
fn shown(lines: &[OcrLine]) -> Vec<String> {
    lines.iter().map(|line| format!("{line:?}")).collect()
}

proptest! {
    #[test]
    fn every_word_is_in_exactly_one_block(lines in prop::collection::vec(any_line(), 0..40)) {
        let before = words(lines.iter().map(|read| read.line.text.clone()));
        let after = arrange(lines);
        prop_assert_eq!(words(after.iter().map(|line| line.text.clone())), before);
        // blocks are numbered in reading order, and none is interrupted
        for (number, block) in (0..).zip(blocks(&after)) {
            prop_assert!(block.lines.iter().all(|line| line.block == number));
        }
    }

    #[test]
    fn lines_without_places_are_only_ordered(mut lines in prop::collection::vec(any_line(), 0..40)) {
        lines.iter_mut().for_each(|line| line.places.clear());
        let text = |line: &OcrLine| format!("{:?}", OcrLine { block: 0, ..line.clone() });
        let mut before: Vec<String> = lines.iter().map(|read| text(&read.line)).collect();
        let mut after: Vec<String> = arrange(lines).iter().map(text).collect();
        before.sort();
        after.sort();
        prop_assert_eq!(before, after);
    }

    #[test]
    fn the_order_of_detections_does_not_matter(
        (lines, shuffled) in prop::collection::vec(any_line(), 0..30)
            .prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle())),
    ) {
        prop_assert_eq!(shown(&arrange(lines)), shown(&arrange(shuffled)));
    }
}

#[test]
fn a_short_word_at_the_end_of_a_justified_line_is_no_bullet() {
    for mark in ["•", "-", "3.", "12)", "(b)", "10", "*"] {
        assert!(gutter::can_be_bullet(mark), "{mark}");
    }
    for word in ["", "On", "the", "3-0", "U.S.", "10th", "No."] {
        assert!(!gutter::can_be_bullet(word), "{word}");
    }
    // two justified columns, whose last words in the first stand apart
    let mut lines = Vec::new();
    for (n, word) in ["On", "the", "3-0", "up", "no", "so"]
        .into_iter()
        .enumerate()
    {
        let y = 22.0 * n as f32;
        lines.push(wide_line(0.0, y, 140.0, 20.0, &format!("leftcolumn{n}")));
        lines.push(line(172.0, y, 20.0, word));
        lines.push(wide_line(225.0, y, 200.0, 20.0, &format!("rightcolumn{n}")));
    }
    let blocks = read(lines);
    let text = blocks.join("|");
    let last_of_left = text.find("leftcolumn5").unwrap();
    assert!(
        last_of_left < text.find("rightcolumn0").unwrap(),
        "{blocks:#?}"
    );
}
