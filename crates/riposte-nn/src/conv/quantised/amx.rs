//! Products in int8 with AMX, which multiplies whole matrices: 16 rows of 64 bytes with 64 rows of 16 columns in one instruction, which takes about as long
//! as sixteen of AVX-512 and does the work of 256. Processors for servers have it since 2023 (Intel's Sapphire Rapids).
//!
//! The standard library has no stable functions for its instructions, so they are written out. They are exact, as all products in int8.

#![expect(
    unsafe_code,
    reason = "tiles are loaded and stored by pointer with instructions that only assembly has; the callers in `super` assert the bounds"
)]

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::mem::MaybeUninit;
use std::sync::LazyLock;

use super::kernels::avx512;
use super::{Instructions, Int8Product};

/// With AVX-512 for all but the products of sixteen rows and more.
pub(super) const INSTRUCTIONS: Instructions = Instructions {
    name: "AMX",
    widest: 2,
    product,
    ..avx512::INSTRUCTIONS
};

/// Rows of a tile.
const ROWS: usize = 16;
/// Bytes in a row of a tile: a vector.
const BYTES: usize = 64;
/// Sums in a row of a tile, 32 bits each.
const LANES: usize = 16;
/// Windows that are computed at a time before their results are finished, so that these stay in the cache.
const GROUP: usize = 64;

/// Whether the processor has the instructions, and the system lets this process use them.
pub(super) fn is_available() -> bool {
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| has_tiles() && is_allowed());
    *AVAILABLE
}

/// Whether the processor has tiles and products of their bytes.
fn has_tiles() -> bool {
    // bits 24 and 25 of EDX are those of AMX-TILE and AMX-INT8
    const NEEDED: u32 = 0b11 << 24;
    __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).edx & NEEDED == NEEDED
}

/// Asks the system to keep the tiles of this process, which take 8 KiB for each thread.
#[cfg(target_os = "linux")]
fn is_allowed() -> bool {
    const REQUEST: libc::c_long = 0x1023;
    const TILES: libc::c_long = 18;
    // SAFETY: the call takes two numbers, and changes nothing but what is saved of a thread that gives way to another
    unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILES) == 0 }
}

/// Other systems have their own ways, which nobody has tried here.
#[cfg(not(target_os = "linux"))]
fn is_allowed() -> bool {
    false
}

/// The sizes of the tiles. Tiles 0 to 3 have sums, 4 the left operand and 5 the right one; 6 and 7 have those of the last bytes of a window.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl TileConfig {
    /// For windows that have `rest` bytes beyond the last 64.
    fn new(rest: usize) -> TileConfig {
        let mut sizes = TileConfig {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        for tile in 0..8 {
            sizes.row_bytes[tile] = BYTES as u16;
            sizes.rows[tile] = ROWS as u8;
        }
        if rest > 0 {
            sizes.row_bytes[6] = rest as u16;
            sizes.rows[7] = (rest / 4) as u8;
        }
        sizes
    }
}

macro_rules! zero {
    ($tile:literal) => {
        asm!(
            concat!("tilezero tmm", $tile),
            options(nomem, nostack, preserves_flags)
        )
    };
}

/// Loads a tile whose rows are `$step` bytes apart.
macro_rules! load {
    ($tile:literal, $from:expr, $step:expr) => {
        asm!(
            concat!("tileloadd tmm", $tile, ", [{from} + {step}*1]"),
            from = in(reg) $from,
            step = in(reg) $step,
            options(readonly, nostack, preserves_flags)
        )
    };
}

/// Adds the products of unsigned bytes with signed ones to sums.
macro_rules! dot {
    ($sums:literal, $left:literal, $right:literal) => {
        asm!(
            concat!("tdpbusd tmm", $sums, ", tmm", $left, ", tmm", $right),
            options(nomem, nostack, preserves_flags)
        )
    };
}

macro_rules! store {
    ($tile:literal, $to:expr, $step:expr) => {
        asm!(
            concat!("tilestored [{to} + {step}*1], tmm", $tile),
            to = in(reg) $to,
            step = in(reg) $step,
            options(nostack, preserves_flags)
        )
    };
}

