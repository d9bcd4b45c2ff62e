/** All about one entity: what it is called, how present it is, its relations, facts and the turns they come from. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, part, post, useAnswer, type Answer } from "../../lib/api";
import { href, useRights, useUser } from "../../lib/store";
import { glance } from "../../lib/text";
import { Answered, Badge, Button, ErrorBox, IconButton, Prose, Time, formatDate, formatPercent } from "../../lib/ui";
import { Evidence, MergeWords, useUnmerge } from "./merges";
import { folded, type Entity, type Merge, type Net, type Relation } from "./model";
import { Dot, typeWords } from "./pick";

interface Memory {
  id: string;
  content: string;
  created_at: string;
  role?: string | null;
  name?: string | null;
}

interface Seen {
  first: string | null;
  last: string | null;
  turns: Memory[];
}

interface Fact {
  id: string;
  content: string;
  created_at: string;
}

const FIRST_TURNS = 5;
const FIRST_RELATIONS = 12;
const MOST_FACTS = 20;
const MOST_MERGES = 1_000;

export function Card({ entity, net, expanding, onClose, onSelect, onExpand, onWay, onMerge, onChange }: {
  entity: Entity; net: Net; expanding: boolean; onClose: () => void; onSelect: (id: string) => void;
  onExpand: () => void; onWay: () => void; onMerge: () => void; onChange: () => void;
}) {
  const { write } = useRights();
  const box = useRef<HTMLElement>(null);
  const [most, setMost] = useState(FIRST_TURNS);
  const seen = useSeen(entity, most);
  // Whoever goes on from here to another one by keyboard is still here.
  const isHere = box.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (isHere && !box.current?.contains(document.activeElement)) box.current?.focus({ preventScroll: true });
  });
  useEffect(() => {
    box.current?.scrollTo(0, 0);
    setMost(FIRST_TURNS);
  }, [entity.id]);
  return (
    <aside
      ref={box} class="graph-card" aria-label={`About ${entity.name}`} tabIndex={-1}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <header class="graph-card-head">
        <div class="graph-card-title">
          <h2 dir="auto"><Dot type={entity.type} /> {entity.name}</h2>
          <p class="muted">{typeWords(entity)}</p>
        </div>
        <IconButton icon="close" label={`Close ${entity.name}`} onClick={onClose} />
      </header>
      <div class="graph-card-acts">
        <Button small icon="plus" busy={expanding} onClick={onExpand}>Expand</Button>
        <Button small icon="changes" onClick={onWay}>Path to…</Button>
        {write && <Button small icon="link" onClick={onMerge}>Merge with…</Button>}
      </div>
      {entity.summary && <Prose text={entity.summary} lines={4} />}
      <About entity={entity} seen={seen} />
      <Relations entity={entity} net={net} onSelect={onSelect} />
      <Facts entity={entity} />
      <Sources entity={entity} seen={seen} most={most} onMore={() => setMost(most + 20)} />
      <Merged entity={entity} onChange={onChange} />
    </aside>
  );
}

function About({ entity, seen }: { entity: Entity; seen: Answer<Seen> }) {
  return (
    <dl class="graph-about">
      {entity.aliases.length > 0 && <><dt>Also called</dt><dd dir="auto">{entity.aliases.join(", ")}</dd></>}
      <dt>Strength</dt><dd><Share value={entity.strength} label="Strength" /></dd>
      <dt>Importance</dt><dd><Share value={entity.importance} label="Importance" /></dd>
      <dt>First seen</dt><dd>{seen.data?.first ? <Time at={seen.data.first} as="date" /> : seen.loading ? "…" : "unknown"}</dd>
      <dt>Last seen</dt><dd>{seen.data?.last ? <Time at={seen.data.last} as="date" /> : seen.loading ? "…" : "unknown"}</dd>
      <dt>From</dt><dd>{entity.origin.replaceAll("_", " ")}, {formatPercent(entity.confidence)} sure</dd>
    </dl>
  );
}

function Share({ value, label }: { value: number; label: string }) {
  const share = Math.min(1, Math.max(0, value));
  return (
    <span class="graph-share">
      <span class="graph-bar" role="meter" aria-label={label} aria-valuenow={Math.round(share * 100)} aria-valuemin={0} aria-valuemax={100}>
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span class="num">{formatPercent(share)}</span>
    </span>
  );
}

/** Its turns, as far as they are still there, and when it was first and last spoken of. */
function useSeen(entity: Entity, most: number): Answer<Seen> {
  const user = useUser();
  return useAnswer<Seen>(`${user} ${entity.id} ${entity.sources.length} ${most}`, async (signal) => {
    const wanted = entity.sources.slice(0, most);
    const last = entity.sources.length > most ? entity.sources.slice(-1) : [];
    const [itself, ...turns] = await Promise.all([entity.id, ...wanted, ...last].map((id) => memory(id, signal)));
    const there = turns.filter((each) => each !== null);
    const times = [itself, ...there].flatMap((each) => (each ? [each.created_at] : [])).sort();
    if (itself && !entity.sources.length) {
      // Written down, not heard: written again, it was seen again.
      const { versions } = await get<{ versions: { at: string }[] }>(`/v1/memories/${part(entity.id)}/history`, {}, { signal });
      times.push(...versions.slice(-1).map((each) => each.at));
    }
    return { first: times[0] ?? null, last: times[times.length - 1] ?? null, turns: there.slice(0, wanted.length) };
  }, `${user} ${entity.id}`);
}

