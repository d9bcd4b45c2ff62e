/** One memory with everything about it: a drawer that any view can open by `#/timeline?id=...`. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, asApiError, del, get, newKey, part, post, put, useAction, useAnswer, type Json } from "../lib/api";
import { ForgetTime, forgetTime, useForgetDays } from "../lib/forgetting";
import { createStore, currentUser, href, place, setParams, useDraft, useRights, useStore } from "../lib/store";
import { CLAMPED, PIECE, bytesFrom, calmed, cut, entryOf, glance } from "../lib/text";
import {
  Badge, Button, CopyButton, Dialog, Disclosure, Empty, ErrorBox, Field, Icon, Loading, Prose, TierBadge, Time, cls, confirm,
  formatAgo, formatBytes, formatClock, formatPercent, formatTime, toast, type Tone,
} from "../lib/ui";
import { touched } from "./changes-done";
import { compare, partingOf, type Piece } from "./diff";

// What the server says

export interface Kept {
  id: string;
  content: string;
  tier: string;
  kind: string;
  origin: string;
  role: string;
  name: string | null;
  agent: string | null;
  session: string | null;
  confidence: number;
  importance: number;
  created_at: string;
  valid_to: string | null;
  known_from: string;
  known_to: string | null;
  archived_at: string | null;
  sources: string[];
  metadata: Record<string, Json>;
  labels: string[];
}

/** What recall finds. */
export interface Hit {
  id: string;
  content: string;
  tier: string;
  kind: string;
  score: number;
  created_at: string;
  role: string;
  name: string | null;
  session: string | null;
  origin: string;
  sources: string[];
}

interface Trace {
  strength: number;
  seen_at: string | null;
  uses: number;
  hidden_at: string | null;
  versions: Kept[];
  turns: Kept[];
  derived: Kept[];
}

interface HistoryLine {
  action: string;
  at: string;
  content: string | null;
  note: string | null;
  record: string | null;
}

type Ended = "ended" | "put aside";

/** Null: it holds now. */
export function statusOf(kept: Kept): Ended | null {
  if (kept.archived_at !== null) return "put aside";
  const over = kept.valid_to !== null && new Date(kept.valid_to).getTime() <= Date.now();
  return kept.known_to !== null || over ? "ended" : null;
}

const isFaded = (trace: Trace | null) => trace?.hidden_at != null && new Date(trace.hidden_at).getTime() <= Date.now();

// What goes and comes back

/** What GET /v1/memories/forgotten lists: what it says is withheld. */
export interface Forgotten {
  id: string;
  tier: string;
  kind: string;
  role: string;
  session: string | null;
  created_at: string;
  forgotten_at: string;
  /** When it is wiped. */
  until: string;
}

/** The last memory that was forgotten or came back by a hand in this tab; lists follow it. */
export interface Moved {
  user: string;
  id: string;
  forgotten: boolean;
  /** As it was or is; null: not known. */
  kept: Kept | null;
}

export const moved = createStore<Moved | null>(null);

function note(move: Moved): void {
  moved.set(move);
  touched();
}

/** `kept`: what comes back, if it is known. */
export async function restore(id: string, { user = currentUser() ?? "", kept = null as Kept | null } = {}): Promise<void> {
  await post(`/v1/memories/${part(id)}/restore`, {}, { user: user || undefined });
  note({ user, id, forgotten: false, kept });
}

/** The address of a memory, from wherever one is: what is filtered stays as it is in the timeline. */
export function memoryHref(id: string): string {
  const { view, params } = place.get();
  return href("timeline", view === "timeline" ? { ...Object.fromEntries(params), id } : { id });
}

// The drawer

interface Found {
  /** Null: it is forgotten; `history` tells since when. */
  kept: Kept | null;
  etag: string;
  history: HistoryLine[];
  /** Not of this user, but of the team or of somebody who shares it: it can be read, and no more. */
  lent: boolean;
}

