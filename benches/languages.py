#!/usr/bin/env python3
"""Compares detectors of languages on the short questions of benches/languages.tsv: which find that a question is not English?

    pip install lingua-language-detector whatlang-pyo3
    benches/languages.py [--riposte PROGRAM] [--earlier PROGRAM]

lingua and whatlang say the likeliest of all their languages. riposte says in a note which topics of a run do not look English; EARLIER is another version of
it. Each line has the number of English questions that are taken for another language, and of the other questions that are not recognised.
"""
import argparse, json, pathlib, subprocess, tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('--riposte')
parser.add_argument('--earlier')
options = parser.parse_args()
lines = (pathlib.Path(__file__).parent / 'languages.tsv').read_text().splitlines()
questions = [line.split('\t') for line in lines if not line.startswith('#')]


def by_riposte(program):
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / 'corpus.jsonl').write_text(json.dumps({'_id': 'a', 'text': 'nothing'}) + '\n')

        def is_other(question):
            (work / 'queries.jsonl').write_text(json.dumps({'_id': 'q', 'text': question}) + '\n')
            run = [program, 'rank', '-q', '-i', str(work), '-o', str(work / 'out'), '--index', str(work / 'index'), '--approach', 'bm25']
            return 'does not look English' in subprocess.run(run, capture_output=True, text=True, check=True).stderr
        return [is_other(question) for _, question in questions]


def by_lingua(low):
    from lingua import Language, LanguageDetectorBuilder
    builder = LanguageDetectorBuilder.from_all_languages()
    detector = (builder.with_low_accuracy_mode() if low else builder).build()
    return [detector.detect_language_of(question) != Language.ENGLISH for _, question in questions]


def by_whatlang():
    import whatlang
    return [whatlang.detect(question).lang != 'eng' for _, question in questions]


print('| | of %d English questions taken for another language | of %d other questions not recognised |\n|---|---|---|' % (
    sum(language == 'English' for language, _ in questions), sum(language != 'English' for language, _ in questions)))
for name, found in [('lingua', lambda: by_lingua(False)), ('lingua, low accuracy', lambda: by_lingua(True)), ('whatlang', by_whatlang)] + [
        (name, lambda program=program: by_riposte(program)) for name, program in [('riposte', options.riposte), ('riposte, earlier', options.earlier)] if program]:
    found = found()
    wrong = [(language, question) for (language, question), is_other in zip(questions, found) if (language != 'English') != is_other]
    english = [question for language, question in wrong if language == 'English']
    others = [question for language, question in wrong if language != 'English']
    print(f'| {name} | {len(english)} | {len(others)} |')
    print('<!--', '; '.join(english), '|', '; '.join(others), '-->')
