"""Trains the model: one encoder that embeds, tags lines and compares two of them.

    python -m training.train PREPARED.json.gz OUT_FOLDER [--seed 1] [--steps 1500] [--device cuda]

Starts from the weights of a shipped file (`--base`, int8 made float again): of the embedder, or of
the model itself to train it further, so that nothing but this repository is needed. Runs with
torch, numpy and onnx alone.

A token's state at the last layer gives one number for each column (`COLUMNS`); those of a line are
averaged over its tokens, so one pass over a turn tags all its lines. Lines begin where the column
`start` says so. The embedding is the mean of the same states, of unit length. Two texts are
compared in one pass, one behind the other, by layers of their own, since what helps to compare
spoils what finds.

Each step learns from a batch of all: turns with tagged lines, pairs of lines, lines with what each
may end (a softmax over these and "none"), and questions against the turns of conversations (a
softmax over all turns of the batch). With `--compare-alone` only what compares is trained, on top
of layers that stay as they are: vectors and tags are those of the base, to the last digit.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scripts.build_model import SMALL_BLOCK
from training.export import read, shipped
from training.labels import read_prepared

HERE = Path(__file__).parent
BASE = HERE.parent / "src/holdfast/models/minilm/model.onnx"
KINDS = (
    "identity", "home", "work", "people", "health", "preference", "possession", "plan",
    "decision", "project", "event",
)  # fmt: skip
TAGS = ("fact", "rule", "withdraw", "ask", "quote", "others", "filler", "chat", "recall")
RELATIONS = ("unrelated", "same", "adds", "replaces", "corrects", "withdraws", "both")
COLUMNS = ("start", *TAGS, *KINDS, "me", "other", "value", "condition")
_LINE = slice(1, 1 + len(TAGS) + len(KINDS) + 2)
_VALUE, _CONDITION = COLUMNS.index("value"), COLUMNS.index("condition")
_ENDS = [RELATIONS.index(name) for name in ("replaces", "corrects", "withdraws")]
_WITHDRAWS = RELATIONS.index("withdraws")
CLS, SEP, MASK, BAR = 101, 102, 103, 1064
MAX_TOKENS = 256
#: Steps at most in which the rate rises: time may end before all steps are made.
_WARM = 100
#: Steps at most between two lines that report.
_REPORT = 250
#: Parts of a batch of pairs that are run apart, by their lengths.
_CHUNKS = 2
#: How often a word piece is hidden: what a line ends must not hang on one.
_HIDDEN = 0.06
#: How often what a line ends is left out of its choice.
_UNKNOWN = 0.25
#: Of the choices of a batch: lines that end a rule, that end none, that state a fact.
_SHARES = (0.4, 0.2, 0.4)


# ----------------------------------------------------------------------
# The encoder
# ----------------------------------------------------------------------


class Encoder(nn.Module):
    """A BERT of 6 layers and 384 dimensions with one linear layer of columns on top, and beside its
    layers as many others, of four bits, with one of relations."""

    def __init__(self, layers: int = 6, width: int = 384, heads: int = 12) -> None:
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(30522, width)
        self.positions = nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.comparing = nn.ModuleList(Layer(width, heads, FourBits) for _ in range(layers))
        self.columns = nn.Linear(width, len(COLUMNS))
        self.relations = nn.Linear(width, len(RELATIONS))
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids: Tensor, mask: Tensor, *, compare: bool = False) -> Tensor:
        """The states of all tokens: of a text, or of two that are compared."""
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.dropout(self.norm(self.words(ids) + self.positions(places)))
        seen = mask[:, None, None, :].bool()
        for layer in self.comparing if compare else self.layers:
            hidden = layer(hidden, seen)
        return hidden

    def take_comparing(self, other: Encoder) -> None:
        """Compare by the layers of another."""
        self.comparing.load_state_dict(other.comparing.state_dict())
        self.relations.load_state_dict(other.relations.state_dict())

    def embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors."""
        states = self(ids, mask).float()
        return F.normalize((states * mask[..., None]).sum(1), dim=-1)


