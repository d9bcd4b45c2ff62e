"""Settings from file, environment and overrides: every mistake is named in words."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from holdfast.config import Config, idle, load, names
from holdfast.errors import ConfigError
from holdfast.settings import TaskProfile

#: Without it settings of rank fusion do nothing.
BY_RANK = {"fusion": "rrf"}


@pytest.fixture(autouse=True)
def _defaults(no_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_EXTRACTION_PROVIDER")


def a_file(folder: Path, text: str) -> Path:
    path = folder / "holdfast.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_defaults_are_those_of_the_design() -> None:
    config = load()
    weights = config.rrf.weights
    assert (config.rrf.k, weights.hybrid, weights.vector, weights.graph) == (60, 1.0, 1.0, 1.0)
    assert weights.keyword == 0.0, "keywords speak through the hybrid source"
    assert set(asdict(config.rrf.vector_weight).values()) == {0.7}
    assert (config.min_confidence, config.context_budget_tokens) == (0.5, 8192)
    assert (config.instruction_boost_enabled, config.instruction_boost_weight) == (False, 0.15)
    assert config.limits.message_bytes == 1024 * 1024
    assert config.limits.batch_bytes == 64 * 1024 * 1024
    assert config.limits.body_bytes == 16 * 1024 * 1024
    assert config.limits.query_bytes == 32 * 1024
    assert config.limits.metadata_bytes == 32 * 1024
    assert (config.limits.metadata_keys, config.limits.metadata_depth) == (64, 8)
    assert (config.forget_days, config.key_days) == (30, 30)


def test_one_number_or_one_for_each_tier() -> None:
    all_of_them = load({**BY_RANK, "rrf.vectorWeight": 0.2}).rrf.vector_weight
    assert set(asdict(all_of_them).values()) == {0.2}
    some = load({**BY_RANK, "rrf": {"vectorWeight": {"graph": 0.1}}}).rrf.vector_weight
    assert (some.graph, some.session) == (0.1, 0.7)
    with pytest.raises(ConfigError, match=r"rrf\.vectorWeight"):
        load({"rrf.vectorWeight": "much"})


@pytest.mark.parametrize(
    "name",
    [
        *("rrf.vectorWeight", "rrf.vectorWeight.graph", "minConfidence", "relevanceFloor"),
        *("conciseness", "mmrLambda", "writerShare"),
    ],
)
def test_shares_lie_between_zero_and_one(name: str) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        load({name: 1.5})
    with pytest.raises(ConfigError):
        load({name: -0.1})


@pytest.mark.parametrize("name", ["blend.window", "rrf.weights.vector"])
def test_a_weight_has_a_limit(name: str) -> None:
    with pytest.raises(ConfigError, match="at most 1000000"):
        load({name: 1e308})


def test_no_source_without_a_vote() -> None:
    none = {f"rrf.weights.{name}": 0 for name in ("hybrid", "vector", "keyword", "graph")}
    with pytest.raises(ConfigError, match=r"rrf\.weights: at least one"):
        load(none)


def test_the_seeds_own_variables_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSTRUCTION_BOOST_ENABLED", "true")
    monkeypatch.setenv("INSTRUCTION_BOOST_WEIGHT", "0.3")
    config = load()
    assert (config.instruction_boost_enabled, config.instruction_boost_weight) == (True, 0.3)
    monkeypatch.setenv("INSTRUCTION_BOOST_WEIGHT", "heavy")
    with pytest.raises(ConfigError, match="instructionBoostWeight"):
        load()


@pytest.mark.parametrize(
    ("text", "on"),
    [("1", True), ("0", False), ("true", True), ("False", False), ("yes", True), ("off", False)],
)
def test_a_switch_in_the_environment_is_set_as_shells_do(
    monkeypatch: pytest.MonkeyPatch, text: str, on: bool
) -> None:
    monkeypatch.setenv("INSTRUCTION_BOOST_ENABLED", text)
    monkeypatch.setenv("HOLDFAST_LIFE_SHADOW", text)
    assert (load().instruction_boost_enabled, load().life.shadow) == (on, on)
    monkeypatch.setenv("INSTRUCTION_BOOST_ENABLED", "2")
    with pytest.raises(ConfigError, match="instructionBoostEnabled must be true or false"):
        load()


@pytest.mark.parametrize(
    "text",
    [
        "tools:\n  allow: [graph_write, graph_traverse]",
        "tools.allow: [graph_write, graph_traverse]",
        "mcp:\n  tools:\n    - graph_write\n    - graph_traverse",
        "mcp: {tools: 'graph_write, graph_traverse'}",
    ],
)
def test_allowed_tools_are_a_list_or_a_text(tmp_path: Path, text: str) -> None:
    assert load(a_file(tmp_path, text)).mcp.tools == "graph_write, graph_traverse"


def test_lists_by_agent_and_of_hosts(tmp_path: Path) -> None:
    text = (
        "mcp: {agentTools: {coder: [recall, context], '*': recall}}\nservice: {hosts: [a.b, c.d]}"
    )
    config = load(a_file(tmp_path, text))
    assert config.mcp.agent_tools == "coder: recall, context; *: recall"
    assert config.service.hosts == "a.b, c.d"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mcp: {tools: [1]}", r"mcp\.tools must be a list of names"),
        ("mcp: {tools: ['a, b']}", r"mcp\.tools must be a list of names"),
        ("fusion: [rrf]", "fusion must be a text"),
        ("{tools: {deny: [recall]}}", "tools must be like"),
        ("{tools: {allow: [recall]}, mcp: {tools: recall}}", "one setting"),
    ],
)
def test_a_list_where_none_belongs_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load(a_file(tmp_path, text))


def test_a_config_is_taken_as_it_is() -> None:
    config = Config(search_top_k=7)
    assert load(config) is config


def test_a_file_is_read(tmp_path: Path) -> None:
    path = a_file(tmp_path, "fusion: rrf\nsearchTopK: 20\nrrf:\n  k: 10\n  weights: {keyword: 2}\n")
    for config in (load(path), load(str(path))):
        assert (config.search_top_k, config.rrf.k) == (20, 10)
        assert (config.rrf.weights.keyword, config.rrf.weights.vector) == (2.0, 1.0)


def test_the_seeds_wrapping_is_welcome(tmp_path: Path) -> None:
    assert load(a_file(tmp_path, "settings: {memory: {forgetDays: 3}}")).forget_days == 3
    assert load(a_file(tmp_path, "memory: {forgetDays: 4}")).forget_days == 4


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("searchTopK: 10", "searchTopK", "fusion: rrf"),
        ("rrf: {vectorWeight: 0.4}", r"rrf\.vectorWeight", "fusion: rrf"),
        ("settings: {memory: {rrf: {k: 60}}}", r"rrf\.k", "fusion: rrf"),
        ("{fusion: rrf, blend: {graph: 2}}", r"blend\.graph", "fusion: blend"),
        ("embedding: {url: 'http://x/v1', model: m}", r"embedding\.url", "provider: remote"),
    ],
)
def test_a_setting_that_nothing_can_use_is_refused_with_the_line_that_is_missing(
    tmp_path: Path, text: str, name: str, line: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{name} does nothing here.*{line}"):
        load(a_file(tmp_path, text))


def test_a_variable_that_nothing_can_use_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_RRF_K", "5")
    with pytest.raises(ConfigError, match=r"rrf\.k does nothing here"):
        load()
    assert load(a_file(tmp_path, "fusion: rrf")).rrf.k == 5


def test_what_waits_for_a_call_to_switch_it_on_is_no_mistake() -> None:
    config = load({"instructionBoostWeight": 0.3, "boosting": {"enabled": False, "profiles": {}}})
    assert config.instruction_boost_weight == 0.3


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"rrf.k": 5, "contextBudgetTokens": 9}, ["rrf.k"]),
        ({"rrf": {"weights": {"graph": 2}}, "searchTopK": 3}, ["rrf.weights.graph", "searchTopK"]),
        ({"rrf.k": 5, "searchTopK": 3, "fusion": "rrf"}, []),
        ({"blend.graph": 2}, []),
        ({"blend.graph": 2, "fusion": "rrf"}, ["blend.graph"]),
        ({"instructionBoostWeight": 2}, ["instructionBoostWeight"]),
        ({"instructionBoostWeight": 2, "instructionBoostEnabled": True}, []),
        (
            {"boosting": {"enabled": False, "profiles": {"law": {"triggers": ["court"]}}}},
            ["boosting.profiles"],
        ),
        ({"rerankDepth": 3}, ["rerankDepth"]),
        (None, []),
    ],
)
def test_of_one_call_the_settings_that_do_nothing_are_told(
    values: dict[str, Any] | None, told: list[str]
) -> None:
    config = Config().override(values)
    assert [each.partition(" ")[0] for each in idle(config, values)] == told
    assert not any("rerankDepth" in each for each in idle(config, values, reranks=True))


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert load(a_file(tmp_path, "# nothing yet\n")) == Config()


def test_the_environment_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_CONFIG", str(a_file(tmp_path, "forgetDays: 9")))
    assert load().forget_days == 9
    assert load({"forgetDays": 8}).forget_days == 8


def test_a_missing_file_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no-such\.yml"):
        load(tmp_path / "no-such.yml")


@pytest.mark.parametrize(("text", "told"), [("rrf: [", "YAML"), ("- a\n- b\n", "mapping")])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load(a_file(tmp_path, text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.yml"
    path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(ConfigError, match=r"holdfast\.yml"):
        load(path)


def test_the_environment_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_RRF_K", "5")
    monkeypatch.setenv("HOLDFAST_SEARCH_TOP_K", "6")
    monkeypatch.setenv("HOLDFAST_JOBS_LEASE_SECONDS", "2.5")
    config = load(a_file(tmp_path, "{fusion: rrf, rrf: {k: 10}}"))
    assert (config.rrf.k, config.search_top_k, config.jobs.lease_seconds) == (5, 6, 2.5)


def test_variables_that_are_no_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DB", "x.db")
    monkeypatch.setenv("HOLDFAST_CONFIG", "")
    assert load() == Config()


def test_an_unknown_variable_names_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_RFF_K", "5")
    with pytest.raises(ConfigError, match=r'"HOLDFAST_RFF_K".*"HOLDFAST_RRF_K"'):
        load()


@pytest.mark.parametrize("secret", ["12345678", "1e5", "yes", "a #b", "a: b", "[", "null"])
def test_a_text_in_the_environment_is_taken_to_the_letter(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDING_API_KEY", secret)
    assert load().embedding.api_key == secret


@pytest.mark.parametrize("text", ["[", "{a: ", "many", "", "1.5"])
def test_a_number_in_the_environment_must_be_one(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_RRF_K", text)
    with pytest.raises(ConfigError, match=r"rrf\.k|HOLDFAST_RRF_K"):
        load()


@pytest.mark.parametrize("name", ["embedding.apiKey", "extraction.llm.apiKey"])
def test_a_secret_is_never_shown(name: str) -> None:
    assert "hush" not in repr(load({name: "hush"}))
    with pytest.raises(ConfigError) as told:
        load({name: ["hush"]})
    assert "hush" not in str(told.value)


def test_dotted_and_nested_names_say_the_same() -> None:
    assert load({**BY_RANK, "rrf.k": 3}) == load({**BY_RANK, "rrf": {"k": 3}})
    dotted = load({**BY_RANK, "rrf.weights.vector": 3})
    assert dotted == load({**BY_RANK, "rrf": {"weights.vector": 3}})


@pytest.mark.parametrize(
    "values",
    [
        {"rrf": {"weights": {"keyword": 2}}, "rrf.weights.vector": 3},
        {"rrf.weights.vector": 3, "rrf": {"weights": {"keyword": 2}}},
        {"rrf.weights.vector": 3, "rrf.weights": {"keyword": 2}},
    ],
)
def test_dotted_and_nested_names_mix_in_any_order(values: dict[str, Any]) -> None:
    weights = load({**BY_RANK, **values}).rrf.weights
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
    if isinstance(value, bool):
        return ["true", 1, 0, 1.5, None, [True], {"a": 1}]
    if isinstance(value, tuple):
        return ["a", 1, 1.5, True, None, ["a"], [{"a": 1}], {"a": 1}, {"a": {"b": 1}}]
    if isinstance(value, float):
        return ["1", True, None, [1.0], {"a": 1}, float("nan"), float("inf"), -1.0]
    return ["1", 1.5, True, None, [1], {"a": 1}, -1]


#: Settings of several names, which a list may hold.
SEVERAL = ("service.hosts", "outgoing.hosts", "mcp.tools")


def leaf(config: Config, name: str) -> Any:
    for part in name.split("."):
        snake = "".join("_" + c.lower() if c.isupper() else c for c in part)
        config = getattr(config, snake)
    return config


@pytest.mark.parametrize("name", names())
def test_every_setting_refuses_every_wrong_type_by_name(name: str) -> None:
    for wrong in a_wrong_value(leaf(Config(), name)):
        if name in SEVERAL and wrong == ["a"]:
            continue
        with pytest.raises(ConfigError) as told:
            load({name: wrong})
        assert name in str(told.value)


@pytest.mark.parametrize(
    "name",
    [
        "rrf.k",
        "rerankDepth",
        "jobs.maxAttempts",
        "jobs.batch",  # a drain that takes none would never end
        "jobs.leaseSeconds",  # two workers would do every job
        "jobs.pollSeconds",  # the idle worker would never rest
        "extraction.groupTurns",
        "extraction.llm.timeoutSeconds",
        "extraction.llm.maxAnswerTokens",
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
    with pytest.raises(ConfigError, match='"local" or "minilm" or "remote"'):
        load({"embedding.provider": "magic"})


def test_no_language_model_is_asked_unless_it_is_named() -> None:
    assert not Config().extraction.asks_llm
    named = {"llm": {"url": "http://localhost/v1", "model": "m"}}
    assert load({"extraction": named}).extraction.asks_llm
    assert load({"extraction": {"provider": "llm", **named}}).extraction.asks_llm
    for other in ("rules", "nlp"):
        assert not load({"extraction": {"provider": other, **named}}).extraction.asks_llm


@pytest.mark.parametrize(
    "half",
    [
        {"provider": "llm"},
        {"provider": "llm", "llm.url": "http://localhost"},
        {"provider": "llm", "llm.model": "m"},
        {"llm.url": "http://localhost"},
    ],
)
def test_a_language_model_needs_an_address_and_a_name(half: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"extraction\.llm\.url and extraction\.llm\.model"):
        load({"extraction": half})


def test_an_unknown_extractor_is_refused() -> None:
    with pytest.raises(ConfigError, match="auto, rules, nlp, llm"):
        load({"extraction.provider": "magic"})


def test_a_group_that_could_not_show_a_turn_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"extraction\.groupTokens must be at least 1000"):
        load({"extraction.groupTokens": 999})
    assert load({"extraction.groupTokens": 1000}).extraction.group_tokens == 1000
    with pytest.raises(ConfigError, match=r"extraction\.turnChars must be at least 1000"):
        load({"extraction.turnChars": 999})
    least = 4000 + 8000 + 2048
    with pytest.raises(ConfigError, match=rf"dailyTokens must be 0 .* at least {least}"):
        load({"extraction.llm.dailyTokens": least - 1})
    assert load({"extraction.llm.dailyTokens": least}).extraction.llm.daily_tokens == least
    assert load({"extraction.llm.dailyTokens": 0}).extraction.llm.daily_tokens == 0


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
        not in (
            *("searchTopK", "contextBudgetTokens", "fusion", "rrf", "blend", "boosting", "stages"),
            *("instructionLane", "instructionBoostEnabled", "instructionBoostWeight"),
            *("adaptiveLimits", "minConfidence", "relevanceFloor", "conciseness", "mmrLambda"),
            *("neighbourTurns", "relevanceGate", "rerankDepth"),
        )
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


def the_profile(config: Config, name: str) -> TaskProfile:
    (found,) = [profile for profile in config.boosting.profiles if profile.name == name]
    return found


def test_the_built_in_profiles_have_the_numbers_of_the_seed() -> None:
    tiers = ("session", "graph", "knowledge", "workspace")
    shown = {
        profile.name: tuple(profile.weight(tier) for tier in tiers)
        for profile in Config().boosting.profiles
    }
    assert shown == {
        "research": (0.8, 1.8, 1.5, 1.0),
        "debugging": (2.0, 0.7, 0.9, 1.2),
        "debate": (0.9, 1.5, 2.0, 1.0),
        "general": (1.0, 1.0, 1.0, 1.0),
    }
    assert the_profile(Config(), "research").weight("note") == 1.0


def test_a_custom_profile_is_added_and_names_only_what_it_changes(tmp_path: Path) -> None:
    text = (
        "boosting: {profiles: {cooking: {weights: {note: 2}, triggers: [recipe, '  bake  it ']}}}"
    )
    config = load(a_file(tmp_path, text))
    added = the_profile(config, "cooking")
    assert (added.weight("note"), added.weight("session")) == (2.0, 1.0)
    assert added.triggers == ("recipe", "bake it")
    assert config.boosting.profiles[:4] == Config().boosting.profiles


def test_a_profile_of_the_same_name_is_replaced_in_its_place() -> None:
    config = load({"boosting.profiles.debugging": {"weights": {"session": 3}}})
    names_in_order = [profile.name for profile in config.boosting.profiles]
    assert names_in_order == ["research", "debugging", "debate", "general"]
    changed = the_profile(config, "debugging")
    assert changed.weights == (("session", 3.0),)
    assert changed.triggers == the_profile(Config(), "debugging").triggers
    muted = load({"boosting.profiles.debugging.triggers": []})
    assert the_profile(muted, "debugging").triggers == ()
    assert the_profile(muted, "debugging").weight("session") == 2.0


def test_the_seeds_list_of_profiles_is_welcome(tmp_path: Path) -> None:
    text = """
