//! Is a run valid, and how good is it? Uses the field's words (`trec`) alone, so that the judge
//! shares no bug with the player.

pub mod evaluate;
pub mod verify;

/// A year of the image task; its rules and judgements differ a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// Topics 1–50, image ids of 16 hexadecimal digits, grades 0 and 1.
    Touche2022,
    /// Topics 51–100, image ids of 24 (16 in the sample), every grade from 1 on counts.
    Touche2023,
}

impl Edition {
    /// Whether a grade means yes.
    pub fn counts(self, grade: Option<i32>) -> bool {
        grade.is_some_and(|grade| match self {
            Edition::Touche2022 => grade == 1,
            Edition::Touche2023 => grade >= 1,
        })
    }
}
