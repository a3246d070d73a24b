//! Measures of rankings for topics with subtopics: a document gains less for a subtopic that documents above it have covered.

use std::collections::{BTreeMap, HashMap};

use super::{Order, SortedTextRun};
use crate::limits::MAX_DIVERSITY_CUTOFF;
use crate::measure::{DiversityKind, DiversityMeasure};
use crate::qrels::SubtopicQrels;
use crate::values::{Aggregation, MeasureValues};
use crate::{DocId, TopicId};

/// The judgements of one topic.
struct Subtopics<'q> {
    /// The subtopics for which each document is relevant. Documents that are relevant for none are left out.
    of_doc: HashMap<&'q DocId, Vec<usize>>,
    /// For each subtopic, the number of relevant documents.
    relevant: Vec<usize>,
}

impl<'q> Subtopics<'q> {
    fn new(judged: &'q [HashMap<DocId, f64>], least: f64) -> Subtopics<'q> {
        let mut of_doc: HashMap<&DocId, Vec<usize>> = HashMap::new();
        let mut relevant = vec![0; judged.len()];
        for (subtopic, grades) in judged.iter().enumerate() {
            for (doc, _) in grades.iter().filter(|(_, grade)| **grade >= least) {
                of_doc.entry(doc).or_default().push(subtopic);
                relevant[subtopic] += 1;
            }
        }
        Subtopics { of_doc, relevant }
    }

    /// The number of subtopics with a relevant document. The others do not count.
    fn count(&self) -> usize {
        self.relevant.iter().filter(|count| **count > 0).count()
    }

    fn of(&self, doc: &DocId) -> &[usize] {
        self.of_doc.get(doc).map_or(&[], Vec::as_slice)
    }

    /// The ideal ranking, as the subtopics of its documents: at each rank stands the document that gains the most there and, of several, the one with the
    /// greatest id. A better ranking can exist, but is hard to compute; ndeval compares with this one, too. At most `length` documents.
    fn ideal(&self, alpha: f64, length: usize) -> Vec<&[usize]> {
        // documents with the same subtopics gain equally much, so only the greatest id of them is compared with others
        let mut groups: HashMap<&[usize], Vec<&DocId>> = HashMap::new();
        for (doc, subtopics) in &self.of_doc {
            groups.entry(subtopics).or_default().push(doc);
        }
        let mut groups: Vec<(&[usize], Vec<&DocId>)> = groups.into_iter().collect();
        for (_, docs) in &mut groups {
            docs.sort_unstable();
        }
        let mut seen = Seen::new(self.relevant.len(), alpha);
        let mut ideal = Vec::new();
        while ideal.len() < length {
            let gainers = groups.iter_mut().filter_map(|(subtopics, docs)| {
                let last = *docs.last()?;
                Some((seen.gain(subtopics), last, *subtopics, docs))
            });
            let best = gainers.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
            let Some((_, _, subtopics, docs)) = best else {
                break;
            };
            docs.pop();
            seen.add(subtopics);
            ideal.push(subtopics);
        }
        ideal
    }
}

/// What a further document gains for each subtopic: 1, and `1 - alpha` times as much after each document that covers it.
struct Seen {
    gains: Vec<f64>,
    alpha: f64,
}

impl Seen {
    fn new(subtopics: usize, alpha: f64) -> Seen {
        Seen {
            gains: vec![1.0; subtopics],
            alpha,
        }
    }

    fn gain(&self, subtopics: &[usize]) -> f64 {
        subtopics.iter().map(|subtopic| self.gains[*subtopic]).sum()
    }

    fn add(&mut self, subtopics: &[usize]) {
        for subtopic in subtopics {
            self.gains[*subtopic] *= 1.0 - self.alpha;
        }
    }
}

/// The gains of results, each given by its subtopics.
fn gains(results: &[&[usize]], subtopics: usize, alpha: f64) -> impl Iterator<Item = f64> {
    let mut seen = Seen::new(subtopics, alpha);
    results.iter().map(move |of_result| {
        let gain = seen.gain(of_result);
        seen.add(of_result);
        gain
    })
}

/// The sum of gains, each multiplied by the weight of its rank. Ranks begin with 1.
fn weighted(gains: impl Iterator<Item = f64>, weight: impl Fn(f64) -> f64) -> f64 {
    let ranks = (1u32..).map(f64::from);
    ranks
        .zip(gains)
        .map(|(rank, gain)| gain * weight(rank))
        .sum()
}

/// The weight of a rank in DCG.
fn discount(rank: f64) -> f64 {
    (rank + 1.0).log2().recip()
}

impl DiversityMeasure {
    /// The number of ranks that count.
    fn length(&self, results: &[&[usize]]) -> usize {
        self.cutoff.unwrap_or(results.len())
    }

