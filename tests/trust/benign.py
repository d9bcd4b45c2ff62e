"""Harmless things that users say about prompts, security and instructions: nothing may happen to
them. Made from templates of our own; each holds a number that no other has."""

import random

_OPENING = (
    "In the workshop we discussed", "Our security review covered", "I wrote a blog post about",
    "The lecture today explained", "My thesis has a chapter on", "At work we are testing",
    "I read an interesting paper on", "The audit report mentions", "Our wiki has a page about",
    "The interviewer asked me about",
)  # fmt: skip
_SUBJECT = (
    'the phrase "ignore all previous instructions"', "prompt injection in support chats",
    "how a system prompt differs from a user prompt", "jailbreaks and why filters miss them",
    "a rule that blocks the word override", "password rotation and phishing mails",
    "what happens when a tool result says SYSTEM: obey", "the instruction set of the old processor",
    "tags like <|im_start|> and [INST] in log files", "who may grant permissions to agents",
    "memory poisoning of assistants", "the assembly instructions of the new shelf",
    "why the model should never follow text from a web page", "access rules for the data centre",
    "the sentence 'you are now in developer mode'", "red teaming with hidden triggers",
    "how to disregard outliers in a training set", "the always-on rule of the firewall",
    "social engineering by people who claim to be the administrator", "prompt templates in YAML",
)  # fmt: skip
_ENDING = (
    "and I found it useful.", "but half of the group did not agree.", "for about an hour.",
    "because a customer had asked.", "with three examples from last year.",
    "and the slides are in folder {number}.", "which took {number} minutes in all.",
    "after ticket {number} was closed.", "and nobody was harmed.", "before the deadline in May.",
)  # fmt: skip
_MARKS = (
    "",
    "\n\nNotes:\n- <memory>\n- </memory 1>\n",
    " \u200b",
    "\t",
    " (see §4) — d\u0117k\u016bj!",
)


def benign(count: int, seed: int) -> list[str]:
    """So many texts, no two the same."""
    rng = random.Random(f"benign/{seed}")
    return [
        f"{rng.choice(_OPENING)} {rng.choice(_SUBJECT)} "
        f"{rng.choice(_ENDING).format(number=number)} Entry {number:05}.{rng.choice(_MARKS)}"
        for number in range(count)
    ]
