//! An answer as text for a terminal.

use std::fmt::{self, Display, Formatter};

use riposte_eval::{Stance, escaped};

use super::{About, Answer, Argument, Image, Side, Text, Undecided, padding_begins};
use crate::presence::{LESS_LIKELY, Presence};
use crate::words::labelled;

/// The width of the text in characters, if none is given (`{answer:width$}`).
const WIDTH: usize = 80;

/// How an answer is shown.
#[derive(Clone, Copy)]
struct Look {
    width: usize,
    /// Whether headings and facts are set off by the terminal's styles (`{answer:#}`).
    has_colours: bool,
}

impl Look {
    fn heading(self, text: &str) -> String {
        self.styled("1", text)
    }

    /// What is beside the words that a person reads: ids, scores and places.
    fn beside(self, text: &str) -> String {
        self.styled("2", text)
    }

    fn styled(self, code: &str, text: &str) -> String {
        match self.has_colours {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    /// A text in lines of at most this width. The first begins with `label`.
    fn wrapped(self, label: &str, text: &str) -> String {
        labelled(label, &escaped(text).to_string(), self.width)
    }
}

/// What the stance of an argument is.
const STANCE: &str = "stance: P(pro) - P(con), from -1 (against the claim) to 1 (for the claim)";

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let look = Look {
            width: f.width().unwrap_or(WIDTH),
            has_colours: f.alternate(),
        };
        let question = look.wrapped("", &self.question);
        writeln!(f, "{}", look.heading(&question))?;
        if let Some(presence) = self.presence.filter(Presence::is_nothing) {
            writeln!(f, "\n{}", look.wrapped("", &presence.nothing()))?;
        }
        for side in &self.sides {
            side.write(look, f)?;
        }
        if let Some(undecided) = &self.undecided {
            undecided.write(look, f)?;
        }
        if self.sides.iter().any(|side| side.arguments.is_some()) {
            writeln!(f, "\n{}", look.wrapped("", STANCE))?;
        }
        if let Some(texts) = &self.texts {
            if let Some([first, second]) = &self.objects {
                writeln!(f, "first: {}, second: {}", escaped(first), escaped(second))?;
            }
            if texts.is_empty() {
                writeln!(f, "\n  no document has a word of the question")?;
            }
            let abouts = texts.iter().map(|text| &text.about);
            divided(texts, abouts, f, |text, f| text.write(look, f))?;
        }
        Ok(())
    }
}

impl Side {
    fn write(&self, look: Look, f: &mut Formatter) -> fmt::Result {
        let (name, answer) = match self.side {
            Stance::Pro => ("FOR", "yes"),
            Stance::Con => ("AGAINST", "no"),
        };
        let heading = match self.claim.as_str() {
            "" => name.to_owned(),
            claim => look.wrapped("", &format!("{name} - {answer}, {claim}")),
        };
        writeln!(f, "\n{}", look.heading(&heading))?;
        let images = self.images.as_deref();
        if let Some(arguments) = &self.arguments
            && arguments.is_empty()
        {
            writeln!(f, "\n  no argument takes this side")?;
        }
        let arguments = self.arguments.as_deref().unwrap_or_default();
        write_arguments(
            arguments,
            images.unwrap_or_default(),
            Some(self.side),
            look,
            f,
        )?;
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
        let abouts = others.iter().map(|image| &image.about);
        divided(&others, abouts, f, |image, f| {
            writeln!(f)?;
            image.write(Some(self.side), look, f)
        })
    }
}

/// Writes arguments, each with the images that illustrate it.
fn write_arguments(
    arguments: &[Argument],
    images: &[Image],
    side: Option<Stance>,
    look: Look,
    f: &mut Formatter,
) -> fmt::Result {
    let mut numbers = 1..;
    let abouts = arguments.iter().map(|argument| &argument.about);
    divided(arguments, abouts, f, |argument, f| {
        let label = format!("{:>2}. ", numbers.next().unwrap_or_default());
        writeln!(f, "\n{}", look.wrapped(&label, &argument.text))?;
        argument.write_facts(look, f)?;
        let of_argument = |image: &&Image| image.argument.as_ref() == Some(&argument.id);
        let mut images = images.iter().filter(of_argument);
        images.try_for_each(|image| image.write(side, look, f))
    })
}

