"""open(url) -> Memory. The only module that knows the adapters; it imports one when it is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from holdfast.border.validate import check_file, is_address
from holdfast.config import Config, file_here, load
from holdfast.errors import ConfigError
from holdfast.memory.core import MakeReader
from holdfast.memory.memory import Memory
from holdfast.models.base import Embedder, is_stand_in

if TYPE_CHECKING:
    from holdfast.language.extraction import Extractor
    from holdfast.models.base import Generator
    from holdfast.models.reader import LocalReader
    from holdfast.recall.stages.rerank import Reranker
    from holdfast.store.protocols import Progress, Store
    from holdfast.store.sql.copy import Copied

DEFAULT_URL = "holdfast.db"


def open(
    url: str | Path = DEFAULT_URL,
    *,
    config: Config | Mapping[str, Any] | str | Path | None = None,
    worker: bool = True,
    clock: Callable[[], datetime] | None = None,
    embedder: Embedder | None = None,
    extractor: Extractor | None = None,
    reranker: Reranker | None = None,
    api_key: str | None = None,
) -> Memory:
    """Open a memory: a path or sqlite:///path; the file is made when missing. Or a database:
    postgresql://user@host/database (the extra `postgres`); `postgresql://embedded` starts a server.

    Or the address of a service, http://host:3050, with a key of it: `api_key`, else that of
    HOLDFAST_API_KEY. That is a `holdfast.Client`: the same verbs, types and errors, with the
    settings, models, worker and clock of the service.

    `worker=False` starts no background thread: call `drain()` or run `holdfast worker`.
    `embedder` is any object with `model_id`, `dim` and `embed(texts)`; default: the shipped model.
    The shipped model that reads works beside either, unless the settings say otherwise.
    `extractor` is any object with `extract(turns)`, see language/extraction.py; default: spaCy if
    it is installed, else rules. A language model that the settings name is asked first.
    `reranker` is any object with `model_id` and `rerank(query, texts)`; default: none.
    """
    if is_address(url):
        _only_for_files(
            config=config, clock=clock, embedder=embedder, extractor=extractor, reranker=reranker
        )
        return connect(str(url), api_key)
    if api_key is not None:
        raise ConfigError("api_key is for a service: a file has no keys of its own")
    if url == DEFAULT_URL:
        url = file_here(DEFAULT_URL)
    settings = load(config)
    chosen = make_embedder(settings) if embedder is None else embedder
    reads = settings.extraction.reader == "model" and not is_stand_in(chosen)
    lines = _reader() if reads else None
    store = make_store(url)
    try:
        return Memory(
            store, chosen, config=settings, clock=clock, worker=worker,
            older_embedder=_shipped_embedder, reranker=reranker, reader=lines,
            comparer=_beside_reader() if reads else chosen,
            reading=_make_reader(settings, extractor, lines),
        )  # fmt: skip
    except BaseException:
        store.close()
        raise


def connect(url: str, api_key: str | None = None) -> Memory:
    """A client of a service, typed as the memory whose verbs it has."""
    from holdfast.client.remote import Client

    # No base class for both: it would say every signature again. A test compares them instead.
    return cast(Memory, Client(url, api_key))


def _only_for_files(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"{name} belongs to the service: it cannot be given with its address")


def make_store(url: str | Path) -> Store:
    """The store behind a URL."""
    text = str(url)
    if is_address(text):
        raise ConfigError("this needs the store itself, not a service: run it where its file is")
    scheme, separator, rest = text.partition("://")
    if not separator:
        check_file(text)
        scheme, rest = "sqlite", "/" + text
    match scheme.lower():
        case "sqlite":
            from holdfast.store.sqlite import SqliteStore

            path = rest.removeprefix("/")
            if not path:
                raise ConfigError(f"{text!r} names no file: use sqlite:///memory.db")
            return SqliteStore(path)
        case "postgresql" | "postgres":
            return _postgres(f"postgresql://{rest}")
    raise ConfigError(
        f"cannot open {scheme}://: known are a path, sqlite:///path, postgresql://host/database and"
        " http://host"
    )


def _postgres(url: str) -> Store:
    try:
        from holdfast.store.postgres import PostgresStore
        from holdfast.store.postgres.address import started
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"PostgreSQL needs the package {error.name}: pip install 'holdfast[postgres]'"
        ) from None
    return PostgresStore(started(url))


def migrate(
    source: str | Path, target: str | Path, *, finish: bool, progress: Progress | None = None
) -> Copied:
    """Copy one store into another, which is empty or the unfinished copy of before."""
    from holdfast.store.sql import SqlStore
    from holdfast.store.sql.copy import copy_store

    with ExitStack() as stack:
        stores = []
        for url in (source, target):
            store = make_store(url)
            stack.callback(store.close)
            assert isinstance(store, SqlStore)
            stores.append(store)
        return copy_store(stores[0], stores[1], finish=finish, progress=progress)


def make_embedder(config: Config) -> Embedder:
    """The embedder that the configuration names."""
    if config.embedding.provider == "remote":
        from holdfast.models.remote import RemoteEmbedder

        remote = config.embedding
        return RemoteEmbedder(
            remote.url, remote.model, remote.api_key, timeout_s=remote.timeout_seconds
        )
    from holdfast.models.local import BASE, OWN

    return _local(BASE if config.embedding.provider == "minilm" else OWN)


def make_generator(config: Config) -> Generator | None:
    """The language model that the configuration names, if any."""
    if not config.extraction.asks_llm:
        return None
    from holdfast.models.remote import RemoteGenerator

    llm = config.extraction.llm
    return RemoteGenerator(
        llm.url,
        llm.model,
        llm.api_key,
        timeout_s=llm.timeout_seconds,
        max_prompt_tokens=config.extraction.prompt_tokens,
        max_answer_tokens=llm.max_answer_tokens,
    )


def _make_reader(
    config: Config, extractor: Extractor | None, lines: LocalReader | None
) -> MakeReader | None:
    """The step that understands turns, if it is wanted."""
    if not config.extraction.enabled:
        return None
    from holdfast.learn.extract import make_extract

    return make_extract(config, extractor=extractor, generator=make_generator(config), lines=lines)


def _shipped_embedder(model: str) -> Embedder | None:
    """A shipped model by its id: it answers for an old index while a new one is built."""
    from holdfast.models.local import FOLDERS

    return _local(model) if model in FOLDERS else None


@lru_cache(maxsize=1)
def _reader() -> LocalReader:
    from holdfast.models.reader import LocalReader

    return LocalReader()


def _beside_reader() -> Embedder:
    """What tells the reader how alike two statements are: its numbers were fitted with this one,
    and cosines of another mean something else."""
    from holdfast.models.local import OWN

    return _local(OWN)


@lru_cache(maxsize=2)
def _local(model: str) -> Embedder:
    from holdfast.models.local import LocalEmbedder

    return LocalEmbedder(model)
