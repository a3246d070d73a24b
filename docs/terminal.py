#!/usr/bin/env python3
"""Shows a command and what it prints on a terminal as a page, for docs/screenshots.sh.

    docs/terminal.py COLUMNS LINES PAGE SHOWN COMMAND [ARGUMENT]...

COMMAND runs on a terminal of its own, which has COLUMNS columns. SHOWN is the command as a reader types it. The page has the first LINES lines, with their styles, and
follows the light or dark theme of the system.
"""

import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios

STYLE = """:root { color-scheme: light dark; --ground: #fbfaf7; --ink: #1c1b22; --soft: #5c5b66; --sheet: #efede6; }
@media (prefers-color-scheme: dark) { :root { --ground: #15161a; --ink: #e8e6e1; --soft: #a3a2ad; --sheet: #24262c; } }
body { margin: 0; padding: 18px; background: var(--sheet); }
pre { margin: 0; padding: 14px 20px; border-radius: 10px; background: var(--ground); color: var(--ink); font: 14px/1.42 "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.dim { color: var(--soft); } .prompt { color: var(--soft); }"""


def printed(columns, command):
    """What the command prints on a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.environ["TERM"] = "xterm-256color"
        os.environ.pop("NO_COLOR", None)
        os.execvp(command[0], command)
    shown = b""
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError:
            break
        if not read:
            break
        shown += read
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit(shown.decode(errors="replace"))
    return shown.decode().replace("\r\n", "\n")


def styled(text):
    """The text with elements in the place of the terminal's sequences: bold, dim, and the end of both."""
    text = html.escape(text)
    for code, element in (("1", "<b>"), ("2", "<span class='dim'>")):
        end = "</b>" if code == "1" else "</span>"
        text = re.sub(rf"\x1b\[{code}m(.*?)\x1b\[0m", rf"{element}\1{end}", text, flags=re.DOTALL)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    columns, lines, page, shown, *command = sys.argv[1:]
    text = printed(int(columns), command).strip("\n").split("\n")
    first = styled("\n".join(text[: int(lines)]))
    more = "\n<span class='dim'>…</span>" if len(text) > int(lines) else ""
    with open(page, "w", encoding="utf-8") as out:
        out.write(f"<!DOCTYPE html><meta charset='utf-8'><title>{html.escape(shown)}</title><style>{STYLE}</style>")
        out.write(f"<pre><span class='prompt'>$</span> {html.escape(shown)}\n\n{first}{more}</pre>\n")


main()
