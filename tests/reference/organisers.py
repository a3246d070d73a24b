#!/usr/bin/env python3
"""Makes organisers.json: the output of the organisers' scripts for small valid and broken runs, and for the official image runs.

    apt-get install gawk; pip install pandas
    tests/reference/organisers.py TOUCHE_CODE [DATA] > tests/reference/organisers.json

TOUCHE_CODE is a checkout of the organisers' repository (github.com/touche-webis-de/touche-code). This script runs
clef22/image-retrieval-for-arguments/submission-{verifier,evaluator}.sh, those of clef23, clef21/evaluate.py (clef22 has the same
file), clef25/image-retrieval-for-arguments/evaluation/eval_file.py and clef25/image-retrieval-for-arguments/validator/validator.py. DATA is a directory with the published judgements and
submissions, images/qrels-2022.txt and images/runs/run-*.txt.

The shell scripts call `awk` and need GNU awk: mawk does not support {16}, so it refuses every image id and prints 0.000. Therefore
a directory with a link from awk to gawk comes first in their PATH. Their standard output names the lines that they refuse; the
measures go to a file.
"""
import contextlib
import importlib.util
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

random.seed(2022)
CODE = Path(sys.argv[1])
DATA = Path(sys.argv[2]) if len(sys.argv) > 2 else None
WORK = Path(tempfile.mkdtemp())
os.symlink(shutil.which('gawk'), WORK / 'awk')
ENV = {**os.environ, 'PATH': f'{WORK}:{os.environ["PATH"]}', 'LC_ALL': 'C.UTF-8'}


def shell(script, *arguments):
    done = subprocess.run(['sh', str(CODE / script), *map(str, arguments)], capture_output=True, env=ENV, check=True)
    out = done.stdout.decode('utf-8', 'replace')
    refused = re.findall(r'^Invalid line (\d+) with (?!tag)', out, re.M)
    tags = re.findall(r'^Invalid line (\d+) with tag', out, re.M)
    topics = re.findall(r'^\d+(?:,\d\.\d\d){9}$', out, re.M)
    return [int(n) for n in refused], [int(n) for n in tags], topics


def images(year, run, qrels, ids):
    """The output of the verifier and of the evaluator for an image run."""
    paths = {name: WORK / name for name in ('run.txt', 'qrels.txt', 'image-ids.txt', 'verified', 'evaluated')}
    paths['run.txt'].write_text(run, newline='')
    paths['qrels.txt'].write_text(qrels)
    paths['image-ids.txt'].write_text(''.join(f'{i}\n' for i in ids))
    folder = f'clef{year}/image-retrieval-for-arguments'
    if year == 22:
        refused, tags, _ = shell(f'{folder}/submission-verifier.sh', paths['image-ids.txt'], paths['run.txt'], paths['verified'])
        verified = paths['verified'].read_text()
    else:
        runs = WORK / 'runs'
        runs.mkdir(exist_ok=True)
        shutil.copy(paths['run.txt'], runs)
        refused, tags, _ = shell(f'{folder}/submission-verifier/submission-verifier.sh', WORK, runs, WORK)
        verified = (WORK / 'evaluation.prototext').read_text()
    not_evaluated, _, topics = shell(f'{folder}/submission-evaluator.sh', paths['qrels.txt'], paths['run.txt'], paths['evaluated'])
    return {
        'refused': refused, 'tags': tags, 'verified': verified,
        'not_evaluated': not_evaluated, 'evaluated': paths['evaluated'].read_text(), 'topics': topics,
    }


def broken(lines):
    """A run in which a few lines are damaged in various ways."""
    lines = list(lines)
    for _ in range(random.choice([0, 1, 2, 4])):
        at = random.randrange(len(lines))
        fields = lines[at].split(' ')
        how = random.randrange(12)
        if how == 0:
            fields.pop(random.randrange(len(fields)))
        elif how == 1:
            fields.append('x')
        elif how == 2:
            fields[0:1] = [random.choice(['0', '51', '50', '01', '1x', '101', '+1', '100', '51 '])]
        elif how == 3:
            fields[1:2] = [random.choice(['pro', 'Q0', 'CONS'])]
        elif how == 4:
            fields[2:3] = [random.choice(['I0', 'I' + 'f' * 16, 'I' + 'F' * 16, 'J' + '0' * 16, 'I' + 'g' * 24])]
        elif how == 5:
            fields[3:4] = [random.choice(['0', '11', '10', '1', '1.0', '-1', '02', '99999999999999999999', '1e0'])]
        elif how == 6:
            fields[4:5] = [random.choice(['1e3', 'NaN', 'inf', '.5', '5.', '-0', '-1.25', '+1', '9' * 400, '1,5', '0x10', '7.000'])]
        elif how == 7:
            fields[5:6] = ['other']
        elif how == 8:
            lines.insert(at, lines[at])
        elif how == 9:
            lines[at] = '\t'.join(fields)
            continue
        elif how == 10 and at + 1 < len(lines):
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
            continue
        elif how == 11:
            lines.insert(at, random.choice(['', '  ', '\u00a0']))
            continue
        lines[at] = ' '.join(fields)
    end = random.choice(['\n', '\n', '\n', '\r\n'])
    return end.join(lines) + random.choice([end, end, ''])


