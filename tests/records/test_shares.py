"""Shares: who grants what to whom, for how long, and who may take it back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput, ScopeError
from holdfast.memory.memory import Memory
from holdfast.records.shares import PERMISSIONS, SEGMENTS, Shares, is_live, permits
from holdfast.store.protocols import Share
from holdfast.testing.store_suite import a_fact
from holdfast.types import TEAM, Scope
from tests.records.conftest import Clock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ZOE = Scope("work", "zoe")
ANN = Scope("home", "ann")


@pytest.fixture
def shares(memory: Memory) -> Shares:
    return memory.shares


def grant(shares: Shares, **changes: Any) -> Share:
    usual = {"user": "zoe", "workspace": "work", "to": "home", "segments": ["graph"]}
    return shares.grant(**usual | changes)


def test_a_share_is_kept_as_it_was_granted(shares: Shares) -> None:
    share = grant(
        shares, segments=["team", "graph", "graph"], user=None, permission="write",
        expires_in=timedelta(hours=1),
    )  # fmt: skip
    assert share.scope == Scope("work", TEAM)
    assert (share.to, share.segments, share.permission) == ("home", ("graph", "team"), "write")
    assert (share.created_at, share.expires_at) == (NOW, NOW + timedelta(hours=1))
    assert shares.list(workspace="work") == [share]
    assert shares.given_to("home") == [share]


def test_only_the_granting_side_sees_and_revokes_its_shares(shares: Shares) -> None:
    share = grant(shares)
    others = [("ann", "home"), ("zoe", "home"), ("ann", "work"), (None, "work"), (None, "home")]
    for user, workspace in others:
        assert shares.list(user=user, workspace=workspace) == []
        assert shares.revoke(share.id, user=user, workspace=workspace) is False
    assert shares.given_to("home") == [share]
    assert shares.given_to("work") == []
    assert shares.revoke(share.id, user="zoe", workspace="work") is True
    assert shares.revoke(share.id, user="zoe", workspace="work") is False
    assert shares.given_to("home") == []
    (revoked,) = shares.list(user="zoe", workspace="work")
    assert (revoked.id, revoked.revoked_at) == (share.id, NOW)


def test_a_share_expires_by_itself(shares: Shares, clock: Clock) -> None:
    share = grant(shares, expires_in=60)
    forever = grant(shares)
    clock.now += timedelta(seconds=59.9)
    assert shares.given_to("home") == [forever, share]
    clock.now = NOW + timedelta(seconds=60)
    assert shares.given_to("home") == [forever]
    assert shares.live("home", NOW) == (forever, share), "at that time it did"
    assert {each.id for each in shares.list(user="zoe", workspace="work")} == {
        share.id, forever.id,
    }  # fmt: skip
    assert [each.revoked_at for each in shares.list(user="zoe", workspace="work")] == [None, None]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"to": "work"}, "to"),
        ({"to": " "}, "to"),
        ({"to": None}, "to"),
        ({"segments": []}, "segments"),
        ({"segments": "graph"}, "segments"),
        ({"segments": ["facts"]}, "segments"),
        ({"segments": ["team"]}, "segments"),
        ({"segments": ["profile"], "user": None}, "segments"),
        ({"segments": ["daily_memory"], "user": None}, "segments"),
        ({"segments": [1]}, "segments"),
        ({"permission": "owner"}, "permission"),
        ({"permission": None}, "permission"),
        ({"expires_in": 0}, "expires_in"),
        ({"expires_in": -1}, "expires_in"),
        ({"expires_in": float("nan")}, "expires_in"),
        ({"expires_in": True}, "expires_in"),
        ({"expires_in": 1e300}, "expires_in"),
        ({"expires_in": "an hour"}, "expires_in"),
        ({"expires_in": timedelta(days=40_000)}, "expires_in"),
        ({"user": ""}, "user"),
        ({"workspace": ""}, "workspace"),
    ],
)
def test_a_bad_grant_is_refused_by_the_name_of_its_field(
    shares: Shares, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as told:
        grant(shares, **changes)
    assert told.value.field == field
    assert field in str(told.value)
    assert shares.given_to("home") == []


def test_a_scope_word_is_needed_to_revoke(shares: Shares) -> None:
    with pytest.raises(ScopeError):
        shares.revoke("", user="zoe", workspace="work")


def test_admin_allows_write_and_write_allows_read(shares: Shares) -> None:
    for share in (grant(shares, permission=each) for each in PERMISSIONS):
        allowed = [each for each in PERMISSIONS if permits(share, each)]
        assert allowed == [*PERMISSIONS[: PERMISSIONS.index(share.permission) + 1]]


def test_nobody_sees_more_than_their_own_until_there_is_more(
    memory: Memory, shares: Shares
) -> None:
    assert shares.parts(ANN) == ()
    memory.store.put(Scope("home", TEAM), [a_fact(50, tier="workspace")], known_at=NOW, steps=())
    (team,) = shares.parts(ANN)
    assert team.scope == Scope("home", TEAM)
    assert team.tiers == frozenset({"workspace", "knowledge", "graph", "procedure"})
    assert team.is_team
    assert shares.parts(ZOE) == ()
    assert shares.parts(Scope("home", TEAM)) == (), "the team sees its own as its own"


def test_the_shares_of_one_owner_are_one_part(shares: Shares, clock: Clock) -> None:
    first = grant(shares, segments=["graph", "documents"])
    clock.now += timedelta(seconds=1)
    second = grant(shares, segments=["graph", "profile"])
    team = grant(shares, user=None, segments=["team"])
    zoe, work = shares.parts(ANN)
    assert (zoe.scope, work.scope) == (ZOE, Scope("work", TEAM))
    assert zoe.tiers == frozenset({"graph", "knowledge", "profile"})
    assert [zoe.share_of(each) for each in ("graph", "knowledge", "profile", "fact")] == [
        first.id, first.id, second.id, None,
    ]  # fmt: skip
    assert work.share_of("workspace") == team.id
    assert not work.is_team
    shares.revoke(first.id, user="zoe", workspace="work")
    zoe, _ = shares.parts(ANN)
    assert zoe.share_of("graph") == second.id
    assert zoe.tiers == frozenset({"graph", "profile"})


def test_a_strange_share_that_an_import_brought_shows_nothing(
    memory: Memory, shares: Shares
) -> None:
    for number, (owner, segments) in enumerate(
        [(ZOE, ("facts", "session")), (Scope("home", "bob"), ("graph",)), (ANN, ("graph",))]
    ):
        memory.store.put_share(Share(f"s{number}", owner, "home", segments, "read", NOW))
    assert shares.parts(ANN) == ()
    assert memory.recall("tea", user="ann", workspace="home") == []


@given(
    seconds=st.none() | st.integers(1, 10**9),
    revoked=st.booleans(),
    later=st.integers(-(10**9), 10**9),
)
def test_a_share_holds_until_its_end_whatever_the_clock_did(
    seconds: int | None, revoked: bool, later: int
) -> None:
    ends = None if seconds is None else NOW + timedelta(seconds=seconds)
    share = Share("s", ZOE, "home", ("graph",), "read", NOW, ends, NOW if revoked else None)
    in_time = seconds is None or later < seconds
    assert is_live(share, NOW + timedelta(seconds=later)) == (in_time and not revoked)


def test_every_segment_is_a_tier_of_its_own() -> None:
    assert len(set(SEGMENTS.values())) == len(SEGMENTS)
    assert not {"session", "fact"} & set(SEGMENTS.values()), "turns and facts are never shared"
