//! The progress of a file that is downloaded, copied or unpacked.

use crate::events::{Event, OnEvent, Progress, Stage};

/// A file that is downloaded, copied or unpacked: a stage of its own, which ends when this value is dropped.
pub(crate) struct Transfer<'e> {
    on_event: &'e mut OnEvent<'e>,
    done: u64,
    total: u64,
}

impl<'e> Transfer<'e> {
    /// `name` is shown.
    pub fn new(name: &str, on_event: &'e mut OnEvent<'_>) -> Self {
        on_event(Event::started(Stage::Transfer(name.to_owned()), 0));
        Transfer {
            on_event,
            done: 0,
            total: 0,
        }
    }

    /// Begins at a byte. `total` is the number of all bytes, 0 if it is unknown.
    pub fn begin(&mut self, at: u64, total: u64) {
        (self.done, self.total) = (at, total);
        self.inc(0);
    }

    /// Counts more bytes.
    pub fn inc(&mut self, bytes: u64) {
        self.done += bytes;
        (self.on_event)(Event::Progress(Progress::Items {
            done: self.done,
            total: self.total,
            detail: String::new(),
        }));
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        (self.on_event)(Event::Progress(Progress::Ended));
    }
}
