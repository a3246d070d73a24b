#!/usr/bin/env python3
"""Prints what a wheel has in it, by kind, and what of the program is weights and word lists:

    packaging/wheel_content.py FILE.whl

Sizes are in bytes: as they are in the wheel, compressed, and as they are installed. packaging/manylinux.sh calls it.
"""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What is compiled into the program besides its code, as it is on the disk: name and files.
INSIDE = {
    "weights of models": ["models/own/*.t*", "models/own/*.safetensors", "crates/riposte-claims/models/*.bin"],
    "word lists": ["src/**/*.txt", "src/**/*.tsv", "crates/riposte-claims/src/**/*.tsv"],
    "recipes and catalogues": ["approaches/**/*.toml", "datasets/*.toml", "models/models.toml"],
    "pages and scripts of reports and of the server": ["src/report/pages/*", "crates/riposte-page/src/*.css", "crates/riposte-serve/src/page/files/*"],
}


def kind(name: str) -> str:
    """The kind of a file in a wheel."""
    if ".dist-info/licenses/" in name:
        return "licences"
    if ".dist-info/" in name:
        return "metadata"
    if Path(name).suffix in (".py", ".pyi") or Path(name).name == "py.typed":
        return "Python"
    if Path(name).name in ("riposte", "riposte.exe"):
        return "the program"
    return "scripts"


def main() -> None:
    wheel = Path(sys.argv[1])
    sizes: dict[str, tuple[int, int, int]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            files, packed, installed = sizes.get(kind(entry.filename), (0, 0, 0))
            sizes[kind(entry.filename)] = (files + 1, packed + entry.compress_size, installed + entry.file_size)
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    rows = [(name, *sizes[name]) for name in sorted(sizes, key=lambda name: -sizes[name][2])]
    rows.append(("all", *(sum(row[n] for row in rows) for n in (1, 2, 3))))
    print(f"{'':<60}{'files':>6}{'compressed':>14}{'installed':>14}")
    for name, files, packed, installed in rows:
        print(f"{name:<60}{files:>6}{packed:>14,}{installed:>14,}")
        if name == "the program":
            for what, patterns in INSIDE.items():
                # the reference of a test is no part of it
                paths = [path for pattern in patterns for path in ROOT.glob(pattern) if path.name != "reference.tsv"]
                print(f"  of this, {what:<49}{len(paths):>6}{'':>14}{sum(path.stat().st_size for path in paths):>14,}")


if __name__ == "__main__":
    main()