async function look(id: string, signal: AbortSignal): Promise<Found> {
  let etag = "";
  const lines = get<{ versions: HistoryLine[] }>(`/v1/memories/${part(id)}/history`, { limit: 1000 }, { signal });
  const one = get<Kept>(`/v1/memories/${part(id)}`, {}, { signal, onHeaders: (headers) => (etag = headers.get("etag") ?? "") });
  const [kept, history] = await Promise.allSettled([one, lines]);
  if (kept.status === "fulfilled") {
    if (history.status === "fulfilled") return { kept: kept.value, etag, history: history.value.versions, lent: false };
    // What others share can be seen; its history is theirs, and so is what can be done to it.
    if (!(history.reason instanceof ApiError) || history.reason.status !== 404) throw history.reason;
    return { kept: kept.value, etag, history: [], lent: true };
  }
  if (history.status === "rejected") throw kept.reason;
  const missing = kept.reason instanceof ApiError && kept.reason.status === 404;
  if (!missing) throw kept.reason;
  return { kept: null, etag, history: history.value.versions, lent: false };
}

export function MemoryDrawer({ id, known, onClose, onChanged }: {
  id: string; onClose: () => void;
  /** As far as the caller knows it: shown until the server has answered. */
  known?: Kept | undefined;
  /** Another version stands now where `old` stood. What goes and comes back is told by `moved`. */
  onChanged?: (old: string, now: Kept) => void;
}) {
  const found = useAnswer(id, (signal) => look(id, signal));
  const trace = useAnswer(id, (signal) => get<Trace>(`/v1/memories/${part(id)}/trace`, {}, { signal }));
  const last = useStore(moved);
  const gone = last?.id === id && last.forgotten;
  const kept = found.data ? found.data.kept : found.error ? null : (known ?? null);
  const again = () => {
    found.reload();
    trace.reload();
  };
  const title = kept && !gone ? `${kept.tier === kept.kind || kept.kind === "turn" ? "" : `${kept.tier}: `}${kept.kind.replace("_", " ")}` : "Memory";
  const missing = found.error?.status === 404;
  return (
    <Dialog title={title.charAt(0).toUpperCase() + title.slice(1)} onClose={onClose} side wide>
      {found.error && !missing && <ErrorBox error={found.error} retry={found.reload} />}
      {missing && (
        <Empty icon="search" title="There is no such memory">
          Nothing of this user has the id <span class="mono">{id.slice(0, 64)}</span>. It may be of somebody else, or have been forgotten and wiped, which happens after <ForgetTime />.
        </Empty>
      )}
      {!found.data && found.loading && kept && (
        <article class="memory">
          <Marks kept={kept} faded={false} />
          <div class="memory-text"><Prose text={kept.content} lines={24} /></div>
        </article>
      )}
      {!found.data && found.loading && <Loading lines={8} what="This memory" />}
      {found.data && (gone || !kept) && <Gone id={id} history={found.data.history} onBack={again} />}
      {found.data && kept && !gone && (
        <Shown
          kept={kept} etag={found.data.etag} history={found.data.history} lent={found.data.lent} trace={trace.data} traceError={trace.error}
          again={again} retryTrace={trace.reload} onChanged={onChanged}
        />
      )}
    </Dialog>
  );
}

/** When the button that had the focus is gone, the drawer has it: keys go on working. */
function useFocusKept(): void {
  useLayoutEffect(() => {
    if (document.activeElement === document.body) document.querySelector<HTMLElement>(".dialog-backdrop.side > .dialog")?.focus();
  });
}

function Gone({ id, history, onBack }: { id: string; history: HistoryLine[]; onBack: () => void }) {
  useFocusKept();
  const { write } = useRights();
  const since = [...history].reverse().find((each) => each.action === "forgotten")?.at ?? new Date().toISOString();
  const days = useForgetDays();
  const until = days === null ? null : new Date(new Date(since).getTime() + days * 86_400_000).toISOString();
  const back = useAction(async () => {
    await restore(id);
    onBack();
    toast("Restored: it counts again");
  });
  return (
    <>
      <div class="notice warn">
        <Icon name="trash" />
        <span>
          Forgotten <Time at={since} as="ago" />. It is in no answer and its text is withheld. It can be restored {until ? <>until <Time at={until} as="date" /></> : <>for <ForgetTime /></>}, then it is wiped.
        </span>
      </div>
      {write && <div class="row"><Button kind="primary" icon="undo" busy={back.busy} onClick={() => back.run()}>Restore</Button></div>}
      {back.error && <ErrorBox error={back.error} />}
      <Section title="History"><History lines={history} id={id} /></Section>
      <p class="memory-id mono">{id}</p>
    </>
  );
}

