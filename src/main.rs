//! The command `riposte`. Its exit code is an interface:
//!
//! | command | 0: done | 1: done, but with faults, which are named | 2: failed, or nothing to do |
//! |---|---|---|---|
//! | images | run written | faults in documents, topics or --arguments | no image, no readable topic, no readable argument |
//! | extract | evidence stored | faults in documents | no image |
//! | controversial, comparative, rank | run written | faults in documents or topics | no readable topic; no document that can be ranked; a service that does not answer |
//! | ask | question answered | faults in documents | no document can answer; an empty question |
//! | index | index up to date; not damaged (--check) | faults in documents (texts) | no document; damage (--check) |
//! | read | all images read | some images cannot be decoded | none can be decoded |
//! | stance, quality | all answered | a line of --jsonl is broken; its answer is null | an empty topic or object; no line of --jsonl can be answered |
//! | merge | merged | evidence of a damaged shard could not be read | the shards contain no document |
//! | cache clear | removed, or nothing to remove | an entry is still there: in use, or it cannot be removed | no entry has the name; no terminal to ask on |
//! | models fetch | all installed | some files could not be fetched | none could be fetched |
//! | verify | all runs are valid | a run is not valid, or a topic is broken | a file cannot be read |
//! | evaluate | measures printed | a line of a run or of judgements is broken; a run has no line | no judgement; a file cannot be read |
//! | inspect | report written | a line of a run, judgements or topics is broken | a run has no line; a file cannot be read |
//! | export run | files written | a line of the run or of judgements is broken | the run has no line; a file cannot be read |
//!
//! The other commands (approaches, cache list, completions, config, export evidence, man, models list) end with 0, or with 2 if they fail. In all
//! commands, outputs that cannot be written, options that make no sense and damage on disk give 2; they are found before the work if possible. 130:
//! stopped by a second Ctrl-C.

#![deny(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use riposte::trec::escaped_lines;

fn main() -> ExitCode {
    match riposte::cli::run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            riposte::cli::say_line(&format!(
                "riposte: {}",
                escaped_lines(&format!("{error:#}"))
            ));
            ExitCode::from(2)
        }
    }
}