/// Computes the product into `out`.
///
/// # Safety
/// The machine has the instructions, and the rest is as for [`Instructions::product`].
unsafe fn product(of: Int8Product, out: &mut [f32]) {
    let count = of.windows.count;
    if count < ROWS {
        // SAFETY: whoever has AMX has AVX-512, and the caller guarantees the rest
        return unsafe { avx512::product(of, out) };
    }
    let mut sums = [const { MaybeUninit::<i32>::uninit() }; GROUP * 2 * LANES];
    let sums = sums.as_mut_ptr().cast::<i32>();
    let sizes = TileConfig::new(of.windows.length % BYTES);
    // SAFETY: the sizes are those of a palette that all machines with AMX have
    unsafe {
        asm!("ldtilecfg [{}]", in(reg) &raw const sizes, options(readonly, nostack, preserves_flags))
    }
    let mut from = 0;
    while from < count {
        // the windows that are left after this group fill a tile too
        let group = match count - from {
            left if left > GROUP => GROUP.min(left - ROWS),
            left => left,
        };
        let (mut column, mut data) = (0, &*of.weights.data);
        for &width in &of.weights.panels {
            let mut done = 0;
            while done < group {
                // a tile that begins before the last windows computes some again, which is faster than vectors for these windows alone
                let at = done.min(group - ROWS);
                let m = from + at;
                // SAFETY: there are at least as many windows in the group as a tile has rows, so the arms take at most as many as there are from `m` on, and
                // these end at `count`; `data` begins with the panel, which the slicing below keeps true; there is room for the sums of a group; and the
                // caller guarantees the rest.
                done = at
                    + unsafe {
                        let to = sums.add(at * width * LANES);
                        match (width, group - at) {
                            (2, 32..) => tiles::<2, 2>(&of, m, data, to),
                            (2, _) => tiles::<1, 2>(&of, m, data, to),
                            (_, 32..) => tiles::<2, 1>(&of, m, data, to),
                            _ => tiles::<1, 1>(&of, m, data, to),
                        }
                    };
            }
            let windows = from..from + group;
            // SAFETY: the windows end at `count`, and the panels' widths add up to the columns; the tiles have written the sums
            unsafe {
                match width {
                    2 => avx512::finish_panel::<2>(&of, windows, column, data, sums, out),
                    _ => avx512::finish_panel::<1>(&of, windows, column, data, sums, out),
                }
            }
            column += width * LANES;
            data = &data[width * LANES * of.weights.rows..];
        }
        from += group;
    }
    // SAFETY: tiles are not used from here on
    unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) }
}

/// Computes the integer sums of `HEIGHT` · 16 windows from `first` on by the `WIDTH` vectors of columns of a panel, window after window. Returns the number of
/// windows.
///
/// # Safety
/// As for [`product`]. The windows end at `count`, `panel` begins with the panel of these columns, and the tiles have been set up for windows of this length. `to`
/// has room for the sums.
unsafe fn tiles<const HEIGHT: usize, const WIDTH: usize>(
    of: &Int8Product,
    first: usize,
    panel: &[i8],
    to: *mut i32,
) -> usize {
    let (step, length) = (of.windows.step, of.windows.length);
    let (whole, rest) = (length / BYTES, length % BYTES);
    let across = WIDTH * BYTES;
    debug_assert!(first + HEIGHT * ROWS <= of.windows.count);
    debug_assert!(panel.len() >= WIDTH * LANES * of.weights.rows);
    // SAFETY: a tile of windows reads up to 64 bytes from each, as many as it still has, and one of the panel reads the rows for them. `panel` advances by
    // as many rows as bytes of a window were read. Nothing but this module uses tiles, so they keep what is loaded.
    unsafe {
        zero!(0);
        if WIDTH == 2 {
            zero!(1);
        }
        if HEIGHT == 2 {
            zero!(2);
            if WIDTH == 2 {
                zero!(3);
            }
        }
        let mut panel = panel.as_ptr();
        for row in of.windows.rows {
            let mut upper = row.as_ptr().add(first * step);
            for _ in 0..whole {
                load!(4, upper, step);
                load!(5, panel, across);
                dot!(0, 4, 5);
                if WIDTH == 2 {
                    load!(5, panel.wrapping_add(BYTES), across);
                    dot!(1, 4, 5);
                }
                if HEIGHT == 2 {
                    load!(4, upper.wrapping_add(ROWS * step), step);
                    if WIDTH == 2 {
                        dot!(3, 4, 5);
                        load!(5, panel, across);
                    }
                    dot!(2, 4, 5);
                }
                upper = upper.wrapping_add(BYTES);
                panel = panel.add(ROWS * across);
            }
            if rest > 0 {
                load!(6, upper, step);
                load!(7, panel, across);
                dot!(0, 6, 7);
                if WIDTH == 2 {
                    load!(7, panel.wrapping_add(BYTES), across);
                    dot!(1, 6, 7);
                }
                if HEIGHT == 2 {
                    load!(6, upper.wrapping_add(ROWS * step), step);
                    if WIDTH == 2 {
                        dot!(3, 6, 7);
                        load!(7, panel, across);
                    }
                    dot!(2, 6, 7);
                }
                panel = panel.add(rest / 4 * across);
            }
        }
        store!(0, to, across);
        if WIDTH == 2 {
            store!(1, to.add(LANES), across);
        }
        if HEIGHT == 2 {
            let to = to.add(ROWS * WIDTH * LANES);
            store!(2, to, across);
            if WIDTH == 2 {
                store!(3, to.add(LANES), across);
            }
        }
    }
    HEIGHT * ROWS
}
