/** Everything that is remembered, by day and session; one memory opens beside it (`#/timeline?id=...`). */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { asApiError, get, post, restMs, useAction, useAnswer, type Query } from "../lib/api";
import { ForgetTime } from "../lib/forgetting";
import { currentUser, href, place, setParams, useRights, useStore, useUser } from "../lib/store";
import {
  Badge, Button, Empty, Icon, IconButton, Page, SearchBox, Segmented, Select, TierBadge, cls, formatClock, formatDate,
  formatDay, formatDayClock, formatNumber, formatPercent, toast,
} from "../lib/ui";
import { glance } from "../lib/text";
import { usePages } from "../lib/virtual";
import { changed as done } from "./changes-done";
import { MemoryDrawer, moved, restore, statusOf, type Forgotten, type Hit, type Kept } from "./memory";
import { TimelineList, type Heading } from "./timeline-list";

const TIERS = ["session", "fact", "note", "profile", "graph", "procedure", "knowledge"] as const;
const ORIGINS = ["user", "user_confirmed", "agent", "tool", "document", "web", "import"] as const;
const KINDS = ["turn", "fact", "preference", "goal", "context", "instruction", "note", "entity", "relation", "summary", "document", "chunk", "entry"];
const SPEAKERS = ["user", "assistant", "tool", "system"];
const FOUND = 50;
const PAGE = 200;

type Status = "current" | "ended" | "all" | "faded" | "forgotten";

/** What a row shows, wherever it comes from. */
interface Row {
  id: string;
  content: string;
  tier: string;
  kind: string;
  kept: Kept | null;
  speaker: string;
  /** Short, at the edge of the row. */
  when: string;
  ended: string | null;
  /** Whether `when` names a day. */
  dated: boolean;
  heading: Heading | null;
}

interface Faded {
  id: string;
  tier: string;
  kind: string;
  content: string;
  strength: number;
  hidden_at: string;
}

interface Stats {
  tiers: Record<string, number>;
}

interface Filters {
  tiers: string[];
  kind: string;
  origin: string;
  speaker: string;
  session: string;
  from: string;
  to: string;
  status: Status;
  q: string;
}

function readFilters(params: URLSearchParams): Filters {
  const text = (name: string) => params.get(name) ?? "";
  const status = text("status");
  return {
    tiers: text("tier").split(",").filter(Boolean),
    kind: text("kind"), origin: text("origin"), speaker: text("speaker"), session: text("session"),
    from: text("from"), to: text("to"), q: text("q"),
    status: (["ended", "all", "faded", "forgotten"] as string[]).includes(status) ? (status as Status) : "current",
  };
}

const NO_FILTERS = { tier: null, kind: null, origin: null, speaker: null, session: null, from: null, to: null, status: null, q: null };

