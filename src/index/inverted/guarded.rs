//! Guards against panics of tantivy, which trusts the files that it reads. It panics if stored texts are damaged, or the end of a file, where
//! its checksum is. All other files are verified when an index is opened, but each text only when it is read.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow};

/// Turns a panic in `read` into an error.
pub(super) fn guarded<T>(read: impl FnOnce() -> T) -> Result<T> {
    silence::while_reading(|| catch_unwind(AssertUnwindSafe(read)))
        .map_err(|_| anyhow!("it cannot be decoded"))
}

/// Keeps a caught panic from being printed.
mod silence {
    use std::cell::Cell;
    use std::panic::{set_hook, take_hook};
    use std::sync::Once;

    thread_local! {
        static READING: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();

    pub(crate) fn while_reading<T>(read: impl FnOnce() -> T) -> T {
        HOOK.call_once(|| {
            let usual = take_hook();
            set_hook(Box::new(move |panic| {
                if !READING.get() {
                    usual(panic);
                }
            }));
        });
        READING.set(true);
        let result = read();
        READING.set(false);
        result
    }
}