function Shown({ kept, etag, history, lent, trace, traceError, again, retryTrace, onChanged }: {
  kept: Kept; etag: string; history: HistoryLine[]; lent: boolean; trace: Trace | null; traceError: ApiError | null; again: () => void;
  retryTrace: () => void; onChanged: ((old: string, now: Kept) => void) | undefined;
}) {
  const write = useRights().write && !lent;
  const original = lent ? null : editable(kept);
  const [draft, setDraft, clearDraft] = useDraft(`edit.${kept.id}`, original ?? "");
  const [editing, setEditing] = useState(original !== null && draft !== original);
  const status = statusOf(kept);
  const faded = isFaded(trace);
  const newest = trace?.versions.filter((each) => statusOf(each) === null).at(-1) ?? null;

  const judge = useAction(async (value: 1 | -1) => {
    const { strength } = await post<{ strength: number }>(`/v1/memories/${part(kept.id)}/feedback`, { value }, { once: newKey() });
    toast(`${value > 0 ? "Praised" : "Blamed"}: its strength is now ${formatPercent(strength)}`);
    again();
  });
  useFocusKept();
  const forget = useAction(async () => {
    const user = currentUser() ?? "";
    await del(`/v1/memories/${part(kept.id)}`, {}, { user: user || undefined });
    note({ user, id: kept.id, forgotten: true, kept });
    toast(`Forgotten. It can be restored for ${forgetTime()}.`, "good", {
      title: "Undo",
      run: () => {
        restore(kept.id, { user, kept }).then(
          () => {
            toast("Restored: it counts again");
            again();
          },
          (error: unknown) => toast(asApiError(error).message, "bad"),
        );
      },
    });
    again();
  });
  // Asked before it is busy: the focus goes back to the button.
  const askToForget = async () => {
    const words = <ForgetWords kept={kept} trace={trace} />;
    if (await confirm({ title: "Forget this memory?", words, yes: "Forget", danger: true })) await forget.run();
  };

  return (
    <article class="memory">
      <Marks kept={kept} faded={faded} />
      {status === "ended" && newest && newest.id !== kept.id && (
        <p class="notice"><Icon name="info" /><span>This is an old version. <a href={memoryHref(newest.id)}>Open the one that holds now</a>.</span></p>
      )}
      {lent && <p class="notice"><Icon name="info" /><span>This is shown to the user and is not theirs: it belongs to the team, or to somebody who shares it. Only they can change or forget it.</span></p>}
      {!editing && <div class="memory-text"><Prose text={kept.content} lines={24} /></div>}
      {editing && original !== null && (
        <Editor
          kept={kept} etag={etag} original={original} draft={draft} setDraft={setDraft}
          onDone={(now) => {
            clearDraft();
            setEditing(false);
            if (!now) return;
            onChanged?.(kept.id, now);
            if (now.id === kept.id) again();
            else setParams({ id: now.id });
          }}
        />
      )}
      <div class="memory-acts" role="group" aria-label="What can be done">
        {write && (
          <>
            <Button small icon="up" busy={judge.busy} aria-label="Useful: praise this memory" title="Useful: it decides near-ties in favour of this" onClick={() => judge.run(1)}>Useful</Button>
            <Button small icon="down" busy={judge.busy} aria-label="Not useful: blame this memory" title="Not useful: it decides near-ties against this" onClick={() => judge.run(-1)}>Not useful</Button>
            {original !== null && status === null && !editing && <Button small icon="edit" onClick={() => setEditing(true)}>Edit</Button>}
            <Button small icon="trash" busy={forget.busy} onClick={askToForget}>Forget</Button>
          </>
        )}
        <span class="memory-copies">
          <CopyButton text={kept.id} label="Copy id" />
          <CopyButton text={() => new URL(href("timeline", { id: kept.id }), location.href).href} label="Copy link" />
        </span>
      </div>
      {judge.error && <ErrorBox error={judge.error} />}
      {forget.error && <ErrorBox error={forget.error} />}
      <Facts kept={kept} trace={trace} history={history} />
      {traceError && <ErrorBox title="Where it comes from could not be read" error={traceError} retry={retryTrace} />}
      {!trace && !traceError && <Loading lines={4} what="Where it comes from" />}
      {trace && trace.versions.length > 1 && <Versions versions={trace.versions} shown={kept.id} />}
      {trace && !lent && <Sources kept={kept} turns={trace.turns} />}
      {trace && trace.derived.length > 0 && <Derived all={trace.derived} />}
      {!lent && <Section title="History"><History lines={history} id={kept.id} /></Section>}
      <Given kept={kept} />
    </article>
  );
}

