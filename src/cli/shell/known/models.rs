//! The names of models, also of those that the user has added, and of the channels of evidence.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::Values;
use riposte::recipes::channels::CHANNELS;
use riposte::weights::Models;

pub(super) fn values() -> Result<Vec<Values>> {
    // a script without the names of added models is better than none
    let models = Models::at(None).or_else(|_| Models::at(Some(Path::new(""))))?;
    let entries = models.catalogue().entries();
    let all: BTreeSet<String> = entries.iter().map(|of| of.name.clone()).collect();
    let names = entries
        .iter()
        .flat_map(|of| [of.name.clone(), of.role.to_string()]);
    let with_role = |arg, role: &str| Values {
        command: None,
        arg,
        values: (entries.iter())
            .filter(|of| of.role.word() == role)
            .map(|of| of.name.clone())
            .collect(),
    };
    let channels: BTreeSet<String> = CHANNELS.iter().map(|c| c.name().to_owned()).collect();
    Ok(vec![
        Values {
            command: Some("fetch"),
            arg: "names",
            values: names.chain(["all".to_owned()]).collect(),
        },
        Values {
            command: Some("remove"),
            arg: "removed",
            values: all,
        },
        with_role("ocr", "ocr"),
        with_role("clip", "clip"),
        with_role("image_text", "clip"),
        with_role("sentence", "sentence"),
        with_role("cross", "cross"),
        Values {
            command: None,
            arg: "require",
            values: channels,
        },
    ])
}
