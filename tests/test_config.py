"""Settings from file, environment and overrides: every mistake is named in words."""

from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config, load, names
from recollect.errors import ConfigError


def a_file(folder: Path, text: str) -> Path:
    path = folder / "recollect.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_defaults_are_those_of_the_design() -> None:
    config = load()
    assert (config.rrf.k, config.rrf.weights.keyword, config.rrf.weights.vector) == (60, 1.0, 1.0)
    assert config.limits.message_bytes == 1024 * 1024
    assert config.limits.batch_bytes == 64 * 1024 * 1024
    assert config.limits.body_bytes == 16 * 1024 * 1024
    assert config.limits.query_bytes == 32 * 1024
    assert config.limits.metadata_bytes == 32 * 1024
    assert (config.limits.metadata_keys, config.limits.metadata_depth) == (64, 8)
    assert (config.forget_days, config.key_days) == (30, 30)


def test_a_config_is_taken_as_it_is() -> None:
    config = Config(search_top_k=7)
    assert load(config) is config


def test_a_file_is_read(tmp_path: Path) -> None:
    path = a_file(tmp_path, "searchTopK: 20\nrrf:\n  k: 10\n  weights: {keyword: 2}\n")
    for config in (load(path), load(str(path))):
        assert (config.search_top_k, config.rrf.k) == (20, 10)
        assert (config.rrf.weights.keyword, config.rrf.weights.vector) == (2.0, 1.0)


def test_the_seeds_wrapping_is_welcome(tmp_path: Path) -> None:
    assert load(a_file(tmp_path, "settings: {memory: {searchTopK: 3}}")).search_top_k == 3
    assert load(a_file(tmp_path, "memory: {searchTopK: 4}")).search_top_k == 4


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert load(a_file(tmp_path, "# nothing yet\n")) == Config()


def test_the_environment_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CONFIG", str(a_file(tmp_path, "searchTopK: 9")))
    assert load().search_top_k == 9
    assert load({"searchTopK": 8}).search_top_k == 8


def test_a_missing_file_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no-such\.yml"):
        load(tmp_path / "no-such.yml")