const speaker = (kept: Kept) => <bdi>{kept.name ? `${kept.name} (${kept.role})` : kept.role}</bdi>;

function Marks({ kept, faded }: { kept: Kept; faded: boolean }) {
  return (
    <div class="memory-marks">
      <TierBadge tier={kept.tier} />
      {kept.kind !== kept.tier && <Badge>{kept.kind}</Badge>}
      <StatusBadge status={statusOf(kept)} faded={faded} />
      <span class="memory-said muted">{speaker(kept)} · <Time at={kept.created_at} /></span>
    </div>
  );
}

function StatusBadge({ status, faded }: { status: Ended | null; faded: boolean }) {
  if (status !== null) return <Badge tone="warn">{status}</Badge>;
  return faded ? <Badge tone="warn">faded</Badge> : <Badge tone="good">current</Badge>;
}

function ForgetWords({ kept, trace }: { kept: Kept; trace: Trace | null }) {
  const along = trace?.derived.filter((each) => each.sources.every((one) => one === kept.id)).length ?? 0;
  return (
    <div class="stack">
      <p class="memory-quote" dir="auto">{glance(kept.content, 240)}</p>
      <p>
        It is hidden from every answer at once. It can be restored for <ForgetTime />, by Undo or at its address; then it is wiped for good.
        {along > 0 && ` What was learned from this turn alone goes with it: ${along} ${along === 1 ? "memory" : "memories"}.`}
        {kept.kind === "document" && " The whole document goes, with all its parts and versions."}
      </p>
      {kept.sources.some((each) => each !== kept.id) && (
        <p>What it was learned from stays and may still be told. To be rid of the words too, forget the source, shown below: what was learned from it alone goes with it.</p>
      )}
    </div>
  );
}

// Editing

/** The text that can be changed; null: not of this tier. */
function editable(kept: Kept): string | null {
  if (kept.tier === "fact" || kept.tier === "note") return kept.content;
  if (kept.kind !== "entry") return null;
  const own = kept.metadata["holdfast"];
  const key = own && typeof own === "object" && !Array.isArray(own) && typeof own["key"] === "string" ? `${own["key"]}: ` : "";
  return kept.content.startsWith(key) ? kept.content.slice(key.length) : kept.content;
}

interface Theirs {
  kept: Kept;
  etag: string;
}

