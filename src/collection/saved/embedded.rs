//! Takes the pictures out of a page that are inside it (`data:image/png;base64,…`), as SingleFile and some sites write them.

use base64::Engine;

use super::BASE64;
use crate::html::percent_decoded;
use crate::limits::{MAX_DATA_TYPE_BYTES, MAX_SAVED_FILE_BYTES};

/// The scheme of the names that stand for pictures that were taken out of a page: `embedded:I0123456789abcdef`.
pub const SCHEME: &str = "embedded:";

/// How a picture inside a page begins.
const START: &[u8] = b"data:image/";

/// The page with each picture inside it replaced by the name that `take` gives it. `None` leaves a picture where it is.
///
/// # Errors
/// `take` fails.
pub fn without_pictures<E>(
    page: Vec<u8>,
    take: &mut dyn FnMut(Vec<u8>) -> Result<Option<String>, E>,
) -> Result<Vec<u8>, E> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = next_start(&page, at) {
        at = start + START.len();
        let Some((from, to)) = base64(&page, at) else {
            continue;
        };
        at = to;
        let text = String::from_utf8_lossy(page.get(from..to).unwrap_or_default());
        let Ok(bytes) = BASE64.decode(percent_decoded(&text).as_bytes()) else {
            continue;
        };
        if bytes.len() as u64 > MAX_SAVED_FILE_BYTES || image::guess_format(&bytes).is_err() {
            continue;
        }
        if let Some(name) = take(bytes)? {
            out.extend_from_slice(page.get(copied..start).unwrap_or_default());
            out.extend_from_slice(name.as_bytes());
            copied = to;
        }
    }
    if copied == 0 {
        return Ok(page);
    }
    out.extend_from_slice(page.get(copied..).unwrap_or_default());
    Ok(out)
}

fn next_start(page: &[u8], from: usize) -> Option<usize> {
    let rest = page.get(from..)?;
    let at = rest.windows(START.len()).position(|part| part == START)?;
    Some(from + at)
}

/// Where the digits of a picture begin and end, whose type begins at `at`.
fn base64(page: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = page.get(at..)?;
    let kind = rest
        .iter()
        .take(MAX_DATA_TYPE_BYTES)
        .position(|byte| *byte == b',')?;
    if !rest.get(..kind)?.to_ascii_lowercase().ends_with(b";base64") {
        return None;
    }
    let from = at + kind + 1;
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=%".contains(byte);
    let digits = page.get(from..)?.iter().take_while(|byte| is_digit(byte));
    Some((from, from + digits.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_taken_out_and_drawings_are_not() {
        let gif = b"GIF89a\x01\x00\x01\xfb\xef\xbe";
        let text = BASE64.encode(gif);
        assert!(text.contains('+'));
        let page = format!(
            "<img src=\"data:image/gif;base64,{text}\"><img src=data:image/svg+xml;base64,PHN2Zz4=><img src='data:image/x;base64,!'>\
             <i style=\"background:url(data:image/gif;charset=x;base64,{})\"></i>data:image/",
            text.replace('+', "%2B")
        );
        let mut taken = Vec::new();
        let page = without_pictures(page.into_bytes(), &mut |bytes| {
            taken.push(bytes);
            Ok::<_, ()>(Some(format!("embedded:{}", taken.len())))
        });
        assert_eq!(taken, [gif, gif]);
        assert_eq!(
            String::from_utf8(page.unwrap()).unwrap(),
            "<img src=\"embedded:1\"><img src=data:image/svg+xml;base64,PHN2Zz4=><img src='data:image/x;base64,!'>\
             <i style=\"background:url(embedded:2)\"></i>data:image/"
        );
    }
}
