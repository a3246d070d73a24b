//! The SHA-256 of a file.

use std::io::{self, ErrorKind, Read};

use sha2::{Digest, Sha256};

/// Number of bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// The SHA-256 of everything that can be read from `file`, in hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of(file: impl Read) -> io::Result<String> {
    Ok(hex(&digest_of(file)?))
}

/// The SHA-256 of a file's content, as bytes. Errors: the file cannot be read.
pub(crate) fn digest_of(mut file: impl Read) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(read) => hash.update(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes in lower-case hexadecimal, two digits each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text consists of lower-case hexadecimal digits.
pub fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads one byte at a time, and is interrupted before each.
    struct Slow<'a>(&'a [u8], bool);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let first = self.0.len().min(1);
            self.0.read(&mut buffer[..first])
        }
    }

    #[test]
    fn a_file_in_many_pieces_has_the_published_sha256() {
        // FIPS 180-2, example B.1
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(Slow(b"abc", false)).unwrap(), abc);
        // example B.3
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(
            sha256_of(io::repeat(b'a').take(1_000_000)).unwrap(),
            million
        );
        assert_eq!(hex(&[0, 0x0a, 0xf0]), "000af0");
    }
}
