//! What CLIP is asked: all prompts, and how the vectors of a group of prompts become one.
//!
//! A group says one thing in several wordings; the mean of their vectors is steadier than any of them (Radford et al.
//! 2021, section 3.1.4). "{} good" and "{} anti" come first among the stances: image-search queries that ended so are the
//! strongest published baseline of the image task (Minsc), and CLIP prompts of that form the best published CLIP stance.

/// For what a group of prompts speaks when an image is like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The image is about the topic.
    Topic,
    /// The image supports the topic's claim.
    Pro,
    /// The image opposes it.
    Con,
    /// The image argues: it makes a statement, whatever it is about.
    Argumentative,
    /// The image merely illustrates or decorates.
    Illustrative,
}

/// Several wordings of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub role: Role,
    /// Names the group in explanations ("pro", "protest sign"); unique among all groups.
    pub name: &'static str,
    pub prompts: Vec<String>,
}

const TOPIC: &[&str] = &[
    "{}",
    "a photo about {}",
    "a poster about {}",
    "a cartoon about {}",
    "an infographic about {}",
    "a meme about {}",
    "a news picture about {}",
];

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

/// For a claim in whole sentences, where the topic has one for a side.
const CLAIM: &[&str] = &[
    "{}",
    "a sign that says: {}",
    "a poster with the message: {}",
    "a chart showing that {}",
    "an image arguing that {}",
];

/// Kinds of pictures, whatever they are about: (role, name, wordings).
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

/// The topic's own groups: [`Role::Topic`], [`Role::Pro`] and [`Role::Con`], in this order.
///
/// `title` as the topics file has it; a question mark at its end is dropped, so that the title can stand inside a
/// sentence. A claim of a side, where the topic has one, adds its wordings to that side's group.
pub fn topic_groups(title: &str, pro: Option<&str>, con: Option<&str>) -> Vec<Group> {
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

/// The kinds of pictures: [`Role::Argumentative`] groups, then [`Role::Illustrative`] ones. The same for all topics.
pub fn kind_groups() -> Vec<Group> {
    KINDS
        .iter()
        .map(|&(role, name, prompts)| Group {
            role,
            name,
            prompts: prompts.iter().map(|&prompt| prompt.to_owned()).collect(),
        })
        .collect()
}

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
