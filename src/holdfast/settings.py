"""The groups of settings and their defaults; config.py puts them together and reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

MIB = 1024 * 1024
#: What holds when nothing else is called for.
GENERAL = "general"
T = TypeVar("T", int, float)


def above_zero(default: T) -> T:
    """A setting that must be above 0; all other numbers may be 0."""
    return field(default=default, metadata={"above zero": True})


def share(default: float) -> float:
    """A setting within 0..1."""
    return field(default=default, metadata={"share": True})


def one_of(*choices: str) -> str:
    """A setting that is one of these; the first, unless another is chosen."""
    return field(default=choices[0], metadata={"choices": choices})


@dataclass(frozen=True, slots=True)
class SourceWeights:
    """v(s) of the fusion formula: how much a source's vote counts; 0 = it is not asked."""

    hybrid: float = 1.0
    vector: float = 1.0
    keyword: float = 0.0
    graph: float = 1.0


@dataclass(frozen=True, slots=True)
class PerTier:
    """One share for each tier; a single number in the settings stands for all of them."""

    session: float = share(0.7)
    fact: float = share(0.7)
    note: float = share(0.7)
    profile: float = share(0.7)
    graph: float = share(0.7)
    procedure: float = share(0.7)
    knowledge: float = share(0.7)
    workspace: float = share(0.7)


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal rank fusion; its numbers are the seed's, and of the paper (k)."""

    k: int = above_zero(60)
    weights: SourceWeights = field(default_factory=SourceWeights)
    #: In the hybrid score, what the cosine counts against the keywords.
    vector_weight: PerTier = field(default_factory=PerTier)


@dataclass(frozen=True, slots=True)
class Blend:
    """Weights of the default fusion, found by random search over LoCoMo and BEAM with the embedder
    of our own and rounded; see recall/sources/blend.py and docs/decisions/0006, 0008, 0017."""

    window: float = 0.8
    people: float = 0.55
    session: float = 0.45
    cover: float = 0.4
    vector: float = 1.0
    around: float = 0.45
    theme: float = 2.0
    role: float = 0.7
    speaker: float = 1.5
    time: float = 0.95
    taste: float = 0.6
    length: float = 0.35
    graph: float = 1.1


@dataclass(frozen=True, slots=True)
class Stages:
    """Stages of recall that are on unless switched off; see recall/pipeline.py."""

    temporal: bool = True
    current: bool = True
    replaced: bool = True
    literal: bool = True
    similar: bool = True


@dataclass(frozen=True, slots=True)
class TaskProfile:
    """One task profile: how it weighs the tiers of a recall, and the phrases that call for it."""

    name: str
    #: (tier, multiplier); a tier that is not listed weighs 1.
    weights: tuple[tuple[str, float], ...] = ()
    triggers: tuple[str, ...] = ()

    def weight(self, tier: str) -> float:
        """The multiplier of a tier."""
        return dict(self.weights).get(tier, 1.0)


Profiles = tuple[TaskProfile, ...]

#: In the order that settles ties.
BUILT_IN: Profiles = (
    TaskProfile(
        "research",
        (("session", 0.8), ("graph", 1.8), ("knowledge", 1.5), ("workspace", 1.0)),
        ("research", "summarize", "compare sources"),
    ),
    TaskProfile(
        "debugging",
        (("session", 2.0), ("graph", 0.7), ("knowledge", 0.9), ("workspace", 1.2)),
        ("error", "exception", "traceback", "bug", "failing"),
    ),
    TaskProfile(
        "debate",
        (("session", 0.9), ("graph", 1.5), ("knowledge", 2.0), ("workspace", 1.0)),
        ("argue", "defend", "counter", "refute", "evidence"),
    ),
    TaskProfile(
        GENERAL, (("session", 1.0), ("graph", 1.0), ("knowledge", 1.0), ("workspace", 1.0))
    ),
)


