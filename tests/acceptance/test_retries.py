"""One request sent ten times, three of them across a kill of the service, is one event."""

from pathlib import Path

import pytest

from scripts.retries import AT_ONCE, KILLED, LATER, REQUESTS, retried

pytestmark = pytest.mark.slow


def test_ten_sends_across_three_kills_leave_one_event_and_one_answer(tmp_path: Path) -> None:
    sent, wrong = retried(tmp_path, seed=6)
    assert wrong == []
    assert [each.path for each in sent] == list(REQUESTS)
    for each in sent:
        assert each.sends == AT_ONCE + KILLED + LATER
        assert each.lost <= KILLED
        assert len(each.answers) >= AT_ONCE + LATER
