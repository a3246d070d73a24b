//! What the fields of a run line can contain.

/// Why a text cannot be a field of a run line; `None` if it can. Fields are separated by white space.
pub fn unfit_field(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("is empty")
    } else if text.contains(char::is_whitespace) {
        Some("has a blank in it")
    } else if text.contains(char::is_control) {
        Some("has a control character in it")
    } else {
        None
    }
}
