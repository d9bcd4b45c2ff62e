"""The PostgreSQL store keeps the contract while a replica answers its reads."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import pytest

from holdfast.store.postgres import PostgresStore
from holdfast.testing.store_suite import StoreSuite
from tests.servers import empty_replicated_url

pytestmark = pytest.mark.slow


class _Replicated(StoreSuite):
    reads: ClassVar[Counter[str]]
    staleness: ClassVar[str]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _answered_by_the_replica(cls) -> Iterator[None]:
        cls.reads = Counter()
        yield
        print(dict(cls.reads))
        assert cls.reads["replica"] > 3 * cls.reads["primary"], cls.reads

    @pytest.fixture
    def store(self) -> Iterator[PostgresStore]:
        store = PostgresStore(f"{empty_replicated_url()}&staleness={self.staleness}")
        yield store
        for name, server in zip(("primary", "replica"), store.health().servers, strict=True):
            self.reads[name] += server.reads
        store.close()


class TestNothingIsMissing(_Replicated):
    staleness = "0"


class TestUpToTwoSecondsOld(_Replicated):
    """Of what others have written: what this process has written is seen at once."""

    staleness = "2"
