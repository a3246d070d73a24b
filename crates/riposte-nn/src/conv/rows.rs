//! Maps that are computed some rows at a time, so that the maps between steps stay in the cache.
//!
//! The detector of PP-OCRv4 has maps of 20 MB. Computed one after the other, each goes through memory several times, and that takes longer than the
//! arithmetic. But a row depends only on a few rows of the map before it. So consecutive steps are computed together: some rows of the last one at a time, and of
//! each step before it those rows that they need and that are not there yet.

use std::ops::Range;

use super::buffers::{Buffer, BufferPool, FeatureMap, Shape};
use super::usual_or_miri;
use crate::error::Result;

/// Minimum number of pixels that one loop hands to the next at a time: enough to fill the product's tiles, and few enough to stay in the nearest
/// caches.
pub(super) const PIXELS_AT_A_TIME: usize = usual_or_miri(96, 4);

/// Minimum number of rows that are computed together, because the windows of neighbouring rows share most of their pixels.
const ROWS_AT_A_TIME: usize = 2;

/// Maximum number of bytes of the rows between the steps of a chain: a share of the second-level cache.
const HELD_BYTES: usize = 3 << 19;

/// Up to this number of bytes, a map stays in the cache by itself, and it is faster to compute all of it before the next step.
const WHOLE_BYTES: usize = 1 << 21;

/// The number of rows that are computed at a time if each has `width` pixels.
pub(super) fn rows_at_a_time(width: usize) -> usize {
    PIXELS_AT_A_TIME.div_ceil(width.max(1)).max(ROWS_AT_A_TIME)
}

/// Whether all rows of a map of this shape together stay in the cache.
pub(super) fn stays_in_cache(shape: Shape) -> bool {
    shape.height.saturating_mul(shape.row()) <= WHOLE_BYTES / size_of::<f32>()
}

/// Some rows of a map.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapRows<'a> {
    /// The shape of the whole map.
    pub shape: Shape,
    /// The first of the rows that are there, and the one after the last.
    held: (usize, usize),
    /// A ring: as many rows as there is room for; row `y` is at its place modulo that number.
    numbers: &'a [f32],
    room: usize,
}

impl<'a> MapRows<'a> {
    /// All rows of a map.
    pub fn of(map: &'a FeatureMap) -> MapRows<'a> {
        MapRows {
            shape: map.shape(),
            held: (0, map.height),
            numbers: &map.data,
            room: map.height,
        }
    }

    /// Row `y`; None above the map and below it.
    pub fn row(&self, y: Option<usize>) -> Option<&'a [f32]> {
        y.filter(|y| *y < self.shape.height).map(|y| self.at(y))
    }

    /// Row `y`.
    ///
    /// # Panics
    /// If the row is not there.
    pub fn at(&self, y: usize) -> &'a [f32] {
        assert!(self.held.0 <= y && y < self.held.1);
        let (at, row) = (y % self.room, self.shape.row());
        &self.numbers[at * row..(at + 1) * row]
    }

    /// The numbers of these rows, as one slice or as several that follow each other, each with its rows.
    ///
    /// # Panics
    /// If the rows are not there.
    pub fn pieces(&self, rows: Range<usize>) -> impl Iterator<Item = (Range<usize>, &'a [f32])> {
        assert!(self.held.0 <= rows.start && rows.end <= self.held.1);
        let (numbers, row) = (self.numbers, self.shape.row());
        pieces(rows, self.room).map(move |(rows, at)| {
            let place = at * row..(at + rows.len()) * row;
            (rows, &numbers[place])
        })
    }
}

/// Divides rows where the ring that holds them begins again. Returns each piece, and its position in the ring, which has room for so many rows.
fn pieces(rows: Range<usize>, room: usize) -> impl Iterator<Item = (Range<usize>, usize)> {
    let mut left = rows;
    std::iter::from_fn(move || {
        let start = left.next()?;
        let at = start % room;
        let end = left.end.min(start + room - at);
        left.start = end;
        Some((start..end, at))
    })
}

/// Which rows of its input a step reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowSpan {
    /// Those under a window of `kernel` rows, which moves down by `stride` rows; `padding` rows are added at the top.
    Window {
        kernel: usize,
        stride: usize,
        padding: usize,
    },
    /// One, from which it computes so many rows.
    Repeated(usize),
}

impl RowSpan {
    /// The row of the same number.
    pub const SAME: RowSpan = RowSpan::Repeated(1);