class FourBits(nn.Linear):
    """A linear layer whose weights are used as the file has them, in four bits, and learned as if
    they were not."""

    def forward(self, input: Tensor) -> Tensor:
        """Weights of four bits times the input, and the bias."""
        blocks = self.weight.view(len(self.weight), -1, SMALL_BLOCK)
        with torch.no_grad():
            scales = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True)) / -8
            scales = torch.where(scales == 0, 1, scales)
            rounded = (blocks / scales).round().clamp(-8, 7) * scales
        used = blocks + (rounded - blocks).detach()
        return F.linear(input, used.view_as(self.weight), self.bias)


class Layer(nn.Module):
    """Attention and feed-forward, each added to its input and normalised."""

    def __init__(self, width: int, heads: int, linear: type[nn.Linear] = nn.Linear) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (linear(width, width) for _ in range(4))
        self.inner, self.outer = linear(width, 4 * width), linear(4 * width, width)
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden: Tensor, seen: Tensor) -> Tensor:
        """One layer."""
        batch, length, width = hidden.shape

        def cut(states: Tensor) -> Tensor:
            return states.view(batch, length, self.heads, -1).transpose(1, 2)

        parts = (cut(part(hidden)) for part in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(*parts, attn_mask=seen)
        attended = attended.transpose(1, 2).reshape(batch, length, width)
        hidden = self.norm1(hidden + self.dropout(self.out(attended)))
        inner = F.gelu(self.inner(hidden), approximate="tanh")
        return self.norm2(hidden + self.dropout(self.outer(inner)))


def from_onnx(path: Path) -> Encoder:
    """An encoder with the weights of a shipped file; heads that it has not are drawn."""
    model = Encoder()
    state = model.state_dict()
    for head in ("columns", "relations"):
        nn.init.normal_(state[f"{head}.weight"], std=0.02)
        nn.init.zeros_(state[f"{head}.bias"])
    for name, value in shipped(path).items():
        if state[name].shape != value.shape:
            raise ValueError(f"{path}: {name} has the shape {value.shape}, not {state[name].shape}")
        state[name] = torch.tensor(value, dtype=torch.float)
    model.load_state_dict(state)
    return model


# ----------------------------------------------------------------------
# Batches
# ----------------------------------------------------------------------


def padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids and mask of texts, with the marks around them."""
    rows = [[CLS, *row[: MAX_TOKENS - 2], SEP] for row in rows]
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest)
    for n, row in enumerate(rows):
        ids[n, : len(row)] = torch.tensor(row)
        mask[n, : len(row)] = 1
    return ids, mask


Batch = dict[str, Tensor]


def tag_batch(turns: list[dict[str, Any]], draw: random.Random | None) -> Batch:
    """Turns with lines; what each token and each line is."""
    rows: list[list[int]] = []
    marks: list[list[list[int]]] = []
    spans: list[tuple[int, int, int]] = []
    labels: list[list[int]] = []
    for turn in turns:
        row: list[int] = []
        mark: list[list[int]] = []
        for line in _some_lines(turn, turns, draw):
            ids = line["ids"]
            if draw and line["stop"] and len(ids) > 1 and draw.random() < 0.2:
                ids = ids[:-1]  # As people type: without the stop.
            if len(row) + len(ids) > MAX_TOKENS - 2:
                break
            spans.append((len(rows), len(row) + 1, len(row) + 1 + len(ids)))
            labels.append(line["tags"] + line["kinds"] + line["about"])
            row += ids
            starts = [1] + [0] * (len(ids) - 1)
            mark += [
                list(each) for each in zip(starts, line["value"], line["condition"], strict=False)
            ]
        rows.append(row)
        marks.append(mark)
    ids, mask = padded(rows)
    tokens = torch.zeros(*ids.shape, 4)
    for n, mark in enumerate(marks):
        if mark:
            tokens[n, 1 : 1 + len(mark), :3] = torch.tensor(mark, dtype=torch.float)
            tokens[n, 1 : 1 + len(mark), 3] = 1
    return {
        "ids": ids, "mask": mask, "tokens": tokens, "spans": torch.tensor(spans),
        "labels": torch.tensor(labels, dtype=torch.float),
    }  # fmt: skip


def _some_lines(
    turn: dict[str, Any], turns: list[dict[str, Any]], draw: random.Random | None
) -> list[dict[str, Any]]:
    """All lines of a turn, now and then a part of them, or with those of another turn behind them:
    that is a turn, too, and what a line is must be told by the line. What was pasted stays `whole`:
    only what stands around it tells that it is."""
    lines: list[dict[str, Any]] = turn["lines"]
    if draw and len(lines) > 1 and not turn.get("whole") and draw.random() < 0.25:
        first = draw.randrange(len(lines))
        lines = lines[first : first + draw.randint(1, len(lines))]
    if draw and draw.random() < 0.1:
        lines = [*lines, *draw.choice(turns)["lines"]]
    return lines


def line_logits(columns: Tensor, spans: Tensor) -> Tensor:
    """The mean of the columns over the tokens of each line."""
    sums = F.pad(columns.cumsum(1), (0, 0, 1, 0))
    rows, starts, ends = spans.T
    return ((sums[rows, ends] - sums[rows, starts]) / (ends - starts)[:, None])[:, _LINE]


def pair_row(pair: dict[str, Any], draw: random.Random | None) -> list[int]:
    """An earlier line, and a later one behind what stood before it in its turn."""
    old, new = pair["old"][1], pair["new"][1]
    before = pair["new"][0]
    if draw and draw.random() < 0.15:
        before = []
    context = [*before[-40:], BAR] if before else []
    row = [*old[:80], SEP, *context, *new[:100]]
    return _blurred(row, draw) if draw else row


def _blurred(row: list[int], draw: random.Random) -> list[int]:
    """Two texts of which some pieces are hidden."""
    return [MASK if each != SEP and draw.random() < _HIDDEN else each for each in row]


def choice_batch(choices: list[dict[str, Any]], most: int, draw: random.Random | None) -> Batch:
    """Lines, each behind all that it may end: one row a pair, the line that each row is of, and the
    row that is right; none: -1. Of several that a line ends one is shown, now and then none: it may
    end what is not known."""
    rows: list[list[int]] = []
    owners: list[int] = []
    right: list[int] = []
    rules: list[bool] = []
    for number, each in enumerate(choices):
        old, others = each["right"][:1], list(each["others"])
        way = each["ways"][0]
        if draw:
            is_known = not others or draw.random() >= _UNKNOWN
            old = [draw.choice(each["right"])] if each["right"] and is_known else []
            way = draw.choice(each["ways"])
            draw.shuffle(others)
        right.append(len(rows) if old else -1)
        shown = [*old, *others[: most - len(old)]]
        pairs = [pair_row({"old": [[], one], "new": way}, None) for one in shown]
        rows += [_blurred(row, draw) for row in pairs] if draw else pairs
        owners += [number] * len(shown)
        rules += [each["is_rule"]] * len(shown)
    ids, mask = padded(rows)
    return {
        "ids": ids, "mask": mask, "owners": torch.tensor(owners), "right": torch.tensor(right),
        "rules": torch.tensor(rules),
    }  # fmt: skip


class Retrieval:
    """Draws questions with turns that answer them and turns of the same conversation."""

    def __init__(self, conversations: list[dict[str, Any]]) -> None:
        talks = [each for each in conversations if each["questions"]]
        self.own = [each for each in talks if each["style"] == "own"]
        self.others = [each for each in talks if each["style"] != "own"]

    def batch(self, draw: random.Random, conversations: int, questions: int) -> Batch:
        """Questions, turns, the turn that answers each question, and other turns that do."""
        asked: list[list[int]] = []
        texts: list[list[int]] = []
        right: list[int] = []
        masked: list[tuple[int, int]] = []
        for _ in range(conversations):
            talk = draw.choice(self.own if not self.others or draw.random() < 0.3 else self.others)
            format_ = draw.choice((0, 1, 2, 2))
            chosen = draw.sample(talk["questions"], min(questions, len(talk["questions"])))
            answers = [draw.choice(found) for _, found, _ in chosen]
            outdated = [turn for *_, old in chosen for turn in old[:1]]
            count = len(talk["turns"])
            more = draw.sample(range(count), min(24, count))
            begun, places = len(texts), list(dict.fromkeys([*answers, *outdated, *more]))
            texts += [self.text(talk["turns"][turn], format_) for turn in places]
            for (question, found, _), answer in zip(chosen, answers, strict=True):
                others = [t for t in found if t in places and t != answer]
                masked += [(len(asked), begun + places.index(turn)) for turn in others]
                right.append(begun + places.index(answer))
                asked.append(question[:48])
        hidden = torch.zeros(len(asked), len(texts))
        for row, column in masked:
            hidden[row, column] = 1
        made = dict(zip(("asked", "asked mask"), padded(asked), strict=True))
        made |= dict(zip(("texts", "texts mask"), padded(texts), strict=True))
        return made | {"right": torch.tensor(right), "masked": hidden}

    @staticmethod
    def text(turn: list[list[int]], format_: int) -> list[int]:
        """The token ids of a turn: alone, with the speaker, or with the day and the speaker."""
        speaker, day, said = turn
        head = [] if format_ == 0 else [*speaker, 1024] if format_ == 1 else [*day, *speaker, 1024]
        return [*head, *said][:160]


# ----------------------------------------------------------------------
# Training
# ----------------------------------------------------------------------


def tag_loss(model: Encoder, batch: Batch) -> Tensor:
    """Lines, where they begin, values and conditions."""
    columns = model.columns(model(batch["ids"], batch["mask"]).float())
    known = batch["labels"] >= 0
    lines = F.binary_cross_entropy_with_logits(
        line_logits(columns, batch["spans"])[known], batch["labels"][known]
    )
    told, inner = columns[..., [0, _VALUE, _CONDITION]], batch["tokens"][..., 3]
    wanted = batch["tokens"][..., :3]
    each = F.binary_cross_entropy_with_logits(told, wanted.clamp(min=0), reduction="none")
    known_tokens = inner[..., None] * (wanted >= 0)
    return 6 * lines + 2 * (each * known_tokens).sum() / inner.sum()


def pair_logits(model: Encoder, ids: Tensor, mask: Tensor) -> Tensor:
    """How the later text of each pair relates to the earlier."""
    lengths = mask.sum(1).long()
    order = lengths.argsort()
    logits = []
    for rows in order.chunk(_CHUNKS):  # Of about equal lengths: little is computed for nothing.
        longest = int(lengths[rows[-1]])
        some, seen = ids[rows, :longest], mask[rows, :longest]
        told = model.relations(model(some, seen, compare=True).float())
        logits.append((told * seen[..., None]).sum(1) / seen.sum(1, keepdim=True))
    return torch.cat(logits)[order.argsort()]


def ending_odds(logits: Tensor, rules: Tensor) -> Tensor:
    """The log odds that the later text of each pair ends the earlier; facts are not withdrawn."""
    ends = torch.zeros_like(logits, dtype=torch.bool)
    ends[:, _ENDS] = True
    ends[:, _WITHDRAWS] = rules
    parts = logits.float()
    ended, stands = parts.masked_fill(~ends, -1e4), parts.masked_fill(ends, -1e4)
    return torch.logsumexp(ended, dim=-1) - torch.logsumexp(stands, dim=-1)


def choice_loss(model: Encoder, batch: Batch) -> Tensor:
    """A softmax for each line over all that it may end, and none of these."""
    odds = ending_odds(pair_logits(model, batch["ids"], batch["mask"]), batch["rules"])
    owners, right = batch["owners"], batch["right"]
    told = torch.zeros(len(right), len(odds) + 1, device=odds.device).fill_(-1e4)
    told[owners, torch.arange(len(odds), device=odds.device)] = odds
    told[:, -1] = 0
    return F.cross_entropy(told, torch.where(right < 0, len(odds), right))


def retrieval_loss(model: Encoder, batch: Batch, start: Encoder | None, keep: float) -> Tensor:
    """A softmax over all turns of the batch; `keep` times how far the vectors are from those of
    `start`."""
    asked = model.embed(batch["asked"], batch["asked mask"])
    texts = model.embed(batch["texts"], batch["texts mask"])
    loss = F.cross_entropy(20 * asked @ texts.T - 1e4 * batch["masked"], batch["right"])
    if start is None:
        return loss
    with torch.no_grad():
        before = start.embed(batch["texts"], batch["texts mask"])
        asked_before = start.embed(batch["asked"], batch["asked mask"])
    return loss + keep * (2 - (texts * before).sum(1).mean() - (asked * asked_before).sum(1).mean())


class Batches(torch.utils.data.Dataset[dict[str, Batch]]):
    """What each step learns from, drawn by the seed and the number of the step."""

    def __init__(self, data: dict[str, Any], options: argparse.Namespace) -> None:
        self.options = options
        self.turns, self.pairs, talks = (
            [x for x in data[name] if x["split"] == "train"]
            for name in ("turns", "pairs", "retrieval")
        )
        self.related = [pair for pair in self.pairs if pair["label"] or "in_set" in pair]
        others = [pair for pair in self.pairs if not (pair["label"] or "in_set" in pair)]
        self.missed = [pair for pair in others if pair["ends"]]
        self.unrelated = [pair for pair in others if not pair["ends"]]
        choices = [each for each in data["choices"] if each["split"] == "train"]
        #: Lines that end a rule, that end none, and lines that state a fact.
        self.choices = [
            [each for each in choices if each["is_rule"] and each["right"]],
            [each for each in choices if each["is_rule"] and not each["right"]],
            [each for each in choices if not each["is_rule"]],
        ]
        self.retrieval = Retrieval(talks)

    def __len__(self) -> int:
        return int(self.options.steps)

    def __getitem__(self, step: int) -> dict[str, Batch]:
        options, draw = self.options, random.Random(self.options.seed * 1_000_003 + step)
        pairs = self.some_pairs(draw)
        ids, mask = padded([pair_row(pair, draw) for pair in pairs])
        wanted = torch.tensor([pair["label"] for pair in pairs])
        made = {"pairs": {"ids": ids, "mask": mask, "wanted": wanted}}
        if options.batch:
            turns = draw.sample(self.turns, min(options.batch, len(self.turns)))
            made["tags"] = tag_batch(turns, draw)
        if options.choices:
            some = [
                each
                for kind, share in zip(self.choices, _SHARES, strict=True)
                for each in draw.sample(kind, min(round(share * options.choices), len(kind)))
            ]
            made["choices"] = choice_batch(some, options.most, draw)
        if options.questions:
            made["retrieval"] = self.retrieval.batch(draw, options.conversations, options.questions)
        return made

    def some_pairs(self, draw: random.Random) -> list[dict[str, Any]]:
        """Pairs of which a share are related, or in a set of look-alikes; of the others half have a
        line that ends something else."""
        count = self.options.pairs
        near = min(round(count * self.options.related_share), len(self.related))
        missed = min((count - near) // 2, len(self.missed))
        far = min(count - near - missed, len(self.unrelated))
        drawn = ((self.related, near), (self.missed, missed), (self.unrelated, far))
        return [pair for some, number in drawn for pair in draw.sample(some, number)]


def begun(options: argparse.Namespace) -> Encoder:
    """The encoder from which training starts."""
    model = from_onnx(options.base)
    if options.compare_from:
        model.take_comparing(from_onnx(options.compare_from))
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = options.dropout
    return model


def trained_parts(
    model: Encoder, options: argparse.Namespace
) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The linear layers on top, and the rest, of what is trained."""
    model.train()
    if options.compare_alone:
        model.eval().requires_grad_(False)
        model.comparing.train().requires_grad_(True)
        model.relations.requires_grad_(True)
        return list(model.relations.parameters()), list(model.comparing.parameters())
    heads = [*model.columns.parameters(), *model.relations.parameters()]
    return heads, [p for p in model.parameters() if not any(p is head for head in heads)]


def train(data: dict[str, Any], options: argparse.Namespace) -> Encoder:
    """A trained encoder."""
    torch.manual_seed(options.seed)
    device = options.device
    model = begun(options).to(device)
    start = from_onnx(options.keep_to or options.base).to(device).eval() if options.keep else None
    batches = Batches(data, options)
    weights = pair_weights(batches).to(device)
    heads, slow = trained_parts(model, options)
    optimiser = torch.optim.AdamW(
        [{"params": slow, "lr": options.rate}, {"params": heads, "lr": 2e-3}],
        weight_decay=0.01,
    )
    warm = max(1, min(options.steps // 12, _WARM))
    began = time.time()

    def done(step: int) -> float:
        late = (time.time() - began) / options.seconds if options.seconds else 0.0
        return max(step / options.steps, late)

    plan = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda n: min((n + 1) / warm, max(0.0, (1 - done(n)) / (1 - warm / options.steps))),
    )
    workers = options.workers
    # Not by descriptors: each would be asked of a worker that is busy with the next batch.
    torch.multiprocessing.set_sharing_strategy("file_system")
    loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=workers)
    report = Report(max(1, min(options.steps // 12, _REPORT)))
    for drawn in loader:
        batch = {name: {k: v.to(device) for k, v in part.items()} for name, part in drawn.items()}
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            each = losses(model, batch, start, weights, options)
        optimiser.zero_grad(set_to_none=True)
        counted = (1.0, options.pair_weight, options.choice_weight, options.retrieval_weight)
        loss = sum(weight * loss for weight, loss in zip(counted, each, strict=True))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        plan.step()
        report.add(*each)
        if done(report.step) >= 1:
            break
    return model.eval()


def losses(
    model: Encoder,
    batch: dict[str, Batch],
    start: Encoder | None,
    weights: Tensor,
    options: argparse.Namespace,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of tags, pairs, choices and retrieval."""
    pairs = batch["pairs"]
    logits = pair_logits(model, pairs["ids"], pairs["mask"])
    wanted, smoothing = pairs["wanted"], options.smoothing
    related = F.cross_entropy(logits, wanted, weight=weights, label_smoothing=smoothing)
    tags = chosen = found = related.new_zeros(())
    if "tags" in batch:
        tags = tag_loss(model, batch["tags"])
    if "choices" in batch:
        chosen = choice_loss(model, batch["choices"])
    if "retrieval" in batch:
        found = retrieval_loss(model, batch["retrieval"], start, options.keep)
    return tags, related, chosen, found


class Report:
    """Prints the mean losses now and then."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.began = time.time()
        self.step = 0
        self.sums: Tensor | None = None

    def add(self, *losses: Tensor) -> None:
        """Take up the losses of a step."""
        self.step += 1
        now = torch.stack([each.detach().float() for each in losses])
        self.sums = now if self.sums is None else self.sums + now
        if self.step % self.every == 0:
            means = " ".join(
                f"{name} {value:.3f}"
                for name, value in zip(
                    ("tags", "pairs", "choices", "retrieval"),
                    (self.sums / self.every).tolist(),
                    strict=True,
                )
            )
            print(f"step {self.step}: {means}, {time.time() - self.began:.0f} s", flush=True)
            self.sums = None


def pair_weights(batches: Batches) -> Tensor:
    """Rare relations count more: by the root of how rare they are among what is drawn."""
    near, far = (
        np.bincount([pair["label"] for pair in some], minlength=len(RELATIONS)) / len(some)
        for some in (batches.related, [*batches.missed, *batches.unrelated])
    )
    share = batches.options.related_share
    drawn = share * near + (1 - share) * far + 1e-4
    weights = np.sqrt(drawn.max() / drawn)
    return torch.tensor(weights / weights.mean(), dtype=torch.float)


# ----------------------------------------------------------------------
# Evaluation on the development part
# ----------------------------------------------------------------------


@torch.no_grad()
def evaluate(model: Encoder, data: dict[str, Any], device: str) -> dict[str, Any]:
    """Figures of tags, pairs, choices and retrieval on the development part, by language."""
    figures: dict[str, Any] = {}
    for lang in ("en", "other"):
        if turns := _to_develop(data["turns"], lang):
            figures |= {f"{lang} {k}": v for k, v in tag_figures(model, turns, device).items()}
    figures |= comparing_figures(model, data, device)
    figures["retrieval"] = retrieval_figures(model, data, device)
    return figures


@torch.no_grad()
def comparing_figures(model: Encoder, data: dict[str, Any], device: str) -> dict[str, Any]:
    """Figures of pairs and choices on the development part, by language."""
    figures: dict[str, Any] = {}
    for lang in ("en", "other"):
        pairs = _to_develop(data["pairs"], lang)
        if told := [x for x in pairs if "in_set" not in x]:
            figures |= {f"{lang} {k}": v for k, v in pair_figures(model, told, device).items()}
        if sets := [x for x in pairs if "in_set" in x]:
            figures[f"{lang} ends, sets"] = pair_figures(model, sets, device)["ends"]
        of: dict[str, list[dict[str, Any]]] = {}
        for each in _to_develop(data["choices"], lang):
            name = f"{lang} {'rules' if each['is_rule'] else 'facts'} of {each['of']}"
            of.setdefault(name, []).append(each)
        figures |= {name: choice_figures(model, some, device) for name, some in of.items()}
    return figures


def _to_develop(some: list[dict[str, Any]], lang: str) -> list[dict[str, Any]]:
    return [x for x in some if x["split"] == "dev" and (x["lang"] == "en") == (lang == "en")]


def tag_figures(model: Encoder, turns: list[dict[str, Any]], device: str) -> dict[str, Any]:
    """Precision, recall and count of every column of a line, and of where lines begin."""
    guessed, wanted, starts = [], [], [0, 0, 0]
    for begin in range(0, len(turns), 64):
        batch = {k: v.to(device) for k, v in tag_batch(turns[begin : begin + 64], None).items()}
        columns = model.columns(model(batch["ids"], batch["mask"]).float())
        guessed.append(line_logits(columns, batch["spans"]).cpu() > 0)
        wanted.append(batch["labels"].cpu())
        told, real = (
            (columns[..., 0] > 0) & (batch["tokens"][..., 3] > 0),
            batch["tokens"][..., 0] > 0,
        )
        found = (told & real).sum(), told.sum(), real.sum()
        starts = [a + int(b) for a, b in zip(starts, found, strict=True)]
    guess, truth = torch.cat(guessed), torch.cat(wanted)
    figures = {"start": prf(*starts)}
    for column, name in enumerate((*TAGS, *KINDS, "me", "other")):
        known = truth[:, column] >= 0
        g, t = guess[known, column], truth[known, column] > 0.5
        figures[name] = prf(int((g & t).sum()), int(g.sum()), int(t.sum()))
    return figures


def pair_figures(model: Encoder, pairs: list[dict[str, Any]], device: str) -> dict[str, Any]:
    """Precision, recall and count of every relation, and of those that end something."""
    table = np.zeros((len(RELATIONS), len(RELATIONS)), dtype=int)
    for begin in range(0, len(pairs), 128):
        some = pairs[begin : begin + 128]
        ids, mask = padded([pair_row(pair, None) for pair in some])
        told = pair_logits(model, ids.to(device), mask.to(device)).argmax(1).tolist()
        for pair, label in zip(some, told, strict=True):
            table[pair["label"], label] += 1
    figures = {
        name: prf(int(table[n, n]), int(table[:, n].sum()), int(table[n].sum()))
        for n, name in enumerate(RELATIONS)
    }
    ends = [RELATIONS.index(name) for name in ("replaces", "corrects", "withdraws")]
    told = int(table[np.ix_(ends, ends)].sum())
    return figures | {
        "ends": prf(told, int(table[:, ends].sum()), int(table[ends].sum())),
        "table": table.tolist(),
    }


def choice_figures(model: Encoder, choices: list[dict[str, Any]], device: str) -> dict[str, Any]:
    """How often what a line ends is the likeliest of all; precision, recall, how many, where it is
    likelier than not; and how often another is, so that it would end if the right one were not
    known. By the mean of the ways to read the line, of facts the last of them."""
    best = right = told = wrong = 0
    ending = [each for each in choices if each["right"]]
    for begin in range(0, len(choices), 16):
        some = choices[begin : begin + 16]
        ways = [each["ways"] if each["is_rule"] else each["ways"][-1:] for each in some]
        read = [
            each | {"right": [], "others": [*each["right"], *each["others"]], "ways": [way]}
            for each, of in zip(some, ways, strict=True)
            for way in of
        ]
        batch = {name: part.to(device) for name, part in choice_batch(read, 99, None).items()}
        odds = ending_odds(pair_logits(model, batch["ids"], batch["mask"]), batch["rules"])
        rows = iter(odds.cpu().split([len(each["others"]) for each in read]))
        for each, of in zip(some, ways, strict=True):
            mean = torch.stack([next(rows) for _ in of]).mean(0)
            is_right = int(mean.argmax()) < len(each["right"])
            is_told = bool(mean.max() > 0)
            wrong += bool(each["right"]) and bool((mean[len(each["right"]) :] > 0).any())
            best, told, right = best + is_right, told + is_told, right + (is_right and is_told)
    likeliest, another = (round(count / max(len(ending), 1), 3) for count in (best, wrong))
    return {"likeliest": likeliest, "told": prf(right, told, len(ending)), "another": another}


def retrieval_figures(model: Encoder, data: dict[str, Any], device: str) -> dict[str, Any]:
    """Recall in the first 10, and how often the newest comes before what is outdated."""
    found: dict[str, list[float]] = {}
    for talk in data["retrieval"]:
        if talk["split"] != "dev" or not talk["questions"]:
            continue
        texts = [Retrieval.text(turn, 2) for turn in talk["turns"]]
        rows = embedded(model, texts, device)
        asked = embedded(model, [q[:48] for q, *_ in talk["questions"]], device)
        order = (asked @ rows.T).argsort(1, descending=True).tolist()
        for ranking, (_, right, _old) in zip(order, talk["questions"], strict=True):
            hit = sum(each in ranking[:10] for each in right) / len(right)
            found.setdefault(talk["style"], []).append(hit)
    return {style: (round(sum(some) / len(some), 3), len(some)) for style, some in found.items()}


@torch.no_grad()
def embedded(model: Encoder, rows: list[list[int]], device: str) -> Tensor:
    """The vectors of many texts."""
    made = []
    for n in range(0, len(rows), 64):
        ids, mask = padded(rows[n : n + 64])
        made.append(model.embed(ids.to(device), mask.to(device)))
    return torch.cat(made)


def prf(right: int, told: int, wanted: int) -> tuple[float, float, int]:
    """Precision, recall, how many."""
    return round(right / max(told, 1), 3), round(right / max(wanted, 1), 3), wanted


def save(model: Encoder, folder: Path) -> None:
    """The weights in halves of single precision, in files of at most 15 MB."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, np.ndarray]] = [{}]
    size = 0
    for name, value in model.state_dict().items():
        array = value.detach().cpu().numpy().astype(np.float16)
        rows = math.ceil(array.nbytes / 14_000_000)
        for n, piece in enumerate(np.array_split(array, rows) if rows > 1 else [array]):
            if size + piece.nbytes > 15_000_000:
                parts.append({})
                size = 0
            parts[-1][name if rows == 1 else f"{name}#{n}"] = piece
            size += piece.nbytes
    for n, part in enumerate(parts):
        np.savez(folder / f"weights-{n}.npz", **part)


def averaged(folders: list[Path]) -> Encoder:
    """The mean of models that were trained from the same start."""
    every = [read(folder) for folder in folders]
    model = Encoder()
    mean = {name: np.mean([one[name] for one in every], axis=0) for name in every[0]}
    model.load_state_dict({name: torch.tensor(value) for name, value in mean.items()})
    return model


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, default=BASE)
    parser.add_argument(
        "--average", type=Path, nargs="*", help="folders of trained models: no training"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seconds", type=float, help="end sooner, when so long has passed")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--conversations", type=int, default=16)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--retrieval-weight", type=float, default=1.0)
    parser.add_argument("--keep", type=float, default=0.0, help="hold the vectors to the base's")
    parser.add_argument("--keep-to", type=Path, help="hold them to those of another shipped file")
    parser.add_argument("--compare-alone", action="store_true", help="the rest stays as it is")
    parser.add_argument("--compare-from", type=Path, help="begin to compare as this file does")
    parser.add_argument("--pair-weight", type=float, default=1.5)
    parser.add_argument("--related-share", type=float, default=0.12)
    parser.add_argument("--choices", type=int, default=24, help="lines with what they may end")
    parser.add_argument("--most", type=int, default=8, help="earlier lines of each")
    parser.add_argument("--choice-weight", type=float, default=1.0)
    parser.add_argument("--pairs", type=int, default=256, help="pairs of a batch")
    parser.add_argument("--smoothing", type=float, default=0.03, help="of the labels of pairs")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if options.compare_alone:
        options.batch = options.questions = options.keep = 0
    return options


def main() -> None:
    """Train one model, print its figures, save it."""
    options = asked()
    data = read_prepared(options.data)
    model = averaged(options.average) if options.average else train(data, options)
    model = model.to(options.device).eval()
    save(model, options.out)
    figures = evaluate(model, data, options.device)
    (options.out / "figures.json").write_text(json.dumps(figures))
    for name, value in figures.items():
        print(name, value)


if __name__ == "__main__":
    main()
