/** Why a memory was found: sources, fusion, stages, what replaced it, and the turns it comes from. */
import type { ComponentChildren } from "preact";
import { get, part, useAnswer } from "../../lib/api";
import { href, useUser } from "../../lib/store";
import { entryOf } from "../../lib/text";
import { CopyButton, ErrorBox, Icon, Prose, Skeleton, Time, formatPercent } from "../../lib/ui";
import { GROUPS, sharesOf, type Hit, type Why } from "./model";

const NAMES: Record<string, string> = {
  window: "keywords, turns beside", people: "keywords of people", session: "keywords of the session",
  cover: "words of the question", vector: "meaning", around: "meaning, turns beside", theme: "meaning of the session",
  role: "said by those asked for", speaker: "said by who is named", time: "tells a time", taste: "tells a taste",
  length: "has something to say", graph: "reached in the graph",
};
const STAGES: Record<string, string> = {
  tier: "weight of its tier", temporal: "a time that the question names", current: "now, or then", replaced: "what replaced what",
  literal: "holds a code or a quote", similar: "copies give way", lane: "standing instructions", boost: "instruction boost",
  rerank: "reranker", concise: "conciseness", mmr: "novelty",
};

interface Weighed {
  weights: Record<string, number>;
  fusion: string;
}

export function WhyBox({ hit, weights, fusion }: { hit: Hit } & Weighed) {
  const { why } = hit;
  return (
    <div class="ask-why">
      <Shares why={why} weights={weights} fusion={fusion} />
      <ScorePath why={why} score={hit.score} />
      <Terms why={why} fusion={fusion} />
      <Notes why={why} />
      <Others why={why} />
      <Sources hit={hit} />
      <footer class="ask-why-foot">
        <span class="mono ask-id">{hit.id}</span>
        <CopyButton text={hit.id} label="Copy id" />
        <a class="link-button" href={href("timeline", { id: hit.id })}>Open in Timeline</a>
      </footer>
    </div>
  );
}

