//! Recognises the task and the year of a run from its lines.

use crate::trec::run::{is_json, read_answer};
use crate::trec::{ObjectStance, TextTask};

/// The last topic of the first year of a task. The topics of the second year have the numbers after it.
const LAST_OF_FIRST: u32 = 50;

/// The number of images for an argument in 2025; 2024 allowed more.
const DEPTH_OF_2025: u32 = 5;

/// The task and the year of the lab that a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `None` for images.
    pub task: Option<TextTask>,
    pub edition: u32,
}

impl Kind {
    /// Decides by the majority of lines, from their second fields and the form of the documents' ids. A run of which no line can be read counts as an
    /// image run.
    pub fn of_run(run: &[u8]) -> Kind {
        let text = String::from_utf8_lossy(run);
        if is_json(&text) {
            return Kind::of_answers(&text);
        }
        let (mut images, mut arguments, mut passages, mut others) = (0, 0, 0, 0);
        let (mut early, mut late, mut has_stances) = (0, 0, false);
        for line in text.lines() {
            let mut fields = line.split_whitespace();
            let (Some(topic), Some(second), Some(id)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if is_argument(id) {
                arguments += 1;
            } else if matches!(second, "PRO" | "CON") || is_image(id) {
                images += 1;
            } else if ObjectStance::parse(second).is_some() {
                passages += 1;
                has_stances = true;
            } else if id.starts_with("clueweb") {
                passages += 1;
            } else if second == "Q0" {
                others += 1;
            } else {
                continue;
            }
            match topic.parse::<u32>() {
                Ok(topic) if topic > LAST_OF_FIRST => late += 1,
                _ => early += 1,
            }
        }
        // a passage without a stance has Q0, like any other document
        if passages > 0 {
            passages += std::mem::take(&mut others);
        }
        let counted = [
            (others, Some(TextTask::Rank)),
            (passages, Some(TextTask::Comparative)),
            (arguments, Some(TextTask::Controversial)),
            (images, None),
        ];
        let most = counted.into_iter().max_by_key(|(count, _)| *count);
        let task = most.and_then(|(_, task)| task);
        let edition = match task {
            None if late > early => 2023,
            // 2022 has topics of both earlier years, and stances
            Some(TextTask::Comparative) if early == 0 && !has_stances => 2021,
            _ => 2022,
        };
        Kind { task, edition }
    }

    fn of_answers(text: &str) -> Kind {
        let ranks = text
            .lines()
            .filter_map(|line| Some(read_answer(line).ok()?.rank));
        Kind {
            task: None,
            edition: match ranks.max() {
                Some(rank) if rank > DEPTH_OF_2025 => 2024,
                _ => 2025,
            },
        }
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether an id has the form of an image's id: I and 16 or 24 hexadecimal digits.
fn is_image(id: &str) -> bool {
    let digits = id.strip_prefix('I');
    digits.is_some_and(|digits| digits.len() >= 16 && is_hexadecimal(digits))
}

/// Whether an id has the form of those in args.me: of an argument (`S96f2396e-Aaf079b43`, in version 1 `10113b57-2019-04-18T18:28:52Z-00001-000`), or
/// of sentences in an argument, as runs of 2022 name them (`S96f2396e-Aaf079b43__PREMISE__1,…`).
fn is_argument(id: &str) -> bool {
    let first = id.split("__").next().unwrap_or(id);
    let Some((debate, argument)) = first.split_once('-') else {
        return false;
    };
    let hash = |text: &str, letter| {
        text.strip_prefix(letter)
            .is_some_and(|digits| digits.len() == 8 && is_hexadecimal(digits))
    };
    let is_dated = || argument.get(..2) == Some("20") && argument.contains("Z-");
    hash(debate, 'S') && hash(argument, 'A')
        || debate.len() == 8 && is_hexadecimal(debate) && is_dated()
}
