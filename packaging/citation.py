#!/usr/bin/env python3
"""Copies the version and the address of the repository from Cargo.toml to CITATION.cff, and makes packaging/codemeta.json from CITATION.cff.

    make -C packaging citation          # in the repository
    python3 packaging/citation.py DIR   # writes both files to DIR

It needs Python 3.11 and ruamel.yaml, which cffconvert brings (tests/peers.txt). cffconvert also makes codemeta.json, but it takes every author for a
person, and joins two licences to an address that does not exist.
"""
import json, pathlib, re, sys, tomllib

from ruamel.yaml import YAML

ROOT = pathlib.Path(__file__).resolve().parent.parent


def author(cited):
    """A person of CITATION.cff has a family name or given names, and an entity has a name."""
    if "name" in cited:
        return {"@type": "Organization", "name": cited["name"]}
    names = {"givenName": "given-names", "familyName": "family-names", "@id": "orcid"}
    return {"@type": "Person"} | {ours: cited[theirs] for ours, theirs in names.items() if theirs in cited}


def main(target):
    package = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for key, value in (("version", package["version"]), ("repository-code", package["repository"])):
        citation, lines = re.subn(rf"^{key}: .*$", f"{key}: {value}", citation, flags=re.MULTILINE)
        if lines != 1:
            sys.exit(f"CITATION.cff has {lines} lines with {key}: there must be one")
    cited = YAML(typ="safe").load(citation)
    made = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": cited["title"],
        "description": cited["abstract"],
        "author": [author(one) for one in cited["authors"]],
        "version": str(cited["version"]),
        "license": [f"https://spdx.org/licenses/{licence}" for licence in cited["license"]],
        "codeRepository": cited["repository-code"],
        "keywords": list(cited["keywords"]),
        "programmingLanguage": "Rust",
    }
    (target / "CITATION.cff").write_text(citation, encoding="utf-8")
    (target / "packaging").mkdir(exist_ok=True)
    (target / "packaging/codemeta.json").write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
