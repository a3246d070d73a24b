#!/usr/bin/env python3
"""Measures a server: `riposte serve` over one collection, asked over the loopback interface.

    benches/serve.py RIPOSTE COLLECTION [--questions N] [--seconds S] [--clients N] [--beside URL] [--mixed MINUTES]
                     [-- OPTION...]

COLLECTION is a directory with args-me.json (mixed_arguments.py makes a large one), and perhaps images/ (replicate.py). Its conclusions are the questions:
each is asked once, so none has been asked before. The options go to `riposte serve`: with --cache DIR and a new DIR, no output of a model is stored.
Printed are the times of an answer with both sides (/api/debate), new and asked before; searches by words alone (/v1/COLLECTION/search) with 10 and with
1,000 hits; and the memory and the file handles of the server before and after. The questions are asked one at a time, the searches by several clients.
The CPU time of this program is printed beside, because it takes part of the same processors.

--beside URL does the same searches by words with another server that has Anserini's routes, in turn with riposte's: URL is all before /search, such as
http://127.0.0.1:8081/v1/INDEX. It must have the same documents.

--mixed asks for everything together instead, for some minutes: searches by words, documents, pages, new questions, and requests that are refused. It
prints memory and file handles every minute, and ends with 1 if anything was answered with another status than expected.
"""

import argparse
import http.client
import itertools
import json
import random
import re
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlsplit


# More searches a second than any server here answers, so that no query has to be asked twice.
MOST_A_SECOND = 3000


def start(riposte, collection, options):
    """The process of a server, and its port."""
    command = [riposte, "serve", "-i", str(collection), "--listen", "127.0.0.1:0", *options]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)/", line)
        if found:
            # nobody reads the log, but it must not fill the pipe
            threading.Thread(target=lambda: [None for _ in server.stderr], daemon=True).start()
            return server, int(found.group(1))
        print(line, end="", file=sys.stderr)
    sys.exit("the server did not start")


def conclusions(collection, count):
    """Different conclusions of arguments, in random order with a fixed seed."""
    arguments = json.loads((collection / "args-me.json").read_text())["arguments"]
    distinct = sorted({argument["conclusion"] for argument in arguments})
    random.Random(1).shuffle(distinct)
    # every conclusion has several questions, so there are enough
    forms = ["{}", "Is it true that {}?", "Do you agree that {}?", "Would it be right to say that {}?"]
    questions = (form.format(text) for form in forms for text in distinct)
    return list(itertools.islice(questions, count))


def queries(collection, count):
    """Different queries of four to eight words, as the words follow each other in texts of the collection."""
    arguments = json.loads((collection / "args-me.json").read_text())["arguments"]
    drawn = random.Random(2)
    found = set()
    while len(found) < count:
        premise = drawn.choice(drawn.choice(arguments)["premises"])
        words = re.findall(r"[A-Za-z]+", premise["text"][:2000])
        length = drawn.randint(4, 8)
        at = drawn.randrange(max(1, len(words) - length))
        if len(words) >= length:
            found.add(" ".join(words[at : at + length]))
    return sorted(found)


def ask(connection, path):
    """The seconds that an answer takes. The status must be 200."""
    before = time.perf_counter()
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        sys.exit(f"{path}: {response.status} {body[:200]}")
    return time.perf_counter() - before


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def line(what, values):
    p50, p95 = percentile(values, 0.5), percentile(values, 0.95)
    print(f"{what}: {len(values)} answers, p50 {1e3 * p50:.0f} ms, p95 {1e3 * p95:.0f} ms")


def state(server):
    status = Path(f"/proc/{server.pid}/status").read_text()
    memory, mapped = (int(re.search(rf"{of}:\s+(\d+)", status).group(1)) / 1024 for of in ("VmRSS", "RssFile"))
    handles = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
    return f"{memory:.0f} MB, of them {mapped:.0f} MB mapped files, {handles} file handles"


