"""A text that takes for ever to read: it is put aside, and nobody else notices."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hanging import Service, children, is_alive, planted, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETTINGS = {
    "extraction": {"provider": "nlp", "quietSeconds": 0.1},
    "jobs": {"readSeconds": 2},
}
#: What is answered meanwhile, within the time that a loaded machine takes for it.
NORMAL_SECONDS = 2.0


def waited_for(what: Callable[[], Any], seconds: float = 100) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")


def jobs(service: Service, state: str) -> list[dict[str, Any]]:
    return [job for job in service.ask("/v1/jobs?limit=1000")["jobs"] if job["state"] == state]


def is_hanging(service: Service) -> bool:
    """Whether a turn is being read, and the child that reads it does not come to an end."""

    def busy() -> float:
        ticks = 0
        for child in children(service.process.pid):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11])
        return ticks

    before = busy()
    time.sleep(0.5)
    running = [job for job in jobs(service, "running") if job["step"] == "extract"]
    return bool(running) and busy() - before > 3


def test_a_text_that_hangs_is_a_dead_letter_and_others_are_served(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db", SETTINGS, plant=planted(tmp_path)) as service:
        good, evil, other = service.say(
            "eve", "Clara works at Google.", "This is evil.", "Bernard lives in Oslo."
        )
        (bobs,) = service.say("bob", "Dora lives in Madrid.")
        waited_for(lambda: is_hanging(service))
        slowest = 0.0
        while not (dead := jobs(service, "dead")):
            slowest = max(slowest, service.timed("/health"))
            asked = {"user_id": "bob", "query": "Where does Dora live?"}
            slowest = max(slowest, service.timed("/v1/recall", asked))
            time.sleep(0.2)
        assert slowest < NORMAL_SECONDS
        assert [(job["subject"], job["error"]) for job in dead] == [
            (evil, "reading it took longer than 2 s")
        ]
        read = {good, other, bobs}
        waited_for(lambda: not read & {job["subject"] for job in service.ask("/v1/jobs")["jobs"]})
        # What follows in the same talk is not held up by what nobody could read.
        service.say("eve", "Dora lives in Madrid.")
        waited_for(lambda: not jobs(service, "ready") and not jobs(service, "running"))
        assert len(jobs(service, "dead")) == 1
        names = {node["name"] for node in service.ask("/v1/graph/entities?user_id=eve")["entities"]}
        assert {"Clara", "Google", "Bernard", "Oslo", "Dora"} <= names
        assert service.ask("/v1/jobs/replay", {})["replayed"] == 1
        waited_for(lambda: jobs(service, "dead"))


def test_nothing_is_left_of_a_service_that_is_killed_or_ended_while_a_text_hangs(
    tmp_path: Path,
) -> None:
    settings = {**SETTINGS, "jobs": {"readSeconds": 300, "leaseSeconds": 1}}
    plant = planted(tmp_path)
    with serving(tmp_path / "m.db", settings, plant=plant) as service:
        service.say("eve", "This is evil.")
        waited_for(lambda: is_hanging(service))
        left = children(service.process.pid)
        assert left
        service.process.kill()
        service.process.wait()
        waited_for(lambda: not any(map(is_alive, left)), seconds=30)
    with serving(tmp_path / "n.db", settings, plant=plant) as service:
        service.say("eve", "This is evil.")
        waited_for(lambda: is_hanging(service))
        left = children(service.process.pid)
        assert service.end() < 5
        assert not any(map(is_alive, left))
    with serving(tmp_path / "n.db", {"extraction": {"enabled": False}}) as service:
        (job,) = jobs(service, "ready")
        assert (job["step"], job["attempts"]) == ("extract", 0)


def test_a_writer_who_waits_for_a_text_that_hangs_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path / "m.db", SETTINGS, plant=planted(tmp_path)) as service:
        waited_for(lambda: children(service.process.pid))
        began = time.monotonic()
        asked = {"extraction.provider": "nlp"}
        service.say("eve", "This is evil.", quick=True, config_override=asked)
        assert time.monotonic() - began < 20
        waited_for(lambda: jobs(service, "dead"))
