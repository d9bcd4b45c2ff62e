"""The contract of a store, executable: inherit, give a `store` fixture, pass all of it.

    class TestMyStore(StoreSuite):
        @pytest.fixture
        def store(self, tmp_path: Path) -> Iterator[Store]:
            with closing(MyStore(tmp_path / "my.db")) as store:
                yield store

Every promise in the docstrings of `holdfast.store.protocols` has a test here; nothing may be
skipped. `src/holdfast/testing` is a link to this folder: import `holdfast.testing.store_suite`.
"""

from __future__ import annotations

from holdfast.testing.store_builders import (
    ANN,
    BOB,
    DIM,
    EMBED,
    EXTRACT,
    NOON,
    OTHER_ANN,
    a_fact,
    a_name,
    a_note,
    actions,
    an_entry,
    claim,
    claim_group,
    current_facts,
    fill,
    learn,
    put,
    say,
    subjects,
    told,
    vector,
)
from holdfast.testing.store_derived import DerivedSuite, VersionSuite
from holdfast.testing.store_groups import GroupSuite, SpendingSuite
from holdfast.testing.store_heard import HeardSuite, LearnSuite
from holdfast.testing.store_hooks import HappenedSuite, HookSuite
from holdfast.testing.store_life import LifeSuite, OwnSuite
from holdfast.testing.store_listing import ListingSuite
from holdfast.testing.store_log import LogSuite, RecordSuite
from holdfast.testing.store_queue import FeedSuite, QueueSuite
from holdfast.testing.store_service import AnswerSuite, AuditSuite, KeyLifeSuite
from holdfast.testing.store_sharing import CarrySuite, ChoreSuite, EraseSuite, SharingSuite
from holdfast.testing.store_upkeep import KeySuite, LedgerSuite, UpkeepSuite

__all__ = [
    "ANN",
    "BOB",
    "DIM",
    "EMBED",
    "EXTRACT",
    "NOON",
    "OTHER_ANN",
    "StoreSuite",
    "a_fact",
    "a_name",
    "a_note",
    "actions",
    "an_entry",
    "claim",
    "claim_group",
    "current_facts",
    "fill",
    "learn",
    "put",
    "say",
    "subjects",
    "told",
    "vector",
]


class StoreSuite(
    LogSuite,
    RecordSuite,
    DerivedSuite,
    VersionSuite,
    ListingSuite,
    FeedSuite,
    QueueSuite,
    GroupSuite,
    LearnSuite,
    HeardSuite,
    LifeSuite,
    OwnSuite,
    LedgerSuite,
    SpendingSuite,
    KeySuite,
    KeyLifeSuite,
    AnswerSuite,
    AuditSuite,
    HappenedSuite,
    HookSuite,
    SharingSuite,
    ChoreSuite,
    EraseSuite,
    UpkeepSuite,
    CarrySuite,
):
    """The whole contract."""