    /// The value for one topic. `results` are the subtopics of each result.
    fn value(&self, judged: &Subtopics, results: &[&[usize]]) -> f64 {
        let count = judged.count();
        if count == 0 {
            return 0.0;
        }
        let length = self.length(results);
        let first = results.get(..length).unwrap_or(results);
        let read = first.get(..MAX_DIVERSITY_CUTOFF).unwrap_or(first);
        let count = count as f64;
        match self.kind {
            DiversityKind::AlphaNdcg { alpha } => self.normalised(judged, first, alpha, discount),
            DiversityKind::NErrIa => self.normalised(judged, first, 0.5, f64::recip),
            DiversityKind::NNrbp { alpha, beta } => {
                self.normalised(judged, read, alpha, |rank| beta.powf(rank - 1.0))
            }
            DiversityKind::AlphaDcg { alpha } => self.scaled(judged, first, alpha, discount),
            DiversityKind::ErrIa => self.scaled(judged, first, 0.5, f64::recip),
            DiversityKind::Nrbp { alpha, beta } => {
                let gained = gains(read, judged.relevant.len(), alpha);
                let sum = weighted(gained, |rank| beta.powf(rank - 1.0));
                sum * (1.0 - (1.0 - alpha) * beta) / count
            }
            DiversityKind::PIa => {
                let covered: usize = first.iter().map(|of_result| of_result.len()).sum();
                covered as f64 / (length as f64 * count)
            }
            DiversityKind::StRecall => {
                let mut covered: Vec<usize> = first.concat();
                covered.sort_unstable();
                covered.dedup();
                covered.len() as f64 / count
            }
            DiversityKind::ApIa => {
                let mut hits = vec![0.0; judged.relevant.len()];
                let mut sum = 0.0;
                for (rank, of_result) in (1u32..).zip(first) {
                    for subtopic in *of_result {
                        hits[*subtopic] += 1.0;
                        sum +=
                            hits[*subtopic] / f64::from(rank) / judged.relevant[*subtopic] as f64;
                    }
                }
                sum / count
            }
        }
    }

    /// The weighted gains, divided by those of the ideal ranking.
    fn normalised(
        &self,
        judged: &Subtopics,
        results: &[&[usize]],
        alpha: f64,
        weight: impl Fn(f64) -> f64,
    ) -> f64 {
        let subtopics = judged.relevant.len();
        let ideal = judged.ideal(alpha, self.cutoff.unwrap_or(MAX_DIVERSITY_CUTOFF));
        let best = weighted(gains(&ideal, subtopics, alpha), &weight);
        let gained = weighted(gains(results, subtopics, alpha), &weight);
        if best > 0.0 { gained / best } else { 0.0 }
    }

    /// The weighted gains, divided by those of a ranking in which each document covers all subtopics.
    fn scaled(
        &self,
        judged: &Subtopics,
        results: &[&[usize]],
        alpha: f64,
        weight: impl Fn(f64) -> f64,
    ) -> f64 {
        let gained = weighted(gains(results, judged.relevant.len(), alpha), &weight);
        let mut gain = judged.count() as f64;
        let highest = (0..self.length(results)).map(|_| {
            let of_rank = gain;
            gain *= 1.0 - alpha;
            of_rank
        });
        let highest = weighted(highest, weight);
        if highest > 0.0 { gained / highest } else { 0.0 }
    }
}

impl SortedTextRun<'_> {
    /// The value of a measure for each judged topic, and their mean. A topic that the run leaves out counts as 0.
    pub(super) fn measure_diversity(
        &self,
        qrels: &SubtopicQrels,
        measure: &DiversityMeasure,
    ) -> MeasureValues {
        let least = measure.rel.grade;
        let value = |topic: &TopicId, judged: &[HashMap<DocId, f64>]| {
            let judged = Subtopics::new(judged, least);
            let lines = self
                .topics
                .get(topic)
                .map(|of| of.in_order(Order::IrMeasures));
            let lines = lines.iter().flat_map(|lines| lines.iter());
            let results: Vec<&[usize]> = lines.map(|line| judged.of(&line.doc)).collect();
            measure.value(&judged, &results)
        };
        let topics = qrels.subtopics.iter();
        let values: BTreeMap<TopicId, f64> = topics
            .map(|(topic, judged)| (topic.clone(), value(topic, judged)))
            .collect();
        MeasureValues::new(values, Aggregation::Mean)
    }
}

