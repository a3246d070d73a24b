#!/usr/bin/env python3
"""Ranks, changes and ranks again a large collection of copied evidence, and measures whether memory and file handles stay flat.

    make -C tests soak                                             # 20,000 documents, ten updates, on the release build
    python3 tests/soak.py --documents 2000 --updates 3 --riposte target/release/riposte

Each round changes the words of 1% of the documents in the store, as a new extraction would. Then riposte updates its index and ranks all
topics. While a process runs, its peak of resident memory (VmHWM) and its largest number of open files (/proc/PID/fd) are sampled. The exit
code is 1 if the median of memory or of files in the second half of the updates is more than 15% above the median in the first half. The first
run, which builds the index, is shown but not compared. --plot FILE draws both (docs/soak.svg). Needs Linux, because of /proc. matplotlib is
not used, so that the plot is the same on each machine.
"""
import argparse, os, pathlib, random, sqlite3, statistics, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = 1.15
SAMPLE_SECONDS = 0.001


def measure(argv, environment):
    """Runs a command. Returns its peak memory in MB, its largest number of open files, and the seconds that it took."""
    start = time.monotonic()
    child = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    process = pathlib.Path("/proc") / str(child.pid)
    peak, files = 0, 0
    while child.poll() is None:
        try:
            for line in (process / "status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak = max(peak, int(line.split()[1]))
            files = max(files, len(os.listdir(process / "fd")))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
        time.sleep(SAMPLE_SECONDS)
    said = child.stderr.read().decode(errors="replace")
    if child.returncode not in (0, 1) or "panicked" in said:
        sys.exit(f"soak: {' '.join(argv)} ends with {child.returncode}:\n{said}")
    return peak / 1024, files, time.monotonic() - start


def change(evidence, chance):
    """Changes the words of 1% of the documents. Returns the number of changed documents."""
    connection = sqlite3.connect(evidence)
    documents = [row[0] for row in connection.execute("SELECT document FROM document ORDER BY document")]
    changed = chance.sample(documents, max(1, len(documents) // 100))
    words = "zoo car vote school tax law city animal child teacher phone ban allow help harm".split()
    # triggers in the store remove the checksums of these rows
    for document in changed:
        new = " ".join(chance.choice(words) for _ in range(8))
        connection.execute("UPDATE page SET title = ?, main = ? || ' ' || main WHERE document = ?", (new, new, document))
    connection.commit()
    connection.close()
    return len(changed)


def svg(rows, path):
    """Draws two curves over the rounds: memory and open files."""
    width, height, left, bottom, top = 640, 300, 56, 40, 24
    panels = [("peak memory, MB", [row[0] for row in rows], "#2563a8"), ("open files", [row[1] for row in rows], "#a8452a")]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * width} {height}" font-family="sans-serif" font-size="13">',
             f'<rect width="{2 * width}" height="{height}" fill="#ffffff"/>']
    for number, (name, values, colour) in enumerate(panels):
        offset, most = number * width, max(values) * 1.15 or 1
        x = lambda n: offset + left + n * (width - left - 20) / max(len(values) - 1, 1)
        y = lambda value: height - bottom - value / most * (height - bottom - top)
        parts.append(f'<text x="{offset + left}" y="16" fill="#222222">{name}, by process (0: builds the index)</text>')
        parts.append(f'<path d="M{x(0):.1f} {y(0):.1f}H{x(len(values) - 1):.1f}" stroke="#999999" fill="none"/>')
        for mark in (0, max(values) / 2, max(values)):
            parts.append(f'<text x="{offset + left - 8}" y="{y(mark) + 4:.1f}" text-anchor="end" fill="#555555">{mark:.0f}</text>')
        for n in range(len(values)):
            parts.append(f'<text x="{x(n):.1f}" y="{height - bottom + 18}" text-anchor="middle" fill="#555555">{n}</text>')
        points = " ".join(f"{x(n):.1f},{y(value):.1f}" for n, value in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts + ["</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--riposte", type=pathlib.Path, default=ROOT / "target/release/riposte")
    parser.add_argument("--documents", type=int, default=20000, metavar="N")
    parser.add_argument("--updates", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    if not args.riposte.is_file():
        sys.exit(f"soak: {args.riposte} is missing: run `cargo build --release`, or name another program with --riposte")
    chance, rows = random.Random(args.seed), []
    # the copies are hard links, which need one file system
    with tempfile.TemporaryDirectory(prefix=".soak-", dir=args.riposte.resolve().parent) as scratch:
        scratch = pathlib.Path(scratch)
        sample = scratch / "sample"
        subprocess.run(["cp", "-r", str(ROOT / "sample"), str(sample)], check=True)
        subprocess.run([sys.executable, str(ROOT / "benches/replicate.py"), str(sample), str(ROOT / "tests/golden/evidence.sqlite"),
                        str(args.documents), str(scratch / "large")], check=True)
        collection, evidence = scratch / "large/collection", scratch / "large/evidence.sqlite"
        # with models other than those that made the evidence, riposte would compute it again
        environment = os.environ | {"XDG_CACHE_HOME": str(scratch / "cache"), "RIPOSTE_MODELS": str(scratch / "no-models")}
        argv = [str(args.riposte.resolve()), "images", "-q", "-i", str(collection), "-o", str(scratch / "out"), "--evidence", str(evidence)]
        print(f"{'process':<10}{'changed':>8}{'memory, MB':>12}{'files':>7}{'seconds':>9}")
        for number in range(args.updates + 1):
            changed = change(evidence, chance) if number else 0
            rows.append(measure(argv, environment))
            print("{:<10}{:>8}{:>12.1f}{:>7}{:>9.1f}".format(number, changed, *rows[-1]), flush=True)
    if args.plot:
        svg(rows, args.plot)
    grown = []
    for what, at in (("memory", 0), ("open files", 1)):
        updates = [row[at] for row in rows[1:]]
        middle = (len(updates) + 1) // 2
        first, last = statistics.median(updates[:middle]), statistics.median(updates[-middle:])
        print(f"{what}: median of the first {middle} updates {first:.1f}, of the last {middle} {last:.1f}, ratio {last / first:.3f}, at most {ALLOWED}")
        if last > ALLOWED * first:
            grown.append(what)
    sys.exit(f"soak: {' and '.join(grown)} grow" if grown else 0)


if __name__ == "__main__":
    main()
