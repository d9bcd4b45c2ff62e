/** What the views of facts, rules and the profile share: their values, and the turns they come from. */
import type { Kept } from "./memory";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, part, post, useAnswer } from "../lib/api";
import { href, useStore } from "../lib/store";
import { entryOf } from "../lib/text";
import { Answered, Badge, Icon, Prose, Time, cls, formatDate, type Tone } from "../lib/ui";
import type { Pages } from "../lib/virtual";
import { changed } from "./changes-done";

export interface Fact {
  id: string;
  content: string;
  category: string;
  status: "active" | "superseded" | "invalidated" | "unclear" | "archived";
  confidence: number;
  origin: string;
  valid_from: string;
  valid_to: string | null;
  known_from: string;
  known_to: string | null;
  sources: string[];
  /** The first version of what it is a version of. */
  claim: string;
  contradicts: string[];
  agent: string | null;
  session: string | null;
  outcome: string;
  reason: string;
  /** What stood before it in its turn, where it is not clear without that. */
  before: string;
  replaces: string[];
}

/** A memory of any tier, as GET /v1/memories gives it. */
export type Memory = Kept;

export interface HistoryLine {
  action: string;
  at: string;
  content: string | null;
  note: string | null;
  record: string | null;
}

/** From here on it is not worth a word how sure something is. */
export const CERTAIN = 0.995;

const STATES: Record<Fact["status"], [string, Tone, string]> = {
  active: ["holds", "good", "It holds now"],
  superseded: ["replaced", "neutral", "Another version or fact took its place"],
  invalidated: ["taken back", "bad", "Somebody said that it is not so"],
  unclear: ["waits", "warn", "It waits for an answer"],
  archived: ["put aside", "neutral", "In no answer, and restorable"],
};

export function StateBadge({ status }: { status: Fact["status"] }) {
  const [words, tone, title] = entryOf(STATES, status) ?? [status, "neutral", ""];
  return <Badge tone={tone} title={title}>{words}</Badge>;
}

const REASONS: Record<string, string> = {
  later: "A later word took its place",
  replaced: "Words of change ended it",
  correction: "It was corrected",
  explicit: "Words of change ended it",
  read: "The reader took the later words for a change",
  judged: "A language model judged that it was replaced",
  "more-detail": "It was told again with more detail",
  "more-trusted": "A more trusted word took its place",
  edited: "It was edited by hand",
  answered: "An answer settled it",
  "told-late": "It was over already when it was told",
  "uncertain-wording": "The words are not sure of it",
  "low-confidence": "It was not understood for certain",
  "less-trusted": "It comes from a less trusted origin",
  critical: "What it would end matters much, and nothing says that it was replaced",
  several: "It may be about several known facts",
  "not-denied": "Nothing in it denies what is known",
  "handed-over": "It stands in a text that was pasted or handed over",
  contradiction: "The two cannot both be so",
  partly: "It changes a part of what is known",
};

/** Why something happened, in words; what is not known is told as it stands. */
export function reasonWords(reason: string | null, texts: ReadonlyMap<string, string> = new Map()): string {
  if (!reason) return "";
  const told = entryOf(REASONS, reason) ?? reason.replace(/\b[0-9a-f]{32}\b/g, (id) => (texts.has(id) ? `“${texts.get(id)}”` : "another one"));
  return told.charAt(0).toUpperCase() + told.slice(1);
}

/** From when to when something held; of one day with the times. */
export function Span({ from, to }: { from: string; to: string | null }) {
  const short = to !== null && formatDate(from) === formatDate(to);
  return (
    <span class="changes-span num">
      <Time at={from} as={short ? "time" : "date"} />
      {to ? <> <span aria-hidden="true">→</span><span class="hidden-text">until</span> <Time at={to} as={short ? "clock" : "date"} /></> : <span> <span aria-hidden="true">→</span> <span class="hidden-text">until</span>now</span>}
    </span>
  );
}

interface Turn {
  id: string;
  content: string;
  role: string;
  name: string | null;
  session: string | null;
  created_at: string;
}