    /// The rows of an input of this height that are read for these rows of the output.
    fn under(self, rows: &Range<usize>, height: usize) -> Range<usize> {
        if rows.is_empty() {
            return 0..0;
        }
        let (first, last) = (rows.start, rows.end - 1);
        let (start, end) = match self {
            RowSpan::Window {
                kernel,
                stride,
                padding,
            } => (
                (first * stride).saturating_sub(padding),
                (last * stride + kernel).saturating_sub(padding),
            ),
            RowSpan::Repeated(times) => (first / times, last / times + 1),
        };
        start.min(height)..end.min(height)
    }

    /// The greatest number of rows that are read for `count` rows.
    fn most(self, count: usize) -> usize {
        match self {
            RowSpan::Window { kernel, stride, .. } => count.saturating_sub(1) * stride + kernel,
            // they may begin with the last of the rows that are computed from one
            RowSpan::Repeated(times) => count.saturating_sub(1).div_ceil(times) + 1,
        }
    }
}

/// A step while it computes a map, from top to bottom.
pub(super) trait ByRows {
    /// The shape of the map.
    fn shape(&self) -> Shape;

    /// The rows of the step before that it reads.
    fn span(&self) -> RowSpan;

    /// Rows are computed in multiples of this number, but for the last ones of the map.
    fn multiple(&self) -> usize {
        1
    }

    /// Computes the next rows of the map into `out`. `input` has the rows that they are computed from.
    fn run(&mut self, input: &MapRows, rows: Range<usize>, out: &mut [f32], pool: &mut BufferPool);

    /// Gives its buffers back.
    fn end(&mut self, _pool: &mut BufferPool) {}
}

/// A step of a chain, and the rows that it has computed and the next one still reads.
struct Link<'a> {
    step: Box<dyn ByRows + 'a>,
    /// A ring with room for so many rows.
    buffer: Buffer,
    room: usize,
    held: Range<usize>,
    /// The rows that it computes next.
    next: Range<usize>,
}

impl Link<'_> {
    fn rows(&self) -> MapRows<'_> {
        let shape = self.step.shape();
        MapRows {
            shape,
            held: (self.held.start, self.held.end),
            numbers: &self.buffer[..self.room * shape.row()],
            room: self.room,
        }
    }

    /// Plans to compute the missing ones of these rows, which the next step reads now, and forgets the rows before them.
    fn plan(&mut self, rows: Range<usize>) {
        let height = self.step.shape().height;
        let multiple = multiple_of(&*self.step);
        // a stride that is greater than the kernel leaves rows out
        let start = self.held.end.max(rows.start / multiple * multiple);
        let end = rows.end.next_multiple_of(multiple).min(height);
        self.next = start..end.max(start);
        if !self.next.is_empty() {
            let kept = if rows.start < self.held.end {
                rows.start
            } else {
                start
            };
            self.held.start = self.held.start.max(kept);
        }
    }

    /// Computes the planned rows.
    fn run(&mut self, input: &MapRows, pool: &mut BufferPool) {
        let row = self.step.shape().row();
        for (rows, at) in pieces(self.next.clone(), self.room) {
            let place = at * row..(at + rows.len()) * row;
            self.step.run(input, rows, &mut self.buffer[place], pool);
        }
        if !self.next.is_empty() {
            self.held.end = self.next.end;
        }
    }
}

/// Rows that another step reads are computed in multiples of this number. It is at least two, because the windows of two rows share most of their
/// pixels, and the end of a ring then seldom separates them.
fn multiple_of(step: &dyn ByRows) -> usize {
    step.multiple().next_multiple_of(ROWS_AT_A_TIME)
}

/// Steps that are computed together, each of which reads what the one before computes.
pub(super) struct StepChain<'a> {
    steps: Vec<Box<dyn ByRows + 'a>>,
}

