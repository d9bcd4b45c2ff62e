"""The figures of shipped files on the development part: tags, pairs, and what is found.

    python -m training.evaluate PREPARED.json.gz MODEL.onnx... [--wrong 20]

Reads what `prepare.py` wrote and runs the int8 files as they ship; needs no torch. `train.py`
prints the same figures of the weights before int8. With `--wrong`, so many lines and pairs instead
that the first file gets wrong, of each tag and of pairs that end.
"""

from __future__ import annotations

import argparse
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from holdfast.models.local import WORDS
from holdfast.models.reader import RELATIONS, TAGS
from training.labels import read_prepared

Array = NDArray[Any]
#: Relations that end what was said before.
ENDS = [RELATIONS.index(name) for name in ("replaces", "corrects", "withdraws")]
CLS, SEP, BAR = 101, 102, 1064
_TAG = slice(1, 1 + len(TAGS))


class Model:
    """A shipped file."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        self._session = onnxruntime.InferenceSession(path, options)
        self._compares = "compare" in [each.name for each in self._session.get_inputs()]

    def run(self, output: str, ids: list[int]) -> Array:
        """One output for one text."""
        row = np.array([[CLS, *ids[:254], SEP]], dtype=np.int64)
        inputs = {"input_ids": row, "attention_mask": np.ones_like(row)}
        if self._compares:
            inputs["compare"] = np.array(output == "relations")
        (found,) = self._session.run([output], inputs)
        return np.asarray(found[0])


def figures(model: Model, data: dict[str, Any]) -> dict[str, str]:
    """Precision and recall, how many; in English and in other languages."""
    found: dict[str, str] = {}
    for lang in ("en", "other"):
        of = {
            name: [
                x
                for x in data[name]
                if x["split"] == "dev" and (x["lang"] == "en") == (lang == "en")
            ]
            for name in ("turns", "pairs")
        }
        told = tag_counts(model, of["turns"])
        for part, pairs in (
            ("ends", [x for x in of["pairs"] if "in_set" not in x]),
            ("ends, sets", [x for x in of["pairs"] if "in_set" in x]),
        ):
            told[part] = pair_counts(model, pairs)
        found |= {f"{lang} {name}": _written(*counts) for name, counts in told.items()}
    return found | {f"found in 10, {k}": v for k, v in retrieval(model, data).items()}


def tag_counts(model: Model, turns: Iterable[dict[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """For each tag: lines told rightly, told, and labelled so."""
    told: list[Array] = []
    wanted: list[list[int]] = []
    for turn in turns:
        ids = [each for line in turn["lines"] for each in line["ids"]]
        columns = model.run("columns", ids)[1:-1]
        start = 0
        for line in turn["lines"]:
            end = start + len(line["ids"])
            if end <= len(columns):
                told.append(columns[start:end].mean(axis=0)[_TAG] > 0)
                wanted.append(line["tags"])
            start = end
    guess, truth = np.array(told), np.array(wanted)
    counts = {}
    for column, name in enumerate(TAGS):
        known = truth[:, column] >= 0
        g, t = guess[known, column], truth[known, column] > 0
        counts[name] = (int((g & t).sum()), int(g.sum()), int(t.sum()))
    return counts


def pair_counts(model: Model, pairs: Iterable[dict[str, Any]]) -> tuple[int, int, int]:
    """Of the pairs whose later line ends the earlier: told rightly, told, labelled so."""
    right = told = labelled = 0
    for pair in pairs:
        ended, ends = is_end(model, pair), pair["label"] in ENDS
        right, told, labelled = right + (ended and ends), told + ended, labelled + ends
    return right, told, labelled


def is_end(model: Model, pair: dict[str, Any]) -> bool:
    """Whether the later line ends the earlier one, by the model."""
    before = pair["new"][0]
    context = [*before[-40:], BAR] if before else []
    ids = [*pair["old"][1][:80], SEP, *context, *pair["new"][1][:100]]
    return int(model.run("relations", ids).mean(axis=0).argmax()) in ENDS


def retrieval(model: Model, data: dict[str, Any]) -> dict[str, str]:
    """Of the turns that answer a question, how many are in the first ten."""
    found: dict[str, list[float]] = defaultdict(list)
    for talk in data["retrieval"]:
        if talk["split"] != "dev" or talk["style"] != "own":
            continue
        rows = np.array(
            [model.run("embedding", [*d, *s, 1024, *t][:160]) for s, d, t in talk["turns"]]
        )
        for question, right, _ in talk["questions"]:
            best = np.argsort(-(rows @ model.run("embedding", question[:48])))[:10].tolist()
            found[talk["style"]].append(sum(each in best for each in right) / len(right))
    return {style: f"{np.mean(some):.3f} ({len(some)})" for style, some in found.items()}


def wrong(model: Model, data: dict[str, Any], most: int) -> Iterator[str]:
    """Lines and pairs of the development part that are told wrongly, in an order by chance: so many
    of each tag, and of pairs that end."""
    left = dict.fromkeys((*TAGS, "ends"), most)
    draw = random.Random(1)
    turns, pairs = ([x for x in data[name] if x["split"] == "dev"] for name in ("turns", "pairs"))
    found = chain(
        wrong_lines(model, draw.sample(turns, len(turns))),
        wrong_pairs(model, draw.sample(pairs, len(pairs))),
    )
    for name, text in found:
        if left[name]:
            yield f"{name}, {text}"
        left[name] = max(0, left[name] - 1)
        if not left["ends"]:
            return


def wrong_lines(model: Model, turns: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """(tag, text) of lines that are told wrongly."""
    for turn in turns:
        ids = [each for line in turn["lines"] for each in line["ids"]]
        columns, start = model.run("columns", ids)[1:-1], 0
        for line in turn["lines"]:
            told = columns[start : start + len(line["ids"])].mean(axis=0)[_TAG] > 0
            start += len(line["ids"])
            for name, is_told, wanted in zip(TAGS, told, line["tags"], strict=True):
                if wanted >= 0 and is_told != wanted:
                    yield name, f"{'missed' if wanted else 'told'}: {text_of(line['ids'])}"


def wrong_pairs(model: Model, pairs: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """("ends", both lines) of pairs of which it is told wrongly."""
    for pair in pairs:
        wanted = pair["label"] in ENDS
        if is_end(model, pair) != wanted:
            old, new = (text_of(pair[side][1]) for side in ("old", "new"))
            yield "ends", f"{'missed' if wanted else 'told'}: {old} -> {new}"


def text_of(ids: Sequence[int]) -> str:
    """The words of token ids."""
    return " ".join(_pieces()[each] for each in ids).replace(" ##", "")


@cache
def _pieces() -> list[str]:
    return WORDS.read_text(encoding="utf-8").splitlines()


def _written(right: int, told: int, labelled: int) -> str:
    return f"{right / max(told, 1):.3f} {right / max(labelled, 1):.3f} ({labelled})"


def main() -> None:
    """Print a table, a column for each file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--wrong", type=int, help="list so many that are told wrongly instead")
    options = parser.parse_args()
    data = read_prepared(options.data)
    if options.wrong:
        for line in wrong(Model(options.models[0]), data, options.wrong):
            print(line)
        return
    tables = [figures(Model(path), data) for path in options.models]
    print("| | " + " | ".join(path.parent.name for path in options.models) + " |")
    print("|---" * (len(tables) + 1) + "|")
    for name in tables[0]:
        print(f"| {name} | " + " | ".join(table[name] for table in tables) + " |")


if __name__ == "__main__":
    main()
