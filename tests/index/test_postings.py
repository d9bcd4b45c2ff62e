"""Packed rows, segments and merges give what a plain dictionary gives."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.index.view import Segment, merge_segments, packed, segment
from holdfast.language.terms import term_id

WORDS = st.sampled_from(["ant", "bee", "cat", "dog", "eel", "fox", "東京", "inv-1", "🚀"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=8), max_size=8)


def a_segment(documents: list[list[str]], first: int = 0) -> Segment:
    return segment(range(first, first + len(documents)), [packed(each)[0] for each in documents])


def postings(one: Segment, word: str) -> dict[int, int]:
    ((docs, counts),) = one.find(np.array([term_id(word)], dtype=np.uint64))
    assert list(docs) == sorted(docs)
    return dict(zip(docs.tolist(), counts.tolist(), strict=True))


def naive(documents: list[list[str]], word: str, first: int = 0) -> dict[int, int]:
    return {first + i: each.count(word) for i, each in enumerate(documents) if word in each}


def test_a_row_holds_each_term_once_with_its_count() -> None:
    row, length = packed(["bee", "ant", "bee"])
    assert length == 3
    assert len(row) == 2 * 9
    assert row[:8] == term_id("bee").to_bytes(8, "little")
    assert (row[8], row[17], len(row)) == (2, 1, 18)


def test_no_terms_make_an_empty_row() -> None:
    assert packed([]) == (b"", 0)


def test_a_count_stops_at_what_a_byte_holds() -> None:
    row, length = packed(["ant"] * 1000)
    assert (row[-1], length) == (255, 1000)
    assert postings(a_segment([["ant"] * 1000]), "ant") == {0: 255}


def test_a_term_nobody_holds_is_found_nowhere() -> None:
    assert postings(a_segment([["ant"], ["bee"]]), "zebra") == {}
    assert postings(a_segment([]), "ant") == {}


def test_the_largest_term_id_is_found() -> None:
    words = [f"word{i}" for i in range(2000)]
    largest = max(words, key=term_id)
    smallest = min(words, key=term_id)
    one = a_segment([words])
    assert postings(one, largest) == postings(one, smallest) == {0: 1}


@given(DOCUMENTS, st.integers(0, 1000))
def test_a_segment_equals_a_dictionary(documents: list[list[str]], first: int) -> None:
    one = a_segment(documents, first)
    assert one.documents == len(documents)
    for word in {word for each in documents for word in each} | {"zebra"}:
        assert postings(one, word) == naive(documents, word, first)


@given(st.lists(DOCUMENTS, min_size=1, max_size=5))
def test_merging_equals_indexing_all_at_once(groups: list[list[list[str]]]) -> None:
    parts, first = [], 0
    for group in groups:
        parts.append(a_segment(group, first))
        first += len(group)
    everything = [document for group in groups for document in group]
    whole = merge_segments(parts)
    assert whole.documents == len(everything)
    for word in Counter(word for each in everything for word in each):
        assert postings(whole, word) == naive(everything, word)


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_merging_is_associative(a: list[list[str]], b: list[list[str]], c: list[list[str]]) -> None:
    one = a_segment(a)
    two = a_segment(b, len(a))
    three = a_segment(c, len(a) + len(b))
    left, right = (
        merge_segments([merge_segments([one, two]), three]),
        merge_segments([one, merge_segments([two, three])]),
    )
    assert (left.terms == right.terms).all()
    assert (left.starts == right.starts).all()
    assert (left.docs == right.docs).all()
    assert (left.counts == right.counts).all()


def test_the_size_counts_every_array() -> None:
    one = a_segment([["ant", "bee"]])
    assert one.size_bytes == 2 * 8 + 3 * 8 + 2 * 4 + 2 * 1