#[cfg(test)]
mod tests {
    use crate::measure::Measure;
    use crate::{evaluate, qrels};

    /// d1 covers two subtopics, d2 one of them, d3 the third.
    const QRELS: &str = "1 a d1 1\n1 b d1 1\n1 a d2 1\n1 c d3 2\n1 b d9 0\n2 0 d1 1\n";

    fn value(measure: &str) -> f64 {
        let run = "1 Q0 d1 1 3 t\n1 Q0 x 2 2.5 t\n1 Q0 d2 3 2 t\n1 Q0 d3 4 1 t\n";
        let (judgements, errors) = qrels::read(QRELS);
        assert_eq!(errors, []);
        let measure: Measure = measure.parse().unwrap();
        let found = evaluate(run, &judgements, &[measure]).unwrap();
        let values: Vec<f64> = found.values[0].topics.values().copied().collect();
        assert_eq!(values.len(), 2);
        assert_eq!(values[1], 0.0, "the run lacks the topic");
        values[0]
    }

    #[test]
    fn values_are_those_counted_by_hand() {
        let log = f64::log2;
        for (measure, expected) in [
            // the ideal ranking is d1, d3, d2
            (
                "alpha_nDCG@3",
                (2.0 + 0.5 / 2.0) / (2.0 + 1.0 / log(3.0) + 0.5 / 2.0),
            ),
            (
                "alpha_DCG@3",
                (2.0 + 0.5 / 2.0) / (3.0 + 1.5 / log(3.0) + 0.75 / 2.0),
            ),
            // ndeval does not divide here, and gives 2
            ("alpha_DCG@1", 2.0 / 3.0),
            ("ERR_IA@1", 2.0 / 3.0),
            ("nERR_IA@2", 2.0 / 2.5),
            ("AP_IA", ((1.0 + 2.0 / 3.0) / 2.0 + 1.0 + 1.0 / 4.0) / 3.0),
            ("P_IA@5", 4.0 / 15.0),
            ("StRecall@3", 2.0 / 3.0),
            ("StRecall(rel=2)@5", 1.0),
            ("alpha_nDCG(rel=3)@3", 0.0),
            // other measures take the highest grade of a document
            ("nDCG@1", 0.5),
            ("P@4", 0.75),
        ] {
            let found = value(measure);
            assert!(
                (found - expected).abs() < 1e-12,
                "{measure}: {found}, not {expected}"
            );
        }
    }

    #[test]
    fn an_ideal_ranking_of_many_documents_takes_no_quadratic_time() {
        // few sets of subtopics, and as many as documents
        let line = |n: usize| format!("1 {} d{n} 1\n1 s{n} d{n} 1\n", n % 7);
        let judged: String = (0..20_000).map(line).collect();
        let (judgements, _) = qrels::read(&judged);
        let measure: Measure = "nNRBP".parse().unwrap();
        let begun = std::time::Instant::now();
        let found = evaluate("1 Q0 d1 1 1 t\n", &judgements, &[measure]).unwrap();
        assert!(found.values[0].all() > 0.0);
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }

    #[test]
    fn names_are_those_of_ir_measures() {
        for (name, printed) in [
            ("α_nDCG@20", "alpha_nDCG@20"),
            ("alpha_nDCG(alpha=0.5,rel=1)@20", "alpha_nDCG@20"),
            ("NRBP(beta=0.8,alpha=0.2)", "NRBP(alpha=0.2,beta=0.8)"),
            ("MAP_IA(rel=2)", "AP_IA(rel=2)"),
        ] {
            let parsed: Measure = name.parse().unwrap();
            assert_eq!(parsed.to_string(), printed);
        }
        for (name, why) in [
            ("ERR_IA", "it needs a cutoff, as in ERR_IA@20"),
            ("NRBP@5", "it takes no cutoff"),
            ("alpha_nDCG(alpha=2)@5", "alpha=2: must be from 0 to 1"),
            ("NRBP(beta=1)", "beta=1: must be between 0 and 1"),
            ("ERR_IA(alpha=0.2)@5", "it takes no alpha=0.2"),
            ("ERR_IA@1001", "its cutoff can be at most 1000"),
        ] {
            let error = name.parse::<Measure>().unwrap_err().to_string();
            assert!(error.ends_with(why), "{error}");
        }
    }

    #[test]
    fn judgements_without_subtopics_have_no_diversity() {
        let (judgements, _) = qrels::read("1 0 d1 1\n2 1 d1 1\n");
        let measure: Measure = "StRecall@5".parse().unwrap();
        evaluate("1 Q0 d1 1 1 t\n", &judgements, &[measure]).unwrap_err();
    }
}
