"""Relations from a parsed sentence: the subjects of a verb, the verb phrase, its objects.

A parse is any sequence of tokens with spaCy's attributes; this module does not import spaCy. A
clause that is asked, denied, wished or only supposed gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from holdfast.language.names.spans import Mention, Span
from holdfast.language.relations import patterns as vocabulary
from holdfast.language.relations.patterns import MentionedRelation, Speakers, roles, typed

#: A token of a parse; untyped here because spaCy is an extra.
Token = Any

_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "attr", "oprd")
_NAMED, _CONCEPT = 0.9, 0.7
_LONGEST_CONCEPT = 4  # Words.
_LONGEST_PHRASE = 80  # Characters.
#: So far up or along a parse is looked, and at so many words that hang on one: a text may be one
#: endless sentence.
_DEEPEST = 8
_MOST_CHILDREN = 64


class End(NamedTuple):
    """One end of a relation."""

    name: str
    #: Whether it is a name or a person who speaks, and not only a noun.
    named: bool
    token: Token


class ParsedClause(NamedTuple):
    """A verb with what it needs to be read."""

    verb: Token
    subjects: list[End]
    #: The words before the verb that belong to it: "decided to".
    lead: str


class Parse:
    """A parsed text with its names and its speakers."""

    def __init__(self, doc: Any, mentions: Sequence[Mention], who: Speakers) -> None:
        self._doc = doc
        self._who = who
        self._mentions = mentions
        self._at = {
            place: mention for mention in mentions for place in range(mention.start, mention.end)
        }
        self._dates: list[Span] = [
            (ent.start_char, ent.end_char)
            for ent in doc.ents
            if ent.label_ in vocabulary.NUMBER_LABELS
        ]

    def relations(self) -> Iterator[MentionedRelation]:
        """Everything the text states, in its order."""
        yield from roles(self._doc.text, self._mentions, self._who)
        for sentence in self._doc.sents:
            if sentence.text.rstrip(" \"'”)").endswith("?"):
                continue
            for token in sentence:
                if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
                    yield from self._of_verb(token)

    def _of_verb(self, verb: Token) -> Iterator[MentionedRelation]:
        clause = self._clause(verb)
        if clause and clause.subjects and not _is_doubtful(verb):
            yield from self._stated(clause)

    def _clause(self, verb: Token, left: int = _DEEPEST) -> ParsedClause | None:
        """A verb with its subjects, its own or those of the verb above; None without any."""
        subjects = [child for child in verb.children if child.dep_ in _SUBJECTS]
        if subjects:
            ends = [end for each in subjects for end in self._sources(each, verb)]
            if len(subjects) > 1:  # "Your cousin Petra called": two to the parser, one person.
                ends = [end for end in ends if end.named]
            return ParsedClause(verb, ends, "")
        if left and verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX"):
            above = self._clause(verb.head, left - 1)
            return above and ParsedClause(verb, above.subjects, "")
        if left and verb.dep_ == "xcomp" and verb.head.pos_ == "VERB":
            return self._governed(verb, left - 1)
        return None

    def _governed(self, verb: Token, left: int) -> ParsedClause | None:
        """As in "decided to cancel"; of "hope to visit" nothing follows."""
        above = verb.head
        if above.lemma_ in vocabulary.WISHES or _is_doubtful(above):
            return None
        if any(child.dep_ == "dobj" for child in above.children):
            return None  # "Asked me to come": the object does it, not the subject.
        clause = self._clause(above, left)
        between = self._doc.text[above.idx : verb.idx]
        return clause and ParsedClause(verb, clause.subjects, clause.lead + between)

    def _sources(self, token: Token, verb: Token) -> list[End]:
        found: list[End] = []
        for each in (token, *_joined(token)):
            if each.tag_ in ("WDT", "WP") and verb.dep_ == "relcl":
                each = verb.head  # noqa: PLW2901 - "who" is the noun before it.
            end = self._third(each, verb) if each.lower_ in ("he", "she") else self._end(each)
            if end:
                found.append(end)
        return found

    def _third(self, token: Token, verb: Token) -> End | None:
        """He or she, where the verb above has one named subject: "Sven told me he ..."."""
        if verb.dep_ != "ccomp":
            return None
        above = [child for child in verb.head.children if child.dep_ in _SUBJECTS]
        end = self._end(above[0]) if len(above) == 1 else None
        return end if end and end.named and above[0].pos_ == "PROPN" else None

    def _end(self, token: Token) -> End | None:
        """What a token stands for; None where that is nothing to speak of."""
        if token.pos_ == "PRON" or token.tag_ in ("PRP", "PRP$"):
            person = self._who.person(token.text)
            return End(person, True, token) if person else None
        for child in token.children:
            if child.dep_ in ("appos", "acl") and (renamed := self._renaming(child)):
                return End(renamed.text, True, token)
        mention = self._at.get(token.idx)
        if mention and mention.end >= token.idx + len(token.text):
            return End(mention.text, True, token)
        return self._concept(token)

    def _renaming(self, child: Token) -> Mention | None:
        """The name in "my sister Clara", "a puppy named Biscuit"."""
        if child.dep_ == "appos":
            name = self._at.get(child.idx) if child.head.pos_ == "NOUN" else None
            called = name and name.text == self._who.other and _is_called(child)
            return None if called else name
        if child.lemma_ not in ("name", "call"):
            return None
        names = [self._at.get(each.idx) for each in child.children if each.dep_ == "oprd"]
        return names[0] if names else None

    def _concept(self, token: Token) -> End | None:
        if token.pos_ not in ("NOUN", "PROPN") or token.lemma_.lower() in vocabulary.VAGUE:
            return None
        if any(start <= token.idx < end for start, end in self._dates):
            return None
        if any(each.lower_ == "no" for each in token.lefts):
            return None
        first = _first_of_noun(token)
        name = self._doc[first : token.i + 1].text
        named = any(each.idx in self._at for each in self._doc[first : token.i])
        owner = self._owner(token)
        return End(f"{owner}'s {name}" if owner else name, named, token)

    def _owner(self, token: Token) -> str | None:
        for child in token.children:
            if child.dep_ == "poss":
                mention = self._at.get(child.idx)
                return mention.text if mention else self._who.person(child.text)
        return None

    def _stated(self, clause: ParsedClause) -> Iterator[MentionedRelation]:
        phrase = clause.lead + _verb_phrase(clause.verb)
        direct = [child for child in clause.verb.children if child.dep_ in _OBJECTS]
        for child in direct:
            yield from self._direct(clause, phrase, child)
        for child in clause.verb.children:
            if child.dep_ in ("prep", "agent"):
                yield from self._through(clause, phrase, child, alone=not direct)
            elif child.dep_ == "acomp":
                for prep in child.children:
                    if prep.dep_ == "prep":
                        yield from self._through(clause, f"{phrase} {child.text}", prep, alone=True)

    def _direct(
        self, clause: ParsedClause, phrase: str, child: Token
    ) -> Iterator[MentionedRelation]:
        if child.dep_ == "attr" and clause.verb.lemma_ == "be":
            yield from self._is(clause, phrase, child)
            return
        for each in (child, *_joined(child)):
            target = self._end(each)
            if target and not (each.dep_ == "conj" and not target.named):
                yield from self._claims(clause, phrase, target._replace(name=_unowned(target)))
        for prep in child.children:
            if prep.dep_ == "prep":
                yield from self._through(clause, f"{phrase} {child.text}", prep, alone=False)

    def _is(self, clause: ParsedClause, phrase: str, child: Token) -> Iterator[MentionedRelation]:
        """As in "is the coach of Real Oviedo", "my favourite city is Bologna"."""
        target = self._end(child)
        if target and target.named:
            for subject in clause.subjects:
                owner = self._owner(subject.token)
                if owner and not subject.named:
                    said = f"{subject.name.removeprefix(owner + chr(39) + 's ')} {phrase}"
                    yield typed(owner, said, target.name, _span(clause.verb, child), _NAMED)
        for prep in child.children:
            if prep.dep_ == "prep":
                yield from self._through(clause, f"{phrase} {child.text}", prep, alone=True)

    def _through(
        self, clause: ParsedClause, phrase: str, prep: Token, *, alone: bool
    ) -> Iterator[MentionedRelation]:
        """Over a preposition; a bare noun counts only where there is no direct object."""
        words = f"{phrase} {prep.text}"
        for child in prep.children:
            if child.dep_ == "prep" and len(words) < _LONGEST_PHRASE:  # "out of"
                yield from self._through(clause, words, child, alone=alone)
            elif child.dep_ == "pobj":
                yield from self._targets(clause, words, child, alone=alone)

    def _targets(
        self, clause: ParsedClause, words: str, child: Token, *, alone: bool
    ) -> Iterator[MentionedRelation]:
        for each in (child, *_joined(child)):
            target = self._end(each)
            if target is None or self._is_date(each):
                continue
            if target.named or (alone and not _is_loose(clause.verb, child.head)):
                yield from self._claims(clause, words, target._replace(name=_unowned(target)))
        for prep in child.children:
            if prep.dep_ == "prep" and clause.verb.lemma_ == "work" and alone:
                yield from self._through(clause, f"{words} {child.text}", prep, alone=False)

    def _is_date(self, token: Token) -> bool:
        return any(start <= token.idx < end for start, end in self._dates)

    def _claims(
        self, clause: ParsedClause, phrase: str, target: End
    ) -> Iterator[MentionedRelation]:
        spoken = target.token.pos_ == "PRON"
        if spoken and clause.verb.lemma_ == "be" and phrase.rpartition(" ")[2] in vocabulary.LOOSE:
            return  # "I'm here for you"
        if _is_called(target.token):
            return
        for subject in clause.subjects:
            if spoken and not subject.named:
                continue  # "Your help means a lot to me"
            confidence = _NAMED if subject.named and target.named else _CONCEPT
            relation = typed(
                subject.name, phrase, target.name, _span(subject.token, target.token), confidence
            )
            known = relation.type != "related_to"
            # A noun that nobody bears or owns is worth a node only in a claim of a known type.
            if subject.named or known or target.named or "'s " in subject.name:
                yield relation


def _is_called(token: Token) -> bool:
    """Whether a name only calls somebody: "I'll take the bet, James!"."""
    first = int(token.left_edge.i)
    return first > 0 and bool(token.dep_ != "conj" and token.doc[first - 1].text == ",")


def _is_loose(verb: Token, prep: Token) -> bool:
    """Whether a preposition says when, how or why: only a name after it is worth a relation."""
    if prep.head == verb and verb.lemma_ == "be":
        return True  # "I'm on the lookout"
    return prep.dep_ != "agent" and prep.lower_ in vocabulary.LOOSE


def _joined(token: Token) -> Iterator[Token]:
    """What is listed with a word: "Jonas, Farid and Ewa"."""
    for _ in range(_DEEPEST):
        following = next((child for child in token.children if child.dep_ == "conj"), None)
        if following is None:
            return
        yield following
        token = following


def _first_of_noun(token: Token) -> int:
    """Where a noun begins with the adjectives and nouns right before it."""
    first = int(token.i)
    while token.i - first < _LONGEST_CONCEPT - 1 and first > 0:
        before = token.doc[first - 1]
        if before.dep_ not in ("amod", "compound", "nmod") or before.pos_ in ("NUM", "PUNCT"):
            break
        first -= 1
    return first


def _verb_phrase(verb: Token) -> str:
    """The verb with its auxiliaries and particles, without adverbs."""
    parts = [
        child
        for child in verb.children
        if child.dep_ in ("aux", "auxpass", "prt") and child.tag_ != "TO"
    ]
    ordered = sorted([*parts, verb], key=lambda each: int(each.i))
    return " ".join(vocabulary.FULL.get(each.lower_, each.text) for each in ordered)


def _unowned(end: End) -> str:
    return end.name if end.named else end.name.rpartition("'s ")[2]


def _span(one: Token, other: Token) -> Span:
    first, last = sorted((one, other), key=lambda each: int(each.i))
    return int(first.idx), int(last.idx) + len(last.text)


def _is_doubtful(verb: Token) -> bool:
    """Whether a clause, or one it hangs on, is denied, wished or supposed."""
    token, below = verb, None
    for _ in range(_DEEPEST):
        if _has_doubt(token, below):
            return True
        if token.dep_ not in ("ccomp", "xcomp", "conj", "advcl") or token.head.i == token.i:
            break
        token, below = token.head, token
    return False


def _has_doubt(token: Token, below: Token | None) -> bool:
    for child in islice(token.children, _MOST_CHILDREN):
        if child.dep_ == "neg" or child.lower_ in vocabulary.DOUBTS:
            return True
        if child.dep_ == "aux" and child.lower_ in vocabulary.MODALS:
            return True
        if child.dep_ == "advcl" and any(mark.lower_ in vocabulary.IF for mark in child.children):
            return True
        if child.dep_ in ("mark", "advmod") and child.lower_ in vocabulary.IF:
            return True
    return below is not None and below.dep_ != "conj" and token.lemma_ in vocabulary.WISHES
