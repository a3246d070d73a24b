"""Checks the contents of the wheel, and uses it in an environment that has nothing else."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import HOME, REPOSITORY
from test_program import VERSION

#: Maximum size in bytes: the limit of the Python Package Index.
MOST_BYTES = 100 << 20
#: Maximum size in bytes of all files except the program.
MOST_OTHER_BYTES = 200_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel that `pip install ./python` builds, with the program under test (cargo.py)."""
    cargo = os.environ.get("CARGO") or shutil.which("cargo")
    assert cargo, "cargo is not installed"
    out = tmp_path_factory.mktemp("wheel")
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # for maturin
        "REAL_CARGO": cargo,
        "CARGO": str(Path(__file__).with_name("cargo.py")),
        "HOME": HOME,
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TARGET_DIR": str(out / "target"),
    }
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index", "-w", out, REPOSITORY / "python"]
    before = os.stat(os.environ["RIPOSTE_BINARY"])
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    after = os.stat(os.environ["RIPOSTE_BINARY"])
    # other tests are running the program
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns), "the program under test was moved or replaced"
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The interpreter of a new environment in which the wheel is installed."""
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory)
    python = directory / "bin/python"
    # with the pip of this interpreter, because installing pip into each environment takes seconds
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", wheel]
    subprocess.run(command, check=True)
    return python


def in_environment(python: Path, *args: object) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("RIPOSTE_BINARY", "PYTHONPATH")}
    env["PATH"] = os.defpath
    return subprocess.run(list(map(str, (python, *args))), env=env, capture_output=True, text=True, cwd=python.parents[1])


def test_it_contains_what_it_should_and_is_small(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"riposte_ir-{VERSION}.dist-info/METADATA").decode()
        (program,) = [info for info in archive.infolist() if info.filename.endswith("/scripts/riposte")]
        licence = archive.read(f"riposte_ir-{VERSION}.dist-info/licenses/licenses/LICENSE-MIT")
    info = f"riposte_ir-{VERSION}.dist-info"
    shared = ["_calls", "_clash", "_cluster", "_documents", "_frames", "_hugging", "_layout", "_program", "_shards", "_show", "_stream"]
    typed = ["_collection", "_explanation", "_judge", "_run", "_server", "_texts"]
    spark = ["_spark_extract", "_spark_rank", "_spark_texts", "spark"]
    pyterrier = ["_pt_base", "_pt_read", "pt"]
    modules = ["__init__", "__main__", *shared, *typed, *spark, *pyterrier, "datasets", "evidence", "measures"]
    licences = ["APACHE", "KStem", "MIT", "models.md", "vaderSentiment"]
    expected = [f"riposte/{name}.py" for name in modules] + [
        "riposte/py.typed",
        *(f"riposte_ir-{VERSION}.data/scripts/{name}" for name in ("riposte", "riposte-spark")),
    ]
    expected += [f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "sboms/riposte-ir.cyclonedx.json")]
    expected += [f"{info}/licenses/licenses/LICENSE-{name}" for name in licences]
    assert sorted(names) == sorted(expected)
    assert licence == (REPOSITORY / "LICENSE-MIT").read_bytes()
    assert program.external_attr >> 16 & 0o111 == 0o111
    assert wheel.stat().st_size < MOST_BYTES
    assert wheel.stat().st_size - program.compress_size < MOST_OTHER_BYTES
    assert re.match(rf"riposte_ir-{re.escape(VERSION)}-py3-none-\w+\.whl", wheel.name)
    head, _, description = metadata.partition("\n\n")
    repository = re.search(r'^repository = "(.+)"', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)
    assert repository and f"Project-URL: Source Code, {repository[1]}" in head.splitlines()
    for line in [f"Version: {VERSION}", "Requires-Python: >=3.10", "License-Expression: Apache-2.0 OR MIT", "Provides-Extra: pyterrier"]:
        assert line in head.splitlines()
    assert not re.search(r"^Requires-Dist: (?!.*extra ==)", head, re.MULTILINE)
    # python-terrier, its older name, is an empty package today
    assert re.search(r"^Requires-Dist: pyterrier ?>=1\.0 ?; extra == .pyterrier.", head, re.MULTILINE)
    assert description.strip() == (REPOSITORY / "python/README.md").read_text().strip()


def test_its_content_is_listed_by_kind(wheel):
    command = [sys.executable, REPOSITORY / "packaging/wheel_content.py", wheel]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert listed[0] == f"{wheel.name}: {wheel.stat().st_size:,} bytes"
    of_kind = {line[:60].strip(): [int(word.replace(",", "")) for word in line[60:].split()] for line in listed[2:]}
    assert of_kind["all"] == [sum(of_kind[kind][n] for kind in ("the program", "Python", "licences", "metadata", "scripts")) for n in range(3)]
    with zipfile.ZipFile(wheel) as archive:
        assert of_kind["all"][0] == len(archive.namelist())
        assert of_kind["the program"][2] == next(info.file_size for info in archive.infolist() if info.filename.endswith("/scripts/riposte"))
    inside = [sizes[-1] for name, sizes in of_kind.items() if name.startswith("of this, ")]
    assert len(inside) == 4 and all(inside) and sum(inside) < of_kind["the program"][2]


def test_it_ranks_the_sample_in_a_fresh_environment(installed, tmp_path):
    version = in_environment(installed, "-m", "riposte", "-V")
    assert (version.stdout, version.returncode) == (f"riposte {VERSION}\n", 0), version.stderr
    assert in_environment(installed.with_name("riposte"), "-V").stdout == version.stdout
    sample, out = REPOSITORY / "sample", tmp_path / "out"
    images = in_environment(installed, "-m", "riposte", "images", "-q", "-i", sample, "-o", out, "--evidence", tmp_path / "e.sqlite")
    assert images.returncode == 0, images.stderr
    verified = in_environment(installed, "-m", "riposte", "verify", out, "-i", sample)
    assert verified.returncode == 0 and "valid" in verified.stdout
    wrong = in_environment(installed, "-m", "riposte", "verify", tmp_path / "nothing")
    assert wrong.returncode == 2 and "Traceback" not in wrong.stderr


def test_the_package_finds_the_program_of_its_environment(installed):
    code = "import riposte; print(riposte.find_binary(), riposte.__version__, riposte.run(['-V']).stdout.strip(), sep='\\n')"
    said = in_environment(installed, "-c", code)
    assert said.stdout.splitlines() == [str(installed.with_name("riposte")), VERSION, f"riposte {VERSION}"], said.stderr
    spark = in_environment(installed.with_name("riposte-spark"), "extract", "in", "out")
    assert spark.returncode == 2 and spark.stderr == "riposte-spark: pyspark is not installed: pip install 'riposte-ir[spark]'\n", spark.stderr
    pyterrier = in_environment(installed, "-c", "import riposte; riposte.pt")
    assert "ImportError: riposte.pt needs PyTerrier and pandas" in pyterrier.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "--python", installed, "show", "-f", "riposte-ir"], capture_output=True, text=True, check=True
    )
    lines = [line.strip() for line in shown.stdout.splitlines()]
    assert {"Name: riposte-ir", f"Version: {VERSION}", "Requires:", "../../../bin/riposte", "riposte/pt.py"} <= set(lines)