/** One that was forgotten since is none. */
async function memory(id: string, signal: AbortSignal): Promise<Memory | null> {
  try {
    return await get<Memory>(`/v1/memories/${part(id)}`, {}, { signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function Relations({ entity, net, onSelect }: { entity: Entity; net: Net; onSelect: (id: string) => void }) {
  const [all, setAll] = useState(false);
  const relations = [...(net.at.get(entity.id) ?? [])].sort((a, b) => b.strength - a.strength);
  const shown = all ? relations : relations.slice(0, FIRST_RELATIONS);
  return (
    <section class="graph-part" aria-label="Relations">
      <h3>Relations <span class="muted num">{relations.length}</span></h3>
      {!relations.length && <p class="muted">None that is shown. Expand asks for all.</p>}
      <ul class="graph-relations">
        {shown.map((edge) => <RelationRow key={edge.id} edge={edge} entity={entity} net={net} onSelect={onSelect} />)}
      </ul>
      {shown.length < relations.length && <button type="button" class="link-button" onClick={() => setAll(true)}>Show all {relations.length}</button>}
    </section>
  );
}

function RelationRow({ edge, entity, net, onSelect }: { edge: Relation; entity: Entity; net: Net; onSelect: (id: string) => void }) {
  const other = net.nodes.get(edge.source === entity.id ? edge.target : edge.source);
  const [turn] = edge.sources;
  return (
    <li class={edge.strength < 0.35 ? "graph-pale" : undefined}>
      <button type="button" class="graph-relation" onClick={() => other && onSelect(other.id)} aria-label={`${edge.content}. Go to ${other?.name ?? ""}`}>
        {other && <Dot type={other.type} />}<span dir="auto">{glance(edge.content, 600)}</span>
      </button>
      <span class="graph-when">
        {edge.valid_from && <>since {formatDate(edge.valid_from)}</>}{edge.valid_to && <> until {formatDate(edge.valid_to)}</>}
        {edge.strength < 0.35 && <> · fading</>}
        {turn && <> · <a href={href("timeline", { id: turn })} aria-label={`Source of: ${edge.content}`}>source</a></>}
      </span>
    </li>
  );
}

/** What was observed of it, and the facts that name it. */
function Facts({ entity }: { entity: Entity }) {
  const user = useUser();
  const found = useAnswer(`${user} ${entity.id} ${entity.name}`, async (signal) => {
    const names = new Set([entity.name, ...entity.aliases].map(folded));
    const [observed, facts] = await Promise.all([
      post<{ entities: { observations: string[] }[] }>("/v1/graph/observed/read", { names: [entity.name] }, { reads: true, signal }),
      post<{ hits: (Fact & { metadata: { entities?: string[] } })[] }>(
        "/v1/recall", { query: entity.name, tiers: ["fact"], limit: MOST_FACTS }, { reads: true, signal },
      ),
    ]);
    return {
      observations: observed.entities.flatMap((each) => each.observations),
      facts: facts.hits.filter((each) => each.metadata.entities?.some((name) => names.has(folded(name)))),
    };
  }, `${user} ${entity.id}`);
  return (
    <section class="graph-part" aria-label="Facts">
      <h3>Facts</h3>
      <Answered answer={found} what="Facts" lines={2}>
        {({ observations, facts }) => (
          <>
            {!observations.length && !facts.length && <p class="muted">No fact names it.</p>}
            <ul class="graph-facts">
              {observations.map((each) => <li key={each} dir="auto">{each}</li>)}
              {facts.map((each) => (
                <li key={each.id}>
                  <a href={href("timeline", { id: each.id })} dir="auto">{glance(each.content, 600)}</a> <span class="graph-when">{formatDate(each.created_at)}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </Answered>
    </section>
  );
}

function Sources({ entity, seen, most, onMore }: { entity: Entity; seen: Answer<Seen>; most: number; onMore: () => void }) {
  const count = entity.sources.length;
  return (
    <section class="graph-part" aria-label="Sources">
      <h3>Sources <span class="muted num">{count}</span></h3>
      {!count && <p class="muted">Nobody spoke of it in a turn: it was written down.</p>}
      <Answered answer={seen} what="Sources" lines={2}>
        {({ turns }) => (
          <ul class="graph-turns">
            {turns.map((turn) => (
              <li key={turn.id}>
                <a href={href("timeline", { id: turn.id })} class="graph-when"><span dir="auto">{turn.name ?? turn.role ?? "turn"}</span>, {formatDate(turn.created_at)}</a>
                <Prose text={turn.content} lines={3} />
              </li>
            ))}
          </ul>
        )}
      </Answered>
      {count > most && <button type="button" class="link-button" onClick={onMore}>Show more of {count}</button>}
    </section>
  );
}

function Merged({ entity, onChange }: { entity: Entity; onChange: () => void }) {
  const user = useUser();
  const { write } = useRights();
  const names = [entity.name, ...entity.aliases].join("\n");
  const merges = useAnswer(`${user} ${entity.id} ${names}`, async (signal) => {
    const found = await get<{ merges: Merge[] }>("/v1/graph/merges", { limit: MOST_MERGES }, { signal });
    return joined(found.merges, entity.id);
  }, `${user} ${entity.id}`);
  const unmerge = useUnmerge(onChange);
  if (!merges.data?.length && !merges.error) return null;
  return (
    <section class="graph-part" aria-label="Taken for one">
      <h3>Taken for one</h3>
      {unmerge.error && <ErrorBox error={unmerge.error} />}
      <Answered answer={merges}>
        {(found) => (
          <ul class="graph-facts">
            {found.map((each) => (
              <li key={each.id} class="graph-merge">
                <MergeWords merge={each} />
                <Evidence merge={each} />
                <div class="spread">
                  <span class="graph-when"><Time at={each.at} as="date" /></span>
                  {write ? (
                    <Button small icon="undo" busy={unmerge.busy} aria-label={`Part ${each.merged_name} and ${each.into_name}`} onClick={() => unmerge.run(each)}>Part again</Button>
                  ) : <Badge>read only</Badge>}
                </div>
              </li>
            ))}
          </ul>
        )}
      </Answered>
    </section>
  );
}

/** The merges by which others are one with an entity, also in several steps. */
function joined(merges: readonly Merge[], id: string): Merge[] {
  const ids = new Set([id]);
  for (let before = 0; before !== ids.size;) {
    before = ids.size;
    for (const each of merges) if (ids.has(each.into) || ids.has(each.merged)) ids.add(each.into).add(each.merged);
  }
  return merges.filter((each) => ids.has(each.into));
}