def image_cases():
    for number in range(60):
        year, first, digits = random.choice([(22, 1, 16), (22, 50, 16), (23, 51, 24), (23, 100, 24)])
        ids = ['I' + ''.join(random.choices('0123456789abcdef', k=digits)) for _ in range(12)]
        lines, qrels = [], []
        for topic in [first] + ([first + 1] if first in (1, 51) else []):
            for image in random.sample(ids, 9):
                for question in ('ONTOPIC', 'PRO', 'CON'):
                    grade = random.choice([0, 1, 1, 2] if year == 23 else [0, 1, 1])
                    qrels.append(f'{topic} {question} {image} {grade}')
            for stance in ('PRO', 'CON'):
                score = 9.0
                for rank, image in enumerate(random.sample(ids, random.choice([2, 3, 10])), 1):
                    score -= random.choice([0, 0.5, 0.25])
                    lines.append(f'{topic} {stance} {image} {rank} {score} t')
        run, qrels = broken(lines) if number else '', '\n'.join(qrels) + '\n'
        known = ids[:-1] if number % 3 == 0 else ids
        yield {'year': 2000 + year, 'run': run, 'qrels': qrels, 'ids': known, **images(year, run, qrels, known)}


def module(path):
    spec = importlib.util.spec_from_file_location('organisers', CODE / path)
    loaded = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(loaded)
    return loaded


def text_cases():
    evaluate = module('clef21/evaluate.py')
    for number in range(40):
        separator = random.choice([' ', '\t'])
        first_rank = random.choice([0, 1])
        depth = random.choice([1, 3, 5, 10])
        run, qrels = [], []
        docs = [f'd{n}' for n in range(15)]
        for topic in range(1, 6):
            if random.random() < .85:
                for doc in random.sample(docs, random.choice([0, 1, 4, 10])):
                    grade = random.choice([-2, 0, 1, 2, 3])
                    qrels.append(f'{topic} 0 {doc} {grade}')
            if random.random() < .85:
                listed = random.sample(docs, random.choice([1, 3, 12]))
                for rank, doc in enumerate(listed, first_rank):
                    run.append(separator.join([str(topic), 'Q0', doc, str(rank), str(random.choice([1, 2, 3.5])), 't']))
        # at least one judged result, because the script fails without one
        qrels.append('9 0 d0 2')
        run.append(separator.join(['9', 'Q0', 'd0', str(first_rank), '1', 't']))
        random.shuffle(run)
        (WORK / 'run').write_text('\n'.join(run) + '\n')
        (WORK / 'qrels').write_text('\n'.join(qrels) + '\n')
        scores = evaluate.calculate_scores(evaluate.load_runs(WORK / 'run', depth), evaluate.load_qrels(WORK / 'qrels'), depth)
        column = f'nDCG@{depth}'
        topics = {str(row.Topic): round(row[column], 12) for _, row in scores.iterrows() if row[column] == row[column]}
        mean = evaluate.calculate_mean(scores, depth)[column].iloc[0]
        yield {'run': '\n'.join(run), 'qrels': '\n'.join(qrels), 'depth': depth, 'topics': topics, 'mean': round(mean, 12)}


