"""The nearest vectors by the signs of their dimensions, beside an exact search."""

import numpy as np
from numpy.typing import NDArray

from holdfast.index.large import Signs
from holdfast.store.values import SignRows

DIM = 100  # Neither whole words nor whole bytes of bits.


def made(count: int, *, seed: int = 1) -> NDArray[np.float32]:
    """Vectors that have something in common, as those of texts have."""
    chance = np.random.default_rng(seed)
    topics = np.random.default_rng(0).normal(size=(20, DIM))
    rows = chance.normal(size=(count, 20)) @ topics + 2.0 * chance.normal(size=(count, DIM))
    rows = rows.astype(np.float32)
    units: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def ids(first: int, count: int) -> list[bytes]:
    return [(first + number).to_bytes(16, "big") for number in range(count)]


def rows_of(vectors: NDArray[np.float32], first: int = 0, *, graph: bool = False) -> SignRows:
    names = b"".join(ids(first, len(vectors)))
    return SignRows(names, np.full(len(vectors), graph), np.packbits(vectors > 0, axis=1))


def test_the_nearest_are_among_those_that_are_named() -> None:
    vectors, probes = made(20_000), made(20, seed=2)
    signs = Signs(DIM, 0).extended(rows_of(vectors), 7)
    names, shares = ids(0, len(vectors)), []
    for probe in probes:
        best = {names[doc] for doc in np.argsort(-(vectors @ probe))[:10].tolist()}
        named = signs.nearest(probe, 400)
        assert len(named) == 400
        shares.append(len(best & set(named)) / 10)
    assert np.mean(shares) >= 0.95
    # That they are all found does not come from naming everything.
    assert all(0 < len(signs.nearest(probe, 10)) <= 10 for probe in probes)


def test_the_graph_has_places_of_its_own() -> None:
    vectors = made(3_000)
    signs = Signs(DIM, 0).extended(rows_of(vectors), 1)
    signs = signs.extended(rows_of(-vectors[:50], 3_000, graph=True), 2)
    named = signs.nearest(vectors[0], 20)
    graph = set(ids(3_000, 50))
    assert len(named) == 40
    assert sum(each in graph for each in named) == 20
    assert named[0] == ids(0, 1)[0]


def test_more_disturbs_nobody_who_searches() -> None:
    vectors = made(500)
    before = Signs(DIM, 3).extended(rows_of(vectors[:400]), 4)
    after = before.extended(rows_of(vectors[400:], 400), 5)
    assert (before.change, after.change, after.epoch) == (4, 5, 3)
    assert before.size_bytes < after.size_bytes
    assert ids(450, 1)[0] not in before.nearest(vectors[450], 5)
    assert after.nearest(vectors[450], 5)[0] == ids(450, 1)[0]


def test_nothing_is_named_where_there_is_nothing() -> None:
    assert Signs(DIM, 0).nearest(made(1)[0], 5) == []


def test_likeness_follows_the_nearest_passage_of_a_document() -> None:
    vectors, probe = made(2_000), made(1, seed=2)[0]
    names = ids(0, 1_000)
    two_of_each = SignRows(
        b"".join([*names, *names]),
        np.zeros(2_000, dtype=np.bool_),
        np.packbits(vectors > 0, axis=1),
    )
    signs = Signs(DIM, 0).extended(two_of_each, 1)
    likeness = signs.likeness(probe, [*names, ids(5_000, 1)[0]])
    assert set(likeness) == set(names), "what has no vector is not told"
    cosines = np.maximum(vectors[:1_000] @ probe, vectors[1_000:] @ probe)
    told = np.array([likeness[name] for name in names])
    assert np.corrcoef(cosines, told)[0, 1] > 0.9
