"""Checks the files in packaging/ that name what other files decide: the recipe for conda-forge, and the versions of the tools."""

import os
import re
import subprocess
import tomllib

import pytest
import rattler_build
from conftest import REPOSITORY

CARGO = tomllib.loads((REPOSITORY / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
PROJECT = tomllib.loads((REPOSITORY / "python/pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def recipe() -> dict:
    """The recipe as rattler-build reads it, for one Python."""
    stage = rattler_build.Stage0Recipe.from_file(REPOSITORY / "packaging/conda/recipe.yaml")
    variant = rattler_build.VariantConfig({"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "python": ["3.12.*"], "rust_compiler": ["rust"]})
    (rendered,) = stage.render(variant)
    return rendered.recipe.to_dict()


def test_the_recipe_for_conda_has_the_version_the_address_and_the_licences(recipe):
    assert recipe["package"] == {"name": PROJECT["project"]["name"], "version": CARGO["version"]}
    about, (source,) = recipe["about"], recipe["source"]
    assert about["license"] == CARGO["license"] and about["repository"] == about["homepage"] == CARGO["repository"]
    assert source["url"] == f"{CARGO['repository']}/archive/refs/tags/v{CARGO['version']}.tar.gz"
    licences = set(about["license_file"]) - {"THIRDPARTY.yml"}
    assert all((REPOSITORY / file).is_file() for file in licences)
    assert {file.name for file in (REPOSITORY / "python/licenses").iterdir()} == {file.split("/")[-1] for file in licences}


def test_the_recipe_needs_what_the_package_needs(recipe):
    (maturin,) = PROJECT["build-system"]["requires"]
    needed = recipe["requirements"]
    assert f"python {PROJECT['project']['requires-python']}" in needed["run"] and maturin.replace(">", " >", 1) in needed["host"]
    assert all(extra.replace(">", " >", 1) in needed["run"] for extra in PROJECT["project"]["optional-dependencies"]["pandas"])


def test_releases_are_made_with_the_tested_versions_of_tools():
    def pins(name: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for tool, version in re.findall(r"([\w-]+)==([\d.]+)", (REPOSITORY / name).read_text("utf-8")):
            found.setdefault(tool, set()).add(version)
        return found

    peers, tools, workflow = (pins(name) for name in ("tests/peers.txt", "packaging/manylinux.txt", ".github/workflows/release.yml"))
    assert peers["maturin"] == tools["maturin"] == workflow["maturin"] and tools["twine"] == workflow["twine"]


def script(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    # git asks neither the user's configuration nor the user
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(["sh", REPOSITORY / "packaging" / name, *map(str, words)], env=env, capture_output=True, text=True)


def test_the_site_has_a_folder_for_each_version(tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", remote := tmp_path / "remote.git"], check=True)
    (book := tmp_path / "book").mkdir()
    for version in ("0.2.0", "0.10.0", "0.11.0-rc1", "0.2.0"):
        (book / "index.html").write_text(f"the book of {version}, again")
        done = script("site.sh", book, version, remote)
        assert done.returncode == 0, done.stderr

    def shown(name: str) -> str:
        return subprocess.check_output(["git", "--git-dir", remote, "show", f"gh-pages:{name}"], text=True)

    assert shown("0.2.0/index.html") == "the book of 0.2.0, again" and "url=0.10.0/index.html" in shown("index.html")
    assert re.findall('href="(.*?)/index.html"', shown("versions.html")) == ["0.11.0-rc1", "0.10.0", "0.2.0"]
    assert script("site.sh", book, "../up", remote).returncode == 2


def test_wheels_are_built_only_for_what_they_are_made_for(tmp_path):
    refused = script("manylinux.sh", tmp_path, "armv7-unknown-linux-gnueabihf")
    assert refused.returncode == 2 and "there is no wheel for armv7" in refused.stderr
