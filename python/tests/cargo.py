#!/usr/bin/env python3
"""Replaces cargo while a test builds the wheel: it reports the program under test as the program that cargo has built.

If the tests were built with other features (those of the whole workspace), cargo would compile riposte again, which takes minutes, and would
overwrite the program that other tests are running.
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
package = next(package for package in packages if package["name"] == "riposte-ir")
target = next(target for target in package["targets"] if target["kind"] == ["bin"])
# a copy, because maturin moves the program, and other tests are running it
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
