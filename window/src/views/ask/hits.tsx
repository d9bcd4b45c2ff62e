/** The memories of an answer, each with its why; those that were left out, with the reason. */
import { useEffect, useState } from "preact/hooks";
import { post, useAnswer } from "../../lib/api";
import { href, useUser } from "../../lib/store";
import { entryOf, glance } from "../../lib/text";
import { Badge, Button, Empty, ErrorBox, Icon, Loading, Prose, TierBadge, Time, cls, formatNumber } from "../../lib/ui";
import { goneFrom, movesOf, type Dropped, type Hit, type Move } from "./model";
import { WhyBox } from "./why";

const FIRST = 20;

interface Weighed {
  weights: Record<string, number>;
  fusion: string;
}

interface Props extends Weighed {
  hits: readonly Hit[];
  /** The hits of the default, where something is tuned. */
  before: readonly Hit[] | null;
  levels?: readonly string[];
  tokens?: readonly number[];
  /** The block, to tell what of a shortened memory stands there. */
  text?: string;
  /** Why each id that is gone is gone. */
  reasons?: ReadonlyMap<string, string>;
  empty: string;
}

export function HitList({ hits, before, levels, tokens, text, reasons, empty, ...weighed }: Props) {
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const moves = before ? movesOf(hits, before) : null;
  const gone = before ? goneFrom(hits, before) : [];
  const best = Math.max(...hits.map((hit) => hit.score), 0.0001);
  const shown = all ? hits : hits.slice(0, FIRST);
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  return (
    <>
      {!hits.length && <p class="ask-nothing">{empty}</p>}
      <ol class="ask-hits" onKeyDown={move}>
        {shown.map((hit, place) => (
          <HitRow
            key={hit.id} hit={hit} place={place + 1} share={hit.score / best} move={moves?.[place] ?? null}
            level={levels?.[place]} tokens={tokens?.[place]} told={text && levels?.[place] !== "full" ? lineOf(text, place + 1) : null} open={open.has(hit.id)} onToggle={() => toggle(hit.id)} {...weighed}
          />
        ))}
      </ol>
      {hits.length > FIRST && (
        <div class="ask-more"><Button small kind="quiet" onClick={() => setAll(!all)}>{all ? "Show fewer" : `Show ${hits.length - FIRST} more`}</Button></div>
      )}
      {gone.length > 0 && (
        <section class="ask-gone" aria-label="Gone against the default">
          <h3>Gone against the default ({gone.length})</h3>
          <ul>
            {gone.map((hit) => (
              <li key={hit.id}><Badge tone="bad">gone</Badge><span class="truncate" dir="auto">{glance(hit.content, 300)}</span><span class="ask-of">{reasons?.get(hit.id) ?? "not found"}</span></li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** The line of a memory in the block of the safe format, which begins with its number. */
function lineOf(text: string, place: number): string | null {
  const line = text.split("\n").find((each) => each.startsWith(`${place} `));
  return line?.slice(`${place} `.length) ?? null;
}

/** Arrow keys, j and k go from one to the next. */
function move(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const at = (event.target as Element).closest?.(".ask-hit-head");
  if (!step || !at || event.ctrlKey || event.metaKey || event.altKey) return;
  const heads = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>(".ask-hit-head")];
  heads[heads.indexOf(at as HTMLElement) + step]?.focus();
  event.preventDefault();
}

interface RowProps extends Weighed {
  hit: Hit;
  place: number;
  share: number;
  move: Move | null;
  level: string | undefined;
  tokens: number | undefined;
  told: string | null;
  open: boolean;
  onToggle: () => void;
}

function HitRow({ hit, place, share, move: moved, level, tokens, told, open, onToggle, weights, fusion }: RowProps) {
  const replaced = hit.why["replaced"] as { until?: string } | undefined;
  return (
    <li class={cls("ask-hit", open && "open")}>
      <button type="button" class="ask-hit-head" aria-expanded={open} onClick={onToggle}>
        <span class="ask-place num">{place}</span>
        <span class="ask-hit-text" dir="auto">{glance(hit.content, 400)}</span>
        <span class="ask-score"><span class="ask-score-track"><span style={{ width: `${100 * share}%` }} /></span><span class="num">{hit.score.toFixed(3)}</span></span>
        <span class="ask-why-mark"><span>why</span><Icon name="chevron" size={12} /></span>
      </button>
      <p class="ask-meta">
        {moved && <MoveMark move={moved} />}
        <TierBadge tier={hit.tier} />
        {hit.kind !== "turn" && <span>{hit.kind}</span>}
        {(hit.name || hit.role) && <bdi>{hit.name ?? hit.role}</bdi>}
        <Time at={hit.created_at} as="date" />
        {tokens !== undefined && <span class="num">{formatNumber(tokens)} tokens</span>}
        {level && level !== "full" && <Badge tone="warn" title="The budget lets only a part of it in.">{level} only</Badge>}
        {replaced && <Badge tone="warn">until {replaced.until ?? "later"}</Badge>}
      </p>
      {open && (
        <div class="ask-open">
          {hit.content.length > 200 && <Prose text={hit.content} lines={12} />}
          {told && (
            <div class="ask-told">
              <p class="ask-quote-label">Cut by the budget: all that the block tells of it</p>
              <Prose text={told} lines={12} />
            </div>
          )}
          <WhyBox hit={hit} weights={weights} fusion={fusion} />
        </div>
      )}
    </li>
  );
}

function MoveMark({ move: moved }: { move: Move }) {
  if (moved.kind === "new") return <Badge tone="good">new</Badge>;
  if (moved.kind === "same") return null;
  const up = moved.by > 0;
  return <Badge tone={up ? "good" : "warn"} title={`By default at ${moved.from}`}>{up ? "▲" : "▼"} {Math.abs(moved.by)}</Badge>;
}

// Left out

const REASONS: Record<string, string> = {
  "over budget": "the budget was full", copy: "another says the very same", "not relevant": "too far from the best hit",
  "says nothing": "says nothing by itself",
};

export const reasonInWords = (reason: string) => entryOf(REASONS, reason) ?? reason;

export function LeftOut({ dropped }: { dropped: readonly Dropped[] }) {
  const user = useUser();
  const [shown, setShown] = useState(FIRST);
  useEffect(() => setShown(FIRST), [dropped]);
  const ids = dropped.slice(0, shown).map((each) => each.id);
  const texts = useAnswer(ids.length ? `${user} ${ids.join()}` : null, (signal) => post<{ memories: Hit[] }>("/v1/expand", { ids }, { signal, reads: true }));
  if (!dropped.length) {
    return <Empty icon="check" title="Nothing was left out">Everything that was found is in the block.</Empty>;
  }
  if (texts.error && !texts.data) return <ErrorBox error={texts.error} retry={texts.reload} />;
  if (!texts.data) return <Loading lines={5} what="What was left out" />;
  const known = new Map(texts.data.memories.map((each) => [each.id, each]));
  return (
    <>
      <ol class="ask-hits">
        {dropped.slice(0, shown).map((each) => {
          const hit = known.get(each.id);
          return (
            <li key={each.id} class="ask-hit ask-dropped">
              <p class="ask-hit-text" dir="auto">{hit ? glance(hit.content, 400) : <span class="mono">{each.id}</span>}</p>
              <p class="ask-meta">
                <Badge tone="warn">{reasonInWords(each.reason)}</Badge>
                {hit && <TierBadge tier={hit.tier} />}
                {hit && <Time at={hit.created_at} as="date" />}
                <span class="num">{formatNumber(each.tokens)} tokens in full</span>
                <a class="link-button" href={href("timeline", { id: each.id })}>Open in Timeline</a>
              </p>
            </li>
          );
        })}
      </ol>
      {dropped.length > shown && <div class="ask-more"><Button small kind="quiet" onClick={() => setShown(shown + 100)}>Show {dropped.length - shown} more</Button></div>}
    </>
  );
}
