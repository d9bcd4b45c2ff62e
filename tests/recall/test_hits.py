"""What a caller is told of a memory: what they gave themselves, and what the system knows of it."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from holdfast.border.validate import RESERVED_METADATA, SYSTEM
from holdfast.recall.hits import hit
from holdfast.types import ALL_TIERS, Record

AT = datetime(2026, 3, 1, tzinfo=UTC)
KEYS = st.one_of(st.sampled_from(sorted(RESERVED_METADATA)), st.text(max_size=8))
#: A caller cannot send a reserved key.
GIVEN = st.dictionaries(
    st.text(max_size=8).filter(lambda key: key not in RESERVED_METADATA), st.integers()
)
#: In these nobody gives metadata.
PLAIN = ("graph", "workspace")


def a_record(tier: str, metadata: dict[str, int], data: dict[str, int]) -> Record:
    return Record(
        id="1" * 32, tier=tier, kind="any", content="x", valid_from=AT, valid_to=None,
        known_from=AT, known_to=None, origin="user", confidence=1.0, sources=(), role="user",
        metadata=metadata, data=data,
    )  # fmt: skip


@given(
    tier=st.sampled_from([tier for tier in ALL_TIERS if tier not in PLAIN]),
    metadata=GIVEN,
    data=st.dictionaries(KEYS.filter(lambda key: key != SYSTEM), st.integers()),
)
def test_nothing_that_a_caller_gave_is_lost_or_overwritten(
    tier: str, metadata: dict[str, int], data: dict[str, int]
) -> None:
    told = dict(hit(a_record(tier, metadata, data), score=1.0).metadata)
    assert {key: told[key] for key in metadata} == metadata
    added = {key: value for key, value in told.items() if key not in metadata}
    assert added.keys() <= RESERVED_METADATA
    assert {**{k: v for k, v in added.items() if k != SYSTEM}, **added.get(SYSTEM, {})} == data


def test_in_the_graph_what_is_known_stands_plainly() -> None:
    told = hit(a_record("graph", {}, {"source": 1}), score=1.0).metadata
    assert told == {"source": 1}