@pytest.mark.parametrize(("text", "told"), [("rrf: [", "YAML"), ("- a\n- b\n", "mapping")])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load(a_file(tmp_path, text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recollect.yml"
    path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(ConfigError, match=r"recollect\.yml"):
        load(path)


def test_the_environment_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_RRF_K", "5")
    monkeypatch.setenv("RECOLLECT_SEARCH_TOP_K", "6")
    monkeypatch.setenv("RECOLLECT_JOBS_LEASE_SECONDS", "2.5")
    config = load(a_file(tmp_path, "rrf: {k: 10}"))
    assert (config.rrf.k, config.search_top_k, config.jobs.lease_seconds) == (5, 6, 2.5)


def test_variables_that_are_no_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_DB", "x.db")
    monkeypatch.setenv("RECOLLECT_CONFIG", "")
    assert load() == Config()


def test_an_unknown_variable_names_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_RFF_K", "5")
    with pytest.raises(ConfigError, match=r'"RECOLLECT_RFF_K".*"RECOLLECT_RRF_K"'):
        load()


@pytest.mark.parametrize("secret", ["12345678", "1e5", "yes", "a #b", "a: b", "[", "null"])
def test_a_text_in_the_environment_is_taken_to_the_letter(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDING_API_KEY", secret)
    assert load().embedding.api_key == secret


@pytest.mark.parametrize("text", ["[", "{a: ", "many", "", "1.5"])
def test_a_number_in_the_environment_must_be_one(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_RRF_K", text)
    with pytest.raises(ConfigError, match=r"rrf\.k|RECOLLECT_RRF_K"):
        load()


def test_a_secret_is_never_shown() -> None:
    assert "hush" not in repr(load({"embedding.apiKey": "hush"}))
    with pytest.raises(ConfigError) as told:
        load({"embedding.apiKey": ["hush"]})
    assert "hush" not in str(told.value)


def test_dotted_and_nested_names_say_the_same() -> None:
    assert load({"rrf.k": 3}) == load({"rrf": {"k": 3}})
    assert load({"rrf.weights.vector": 3}) == load({"rrf": {"weights.vector": 3}})


@pytest.mark.parametrize(
    "values",
    [
        {"rrf": {"weights": {"keyword": 2}}, "rrf.weights.vector": 3},
        {"rrf.weights.vector": 3, "rrf": {"weights": {"keyword": 2}}},
        {"rrf.weights.vector": 3, "rrf.weights": {"keyword": 2}},
    ],
)
def test_dotted_and_nested_names_mix_in_any_order(values: dict[str, Any]) -> None:
    weights = load(values).rrf.weights
    assert (weights.keyword, weights.vector) == (2.0, 3.0)


@pytest.mark.parametrize("values", [{"rrf": 5, "rrf.k": 1}, {"rrf.k": 1, "rrf": 5}])
def test_a_group_is_not_a_value(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="rrf"):
        load(values)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("searchTopk", "searchTopK"),
        ("search_top_k", "searchTopK"),
        ("rrf.K", "rrf.k"),
        ("rrf.weights.keywords", "rrf.weights.keyword"),
        ("limits.messageByte", "limits.messageBytes"),
        ("job.batch", "jobs"),
    ],
)
def test_an_unknown_name_tells_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as told:
        load({name: 1})
    assert f'did you mean "{nearest}"' in str(told.value)


def test_a_name_like_no_other_tells_them_all() -> None:
    with pytest.raises(ConfigError, match=r"known: .*searchTopK"):
        load({"zzz": 1})


def a_wrong_value(value: object) -> list[object]:
    """Values of every type but that of `value`."""
    if isinstance(value, str):
        return [1, 1.5, True, None, ["a"], {"a": 1}]
    if isinstance(value, float):
        return ["1", True, None, [1.0], {"a": 1}, float("nan"), float("inf"), -1.0]
    return ["1", 1.5, True, None, [1], {"a": 1}, -1]


def leaf(config: Config, name: str) -> Any:
    for part in name.split("."):
        snake = "".join("_" + c.lower() if c.isupper() else c for c in part)
        config = getattr(config, snake)
    return config


@pytest.mark.parametrize("name", names())
def test_every_setting_refuses_every_wrong_type_by_name(name: str) -> None:
    for wrong in a_wrong_value(leaf(Config(), name)):
        with pytest.raises(ConfigError) as told:
            load({name: wrong})
        assert name in str(told.value)


@pytest.mark.parametrize(
    "name",
    [
        "rrf.k",
        "rrf.weights.keyword",
        "rrf.weights.vector",
        "jobs.maxAttempts",
        "jobs.batch",  # a drain that takes none would never end
        "jobs.leaseSeconds",  # two workers would do every job
        "jobs.pollSeconds",  # the idle worker would never rest
    ],
)
def test_some_settings_must_be_above_zero(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load({name: 0})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("forgetDays", 10**7),
        ("keyDays", 10**10),
        ("jobs.backoffCapSeconds", 1e300),
        ("jobs.leaseSeconds", 1e300),
    ],
)
def test_a_time_that_no_calendar_holds_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        load({name: value})


@pytest.mark.parametrize("wrong", [[("rrf.k", 1)], 5, {1: 2}, {None: 1}])
def test_a_configuration_of_another_kind_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        load(wrong)


def test_a_remote_embedder_needs_an_address_and_a_model() -> None:
    with pytest.raises(ConfigError, match=r"embedding\.url"):
        load({"embedding.provider": "remote"})
    named = {"embedding": {"provider": "remote", "url": "http://localhost", "model": "m"}}
    assert load(named).embedding.model == "m"


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ConfigError, match='"local" or "remote"'):
        load({"embedding.provider": "magic"})


def test_an_override_holds_for_a_copy() -> None:
    config = Config()
    assert config.override({"rrf.k": 1}).rrf.k == 1
    assert config.override({"rrf": {"weights": {"vector": 2}}}).rrf.weights.vector == 2.0
    assert config.override({"searchTopK": 4, "contextBudgetTokens": 5}) == Config(4, 5)
    assert config == Config()


def test_no_override_is_the_same_configuration() -> None:
    config = Config()
    assert config.override(None) is config
    assert config.override({}) is config


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in names()
        if name.split(".")[0]
        not in ("searchTopK", "contextBudgetTokens", "fusion", "rrf", "blend", "instructionLane")
    ],
)
def test_what_keeps_the_store_safe_cannot_be_overridden(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be overridden"):
        Config().override({name: leaf(Config(), name)})


def test_a_group_cannot_be_overridden_through_its_head() -> None:
    with pytest.raises(ConfigError, match="cannot be overridden"):
        Config().override({"limits": {"queryBytes": 1}})


@pytest.mark.parametrize(
    "wrong",
    [{"rrf.k": "60"}, {"rrf.k": 0}, {"rrf.x": 1}, {"rrf": 1}, {"searchTopK": -1}, {"rrf.k": True}],
)
def test_an_override_is_checked_like_a_file(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"rrf|searchTopK"):
        Config().override(wrong)


@pytest.mark.parametrize("wrong", [["rrf.k"], "rrf.k", 5, {1: 2}])
def test_overrides_of_another_kind_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Config().override(wrong)


def test_every_name_is_listed_once() -> None:
    assert len(names()) == len(set(names()))
    assert {"searchTopK", "rrf.k", "rrf.weights.keyword", "embedding.apiKey"} <= set(names())