def answer_cases():
    sys.modules['tabulate'] = types.SimpleNamespace(tabulate=None)
    evaluation = module('clef25/image-retrieval-for-arguments/evaluation/eval_file.py')
    answers = ['no', 'partially agree', 'yes']
    for _ in range(4):
        folder = Path(tempfile.mkdtemp(dir=WORK))
        arguments, pool = ['1-1', '1-2', '2-3', '5-1'], [f'I{n:02x}' for n in range(8)]
        judgements = []
        for assessor in ('one', 'two'):
            entries = [
                {'argumentId': a, 'imageId': i, 'aspects': [{'answer': random.choice(answers), 'annotatorTag': assessor} for _ in range(2)]}
                for a in arguments for i in pool
            ]
            (folder / f'{assessor}.json').write_text(json.dumps(entries))
            judgements += entries
        run = [
            {'argument_id': a, 'method': 'retrieval', 'image_id': i, 'rank': rank, 'tag': 't'}
            for a in arguments[random.choice([0, 1]):] for rank, i in enumerate(random.sample(pool, 6), 1)
        ]
        random.shuffle(run)
        (folder / 'run.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in run))
        with contextlib.redirect_stdout(io.StringIO()):
            scores = evaluation.AnnotationLoader(folder).all_annotation_dict['one&two']
            excluded = re.search(r'IDS_TO_EXCLUDE = (\[.*?\])', (CODE / 'clef25/image-retrieval-for-arguments/evaluation/eval_file.py').read_text(), re.S)[1]
            calculator = evaluation.NDCGCalculator(scores, json.loads(excluded.replace("'", '"')))
            calculator.do_evaluation(evaluation.RunPreparation([str(folder / 'run.jsonl')]).prepared_runs)
        values = {str(s['k']): round(float(s['ndcg']), 12) for s in calculator.final_scores}
        yield {
            'run': (folder / 'run.jsonl').read_text(), 'answers': ''.join(json.dumps(j, separators=(',', ':')) + '\n' for j in judgements),
            'nDCG': values,
        }


def official_cases():
    if DATA is None:
        return
    qrels = (DATA / 'images/qrels-2022.txt').read_text()
    for path in sorted((DATA / 'images/runs').glob('run-*.txt')):
        run = path.read_text()
        # the data lack the list of all 23,841 ids, so every id of the run counts as known
        ids = sorted({line.split()[2] for line in run.splitlines()})
        verdict = images(22, run, qrels, ids)
        yield {'name': path.name, **{key: verdict[key] for key in ('refused', 'tags', 'verified', 'evaluated')}}


def validator_cases():
    """Runs of 2025, most of them damaged in one or two places, and whether the organisers' validator passes them."""
    folder = WORK / 'validator'
    (folder / 'tests/random').mkdir(parents=True)
    for name in ('validator.py', 'settings.py'):
        shutil.copy(CODE / 'clef25/image-retrieval-for-arguments/validator' / name, folder)
    arguments, pool = ['1-1', '1-2', '9-4'], [f'I{n:024x}' for n in range(9)]
    (folder / 'argument_ids_list.txt').write_text(''.join(f'{a}\n' for a in arguments))
    (folder / 'image_id_list.txt').write_text(''.join(f'{i}\n' for i in pool))

    def damage(lines, kind):
        at = random.randrange(len(lines))
        line = json.loads(lines[at])
        if kind == 'key':
            del line[random.choice(list(line))]
        elif kind == 'method':
            line['method'] = random.choice(['generation', 'Retrieval', ''])
        elif kind == 'argument':
            line['argument_id'] = random.choice(['1-3', '1-1 ', 11])
        elif kind == 'image':
            line['image_id'] = random.choice([pool[0][:17], 'I0', pool[8] + '0'])
        elif kind == 'rank':
            line['rank'] = random.choice([0, 6, '1', 2, -1])
        elif kind == 'same':
            line['image_id'] = json.loads(lines[at - 1])['image_id']
        elif kind == 'more':
            lines.append(json.dumps({**line, 'image_id': random.choice(pool), 'rank': 6}))
        elif kind == 'extra':
            line['rationale'] = 'ü'
        elif kind == 'tag':
            line['tag'] = 'other'
        if kind == 'drop':
            del lines[at]
        elif kind == 'text':
            lines[at] = random.choice(['', 'x', lines[at][:-1], '[]', lines[at] + ' ', '"1-1"'])
        else:
            lines[at] = json.dumps(line)

    kinds = ['key', 'method', 'argument', 'image', 'rank', 'same', 'more', 'extra', 'tag', 'drop', 'text']
    for number in range(60):
        lines = [
            json.dumps({'argument_id': a, 'method': 'retrieval', 'image_id': i, 'rank': rank, 'tag': 't'})
            for a in arguments for rank, i in enumerate(random.sample(pool, 5), 1)
        ]
        if number:
            for kind in random.sample(kinds, random.choice([1, 1, 2])):
                damage(lines, kind)
        if random.random() < .3:
            random.shuffle(lines)
        run = '\n'.join(lines) + '\n'
        (folder / 'tests/random/results.jsonl').write_text(run)
        said = subprocess.run([sys.executable, 'validator.py'], cwd=folder, capture_output=True, text=True, env=ENV).stdout
        yield {'run': run, 'arguments': arguments, 'images': pool, 'passes': 'Validation passed' in said}


json.dump(
    {'images': list(image_cases()), 'texts': list(text_cases()), 'answers': list(answer_cases()), 'official': list(official_cases()),
     'validator': list(validator_cases())},
    sys.stdout, separators=(',', ':'), ensure_ascii=False,
)
print()
