//! The prompts for CLIP, in groups.
//!
//! A group says one thing in several wordings. The mean of their vectors is more reliable than any one of them (Radford et al. 2021,
//! <https://arxiv.org/abs/2103.00020>, section 3.1.4). "{} good" and "{} anti" are the first prompts of the two sides: image-search queries with
//! these words are the strongest published baseline of the image task (Minsc), and CLIP prompts of this form give the best published stance by CLIP.

/// What similarity to the prompts of a group says about an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptRole {
    /// The image is about the topic.
    Topic,
    /// The image supports the topic's claim.
    Pro,
    /// The image opposes it.
    Con,
    /// The image argues: it makes a statement, for any topic.
    Argumentative,
    /// The image only illustrates or decorates.
    Illustrative,
}

/// Several prompts that say the same thing in different words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptGroup {
    pub role: PromptRole,
    /// The name of the group in explanations ("pro", "protest sign"); unique among all groups.
    pub name: &'static str,
    pub prompts: Vec<String>,
}

/// The prompts, one a line: the role, the name of the group, and the prompt. In the templates of a topic, `{}` is replaced by the title. The templates
/// with the role "claim" belong to a side for which the topic states a claim; there, `{}` is replaced by the claim.
const PROMPTS: &str = include_str!("prompts.tsv");

fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    PROMPTS.lines().filter_map(|line| {
        let (role, rest) = line.split_once('\t')?;
        let (name, prompt) = rest.split_once('\t')?;
        Some((role, name, prompt))
    })
}

/// The prompts of a group, with `{}` replaced.
fn fill(group: &str, words: &str) -> Vec<String> {
    let of_group = rows().filter(|(_, name, _)| *name == group);
    let filled = of_group.map(|(_, _, template)| template.replace("{}", words));
    filled.collect()
}

/// The groups of one topic: [`PromptRole::Topic`], [`PromptRole::Pro`] and [`PromptRole::Con`], in this order.
///
/// A question mark at the end of `title` is dropped so that the title can be used inside a sentence. If the topic states the claim of a
/// side (`pro`, `con`), that side's group has prompts for it too.
pub(crate) fn topic_groups(title: &str, pro: Option<&str>, con: Option<&str>) -> Vec<PromptGroup> {
    let title = title.trim().trim_end_matches(['?', ' ']);
    let side = |role, name, claim: Option<&str>| {
        let mut prompts = fill(name, title);
        let claim = claim.map(|claim| claim.trim().trim_end_matches('.'));
        if let Some(claim) = claim.filter(|claim| !claim.is_empty()) {
            prompts.extend(fill("claim", claim));
        }
        PromptGroup {
            role,
            name,
            prompts,
        }
    };
    vec![
        side(PromptRole::Topic, "topic", None),
        side(PromptRole::Pro, "pro", pro),
        side(PromptRole::Con, "con", con),
    ]
}

/// The prompts about what an image should convey. The first prompt is `conveyed` itself; without `all`, it is the only one.
pub(crate) fn about(conveyed: &str, all: bool) -> PromptGroup {
    let mut prompts = fill("topic", conveyed.trim());
    if !all {
        prompts.truncate(1);
    }
    PromptGroup {
        role: PromptRole::Topic,
        name: "topic",
        prompts,
    }
}

/// The groups for kinds of pictures, first those of [`PromptRole::Argumentative`], then those of [`PromptRole::Illustrative`]. They are the same for
/// all topics.
pub(crate) fn kind_groups() -> Vec<PromptGroup> {
    let mut groups: Vec<PromptGroup> = Vec::new();
    for (role, name, _) in rows() {
        let role = match role {
            "argumentative" => PromptRole::Argumentative,
            "illustrative" => PromptRole::Illustrative,
            _ => continue,
        };
        if groups.last().is_none_or(|last| last.name != name) {
            let prompts = fill(name, "");
            groups.push(PromptGroup {
                role,
                name,
                prompts,
            });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_stands_inside_the_prompts_without_its_question_mark() {
        let groups = topic_groups(
            "Should teachers get tenure? ",
            Some("Tenure protects teachers."),
            None,
        );
        let roles: Vec<PromptRole> = groups.iter().map(|group| group.role).collect();
        assert_eq!(roles, [PromptRole::Topic, PromptRole::Pro, PromptRole::Con]);
        assert_eq!(groups[0].prompts[0], "Should teachers get tenure");
        assert_eq!(groups[1].prompts[0], "Should teachers get tenure good");
        assert_eq!(groups[2].prompts[0], "Should teachers get tenure anti");
        assert!(
            groups[1]
                .prompts
                .contains(&"a sign that says: Tenure protects teachers".to_owned())
        );
        assert_eq!(
            groups[1].prompts.len(),
            groups[2].prompts.len() + fill("claim", "").len()
        );
    }

    #[test]
    fn every_group_has_its_own_name_and_filled_prompts() {
        let groups = [topic_groups("x", Some("y"), Some("z")), kind_groups()].concat();
        let mut names: Vec<&str> = groups.iter().map(|group| group.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), groups.len());
        let prompts = groups.iter().flat_map(|group| &group.prompts);
        assert!(
            prompts
                .clone()
                .all(|prompt| !prompt.contains("{}") && !prompt.is_empty())
        );
        for role in [PromptRole::Argumentative, PromptRole::Illustrative] {
            assert!(groups.iter().filter(|group| group.role == role).count() >= 4);
        }
    }
}
