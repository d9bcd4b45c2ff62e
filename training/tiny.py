"""A tiny run of everything, on the processor, in minutes: prepare, train, export, compare.

    make tiny

Shows that the loss falls, that what is exported says what the trainer said (to rounding before
int8, nearly after it), and that what compares can be trained alone; exit code 1 when not. Needs
torch, as `train.py` does; a wheel for the processor alone will do (requirements/training.txt).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray

from holdfast.models.local import WORDS, WordPiece
from training.labels import read_prepared
from training.train import BASE, Encoder, padded, save, train

HERE = Path(__file__).parent
#: What is prepared: two of them are of the development part.
_DATA = ("data/01/L00[1-8].txt", "sets/a1.txt", "lists/en1.txt", "messages/en1.txt")
_TEXTS = (
    "we moved to Ghent in March, so forget the old address",
    "From now on please answer in short sentences.",
    "thanks, good night!",
)
_TURNS = 12
#: How far the file in float32 may be from the trainer, whose weights are kept in halves: one
#: that is rounded to four bits may fall to the other side; and how near vectors in int8 must be.
_APART, _NEAR = 0.05, 0.97
_OPTIONS: dict[str, Any] = {
    "seed": 1, "device": "cpu", "base": BASE, "dropout": 0.1, "keep": 0.0, "keep_to": None,
    "rate": 3e-4, "seconds": None, "workers": 0, "batch": 3, "conversations": 1, "questions": 3,
    "smoothing": 0.03, "related_share": 0.3, "pair_weight": 1.0, "retrieval_weight": 1.0,
    "pairs": 12, "choices": 4, "most": 4, "choice_weight": 1.0, "compare_alone": False,
    "compare_from": None,
}  # fmt: skip


def main() -> int:
    """Run it; print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        data = read_prepared(prepared(place))
        model, losses = trained(data, steps)
        save(model, place / "weights")
        exact, small = (exported(place, name) for name in ("--float32", ""))
        moved = moved_by_comparing(data, place)
    first, last = losses[0], losses[-1]
    print(f"loss: {first:.3f} in the first steps, {last:.3f} in the last")
    told = said(model)
    apart = max(float(np.abs(a - b).max()) for a, b in zip(told, exact, strict=True))
    near = min(float((a * b).sum()) for a, b in zip(told[0], small[0], strict=True))
    print(f"the file in float32 differs by {apart:.5f} at most (allowed: {_APART})")
    print(f"vectors in int8 have a cosine of {near:.4f} at least with those (needed: {_NEAR})")
    print(f"training what compares alone changes {', '.join(sorted(moved))}")
    is_alone = moved == {"comparing", "relations"}
    return int(not (last < first and apart <= _APART and near >= _NEAR and is_alone))


def prepared(place: Path) -> Path:
    """Token ids of a few files."""
    for pattern in _DATA:
        for path in HERE.glob(pattern):
            target = place / path.relative_to(HERE).parts[0]
            target.mkdir(exist_ok=True)
            shutil.copy(path, target)
    out = place / "prepared.json.gz"
    options = [f"--{name}={place / name}" for name in ("data", "sets", "lists", "messages")]
    subprocess.run([sys.executable, "-m", "training.prepare", out, *options], check=True)
    return out


def trained(data: dict[str, Any], steps: int) -> tuple[Encoder, list[float]]:
    """A model, and its loss on the way."""
    for talk in data["retrieval"]:  # Long conversations would take minutes.
        talk["turns"] = talk["turns"][:_TURNS]
        talk["questions"] = [each for each in talk["questions"] if max(each[1]) < _TURNS]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        model = train(data, argparse.Namespace(**(_OPTIONS | {"steps": steps})))
    print(printed.getvalue(), end="")
    told = re.findall(
        r"tags (\S+) pairs (\S+) choices (\S+) retrieval ([\d.]+)", printed.getvalue()
    )
    return model, [sum(map(float, each)) for each in told]


def moved_by_comparing(data: dict[str, Any], place: Path) -> set[str]:
    """Which parts of the file change when only what compares is trained, and exported on it."""
    base, weights, out = place / "out" / "model.onnx", place / "alone", place / "on"
    alone = {"compare_alone": True, "compare_from": base, "base": base, "steps": 2}
    model = train(data, argparse.Namespace(**(_OPTIONS | alone | {"batch": 0, "questions": 0})))
    save(model, weights)
    command = [sys.executable, "-m", "training.export", weights, out, "--on", base]
    subprocess.run(command, check=True)
    before, now = (constants(path) for path in (base, out / "model.onnx"))
    return {name.split(".")[0] for name in now if now[name] != before.get(name)}


def constants(path: Path) -> dict[str, bytes]:
    """What a file holds, by name."""
    stored = onnx.load(path).graph.initializer
    return {each.name: each.SerializeToString() for each in stored}


def exported(place: Path, option: str) -> list[NDArray[np.float32]]:
    """What a file that `export.py` wrote says of the texts: vectors, columns, relations."""
    out = place / f"out{option}"
    command = [sys.executable, "-m", "training.export", place / "weights", out]
    subprocess.run([*command, *([option] if option else [])], check=True)
    session = onnxruntime.InferenceSession(out / "model.onnx")
    ids, mask = (part.numpy().astype(np.int64) for part in texts())
    inputs = {"input_ids": ids, "attention_mask": mask}
    read = session.run(["embedding", "columns"], inputs | {"compare": np.array(False)})
    compared = session.run(["relations"], inputs | {"compare": np.array(True)})
    return _of_words(*read, *compared, mask)


def said(model: Encoder) -> list[NDArray[np.float32]]:
    """What the trained model says of the texts."""
    ids, mask = texts()
    with torch.no_grad():
        columns = model.columns(model(ids, mask))
        relations = model.relations(model(ids, mask, compare=True))
    vectors = model.embed(ids, mask).detach()
    told = [each.numpy() for each in (vectors, columns, relations)]
    return _of_words(*told, mask.numpy())


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    """The texts as token ids, and which of these are theirs."""
    words = WordPiece.from_file(WORDS)
    return padded([words.encode(text)[1:-1] for text in _TEXTS])


def _of_words(
    vectors: NDArray[np.float32],
    columns: NDArray[np.float32],
    relations: NDArray[np.float32],
    mask: NDArray[np.generic],
) -> list[NDArray[np.float32]]:
    return [vectors, columns[mask > 0], relations[mask > 0]]


if __name__ == "__main__":
    sys.exit(main())
