//! Small random models, installed as if they were those of the catalogue.

use std::fs;
use std::path::Path;

use riposte::weights::{ModelCatalogue, Models};

use super::{files, reference};

/// Two CLIP models of the catalogue whose files have no fixed checksums, so that small ones can take their places: tiny-clip is the first, tiny-clip-gelu
/// the second.
pub const CLIPS: [&str; 2] = ["clip-vit-base-patch32", "clip-vit-base-patch16"];

/// Installs two small CLIP models in a new models directory, for the program.
pub fn install_small_clips(models: &Path) {
    for (name, from) in CLIPS.into_iter().zip(["tiny-clip", "tiny-clip-gelu"]) {
        files::copy(&reference(from), &models.join(name));
    }
    // the catalogue lists this file; without values, those of the first CLIP count, as without the file
    let preprocessing = models.join(CLIPS[1]).join("preprocessor_config.json");
    fs::write(preprocessing, "{}").unwrap();
}

/// Installs a small CLIP model and a small sentence encoder, with a catalogue of their own.
pub fn small_models(dir: &Path) -> Models {
    let mut catalogue = String::new();
    for (name, role) in [("tiny-clip", "clip"), ("tiny-sentence", "sentence")] {
        files::copy(&reference(name), &dir.join(name));
        catalogue.push_str(&format!(
            "[[model]]\nname = \"{name}\"\nrole = \"{role}\"\ndefault = true\ngives = \"g\"\nlicence = \"l\"\npaper = \"p\"\nsize = \"1 B\"\n"
        ));
        for file in files::entries(&dir.join(name)) {
            let file = files::name(&file);
            catalogue.push_str(&format!(
                "[[model.file]]\nfile = \"{file}\"\nsource = [{{ url = \"https://example.org/{file}\" }}]\n"
            ));
        }
    }
    Models::with_catalogue(dir, ModelCatalogue::parse(&catalogue).unwrap())
}
