use std::array::from_fn;

pub(crate) type Floats = [f32; 4];
pub(crate) type Ints = [i32; 4];

pub unsafe fn load(from: *const f32) -> Floats {
    // SAFETY: the caller guarantees that the pointer is valid
    unsafe { from.cast::<Floats>().read() }
}

pub unsafe fn store(to: *mut f32, x: Floats) {
    // SAFETY: the caller guarantees that the pointer is valid
    unsafe { to.cast::<Floats>().write(x) }
}

pub(crate) unsafe fn load_int(from: *const Ints) -> Ints {
    // SAFETY: the caller guarantees that the pointer is valid; weights are read four bytes at a time and need no alignment
    unsafe { from.read_unaligned() }
}

pub(crate) unsafe fn store_int(to: *mut Ints, x: Ints) {
    // SAFETY: the caller guarantees that the pointer is valid
    unsafe { to.write(x) }
}

pub fn set(x: f32) -> Floats {
    [x; 4]
}

pub(crate) fn zero() -> Floats {
    [0.0; 4]
}

pub fn add(a: Floats, b: Floats) -> Floats {
    from_fn(|n| a[n] + b[n])
}

pub(crate) fn sub(a: Floats, b: Floats) -> Floats {
    from_fn(|n| a[n] - b[n])
}

pub(crate) fn mul(a: Floats, b: Floats) -> Floats {
    from_fn(|n| a[n] * b[n])
}

pub fn fma(a: Floats, b: Floats, c: Floats) -> Floats {
    from_fn(|n| a[n].mul_add(b[n], c[n]))
}

pub fn min(a: Floats, b: Floats) -> Floats {
    from_fn(|n| if a[n] < b[n] { a[n] } else { b[n] })
}

pub fn max(a: Floats, b: Floats) -> Floats {
    from_fn(|n| if a[n] > b[n] { a[n] } else { b[n] })
}

pub(crate) fn zero_int() -> Ints {
    [0; 4]
}

pub(crate) fn set_int(x: i32) -> Ints {
    [x; 4]
}

pub(crate) fn add_int(a: Ints, b: Ints) -> Ints {
    from_fn(|n| a[n] + b[n])
}

/// Adds the products of four unsigned by four signed bytes to each sum.
pub fn dot(sums: Ints, a: Ints, w: Ints) -> Ints {
    from_fn(|n| {
        let pairs = a[n].to_ne_bytes().into_iter().zip(w[n].to_ne_bytes());
        let products = pairs.map(|(a, w)| i32::from(a) * i32::from(w.cast_signed()));
        sums[n] + products.sum::<i32>()
    })
}

/// Adds the products of two by two signed numbers of 16 bits to each sum.
pub(crate) fn dot_pairs(sums: Ints, a: Ints, w: Ints) -> Ints {
    from_fn(|n| {
        let half = |x: i32, shift: i32| x << (16 - shift) >> 16;
        let products = [0, 16].map(|shift| half(a[n], shift).wrapping_mul(half(w[n], shift)));
        sums[n].wrapping_add(products[0].wrapping_add(products[1]))
    })
}

pub(crate) fn to_float(x: Ints) -> Floats {
    x.map(|x| x as f32)
}