@dataclass(frozen=True, slots=True)
class Boosting:
    """Task profiles: the tiers weighed by what the message is about; see recall/profile.py."""

    enabled: bool = True
    profiles: Profiles = BUILT_IN


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller may send. One byte more is refused with the number in the message."""

    message_bytes: int = 1 * MIB
    batch_bytes: int = 64 * MIB
    batch_messages: int = 200_000
    body_bytes: int = 16 * MIB
    query_bytes: int = 32 * 1024
    metadata_bytes: int = 32 * 1024
    metadata_keys: int = 64
    metadata_depth: int = 8


@dataclass(frozen=True, slots=True)
class Jobs:
    """The background queue."""

    #: Tries before a job becomes a dead letter.
    max_attempts: int = above_zero(5)
    #: A worker that does not answer for this long loses its jobs.
    lease_seconds: float = above_zero(60.0)
    #: First pause after a failure; doubles each time up to the cap, with jitter.
    backoff_seconds: float = 1.0
    backoff_cap_seconds: float = 300.0
    #: What reading a conversation by rules or spaCy may take, in a process of its own; 0 = in this
    #: one, without a limit.
    read_seconds: float = 30.0
    #: Jobs taken at once.
    batch: int = above_zero(32)
    #: How often an idle worker looks for jobs that other processes wrote.
    poll_seconds: float = above_zero(0.2)


@dataclass(frozen=True, slots=True)
class Index:
    """Owners too large to be held in memory, on a PostgreSQL server with pgvector."""

    #: Who has more turns is not loaded: the database names documents that may answer.
    resident_memories: int = above_zero(200_000)
    #: Links of each vector in the index of what was said and derived, and how many are looked at
    #: when one is added; of what stands in the knowledge graph. The seed's.
    links: int = above_zero(8)
    build_effort: int = above_zero(32)
    graph_links: int = above_zero(24)
    graph_build_effort: int = above_zero(128)
    #: How many vectors a search looks at in it.
    search_effort: int = above_zero(1000)
    #: Of an owner with up to so many documents a sketch of each is held in memory (its words, the
    #: signs of its vector, its session: some 200 bytes); of a larger one the server's indexes
    #: answer.
    compared_memories: int = above_zero(2_000_000)


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which model turns text into vectors."""

    #: "local" (shipped, offline), "minilm" (the model that it was trained from, shipped, too), or
    #: "remote" (an OpenAI-compatible endpoint that you name).
    provider: str = one_of("local", "minilm", "remote")
    url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = above_zero(30.0)


@dataclass(frozen=True, slots=True)
class Llm:
    """Which language model reads conversations, what it costs, and what it may cost."""

    url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = above_zero(60.0)
    #: The longest answer that is asked for.
    max_answer_tokens: int = above_zero(2048)
    #: What a million tokens cost, in any currency.
    prompt_price: float = 0.0
    answer_price: float = 0.0
    #: The most that may be spent for one user in one day of UTC; 0 = no limit of this kind.
    daily_calls: int = 1000
    daily_tokens: int = 2_000_000
    daily_cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """How conversations become entities, relations and facts, in the background."""

    enabled: bool = True
    #: "auto", "rules" (nothing but patterns), "nlp" (spaCy) or "llm" (an endpoint that you name).
    provider: str = "auto"
    #: "model": also the shipped model that reads, line by line; "rules": patterns alone.
    reader: str = one_of("model", "rules")
    #: A session is read when it has been quiet for this long, or has waited for that long.
    quiet_seconds: float = 5.0
    wait_seconds: float = 60.0
    #: The most that is read at once.
    group_turns: int = above_zero(20)
    group_tokens: int = 4000
    #: Of one turn no more than so many characters are understood; all of it is stored and found.
    turn_chars: int = 24_000
    #: Ask the language model, too, about new facts that the rules leave in doubt.
    judge: bool = True
    llm: Llm = field(default_factory=Llm)

    @property
    def prompt_tokens(self) -> int:
        """The most that is sent at once: turns, instructions, what is known and was said before."""
        return self.group_tokens + 8_000

    @property
    def asks_llm(self) -> bool:
        """Whether a language model is to be asked: "auto" asks one that has an address."""
        return self.provider == "llm" or (self.provider == "auto" and bool(self.llm.url))


