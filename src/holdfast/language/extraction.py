"""Extraction by rules alone: names, relations, dates, preferences and decisions of turns.

The default where no model is installed, and the frame that the one with a model fills in: only
names and relations differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from holdfast.language import dates
from holdfast.language.dates import Date
from holdfast.language.lexicon import word_set
from holdfast.language.mentions import Kinds, KnownNames, Mention, Names, Span, Turn
from holdfast.language.regex import regex
from holdfast.language.relations import (
    MentionedRelation,
    Speakers,
    distinct,
    pattern_relations,
    tells,
)
from holdfast.language.sentences import STOPS, is_denied, opens_clause, sentence_spans

# ----------------------------------------------------------------------
# What a speaker likes, dislikes and has decided, told by the words that say so.
#
# Only plain statements of the speaker count: a question, a wish ("I'd love to") or somebody
# else's taste is none. The texts are verbatim parts of the turn.
# ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preference:
    """What somebody likes or dislikes."""

    holder: str
    #: What it is about, verbatim.
    target: str
    likes: bool
    #: How it reads between the two: "likes", "is allergic to"; empty where it is denied without
    #: saying what holds instead: "I don't think I like it".
    verb: str
    #: The clause that says so, and where it stands.
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody has decided."""

    holder: str
    text: str
    start: int
    end: int


_ADVERB = (
    r"(?:(?:really|absolutely|truly|always|totally|also|just|still|actually|definitely|much|so"
    r"|usually|generally|mostly|particularly|especially|kinda|simply|do|even) )*"
)
# What ends the object of a taste: the next clause.
_TARGET = (
    r"(?P<target>(?!(?:it|that|this|them|you|him|her|how|what|when|your|is|are|was|to see|to hear"
    rf"|to say|to think|hearing|seeing that)\b)[^{STOPS},;:\n–—()]{{2,80}}?)"
    rf"(?=\s*(?:[{STOPS},;:\n–—()]|\s-\s|\s(?:because|since|but|so|and (?:I|it|we|he|she|they)|when"
    r"|as it|which|although|though|while|even)\b|$))"
)
_I = r"(?:^|(?<=[\s\"“(]))(?:I|we)"
_LIKES = regex(
    rf"{_I} (?:{_ADVERB}(?:love|like|enjoy|adore|prefer|appreciate|favou?r)|am {_ADVERB}(?:fond of"
    rf"|a (?:big |huge )?fan of|into|passionate about|crazy about|keen on)) {_TARGET}"
    rf"|(?:^|\bI)['’]m {_ADVERB}(?:fond of|a (?:big |huge )?fan of|passionate about|crazy about"
    rf"|keen on|really into) {_TARGET.replace('target', 'being')}",
    re.I,
)
_DISLIKES = regex(
    rf"{_I} (?:{_ADVERB}(?:hate|dislike|loathe|detest|can['’]?t stand|cannot stand|can['’]?t bear"
    r"|avoid)|(?:really )?(?:don['’]t|do not|never|didn['’]t) (?:really |much )?(?:like|enjoy|care"
    rf" for|love|eat|drink)) {_TARGET}"
    rf"|\bI(?: am|['’]m) (?:not (?:a (?:big |huge )?fan of|into|keen on|fond of)|allergic to|sick"
    rf" of|tired of) {_TARGET.replace('target', 'being')}",
    re.I,
)
_FAVOURITE = regex(
    r"\b[Mm]y (?:all-time )?(?P<what>favou?rite [\w -]{2,40}?) (?:is|are|has to be|was) "
    rf"(?P<target>(?!when\b|how\b|that\b|not\b|never\b|no\b)[^{STOPS},;\n]{{2,60}})"
)
#: What is not liked is one thing, what is not eaten, borne or allowed another: each as it was said.
_AVERSIONS = (
    (regex(r"\ballergic to\b", re.I), "is allergic to"),
    (regex(r"\bavoid\b", re.I), "avoids"),
    (regex(r"(?:n['’]t|\bnot|\bnever) (?:really |much )?eat\b", re.I), "does not eat"),
    (regex(r"(?:n['’]t|\bnot|\bnever) (?:really |much )?drink\b", re.I), "does not drink"),
)
_WISH = regex(r"\b(?:would|['’]d|if|wish)\b", re.I)
_DECIDES = regex(
    r"(?:^|(?<=[\s\"“(]))(?:I|we)(?:['’]ve| have)?(?: (?:just|finally|also|both|already|recently"
    r"|actually|all|now))* (?:decided|chose|chosen|agreed|settled on|picked|opted|resolved"
    r"|made up (?:my|our) minds?|committed to|concluded|went with)\b"
    r"|\b(?:I|we)(?:['’]re|['’]m| are| am|['’]ll| will)(?: definitely)? (?:go(?:ing)? with"
    r"|sticking with|switching to)\b"
    r"|\b(?:let['’]s|let us) (?:go with|stick with|settle on)\b"
    r"|\b(?:the|our|my) (?:final )?decision is\b|^(?:decision|decided):?\s",
    re.I,
)
_UNDECIDED = regex(
    r"\b(?:have|has|had|did)(?:n['’]t| not| yet to)\b|\bnot (?:yet )?decided|\bif\b", re.I
)


