"""Writes trained weights as the int8 file that ships, and shows that it says what the trainer said.

    python -m training.export WEIGHTS_FOLDER OUT_FOLDER [--between BASE.onnx SHARE] [--on BASE.onnx]

With `--between`, weights of the encoder between those and a shipped file's, from which they were
trained: what was learned before is forgotten less. With `--on`, only what compares is taken from
them (`train.py --compare-alone`), all else as it stands in a shipped file.

The graph is that of `scripts/build_model.py`, with two outputs more: the columns of each token or,
by layers of their own, its relations.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from scripts.build_model import Encoder, Weights, numbers_of

CONFIG: dict[str, Any] = {
    "num_hidden_layers": 6, "num_attention_heads": 12, "hidden_size": 384, "layer_norm_eps": 1e-12,
}  # fmt: skip
NAMES = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "out": "attention.output.dense", "inner": "intermediate.dense", "outer": "output.dense",
    "norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm",
}  # fmt: skip


def main() -> None:
    """Read the weights, write `model.onnx`; its words are those of the embedder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weights", type=Path, nargs="+", help="folders; several are averaged")
    parser.add_argument("out", type=Path)
    parser.add_argument("--between", nargs=2, metavar=("BASE", "SHARE"), help="of the new weights")
    parser.add_argument("--on", type=Path, metavar="BASE", help="new is only what compares")
    parser.add_argument("--float32", action="store_true", help="do not quantise, to compare with")
    options = parser.parse_args()
    if options.on and options.float32:
        parser.error("--on takes weights as they are stored, in int8: not with --float32")
    every = [read(folder) for folder in options.weights]
    weights = {name: np.mean([one[name] for one in every], axis=0) for name in every[0]}
    if options.between:
        share = float(options.between[1])
        for name, old in shipped(Path(options.between[0])).items():
            if not name.startswith(("columns", "relations")):
                weights[name] = share * weights[name] + (1 - share) * old
    kept: dict[str, onnx.TensorProto] = {}
    if options.on:
        kept = as_stored(options.on)
        weights |= {name: old for name, old in shipped(options.on).items() if not compares(name)}
    data = Encoder(renamed(weights), CONFIG, quantise=not options.float32, kept=kept).build()
    options.out.mkdir(parents=True, exist_ok=True)
    written = data.SerializeToString()
    (options.out / "model.onnx").write_bytes(written)
    print(f"model.onnx: {len(written):,} bytes, sha256 {hashlib.sha256(written).hexdigest()}")


def compares(name: str) -> bool:
    """Whether a weight is of what compares alone."""
    return name.startswith(("comparing", "relations"))


def as_stored(path: Path) -> dict[str, onnx.TensorProto]:
    """What reads and embeds, of a shipped file, to the last bit."""
    stored = onnx.load(path).graph.initializer
    return {each.name: each for each in stored if not compares(each.name)}


def read(folder: Path) -> Weights:
    """The weights that `train.py` saved, in float32."""
    parts: dict[str, list[Any]] = defaultdict(list)
    for path in sorted(folder.glob("weights-*.npz")):
        with np.load(path) as file:
            for name in file.files:
                parts[name.partition("#")[0]].append(file[name].astype(np.float32))
    if not parts:
        raise SystemExit(
            f"error: no weights-*.npz in {folder}: give the folders that train.py wrote"
        )
    return {
        name: np.concatenate(some) if len(some) > 1 else some[0] for name, some in parts.items()
    }


def shipped(path: Path) -> Weights:
    """The weights of a shipped file, int8 made float again, by the names of `train.py`."""
    raw = {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}
    found: Weights = {
        "words.weight": raw["words"].astype(np.float32) * raw["words.scale"],
        "positions.weight": raw["positions"],
        "norm.weight": raw["embeddings.LayerNorm.weight"],
        "norm.bias": raw["embeddings.LayerNorm.bias"],
    }
    # The base compares by the layers that read.
    comparing = "comparing" if "comparing.layer.0.attention.bias" in raw else "encoder"
    for number in range(CONFIG["num_hidden_layers"]):
        found |= _layer(raw, f"encoder.layer.{number}", f"layers.{number}")
        found |= _layer(raw, f"{comparing}.layer.{number}", f"comparing.{number}")
    for head in ("columns", "relations"):
        if f"{head}.weight" in raw:
            found[f"{head}.weight"] = raw[f"{head}.weight"].T
            found[f"{head}.bias"] = raw[f"{head}.bias"]
    return found


def _layer(raw: Weights, old: str, new: str) -> Weights:
    biases = np.split(raw[f"{old}.attention.bias"], 3)
    found = {f"{new}.{name}.bias": part for name, part in zip(NAMES, biases, strict=False)}
    for ours, theirs in NAMES.items():
        if ours.startswith("norm"):
            found[f"{new}.{ours}.weight"] = raw[f"{old}.{theirs}.weight"]
        else:
            stored = raw[f"{old}.{theirs}"], raw[f"{old}.{theirs}.scale"]
            found[f"{new}.{ours}.weight"] = numbers_of(*stored)
        if ours not in ("query", "key", "value"):
            found[f"{new}.{ours}.bias"] = raw[f"{old}.{theirs}.bias"]
    return found


def renamed(weights: Weights) -> Weights:
    """The names of a BERT checkpoint."""
    found: Weights = {}
    for ours, value in weights.items():
        name = ours.replace("words.weight", "embeddings.word_embeddings.weight")
        name = name.replace("positions.weight", "embeddings.position_embeddings.weight")
        if match := re.fullmatch(r"(layers|comparing)\.(\d+)\.(\w+)\.(weight|bias)", ours):
            part = "encoder" if match[1] == "layers" else "comparing"
            name = f"{part}.layer.{match[2]}.{NAMES[match[3]]}.{match[4]}"
        found[re.sub(r"^norm\.", "embeddings.LayerNorm.", name)] = value
    found["embeddings.token_type_embeddings.weight"] = np.zeros((1, 384), dtype=np.float32)
    return found


if __name__ == "__main__":
    main()