function Section({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  return <section class="ask-section"><h3>{title}</h3>{children}</section>;
}

function Shares({ why, weights, fusion }: { why: Why } & Weighed) {
  const shares = sharesOf(why, weights, fusion);
  if (!shares.length) return null;
  const words = shares.map((each) => `${each.group} ${formatPercent(each.share)}`).join(", ");
  return (
    <Section title="What each source gave">
      <div class="ask-stack" role="img" aria-label={words}>
        {shares.map((each) => <span key={each.group} class={`ask-part ask-${each.group}`} style={{ width: `${100 * each.share}%` }} />)}
      </div>
      <div class="ask-groups">
        {shares.map((each) => (
          <div key={each.group} class="ask-group">
            <p class={`ask-group-name ask-${each.group}`}><span>{each.group}</span><span class="num">{formatPercent(each.share)}</span></p>
            {each.parts.map(([name, value]) => <Bar key={name} name={entryOf(NAMES, name) ?? name} value={value} group={each.group} />)}
          </div>
        ))}
      </div>
    </Section>
  );
}

function Bar({ name, value, group }: { name: string; value: number; group: string }) {
  return (
    <div class="ask-bar">
      <span class="ask-bar-name">{name}</span>
      <span class="ask-bar-track"><span class={`ask-part ask-${group}`} style={{ width: `${100 * Math.max(0, Math.min(1, value))}%` }} /></span>
      <span class="num">{value.toFixed(2)}</span>
    </div>
  );
}

function ScorePath({ why, score }: { why: Why; score: number }) {
  const stages = Object.entries(why.stages ?? {});
  const weight = why.tier?.weight ?? 1;
  return (
    <Section title="How its score came about">
      <ol class="ask-path">
        <li><span>fused from the sources</span><span class="num">{(why.score?.fused ?? score).toFixed(3)}</span></li>
        {stages.map(([name, change]) => (
          <li key={name}>
            <span>
              {entryOf(STAGES, name) ?? name}
              {name === "tier" && ` (${why.tier?.name} × ${weight.toFixed(2)})`}
            </span>
            <span class="num">
              {change.before === null ? <em>brought in</em> : change.before.toFixed(3)} → {change.after.toFixed(3)}
              {change.before !== null && <Delta by={change.after - change.before} />}
            </span>
          </li>
        ))}
        <li class="ask-final"><span>final</span><span class="num">{(why.score?.final ?? score).toFixed(3)}</span></li>
      </ol>
    </Section>
  );
}

function Delta({ by }: { by: number }) {
  return <span class={by > 0 ? "ask-up" : "ask-down"}> {by > 0 ? "+" : "−"}{Math.abs(by).toFixed(3)}</span>;
}

function Terms({ why, fusion }: { why: Why; fusion: string }) {
  const sources = Object.entries(why.sources ?? {});
  if (!sources.length) return null;
  return (
    <Section title="Rank in each source">
      <table class="ask-terms">
        <thead><tr><th>source</th><th>rank</th><th>score</th><th title="weight / (k + rank)">fusion term</th></tr></thead>
        <tbody>
          {sources.map(([name, each]) => (
            <tr key={name}><td>{name}</td><td>{each.rank}</td><td>{each.score.toFixed(3)}</td><td>{each.rrf.toFixed(4)}</td></tr>
          ))}
        </tbody>
      </table>
      {fusion !== "rrf" && <p class="field-hint">Told for comparison: scores are summed by weight here, so ranks and terms do not count.</p>}
    </Section>
  );
}

const TOLD_ELSEWHERE = new Set<string>([...GROUPS, "sources", "score", "tier", "stages", "revised", "replaces", "replaced", "profile"]);

/** What stages noted, in words. */
function Notes({ why }: { why: Why }) {
  const notes = Object.entries(why).filter(([name]) => !TOLD_ELSEWHERE.has(name)).map(([name, told]) => [name, inWords(name, told)] as const);
  const graph = why["graph"] as { path?: unknown } | undefined;
  const path = Array.isArray(graph?.path) ? graph.path.map(String).join(" ") : "";
  if (!notes.length && !path) return null;
  return (
    <Section title="What else spoke for it">
      <dl class="facts">
        {path && <><dt>path</dt><dd dir="auto">{path}</dd></>}
        {notes.map(([name, words]) => <><dt>{entryOf(STAGES, name) ?? name}</dt><dd dir="auto">{words}</dd></>)}
      </dl>
    </Section>
  );
}

function inWords(name: string, told: unknown): string {
  if (name === "literal" && Array.isArray(told)) return `holds ${told.map((each) => `“${String(each)}”`).join(", ")}`;
  if (name === "lane") return "added as a standing instruction";
  if (typeof told !== "object" || told === null) return name === "similar" && told === "copy" ? "another says the same" : String(told);
  const parts = Object.entries(told as Record<string, unknown>);
  if (name === "similar" && "also" in told) return `stands for ${String(told.also)} more that say the same`;
  return parts.map(([key, value]) => `${key} ${shown(value)}`).join(", ");
}

function shown(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toFixed(2);
  return Array.isArray(value) ? value.map(String).join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What replaced it, what it replaces: other memories by their ids. */
function Others({ why }: { why: Why }) {
  const replaced = why["replaced"] as { by?: string; until?: string; partly?: boolean } | undefined;
  const revised = why["revised"] as { by?: string } | undefined;
  const replaces = typeof why["replaces"] === "string" ? why["replaces"] : null;
  if (!replaced && !revised && !replaces) return null;
  return (
    <Section title="What replaced what">
      {replaced && <p class="muted">It was so until <strong>{replaced.until ?? "later"}</strong>{replaced.partly ? ", in part; the rest still holds" : ""}.</p>}
      {replaced?.by && <Memory id={replaced.by} label="Replaced by" />}
      {revised?.by && <Memory id={revised.by} label="Revised later by" />}
      {replaces && <Memory id={replaces} label="It revises" />}
    </Section>
  );
}

function Sources({ hit }: { hit: Hit }) {
  const others = hit.sources.filter((id) => id !== hit.id);
  const MOST = 5;
  return (
    <Section title={others.length > 1 ? `Source turns (${others.length})` : "Source turn"}>
      {!others.length && (
        <p class="muted">
          {hit.sources.length ? "It is the turn itself" : "No turn: it was written down"}
          {hit.name || hit.role ? <>, of <bdi>{hit.name ?? hit.role}</bdi></> : null}
          {hit.session ? <> in the session <bdi>{hit.session}</bdi></> : null}, <Time at={hit.created_at} />.
        </p>
      )}
      {others.slice(0, MOST).map((id) => <Memory key={id} id={id} />)}
      {others.length > MOST && <p class="field-hint">And {others.length - MOST} more.</p>}
    </Section>
  );
}

interface Stored {
  id: string;
  content: string;
  tier: string;
  role: string | null;
  name: string | null;
  session: string | null;
  created_at: string;
}

function Memory({ id, label }: { id: string; label?: string }) {
  const user = useUser();
  const found = useAnswer(`${user} ${id}`, (signal) => get<Stored>(`/v1/memories/${part(id)}`, {}, { signal }));
  return (
    <div class="ask-quote">
      {label && <p class="ask-quote-label">{label}</p>}
      {found.data && (
        <>
          <Prose text={found.data.content} lines={3} />
          <p class="ask-meta">
            <bdi>{found.data.name ?? found.data.role ?? found.data.tier}</bdi>
            {found.data.session && <> · <bdi>{found.data.session}</bdi></>} · <Time at={found.data.created_at} /> ·{" "}
            <a href={href("timeline", { id })}>open</a>
          </p>
        </>
      )}
      {found.loading && !found.data && <Skeleton lines={1} />}
      {found.error && !found.data && (
        found.error.status === 404
          ? <p class="muted"><Icon name="info" size={12} /> It cannot be shown: forgotten since, or somebody else’s.</p>
          : <ErrorBox error={found.error} retry={found.reload} />
      )}
    </div>
  );
}