settings:
  memory:
    boosting:
      enabled: true
      profiles:
        - name: debate
          triggers: ["argue", "rebut"]
          weights:
            knowledgeBase: 2.5
            session: 0.9
"""
    debate = the_profile(load(a_file(tmp_path, text)), "debate")
    assert debate == TaskProfile(
        "debate", (("knowledge", 2.5), ("session", 0.9)), ("argue", "rebut")
    )


def test_profiles_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_BOOSTING_ENABLED", "false")
    monkeypatch.setenv("HOLDFAST_BOOSTING_PROFILES", "{cooking: {triggers: [recipe]}}")
    config = load()
    assert config.boosting.enabled is False
    assert the_profile(config, "cooking").triggers == ("recipe",)


def test_a_profile_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_BOOSTING_PROFILES", "{cooking: ")
    with pytest.raises(ConfigError, match="HOLDFAST_BOOSTING_PROFILES"):
        load()


def test_one_call_may_switch_boosting_off_or_bring_a_profile() -> None:
    config = Config()
    assert config.override({"boosting.enabled": False}).boosting.enabled is False
    brought = config.override({"boosting.profiles": {"cooking": {"weights": {"note": 2}}}})
    assert the_profile(brought, "cooking").weight("note") == 2.0
    assert config == Config()


def test_a_configuration_with_profiles_can_be_hashed() -> None:
    config = load({"boosting.profiles": {"cooking": {"weights": {"note": 2}}}})
    assert hash(config) == hash(load({"boosting.profiles.cooking.weights.note": 2}))
    assert load({"boosting.profiles": Config().boosting.profiles}) == Config()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"x": {"weights": {"graph": 0}}}, r"boosting\.profiles\.x\.weights\.graph .*above 0"),
        ({"x": {"weights": {"graph": -1}}}, r"boosting\.profiles\.x\.weights\.graph .*above 0"),
        ({"x": {"weights": {"graph": float("nan")}}}, r"x\.weights\.graph .*above 0"),
        ({"x": {"weights": {"graph": float("inf")}}}, r"x\.weights\.graph .*above 0"),
        ({"x": {"weights": {"graph": True}}}, r"x\.weights\.graph .*above 0"),
        ({"x": {"weights": {"graph": "2"}}}, r"x\.weights\.graph .*above 0"),
        ({"x": {"weights": {"kitchen": 1}}}, r"x\.weights\.kitchen.*known: session, fact"),
        ({"x": {"weights": {"knowledge": 1, "knowledgeBase": 2}}}, r"knowledgeBase.* twice"),
        ({"x": {"weights": [1]}}, r"boosting\.profiles\.x\.weights must map tiers"),
        ({"x": {"triggers": "recipe"}}, r"boosting\.profiles\.x\.triggers must be a list"),
        ({"x": {"triggers": [1]}}, r"x\.triggers\[0\] must be a word or phrase"),
        ({"x": {"triggers": ["bake", "  "]}}, r"x\.triggers\[1\] must be a word or phrase"),
        ({"x": {"triggers": ["a" * 201]}}, r"x\.triggers\[0\] .*at most 200"),
        ({"x": {"triggers": ["a"] * 65}}, r"x\.triggers has 65 phrases, the limit is 64"),
        (
            {"x": {"weight": {"graph": 1}}},
            r"boosting\.profiles\.x\.weight.*known: triggers, weights",
        ),
        ({"x": 1}, r"boosting\.profiles\.x must hold weights and triggers"),
        ({"two words": {}}, r"boosting\.profiles\.two words.*one plain word"),
        ({"": {}}, r"one plain word"),
        ({"1st": {}}, r"boosting\.profiles\.1st.*one plain word"),
        ({f"p{i}": {"triggers": []} for i in range(61)}, r"has 65 profiles, the limit is 64"),
        ([{"triggers": []}], r"boosting\.profiles must map names"),
        ([{"name": "x"}, {"name": "x"}], r"boosting\.profiles lists a name twice"),
    ],
)
def test_a_mistake_in_a_profile_is_told_by_its_full_name(value: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load({"boosting": {"profiles": value}})
    with pytest.raises(ConfigError, match=told):
        Config().override({"boosting.profiles": value})


def test_every_name_is_listed_once() -> None:
    assert len(names()) == len(set(names()))
    assert {"searchTopK", "rrf.k", "rrf.weights.keyword", "embedding.apiKey"} <= set(names())