function Editor({ kept, etag, original, draft, setDraft, onDone }: {
  kept: Kept; etag: string; original: string; draft: string; setDraft: (text: string) => void; onDone: (now: Kept | null) => void;
}) {
  const [theirs, setTheirs] = useState<Theirs | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const save = useAction(async (over: Theirs | null) => {
    const target = over ?? { kept, etag };
    try {
      const now = await put<Kept>(`/v1/memories/${part(target.kept.id)}`, { text: draft }, { headers: { "if-match": target.etag } });
      toast("Saved as a new version");
      onDone(now);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error;
      setTheirs(await newest(target.kept.id));
    }
  });
  const same = draft === original;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!same && draft.trim() && !theirs) void save.run(null);
  };
  return (
    <form class="memory-editor" onSubmit={submit}>
      <Field label="Text" hint="Saving makes a new version; the old one stays in the history.">
        {(id) => (
          <textarea
            id={id} class="input" rows={Math.min(16, Math.max(3, draft.split("\n").length + Math.floor(draft.length / 80)))} dir="auto" ref={box}
            value={draft} onInput={(event) => setDraft(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
            }}
          />
        )}
      </Field>
      {theirs && <Conflict mine={draft} theirs={theirs} />}
      {save.error && <ErrorBox title="It was not saved; what you typed is still here" error={save.error} />}
      <div class="row">
        {theirs ? (
          <>
            <Button kind="primary" busy={save.busy} disabled={!draft.trim()} onClick={() => save.run(theirs)}>Save mine over theirs</Button>
            <Button onClick={() => onDone(theirs.kept)}>Keep theirs</Button>
          </>
        ) : (
          <>
            <Button kind="primary" type="submit" busy={save.busy} disabled={same || !draft.trim()}>Save</Button>
            <Button onClick={() => onDone(null)}>{same ? "Cancel" : "Discard"}</Button>
          </>
        )}
      </div>
    </form>
  );
}

/** The version that stands now in the place of one, with what `If-Match` takes. */
async function newest(id: string): Promise<Theirs> {
  const { versions } = await get<Trace>(`/v1/memories/${part(id)}/trace`);
  const last = versions.filter((each) => statusOf(each) === null).at(-1)?.id ?? id;
  let etag = "";
  const kept = await get<Kept>(`/v1/memories/${part(last)}`, {}, { onHeaders: (headers) => (etag = headers.get("etag") ?? "") });
  return { kept, etag };
}

function Conflict({ mine, theirs }: { mine: string; theirs: Theirs }) {
  const other = editable(theirs.kept) ?? theirs.kept.content;
  return (
    <section class="memory-conflict" role="alert" aria-label="Conflict">
      <p><Icon name="warning" /> <strong>Somebody changed this meanwhile.</strong> Nothing was saved, and nothing you typed is lost.</p>
      <SideBySide left={other} right={mine} leftTitle={<>Theirs, <Time at={theirs.kept.known_from} as="ago" /></>} rightTitle="Yours" />
    </section>
  );
}

function SideBySide({ left, right, leftTitle, rightTitle }: { left: string; right: string; leftTitle: ComponentChildren; rightTitle: ComponentChildren }) {
  const [most, setMost] = useState(CLAMPED);
  const from = useMemo(() => partingOf(left, right), [left, right]);
  const [before, after] = useMemo(() => compare(cut(left.slice(from), most), cut(right.slice(from), most)), [left, right, from, most]);
  const rest = Math.max(left.length, right.length) > from + most;
  const longer = left.length > right.length ? left : right;
  return (
    <>
      {from > 0 && <p class="muted">The first {formatBytes(bytesFrom(left.slice(0, from)))} are the same.</p>}
      <div class="memory-sides">
        <div><h4>{leftTitle}</h4><Pieces pieces={before} mark="del" /></div>
        <div><h4>{rightTitle}</h4><Pieces pieces={after} mark="ins" /></div>
      </div>
      {rest && <button type="button" class="link-button" onClick={() => setMost(most + PIECE)}>Show more ({formatBytes(bytesFrom(longer, from + most))} left)</button>}
    </>
  );
}

function Pieces({ pieces, mark: Mark }: { pieces: Piece[]; mark: "del" | "ins" }) {
  return <p class="prose memory-pieces" dir="auto">{pieces.map((each, index) => (each.same ? calmed(each.text) : <Mark key={index}>{calmed(each.text)}</Mark>))}</p>;
}

// What is known of it

