//! Picture statistics on real images.

use std::fs;

use riposte::evidence::picture::{decode, hamming, perceptual_hash};

use crate::support::files::entries;
use crate::support::need::{Data, need};

#[test]
fn perceptual_hashes_are_those_of_the_collection() {
    let Some(images) = need(Data("images/sample/images")) else {
        return;
    };
    let mut distances = Vec::new();
    for dir in entries(&images).iter().flat_map(|prefix| entries(prefix)) {
        let expected = fs::read_to_string(dir.join("image-phash.txt")).unwrap();
        let expected = u64::from_str_radix(expected.trim(), 2).unwrap();
        let decoded = decode(&fs::read(dir.join("image.webp")).unwrap()).unwrap();
        distances.push(hamming(expected, perceptual_hash(&decoded.image)));
    }
    assert_eq!(distances.len(), 25);
    let near = distances.iter().filter(|bits| **bits <= 2).count();
    assert!(near >= 24, "{distances:?}");
}
