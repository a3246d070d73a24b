#!/usr/bin/env python3
"""Makes src/index/kstem/reference.tsv: 5,000 English words, and their stems by Lucene and by krovetzstemmer.

    pip install krovetzstemmer==0.8
    python tests/reference/kstem.py lucene-analyzers-common.jar:lucene-core.jar args-me.json

Made with Lucene 8.7.0 (Debian's liblucene8-java), Java 17, krovetzstemmer 0.8 and the 3,040 arguments of args.me in the development
data. Each line has a word, Lucene's stem and krovetzstemmer's stem. The words are the 3,000 most frequent words of three letters or more, up to
thirty rarer words for each suffix that the stemmer knows, and a sample of the other words that occur at least twice. The two stemmers differ
if a form of the word is one of the 60 entries that only krovetzstemmer's lexicon has.

The lexicon in src/index/kstem/ has the 27,994 entries of Lucene's KStemmer: head words (KStemData1 to KStemData8, supplementDict and
properNouns), conflations (directConflations and countryNationality) and exceptionWords, each sorted.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from krovetzstemmer import Stemmer

FREQUENT, WORDS, FOR_EACH_SUFFIX = 3000, 5000, 30
SUFFIXES = """s es ies ous ed ied ing ity ility ivity ality ness iness ion ition ation ication ization er or izer ier eer ly ally ably ily
    al ical ial ive ative ize ment able ible ism ic ency ancy ence ance""".split()

# KStemmer itself is not public; its filter is.
JAVA = """
import org.apache.lucene.analysis.core.KeywordTokenizer;
import org.apache.lucene.analysis.en.KStemFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import java.io.*;

public class Stems {
    public static void main(String[] none) throws IOException {
        BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
        KeywordTokenizer word = new KeywordTokenizer();
        KStemFilter stems = new KStemFilter(word);
        CharTermAttribute stem = stems.addAttribute(CharTermAttribute.class);
        for (String line = words.readLine(); line != null; line = words.readLine()) {
            word.setReader(new StringReader(line));
            stems.reset();
            stems.incrementToken();
            System.out.println(stem);
            stems.end();
            stems.close();
        }
    }
}
"""


def lucene(words, class_path):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "Stems.java")
        source.write_text(JAVA)
        command = ["java", "-cp", class_path, str(source)]
        return subprocess.run(command, input="\n".join(words), capture_output=True, text=True, check=True).stdout.split()


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def choose(path):
    counts = Counter()
    for text in texts(json.loads(Path(path).read_text())):
        counts.update(re.findall(r"(?<![\w/.@-])[a-z]{3,}(?![\w/@-])", text.lower()))
    by_frequency = sorted(counts, key=lambda word: (-counts[word], word))
    chosen = dict.fromkeys(by_frequency[:FREQUENT])
    rarer = by_frequency[FREQUENT:]
    random.Random(1993).shuffle(rarer)
    for suffix in SUFFIXES:
        chosen.update(dict.fromkeys([word for word in rarer if word.endswith(suffix)][:FOR_EACH_SUFFIX]))
    chosen.update(dict.fromkeys(word for word in rarer if counts[word] > 1))
    return sorted(list(chosen)[:WORDS])


if __name__ == "__main__":
    class_path, arguments = sys.argv[1:]
    words = choose(arguments)
    stemmer = Stemmer()
    rows = list(zip(words, lucene(words, class_path), (stemmer.stem(word) for word in words), strict=True))
    target = Path(__file__).resolve().parent.parent.parent / "src/index/kstem/reference.tsv"
    target.write_text("".join("\t".join(row) + "\n" for row in rows))
    print(len(rows), "words;", sum(word != stem for word, stem, _ in rows), "change;", sum(a != b for _, a, b in rows), "differ:")
    print(*(" ".join(row) for row in rows if row[1] != row[2]), sep="\n")
