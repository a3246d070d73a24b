//! An answer as text for a terminal.

use std::fmt::{self, Display, Formatter};

use riposte_eval::{Stance, escaped};

use super::{About, Answer, Argument, Image, Side, Text, Undecided};
use crate::score::presence::{LESS_LIKELY, Presence, nothing};
use crate::task::labelled;

/// The width of the text in characters.
const WIDTH: usize = 80;

/// What the stance of an argument is.
const STANCE: &str = "stance: P(pro) - P(con), from -1 (against the claim) to 1 (for the claim)";

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        writeln!(f, "{}", escaped(&self.question))?;
        if let Some(presence) = self.presence.filter(Presence::is_nothing) {
            writeln!(f, "\n{}", wrapped("", &nothing(&presence)))?;
        }
        for side in &self.sides {
            write!(f, "\n{side}")?;
        }
        if let Some(undecided) = &self.undecided {
            write!(f, "{undecided}")?;
        }
        if self.sides.iter().any(|side| side.arguments.is_some()) {
            writeln!(f, "\n{STANCE}")?;
        }
        if let Some(texts) = &self.texts {
            if let Some([first, second]) = &self.objects {
                writeln!(f, "first: {}, second: {}", escaped(first), escaped(second))?;
            }
            if texts.is_empty() {
                writeln!(f, "\n  no document has a word of the question")?;
            }
            texts.iter().try_for_each(|text| {
                text.about.write_divider(f)?;
                write!(f, "\n{text}")
            })?;
        }
        Ok(())
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let (name, answer) = match self.side {
            Stance::Pro => ("FOR", "yes"),
            Stance::Con => ("AGAINST", "no"),
        };
        match self.claim.as_str() {
            "" => writeln!(f, "{name}")?,
            claim => writeln!(f, "{name} - {answer}, {}", escaped(claim))?,
        }
        let images = self.images.as_deref();
        if let Some(arguments) = &self.arguments
            && arguments.is_empty()
        {
            writeln!(f, "\n  no argument takes this side")?;
        }
        let arguments = self.arguments.as_deref().unwrap_or_default();
        write_arguments(arguments, images.unwrap_or_default(), Some(self.side), f)?;
        let Some(all) = images else {
            return Ok(());
        };
        let is_shown = |image: &Image| {
            let mut ids = arguments.iter().map(|argument| &argument.id);
            ids.any(|id| image.argument.as_ref() == Some(id))
        };
        let others: Vec<&Image> = all.iter().filter(|image| !is_shown(image)).collect();
        if all.is_empty() {
            writeln!(f, "\n  no image takes this side")?;
        } else if self.arguments.is_some() && !others.is_empty() {
            // with -n, an image can illustrate an argument that is not shown
            if others.iter().any(|image| image.argument.is_some()) {
                writeln!(f, "\n  Other images:")?;
            } else {
                writeln!(f, "\n  Images that are like none of these arguments:")?;
            }
        }
        others.into_iter().try_for_each(|image| {
            image.about.write_divider(f)?;
            writeln!(f)?;
            image.write(Some(self.side), f)
        })
    }
}

/// Writes arguments, each with the images that illustrate it.
fn write_arguments(
    arguments: &[Argument],
    images: &[Image],
    side: Option<Stance>,
    f: &mut Formatter,
) -> fmt::Result {
    for (number, argument) in (1..).zip(arguments) {
        let label = format!("{number:>2}. ");
        argument.about.write_divider(f)?;
        writeln!(f, "\n{}", wrapped(&label, &argument.text))?;
        argument.write_facts(f)?;
        let of_argument = |image: &&Image| image.argument.as_ref() == Some(&argument.id);
        let mut images = images.iter().filter(of_argument);
        images.try_for_each(|image| image.write(side, f))?;
    }
    Ok(())
}