function Section({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  return <section class="memory-section"><h3>{title}</h3>{children}</section>;
}

const ENDINGS = ["superseded", "invalidated", "archived", "changed"];

function Facts({ kept, trace, history }: { kept: Kept; trace: Trace | null; history: HistoryLine[] }) {
  const own = history.filter((each) => each.record === null || each.record === kept.id);
  const ending = kept.known_to || kept.archived_at ? [...own].reverse().find((each) => ENDINGS.includes(each.action)) : undefined;
  const versions = trace?.versions ?? [];
  const next = versions[versions.findIndex((each) => each.id === kept.id) + 1];
  const followed = ending?.action === "superseded" && next ? next : null;
  return (
    <dl class="facts memory-facts">
      <dt>{kept.tier === "session" ? "Said" : "Holds since"}</dt><dd><Time at={kept.created_at} /></dd>
      <dt>Learned</dt><dd><Time at={kept.known_from} /></dd>
      {kept.valid_to && <><dt>Holds until</dt><dd><Time at={kept.valid_to} /></dd></>}
      {(ending || kept.known_to || kept.archived_at) && (
        <>
          <dt>Ended</dt>
          <dd>
            {(kept.known_to ?? kept.archived_at) && <Time at={(kept.known_to ?? kept.archived_at) as string} />}
            {ending && <> · {ending.action}{ending.note && <span dir="auto"> ({ending.note})</span>}</>}
            {followed && <> by <a href={memoryHref(followed.id)} dir="auto">{headline(followed.content)}</a></>}
          </dd>
        </>
      )}
      <dt>Speaker</dt><dd>{speaker(kept)}</dd>
      <dt>Origin</dt><dd>{kept.origin.replace("_", " ")}</dd>
      {kept.agent && <><dt>Agent</dt><dd dir="auto">{kept.agent}</dd></>}
      {kept.session && <><dt>Session</dt><dd><a href={href("timeline", { session: kept.session, status: "all" })} dir="auto">{kept.session}</a></dd></>}
      <dt>Confidence</dt><dd><Meter value={kept.confidence} label="Confidence" /></dd>
      <dt>Importance</dt><dd><Meter value={kept.importance} label="Importance" /></dd>
      {trace && (
        <>
          <dt>Strength</dt>
          <dd><Meter value={trace.strength} label="Strength" /> <span class="muted">{fades(trace)}</span></dd>
          <dt>Used</dt>
          <dd>
            {trace.uses === 0 ? "in no context yet" : `in contexts of ${trace.uses} ${trace.uses === 1 ? "day" : "days"}`}
            {trace.seen_at && <> · last touched <Time at={trace.seen_at} as="ago" /></>}
          </dd>
        </>
      )}
      <dt>Id</dt><dd class="mono">{kept.id}</dd>
    </dl>
  );
}

function fades(trace: Trace): string {
  if (!trace.hidden_at) return "does not fade";
  return isFaded(trace) ? `faded: hidden since ${formatTime(trace.hidden_at)}` : `hidden from ${formatTime(trace.hidden_at)} on (${formatAgo(trace.hidden_at)}), unless it is needed`;
}

function Meter({ value, label }: { value: number; label: string }) {
  return (
    <span class="memory-meter">
      <span class="memory-track" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={1} aria-valuenow={Number(value.toFixed(3))}>
        <span style={{ width: `${Math.round(100 * Math.min(1, Math.max(0, value)))}%` }} />
      </span>
      <span class="num">{formatPercent(value)}</span>
    </span>
  );
}

const headline = (text: string) => glance(text, 90);

function Versions({ versions, shown }: { versions: Kept[]; shown: string }) {
  const at = Math.max(0, versions.findIndex((each) => each.id === shown));
  const [right, setRight] = useState(at === 0 ? 1 : at);
  const [before, after] = [versions[right - 1], versions[right]];
  return (
    <Section title={`Versions (${versions.length})`}>
      {versions.length > 2 && (
        <div class="row" role="group" aria-label="Which step to compare">
          {versions.slice(1).map((each, index) => (
            <Button key={each.id} small kind={right === index + 1 ? "primary" : "plain"} aria-pressed={right === index + 1} onClick={() => setRight(index + 1)}>
              {index + 1} → {index + 2}
            </Button>
          ))}
        </div>
      )}
      {before && after && (
        <SideBySide
          left={before.content} right={after.content}
          leftTitle={<VersionTitle number={right} kept={before} shown={shown} />} rightTitle={<VersionTitle number={right + 1} kept={after} shown={shown} />}
        />
      )}
    </Section>
  );
}

function VersionTitle({ number, kept, shown }: { number: number; kept: Kept; shown: string }) {
  return <><a href={memoryHref(kept.id)} aria-current={kept.id === shown || undefined}>Version {number}</a> <Time at={kept.known_from} />{statusOf(kept) === null && <Badge tone="good">current</Badge>}</>;
}

function Sources({ kept, turns }: { kept: Kept; turns: Kept[] }) {
  if (!turns.length) {
    return kept.tier === "session" ? null : <Section title="Sources"><p class="muted">{kept.sources.length ? "What it was read from is forgotten." : "Written by hand, not read from a conversation."}</p></Section>;
  }
  return (
    <Section title={kept.tier === "session" ? "Around it" : "Sources, with the turns around them"}>
      <ol class="memory-turns">
        {turns.map((each, index) => {
          const before = turns[index - 1];
          const isSource = kept.sources.includes(each.id);
          return (
            <li key={each.id} class={cls(isSource && "source", before && before.session !== each.session && "apart")}>
              <a href={memoryHref(each.id)} aria-current={each.id === kept.id || undefined}>
                <span class="memory-turn-head"><bdi>{each.name || each.role}</bdi> <span class="num" title={formatTime(each.created_at)}>{formatClock(each.created_at)}</span>{isSource && kept.tier !== "session" && <Badge tone="accent">source</Badge>}</span>
                <span class="memory-turn-text" dir="auto">{glance(each.content, 1500)}</span>
              </a>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

function Derived({ all }: { all: Kept[] }) {
  const [open, setOpen] = useState(false);
  const shown = open ? all : all.slice(0, 8);
  return (
    <Section title={`Learned from it (${all.length})`}>
      <ul class="memory-derived">
        {shown.map((each) => (
          <li key={each.id}>
            <a href={memoryHref(each.id)}>
              <TierBadge tier={each.tier} />
              <span class="truncate" dir="auto">{headline(each.content)}</span>
              {statusOf(each) && <Badge tone="warn">{statusOf(each)}</Badge>}
            </a>
          </li>
        ))}
      </ul>
      {all.length > 8 && <button type="button" class="link-button" onClick={() => setOpen(!open)}>{open ? "Show less" : `Show all ${all.length}`}</button>}
    </Section>
  );
}

const TONES: Record<string, Tone> = {
  stored: "accent", changed: "accent", confirmed: "good", restored: "good", praised: "good", reopened: "good", unarchived: "good",
  superseded: "warn", invalidated: "warn", archived: "warn", blamed: "warn", forgotten: "bad",
};

function History({ lines, id }: { lines: HistoryLine[]; id: string }) {
  return (
    <ol class="memory-history">
      {lines.map((each, index) => (
        <li key={index}>
          <Time at={each.at} />
          <Badge tone={entryOf(TONES, each.action) ?? "neutral"}>{each.action}</Badge>
          {each.note && <span class="muted" dir="auto">{glance(each.note, CLAMPED)}</span>}
          {each.record && each.record !== id && each.content !== null && <a class="truncate" href={memoryHref(each.record)} dir="auto">{headline(each.content)}</a>}
        </li>
      ))}
    </ol>
  );
}

/** What the caller gave with it, and what the system keeps with it. */
function Given({ kept }: { kept: Kept }) {
  const names = Object.keys(kept.metadata);
  if (!names.length) return null;
  return (
    <Disclosure summary={<>Metadata <span class="muted">({names.length})</span></>}>
      <dl class="facts memory-given">
        {names.map((name) => (
          <div key={name} class="memory-given-line">
            <dt dir="auto">{name}{kept.labels.includes(name) && <span class="muted"> (set by the way in)</span>}</dt>
            <dd><GivenValue value={kept.metadata[name] ?? null} /></dd>
          </div>
        ))}
      </dl>
    </Disclosure>
  );
}

function GivenValue({ value }: { value: Json }) {
  if (value !== null && typeof value === "object") return <pre class="memory-json" dir="auto">{glance(JSON.stringify(value, null, 2), PIECE)}</pre>;
  return typeof value === "string" && value.length > CLAMPED ? <Prose text={value} lines={12} /> : <span dir="auto">{calmed(String(value))}</span>;
}
