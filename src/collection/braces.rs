//! The ends of JSON objects in a damaged file.
//!
//! After a broken argument the reader tries each place where the next argument can begin. Counting braces again from each of these places would take
//! time that grows with the square of the file's size. Instead, one pass from the last byte to the first finds the ends of all objects.

/// No position.
const NONE: u32 = u32::MAX;

/// The ends of all objects that begin and end in a window of bytes.
pub(super) struct ObjectEnds {
    /// The position of each opening brace and the position after its closing brace, the last one first.
    ends: Vec<(u32, u32)>,
}

/// A closing brace.
struct Close {
    /// The position after it.
    end: u32,
    /// The index of the brace that closes the next outer object; [`NONE`] if there is none.
    next: u32,
}

impl ObjectEnds {
    /// Finds the ends in a window of fewer than 2^32 - 2 bytes.
    ///
    /// Whether a brace is part of a string depends on where reading begins. So the loop finds the brace that closes the object around a position
    /// twice: once as if the position were outside a string, and once as if it were inside one.
    pub fn of(bytes: &[u8]) -> Self {
        let mut ends = Vec::new();
        let mut closes: Vec<Close> = Vec::new();
        // the indices of these braces for the position after this byte; `inside_after` is for the position after that
        let (mut outside, mut inside, mut inside_after) = (NONE, NONE, NONE);
        for (at, byte) in bytes.iter().enumerate().rev() {
            let at = at as u32;
            let here_outside = match byte {
                b'"' => inside,
                b'{' => match closes.get(outside as usize) {
                    Some(close) => {
                        ends.push((at, close.end));
                        close.next
                    }
                    None => NONE,
                },
                b'}' => {
                    closes.push(Close {
                        end: at + 1,
                        next: outside,
                    });
                    closes.len() as u32 - 1
                }
                _ => outside,
            };
            let here_inside = match byte {
                b'\\' => inside_after,
                b'"' => outside,
                _ => inside,
            };
            inside_after = inside;
            (outside, inside) = (here_outside, here_inside);
        }
        ObjectEnds { ends }
    }

    /// The position after the object that begins at this position, `None` if it does not end in the window.
    pub fn of_object(&self, start: usize) -> Option<usize> {
        let start = u32::try_from(start).ok()?;
        let found = self
            .ends
            .binary_search_by(|(at, _)| start.cmp(at))
            .ok()
            .and_then(|index| self.ends.get(index))?;
        Some(found.1 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts braces from `start`.
    fn counted(bytes: &[u8], start: usize) -> Option<usize> {
        let (mut at, mut depth, mut string) = (start, 0usize, false);
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match (string, byte) {
                (true, b'\\') => at += 1,
                (_, b'"') => string = !string,
                (false, b'{') => depth += 1,
                (false, b'}') => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    proptest::proptest! {
        #[test]
        fn each_object_ends_where_counting_braces_ends(text in "[{}\"\\\\a]{0,60}") {
            let ends = ObjectEnds::of(text.as_bytes());
            for (start, _) in text.match_indices('{') {
                proptest::prop_assert_eq!(ends.of_object(start), counted(text.as_bytes(), start), "from {}", start);
            }
        }
    }
}
