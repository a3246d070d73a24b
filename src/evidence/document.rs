//! A document while its evidence is computed.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Evidence;
use super::clock::Clock;
use super::picture::decode::{DecodedImage, decode};
use super::picture::jpeg::is_cut_jpeg;
use super::precision::ChannelBackend;
use crate::collection::images::{DocumentFiles, ImageFolder, UnreadFile};
use crate::collection::{Fault, FaultKind};

/// A document, and what is known of it so far.
pub struct DocumentInWork<'a> {
    pub entry: &'a ImageFolder,
    pub listing: DocumentFiles,
    /// The stored evidence, and the channels that have been computed.
    pub evidence: Evidence,
    /// The faults of the channel that is being computed.
    pub faults: Vec<Fault>,
    /// The backend of the channel that is being computed; `None` if no model computes it.
    pub backend: Option<ChannelBackend>,
    /// What this channel needs later, if it is completed together with those of other documents
    /// ([`Extractor::complete`](super::channel::Extractor::complete)).
    pub later: Option<Box<dyn Any + Send>>,
    /// A pool of one thread. Models that would use all cores are run in it, so that they use only one.
    pub pool: &'a rayon::ThreadPool,
    pub clock: &'a Clock,
    /// The faults that were found when the document's files were listed.
    pub(super) listing_faults: Vec<Fault>,
    pub(super) image: ImageFile,
}

/// The document's picture.
#[derive(Default)]
pub(super) struct ImageFile {
    /// The bytes of the first file, if they have been read.
    pub first: Option<Vec<u8>>,
    /// `None` before decoding; `Some(None)` if no file can be decoded.
    pub decoded: Option<Option<DecodedPicture>>,
    pub faults: Vec<Fault>,
}

/// A decoded picture, and its file.
#[derive(Clone)]
pub struct DecodedPicture {
    pub path: PathBuf,
    pub picture: Arc<DecodedImage>,
}

impl DocumentInWork<'_> {
    /// The first of the image files that can be decoded. It is decoded once.
    pub fn image(&mut self) -> Option<DecodedPicture> {
        let (image, paths, clock) = (&mut self.image, &self.listing.images, self.clock);
        let read = |path: &Path| self.listing.read(path);
        let decode = || decode_first(paths, image.first.take(), read, &mut image.faults);
        let decode = || clock.nested("decode", decode);
        image.decoded.get_or_insert_with(decode).clone()
    }

    /// Adds the faults that decoding found in the image files to those of this channel.
    pub fn add_image_faults(&mut self) {
        self.faults.extend_from_slice(&self.image.faults);
    }

    /// Whether decoding has found faults in the image files.
    pub(super) fn has_image_faults(&self) -> bool {
        !self.image.faults.is_empty()
    }
}

/// Decodes the first of the image files that can be decoded. Each file before it becomes a fault, and so does a file that is cut off. `first` has the
/// bytes of the first file, if they have been read.
fn decode_first(
    paths: &[PathBuf],
    mut first: Option<Vec<u8>>,
    read: impl Fn(&Path) -> Result<Vec<u8>, UnreadFile>,
    faults: &mut Vec<Fault>,
) -> Option<DecodedPicture> {
    for path in paths {
        let bytes = match first.take().map_or_else(|| read(path), Ok) {
            Ok(bytes) => bytes,
            Err(unread) => {
                faults.push(unread.fault(FaultKind::Image, path));
                continue;
            }
        };
        match decode(&bytes) {
            Ok(picture) => {
                if is_cut_jpeg(&bytes) {
                    let what =
                        "the file ends before the image does: the part that it contains is used";
                    faults.push(Fault::in_file(FaultKind::Image, path, what));
                }
                let (path, picture) = (path.clone(), Arc::new(picture));
                return Some(DecodedPicture { path, picture });
            }
            Err(error) => faults.push(Fault::in_file(FaultKind::Image, path, format!("{error:#}"))),
        }
    }
    None
}
