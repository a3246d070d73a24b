//! Words that pictures and pages share: sentences, and the sources, jobs and towns that they name.

/// The text with a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str()),
        None => String::new(),
    }
}

/// The text with a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut capitalised = sentence(text);
    capitalised.pop();
    capitalised
}

/// Authors and photographers. They are desks and papers, so that no invented person is quoted.
pub const SOURCES: [&str; 8] = [
    "the city desk",
    "our readers' page",
    "the weekend edition",
    "the news desk",
    "the local paper",
    "the school magazine",
    "the archive",
    "the picture desk",
];

pub const JOBS: [&str; 10] = [
    "nurse",
    "teacher",
    "shopkeeper",
    "councillor",
    "bus driver",
    "student",
    "gardener",
    "baker",
    "retired engineer",
    "vet",
];

pub const TOWNS: [&str; 10] = [
    "Altenbruck",
    "Westhaven",
    "Saint-Marel",
    "Nordby",
    "Casteldoro",
    "Riverton",
    "Lindau Bay",
    "Oakminster",
    "Vellmar",
    "Kestrel Falls",
];