impl Display for Undecided {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let arguments = self.arguments.as_deref().unwrap_or_default();
        let images = self.images.as_deref().unwrap_or_default();
        if arguments.is_empty() && images.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nUNDECIDED - what takes no clear side")?;
        write_arguments(arguments, &[], None, f)?;
        images.iter().try_for_each(|image| {
            image.about.write_divider(f)?;
            writeln!(f)?;
            image.write(None, f)
        })?;
        match self.more_arguments {
            None | Some(0) => Ok(()),
            Some(1) => writeln!(f, "\n1 more argument takes no clear side."),
            Some(count) => writeln!(f, "\n{count} more arguments take no clear side."),
        }
    }
}

impl Argument {
    fn write_facts(&self, f: &mut Formatter) -> fmt::Result {
        let (id, rank) = (escaped(&self.id), self.rank);
        let (score, stance) = (self.score, self.stance);
        write!(
            f,
            "    {id}  rank {rank}, score {score:.3}, stance {stance:+.2}"
        )?;
        match self.repeats.len() {
            0 => writeln!(f),
            count => writeln!(f, ", {count} nearly the same"),
        }
    }
}

impl Image {
    /// Writes the image below this side. Its rank is that in the list of the side; if it is in another list, that is named.
    fn write(&self, side: Option<Stance>, f: &mut Formatter) -> fmt::Result {
        let (rank, id, score) = (self.rank, escaped(&self.id), self.score);
        match side == Some(self.list) {
            true => write!(f, "    [{rank:>2}] {id}  score {score:.3}")?,
            false => write!(f, "    [{} {rank:>2}] {id}  score {score:.3}", self.list)?,
        }
        if let (Some(pro), Some(con)) = (self.pro, self.con) {
            write!(f, ", P(pro) {pro:.2}, P(con) {con:.2}")?;
        }
        match self.likeness {
            Some(likeness) => writeln!(f, ", likeness {likeness:.2}")?,
            None => writeln!(f)?,
        }
        if !self.words.is_empty() {
            let place = self.place.as_deref().unwrap_or_default();
            let words = self.words.trim_matches(['"', '“', '”', '„']);
            let said = format!("\"{words}\" ({place})");
            writeln!(f, "{}", wrapped("         ", &said))?;
        }
        for place in [&self.file, &self.page].into_iter().flatten() {
            if !place.is_empty() {
                writeln!(f, "         {}", escaped(place))?;
            }
        }
        Ok(())
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let text = match self.text.as_str() {
            "" => "(no sentence of it can be shown)",
            text => text,
        };
        writeln!(f, "{}", wrapped(&format!("{:>2}. ", self.rank), text))?;
        write!(f, "    {}  score {:.3}", escaped(&self.id), self.score)?;
        match self.stance {
            Some(stance) => writeln!(f, ", {stance}")?,
            None => writeln!(f)?,
        }
        match self.url.as_deref() {
            None | Some("") => Ok(()),
            Some(url) => writeln!(f, "    {}", escaped(url)),
        }
    }
}

impl About {
    /// Above the first document that is less likely to be about the question, a line that says so.
    fn write_divider(self, f: &mut Formatter) -> fmt::Result {
        match self.begins_padding {
            true => writeln!(f, "\n  - - {LESS_LIKELY} - -"),
            false => Ok(()),
        }
    }
}

/// A text in lines of at most [`WIDTH`] characters. The first begins with `label`.
fn wrapped(label: &str, text: &str) -> String {
    labelled(label, &escaped(text).to_string(), WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wrapping_keeps_all_words_in_narrow_lines(words in prop::collection::vec("[a-zé.]{1,70}", 0..40)) {
            let text = labelled(" 1. ", &words.join(" "), 80);
            let again: Vec<&str> = text.split_whitespace().skip(1).collect();
            prop_assert_eq!(again, words);
            for line in text.lines() {
                prop_assert!(line.chars().count() <= 80);
            }
        }
    }
}
