/** Everything that is remembered, by day and session; one memory opens beside it (`#/timeline?id=...`). */
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { get, post, useAnswer, type Query } from "../lib/api";
import { currentUser, href, place, setParams, useStore, useUser } from "../lib/store";
import {
  Badge, Button, Empty, Icon, IconButton, Page, SearchBox, Segmented, Select, TierBadge, cls, formatClock, formatDate,
  formatDay, formatNumber, formatPercent,
} from "../lib/ui";
import { usePages } from "../lib/virtual";
import { MemoryDrawer, forgottenHere, statusOf, type Hit, type Kept } from "./memory";
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
  /** Whether `when` is a day, not a time of day. */
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
  const listing = filters.q === "" && filters.status !== "forgotten";
  const faded = listing && filters.status === "faded";

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
  const gone = useStore(forgottenHere).filter((each) => each.user === user);

  const rows = useMemo<Row[]>(() => {
    if (filters.q) return (found.data?.hits ?? []).map(rowOfHit);
    if (filters.status === "forgotten") return gone.map(rowOfGone);
    return faded ? hidden.items.map(rowOfFaded) : kept.items.map(rowOfKept);
  }, [filters.q, filters.status, faded, found.data, hidden.items, kept.items, gone.length]);
  const pages = filters.q
    ? { more: false, loading: found.loading, error: found.error, loadMore: found.reload, reload: found.reload }
    : filters.status === "forgotten"
      ? { more: false, loading: false, error: null, loadMore: () => undefined, reload: () => undefined }
      : faded ? hidden : kept;

  const hrefOf = useCallback(
    (row: Row) => href("timeline", { ...Object.fromEntries(place.get().params), id: row.id }), [params],
  );
  const close = useCallback(() => setParams({ id: null }), []);
  const changed = useCallback((old: string, now: Kept | null) => {
    kept.update((all) => all.flatMap((each) => (each.id !== old ? [each] : now ? [now] : [])));
    hidden.update((all) => all.filter((each) => each.id !== old));
    if (found.data) found.set({ hits: found.data.hits.flatMap((each) => (each.id !== old ? [each] : now ? [{ ...each, id: now.id, content: now.content }] : [])) });
    stats.reload();
  }, [kept.update, hidden.update, found.data]);
  const refresh = () => {
    (filters.q ? found.reload : faded ? hidden.reload : kept.reload)();
    stats.reload();
  };

  const total = stats.data ? Object.values(stats.data.tiers).reduce((sum, each) => sum + each, 0) : null;
  const narrowed = Object.keys(NO_FILTERS).some((name) => params.get(name));
  return (
    <Page
      wide title="Timeline"
      lead={total === null ? "Everything that is remembered, by day and session." : `${formatNumber(total)} ${total === 1 ? "memory" : "memories"}, what was learned last first.`}
      actions={<IconButton icon="refresh" label="Look again" onClick={refresh} />}
    >
      <div class="timeline-frame">
        <FilterBar filters={filters} stats={stats.data} rows={rows} gone={gone.length} />
        <Told filters={filters} count={rows.length} more={pages.more} loading={pages.loading} narrowed={narrowed} />
        <div class="timeline-list">
          <TimelineList
            items={rows} pages={pages} keyOf={(row) => row.id} hrefOf={hrefOf} selected={id} label="Memories"
            headingOf={headingOf}
            row={(row) => <RowLine row={row} />}
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
    const [speaker, when] = [speakerOf(kept.role, kept.name), formatClock(kept.created_at)];
    row = { id, content, tier, kind, kept, speaker, when, ended: statusOf(kept), dated: false, heading: headingOfKept(kept) };
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

function rowOfGone(each: { id: string; tier: string; kind: string; at: string }): Row {
  return { id: each.id, content: "The text is withheld while it is forgotten.", tier: each.tier, kind: each.kind, kept: null, speaker: "", when: formatClock(each.at), ended: "forgotten", dated: false, heading: null };
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
      <span class={cls("timeline-text", row.ended !== null && "ended")} dir="auto">{row.content.slice(0, 600)}</span>
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

function FilterBar({ filters, stats, rows, gone }: { filters: Filters; stats: Stats | null; rows: readonly Row[]; gone: number }) {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState(filters.q);
  useEffect(() => setTyped(filters.q), [filters.q]);
  useEffect(() => {
    if (typed.trim() === filters.q) return;
    const timer = setTimeout(() => setParams({ q: typed.trim() || null }), 250);
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
    ...(gone || filters.status === "forgotten" ? [{ value: "forgotten" as Status, title: `Forgotten (${gone})`, label: "Forgotten: in this tab" }] : []),
  ];
  return (
    <div class="timeline-filters">
      <div class="timeline-filter-row">
        <SearchBox
          value={typed} onInput={setTyped} label="Search the memory" placeholder="Search by meaning and words…"
          onEnter={() => setParams({ q: typed.trim() || null })}
        />
        <span class={cls(searching && "timeline-off")}>
          <Segmented<Status> label="Status" value={filters.status} options={statuses} onChange={(value) => setParams({ status: value === "current" ? null : value, q: null })} />
        </span>
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
  else if (filters.status === "forgotten") words += ", forgotten in this tab. The server lists none that is forgotten; each can be restored for 30 days by its address.";
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
    return <Empty icon="trash" title="Nothing was forgotten in this tab">What you forget here stands in this list for as long as the tab is open.</Empty>;
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

