//! Turns a text map into boxes: the post-processing of DB (Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", AAAI
//! 2020).

use rten_imageproc::{Point, min_area_rect};
use rten_tensor::NdTensorView;
use rten_tensor::prelude::*;

/// A pixel above this probability belongs to a text.
const PIXEL_THRESHOLD: f32 = 0.3;
/// Minimum mean probability of a region's pixels. (RapidOCR takes the mean over the region's rectangle, which is too low for a line across a page
/// that is bent by a pixel or two.)
const REGION_THRESHOLD: f32 = 0.6;
/// The detector has learned texts that are shrunk on each side by area · ratio / perimeter. Boxes grow back by as much.
const UNCLIP_RATIO: f32 = 1.6;
/// Minimum length of a region's shorter side before it grows, in pixels of the map. Smaller regions are specks.
const MIN_SIDE: f32 = 3.0;

/// A rectangle of any slant around one line of text; y points down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TextBox {
    /// (x, y)
    pub centre: (f32, f32),
    /// Unit vector in the direction of the text.
    pub along: (f32, f32),
    /// Extent along `along`.
    pub width: f32,
    /// Extent across `along`.
    pub height: f32,
}

impl TextBox {
    /// Clockwise from the text's upper left.
    pub fn corners(&self) -> [(f32, f32); 4] {
        let (x, y) = self.centre;
        let (along, width, height) = (self.along, self.width, self.height);
        let right = (along.0 * width / 2.0, along.1 * width / 2.0);
        let down = (-along.1 * height / 2.0, along.0 * height / 2.0);
        [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
            .map(|(r, d)| (x + r * right.0 + d * down.0, y + r * right.1 + d * down.1))
    }

    /// The same rectangle, read in a direction turned clockwise by a quarter.
    pub fn turned(&self) -> TextBox {
        TextBox {
            along: (-self.along.1, self.along.0),
            width: self.height,
            height: self.width,
            ..*self
        }
    }

    pub fn scaled(&self, factor: f32) -> TextBox {
        TextBox {
            centre: (self.centre.0 * factor, self.centre.1 * factor),
            along: self.along,
            width: self.width * factor,
            height: self.height * factor,
        }
    }

    /// The box, grown on each side by area · ratio / perimeter (the "unclip" of DB).
    fn unclipped(&self, ratio: f32) -> TextBox {
        let distance = self.width * self.height * ratio / (2.0 * (self.width + self.height));
        TextBox {
            width: self.width + 2.0 * distance,
            height: self.height + 2.0 * distance,
            ..*self
        }
    }

    /// The smallest rectangle around `points` (x, y). Its text runs more to the right than up or down.
    fn around(points: &[(f32, f32)]) -> Option<TextBox> {
        let points: Vec<_> = points.iter().map(|&(x, y)| Point::from_yx(y, x)).collect();
        let rect = min_area_rect(&points)?;
        let (centre, up) = (rect.center(), rect.up_axis());
        let as_found = TextBox {
            centre: (centre.x, centre.y),
            along: (-up.y, up.x),
            width: rect.width(),
            height: rect.height(),
        };
        let quarter = as_found.turned();
        let mut nearer = if as_found.along.0.abs() >= quarter.along.0.abs() {
            as_found
        } else {
            quarter
        };
        if nearer.along.0 < 0.0 {
            nearer.along = (-nearer.along.0, -nearer.along.1);
        }
        Some(nearer)
    }
}

/// The boxes of the texts in a detector's map.
///
/// `map` is (H, W), the probability of each pixel to be text, in [0, 1]. Boxes are in pixels of the
/// map (a pixel's centre is at .5) and may reach over its edges.
pub(super) fn find(map: NdTensorView<f32, 2>) -> Vec<TextBox> {
    regions(map)
        .filter(|region| region.mean >= REGION_THRESHOLD)
        .filter_map(|region| TextBox::around(&region.outline))
        .filter(|found| found.width.min(found.height) >= MIN_SIDE)
        .map(|found| found.unclipped(UNCLIP_RATIO))
        .take(crate::limits::MAX_BOXES)
        .collect()
}

/// A group of pixels above the threshold that touch each other, at their corners too.
struct Region {
    /// The corners (x, y) of the first and the last pixel of each row.
    outline: Vec<(f32, f32)>,
    /// Mean probability of the pixels.
    mean: f32,
}

/// The regions of a map, from top to bottom.
fn regions(map: NdTensorView<f32, 2>) -> impl Iterator<Item = Region> {
    let [rows, columns] = map.shape();
    let numbers = map.to_contiguous();
    let open = numbers.data().iter().map(|&p| p > PIXEL_THRESHOLD);
    let mut open: Vec<bool> = open.collect();
    let mut next = 0;
    std::iter::from_fn(move || {
        next += open.get(next..)?.iter().position(|&is_text| is_text)?;
        let (top, left) = (next / columns, next % columns);
        open[next] = false;
        let mut spans: Vec<(usize, usize)> = Vec::new();
        let (mut sum, mut count) = (0.0, 0_u32);
        let mut stack = vec![(left, top)];
        while let Some((x, y)) = stack.pop() {
            sum += map[[y, x]];
            count += 1;
            // the scan goes down, so no pixel of the region is above its first
            let row = y - top;
            if row >= spans.len() {
                spans.resize(row + 1, (usize::MAX, 0));
            }
            spans[row] = (spans[row].0.min(x), spans[row].1.max(x));
            for ny in y.saturating_sub(1)..(y + 2).min(rows) {
                for nx in x.saturating_sub(1)..(x + 2).min(columns) {
                    if std::mem::take(&mut open[ny * columns + nx]) {
                        stack.push((nx, ny));
                    }
                }
            }
        }
        let corners = spans.iter().enumerate().flat_map(|(row, &(first, last))| {
            let (y, left, right) = ((top + row) as f32, first as f32, last as f32 + 1.0);
            [(left, y), (right, y), (left, y + 1.0), (right, y + 1.0)]
        });
        Some(Region {
            outline: corners.collect(),
            mean: sum / count as f32,
        })
    })
}

#[cfg(test)]
mod tests {
    use rten_tensor::NdTensor;

