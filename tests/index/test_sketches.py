"""Documents chosen by sketches of all of them, beside an exact look at all."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.index import pieces
from holdfast.index.packed import from_pieces
from holdfast.index.sketches import GRAPH, MACHINE, TURN, Rarity, Sketches, Sought
from holdfast.index.view import packed
from holdfast.language.terms import term_id
from holdfast.store.values import DocumentRows, KeptIndex, SignRows, Space
from holdfast.types import Scope

ANN = Scope("home", "ann")
DIM = 100  # Neither whole words nor whole bytes of bits.
SESSION = 10
SPACE = Space(3, "bench", DIM, 1, "active")


def vectors_of(count: int, *, seed: int = 1) -> NDArray[np.float32]:
    """Vectors that have something in common, as those of texts have."""
    chance = np.random.default_rng(seed)
    topics = np.random.default_rng(0).normal(size=(20, DIM))
    rows = chance.normal(size=(count, 20)) @ topics + 2.0 * chance.normal(size=(count, DIM))
    rows = rows.astype(np.float32)
    units: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def id_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def signs_of(vectors: NDArray[np.float32], first: int = 0) -> SignRows:
    names = b"".join(id_of(first + number) for number in range(len(vectors)))
    return SignRows(names, np.packbits(vectors > 0, axis=1))


def documents_of(texts: list[str], first: int = 0, kind: int = TURN) -> DocumentRows:
    """Turns of sessions of ten, one after another."""
    numbers = np.arange(first, first + len(texts))
    rows = [packed(text.split()) for text in texts]
    return DocumentRows(
        b"".join(id_of(number) for number in numbers.tolist()),
        (numbers // SESSION).astype(np.int64),
        numbers.astype(np.int64),
        np.array([length for _, length in rows], dtype=np.int32),
        np.full(len(texts), kind, dtype=np.uint8),
        np.array([len(terms) for terms, _ in rows], dtype=np.int32),
        b"".join(terms for terms, _ in rows),
    )


def sketched(
    texts: list[str], vectors: NDArray[np.float32], kind: int = TURN, *, most: int = 1 << 16
) -> Sketches:
    parts = [documents_of(texts[at : at + most], at, kind) for at in range(0, len(texts), most)]
    return Sketches(DIM, 0).extended(
        parts, signs_of(vectors), change=len(texts), vector_change=len(texts)
    )


def sought(
    words: str,
    vector: NDArray[np.float32] | None,
    texts: list[str],
    *,
    naming: frozenset[int] = frozenset(),
    most: int = 30,
    person: float = 0.0,
) -> Sought:
    held = Counter(word for text in texts for word in set(text.split()))
    idfs = [math.log(1 + (len(texts) - held[word] + 0.5) / (held[word] + 0.5))
            for word in words.split()]  # fmt: skip
    rarity = Rarity(idfs, sum(len(text.split()) for text in texts) / len(texts))
    return Sought(
        np.array([term_id(word) for word in words.split()], dtype=np.uint64),
        dict.fromkeys(("documents", "people", "windows", "sessions"), rarity),
        naming,
        vector,
        most,
        person,
    )


def texts_of(count: int) -> list[str]:
    chance = np.random.default_rng(3)
    numbers = (chance.zipf(1.4, size=(count, 8)) % 500).tolist()
    return [" ".join(f"w{number}" for number in row) for row in numbers]


def test_the_nearest_are_chosen() -> None:
    vectors, probes = vectors_of(20_000), vectors_of(20, seed=2)
    texts = ["nothing"] * len(vectors)
    sketches, shares = sketched(texts, vectors), []
    for probe in probes:
        best = {id_of(doc) for doc in np.argsort(-(vectors @ probe))[:10].tolist()}
        chosen = sketches.chosen(sought("", probe, texts))
        # That they are all found does not come from choosing everything.
        assert len(chosen) < 1_000
        shares.append(len(best & chosen.keys()) / 10)
    assert np.mean(shares) >= 0.93


def test_who_holds_the_rarest_words_is_chosen_however_far_it_is() -> None:
    vectors, texts = vectors_of(20_000), texts_of(20_000)
    texts[7_777] = "w1 zebra w2 quagga"
    sketches = sketched(texts, vectors, most=3_000)
    asked = sought("zebra quagga w1", -vectors[7_777], texts)
    assert id_of(7_777) in sketches.chosen(asked)
    assert id_of(7_777) in sketches.chosen(sought("zebra w1", None, texts))


def test_the_turns_beside_one_that_may_answer_come_with_it() -> None:
    vectors, texts = vectors_of(20_000), texts_of(20_000)
    texts[5_004] = "zebra quagga"
    chosen = sketched(texts, vectors).chosen(sought("zebra quagga", vectors[5_004], texts))
    assert {id_of(number) for number in range(5_002, 5_007)} <= chosen.keys()
    # What it tells of the words in a session is told of all its turns alike.
    told = {round(chosen[id_of(number)], 4) for number in range(5_002, 5_007)}
    assert len(told) == 1
    assert told.pop() == max(round(each, 4) for each in chosen.values())


def test_a_word_that_names_something_puts_its_documents_before_the_others() -> None:
    vectors, texts = vectors_of(20_000), texts_of(20_000)
    for number in range(0, 20_000, 500):
        texts[number] = "w3 code77"
    sketches, probe = sketched(texts, vectors), vectors_of(1, seed=9)[0]
    named = {id_of(number) for number in range(0, 20_000, 500)}
    asked = "w1 w2 w4 w5 w6 w7 code77"
    assert named <= sketches.chosen(sought(asked, probe, texts, naming=frozenset({6}))).keys()
    assert not named <= sketches.chosen(sought(asked, probe, texts)).keys()


def test_people_are_preferred_where_their_words_are_asked_for() -> None:
    vectors = np.repeat(vectors_of(1), 6_000, axis=0)
    texts = ["w1 w2"] * 6_000
    rows = documents_of(texts)
    kinds = np.where(np.arange(6_000) % 60 == 0, TURN, TURN | MACHINE).astype(np.uint8)
    sketches = Sketches(DIM, 0).extended(
        [rows._replace(kinds=kinds)], signs_of(vectors), change=1, vector_change=1
    )
    chosen = sketches.chosen(sought("w1", vectors[0], texts, most=100, person=1.0))
    assert {id_of(number) for number in range(0, 6_000, 60)} <= chosen.keys()


def test_the_graph_has_places_of_its_own() -> None:
    vectors = vectors_of(6_000)
    texts = ["w1"] * 6_000
    sketches = sketched(texts, vectors).extended(
        [documents_of(["w2"] * 50, 6_000, GRAPH)], signs_of(-vectors[:50], 6_000),
        change=2, vector_change=2,
    )  # fmt: skip
    chosen = sketches.chosen(sought("w1", vectors[0], texts))
    assert sum(id_of(number) in chosen for number in range(6_000, 6_050)) >= 20
    assert id_of(0) in chosen


def test_more_disturbs_nobody_who_searches() -> None:
    vectors, texts = vectors_of(500), texts_of(500)
    before = sketched(texts[:400], vectors[:400])
    after = before.extended(
        [documents_of(texts[400:], 400)], signs_of(vectors[400:], 400), change=5, vector_change=6
    )
    assert (before.change, after.change, after.vector_change) == (400, 5, 6)
    assert (len(before), len(after)) == (400, 500)
    assert before.size_bytes < after.size_bytes
    whole = sketched(texts, vectors)
    asked = sought("w1 w3 w9", vectors[450], texts)
    assert id_of(450) not in before.chosen(asked)
    assert after.chosen(asked) == whole.chosen(asked)


def test_what_is_known_and_comes_again_is_there_once() -> None:
    vectors, texts = vectors_of(100), texts_of(100)
    sketches = sketched(texts, vectors)
    again = sketches.extended(
        [documents_of(texts[:50])], signs_of(vectors[:0]), change=200, vector_change=200
    )
    assert len(again) == 100
    assert again.chosen(sought("w1 w3", vectors[3], texts)) == sketches.chosen(
        sought("w1 w3", vectors[3], texts)
    )


def test_a_vector_may_come_before_its_document_or_long_after() -> None:
    vectors, texts = vectors_of(6_000), ["w1"] * 6_000
    early = Sketches(DIM, 0).extended([], signs_of(vectors), change=0, vector_change=9)
    assert len(early) == 0
    assert early.chosen(sought("w1", vectors[0], texts)) == {}
    late = Sketches(DIM, 0).extended(
        [documents_of(texts)], signs_of(vectors[:0]), change=9, vector_change=0
    )
    assert late.chosen(sought("w1", vectors[0], texts))
    whole = sketched(texts, vectors).chosen(sought("w1", vectors[17], texts))
    assert id_of(17) in whole
    for part in (
        early.extended([documents_of(texts)], signs_of(vectors[:0]), change=9, vector_change=9),
        late.extended([], signs_of(vectors), change=9, vector_change=9),
    ):
        assert part.chosen(sought("w1", vectors[17], texts)) == whole


def test_of_several_passages_the_nearest_counts() -> None:
    vectors, texts = vectors_of(6_000), ["w1"] * 6_000
    two = SignRows(
        signs_of(vectors).records + signs_of(vectors[:3_000], 3_000).records,
        np.concatenate([signs_of(vectors).bits, signs_of(vectors[:3_000]).bits]),
    )
    sketches = Sketches(DIM, 0).extended([documents_of(texts)], two, change=1, vector_change=1)
    chosen = sketches.chosen(sought("w1", vectors[40], texts))
    assert {id_of(40), id_of(3_040)} <= chosen.keys()


def test_bytes_give_back_the_sketches_they_were_made_of() -> None:
    vectors = vectors_of(60)
    texts = [f"word{number % 7} plain text {number}" for number in range(60)]
    one = sketched(texts, vectors, most=25)
    more = np.concatenate([vectors, vectors_of(5, seed=2)])  # Two of a document, and one too early.
    names = b"".join(map(id_of, [*range(60), 3, 3, 9, 70, 71]))
    several = Sketches(DIM, 0).extended(
        [documents_of(texts)], SignRows(names, np.packbits(more > 0, axis=1)),
        change=60, vector_change=65,
    )  # fmt: skip
    for made in (one, several, Sketches(DIM, 0)):
        kept = KeptIndex(made.change, made.to_pieces(ANN, SPACE.id))
        again = Sketches.from_pieces(kept, ANN, SPACE, 4)
        assert again is not None
        assert (again.epoch, again.change, len(again)) == (4, made.change, len(made))
        assert again.vector_change == made.vector_change
        for number in range(0, 60, 7):
            asked = sought(f"word3 {number}", vectors[number], texts)
            assert again.chosen(asked) == made.chosen(asked)
        late = documents_of(["late"] * 15, 60)
        signs = signs_of(vectors_of(1, seed=3), 74)
        grown = [
            each.extended([late], signs, change=75, vector_change=75) for each in (made, again)
        ]
        asked = sought("late", vectors_of(5, seed=2)[3], [*texts, *["late"] * 15])
        assert grown[0].chosen(asked) == grown[1].chosen(asked)


def test_what_are_no_bytes_of_these_sketches_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_PIECE_BYTES", 200)
    kept = KeptIndex(20, sketched(["some words"] * 20, vectors_of(20)).to_pieces(ANN, SPACE.id))
    assert len(kept.pieces) > 3
    assert Sketches.from_pieces(kept, ANN, SPACE, 0) is not None
    assert Sketches.from_pieces(kept, Scope("home", "bob"), SPACE, 0) is None
    assert Sketches.from_pieces(kept._replace(change=21), ANN, SPACE, 0) is None
    assert Sketches.from_pieces(kept, ANN, replace(SPACE, id=SPACE.id + 1), 0) is None
    for number, piece in enumerate(kept.pieces):
        for wrong in ([b"x" + piece[1:]], []):
            damaged = [*kept.pieces[:number], *wrong, *kept.pieces[number + 1 :]]
            assert Sketches.from_pieces(kept._replace(pieces=damaged), ANN, SPACE, 0) is None
    assert from_pieces(kept.pieces, ANN, 20) is None, "they are no feed"


def test_sessions_that_go_on_in_turns_are_found_as_those_one_after_another() -> None:
    texts = texts_of(300)
    vectors = vectors_of(300)
    whole = sketched(texts, vectors)
    apart = Sketches(DIM, 0)
    for first in (0, 5):  # Half of each session, then the other: they no longer lie as they came.
        some = [number for number in range(300) if first <= number % SESSION < first + 5]
        rows = [documents_of([texts[number]], number) for number in some]
        signs = SignRows(
            b"".join(map(id_of, some)), np.packbits(vectors[np.array(some)] > 0, axis=1)
        )
        apart = apart.extended(rows, signs, change=first + 1, vector_change=first + 1)
    assert whole._is_in_order
    assert not apart._is_in_order
    for number in range(0, 300, 13):
        asked = sought(texts[number], vectors[number], texts, naming=frozenset({0}))
        assert apart.chosen(asked) == whole.chosen(asked)


def test_nothing_is_chosen_where_there_is_nothing() -> None:
    assert Sketches(DIM, 0).chosen(sought("w1", vectors_of(1)[0], ["w1"])) == {}