impl<'a> StepChain<'a> {
    /// A chain of one step.
    pub fn of(step: Box<dyn ByRows + 'a>) -> StepChain<'a> {
        StepChain { steps: vec![step] }
    }

    /// The shape of the map that it computes.
    pub fn shape(&self) -> Shape {
        self.steps
            .last()
            .map_or(Shape::default(), |step| step.shape())
    }

    /// Adds a step. Returns it if the rows between all of them would be too many for the cache.
    pub fn push(&mut self, step: Box<dyn ByRows + 'a>) -> Option<Box<dyn ByRows + 'a>> {
        self.steps.push(step);
        let shapes = self.steps.iter().map(|step| step.shape());
        let numbers: usize = shapes
            .zip(self.most_held())
            .map(|(shape, rows)| shape.row() * rows)
            .sum();
        self.steps
            .pop_if(|_| numbers * size_of::<f32>() > HELD_BYTES)
    }

    /// Rows of the last map that are computed at a time.
    fn at_a_time(&self) -> usize {
        let shape = self.shape();
        let multiple = self.steps.last().map_or(1, |step| step.multiple());
        rows_at_a_time(shape.width).next_multiple_of(multiple)
    }

    /// Room for the rows that are held of each map but the last.
    fn most_held(&self) -> Vec<usize> {
        let mut rows = self.at_a_time();
        let mut held = Vec::new();
        for pair in self.steps.windows(2).rev() {
            let (before, step) = (&pair[0], &pair[1]);
            let multiple = multiple_of(&**before);
            // more are computed at both ends to get multiples
            rows = (step.span().most(rows) + 2 * (multiple - 1)).next_multiple_of(multiple);
            held.push(rows);
        }
        held.reverse();
        held
    }

    /// Computes the map. `input` is what the first step reads.
    ///
    /// # Errors
    /// The map is too large.
    pub fn run(mut self, input: &MapRows, pool: &mut BufferPool) -> Result<FeatureMap> {
        let Shape {
            height,
            width,
            channels,
            stride,
        } = self.shape();
        let mut out = pool.map(height, width, channels, stride)?;
        if height == 0 || width == 0 {
            return Ok(out);
        }
        let (at_a_time, held) = (self.at_a_time(), self.most_held());
        let Some(mut last) = self.steps.pop() else {
            return Ok(out);
        };
        let links = self.steps.into_iter().zip(held);
        let mut links: Vec<Link> = links
            .map(|(step, room)| Link {
                buffer: pool.take(room * step.shape().row()),
                step,
                room,
                held: 0..0,
                next: 0..0,
            })
            .collect();
        // a step alone holds no rows
        let at_a_time = if links.is_empty() { height } else { at_a_time };
        let length = width * stride;
        for top in (0..height).step_by(at_a_time) {
            let rows = top..height.min(top + at_a_time);
            let (mut span, mut wanted) = (last.span(), rows.clone());
            for link in links.iter_mut().rev() {
                link.plan(span.under(&wanted, link.step.shape().height));
                (span, wanted) = (link.step.span(), link.next.clone());
            }
            for n in 0..links.len() {
                let (before, rest) = links.split_at_mut(n);
                let before = before.last().map_or(*input, Link::rows);
                rest[0].run(&before, pool);
            }
            let before = links.last().map_or(*input, Link::rows);
            let place = rows.start * length..rows.end * length;
            last.run(&before, rows, &mut out.data[place], pool);
        }
        last.end(pool);
        for mut link in links {
            link.step.end(pool);
            pool.give_back(link.buffer);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::aligned::Aligned;
    use super::super::dense::{Conv, ConvGeometry, ConvTranspose, ConvWeights};
    use super::super::depthwise::{DepthwiseConv, Separable};
    use super::super::kernel::{ConvActivation, PackedWeights};
    use super::super::sums::average_pool;
    use super::super::tests::{alone, cases, map, numbers};
    use super::super::upscale::Upscale;
    use super::super::{BufferPool, NumericMode};
    use super::*;

    /// Steps that take 16 channels, and give 16 but for the last.
    enum Kind {
        Conv(Conv),
        Depthwise(DepthwiseConv),
        Separable(Separable),
        Doubling(ConvTranspose),
        Pooling(usize),
        Quadrupling(Upscale),
    }

    impl Kind {
        fn new(kind: usize, window: ConvGeometry, seed: u64) -> Kind {
            let (rows, columns) = window.kernel;
            let matrix = |rows: usize| numbers(rows * 16, seed);
            let conv = |window: ConvGeometry, mode| {
                let (rows, columns) = window.kernel;
                let weights = matrix(rows * columns * 16);
                Conv {
                    window,
                    in_channels: 16,
                    out_channels: 16,
                    weights: ConvWeights::new(&weights, rows, numbers(16, 3), mode),
                    activation: ConvActivation::Relu,
                }
            };
            let point = ConvGeometry {
                kernel: (1, 1),
                stride: (1, 1),
                padding: [0; 4],
            };
            let depthwise = |window| DepthwiseConv {
                window,
                channels: 16,
                weights: Aligned::copy_of(&matrix(rows * columns)),
                bias: numbers(16, 4),
                activation: ConvActivation::None,
            };
            let transposed = |out_channels, count| ConvTranspose {
                in_channels: 16,
                out_channels,
                weights: vec![PackedWeights::new(&numbers(16 * 32, seed), numbers(32, 5)); count],
                activation: ConvActivation::None,
            };
            match kind {
                0 => Kind::Conv(conv(point, NumericMode::Float)),
                1 => Kind::Conv(conv(window, NumericMode::Float)),
                2 => Kind::Conv(conv(window, NumericMode::Auto)),
                3 => Kind::Depthwise(depthwise(window)),
                4 => Kind::Separable(Separable {
                    depthwise: depthwise(window),
                    pointwise: conv(point, NumericMode::Float),
                }),
                5 => Kind::Doubling(transposed(16, 2)),
                6 => Kind::Pooling(rows),
                _ => {
                    Kind::Quadrupling(Upscale::new(&transposed(16, 2), &transposed(1, 1)).unwrap())
                }
            }
        }

        /// None if the map is too small.
        fn by_rows(&self, input: Shape, pool: &mut BufferPool) -> Option<Box<dyn ByRows + '_>> {
            match self {
                Kind::Conv(conv) => conv.by_rows(input, pool).ok(),
                Kind::Depthwise(conv) => conv.by_rows(input).ok(),
                Kind::Separable(both) => both.by_rows(input, pool).ok(),
                Kind::Doubling(conv) => Some(conv.by_rows(input, pool)),
                Kind::Pooling(rows) => average_pool(input, (*rows, 1)).ok(),
                Kind::Quadrupling(both) => Some(both.by_rows(input)),
            }
        }
    }

    proptest! {
        #![proptest_config(cases())]

        #[test]
        #[cfg_attr(miri, ignore = "it takes minutes, and each step is tested by itself")]
        fn a_chain_has_the_bits_of_its_steps_one_after_the_other(
            height in 1usize..60, width in 1usize..60, ends_in_upscale in any::<bool>(),
            kinds in prop::collection::vec(
                (0usize..7, (1usize..6, 1usize..6), (1usize..4, 1usize..3), [0usize..4, 0..4, 0..4, 0..4]), 2..5
            )
        ) {
            let mut doubled = 0;
            let steps = kinds.into_iter().zip(1..).map(|((kind, kernel, stride, padding), seed)| {
                // each doubling makes what follows slow
                doubled += usize::from(kind == 5);
                let kind = if doubled > 1 { kind.min(4) } else { kind };
                Kind::new(kind, ConvGeometry { kernel, stride, padding }, seed)
            });
            let mut steps: Vec<Kind> = steps.collect();
            if ends_in_upscale {
                let window = ConvGeometry { kernel: (1, 1), stride: (1, 1), padding: [0; 4] };
                steps.push(Kind::new(7, window, 11));
            }
            let mut pool = BufferPool::default();
            let input = map(height, width, 16);
            let mut expected = input.clone();
            let mut chain: Option<StepChain> = None;
            for step in &steps {
                let (Some(one), Some(same)) = (step.by_rows(expected.shape(), &mut pool), step.by_rows(expected.shape(), &mut pool)) else {
                    break;
                };
                match &mut chain {
                    None => chain = Some(StepChain::of(same)),
                    // many strides and rows above each other do not fit into the cache
                    Some(chain) => if chain.push(same).is_some() { break },
                }
                expected = alone(one, &expected, &mut pool);
            }
            if let Some(chain) = chain {
                let out = chain.run(&MapRows::of(&input), &mut pool).unwrap();
                prop_assert_eq!(out.shape(), expected.shape());
                prop_assert_eq!(&*out.data, &*expected.data);
            }
        }
    }

    #[test]
    fn a_step_whose_rows_do_not_fit_into_the_cache_begins_a_new_chain() {
        let window = ConvGeometry {
            kernel: (5, 5),
            stride: (1, 1),
            padding: [2; 4],
        };
        let step = Kind::new(3, window, 1);
        let mut pool = BufferPool::default();
        for (width, fits) in [(100, true), (10_000, false)] {
            let shape = Shape {
                height: 9,
                width,
                channels: 16,
                stride: 16,
            };
            let mut by_rows = || step.by_rows(shape, &mut pool).unwrap();
            let mut chain = StepChain::of(by_rows());
            assert_eq!(chain.push(by_rows()).is_none(), fits);
            assert_eq!(chain.steps.len(), if fits { 2 } else { 1 });
        }
    }
}
