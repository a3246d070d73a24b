//! Reads outputs of models from the workspace. Those that are missing there are computed and stored.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, ensure};
use riposte_nn::conv::Numeric;

use crate::lazy::Lazy;
use crate::workspace::Outputs;
use crate::workspace::blob::{blob_of, vector_of};

/// Number of outputs that are computed and written together. A killed process loses at most these, and one that is stopped finishes them.
const BATCH: usize = 128;

/// The error if the user stops the work.
pub(crate) const STOPPED: &str = "stopped before the end; what the models have computed is stored";

/// A model that is installed, and how outputs are computed with it.
pub(super) struct OutputModel<'m, M, F> {
    pub model: &'m Lazy<M>,
    /// The kind of numbers in which the loaded model computes.
    pub numeric: fn(&M) -> Numeric,
    pub run: F,
}

impl<'m, M, F> OutputModel<'m, M, F> {
    /// `None` if the model is not installed, or has another producer.
    pub fn by(
        model: Option<&'m Lazy<M>>,
        producer: &str,
        numeric: fn(&M) -> Numeric,
        run: F,
    ) -> Option<Self> {
        let model = model.filter(|model| model.producer() == producer)?;
        Some(OutputModel {
            model,
            numeric,
            run,
        })
    }
}

/// The outputs for these inputs, in their order. Each input has a key under which its output is stored. Missing outputs are computed and stored;
/// `on_progress` receives the number of computed outputs, beginning with 0, and the number of all missing ones; if it returns `false`, the rest is not
/// computed. `None` if an output is missing and the model is not installed.
///
/// A stored output of another width than `width` counts as missing.
///
/// # Errors
/// The workspace cannot be read or written, the model fails, the work was stopped, or an output is damaged and the model is not installed.
pub(super) fn complete<I: Copy, M, F>(
    outputs: &mut Outputs,
    producer: &str,
    inputs: &[(String, I)],
    width: Option<usize>,
    compute: Option<OutputModel<M, F>>,
    on_progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Vec<Vec<f32>>>>
where
    F: FnMut(&M, &[I]) -> Result<Vec<Vec<f32>>>,
{
    let mut known: HashMap<&str, Vec<f32>> = HashMap::new();
    let mut missing: Vec<(&str, I)> = Vec::new();
    let mut seen = HashSet::new();
    for (key, input) in inputs {
        if !seen.insert(key.as_str()) {
            continue;
        }
        let stored = outputs.find(producer, key, compute.is_some())?;
        let stored = stored.map(|value| vector_of(&value)).transpose()?;
        match stored.filter(|output| width.is_none_or(|width| output.len() == width)) {
            Some(output) => _ = known.insert(key, output),
            None => missing.push((key, *input)),
        }
    }
    if !missing.is_empty() {
        let Some(mut compute) = compute else {
            return Ok(None);
        };
        let mut done = 0;
        for batch in missing.chunks(BATCH) {
            ensure!(on_progress(done, missing.len()), STOPPED);
            let model = compute.model.get()?;
            let batch_inputs: Vec<I> = batch.iter().map(|(_, input)| *input).collect();
            let computed = (compute.run)(model, &batch_inputs)?;
            ensure!(
                computed.len() == batch.len(),
                "{producer} has computed {} outputs for {} inputs",
                computed.len(),
                batch.len()
            );
            let rows: Vec<(&str, Vec<u8>)> = batch
                .iter()
                .zip(&computed)
                .map(|((key, _), output)| (*key, blob_of(output)))
                .collect();
            outputs.put(producer, (compute.numeric)(model).word(), &rows)?;
            known.extend(batch.iter().map(|(key, _)| *key).zip(computed));
            done += batch.len();
        }
        on_progress(done, missing.len());
    }
    let output = |(key, _): &(String, I)| known.get(key.as_str()).cloned();
    Ok(inputs.iter().map(output).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;

    use super::*;
    use crate::workspace::key;

    /// The lengths of texts, by a model that is installed if `is_installed`. Also returns the number of computed outputs.
    fn lengths(
        outputs: &mut Outputs,
        texts: &[&str],
        width: Option<usize>,
        is_installed: bool,
    ) -> Result<(Option<Vec<Vec<f32>>>, usize)> {
        let model = Lazy::new("m/1".to_owned(), || Ok(()));
        let compute = is_installed.then_some(OutputModel {
            model: &model,
            numeric: |()| Numeric::Int8,
            run: |(): &(), texts: &[&str]| Ok(texts.iter().map(|t| vec![t.len() as f32]).collect()),
        });
        let inputs: Vec<(String, &str)> = texts.iter().map(|t| (key(&[t]), *t)).collect();
        let mut computed = 0;
        let on_progress = &mut |done, _| {
            computed = done;
            true
        };
        let found = complete(outputs, "m/1", &inputs, width, compute, on_progress)?;
        Ok((found, computed))
    }

    fn changed(path: &Path, change: &str) {
        let c = Connection::open(path).unwrap();
        assert_eq!(c.execute(change, []).unwrap(), 1);
    }

    #[test]
    fn outputs_are_computed_once_and_stored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.sqlite");
        let mut outputs = Outputs::open(&path).unwrap();
        let all = Some(vec![vec![1.0], vec![3.0], vec![1.0]]);
        for computed in [2, 0] {
            let found = lengths(&mut outputs, &["b", "aaa", "b"], None, true);
            assert_eq!(found.unwrap(), (all.clone(), computed));
        }
        let mut stored = |texts: &[&str], width| {
            let found = lengths(&mut outputs, texts, width, false);
            found.unwrap().0
        };
        assert_eq!(stored(&["aaa"], Some(1)), Some(vec![vec![3.0]]));
        assert_eq!(stored(&["aaa"], Some(3)), None);
        assert_eq!(stored(&["aaa", "c"], None), None);
        assert_eq!(stored(&[], None), Some(vec![]));
        let c = Connection::open(&path).unwrap();
        let numerics = "SELECT count(*) FROM output WHERE numeric = 'int8'";
        let count: i64 = c.query_row(numerics, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 2);
    }

    #[test]
    fn a_damaged_output_is_computed_again_or_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.sqlite");
        let texts = ["a", "bb", "ccc"];
        let all = Some(vec![vec![1.0], vec![2.0], vec![3.0]]);
        lengths(&mut Outputs::open(&path).unwrap(), &texts, None, true).unwrap();
        for (column, value) in [
            ("value", "x'00000041'"),
            ("value", "'text'"),
            ("checksum", "checksum + 1"),
            ("numeric", "'float'"),
        ] {
            let of_a = key(&["a"]);
            changed(
                &path,
                &format!("UPDATE output SET {column} = {value} WHERE key = '{of_a}'"),
            );
            let mut outputs = Outputs::open(&path).unwrap();
            let error = lengths(&mut outputs, &texts, None, false).unwrap_err();
            let said = error.to_string();
            assert!(said.contains("w.sqlite") && said.contains("m/1"), "{said}");
            assert_eq!(
                lengths(&mut outputs, &texts, None, true).unwrap(),
                (all.clone(), 1)
            );
            let note = outputs.note_of_damage().unwrap();
            assert!(note.starts_with("1 stored outputs in"), "{note}");
            let mut outputs = Outputs::open(&path).unwrap();
            assert_eq!(
                lengths(&mut outputs, &texts, None, false).unwrap(),
                (all.clone(), 0)
            );
            assert_eq!(outputs.note_of_damage(), None);
        }
    }

    #[test]
    fn outputs_of_a_file_that_cannot_be_written_stay_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.sqlite");
        lengths(&mut Outputs::open(&path).unwrap(), &["a"], None, true).unwrap();
        let without = dir.path().join("without.sqlite");
        let c = Connection::open(&without).unwrap();
        c.execute_batch("CREATE TABLE x (y)").unwrap();
        drop(c);
        for (path, computes) in [(&path, 1), (&without, 2)] {
            let before = std::fs::read(path).unwrap();
            let mut outputs = Outputs::open_to_read(path).unwrap();
            for computes in [computes, 0] {
                let found = lengths(&mut outputs, &["a", "bb"], None, true);
                assert_eq!(found.unwrap(), (Some(vec![vec![1.0], vec![2.0]]), computes));
            }
            drop(outputs);
            assert_eq!(&std::fs::read(path).unwrap(), &before);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
