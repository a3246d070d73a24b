#!/usr/bin/env python3
"""Stands in for cargo while a test builds the wheel: the program under test is there already, and is taken as the one that cargo has built.

Cargo itself would compile riposte anew if the tests were built with other features (those of the whole workspace), which takes minutes, and would
put the result in the place of the program that other tests are running.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

arguments = sys.argv[1:]
if arguments[:1] not in (["build"], ["rustc"]):
    sys.exit(subprocess.call([os.environ["REAL_CARGO"], *arguments]))
assert arguments[arguments.index("--bin") + 1] == "riposte", arguments
manifest = arguments[arguments.index("--manifest-path") + 1]
command = [os.environ["REAL_CARGO"], "metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest]
packages = json.loads(subprocess.check_output(command))["packages"]
package = next(package for package in packages if package["name"] == "riposte")
target = next(target for target in package["targets"] if target["kind"] == ["bin"])
# a copy: maturin moves what cargo has built, and other tests are running the program
program = str(Path(os.environ["CARGO_TARGET_DIR"], "release", "riposte"))
os.makedirs(os.path.dirname(program), exist_ok=True)
shutil.copy(os.environ["RIPOSTE_BINARY"], program)
profile = {"opt_level": "3", "debuginfo": 0, "debug_assertions": False, "overflow_checks": False, "test": False}
message = {
    "reason": "compiler-artifact",
    "package_id": package["id"],
    "manifest_path": package["manifest_path"],
    "target": target,
    "profile": profile,
    "features": [],
    "filenames": [program],
    "executable": program,
    "fresh": True,
}
print(json.dumps(message))
print(json.dumps({"reason": "build-finished", "success": True}))