    use super::*;

    fn level(x: f32, y: f32, width: f32, height: f32) -> TextBox {
        TextBox {
            centre: (x + width / 2.0, y + height / 2.0),
            along: (1.0, 0.0),
            width,
            height,
        }
    }

    fn close(a: (f32, f32), b: (f32, f32)) -> bool {
        (a.0 - b.0).abs() < 1e-3 && (a.1 - b.1).abs() < 1e-3
    }

    #[test]
    fn a_level_text_grows_by_area_over_perimeter() {
        // 20 × 10 at (10, 30): area 200, perimeter 60, distance 200 · 1.6 / 60 = 16/3
        let mut map = NdTensor::zeros([64, 64]);
        for y in 30..40 {
            for x in 10..30 {
                map[[y, x]] = 0.9;
            }
        }
        let found = find(map.view());
        assert_eq!(found.len(), 1);
        let d = 16.0 / 3.0;
        let expected = [
            (10.0 - d, 30.0 - d),
            (30.0 + d, 30.0 - d),
            (30.0 + d, 40.0 + d),
            (10.0 - d, 40.0 + d),
        ];
        for (corner, expected) in found[0].corners().into_iter().zip(expected) {
            assert!(close(corner, expected), "{corner:?} is not {expected:?}");
        }
    }

    #[test]
    fn a_slanted_text_keeps_its_slant() {
        // a band from (20, 20), 100 long, 12 high, falling by 3 in 4: direction (0.8, 0.6)
        let mut map = NdTensor::zeros([128, 128]);
        for y in 0..128 {
            for x in 0..128 {
                let (dx, dy) = (x as f32 + 0.5 - 20.0, y as f32 + 0.5 - 20.0);
                let (right, down) = (0.8 * dx + 0.6 * dy, 0.8 * dy - 0.6 * dx);
                if (0.0..100.0).contains(&right) && (0.0..12.0).contains(&down) {
                    map[[y, x]] = 1.0;
                }
            }
        }
        let found = find(map.view());
        assert_eq!(found.len(), 1);
        let along = found[0].along;
        assert!(
            (along.0 - 0.8).abs() < 0.02 && (along.1 - 0.6).abs() < 0.02,
            "{along:?}"
        );
        // 100 × 12 grows by 1200 · 1.6 / 224 = 8.6 on each side, to 117.1 × 29.1; with a staircase of pixel
        // corners around it, half a diagonal (0.7) on each side, 101.4 × 13.4 grows by 9.5, to 120.3 × 32.3
        let (width, height) = (found[0].width, found[0].height);
        assert!((29.1..32.5).contains(&height), "{height}");
        assert!((117.1..120.5).contains(&width), "{width}");
    }

    #[test]
    fn specks_and_faint_regions_are_no_text() {
        let mut map = NdTensor::zeros([64, 64]);
        map[[5, 5]] = 1.0;
        for x in 10..60 {
            for y in 20..30 {
                map[[y, x]] = 0.4;
            }
            // two rows only
            map[[50, x]] = 1.0;
            map[[51, x]] = 1.0;
        }
        assert_eq!(find(map.view()), []);
        assert_eq!(find(NdTensor::full([16, 16], f32::NAN).view()), []);
        assert_eq!(find(NdTensor::zeros([0, 16]).view()), []);
    }

    #[test]
    fn a_map_full_of_text_is_one_box() {
        let map = NdTensor::full([32, 96], 1.0);
        assert_eq!(find(map.view()).len(), 1);
    }

    #[test]
    fn a_box_turned_four_times_is_itself() {
        let found = level(10.0, 20.0, 40.0, 8.0);
        let quarter = found.turned();
        // read downwards: the text's upper left is the rectangle's upper right
        assert!(close(quarter.corners()[0], (50.0, 20.0)));
        assert_eq!(quarter.turned().turned().turned(), found);
    }
}