@dataclass(frozen=True, slots=True)
class Decay:
    """How the knowledge graph fades; the seed's numbers. Nothing is deleted by it."""

    #: false: nothing of the graph fades.
    enabled: bool = True
    #: A relation that is not told again has half its weight after so many days, and is left out
    #: under this weight.
    half_life_days: float = above_zero(90.0)
    minimum_weight: float = share(0.10)
    #: What is left of an entity each day that it is not spoken of.
    stale_factor: float = field(default=0.97, metadata={"share": True, "above zero": True})


#: As nothing else is set.
DECAY = Decay()


@dataclass(frozen=True, slots=True)
class Life:
    """What a memory does by itself, at night; see docs/howto/life-cycle.md."""

    #: Only say what would be put aside or put together.
    shadow: bool = True


@dataclass(frozen=True, slots=True)
class Service:
    """The HTTP service; see docs/howto/deploy.md."""

    #: Names it may be called by besides the loopback's and its own address, separated by commas.
    hosts: str = ""
    #: What one key may ask for in a minute; 0 = no limit.
    requests_per_minute: int = 60_000
    #: With more jobs waiting than this, nothing more is taken in until there are fewer; 0 = any.
    queue_jobs: int = 1_000_000
    #: How long a request may take to arrive.
    body_seconds: float = above_zero(30.0)
    #: Requests under way at one time.
    connections: int = above_zero(1024)
    #: Of these, what one key may have; 0 = all of them.
    connections_per_key: int = 64
    #: What language models may take of one key in one day of UTC, in tokens and in the currency of
    #: the proxy's prices; 0 = no limit of this kind. A key may have a smaller limit of its own.
    daily_tokens: int = 0
    daily_cost: float = 0.0
    #: How deep JSON may be nested, and how many values it may hold.
    json_depth: int = above_zero(64)
    json_values: int = above_zero(1_000_000)
    #: "text" or "json": how the log is written.
    log_format: str = one_of("text", "json")
    #: Where traces go (OTLP over HTTP); "" = nowhere.
    traces_url: str = ""


@dataclass(frozen=True, slots=True)
class Proxy:
    """The language model behind /v1/proxy; see docs/howto/proxy.md."""

    #: Its OpenAI-compatible address, for example http://127.0.0.1:8080/v1; "" = no proxy.
    url: str = ""
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = above_zero(600.0)
    budget_tokens: int = 2000
    #: Whether what was said is remembered.
    remember: bool = True
    #: Whether memories join the caller's last leading system message: some models take but one.
    join: bool = False
    #: What a million tokens cost, in any currency.
    prompt_price: float = 0.0
    answer_price: float = 0.0


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What the service may call by itself: off, or only public addresses, or hosts named here."""

    #: Whether documents may be fetched by their URL.
    fetch: bool = False
    #: Whether webhooks are sent.
    webhooks: bool = True
    #: Hosts that may be called though their addresses are not public, separated by commas.
    hosts: str = ""
    timeout_seconds: float = above_zero(5.0)
    most_bytes: int = above_zero(2 * MIB)


@dataclass(frozen=True, slots=True)
class Mcp:
    """The MCP server; see docs/howto/mcp.md."""

    #: Tools that are offered, separated by commas; "" = all of them.
    tools: str = ""
    #: By agent, the tools of it: "coder: recall, context; *: recall", where * is every other.
    agent_tools: str = ""
    #: Whether what a client calls the user's turn counts as the user's own words, from which
    #: standing instructions are learned: only for clients that never let a model fill it in.
    user_words: bool = False