def preferences(text: str, holder: str) -> Iterator[Preference]:
    """What the speaker likes and dislikes."""
    if not holder:
        return
    for start, sentence in _statements(text):
        if _WISH.search(sentence):
            continue
        for pattern, likes in ((_DISLIKES, False), (_LIKES, True), (_FAVOURITE, True)):
            if found := pattern.search(sentence):
                if not _is_said_of_self(sentence, found.start()):
                    break
                groups = found.groupdict()
                target = (groups.get("target") or groups.get("being") or "").strip()
                where = start + found.start(), start + found.end()
                denied = likes and is_denied(sentence, found.start(), found.start() + 1)
                verb = "" if denied else "likes" if likes else _aversion(found.group())
                said = text[slice(*where)].strip()
                yield Preference(holder, target, likes and not denied, verb, said, *where)
                break


def _is_said_of_self(sentence: str, start: int) -> bool:
    """Whether "I love" says so, and does not only tell which thing is meant: "the games I love"."""
    return sentence[start : start + 3].lower() == "my " or opens_clause(sentence, start)


def _aversion(said: str) -> str:
    """How somebody's dislike reads."""
    return next((verb for pattern, verb in _AVERSIONS if pattern.search(said)), "dislikes")


def decisions(text: str, holder: str) -> Iterator[Decision]:
    """What the speaker has decided, each as its whole sentence."""
    if not holder:
        return
    for start, sentence in _statements(text):
        found = _DECIDES.search(sentence)
        if found and not _UNDECIDED.search(sentence) and not _denied_before(sentence, found.end()):
            begin = start + len(sentence) - len(sentence.lstrip())
            end = start + len(sentence.rstrip())
            yield Decision(holder, text[begin:end], begin, end)


def _denied_before(sentence: str, end: int) -> bool:
    return is_denied(sentence, end - 1, end)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    for start, end in sentence_spans(text):
        if not text.endswith("?", start, end):
            yield start, text[start:end]


# ----------------------------------------------------------------------
# Whether a text is in a language that these rules read, told by its small words.
# ----------------------------------------------------------------------

#: Only what no neighbouring language writes alike: "die", "was", "in" and "on" tell nothing.
_ENGLISH = word_set("""
the and of my your with that this these those for from have has had were are been they their it its
what when where who would could should about because there which not but you our at an be if she his
her him them just so than then into some any how why does did doing don didn doesn isn wasn can ve
ll
""")
_FOREIGN = word_set("""
ich und nicht ist das der den dem ein eine einen einem einer mein meine meinen meiner mit für auf
auch wir von zu zum zur bei im wenn aber noch nur habe hat haben bin sind seit wird werde uns mir
mich
je et le les des une est mon mes avec pour dans que qui pas sur au aux nous vous il elle suis mais
chez depuis notre
el los las una y con por para mi mis está es soy muy pero como del tengo vivo desde nuestro
gli della che per sono mio mia non di è ho nel nella anche questo
os uma com não meu minha em é eu mas foi são
ik het een niet mijn en van ook zijn heb naar bij maar wij
jag och att är inte på som jeg og ikke av til har det
się nie jest na że moja mój do z w czy
ve bir bu için çok benim
""")
_LETTERS = regex(r"[^\W\d_]+")
#: So many small words without a single English one are not English.
_ENOUGH_WORDS = 6


