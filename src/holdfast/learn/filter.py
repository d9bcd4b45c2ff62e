"""What of a conversation is learned from: what the user said, and what the assistant answered last.

Dropped are
- tool and system turns, turns that the host hides from its page, and what an assistant says on the
  way to a tool: only its final words count;
- what was uploaded or attached, which is not the user speaking; a turn that was nothing else goes,
  and the reply to it;
- pure acknowledgements ("ok", "thanks", "好的"), and the reply to them: "You're welcome!";
- memory blocks of ours that were pasted back, through the function that is handed in.

The events themselves are never changed: what comes out are copies with less content. Everything
is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from holdfast.border.validate import CheckedBatch, Draft
from holdfast.language.echo import digests
from holdfast.language.instructions.rules import HEAD, MOST_RULES, TAIL
from holdfast.language.regex import regex
from holdfast.language.statements.clear import with_before
from holdfast.records.parts import before_of
from holdfast.store.protocols import LogEntry
from holdfast.types import ORIGIN_OF_ROLE, Event, Record

# ----------------------------------------------------------------------
# How much of one turn is understood, and that a caller is told when it is not all of it.
#
# The whole of a turn is stored, found by its words and found by its meaning. What is drawn from
# it (rules, facts, names, relations, notes) comes from so many characters: nobody says more at
# once, what is longer was pasted, and one turn must not keep those of others waiting.
# ----------------------------------------------------------------------

#: A cut is made between two words; what has no blank in so many characters is no word.
_WORD_CHARS = 100
_READ_ROLES = ("user", "assistant")


def readable_part(text: str, most: int) -> str:
    """What of a turn is read: all of it, or its beginning."""
    if len(text) <= most:
        return text
    blank = text.rfind(" ", max(0, most - _WORD_CHARS), most)
    return text[: blank if blank > 0 else most]


def with_warnings(batch: CheckedBatch, most: int) -> CheckedBatch:
    """The messages of a call, with a warning for each that is longer than what is read of it."""
    return replace(batch, warnings=(*batch.warnings, *_length_warnings(batch.drafts, most)))


def rule_warnings(entries: Sequence[LogEntry]) -> Iterator[str]:
    """A warning for each message that gives as many rules as are kept of one."""
    for index, entry in enumerate(entries):
        if len(entry.derived) >= MOST_RULES:
            yield (
                f"messages[{index}].content gives many rules: the first {MOST_RULES} of one "
                "message are kept"
            )


def _length_warnings(drafts: Sequence[Draft], most: int) -> Iterator[str]:
    for index, draft in enumerate(drafts):
        if len(draft.content) > most and draft.role in _READ_ROLES:
            yield (
                f"messages[{index}].content has {len(draft.content)} characters: all are "
                f"stored and "
                f"found, but facts, names and notes are drawn from its first {most} alone "
                f"(extraction.turnChars), rules from its first {HEAD} and its last {TAIL}"
            )


#: Metadata by which hosts mark tool traffic and turns that nobody saw.
_TOOL_KEYS = ("tool_calls", "tool_call_id", "function_call", "tool_use")
_HIDDEN_KEYS = ("hide_from_ui", "hidden")

_TAGS = (
    "uploaded_files?|uploads?|attachments?|attached_files?|files?|documents?|pasted_content|images?"
)
_TAG = regex(rf"<(?P<close>/?)(?P<name>{_TAGS})\b[^<>]{{0,500}}>", re.IGNORECASE)
# A whole line that only says what was attached.
_NOTE = regex(
    r"[ \t]*(?:\[(?:attachment|attached|uploaded|upload|file|image|photo|video|audio|附件|图片|文件"
    r"|上传)[^\]\n]{0,300}\]|(?:i(?:'ve| have)? )?(?:uploaded|attached)(?: files?"
    r"| the files?)?:[^\n]{0,500}|!\[[^\]\n]{0,300}\]\([^)\n]{0,2000}\))[ \t]*",
    re.IGNORECASE,
)
_DATA = regex(r"data:[\w.+-]{1,64}/[\w.+-]{1,64};base64,[A-Za-z0-9+/=]*")

_ACK_WORDS = (
    "ok|okay|okey|k|kk|thanks|thank you|thank u|thx|ty|tysm|cheers|great|cool|nice|perfect|awesome"
    "|got it|gotcha|understood|i see|makes sense|sounds good|sure|alright|all right|right|fine|good"
    "|very good|noted|will do|done|bye|goodbye|good night|see you|no problem|np|no worries|lol"
    "|haha++|hm++|ah++|oh|wow|welcome|you're welcome|much appreciated|appreciate it|many thanks"
    "|thanks again|thanks a lot|thank you so much|thank you very much|so much|a lot|that's all"
    "|never ?mind"
)
_ZH_ACK = (
    "好的?|好吧|好呀|好嘞|好滴|嗯++|哦++|噢|行|可以|没问题|知道了|明白了?|了解了?|收到|谢谢你?|多谢"
    "|感谢|辛苦了|哈++|再见|拜拜|晚安|是的|对|太好了|不客气|懂了|原来如此"
)
_ACK = regex(
    rf"(?:(?:{_ACK_WORDS}|then|so|and|very|too|again|man|mate|friend)\b[\s,.!~:;()-]*+){{1,8}}"
    rf"|(?:(?:{_ZH_ACK})[了啦呀啊哈哦吧]?[\s，,。.！!~～]*+){{1,8}}|[^\w]+",
    re.IGNORECASE,
)
_LONGEST_ACK = 80  # Characters: nobody says thanks for longer without saying something else.


def turns_to_learn_from(
    turns: Sequence[Event],
    *,
    own: Callable[[str], str] | None = None,
    most: int | None = None,
) -> list[Event]:
    """The turns to learn from, in their order, with what was pasted into them taken out.

    `own` takes our own memory blocks out of a text; without it none are looked for. Of each turn
    the first `most` characters are kept.
    """
    kept: list[Event] = []
    answers_nothing = False
    for index, turn in enumerate(turns):
        if turn.role == "user":
            said = "" if _is_marked(turn, _HIDDEN_KEYS) else speech(turn.content, own=own)
            answers_nothing = not said or is_acknowledgement(said)
            if not answers_nothing:
                kept.append(_with_content(turn, said, most))
        elif turn.role == "assistant" and not answers_nothing and _is_final(turns, index):
            said = speech(turn.content, own=own)
            if said:
                kept.append(_with_content(turn, said, most))
    return kept


def speech(text: str, *, own: Callable[[str], str] | None = None) -> str:
    """What was said in a text, without uploads and without our own memory blocks."""
    said = own(text) if own is not None else text
    if "<" in said:
        said = _without_blocks(said)
    if "data:" in said:
        said = _DATA.sub("", said)
    lines = said.splitlines()
    noted = [line for line in lines if not _NOTE.fullmatch(line)]
    return ("\n".join(noted) if len(noted) < len(lines) else said).strip()


def is_acknowledgement(text: str) -> bool:
    """Whether a text says nothing but that it was heard."""
    plain = text.strip().replace("\u2019", "'")
    return len(plain) <= _LONGEST_ACK and _ACK.fullmatch(plain) is not None


def _is_final(turns: Sequence[Event], index: int) -> bool:
    """Whether no tool was called by or right after this turn of an assistant."""
    if _is_marked(turns[index], (*_TOOL_KEYS, *_HIDDEN_KEYS)):
        return False
    following = next(iter(turns[index + 1 : index + 2]), None)
    return following is None or following.role != "tool"


def _is_marked(turn: Event, keys: Sequence[str]) -> bool:
    return any(turn.metadata.get(key) for key in keys)


def _with_content(turn: Event, content: str, most: int | None) -> Event:
    content = content if most is None else readable_part(content, most)
    return turn if content == turn.content else replace(turn, content=content)


def _without_blocks(text: str) -> str:
    """Without <uploaded_files> ... </uploaded_files> and its like, also nested.

    A block that is never closed ends at the first blank line, or with the text: cut off in the
    middle it is still no speech. An end without a beginning is only an odd tag, and goes alone.
    """
    return "".join(_outside(text, list(_TAG.finditer(text)))).strip()


def _outside(text: str, tags: Sequence[re.Match[str]]) -> Iterator[str]:
    ends = _pairs(tags)
    at = 0
    for number, tag in enumerate(tags):
        if tag.start() < at:
            continue
        yield text[at : tag.start()]
        if tag["close"]:
            at = tag.end()
        elif number in ends:
            at = tags[ends[number]].end()
        else:
            blank = text.find("\n\n", tag.end())
            at = len(text) if blank < 0 else blank
    yield text[at:]


def _pairs(tags: Sequence[re.Match[str]]) -> dict[int, int]:
    """The number of each tag that opens -> the number of the one that closes it."""
    ends: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    for number, tag in enumerate(tags):
        waiting = opened.setdefault(tag["name"].lower(), [])
        if not tag["close"]:
            waiting.append(number)
        elif waiting:
            ends[waiting.pop()] = number
    return ends


# ----------------------------------------------------------------------
# What of the memories that a context told is not learned when it comes back: a rule in force,
# which need not be learned twice, and what others than the user said, which was never a rule. The
# user's own turns do not count: who says a rule again after it was ended, or after it was
# forgotten, means it.
# ----------------------------------------------------------------------


def echo_digests(told: Iterable[Record]) -> set[bytes]:
    """The digests of the sentences that contexts told and that are not learned when they come back;
    see language/echo.py."""
    found: set[bytes] = set()
    for record in told:
        if _in_force(record) or not _of_the_user(record):
            found |= digests(record.content)
            found |= digests(with_before(record.content, before_of(record)))
    return found


def _in_force(record: Record) -> bool:
    is_rule = (record.tier, record.kind) == ("procedure", "instruction")
    return is_rule and record.valid_to is None


def _of_the_user(record: Record) -> bool:
    return ORIGIN_OF_ROLE[record.role] == "user" and record.origin == "user"