def load(server, paths, clients, seconds):
    """The seconds of each answer, with several clients at once for some seconds. `server` is a host with a port."""
    found, end = [], time.perf_counter() + seconds
    paths = itertools.cycle(paths)

    def client():
        connection = http.client.HTTPConnection(server)
        while time.perf_counter() < end:
            found.append(ask(connection, next(paths)))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def mixed(server, port, collection, minutes):
    """Asks for everything for some minutes. Returns whether each answer had the expected status."""
    name, end = collection.name, time.perf_counter() + 60 * minutes
    words, questions = queries(collection, 40000), conclusions(collection, 1296)
    counts, wrong = {}, []

    def client(seed, pause, path):
        connection, drawn = http.client.HTTPConnection("127.0.0.1", port, timeout=120), random.Random(seed)
        while time.perf_counter() < end and server.poll() is None:
            status, asked = path(drawn)
            # the server closes a connection on which nothing is asked for ten seconds
            if pause >= 10:
                connection.close()
            try:
                connection.request("GET", asked)
                response = connection.getresponse()
                response.read()
            except OSError as error:
                wrong.append(f"{asked}: {error}")
                connection.close()
                continue
            counts[response.status] = counts.get(response.status, 0) + 1
            if response.status != status:
                wrong.append(f"{asked}: {response.status} instead of {status}")
            if response.will_close:
                connection.close()
            time.sleep(pause)

    def by_words(drawn):
        hits = drawn.choice((10, 10, 10, 100, 1000))
        return 200, f"/v1/{name}/search?hits={hits}&query={quote(drawn.choice(words))}"

    def page(drawn):
        question = quote(drawn.choice(words))
        return drawn.choice(((200, "/"), (200, "/metrics"), (200, f"/?q={question}&stage=words"), (200, f"/?q={question}&tab=arguments&stage=words")))

    def read(drawn):
        question = quote(drawn.choice(questions))
        route = drawn.choice(("/api/debate?", "/?stage=read&", "/report?", "/api/search?kind=images&", "/run?kind=arguments&hits=100&"))
        return 200, f"{route}q={question}"

    def refused(drawn):
        return drawn.choice(((400, "/api/search?q="), (404, "/api/documents/nothing/none"), (404, "/picture/%2e%2e/x"), (422, "/api/debate?q=Sollten+Zoos+geschlossen+werden%3F")))

    kinds = ((by_words, 0.2), (by_words, 0.2), (page, 0.2), (read, 15), (refused, 0.5))
    clients = [threading.Thread(target=client, args=(seed, pause, path)) for seed, (path, pause) in enumerate(kinds)]
    for one in clients:
        one.start()
    minute = 0
    while any(one.is_alive() for one in clients):
        if time.perf_counter() > end - 60 * (minutes - minute):
            print(f"minute {minute}: {state(server)}; answers by status: {dict(sorted(counts.items()))}", flush=True)
            minute += 1
        time.sleep(1)
    print(f"at the end: {state(server)}; answers by status: {dict(sorted(counts.items()))}; {len(wrong)} with another status than expected")
    for line in wrong[:10]:
        print("  " + line)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("riposte")
    parser.add_argument("collection", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--beside", metavar="URL")
    parser.add_argument("--mixed", type=float, metavar="MINUTES")
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    args, options = parser.parse_args(given[:end]), given[end + 1 :]
    name = args.collection.name
    server, port = start(args.riposte, args.collection, options)
    try:
        print("at the start:", state(server))
        if args.mixed:
            sys.exit(0 if mixed(server, port, args.collection, args.mixed) else 1)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        paths = [f"/api/debate?q={quote(q)}" for q in conclusions(args.collection, args.questions)]
        line("new questions", [ask(connection, path) for path in paths])
        line("asked before", [ask(connection, path) for path in paths[-20:]])
        print("then:", state(server))
        count = int(args.seconds * MOST_A_SECOND)
        drawn = queries(args.collection, 2 * count)
        random.Random(3).shuffle(drawn)
        # no query is asked twice
        words = {10: drawn[:count], 1000: drawn[count:]}
        servers = {"riposte": f"http://127.0.0.1:{port}/v1/{name}"}
        if args.beside:
            servers["the other"] = args.beside
        for hits, (who, url) in itertools.product((10, 1000), servers.items()):
            address = urlsplit(url)
            paths = [f"{address.path}/search?hits={hits}&query={quote(q)}" for q in words[hits]]
            # a server in Java compiles its code when it is used
            load(address.netloc, paths[-500:], args.clients, args.seconds / 4)
            used = resource.getrusage(resource.RUSAGE_SELF)
            found = load(address.netloc, paths, args.clients, args.seconds)
            now = resource.getrusage(resource.RUSAGE_SELF)
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            line(f"{who} by words, {hits} hits", found)
            rate = len(found) / args.seconds
            print(f"  {rate:.0f} a second; this program took {cpu / args.seconds:.2f} of a processor")
        print("at the end:", state(server))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
