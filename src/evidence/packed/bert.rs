//! BERT over the packed encoder, for CPUs: [`crate::evidence::bert`]'s arithmetic.

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use rten_gemm::GemmExecutor;
use tokenizers::Encoding;

use super::{Kept, Norm, PackedEncoder, Trained, reader};
use crate::evidence::bert::{Config, Parts, batches};
use crate::evidence::checkpoint::Checkpoint;

/// Tokens that go through the model together: enough for the matrix products, few enough that all threads have some.
const BATCH: usize = 512;

pub(in crate::evidence) struct PackedBert {
    encoder: PackedEncoder,
    hidden: usize,
    vocabulary: usize,
    longest: usize,
    /// (vocabulary, hidden)
    words: Vec<f32>,
    /// (2 × longest, hidden): the position vectors, that of the segment's token type added to each.
    places: Vec<f32>,
    norm: Norm,
}

impl PackedBert {
    /// Reads the tensors of [`Config::expected`], each as `trained` makes it. `longest`: tokens of the longest text.
    ///
    /// # Errors
    /// Tensors that cannot be read.
    pub(in crate::evidence) fn read(
        config: &Config,
        parts: &Parts,
        longest: usize,
        checkpoint: &mut Checkpoint,
        trained: &impl Trained,
    ) -> Result<Self> {
        let size = config.size();
        let hidden = size.hidden;
        let mut read = reader(checkpoint, trained);
        let types = read(&parts.types())?;
        let positions = read(&parts.positions())?;
        let places = types
            .chunks(hidden)
            .take(2)
            .flat_map(|kind| {
                positions
                    .chunks(hidden)
                    .take(longest)
                    .flat_map(move |place| place.iter().zip(kind).map(|(p, k)| p + k))
            })
            .collect();
        Ok(PackedBert {
            hidden,
            vocabulary: config.vocab_size,
            longest,
            words: read(&parts.words())?,
            places,
            norm: Norm::read(&mut read, &parts.norm(), size.epsilon)?,
            encoder: PackedEncoder::read(&size, parts.names(), read)?,
        })
    }

    pub(in crate::evidence) fn gemm(&self) -> &GemmExecutor {
        self.encoder.gemm()
    }

    /// What `of_firsts` says of each text from the last layer's row of its first token, \[CLS\], in the order given. It gets
    /// the rows of a batch one after another and answers with as many.
    pub(in crate::evidence) fn firsts<T: Clone + Default + Send>(
        &self,
        texts: &[Encoding],
        of_firsts: impl Fn(&[f32]) -> Result<Vec<T>> + Sync,
    ) -> Result<Vec<T>> {
        self.each(texts, |texts, lengths| {
            let firsts = vec![0; lengths.len()];
            of_firsts(&self.forward(texts, lengths, Kept::One(&firsts))?)
        })
    }

    /// The mean of each text's rows of the last layer, in the order given.
    pub(in crate::evidence) fn means(&self, texts: &[Encoding]) -> Result<Vec<Vec<f32>>> {
        self.each(texts, |texts, lengths| {
            let rows = self.forward(texts, lengths, Kept::All)?;
            let mut rows = rows.chunks(self.hidden);
            let mean = |&length: &usize| {
                let mut mean = vec![0.0; self.hidden];
                for row in rows.by_ref().take(length) {
                    super::add(&mut mean, row);
                }
                mean.iter_mut().for_each(|sum| *sum /= length as f32);
                mean
            };
            Ok(lengths.iter().map(mean).collect())
        })
    }

    fn each<T: Clone + Default + Send>(
        &self,
        texts: &[Encoding],
        of_batch: impl Fn(&[&Encoding], &[usize]) -> Result<Vec<T>> + Sync,
    ) -> Result<Vec<T>> {
        // longest first: what is left for the last thread is short
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&n| std::cmp::Reverse(texts[n].len()));
        let batches = batches(&order, texts, BATCH);
        let said: Vec<Vec<T>> = batches
            .par_iter()
            .map(|batch| {
                let texts: Vec<&Encoding> = batch.iter().map(|&n| &texts[n]).collect();
                let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
                of_batch(&texts, &lengths)
            })
            .collect::<Result<_>>()?;
        let mut in_order = vec![T::default(); texts.len()];
        for (batch, said) in batches.iter().zip(said) {
            for (&n, of_text) in batch.iter().zip(said) {
                in_order[n] = of_text;
            }
        }
        Ok(in_order)
    }

    fn forward(&self, texts: &[&Encoding], lengths: &[usize], kept: Kept<'_>) -> Result<Vec<f32>> {
        self.encoder
            .forward(self.embed(texts)?, lengths, kept, false)
    }

    fn embed(&self, texts: &[&Encoding]) -> Result<Vec<f32>> {
        let row = |table: &[f32], at: usize| {
            let from = at * self.hidden;
            table.get(from..from + self.hidden).map(<[f32]>::to_vec)
        };
        let mut x = Vec::new();
        for text in texts {
            ensure!(
                (1..=self.longest).contains(&text.len()),
                "the tokenizer gives {} tokens: expected 1 to {}",
                text.len(),
                self.longest
            );
            for (at, (&id, &kind)) in text.get_ids().iter().zip(text.get_type_ids()).enumerate() {
                let mut vector = row(&self.words, id as usize).with_context(|| {
                    format!(
                        "the tokenizer gives token {id}, but the model has {}",
                        self.vocabulary
                    )
                })?;
                let place = row(&self.places, kind as usize * self.longest + at)
                    .with_context(|| format!("the tokenizer gives token type {kind}"))?;
                vector.iter_mut().zip(place).for_each(|(v, p)| *v += p);
                x.extend(vector);
            }
        }
        self.norm.forward(&mut x);
        Ok(x)
    }
}