def is_read(text: str) -> bool:
    """Whether a text is in the language that these rules read; one too short to tell is."""
    words = _LETTERS.findall(text)
    if sum(map(len, words)) < 2 * sum(len(word) for word in words if not _is_latin(word)):
        return False
    low = [word.lower() for word in words]
    english = sum(word in _ENGLISH for word in low) + words.count("I")
    foreign = sum(word in _FOREIGN for word in low)
    small = sum(word.islower() and len(word) > 1 for word in words)
    return foreign <= english and (english > 0 or small < _ENOUGH_WORDS)


def _is_latin(word: str) -> bool:
    return word < "\u0250"


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one turn says."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[MentionedRelation, ...] = ()
    preferences: tuple[Preference, ...] = ()
    decisions: tuple[Decision, ...] = ()
    dates: tuple[Date, ...] = ()

    def in_order(self) -> Extracted:
        """The same, each kind in the order of the text."""

        def start(each: Mention | MentionedRelation | Preference | Decision | Date) -> int:
            return each.start

        return Extracted(
            tuple(sorted(self.mentions, key=start)),
            self.relations,
            tuple(sorted(self.preferences, key=start)),
            tuple(sorted(self.decisions, key=start)),
            tuple(sorted(self.dates, key=start)),
        )


class Extractor(Protocol):
    """Reads turns of one conversation, in order.

    Promises of every extractor: one result per turn, in the order of the turns; offsets are into
    the text of that turn; the same turns give the same results; no text makes it raise.
    """

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        """What each turn says, names told by all of them together."""


class RulesExtractor:
    """Extraction without a model."""

    def extract(self, turns: Sequence[Turn]) -> list[Extracted]:
        """What each turn says, names told by all of them together."""
        people = speakers(turns)
        names = Names([turn.text for turn in turns], people)
        spans = spread_names(turns, [names.runs(turn.text) for turn in turns], people)
        mentions = type_mentions(turns, spans, people)
        return [
            assemble(turn, found, pattern_relations(turn.text, found, who), who)
            for turn, found in zip(turns, mentions, strict=True)
            for who in (who_speaks(turn, people),)
        ]


def speakers(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The named speakers, in the order of their first turns."""
    return tuple(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))


def who_speaks(turn: Turn, people: Sequence[str]) -> Speakers:
    """Who "I" and "you" are in a turn; "you" only where exactly two speak."""
    others = [name for name in people if name != turn.speaker]
    return Speakers(turn.speaker, others[0] if len(people) == 2 and len(others) == 1 else None)


def spread_names(
    turns: Sequence[Turn], spans: Sequence[Sequence[Span]], people: Sequence[str]
) -> list[list[Span]]:
    """The spans, and wherever else in the group one of these names or a speaker's stands."""
    names = {turn.text[a:b] for turn, found in zip(turns, spans, strict=True) for a, b in found}
    known = KnownNames(names | set(people))
    return [
        sorted([*found, *known.spread(turn.text, found)])
        for turn, found in zip(turns, spans, strict=True)
    ]


def type_mentions(
    turns: Sequence[Turn],
    spans: Sequence[Sequence[Span]],
    people: Sequence[str],
    labels: Sequence[dict[Span, str]] | None = None,
) -> list[tuple[Mention, ...]]:
    """The spans with their types; one name has one type in the whole group."""
    kinds = Kinds(people)
    for place, (turn, found) in enumerate(zip(turns, spans, strict=True)):
        for span in found:
            kinds.see(turn.text, *span, labels[place].get(span) if labels else None)
    return [
        tuple(Mention(turn.text[a:b], a, b, kinds.of(turn.text[a:b])) for a, b in found)
        for turn, found in zip(turns, spans, strict=True)
    ]


def assemble(
    turn: Turn,
    mentions: tuple[Mention, ...],
    relations: Iterable[MentionedRelation],
    who: Speakers,
) -> Extracted:
    """Everything that one turn says."""
    names = {who.speaker, who.other, *(mention.text for mention in mentions)}
    return Extracted(
        mentions,
        tuple(
            replace(each, telling=tells(each, named=each.target in names))
            for each in distinct(relations)
        ),
        tuple(preferences(turn.text, turn.speaker)),
        tuple(decisions(turn.text, turn.speaker)),
        tuple(_dates(turn)),
    )


def _dates(turn: Turn) -> Iterator[Date]:
    at = 0
    for time in dates.spans(turn.text, turn.at):
        start = turn.text.find(time.phrase, at)
        if start < 0:  # Not in the order of the text.
            start = turn.text.find(time.phrase)
        if start >= 0:
            at = start + len(time.phrase)
            yield Date(time.phrase, start, at, time.start, time.end, time.exact)
