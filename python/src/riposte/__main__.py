"""`python -m riposte …` is the program `riposte` with these arguments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from ._clash import clash
from ._program import find_binary


def main() -> int:
    try:
        binary = find_binary()
    except FileNotFoundError as error:
        print(f"riposte: {error}", file=sys.stderr)
        return 2
    # where the other project was installed last, `import riposte` is its own, and cannot say so
    if found := clash():
        print(f"warning: {found}", file=sys.stderr)
    command = [str(binary), *sys.argv[1:]]
    if os.name == "posix":
        # the program replaces this process, so signals reach it, and its exit code is returned
        os.execv(command[0], command)
    # ^C reaches both processes: Python ignores it, and the program decides what to do
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main())
