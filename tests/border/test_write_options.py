"""How messages are to be treated: what can be asked for, and that nobody can ask for more."""

from typing import Any

import pytest

from holdfast.border.write_options import checked_data, handling, sent
from holdfast.config import Config
from holdfast.errors import ConfigError, InvalidInput
from holdfast.settings import Extraction, Llm

MODEL = Llm(url="http://127.0.0.1:9/v1", model="m")
PLAIN = Config()
READ_BY_MODEL = Config(extraction=Extraction(llm=MODEL))
KEPT_FROM_MODEL = Config(extraction=Extraction(provider="rules", llm=MODEL))
SWITCHED_OFF = Config(extraction=Extraction(enabled=False))


def asked(config: Config = PLAIN, agent: str | None = "a", **given: Any) -> dict[str, Any]:
    return dict(handling(config, agent=agent, **given).data)


def test_what_is_treated_as_usual_keeps_nothing() -> None:
    usual = handling(PLAIN, agent=None)
    assert (usual.data, usual.is_read, usual.is_quick, usual.visibility) == ({}, True, False, None)


def test_what_is_asked_for_is_kept() -> None:
    assert asked(visibility="agent_only") == {"visibility": "agent_only"}
    assert asked(quick=True) == {"provider": "rules"}
    assert asked(quick=True, overrides={"extraction.provider": "nlp"}) == {"provider": "nlp"}
    assert asked(overrides={"extraction": {"provider": "rules"}}) == {"provider": "rules"}
    for given in (
        {"overrides": {"extraction.enabled": False}},
        {"extract": False},
        {"extract": False, "overrides": {"extraction.provider": "rules"}},
    ):
        unread = handling(PLAIN, agent=None, **given)
        assert (unread.is_read, unread.data) == (False, {"provider": "none"})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"visibility": "agent_only", "agent": None}, "visibility agent_only needs an agent"),
        ({"visibility": "everybody"}, "visibility must be agent_only or left out, not 'everybody'"),
        ({"visibility": 7}, "visibility must be agent_only or left out, not '7'"),
        ({"quick": True, "extract": False}, "send one"),
        ({"quick": True, "overrides": {"extraction.provider": "auto"}}, "must be rules or nlp"),
        ({"quick": "no"}, "quick must be true or false, not 'no'"),
        ({"quick": None}, "quick must be true or false, not 'None'"),
        ({"extract": 0}, "extract must be true or false, not '0'"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        asked(**given)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["extraction"], "must be a mapping"),
        ({"extraction.provider": "magic"}, "must be one of auto, rules, nlp, llm"),
        ({"extraction.provider": None}, "must be one of"),
        ({"extraction.provider": "none"}, "must be one of auto, rules, nlp, llm"),
        ({"extraction.enabled": 1}, "must be true or false"),
        ({"extraction": {"llm": {"url": "http://evil"}}}, "cannot be overridden per write"),
        ({"extraction.llm.dailyTokens": 0}, "cannot be overridden per write"),
        ({"searchTopK": 1}, "cannot be overridden per write"),
        ({"limits.messageBytes": 1}, "cannot be overridden per write"),
        ({"service.hosts": "*"}, "cannot be overridden per write"),
    ],
)
def test_no_other_setting_is_of_a_write(overrides: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        asked(overrides=overrides)


def test_a_write_may_ask_for_less_than_the_settings_never_for_more() -> None:
    for provider in ("rules", "nlp", "auto", "llm"):
        given = {"extraction.provider": provider}
        assert asked(READ_BY_MODEL, overrides=given) == {"provider": provider}
    for config in (PLAIN, KEPT_FROM_MODEL):
        with pytest.raises(ConfigError, match="asks no language model"):
            asked(config, overrides={"extraction.provider": "llm"})
    with pytest.raises(ConfigError, match="asks no language model"):
        asked(KEPT_FROM_MODEL, overrides={"extraction.provider": "auto"})
    with pytest.raises(ConfigError, match="switched off"):
        asked(SWITCHED_OFF, overrides={"extraction.enabled": True})


def test_the_digest_of_a_body_holds_only_what_is_not_as_usual() -> None:
    usual = {"extract": True, "visibility": None, "overrides": None}
    assert sent(**usual) == {}
    assert sent(**{**usual, "extract": False}) == {"extract": False}


def test_an_import_can_say_no_more_than_a_write() -> None:
    given = {"visibility": "agent_only", "provider": "rules"}
    assert checked_data({**given, "other": None}, agent="a") == given
    assert checked_data({"provider": "none"}, agent=None) == {"provider": "none"}
    for wrong, agent in (
        ({"visibility": "workspace"}, "a"),
        ({"provider": "magic"}, "a"),
        ({"provider": ["rules"]}, "a"),
        ({"visibility": "agent_only"}, None),
    ):
        with pytest.raises(InvalidInput):
            checked_data(wrong, agent=agent)
