"""A conversation as one text -> messages.

A line may begin a turn with a prefix: a role ("user:", "Assistant:") or a name ("Ann:"). Whether
the text is a dialogue at all is decided for the whole text, because a note has lines such as
"Note: buy milk" too:

- By roles, if two lines begin with user, assistant, human or ai, or if the first line begins with
  a role and one of its lines begins with user or assistant.
- By names, if the first line begins with a name and at least two lines do, no line begins with
  user or human, and the names are not a list of labels: three or more of them, each there once,
  are fields of a form. A name is one to three words with a capital; words that head notes and
  mails ("Note", "Subject") are not names.

Everything else is one user message, as it stands. After the colon there is a space or the end of
the line, so "http://", "12:30" and "C:\\" begin no turn; nor does a line inside a fenced block.
Nothing is dropped but prefixes and blank turns: what stands before the first turn is a user
message of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_ROLE_OF = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
}
#: Said by both sides of a chat; "System: Windows 11" alone is a note.
_SPEAKING = frozenset({"user", "human", "assistant", "ai"})

#: Words that head a line of a note, a mail, a form or an answer, and are nobody's name.
_HEADS = """
a action actions address age agenda also answer attachment attachments author bcc birthday
body bug caution cc city client code comment comments company conclusion config context
country currently date deadline decision decisions description details done due edit email
error example examples expected fact faq file files first fix fixed from fyi goal goals hint
homepage hours however idea ideas important info input instructions issue job key language
last later link links list location mail meeting method monday tuesday wednesday thursday
friday saturday sunday name next note notes occupation open output owner participants
password phone plan postscript prerequisites price priority problem pros cons ps q question
questions reason recipe reference references remember reminder reply requirements result
results risk risks rule rules second see sent shopping source sources status step steps
subject summary tags task tasks tel telephone then third time tip title tldr to today todo
tomorrow topic total update usage url username value version via warning website when where
who why yesterday
"""
_LABELS = frozenset(_HEADS.split())

_PREFIX = re.compile(
    r"[ \t]*(?P<bold>\*\*)?"
    r"(?P<who>[^\W\d_][^\W_]*(?:[.'’ -]{1,2}[^\W_]+){0,3}\.?)"
    r"(?(bold)(?:\*\*)?)[:：](?(bold)(?:\*\*)?)(?=\s|$|(?<=：))[ \t]*"
)
_MOST_NAME_CHARS = 40
_MOST_NAME_WORDS = 3
_FENCE = re.compile(r"[ \t]*(```|~~~)")


@dataclass(frozen=True, slots=True)
class _Turn:
    """Where a turn may begin: the prefix of a line."""

    line: int
    who: str
    #: Where the text begins, after the prefix.
    start: int

    @property
    def role(self) -> str | None:
        return _ROLE_OF.get(self.who.lower())

    @property
    def speaking(self) -> bool:
        return self.who.lower() in _SPEAKING


def messages_of(conversation: str) -> list[dict[str, str]]:
    """The messages of a conversation, as `remember` takes them; never empty."""
    lines = conversation.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    turns = _dialogue(_prefixes(lines), first)
    messages = _cut(lines, turns) if turns else []
    return messages or [{"role": "user", "content": conversation}]


def _prefixes(lines: Sequence[str]) -> list[_Turn]:
    """Every line that begins with a role or with what may be a name, outside fenced blocks."""
    found: list[_Turn] = []
    fenced = _fenced(lines)
    for number, line in enumerate(lines):
        match = None if number in fenced else _PREFIX.match(line)
        if match is None:
            continue
        who = " ".join(match["who"].split())
        if who.lower() in _ROLE_OF or _is_name(who):
            found.append(_Turn(number, who, match.end()))
    return found


def _fenced(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines in closed ``` blocks; a fence that never closes fences nothing."""
    fenced: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match is None:
            continue
        if opened is None:
            opened = (number, match[1])
        elif match[1] == opened[1]:
            fenced.update(range(opened[0], number + 1))
            opened = None
    return fenced


def _is_name(who: str) -> bool:
    words = who.replace("-", " ").split()
    if len(who) > _MOST_NAME_CHARS or len(words) > _MOST_NAME_WORDS:
        return False
    if any(word.strip(".").lower() in _LABELS for word in words):
        return False
    # Scripts without capitals pass; "buy milk" and "the plan" do not.
    return not words[0][0].islower() and not words[-1][0].islower()


def _dialogue(turns: Sequence[_Turn], first: int) -> list[_Turn]:
    """The prefixes that begin a turn; none when the text is no dialogue."""
    roles = [turn for turn in turns if turn.role]
    names = [turn for turn in turns if not turn.role]
    speaking = [turn for turn in roles if turn.speaking]
    chat = any(turn.who.lower() in ("user", "assistant") for turn in roles)
    by_roles = len(speaking) >= 2 or (chat and roles[0].line == first)
    if any(turn.role == "user" for turn in speaking):
        # The human is called user here: a name at the head of a line is text.
        return roles if by_roles else []
    both = sorted([*names, *(roles if by_roles or speaking else [])], key=lambda turn: turn.line)
    if names and names[0].line == first and len(both) >= 2 and not _is_form(both):
        return both
    return roles if by_roles else []


def _is_form(turns: Sequence[_Turn]) -> bool:
    """Three or more labels, each there once."""
    times = Counter(turn.who.lower() for turn in turns)
    return len(times) > 2 and max(times.values()) == 1


def _cut(lines: Sequence[str], turns: Sequence[_Turn]) -> list[dict[str, str]]:
    """The text of each turn, to the line before the next; blank turns are left out."""
    messages = [{"role": "user", "content": "\n".join(lines[: turns[0].line])}]
    ends = [*(turn.line for turn in turns[1:]), len(lines)]
    for turn, end in zip(turns, ends, strict=True):
        text = "\n".join([lines[turn.line][turn.start :], *lines[turn.line + 1 : end]])
        message = {"role": turn.role or "user", "content": text}
        if turn.role is None:
            message["name"] = turn.who
        messages.append(message)
    return [
        {**message, "content": message["content"].strip()}
        for message in messages
        if message["content"].strip()
    ]
