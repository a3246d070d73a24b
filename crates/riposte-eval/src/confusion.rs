//! Confusion matrices of stances (Task 2).

use std::fmt;

use crate::ObjectStance;
use crate::measure::StanceKind;

/// A confusion matrix: how many results of a judged stance (row) have which stance in the run (column), in the order of
/// [`ObjectStance::ALL`]. The last column counts results whose line has no stance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion(pub [[u32; 5]; 4]);

impl Confusion {
    pub(crate) fn count(&mut self, judged: ObjectStance, listed: Option<ObjectStance>) {
        self.0[judged as usize][listed.map_or(4, |stance| stance as usize)] += 1;
    }

    /// The sum of two matrices.
    pub fn and(mut self, other: &Confusion) -> Confusion {
        for (row, others) in self.0.iter_mut().zip(&other.0) {
            for (count, other) in row.iter_mut().zip(others) {
                *count += other;
            }
        }
        self
    }

    /// The number of judged results.
    pub fn results(&self) -> u32 {
        self.0.iter().flatten().sum()
    }

    /// Precision, recall or F1 of a class, or the mean over the four classes. A quotient with the denominator 0 counts as 0, so a class without a
    /// correct result counts as 0, even if no passage has it.
    pub fn measure(&self, kind: StanceKind, class: Option<ObjectStance>) -> f64 {
        let Some(class) = class else {
            let of_each = ObjectStance::ALL.map(|class| self.measure(kind, Some(class)));
            return of_each.iter().sum::<f64>() / of_each.len() as f64;
        };
        let at = class as usize;
        let right = f64::from(self.0[at][at]);
        let judged = f64::from(self.0[at].iter().sum::<u32>());
        let listed = f64::from(self.0.iter().map(|row| row[at]).sum::<u32>());
        let (part, whole) = match kind {
            StanceKind::Precision => (right, listed),
            StanceKind::Recall => (right, judged),
            StanceKind::F1 => (2.0 * right, judged + listed),
        };
        if whole > 0.0 { part / whole } else { 0.0 }
    }
}

impl fmt::Display for Confusion {
    /// The matrix, followed by precision, recall and F1 of each class.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use StanceKind as K;
        let measures =
            |class| [K::Precision, K::Recall, K::F1].map(|kind| self.measure(kind, class));
        write!(f, "{:<16}", "judged \\ listed")?;
        for column in ["FIRST", "SECOND", "NEUTRAL", "NO", "none"] {
            write!(f, "{column:>8}")?;
        }
        writeln!(f, "  precision  recall     F1")?;
        for (class, row) in ObjectStance::ALL.into_iter().zip(&self.0) {
            write!(f, "{:<16}", class.word())?;
            for count in row {
                write!(f, "{count:>8}")?;
            }
            let [precision, recall, f1] = measures(Some(class));
            writeln!(f, "  {precision:>9.3}  {recall:>6.3}  {f1:.3}")?;
        }
        let [precision, recall, f1] = measures(None);
        writeln!(
            f,
            "{:<56}  {precision:>9.3}  {recall:>6.3}  {f1:.3}",
            format!("mean of the four, {} judged results", self.results())
        )
    }
}
