//! A vector of numbers that begins at a cache line.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the longest vectors.
pub(super) const LINE: usize = 64;

/// Numbers whose first one begins a cache line.
///
/// A vector that crosses from one cache line to the next takes two loads instead of one. The allocator begins large allocations 16 bytes after the
/// start of a line, so every vector of 64 bytes would cross. This costs depthwise convolutions most, because they load a vector for nearly every
/// multiplication.
#[derive(Debug, Default)]
pub struct Aligned<T> {
    /// The numbers, and some before and after them.
    all: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// `length` zeros.
    pub(crate) fn zeros(length: usize) -> Aligned<T> {
        let spare = LINE / size_of::<T>().max(1);
        let all = vec![T::default(); length + spare];
        // if align_offset finds no offset, the numbers are not aligned, and everything else still holds
        let start = all.as_ptr().align_offset(LINE);
        Aligned {
            start: if start > spare { 0 } else { start },
            all,
            length,
        }
    }

    /// How many numbers the allocation can hold.
    pub(crate) fn capacity(&self) -> usize {
        self.all.len() - self.start
    }

    /// The same allocation with another number of numbers, at most [`Aligned::capacity`]; their values are arbitrary.
    pub(crate) fn with_length(mut self, length: usize) -> Aligned<T> {
        self.length = length;
        self
    }

    /// Makes it hold at least `length` numbers, with arbitrary values.
    pub(crate) fn grow(&mut self, length: usize) {
        if self.length < length {
            *self = if self.capacity() < length {
                Aligned::zeros(length)
            } else {
                std::mem::take(self).with_length(length)
            };
        }
    }

    /// A copy of these numbers.
    pub fn copy_of(numbers: &[T]) -> Aligned<T> {
        let mut aligned = Aligned::zeros(numbers.len());
        aligned.copy_from_slice(numbers);
        aligned
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        Aligned::copy_of(self)
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.start..self.start + self.length]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_a_cache_line_and_so_do_their_copies() {
        for length in [0, 1, 15, 16, 17, 1000] {
            let numbers: Vec<f32> = (0..length).map(|n| n as f32).collect();
            let aligned = Aligned::copy_of(&numbers);
            let copy = aligned.clone();
            let bytes = Aligned::copy_of(&vec![7i8; length]);
            assert_eq!((&*aligned, &*copy), (&*numbers, &*numbers));
            assert_eq!(*bytes, *vec![7i8; length]);
            // under Miri, allocations may be unaligned
            if !cfg!(miri) {
                for address in [
                    aligned.as_ptr().addr(),
                    copy.as_ptr().addr(),
                    bytes.as_ptr().addr(),
                ] {
                    assert!(address.is_multiple_of(LINE));
                }
            }
        }
    }
}
