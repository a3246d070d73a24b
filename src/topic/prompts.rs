//! The prompts for CLIP, in groups.
//!
//! A group says one thing in several wordings. The mean of their vectors is more reliable than any one of them (Radford et al. 2021,
//! <https://arxiv.org/abs/2103.00020>, section 3.1.4). "{} good" and "{} anti" are the first prompts of the two sides: image-search queries with
//! these words are the strongest published baseline of the image task (Minsc), and CLIP prompts of this form give the best published stance by CLIP.

/// What similarity to the prompts of a group says about an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
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
pub(crate) struct Group {
    pub role: Role,
    /// The name of the group in explanations ("pro", "protest sign"); unique among all groups.
    pub name: &'static str,
    pub prompts: Vec<String>,
}

/// Templates of [`Role::Topic`]; `{}` is replaced by the title.
const TOPIC: &[&str] = &[
    "{}",
    "a photo about {}",
    "a poster about {}",
    "a cartoon about {}",
    "an infographic about {}",
    "a meme about {}",
    "a news picture about {}",
];

/// Templates of [`Role::Pro`]; `{}` is replaced by the title.
const PRO: &[&str] = &[
    "{} good",
    "{} pro",
    "yes to {}",
    "a sign supporting {}",
    "a poster in favor of {}",
    "people demonstrating for {}",
    "a cartoon praising {}",
    "the benefits of {}",
];

/// Templates of [`Role::Con`]; `{}` is replaced by the title.
const CON: &[&str] = &[
    "{} anti",
    "{} bad",
    "no to {}",
    "a sign against {}",
    "a poster opposing {}",
    "people demonstrating against {}",
    "a cartoon criticizing {}",
    "the dangers of {}",
];

/// More templates of a side for which the topic states a claim; `{}` is replaced by the claim.
const CLAIM: &[&str] = &[
    "{}",
    "a sign that says: {}",
    "a poster with the message: {}",
    "a chart showing that {}",
    "an image arguing that {}",
];

/// Kinds of pictures, for any topic: role, name and prompts of each group.
const KINDS: &[(Role, &str, &[&str])] = &[
    (
        Role::Argumentative,
        "protest sign",
        &[
            "a protest sign",
            "people holding signs at a demonstration",
            "a banner at a rally",
        ],
    ),
    (
        Role::Argumentative,
        "chart",
        &[
            "a bar chart with numbers",
            "a line graph of statistics",
            "a pie chart with percentages",
        ],
    ),
    (
        Role::Argumentative,
        "infographic",
        &[
            "an infographic with facts and figures",
            "a list of pros and cons",
            "a diagram with explanations",
        ],
    ),
    (
        Role::Argumentative,
        "political cartoon",
        &[
            "a political cartoon",
            "an editorial cartoon with speech bubbles",
            "a satirical drawing",
        ],
    ),
    (
        Role::Argumentative,
        "meme",
        &[
            "a meme with text",
            "an internet meme with a caption in capital letters",
            "a picture with a quote written on it",
        ],
    ),
    (
        Role::Argumentative,
        "slogan poster",
        &[
            "a poster with a slogan",
            "a campaign poster",
            "a flyer calling for action",
        ],
    ),
    (
        Role::Illustrative,
        "stock photo",
        &[
            "a stock photo",
            "a generic photo without text",
            "a staged photo of smiling people",
        ],
    ),
    (
        Role::Illustrative,
        "portrait",
        &[
            "a portrait of a person",
            "a photo of a face",
            "a headshot of a politician",
        ],
    ),
    (
        Role::Illustrative,
        "logo",
        &[
            "a logo",
            "an icon on a white background",
            "the emblem of an organization",
        ],
    ),
    (
        Role::Illustrative,
        "landscape",
        &["a landscape", "a photo of a building", "an empty street"],
    ),
    (
        Role::Illustrative,
        "object",
        &[
            "a photo of an object",
            "a product on a white background",
            "a close-up",
        ],
    ),
    (
        Role::Illustrative,
        "cover",
        &[
            "a book cover",
            "a screenshot of a web page",
            "a scanned page of a document",
        ],
    ),
];

/// The groups of one topic: [`Role::Topic`], [`Role::Pro`] and [`Role::Con`], in this order.
///
/// A question mark at the end of `title` is dropped so that the title can be used inside a sentence. If the topic states the claim of a
/// side (`pro`, `con`), that side's group has prompts for it too.
pub(crate) fn topic_groups(title: &str, pro: Option<&str>, con: Option<&str>) -> Vec<Group> {
    let title = title.trim().trim_end_matches(['?', ' ']);
    let side = |role, name, templates, claim: Option<&str>| {
        let claim = claim.map(|claim| claim.trim().trim_end_matches('.'));
        let claims = claim
            .filter(|claim| !claim.is_empty())
            .map(|claim| fill(CLAIM, claim));
        Group {
            role,
            name,
            prompts: [fill(templates, title), claims.unwrap_or_default()].concat(),
        }
    };
    vec![
        side(Role::Topic, "topic", TOPIC, None),
        side(Role::Pro, "pro", PRO, pro),
        side(Role::Con, "con", CON, con),
    ]
}

/// The prompts about what an image should convey. The first prompt is `conveyed` itself; without `all`, it is the only one.
pub(crate) fn about(conveyed: &str, all: bool) -> Group {
    let templates = if all { TOPIC } else { &TOPIC[..1] };
    Group {
        role: Role::Topic,
        name: "topic",
        prompts: fill(templates, conveyed.trim()),
    }
}

/// The groups for kinds of pictures, first those of [`Role::Argumentative`], then those of [`Role::Illustrative`]. They are the same for
/// all topics.
pub(crate) fn kind_groups() -> Vec<Group> {
    KINDS
        .iter()
        .map(|&(role, name, prompts)| Group {
            role,
            name,
            prompts: prompts.iter().map(|&prompt| prompt.to_owned()).collect(),
        })
        .collect()
}

/// The templates with `{}` replaced.
fn fill(templates: &[&str], words: &str) -> Vec<String> {
    templates
        .iter()
        .map(|template| template.replace("{}", words))
        .collect()
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
        let roles: Vec<Role> = groups.iter().map(|group| group.role).collect();
        assert_eq!(roles, [Role::Topic, Role::Pro, Role::Con]);
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
            groups[2].prompts.len() + CLAIM.len()
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
        for role in [Role::Argumentative, Role::Illustrative] {
            assert!(groups.iter().filter(|group| group.role == role).count() >= 4);
        }
    }
}