impl Undecided {
    fn write(&self, look: Look, f: &mut Formatter) -> fmt::Result {
        let arguments = self.arguments.as_deref().unwrap_or_default();
        let images = self.images.as_deref().unwrap_or_default();
        if arguments.is_empty() && images.is_empty() {
            return Ok(());
        }
        let heading = look.heading("UNDECIDED - what takes no clear side");
        writeln!(f, "\n{heading}")?;
        write_arguments(arguments, &[], None, look, f)?;
        let abouts = images.iter().map(|image| &image.about);
        divided(images, abouts, f, |image, f| {
            writeln!(f)?;
            image.write(None, look, f)
        })?;
        match self.more_arguments {
            None | Some(0) => Ok(()),
            Some(1) => writeln!(f, "\n1 more argument takes no clear side."),
            Some(count) => writeln!(f, "\n{count} more arguments take no clear side."),
        }
    }
}

impl Argument {
    fn write_facts(&self, look: Look, f: &mut Formatter) -> fmt::Result {
        let (id, rank) = (escaped(&self.id), self.rank);
        let (score, stance) = (self.score, self.stance);
        let mut facts = format!("    {id}  rank {rank}, score {score:.3}, stance {stance:+.2}");
        if !self.repeats.is_empty() {
            facts += &format!(", {} nearly the same", self.repeats.len());
        }
        writeln!(f, "{}", look.beside(&facts))
    }
}

impl Image {
    /// Writes the image below this side. Its rank is that in the list of the side; if it is in another list, that is named.
    fn write(&self, side: Option<Stance>, look: Look, f: &mut Formatter) -> fmt::Result {
        let (rank, id, score) = (self.rank, escaped(&self.id), self.score);
        let mut facts = match side == Some(self.list) {
            true => format!("    [{rank:>2}] {id}  score {score:.3}"),
            false => format!("    [{} {rank:>2}] {id}  score {score:.3}", self.list),
        };
        if let (Some(pro), Some(con)) = (self.pro, self.con) {
            facts += &format!(", P(pro) {pro:.2}, P(con) {con:.2}");
        }
        if let Some(likeness) = self.likeness {
            facts += &format!(", likeness {likeness:.2}");
        }
        writeln!(f, "{}", look.beside(&facts))?;
        if !self.words.is_empty() {
            let place = self.place.as_deref().unwrap_or_default();
            let said = format!("\"{}\" ({place})", self.words);
            writeln!(f, "{}", look.wrapped("         ", &said))?;
        }
        for place in [&self.file, &self.page].into_iter().flatten() {
            if !place.is_empty() {
                writeln!(f, "         {}", look.beside(&escaped(place).to_string()))?;
            }
        }
        Ok(())
    }
}

impl Text {
    fn write(&self, look: Look, f: &mut Formatter) -> fmt::Result {
        let text = match self.text.as_str() {
            "" => "(no sentence of it can be shown)",
            text => text,
        };
        let label = format!("{:>2}. ", self.rank);
        writeln!(f, "\n{}", look.wrapped(&label, text))?;
        let mut facts = format!("    {}  score {:.3}", escaped(&self.id), self.score);
        if let Some(stance) = &self.stance {
            facts += &format!(", {stance}");
        }
        writeln!(f, "{}", look.beside(&facts))?;
        match self.url.as_deref() {
            None | Some("") => Ok(()),
            Some(url) => writeln!(f, "    {}", look.beside(&escaped(url).to_string())),
        }
    }
}

/// Writes a list, with a line above the first document that is less likely to be about the question.
fn divided<'a, T>(
    list: &[T],
    abouts: impl ExactSizeIterator<Item = &'a About> + DoubleEndedIterator,
    f: &mut Formatter,
    mut write: impl FnMut(&T, &mut Formatter) -> fmt::Result,
) -> fmt::Result {
    let begins = padding_begins(abouts);
    list.iter().enumerate().try_for_each(|(at, one)| {
        if begins == Some(at) {
            writeln!(f, "\n  - - {LESS_LIKELY} - -")?;
        }
        write(one, f)
    })
}
