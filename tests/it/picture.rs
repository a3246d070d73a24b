//! Picture statistics on real images.

use std::fs;

use riposte::evidence::picture::{decode, hamming, perceptual_hash};

use crate::support::need::{Data, need};

#[test]
fn the_collections_own_hashes_come_out() {
    let Some(images) = need(Data("images/sample/images")) else {
        return;
    };
    let mut far = Vec::new();
    for prefix in fs::read_dir(images).unwrap() {
        for dir in fs::read_dir(prefix.unwrap().path()).unwrap() {
            let dir = dir.unwrap().path();
            let own = fs::read_to_string(dir.join("image-phash.txt")).unwrap();
            let image = decode(&fs::read(dir.join("image.webp")).unwrap())
                .unwrap()
                .image;
            let own = u64::from_str_radix(own.trim(), 2).unwrap();
            far.push(hamming(own, perceptual_hash(&image)));
        }
    }
    assert_eq!(far.len(), 25);
    let near = far.iter().filter(|&&bits| bits <= 2).count();
    assert!(near >= 24, "{far:?}");
}
