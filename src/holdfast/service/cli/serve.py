"""Commands that run, and the queue and keys they run with: worker, serve, jobs, keys."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from holdfast.errors import Closed, ConfigError, ModelError, NotFound, Unavailable
from holdfast.service import logs
from holdfast.service.cli.command import Call, Option, command, group
from holdfast.service.cli.show import (
    Agent,
    AsJson,
    ConfigFile,
    Db,
    Workspace,
    columns,
    day,
    document,
    line,
    note,
    progress,
    several,
)
from holdfast.types import Drained

if TYPE_CHECKING:
    from holdfast.client.remote import Identity
    from holdfast.config import Config
    from holdfast.memory.memory import Memory
    from holdfast.service.http.processes import Member
    from holdfast.store.protocols import Store
    from holdfast.types import ApiKey

#: The commands that belong to no group.
top = typer.Typer()


# ----------------------------------------------------------------------
# The command `mcp`: a memory for clients that start a program and speak MCP with it.
# ----------------------------------------------------------------------

#: Whose memory a file holds when nobody says.
DEFAULT_USER = "default"


_User = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        help=f"Whose memory. Default: {DEFAULT_USER}; of a service, the user of its key.",
    ),
]
_Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tools", metavar="A,B", help="Offer only these tools; may be repeated. Default: all."
    ),
]
_ReadOnly = Annotated[bool, typer.Option("--read-only", help="Offer only tools that read.")]


@top.command("mcp", epilog="Example: holdfast mcp --db holdfast.db --user ann")
def mcp(
    *,
    user: _User = None,
    workspace: Workspace = "default",
    agent: Agent = None,
    tools: _Tools = None,
    read_only: _ReadOnly = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Speak MCP on stdin and stdout, for Claude, editors and other clients; logs go to stderr."""
    from holdfast.border.validate import is_address  # noqa: PLC0415
    from holdfast.config import default_db, load_for_command_line  # noqa: PLC0415
    from holdfast.service.keys import split_names  # noqa: PLC0415
    from holdfast.service.mcp.wire import Wire  # noqa: PLC0415

    url, settings = db or default_db(), load_for_command_line(config)
    far = is_address(url)
    _check_installed()
    for each in (signal.SIGTERM, signal.SIGINT):  # Until there is a loop that hears them.
        signal.signal(each, _leave)
    wire = Wire(settings.limits.body_bytes)
    asker, stdio = _machinery()
    key = _identity(url) if far else None
    listed = asker.allow_list(settings.mcp.tools.split(","), stdio.ALL, "mcp.tools")
    agents = asker.allow_lists(settings.mcp.agent_tools, stdio.ALL, "mcp.agentTools")
    listed = asker.intersection(listed, asker.of_agent(agents, agent))
    who = asker.Asker(
        workspace=workspace,
        user=user or (DEFAULT_USER if not far else key.user if key else None),
        agent=agent,
        role="read" if read_only else "write",
        relays=settings.mcp.user_words,
        tools=asker.intersection(
            listed, asker.allow_list(split_names(tools or ()), stdio.ALL, "--tools")
        ),
        names_user=not user and key is not None and key.user is None,
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    with _opening(url, None if far else settings) as opened:
        stdio.run(opened, who, wire)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _identity(url: str) -> Identity | None:
    """Whose key this is. A wrong one is told now: a client shows little of what a tool answers."""
    from holdfast.client.remote import whoami  # noqa: PLC0415

    try:
        return whoami(url)
    except Unavailable as error:  # It may come back; every call will tell.
        note(str(error))
        return None


def _check_installed() -> None:
    """Before a word is said: without the package nobody would hear the next one."""
    if find_spec("mcp") is None:
        raise _absent("mcp")


def _machinery() -> tuple[Any, Any]:
    try:
        from holdfast.service.mcp import asker, stdio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("holdfast"):
            raise
        raise _absent(error.name) from error
    return asker, stdio


def _absent(package: str | None) -> ConfigError:
    return ConfigError(
        f"MCP needs the package {package}: install Holdfast with the extra [mcp]:"
        " in its checkout, pip install '.[mcp]'"
    )


@contextmanager
def _opening(url: str, settings: Config | None) -> Iterator[Future[Memory]]:
    """A memory that is opened meanwhile, and its model loaded, so that neither the first answer nor
    the first question waits for it. Without settings it is that of a service."""
    opened: Future[Memory] = Future()
    with ExitStack() as stack:
        thread = threading.Thread(
            target=_open, args=[url, settings, opened, stack], name="holdfast-warm-up"
        )
        thread.start()
        try:
            yield opened
        finally:
            thread.join()  # A process that ends while a model is being loaded crashes.
        opened.result()  # If it never came, this says why.


def _open(url: str, settings: Config | None, opened: Future[Memory], stack: ExitStack) -> None:
    from holdfast.wiring import open  # noqa: PLC0415

    try:
        memory = stack.enter_context(open(url) if settings is None else open(url, config=settings))
    except BaseException as error:  # noqa: BLE001 (it is raised where the result is asked for)
        opened.set_exception(error)
        return
    opened.set_result(memory)
    if settings is not None:
        with suppress(Closed, ModelError):
            memory.warm()


_LOOK_AGAIN_SECONDS = 0.05
#: Before a worker that died is started again.
_AGAIN_SECONDS = 1.0
#: Whoever answers goes first: a worker of its own takes what the services on the machine leave.
_NICE = 5


jobs = typer.Typer(
    help="List the jobs of the queue: ready, running and dead; replay the dead.",
    epilog="Example: holdfast jobs --state dead",
    invoke_without_command=True,
)
keys = group(
    "Keys of the service: create, list, rotate, revoke.", "holdfast keys create --role write"
)


@top.command("worker", epilog="Example: holdfast worker --db holdfast.db")
def worker(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Work off what is queued, then exit.")
    ] = False,
    processes: Annotated[
        int, typer.Option(min=1, max=256, help="So many at once, a core each.")
    ] = 1,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Work off the queue until SIGTERM or Ctrl-C; what is in hand is finished or handed back."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    if processes > 1:
        _work_together(processes, db=db, config=config, once=once, json=json)
        return
    with _Signals() as signals, memory_at(db, config, must_exist=False, here=True) as memory:
        logs.configure(memory.config.service.log_format)
        if not once:
            note("working; end with Ctrl-C or SIGTERM")
        done = _work_off(memory, signals) if once else _work(memory, signals)
    if json:
        document(done)
    else:
        _tell_done(done)
    _leave_models(memory)


@top.command("rebuild", epilog="Example: holdfast rebuild --db holdfast.db")
def rebuild(
    *,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what an earlier call left unread.")
    ] = False,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Read every stored turn again, with the reader of today: after an update it may find more.

    What is known stays as it is; a turn that was forgotten, or of which something was, is not read
    again. It can be stopped at any time: what is left waits in the queue, for --resume or for the
    worker of a service.
    """
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    way = "POST /v1/jobs/rebuild"
    with _Signals() as signals, memory_at(db, config, here=True, way=way) as memory:
        queued = 0 if resume else memory.rebuild()
        done = _work_off(memory, signals)
    if json:
        document({"queued": queued, **asdict(done)})
    else:
        line(f"{several(queued, 'turn', 'turns')} queued to be read again")
        _tell_done(done)
        if done.pending:
            note("go on with `holdfast rebuild --resume`")
    _leave_models(memory)


def _work_together(
    processes: int, *, db: str | None, config: Path | None, once: bool, json: bool
) -> None:
    """Several workers, of which each takes what the others leave."""
    from holdfast.config import default_db, environment_with  # noqa: PLC0415
    from holdfast.service.cli.opening import store_at  # noqa: PLC0415

    with store_at(db, config, must_exist=False):
        pass  # What is wrong with it is told once; a new one is made once.
    command = [sys.executable, "-m", "holdfast", "worker", "--json"]
    command += ["--once"] if once else []
    command += [] if config is None else ["--config", str(config)]
    environment = environment_with(db or default_db(), processes=processes)
    began = time.monotonic()
    with _Signals() as signals:
        told = _Workers(command, environment).run(processes, signals)
    sums = {name: sum(each[name] for each in told) for name in ("done", "dead")}
    pending = min((each["pending"] for each in told), default=0)
    done = Drained(sums["done"], sums["dead"], time.monotonic() - began, pending)
    document(done) if json else _tell_done(done)


class _Workers:
    """Processes that work: one that dies is started again, and all end together."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._working: list[subprocess.Popen[bytes]] = []
        #: What those said that ended well.
        self._told: list[dict[str, Any]] = []

    def run(self, count: int, signals: _Signals) -> list[dict[str, Any]]:
        """Until all have ended by themselves, or a signal came; what they said."""
        for _ in range(count):
            self._start()
        while self._working and not signals.came:
            time.sleep(_LOOK_AGAIN_SECONDS)
            for each in [each for each in self._working if each.poll() is not None]:
                if self._ended(each) != 0 and not signals.came:
                    note(f"a worker ended with {each.returncode}: another is started")
                    time.sleep(_AGAIN_SECONDS)
                    self._start()
        for each in self._working:
            each.terminate()
        while self._working:
            self._ended(self._working[0])
        return self._told

    def _start(self) -> None:
        self._working.append(
            subprocess.Popen(self._command, stdout=subprocess.PIPE, env=self._environment)
        )

    def _ended(self, worker: subprocess.Popen[bytes]) -> int:
        """Wait for the end of one and note what it said; with what it ended."""
        out = worker.communicate()[0]
        self._working.remove(worker)
        if worker.returncode == 0:
            self._told.append(orjson.loads(out))
        return worker.returncode


def _tell_done(done: Drained) -> None:
    left = f", {done.pending} left" if done.pending else ""
    line(f"{several(done.done, 'job', 'jobs')} done, {done.dead} dead{left}, {done.seconds:.1f} s")


def _leave_models(memory: Memory) -> None:
    """Leave at once if a model is at work: the ordinary way would abort it."""
    if memory.worker.left_behind:
        sys.stdout.flush()
        os._exit(0)


@top.command("serve", epilog="Example: holdfast serve --db holdfast.db --port 3050")
def serve(  # noqa: PLR0913 (one per option)
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 3050,
    worker: Annotated[
        bool,
        typer.Option(
            "--worker/--no-worker", help="Do the background work here, or leave it to others."
        ),
    ] = True,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Ask for no key: everybody is the operator.")
    ] = False,
    processes: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="So many that answer on one socket, each user by one of them."
        ),
    ] = 1,
    open: Annotated[bool, typer.Option("--open", help="Open the window in a browser.")] = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Run the HTTP service; on a new store it makes an admin key and prints it once."""
    from holdfast.config import default_db, load_for_command_line  # noqa: PLC0415

    start_together, run = _service()
    from holdfast.service.cli.opening import check_here, show_page  # noqa: PLC0415

    check_here(db or default_db())
    settings, member = load_for_command_line(config), None
    if processes > 1:  # With everything imported: they share it.
        member = start_together(processes, host, port, worker=worker)
        if member is None:
            return
        if member.works:
            _work_beside(member, db, config)
            return
    run(
        db or default_db(), host=host, port=port, config=settings, worker=worker,
        log_level=log_level, no_auth=no_auth, member=member,
        when_ready=show_page if open else None,
    )  # fmt: skip


def serve_page(page: str, db: str, config: Path | None) -> None:
    """Run the service of a store on a free port, and open a page of its window in a browser."""
    from holdfast.config import load_for_command_line  # noqa: PLC0415

    _, run = _service()
    from holdfast.service.cli.opening import check_exists, show_page  # noqa: PLC0415

    check_exists(db)
    settings = load_for_command_line(config)
    run(db, port=0, config=settings, when_ready=lambda url: show_page(url + page))


def _service() -> tuple[Any, Any]:
    try:
        from holdfast.service.http.processes import start_together  # noqa: PLC0415
        from holdfast.service.http.serving import serve as run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("holdfast"):
            raise
        raise ConfigError(
            f"the service needs the package {error.name}: install Holdfast with the extra"
            " [server]: in its checkout, pip install '.[server]'"
        ) from error
    return start_together, run


def _work_beside(member: Member, db: str | None, config: Path | None) -> None:
    """The background work of a service of several processes, in one of its own."""
    from holdfast.service.cli.opening import memory_at  # noqa: PLC0415

    with _Signals() as signals, memory_at(db, config, must_exist=False, here=True) as memory:
        logs.configure(memory.config.service.log_format, process=member.number)
        member.when_left(signals.end)
        member.ready()
        _work(memory, signals)
    _leave_models(memory)


@jobs.callback(invoke_without_command=True)
def _list_jobs(
    *,
    context: typer.Context,
    state: Annotated[
        list[str] | None, typer.Option(help="ready, running or dead; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 100,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    if context.invoked_subcommand is not None:
        context.obj = (db, config)
        return
    from holdfast.service.cli.opening import store_at  # noqa: PLC0415

    states = state or ["ready", "running", "dead"]
    if unknown := set(states) - {"ready", "running", "dead"}:
        raise ConfigError(f"--state must be ready, running or dead, not {sorted(unknown)[0]!r}")
    with store_at(db, config, way="GET /v1/jobs") as store:
        found, counts = store.jobs(states=states, limit=limit), store.counts()
    if json:
        told = {"ready": counts.ready, "running": counts.running, "dead": counts.dead}
        document({"counts": told, "jobs": found})
        return
    if not found:
        line("no jobs: everything is done" if not state else f"no {' or '.join(states)} jobs")
        return
    rows = [
        (job.id, job.state, job.step, job.attempts, job.scope.user, job.subject, job.error or "")
        for job in found
    ]
    columns(rows, heading=("id", "state", "step", "attempts", "user", "memory", "error"))
    note(f"{counts.ready} ready, {counts.running} running, {counts.dead} dead")


@jobs.command("replay", epilog="Example: holdfast jobs replay 17 18")
def _replay(
    *,
    context: typer.Context,
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]...", help="Default: all dead jobs.")
    ] = None,
    json: AsJson = False,
    db: Db = None,
    config: ConfigFile = None,
) -> None:
    """Make dead jobs ready again, with fresh attempts; the next worker takes them."""
    from holdfast.service.cli.opening import store_at  # noqa: PLC0415

    outer_db, outer_config = context.obj or (None, None)
    way = "POST /v1/jobs/replay"
    with store_at(db or outer_db, config or outer_config, way=way) as store:
        replayed = store.replay(ids or None)
    if json:
        document({"replayed": replayed})
    else:
        line(f"ready again: {several(replayed, 'job', 'jobs')}")


def _create(store: Store, given: dict[str, Any]) -> tuple[ApiKey, str]:
    from holdfast.service.keys import create_key  # noqa: PLC0415

    return create_key(store, **given)


def _with_secret(made: tuple[ApiKey, str], _: Call) -> dict[str, Any]:
    return {**asdict(made[0]), "key": made[1]}


def _tools(typed: list[str] | None) -> Any:
    from holdfast.service.keys import checked_tools  # noqa: PLC0415

    return checked_tools(typed)


@command(
    keys, "keys create", "workspace user role expires_at:expires label tools tokens_a_day",
    "--user ann --role read --json", verb="", way="POST /v1/keys", creates=True, does=_create,
    data=_with_secret,
    workspace=Option("Of which workspace.", type=str, default="default"),
    user=Option("Of one user. Default: every user.", type=str, default=None),
    role=Option("read, write (also reads) or admin.", type=str, default="write"),
    expires_at=Option("ISO 8601 with a zone. Default: never.", "TIME", type=str, default=None),
    label=Option("A note.", type=str, default=None),
    tools=Option(
        "Tools of the MCP server that it may use; may be repeated. Default: all.", "A,B",
        type=list[str], default=None, read=_tools,
    ),
    tokens_a_day=Option(
        "What language models may take of it in a day. Default: as the service allows.", "N",
        type=int, default=None, least=1,
    ),
)  # fmt: skip
def _create_key(made: tuple[ApiKey, str], _: Call) -> None:
    """Make a key and print it: this once, only its digest is kept."""
    key, secret = made
    line(secret)
    who = key.user or "every user"
    note(f"key {key.id}: {key.role}, {who} of workspace {key.workspace}; it is not shown again")


@command(
    keys, "keys list", "", "", verb="", way="GET /v1/keys",
    does=lambda store, _: [key for key, _ in store.api_keys()],
    nothing="no keys yet: make one with `holdfast keys create`",
)  # fmt: skip
def _list_keys(found: Sequence[ApiKey], _: Call) -> None:
    """List the keys, without their secrets."""
    rows = [
        (
            key.id,
            key.workspace,
            key.user or "(every user)",
            key.role,
            day(key.created_at),
            day(key.expires_at),
            day(key.revoked_at),
            "" if key.tokens_a_day is None else key.tokens_a_day,
            key.label or "",
        )
        for key in found
    ]
    names = "id,workspace,user,role,created,expires,revoked,tokens a day,label"
    columns(rows, heading=names.split(","))


_KEY_ID = Option("As `keys list` shows it.", "ID", type=str, is_argument=True)


def _revoke(store: Store, given: dict[str, Any]) -> bool:
    from holdfast.service.keys import is_last_admin, revoke_key  # noqa: PLC0415

    if not store.api_keys(id=given["id"]):
        raise NotFound(f"there is no key {given['id']!r}")
    was_last = is_last_admin(store, given["id"], now=datetime.now(UTC))
    changed = revoke_key(store, given["id"], at=datetime.now(UTC))
    if was_last:
        note("it was the last admin key: make another with `holdfast keys create --role admin`")
    return changed


@command(
    keys, "keys revoke", "id", "5f3a9c0112345678", verb="", way="DELETE /v1/keys/ID",
    does=_revoke, data=lambda changed, call: {"id": call["id"], "changed": changed}, id=_KEY_ID,
)  # fmt: skip
def _revoke_key(changed: bool, _: Call) -> None:
    """Revoke a key: from now on it opens nothing."""
    line("revoked" if changed else "nothing to do: it was revoked already")


def _rotate(store: Store, given: dict[str, Any]) -> tuple[ApiKey, str]:
    from holdfast.service.keys import rotate_key  # noqa: PLC0415

    return rotate_key(store, given["id"])


@command(
    keys, "keys rotate", "id", "5f3a9c0112345678", verb="", way="POST /v1/keys/ID/rotate",
    does=_rotate, data=_with_secret, id=_KEY_ID,
)  # fmt: skip
def _rotate_key(made: tuple[ApiKey, str], _: Call) -> None:
    """Give a key a new secret and print it: the one it had opens nothing from now on."""
    line(made[1])


class _Signals:
    """Notes SIGTERM and SIGINT instead of dying of them; a second one is obeyed at once."""

    def __init__(self) -> None:
        self.came = False

    def __enter__(self) -> _Signals:
        self._before = {each: signal.signal(each, self._note) for each in _ENDING}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def end(self) -> None:
        """As if a signal had come."""
        self.came = True

    def _note(self, number: int, _: FrameType | None) -> None:
        self.came = True
        signal.signal(number, self._before[signal.Signals(number)])


_ENDING = (signal.SIGTERM, signal.SIGINT)


def _work(memory: Memory, signals: _Signals) -> Drained:
    """Work in a thread (a signal handler must not touch its locks) until a signal comes."""
    began = time.monotonic()
    os.nice(_NICE)
    from holdfast.service.webhooks import Sender  # noqa: PLC0415

    with suppress(ModelError):  # What cannot be loaded now is tried again with the first job.
        memory.warm()
    memory.worker.start()
    with Sender(memory):
        while not signals.came:
            time.sleep(_LOOK_AGAIN_SECONDS)
        memory.worker.stop()
    tally, counts = memory.worker.tally, memory.store.counts()
    seconds = time.monotonic() - began
    return Drained(tally.done, tally.dead, seconds, counts.ready + counts.running)


def _work_off(memory: Memory, signals: _Signals) -> Drained:
    """Batch by batch, until nothing is left that this model can do, or a signal comes."""
    began = time.monotonic()
    total = memory.store.counts().ready
    done = dead = pending = 0
    with progress("working") as step:
        while not signals.came:
            part = memory.drain(timeout=0)
            done, dead, pending = done + part.done, dead + part.dead, part.pending
            step(done + dead, max(total, done + dead + pending))
            if not pending:
                break
            if not part.done and not part.dead:  # Another worker has the rest.
                time.sleep(_LOOK_AGAIN_SECONDS)
    return Drained(done, dead, time.monotonic() - began, pending)