/** Midnight of a day of the reader's, `days` later. */
function midnight(day: string, days = 0): string | null {
  const [year, month, date] = day.split("-").map(Number);
  if (!year || !month || !date) return null;
  const at = new Date(year, month - 1, date + days);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

export default function Timeline() {
  const user = useUser() ?? "";
  const { params } = useStore(place);
  const filters = useMemo(() => readFilters(params), [params]);
  const id = params.get("id");
  const stats = useAnswer(user, (signal) => get<Stats>("/v1/stats", {}, { signal }));
  const forgotten = filters.q === "" && filters.status === "forgotten";
  const listing = filters.q === "" && !forgotten;
  const faded = listing && filters.status === "faded";
  const { write } = useRights();

  const query: Query = {
    tiers: filters.tiers, kind: filters.kind, origin: filters.origin, speaker: filters.speaker, session_id: filters.session,
    since: midnight(filters.from), until: midnight(filters.to, 1), status: filters.status,
  };
  const kept = usePages<Kept>(listing && !faded ? "/v1/memories" : null, "memories", query, user, { limit: PAGE });
  const hidden = usePages<Faded>(faded ? "/v1/fading" : null, "memories", { days: 0 }, user, { limit: PAGE });
  const found = useAnswer(
    filters.q ? JSON.stringify([user, filters.q, filters.tiers]) : null,
    (signal) => post<{ hits: Hit[] }>(
      "/v1/recall", { query: filters.q, limit: FOUND, ...(filters.tiers.length ? { tiers: filters.tiers } : {}) },
      { signal, reads: true },
    ),
  );
  const gone = usePages<Forgotten>(forgotten ? "/v1/memories/forgotten" : null, "forgotten", {}, user, { limit: PAGE });

  const rows = useMemo<Row[]>(() => {
    if (filters.q) return (found.data?.hits ?? []).map(rowOfHit);
    if (forgotten) return gone.items.map(rowOfGone);
    return faded ? hidden.items.map(rowOfFaded) : kept.items.map(rowOfKept);
  }, [filters.q, forgotten, faded, found.data, hidden.items, kept.items, gone.items]);
  const pages = filters.q
    ? { more: false, loading: found.loading, error: found.error, loadMore: found.reload, reload: found.reload }
    : forgotten ? gone : faded ? hidden : kept;

  const hrefOf = useCallback(
    (row: Row) => href("timeline", { ...Object.fromEntries(place.get().params), id: row.id }), [params],
  );
  const close = useCallback(() => setParams({ id: null }), []);
  const changed = useCallback((old: string, now: Kept) => {
    kept.update((all) => all.map((each) => (each.id !== old ? each : now)));
    hidden.update((all) => all.filter((each) => each.id !== old));
    if (found.data) found.set({ hits: found.data.hits.map((each) => (each.id !== old ? each : { ...each, id: now.id, content: now.content })) });
    stats.reload();
  }, [kept.update, hidden.update, found.data]);
  const refresh = () => {
    (filters.q ? found.reload : forgotten ? gone.reload : faded ? hidden.reload : kept.reload)();
    stats.reload();
  };

  // What is forgotten goes from the list that is shown, and comes back to its place when that is undone: the rest stays
  // where it is, however far somebody has scrolled. What another view has done is asked for.
  const turn = useStore(done);
  const before = useRef({ turn, move: moved.get() });
  const shownAs = JSON.stringify([user, query, filters.q]);
  const taken = useRef(new Map<string, string>());
  // What was drawn from it alone goes and comes with it.
  const away = useRef(new Set<string>());
  const along = useRef(new Map<string, { row: Kept; shownAs: string }>());
  useEffect(() => {
    if (turn === before.current.turn) return;
    const move = moved.get();
    const own = move !== before.current.move;
    before.current = { turn, move };
    if (!own || !move) return refresh();
    if (move.user !== user) return;
    stats.reload();
    const others = <T extends { id: string }>(all: T[]) => all.filter((each) => each.id !== move.id);
    const isAlong = ({ sources }: { sources: string[] }) => sources.length > 0 && sources.every((each) => away.current.has(each));
    if (move.forgotten) {
      taken.current.set(move.id, shownAs);
      away.current.add(move.id);
      for (const row of kept.items) if (row.id !== move.id && isAlong(row)) along.current.set(row.id, { row, shownAs });
      kept.update((all) => others(all).filter((each) => !isAlong(each)));
      hidden.update(others);
      if (found.data) found.set({ hits: others(found.data.hits).filter((each) => !isAlong(each)) });
      if (forgotten) gone.reload();
      return;
    }
    gone.update(others);
    away.current.delete(move.id);
    const back = move.kept;
    if (forgotten) return;
    if (listing && !faded && back && taken.current.get(move.id) === shownAs) {
      const returned = [...along.current.values()].filter((each) => each.shownAs === shownAs && !isAlong(each.row)).map((each) => each.row);
      for (const each of returned) along.current.delete(each.id);
      kept.update((all) => [back, ...returned].reduce((rows, each) => inPlace(rows, each, kept.more), all));
    } else refresh();
  }, [turn]);

  const total = stats.data ? Object.values(stats.data.tiers).reduce((sum, each) => sum + each, 0) : null;
  const narrowed = Object.keys(NO_FILTERS).some((name) => params.get(name));
  return (
    <Page
      wide title="Timeline"
      lead={total === null ? "Everything that is remembered, by day and session." : `${formatNumber(total)} ${total === 1 ? "memory" : "memories"}, what was learned last first.`}
      actions={<IconButton icon="refresh" label="Look again" onClick={refresh} />}
    >
      <div class="timeline-frame">
        <FilterBar filters={filters} stats={stats.data} rows={rows} searching={found.loading} />
        <Told filters={filters} count={rows.length} more={pages.more} loading={pages.loading} narrowed={narrowed} />
        <div class="timeline-list">
          <TimelineList
            items={rows} pages={pages} keyOf={(row) => row.id} hrefOf={hrefOf} selected={id} label="Memories"
            headingOf={headingOf}
            row={(row) => <RowLine row={row} />}
            acts={forgotten && write ? (row) => <Restore row={row} /> : undefined}
            empty={<Nothing filters={filters} narrowed={narrowed} />}
          />
        </div>
      </div>
      {id && <MemoryDrawer key={id} id={id} known={kept.items.find((each) => each.id === id)} onClose={close} onChanged={changed} />}
    </Page>
  );
}

// Rows

const speakerOf = (role: string, name: string | null) => name || role;

/** Rows are made once: of 100,000 that are here only the new ones are put into words. */
const rowsMade = new WeakMap<Kept, Row>();

function rowOfKept(kept: Kept): Row {
  let row = rowsMade.get(kept);
  if (!row) {
    const { id, content, tier, kind } = kept;
    // The heading is the day it was learned: a time of another day says which.
    const dated = formatDate(kept.created_at) !== formatDate(kept.known_from);
    const [speaker, when] = [speakerOf(kept.role, kept.name), dated ? formatDayClock(kept.created_at) : formatClock(kept.created_at)];
    row = { id, content, tier, kind, kept, speaker, when, ended: statusOf(kept), dated, heading: headingOfKept(kept) };
    rowsMade.set(kept, row);
  }
  return row;
}

function rowOfHit(hit: Hit): Row {
  const { id, content, tier, kind } = hit;
  return { id, content, tier, kind, kept: null, speaker: speakerOf(hit.role, hit.name), when: formatDate(hit.created_at), ended: null, dated: true, heading: null };
}

function rowOfFaded(each: Faded): Row {
  const { id, content, tier, kind } = each;
  return { id, content, tier, kind, kept: null, speaker: formatPercent(each.strength), when: formatDate(each.hidden_at), ended: "faded", dated: true, heading: null };
}

function rowOfGone(each: Forgotten): Row {
  const { id, tier, kind } = each;
  const content = `Of ${formatDate(each.created_at)}. What it says is withheld; wiped after ${formatDate(each.until)}.`;
  return { id, content, tier, kind, kept: null, speaker: each.session ?? each.role, when: formatDate(each.forgotten_at), ended: "forgotten", dated: true, heading: null };
}

/** A memory that is back, among those that were learned last first; what comes after the last waits for its page. */
function inPlace(all: Kept[], back: Kept, more: boolean): Kept[] {
  const others = all.filter((each) => each.id !== back.id);
  const since = Date.parse(back.known_from);
  const at = others.findIndex((each) => {
    const its = Date.parse(each.known_from);
    return its < since || (its === since && each.id < back.id);
  });
  if (at < 0) return more ? others : [...others, back];
  return [...others.slice(0, at), back, ...others.slice(at)];
}

function Restore({ row }: { row: Row }) {
  const back = useAction(async () => {
    try {
      await restore(row.id);
      toast("Restored: it counts again");
    } catch (error) {
      toast(asApiError(error).message, "bad");
    }
  });
  return <Button small icon="undo" busy={back.busy} aria-label={`Restore the ${row.kind} that was forgotten on ${row.when}`} onClick={() => back.run()}>Restore</Button>;
}

const headingOf = (row: Row) => row.heading;

/** By the day it was learned, and inside it by session. */
function headingOfKept(kept: Kept): Heading {
  const day = formatDay(kept.known_from);
  const said = formatDate(kept.created_at);
  return {
    key: `${day}\0${kept.session ?? ""}`,
    day,
    session: (again) => kept.session === null ? <span>no session</span> : (
      <>
        <button
          type="button" class="timeline-session-name" dir="auto" title="Show this session alone" tabIndex={again ? -1 : 0}
          onClick={() => setParams({ session: kept.session }, { replace: false })}
        >
          {kept.session}
        </button>
        {said !== formatDate(kept.known_from) && <span class="timeline-said">said {said}</span>}
      </>
    ),
  };
}

function RowLine({ row }: { row: Row }) {
  return (
    <>
      <span class={cls("timeline-when num", row.dated && "dated")} title={row.kept ? `Said ${row.kept.created_at}` : undefined}>{row.when}</span>
      <span class={cls("timeline-text", row.ended !== null && "ended")} dir="auto">{glance(row.content, 600)}</span>
      <span class="timeline-marks">
        {row.ended && <Badge tone={row.ended === "forgotten" ? "bad" : "warn"}>{row.ended}</Badge>}
        <span class="timeline-speaker truncate" dir="auto">{row.speaker}</span>
        {row.kind !== row.tier && row.kind !== "turn" && <span class="timeline-kind truncate">{row.kind}</span>}
        <TierBadge tier={row.tier} />
      </span>
    </>
  );
}

// Filters

function FilterBar({ filters, stats, rows, searching: isAwaiting }: { filters: Filters; stats: Stats | null; rows: readonly Row[]; searching: boolean }) {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState(filters.q);
  // What stands in the address because it was typed here: by now more may be typed, or a space after it.
  const sent = useRef(filters.q);
  useEffect(() => {
    if (filters.q !== sent.current) setTyped(filters.q);
    sent.current = filters.q;
  }, [filters.q]);
  useEffect(() => {
    const q = typed.trim();
    if (q === filters.q) return;
    const timer = setTimeout(() => {
      sent.current = q;
      setParams({ q: q || null });
    }, restMs(isAwaiting));
    return () => clearTimeout(timer);
  }, [typed]);
  const toggle = (tier: string) => {
    const next = filters.tiers.includes(tier) ? filters.tiers.filter((each) => each !== tier) : [...filters.tiers, tier];
    setParams({ tier: next.join(",") });
  };
  const searching = filters.q !== "";
  const off = searching || filters.status === "faded" || filters.status === "forgotten";
  const tiersOff = filters.status === "faded" || (filters.status === "forgotten" && !searching);
  const more = [filters.kind, filters.origin, filters.speaker, filters.from, filters.to].filter(Boolean).length;
  const statuses: { value: Status; title: string; label?: string }[] = [
    { value: "current", title: "Current", label: "Current: what holds now" },
    { value: "ended", title: "Ended", label: "Ended: what holds no longer, or was put aside" },
    { value: "all", title: "All", label: "All: what holds and what does not" },
    { value: "faded", title: "Faded", label: "Faded: hidden because nobody needed it for long" },
    { value: "forgotten", title: "Forgotten", label: "Forgotten: in no answer, and restorable until it is wiped" },
  ];
  return (
    <div class="timeline-filters">
      <div class="timeline-filter-row">
        <SearchBox
          value={typed} onInput={setTyped} label="Search the memory" placeholder="Search by meaning and words…"
          onEnter={() => setParams({ q: typed.trim() || null })}
        />
        <fieldset class={cls("timeline-status", searching && "timeline-off")} disabled={searching} title={searching ? "A search finds what holds now" : undefined}>
          <Segmented<Status> label="Status" value={filters.status} options={statuses} onChange={(value) => setParams({ status: value === "current" ? null : value })} />
        </fieldset>
        <Button icon="filter" aria-expanded={open} onClick={() => setOpen(!open)}>Filters{more ? ` (${more})` : ""}</Button>
      </div>
      <div class="timeline-filter-row timeline-tiers" role="group" aria-label="Tiers">
        {TIERS.map((tier) => (
          <button
            key={tier} type="button" class={cls("timeline-tier", `tier-${tier}`)} aria-pressed={filters.tiers.includes(tier)}
            disabled={tiersOff} onClick={() => toggle(tier)}
          >
            <i aria-hidden="true" />{tier}{stats && <span class="num">{formatNumber(stats.tiers[tier] ?? 0)}</span>}
          </button>
        ))}
      </div>
      {(open || (!off && (more > 0 || filters.session))) && (
        <fieldset class="timeline-filter-row timeline-more-filters" disabled={off} aria-label="More filters">
          <ChoiceBox label="Kind" name="kind" value={filters.kind} known={[...KINDS, ...rows.map((each) => each.kind)]} />
          <label class="timeline-field">
            <span>Origin</span>
            <Select<string>
              value={filters.origin} label="Origin" onChange={(value) => setParams({ origin: value || null })}
              options={[{ value: "", title: "any" }, ...ORIGINS.map((each) => ({ value: each as string, title: each.replace("_", " ") }))]}
            />
          </label>
          <ChoiceBox label="Speaker" name="speaker" value={filters.speaker} known={[...SPEAKERS, ...rows.filter((each) => each.kept).map((each) => each.speaker)]} />
          <DayBox label="Learned from" name="from" value={filters.from} />
          <DayBox label="to" name="to" value={filters.to} />
          {filters.session && (
            <span class="timeline-chip">
              Session <bdi class="truncate">{filters.session}</bdi>
              <IconButton small icon="close" label={`Show all sessions, not only ${filters.session}`} onClick={() => setParams({ session: null })} />
            </span>
          )}
        </fieldset>
      )}
    </div>
  );
}

/** A word that the server compares exactly; those that are known are offered. */
function ChoiceBox({ label, name, value, known }: { label: string; name: string; value: string; known: string[] }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const list = `timeline-${name}`;
  const apply = (next: string) => setParams({ [name]: next.trim() || null });
  const offered = useMemo(() => [...new Set(known)].slice(0, 60), [known.length]);
  return (
    <label class="timeline-field">
      <span>{label}</span>
      <input
        class="input" list={list} value={text} placeholder="any" spellcheck={false} autocomplete="off" dir="auto" maxLength={512}
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          // One of the list was picked, or it was emptied; else Enter or leaving the box applies it.
          if (!next || offered.includes(next)) apply(next);
        }}
        onBlur={() => text !== value && apply(text)}
        onKeyDown={(event) => event.key === "Enter" && apply(text)}
      />
      <datalist id={list}>{offered.map((each) => <option key={each} value={each} />)}</datalist>
    </label>
  );
}

