//! Is a run valid, and how good is it? Uses the field's words (`trec`) alone, so that the judge
//! shares no bug with the player.

pub mod evaluate;
pub mod verify;
