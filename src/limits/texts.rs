//! Texts, topics, runs, judgements, recipes and reports.

use std::time::Duration;

limits! {
    TEXTS

    /// An argument or a passage.
    /// The longest argument of args.me has less than 1 MB.
    /// Fault with line, byte and id.
    pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;

    /// The id that a fault shows of a broken argument.
    /// The rest of the argument may be broken, too.
    /// The fault has line and byte, but no id.
    pub const MAX_SHOWN_ID_BYTES: usize = 100;

    /// First line of a collection of texts with all its faults (`riposte-texts.jsonl`).
    /// It has a format and a task.
    /// Error.
    pub const MAX_TEXTS_HEADER_BYTES: u64 = 1 << 10;

    /// Stored texts that are read at a time.
    /// tantivy packs texts in blocks of 16 KB; a longer text is a block.
    /// They are mapped instead.
    pub const MAX_READ_BYTES: usize = 1 << 20;

    /// Faults of an index in memory.
    /// A broken collection can have millions.
    /// The others are in a file; none is lost.
    pub const MAX_KEPT_FAULTS: usize = 1000;

    /// Images whose words are read together for the index, by each thread.
    /// Their words are in memory together; those of real ones have some kilobytes.
    /// The next images are read after them.
    pub const MAX_IMAGE_BATCH: usize = 8;

    /// Texts that wait to be indexed.
    /// They are in memory together.
    /// Reading waits.
    pub const MAX_QUEUE_BYTES: usize = 16 << 20;

    /// Characters of a word in an index, unless the recipe says otherwise (`length=`).
    /// Longer ones are data URLs, hashes and the like.
    /// The word is left out.
    pub const MAX_WORD_LENGTH: usize = 40;

    /// Characters of a word in an index that a recipe can allow.
    /// A longer one could only be a mistake.
    /// Error.
    pub const MAX_WORD_LENGTH_OF_RECIPE: usize = 1000;

    /// Parts of a query, each with its fields.
    /// Each has a bit of a 64-bit number.
    /// Error.
    pub const MAX_QUERY_PARTS: usize = 64;

    /// Words of a sentence, with its punctuation.
    /// Menus and tables of web pages have no full stop.
    /// Another sentence begins.
    pub const MAX_SENTENCE_TOKENS: usize = riposte_claims::limits::MAX_SENTENCE_TOKENS;

    /// Words of a topic's title that is read as a sentence.
    /// Sentences have fewer.
    /// The title is its own claim, and has no negation.
    pub const MAX_CLAIM_WORDS: usize = riposte_claims::limits::MAX_CLAIM_WORDS;

    /// A topic's title that is read as a sentence.
    /// Sentences have fewer.
    /// The title is its own claim, and has no negation.
    pub const MAX_CLAIM_BYTES: usize = riposte_claims::limits::MAX_CLAIM_BYTES;

    /// A text from which scores are computed after retrieval.
    /// No argument of args.me has as many.
    /// A note and the explanation say "only the first …".
    pub const MAX_USED_BYTES: usize = 1 << 20;

    /// Characters of a text that sentence vectors see.
    /// The encoder sees about 500 of them.
    /// Only the beginning is read.
    pub const MAX_READ_CHARACTERS: usize = 1200;

    /// Sentences of a text that the stance encoder reads towards objects.
    /// These take three seconds on one core; no passage of 2022 has a quarter as many.
    /// A note and the explanation say so.
    pub const MAX_READ_SENTENCES: usize = 256;

    /// Characters of such a sentence.
    /// The stance encoder reads the beginning of a longer one.
    /// The sentence is cut.
    pub const MAX_MASKED_CHARACTERS: usize = 600;

    /// Passages of a topic that the stance encoder reads, unless the recipe says otherwise (`stance_depth`).
    /// Reading all thousand would take as long as everything else; the approach `riposte` reads 25.
    /// Further down, words decide.
    pub const STANCE_DEPTH: usize = 50;

    /// Tokens of a sentence, for ModernBERT and NomicBERT, if the files of the model allow more.
    /// The scores of attention grow with the square: at 8,192 tokens they would take 3 GB in each layer.
    /// Texts are cut.
    pub const MAX_CANDLE_TOKENS: usize = riposte_candle::limits::MAX_TOKENS;

    /// Tokens of a pair for the stance encoder.
    /// The model was trained for this length.
    /// Texts are cut.
    pub const MAX_STANCE_TOKENS: usize = 96;

    /// Tokens of a pair for a cross-encoder.
    /// The models were trained for this length.
    /// Texts are cut.
    pub const MAX_CROSS_TOKENS: usize = 512;

    /// Tokens of a text for sentence vectors, unless the files of the model say another number.
    /// The models were trained for this length.
    /// Texts are cut.
    pub const MAX_ENCODED_TOKENS: usize = riposte_nn::limits::MAX_SENTENCE_TOKENS;

    /// Words of a picture that are compared, to tell copies from pictures that look alike.
    /// A picture that riposte has read has fewer; the time of a comparison is quadratic.
    /// The others are left out.
    pub const MAX_PICTURE_WORDS: usize = 4000;

    /// Letters of such a word.
    /// The time of a comparison is quadratic.
    /// The others are left out.
    pub const MAX_PICTURE_LETTERS: usize = 100;

    /// Packed passages of a text.
    /// These are 200,000 words; the longest argument of args.me has fewer.
    /// Only the beginning is encoded.
    pub const MAX_PACKED_PASSAGES: usize = 1000;

    /// A recipe.
    /// The recipes that come with riposte have a few thousand bytes.
    /// Error.
    pub const MAX_RECIPE_BYTES: u64 = 1 << 20;

    /// A stop list.
    /// The lists that come with riposte have a few thousand bytes.
    /// Error.
    pub const MAX_STOP_LIST_BYTES: u64 = 1 << 20;

    /// `riposte.toml`.
    /// It has a few settings.
    /// Error.
    pub const MAX_CONFIG_BYTES: u64 = 1 << 20;

    /// A file of tables for `reproduce`.
    /// riposte's own has less than 64 kB.
    /// Error.
    pub const MAX_TABLES_BYTES: u64 = 4 << 20;

    /// The minutes of a table.
    /// A year; a longer time would not fit into a duration.
    /// Error.
    pub const MAX_MINUTES: f64 = 525_600.0;

    /// A number in a recipe that is not zero, at least, with either sign.
    /// A division by a smaller one could give an infinite score.
    /// Error with the line.
    pub const MIN_NUMBER: f64 = 1e-9;

    /// A number in a recipe, with either sign.
    /// Scores that are computed from larger ones could be infinite.
    /// Error with the line.
    pub const MAX_NUMBER: f64 = 1e6;

    /// Documents of a topic in a run, unless more are asked for (`depth` in a recipe, `--hits`).
    /// The lab takes no more.
    /// A note that the lab does not take the run; for a search engine an error.
    pub const RUN_DEPTH: usize = 1000;

    /// Documents of a topic in a run.
    /// A run is held in memory until it is written.
    /// Error.
    pub const MAX_HITS: usize = 100_000;

    /// Keys that lead to a value (`--set`).
    /// A value of a recipe has five.
    /// Error.
    pub const MAX_SETTING_KEYS: usize = 16;

    /// Settings in the tag of a run.
    /// Tags are printed in tables.
    /// A hash stands for them.
    pub const MAX_TAG_BYTES: usize = 60;

    /// Characters of a name that is compared with the known ones.
    /// The time for the comparison grows with its length.
    /// The error suggests no name.
    pub const MAX_COMPARED_LENGTH: usize = 100;

    /// Clusters of pictures, and their dimensions.
    /// Vectors of CLIP have 512 to 1,024 numbers.
    /// Error with the line.
    pub const MAX_CLUSTERS: usize = 1_024;

    /// A score in a run is below it.
    /// Evaluators read 32-bit floats.
    /// Error that names the document and the number to blame.
    pub const MAX_SCORE: f64 = 1e30;

    /// An answer of ChatNoir.
    /// A page of 100 results has a fifth of a megabyte.
    /// Error; earlier answers are stored.
    pub const MAX_CHATNOIR_BYTES: u64 = 16 << 20;

    /// The time until ChatNoir has answered.
    /// A service that does not answer must not hold up a run.
    /// The call is tried again; earlier answers are stored.
    pub const MAX_CHATNOIR_TIME: Duration = Duration::from_secs(60);

    /// Tries to get an answer of ChatNoir.
    /// They are enough for a short outage.
    /// Error; earlier answers are stored.
    pub const MAX_CHATNOIR_TRIES: u32 = 5;

    /// The pause before the next try.
    /// The pauses double.
    /// riposte does not wait for longer, whatever the server demands.
    pub const MAX_CHATNOIR_PAUSE: Duration = Duration::from_secs(60);

    /// ChatNoir's explanation of an error.
    /// It is a sentence.
    /// Only the beginning is read.
    pub const MAX_CHATNOIR_ERROR_BYTES: u64 = 64 << 10;

    /// Characters of it that a message quotes.
    /// It is a sentence.
    /// Only the beginning is shown.
    pub const MAX_CHATNOIR_MESSAGE: usize = 200;

    /// A file of topics.
    /// The largest of the lab has 80 kB; BEIR has files of several hundred thousand queries.
    /// Error.
    pub const MAX_TOPICS_BYTES: u64 = riposte_eval::limits::MAX_TOPICS_BYTES;

    /// Faults of a file of topics, and of a list of candidates.
    /// Nobody reads more of them.
    /// The rest is not read, which is a fault, too.
    pub const MAX_FAULTS: usize = riposte_eval::limits::MAX_FAULTS;

    /// A run, judgements, a list of ids or of candidates, after decompression.
    /// The largest of the lab have a tenth of it.
    /// Error.
    pub const MAX_RUN_BYTES: u64 = riposte_eval::limits::MAX_RUN_BYTES;

    /// Lines of such a file.
    /// riposte keeps more about a line than the line itself.
    /// Error.
    pub const MAX_LINES: usize = riposte_eval::limits::MAX_LINES;

    /// A line of such a file.
    /// The longest known lines are explanations.
    /// Error.
    pub const MAX_LINE_BYTES: usize = riposte_eval::limits::MAX_LINE_BYTES;

    /// Topics and documents in a run or judgements in ranx's JSON.
    /// As for lines; ranx writes all of them on one line, whose length has no limit of its own.
    /// The file is not read, a fault.
    pub const MAX_RANX_DOCUMENTS: usize = riposte_eval::limits::MAX_RANX_DOCUMENTS;

    /// A rank in a run without scores.
    /// 32-bit floats, as which evaluators read scores, distinguish all whole numbers up to it.
    /// The line is not read, a fault.
    pub const MAX_RANK: u32 = riposte_eval::limits::MAX_RANK;

    /// The window of a file that is packed with zstd.
    /// The decoder allocates it; zstd makes a larger one only with `--long=28` and more.
    /// Error.
    pub const MAX_WINDOW_BYTES: u64 = 128 << 20;

    /// A run for TIRA.
    /// Larger ones are refused by TIRA.
    /// `verify` says that TIRA refuses the run.
    pub const MAX_TIRA_BYTES: usize = riposte_eval::limits::MAX_TIRA_BYTES;

    /// A grade in nDCG with `dcg=exp-log2`.
    /// 2^1024 is no finite number.
    /// Error that names the document and the topic.
    pub const MAX_EXPONENT: f64 = riposte_eval::limits::MAX_EXPONENT;

    /// A grade in nDCG with other gains.
    /// Sums of such grades are far below the largest float.
    /// Error that names the document and the topic.
    pub const MAX_GRADE: f64 = riposte_eval::limits::MAX_GRADE;

    /// Results that RBP and SDCG count.
    /// As in cwl_eval, whose weights sum to 1 over them.
    /// The rest does not count.
    pub const MAX_COUNTED_RESULTS: usize = riposte_eval::limits::MAX_COUNTED_RESULTS;

    /// Cutoff of a measure of diversity, and results that NRBP counts.
    /// The ideal ranking is computed document by document.
    /// An error; the rest does not count.
    pub const MAX_DIVERSITY_CUTOFF: usize = riposte_eval::limits::MAX_DIVERSITY_CUTOFF;

    /// Runs that `evaluate --correction` compares with each other.
    /// Each has a letter.
    /// Error.
    pub const MAX_COMPARED_RUNS: usize = riposte_eval::limits::MAX_COMPARED;

    /// Topics whose score offsets are in the metadata of a run.
    /// A reader looks through no more; the rule by which offsets are chosen is there, too.
    /// Only the rule is written.
    pub const MAX_DESCRIBED_TOPICS: usize = 1000;

    /// A file of explanations.
    /// 50 topics with a hundred candidates of 5 kB, or several times as much with models, take 25 to 100 MB; riposte needs four times as much memory to read them.
    /// Error; `--explain` writes longer files, with a note.
    pub const MAX_EXPLANATION_BYTES: u64 = 256 << 20;

    /// A file of debate sheets.
    /// A sheet of the sample has 10 kB.
    /// Error.
    pub const MAX_SHEET_BYTES: u64 = 64 << 20;

    /// The list of the files of an older report.
    /// That of a report with half a million files.
    /// Error; the report is not replaced.
    pub const MAX_REPORT_LIST_BYTES: u64 = 64 << 20;

    /// Pixels of the side of a picture that a report scales smoothly.
    /// The weights of the scaling take 32 bytes for each pixel of the side.
    /// The report shows only some of its rows or columns.
    pub const MAX_SCALED_SIDE: u32 = 65_536;

    /// Documents of a list in a report (`--depth`).
    /// As many as the runs of the lab have for a topic.
    /// Error.
    pub const MAX_REPORT_DEPTH: i64 = 1000;

    /// Documents in an answer (`ask --number`).
    /// An answer is for reading.
    /// Error.
    pub const MAX_ASKED_NUMBER: i64 = 100;

    /// The first documents of a ranking that are judged: are they about the topic?
    /// A report shows as many; with a plain search of several topics and no `--explain`, none are judged, because that would take as long as the search.
    /// Further documents have no probability, and are not below the line.
    pub const MAX_JUDGED: usize = 20;

    /// Words of a question whose language is told, in Latin letters, at least.
    /// The words of a shorter one are names and nouns, which languages share.
    /// It counts as English.
    pub const MIN_LANGUAGE_WORDS: usize = 3;

    /// Characters of a question (`ask`).
    /// A question is a sentence.
    /// Error.
    pub const MAX_QUESTION: usize = 1000;

    /// A line of `stance --jsonl`.
    /// As for an argument.
    /// The answer is null, a fault.
    pub const MAX_STANCE_LINE_BYTES: usize = 16 << 20;

    /// A call of the Python package.
    /// `riposte.stance` and `riposte.quality` send 2,048 texts in a call.
    /// Error; the next call starts another process.
    pub const MAX_CALL_BYTES: u64 = 1 << 30;
}