function DayBox({ label, name, value }: { label: string; name: string; value: string }) {
  return (
    <label class="timeline-field">
      <span>{label}</span>
      <input type="date" class="input" value={value} onChange={(event) => setParams({ [name]: event.currentTarget.value || null })} />
    </label>
  );
}

/** What is shown, in words: also which filters do not count here. */
function Told({ filters, count, more, loading, narrowed }: { filters: Filters; count: number; more: boolean; loading: boolean; narrowed: boolean }) {
  if (!narrowed || (loading && !count)) return null;
  const others = [filters.kind, filters.origin, filters.speaker, filters.session, filters.from, filters.to].some(Boolean);
  let words = `${formatNumber(count)} ${count === 1 ? "memory" : "memories"}${more ? " loaded, more below" : ""}`;
  if (filters.q) {
    words = `The ${formatNumber(count)} best for “${filters.q.slice(0, 80)}”, as recall finds them: what holds now.`;
    if (others || filters.status !== "current") words += " Only the tiers narrow a search; the other filters do not count here.";
  } else if (filters.status === "faded") words += ", hidden from answers because nobody needed them. Other filters do not count here.";
  else if (filters.status === "forgotten") words += ", forgotten last first. Each can be restored until it is wiped. Other filters do not count here.";
  return (
    <p class="timeline-told" role="status">
      <Icon name="info" size={14} /> <span dir="auto">{words}</span>
      <button type="button" class="link-button" onClick={() => setParams(NO_FILTERS)}>Clear all</button>
    </p>
  );
}

function Nothing({ filters, narrowed }: { filters: Filters; narrowed: boolean }) {
  if (filters.status === "faded" && !filters.q) {
    return <Empty icon="timeline" title="Nothing has faded">Notes, entities and relations are hidden when nobody needs them for long. None is so far.</Empty>;
  }
  if (filters.status === "forgotten" && !filters.q) {
    return <Empty icon="trash" title="Nothing is forgotten">What is forgotten stands here without its words for <ForgetTime />, to be restored; then it is wiped.</Empty>;
  }
  if (narrowed) {
    return (
      <Empty icon="filter" title={filters.q ? "Nothing was found" : "Nothing fits these filters"} action={<Button onClick={() => setParams(NO_FILTERS)}>Clear all filters</Button>}>
        {filters.q ? "Recall finds what holds now. Try other words, or look through the list." : "Everything else is still there."}
      </Empty>
    );
  }
  return (
    <Empty icon="timeline" title={`Nothing is remembered of ${currentUser() ?? "this user"}`} action={<a class="button primary" href={href("start")}><span class="button-text">Get started</span></a>}>
      What your agent is told appears here, newest first.
    </Empty>
  );
}

