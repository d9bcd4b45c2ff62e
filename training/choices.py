"""Which of several earlier lines a line ends, if any: what the comparison learns beside pairs.

A pair alone says "ends" or "does not". In use a line is compared with every rule in force, and ends
the likeliest: so the trainer is shown a line, the one that it ends and others that it might, and
learns by a softmax over these and "none". From three sources:

- conversations: a line that ends a rule among the rules in force, a line that gives one and ends
  none, and the same of facts among those nearest to it
- sets (`sets/`): a line that ends the earlier one of its set, among rules of other sets
- lists (`lists/`): rules that hold at once, or facts (`facts_*`), and later lines that end one of
  them or none

A line is read in the ways in which `learn/drafts_from_lines.py` reads it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.learn.drafts_from_lines import ways_to_read
from holdfast.models.local import LocalEmbedder
from training.labels import Conversation, Line, LineSet, Turn, read_lists, read_sets

ENDING = ("replaces", "corrects", "withdraws")
#: Rules of others beside those of a line's own conversation, and where it has none.
_BESIDE, _STRANGE = 3, 9
#: Rules of others that are as near to what is ended as this may be ended too.
_TOO_NEAR = 0.4
#: Facts nearest to a line; and one in so many lines that state a fact and end none.
_FACTS, _ONE_IN = 12, 4
#: The first ways to read a line, in which facts are compared: the last of these in use.
_FACT_WAYS = 2

Choice = dict[str, Any]


def of_conversations(
    conversations: Sequence[Conversation], split: Callable[[Conversation], str]
) -> Iterator[Choice]:
    """Lines of conversations, with what each might end."""
    embedder, draw = LocalEmbedder(), random.Random(5)
    for conversation in conversations:
        gone: set[str] = set()
        lines = conversation.lines
        facts = [ref for ref, line in lines.items() if line.facts and not line.rules]
        rows = dict(
            zip(facts, embedder.embed([lines[ref].text for ref in facts] or [""]), strict=False)
        )
        seen: list[str] = []
        for ref, line in lines.items():
            ended = [earlier for label, earlier in line.pairs if label in ENDING]
            related = {earlier for _, earlier in line.pairs}
            turn = ref.split(".")[0]
            before = [one for one in seen if one not in gone and one.split(".")[0] != turn]
            rules = [one for one in before if lines[one].rules]
            names = set(line.withdraws)
            right_rules = [one for one in rules if names & _names(lines[one])]
            other_rules = [one for one in rules if one not in right_rules and one not in ended]
            shared = {
                "of": "talk",
                "lang": conversation.head["lang"],
                "split": split(conversation),
            }
            if right_rules or (other_rules and line.rules and not names):
                yield shared | {
                    "is_rule": True,
                    "ways": ways(conversation, ref),
                    "right": [lines[one].text for one in right_rules],
                    "others": [lines[one].text for one in other_rules],
                }
            right = [one for one in ended if one in rows and one in before]
            if ref in rows and (right or draw.randrange(_ONE_IN) == 0):
                near = _nearest(ref, [one for one in before if one in rows], rows)
                chain = _same_chain(conversation, ref)
                others = [
                    one for one in near if one not in right and (one not in chain or one in related)
                ]
                if others or right:
                    yield shared | {
                        "is_rule": False,
                        "ways": ways(conversation, ref)[:_FACT_WAYS],
                        "right": [lines[one].text for one in right],
                        "others": [lines[one].text for one in others[:_FACTS]],
                    }
            # Of a line that gives a rule and states a fact, the fact alone may be replaced.
            gone.update(right_rules, (one for one in ended if not lines[one].rules))
            seen.append(ref)


def _names(line: Line) -> set[str]:
    return {str(rule["name"]) for rule in line.rules}


def _nearest(ref: str, known: Sequence[str], rows: dict[str, NDArray[np.float32]]) -> list[str]:
    return sorted(known, key=lambda one: -float(rows[one] @ rows[ref]))


def _same_chain(conversation: Conversation, ref: str) -> set[str]:
    """Lines that tell the same thing: whether one of these is ended is not known if it is not
    labelled."""
    chains = [{one for one, _ in told} for told in conversation.chains().values()]
    return {one for chain in chains if ref in chain for one in chain}


def ways(conversation: Conversation, ref: str) -> list[tuple[str, str]]:
    """Ways to read a line: a text, and what stood before it."""
    number, place = (int(part) for part in ref.split("."))
    said = conversation.turns[number]
    text, earlier, later = (
        said.lines[place - 1].text, said.lines[: place - 1], said.lines[place : place + 1]
    )  # fmt: skip
    before, after = (
        " ".join(line.text for line in some if not _is_anothers(line))
        for some in (earlier[-1:], later)
    )
    is_own = not any(map(_is_anothers, earlier))
    turn = Turn("user", "", said.at, earlier).content if is_own else before
    last = conversation.turns[number - 1] if number else said
    is_heard = (last.role, last.session) == ("assistant", said.session)
    heard = last.content if is_heard else ""
    return ways_to_read(text, before=before, after=after, turn=turn, heard=heard)


def _is_anothers(line: Line) -> bool:
    return not {"quote", "others"}.isdisjoint(line.acts)


def of_sets(folder: Path) -> Iterator[Choice]:
    """Lines that end a rule of a set; others are drawn later."""
    for path in sorted(folder.glob("*.txt")):
        for number, each in enumerate(read_sets(path)):
            if each.earlier.rules:
                yield from _of_set(each, "dev" if number % 10 == 7 else "train")


def _of_set(each: LineSet, split: str) -> Iterator[Choice]:
    for relation, line in each.later:
        is_end = relation in ENDING
        yield {
            "of": "sets",
            "ways": [(line.text, "")],
            "lang": each.lang,
            "split": split,
            "is_rule": True,
            "right": [each.earlier.text] if is_end else [],
            "others": [] if is_end else [each.earlier.text],
        }


def of_lists(folder: Path) -> Iterator[Choice]:
    """Later lines of lists, each with all rules of its list."""
    for path in sorted(folder.glob("*.txt")):
        for number, each in enumerate(read_lists(path)):
            is_rule = not path.stem.startswith("facts")
            for ended, before, line in each.later:
                found = [(line, ""), (line, before), (f"{before} {line}".strip(), "")]
                yield {
                    "of": "lists",
                    "ways": found if is_rule else found[:_FACT_WAYS],
                    "lang": each.lang,
                    "split": "dev" if number % 10 == 7 else "train",
                    "is_rule": is_rule,
                    "right": [each.rules[ended - 1]] if ended else [],
                    "others": [rule for n, rule in enumerate(each.rules, 1) if n != ended],
                }


def with_strangers(choices: Sequence[Choice]) -> None:
    """Add rules of others to those that a line might end, in the same language, and not of the same
    kind as what it ends."""
    embedder, draw = LocalEmbedder(), random.Random(6)
    told = [each for each in choices if each["is_rule"]]
    pools: dict[str, list[str]] = {}
    for each in told:
        pools.setdefault(f"{each['lang']} {each['split']}", []).extend(
            [*each["right"], *each["others"]]
        )
    texts = list(dict.fromkeys(rule for pool in pools.values() for rule in pool))
    rows = dict(zip(texts, embedder.embed(texts), strict=True))
    pools = {name: list(dict.fromkeys(pool)) for name, pool in pools.items()}
    for each in told:
        if not each["right"]:
            continue
        pool = pools[f"{each['lang']} {each['split']}"]
        drawn = draw.sample(pool, min(len(pool), 3 * _STRANGE))
        wanted = _BESIDE if each["others"] else _STRANGE
        far = [
            rule
            for rule in drawn
            if all(float(rows[rule] @ rows[one]) < _TOO_NEAR for one in each["right"])
        ]
        each["others"] = list(dict.fromkeys([*each["others"], *far[:wanted]]))
