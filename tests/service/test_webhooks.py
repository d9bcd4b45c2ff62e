"""Webhooks: what happens is sent, signed, at least once, to those who should know."""

import hashlib
import hmac
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast.memory.memory import Memory
from holdfast.service import webhooks
from holdfast.service.webhooks import Sender
from holdfast.store.values import Webhook
from holdfast.testing import HashEmbedder
from tests.service.calling import Clock, client_of
from tests.service.live import Receiver, wait_until

PATH = "/v1/webhooks"
CANARY = "zanzibar"
HERE = {"outgoing.hosts": "127.0.0.1"}


@pytest.fixture
def settings() -> dict[str, str]:
    return HERE


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def made(client: TestClient, url: str, **fields: Any) -> dict[str, Any]:
    answer = client.post(PATH, json={"url": url, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def standing(memory: Memory) -> Webhook:
    (hook,) = memory.store.hooks()
    return hook


# Deliveries


def test_a_delivery_is_signed_and_holds_no_word(
    client: TestClient, memory: Memory, receiver: Receiver, clock: Clock
) -> None:
    hook = made(client, receiver.url)
    id = memory.remember(f"I went to {CANARY}.", user="ann").events[0]
    assert Sender(memory).deliver(hook["id"])
    ((headers, body),) = receiver.got
    told = json.loads(body)
    assert CANARY not in body.decode()
    assert (told["workspace_id"], told["user_id"]) == ("default", "ann")
    assert told["webhook"] == hook["id"]
    assert told["delivery"] == headers["x-holdfast-delivery"]
    assert [(each["type"], each["id"]) for each in told["events"]] == [("memory.stored", id)]
    fields = dict(part.split("=", 1) for part in headers["x-holdfast-signature"].split(","))
    assert int(fields["t"]) == int(clock.now.timestamp())
    signed = f"{fields['t']}.".encode() + body
    expected = hmac.new(hook["secret"].encode(), signed, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(fields["v1"], expected)


def test_the_check_of_the_page_knows_ours_from_others() -> None:
    page = (Path(__file__).parents[2] / "docs/howto/webhooks.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "webhooks.md", "exec"), names)
    is_ours, now = names["is_ours"], datetime.now(UTC)
    header = webhooks.signature(b"whsec_1", b"{}", now)
    assert is_ours("whsec_1", header, b"{}")
    assert not is_ours("whsec_2", header, b"{}")
    assert not is_ours("whsec_1", header, b"{ }")
    old = webhooks.signature(b"whsec_1", b"{}", now - timedelta(hours=1))
    assert not is_ours("whsec_1", old, b"{}")


def test_only_what_happens_from_then_on_and_each_once(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    memory.remember("before", user="ann")
    hook, sender = made(client, receiver.url), Sender(memory)
    assert sender.deliver(hook["id"])
    assert receiver.got == []
    ids = [memory.remember(text, user="ann").events[0] for text in ("one", "two")]
    assert sender.deliver(hook["id"])
    assert sender.deliver(hook["id"])
    assert [each["id"] for each in receiver.events()] == ids
    assert len(receiver.got) == 1
    assert memory.store.news(hook["id"]) == []


def test_new_users_and_long_backlogs(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    hook = made(client, receiver.url)
    many = [{"content": f"turn {n}"} for n in range(450)]
    ids = memory.remember(many, user="new").events
    assert Sender(memory).deliver(hook["id"])
    assert [each["id"] for each in receiver.events()] == list(ids)
    assert len(receiver.got) == 3


def test_of_one_user_or_of_some_events(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    hook = made(client, receiver.url, user_id="ann", events=["memory.forgotten"])
    ids = {user: memory.remember("tea", user=user).events[0] for user in ("ann", "bob")}
    for user, id in ids.items():
        memory.forget(id, user=user)
    memory.remember("tea", user="ann", workspace="other")
    assert Sender(memory).deliver(hook["id"])
    assert [(each["type"], each["id"]) for each in receiver.events()] == [
        ("memory.forgotten", ids["ann"])
    ]


def test_what_a_workspace_shares_is_nobodys(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    hook = made(client, receiver.url)
    memory.team.write("Releases are on Fridays.", type="decision", agent="scout")
    assert Sender(memory).deliver(hook["id"])
    ((_, body),) = receiver.got
    assert json.loads(body)["user_id"] is None
    assert {each["tier"] for each in receiver.events()} == {"workspace"}


def test_what_fails_is_sent_again_later(
    client: TestClient, memory: Memory, receiver: Receiver, clock: Clock
) -> None:
    hook, sender = made(client, receiver.url), Sender(memory)
    receiver.status = 500
    id = memory.remember("tea", user="ann").events[0]
    assert not sender.deliver(hook["id"])
    shown = client.get(f"{PATH}/{hook['id']}").json()
    assert (shown["failures"], shown["error"], shown["enabled"]) == (1, "HTTP 500", True)
    assert not sender.deliver(hook["id"]), "not before it is due"
    assert len(receiver.got) == 1
    receiver.status = 200
    clock.now += timedelta(seconds=6)
    memory.remember("more", user="ann")
    assert sender.deliver(hook["id"])
    assert [each["id"] for each in receiver.events()].count(id) == 2
    fine = standing(memory)
    assert (fine.failures, fine.failing_since, fine.due, fine.error) == (0, None, None, None)
    assert (sender.counts.delivered, sender.counts.failed) == (1, 1)


def test_pauses_double_up_to_an_hour_and_after_a_day_it_is_given_up(
    client: TestClient, memory: Memory, receiver: Receiver, clock: Clock
) -> None:
    hook, sender = made(client, receiver.url), Sender(memory)
    receiver.status = 503
    memory.remember("tea", user="ann")
    began, pauses = clock.now, []
    while standing(memory).disabled_at is None:
        assert not sender.deliver(hook["id"])
        due = standing(memory).due
        assert due is not None
        pauses.append((due - clock.now).total_seconds())
        clock.now = due
    for number, pause in enumerate(pauses):
        longest = min(3600.0, 5.0 * 2**number)
        assert longest / 2 <= pause <= longest
    assert timedelta(hours=24) <= clock.now - began <= timedelta(hours=26)
    assert standing(memory).error == "HTTP 503; given up"
    receiver.status = 200
    clock.now += timedelta(days=1)
    assert not sender.deliver(hook["id"])
    # Somebody mends it: nothing of what happened meanwhile is missing.
    answer = client.patch(f"{PATH}/{hook['id']}", json={"enabled": True})
    assert answer.json()["enabled"] is True
    before = len(receiver.got)
    assert sender.deliver(hook["id"])
    assert len(receiver.got) == before + 1


def test_a_receiver_that_is_gone_is_given_up_at_once(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    hook = made(client, receiver.url)
    receiver.status = 410
    memory.remember("tea", user="ann")
    assert not Sender(memory).deliver(hook["id"])
    assert standing(memory).disabled_at is not None


def test_nobody_there_and_addresses_inside_are_failures_without_details(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    client.delete(f"{PATH}/{made(client, receiver.url)['id']}")
    inside = receiver.url.replace("127.0.0.1", "127.0.0.2")  # As one made when it was allowed.
    hook = Webhook("0" * 16, "default", None, inside, (), memory.now(), secret=b"secret")
    memory.store.put_hook(hook)
    memory.remember("tea", user="ann")
    assert not Sender(memory).deliver(hook.id)
    words = "url leads to an address that is not public; see outgoing.hosts"
    assert standing(memory).error == words
    assert client.post(f"{PATH}/{hook.id}/test").json()["error"] == words
    assert receiver.got == []


def test_a_slow_receiver_delays_nobody(
    client: TestClient, memory: Memory, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_LOOK_SECONDS", 0.02)
    with Receiver() as slow:
        slow.pause.clear()
        made(client, slow.url)
        made(client, receiver.url)
        with Sender(memory):
            memory.remember("one", user="ann")
            wait_until(lambda: len(receiver.events()) == 1)
            memory.remember("two", user="ann")
            wait_until(lambda: len(receiver.events()) == 2)
            assert slow.got == []
            slow.pause.set()
            wait_until(lambda: len(slow.events()) >= 1)


def test_two_senders_do_not_send_twice(
    client: TestClient, memory: Memory, receiver: Receiver, tmp_path: Path, clock: Clock
) -> None:
    hook = made(client, receiver.url)
    memory.remember("one", user="ann")
    receiver.pause.clear()
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, config=HERE, clock=clock
    ) as other:
        outcome: list[bool] = []
        first = threading.Thread(target=lambda: outcome.append(Sender(memory).deliver(hook["id"])))
        first.start()
        wait_until(lambda: standing(memory).due is not None)
        assert not Sender(other).deliver(hook["id"])
        receiver.pause.set()
        first.join()
    assert outcome == [True]
    assert len(receiver.got) == 1


def test_a_clock_that_ran_ahead_is_no_obstacle(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    hook = made(client, receiver.url)
    memory.remember("one", user="ann")
    was = standing(memory)
    assert memory.store.put_hook(replace(was, due=memory.now() + timedelta(days=900)), was=was)
    assert Sender(memory).deliver(hook["id"])


def test_one_that_is_disabled_while_it_is_called_stays_so(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    hook = made(client, receiver.url)
    memory.remember("one", user="ann")
    receiver.pause.clear()
    calling = threading.Thread(target=Sender(memory).deliver, args=[hook["id"]])
    calling.start()
    wait_until(lambda: standing(memory).due is not None)
    client.patch(f"{PATH}/{hook['id']}", json={"enabled": False})
    receiver.pause.set()
    calling.join()
    assert standing(memory).disabled_at is not None
    assert standing(memory).error == "disabled by hand"


def test_the_sender_ends_in_time_though_a_receiver_hangs(
    client: TestClient, memory: Memory, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "_STOP_SECONDS", 0.2)
    made(client, receiver.url)
    receiver.pause.clear()
    with Sender(memory):
        memory.remember("one", user="ann")
        wait_until(lambda: standing(memory).due is not None)
    assert receiver.got == []


def test_switched_off_nothing_is_sent(tmp_path: Path, receiver: Receiver) -> None:
    off = {"outgoing.webhooks": False}
    with (
        holdfast.open(
            tmp_path / "off.db", embedder=HashEmbedder(), worker=False, config=off
        ) as memory,
        client_of(memory, role="admin") as client,
        Sender(memory),
    ):
        answer = client.post(PATH, json={"url": receiver.url})
        assert answer.status_code == 400
        assert "outgoing.webhooks" in answer.json()["error"]


# Routes


def test_the_secret_is_shown_once(client: TestClient, memory: Memory, receiver: Receiver) -> None:
    hook = made(client, receiver.url)
    assert hook["secret"].startswith("whsec_")
    assert len(hook["secret"]) >= 43
    for answer in (client.get(PATH), client.get(f"{PATH}/{hook['id']}")):
        assert hook["secret"] not in answer.text
        assert "secret" not in answer.text
    assert client.get(PATH).json()["count"] == 1


def test_a_test_delivery_says_what_came_of_it(
    client: TestClient, memory: Memory, receiver: Receiver
) -> None:
    hook = made(client, receiver.url)
    path = f"{PATH}/{hook['id']}/test"
    assert client.post(path).json() == {"id": hook["id"], "delivered": True, "error": None}
    assert [each["type"] for each in receiver.events()] == ["webhook.test"]
    receiver.status = 404
    assert client.post(path).json()["error"] == "HTTP 404"
    assert standing(memory).failures == 0


def test_removed_is_gone(client: TestClient, memory: Memory, receiver: Receiver) -> None:
    hook = made(client, receiver.url)
    assert client.delete(f"{PATH}/{hook['id']}").status_code == 200
    assert client.delete(f"{PATH}/{hook['id']}").status_code == 404
    memory.remember("tea", user="ann")
    assert not Sender(memory).deliver(hook["id"])
    assert receiver.got == []


CALLS: list[Callable[[TestClient, str], Any]] = [
    lambda client, id: client.get(f"{PATH}/{id}"),
    lambda client, id: client.patch(f"{PATH}/{id}", json={"enabled": False}),
    lambda client, id: client.post(f"{PATH}/{id}/test"),
    lambda client, id: client.delete(f"{PATH}/{id}"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("key", [{"workspace": "other"}, {"user": "bob"}])
def test_what_is_not_ours_is_not_there(
    client: TestClient, memory: Memory, receiver: Receiver, call: Any, key: dict[str, str]
) -> None:
    hook = made(client, receiver.url, user_id="ann")
    with client_of(memory, role="admin", **key) as stranger:
        foreign, unknown = call(stranger, hook["id"]), call(stranger, "0" * 16)
        assert foreign.status_code == unknown.status_code == 404
        assert foreign.text.replace(hook["id"], "0" * 16) == unknown.text
        assert stranger.get(PATH).json()["count"] == 0
    assert standing(memory).disabled_at is None


@pytest.mark.parametrize("role", ["read", "write"])
def test_only_an_admin_key(memory: Memory, receiver: Receiver, role: str) -> None:
    with client_of(memory, role=role) as client:
        assert client.post(PATH, json={"url": receiver.url}).status_code == 403
        assert client.get(PATH).status_code == 403


def test_an_admin_of_one_user_has_that_users_alone(memory: Memory, receiver: Receiver) -> None:
    with client_of(memory, role="admin", user="ann") as client:
        assert made(client, receiver.url)["user_id"] == "ann"
        for fields in ({"user_id": "bob"}, {"workspace_id": "other"}):
            answer = client.post(PATH, json={"url": receiver.url, **fields})
            assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url"),
        ({"url": 1}, "url"),
        ({"url": "ftp://example.org"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://[::1"}, "url"),
        ({"url": "http://a:99999/"}, "url"),
        ({"url": "http://user:pass@example.org/"}, "url"),
        ({"url": "http://example.org/ a"}, "url"),
        ({"url": "http://example.org/" + "a" * 3000}, "url"),
        ({"url": "http://exämple.org/"}, "url"),
        ({"url": "http://127.0.0.2/"}, "url"),
        ({"url": "http://127.1/"}, "url"),
        ({"url": "http://0x7f.1:80/"}, "url"),
        ({"url": "http://2130706433/"}, "url"),
        ({"url": "http://10.0.0.1/"}, "url"),
        ({"url": "http://[::1]/"}, "url"),
        ({"url": "http://[::ffff:127.0.0.1]/"}, "url"),
        ({"url": "http://localhost:3050/"}, "url"),
        ({"url": "http://example.org/", "events": ["tea"]}, "events"),
        ({"url": "http://example.org/", "events": "memory.stored"}, "events"),
        ({"url": "http://example.org/", "colour": "red"}, "colour"),
        ({"url": "http://example.org/", "user_id": ""}, "user_id"),
    ],
)
def test_bad_input(client: TestClient, body: dict[str, Any], field: str) -> None:
    answer = client.post(PATH, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["field"] == field


def test_what_is_done_to_them_is_audited(client: TestClient, memory: Memory) -> None:
    hook = made(client, "https://example.org/", user_id="ann")
    for enabled in (False, True):
        client.patch(f"{PATH}/{hook['id']}", json={"enabled": enabled})
    client.delete(f"{PATH}/{hook['id']}")
    lines = memory.store.audit()
    assert [line.action for line in lines] == [
        "webhooks.create", "webhooks.disable", "webhooks.enable", "webhooks.remove",
    ]  # fmt: skip
    assert {line.subject for line in lines} == {hook["id"]}


def test_there_are_only_so_many(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.service.http.hooks._MOST_HOOKS", 1)
    made(client, "https://example.org/")
    answer = client.post(PATH, json={"url": "https://example.org/"})
    assert answer.status_code == 409
    assert "1" in answer.json()["error"]


def test_a_user_has_only_so_many(
    client: TestClient, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.service.http.hooks._MOST_OF_A_USER", 2)
    ann = client_of(memory, role="admin", user="ann")
    for _ in range(2):
        made(ann, "https://example.org/")
    for asking, fields in ((ann, {}), (client, {"user_id": "ann"})):
        answer = asking.post(PATH, json={"url": "https://example.org/", **fields})
        assert (answer.status_code, answer.json()["error"]) == (
            409, "a user has at most 2 webhooks",
        )  # fmt: skip
    made(client, "https://example.org/", user_id="bob")
    for _ in range(3):  # Of nobody in particular.
        made(client, "https://example.org/")