/** Turns by their ids; one that is forgotten is left out. */
async function turnsOf(ids: readonly string[], signal: AbortSignal): Promise<Turn[]> {
  try {
    return (await post<{ memories: Turn[] }>("/v1/expand", { ids }, { reads: true, signal })).memories;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
  const found = await Promise.all(ids.map((id) => get<Turn>(`/v1/memories/${part(id)}`, {}, { signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  })));
  return found.filter((each) => each !== null);
}

const MOST_TURNS = 20;

/** The words that something comes from, each with a link to its turn. */
export function Words({ ids }: { ids: readonly string[] }) {
  const wanted = ids.slice(0, MOST_TURNS);
  const turns = useAnswer(wanted.length ? wanted.join(" ") : null, (signal) => turnsOf(wanted, signal));
  if (!wanted.length) return null;
  return (
    <div class="changes-words">
      <Answered answer={turns} what="The words" lines={2}>
        {(found) => (
          <>
            {found.map((turn) => (
              <figure key={turn.id} class="changes-quote">
                <blockquote><Prose text={turn.content} lines={6} /></blockquote>
                <figcaption>
                  <span dir="auto">{turn.name ?? turn.role}</span>
                  <Time at={turn.created_at} />
                  {turn.session && <span class="truncate" dir="auto">{turn.session}</span>}
                  <a href={href("timeline", { id: turn.id })} aria-label={`Open this turn in the timeline: ${turn.content.slice(0, 60)}`}>Open</a>
                </figcaption>
              </figure>
            ))}
            {found.length < wanted.length && <p class="muted">{wanted.length - found.length === 1 ? "One turn" : `${wanted.length - found.length} turns`} of it was forgotten.</p>}
            {ids.length > wanted.length && <p class="muted">and {ids.length - wanted.length} more turns.</p>}
          </>
        )}
      </Answered>
    </div>
  );
}

/** Where something comes from: a link to each turn, and their words on demand. */
export function Sources({ ids, of, none = "by hand" }: { ids: readonly string[]; of: string; none?: string }) {
  const [open, setOpen] = useState(false);
  if (!ids.length) return <span>{none}</span>;
  const title = open ? "Hide words" : ids.length === 1 ? "Words" : `Words (${ids.length})`;
  return (
    <>
      <span class="changes-sources">
        <button
          type="button" class="link-button" aria-expanded={open} aria-label={`${title} of: ${of.slice(0, 60)}`}
          onClick={() => setOpen(!open)}
        >
          {title}
        </button>
        {ids.slice(0, 3).map((id, index) => (
          <a
            key={id} class="changes-source-link" href={href("timeline", { id })} title="Open the turn in the timeline"
            aria-label={`Turn ${index + 1} of: ${of.slice(0, 60)}`}
          >
            <Icon name="link" size={12} />turn{ids.length > 1 ? ` ${index + 1}` : ""}
          </a>
        ))}
        {ids.length > 3 && <span class="muted">+{ids.length - 3}</span>}
      </span>
      {open && <Words ids={ids} />}
    </>
  );
}

/** What a fact says, and what stood before it. */
export function Told({ fact, lines }: { fact: Fact; lines: number }) {
  return (
    <>
      <Prose text={fact.content} lines={lines} />
      {fact.before && <div class="muted"><Prose text={`after: “${fact.before}”`} lines={2} /></div>}
    </>
  );
}

/** Side by side: what is known and what is new. */
export function Side({ title, tone, fact, children }: {
  title: ComponentChildren; tone?: "new" | "old"; fact: Fact; children?: ComponentChildren;
}) {
  return (
    <div class={cls("changes-side", tone)}>
      <header class="changes-side-head">{title}</header>
      <Told fact={fact} lines={8} />
      <div class="changes-side-meta">
        <Span from={fact.valid_from} to={fact.valid_to} />
        {fact.origin !== "user" && <Badge><bdi>{fact.origin}</bdi></Badge>}
        <Sources ids={fact.sources} of={fact.content} />
      </div>
      {children}
    </div>
  );
}

/** Pages that are asked for again after every act, as many as are here; until the answer is there, those of before stay. */
export function useSteady<T>(pages: Pages<T>): Pages<T> {
  const turn = useStore(changed);
  const first = useRef(turn);
  useEffect(() => {
    if (turn !== first.current) pages.again();
    first.current = turn;
  }, [turn]);
  return pages;
}

/** Asks for all pages, up to some number of items. */
export function useAllPages<T>(pages: Pages<T>, most: number): void {
  useEffect(() => {
    if (pages.more && !pages.loading && !pages.error && pages.items.length < most) pages.loadMore();
  });
}
