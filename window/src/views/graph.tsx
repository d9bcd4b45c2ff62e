/** People, things and how they belong together: drawn, and the same as a list. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAction, useAnswer } from "../lib/api";
import { href, setParams, useDark, useDraft, useParam, useRights, useUser } from "../lib/store";
import { Button, Empty, ErrorBox, Icon, IconButton, Loading, Page, SearchBox, Select, Switch, cls, formatDate, formatNumber, toast } from "../lib/ui";
import { isDay } from "../lib/text";
import { VirtualList } from "../lib/virtual";
import { Card } from "./graph/card";
import { Drawing } from "./graph/drawing";
import { MergeDialog, MergesDialog } from "./graph/merges";
import { Net, TYPES, bears, MOST_AROUND, MOST_STEPS, folded, loadGraph, relationWords, traverse, wayBetween, type Asked, type Entity, type Found, type Subgraph } from "./graph/model";
import { Dot, typeWords } from "./graph/pick";
import { WayPanel } from "./graph/way";
import { TimeBar } from "./graph/time";

/** How many entities can be shown: the least at first, the most that the service gives. */
type Show = "300" | "1000" | "5000";

export default function Graph() {
  const user = useUser();
  const { write } = useRights();
  const [at, setDay] = useParam("at");
  const day = isDay(at) ? at : ""; // Whoever wrote the address: what is no day is now.
  const [faded, setFaded] = useParam("faded");
  const [show, setShow] = useParam("show", "300");
  const [hide, setHide] = useParam("hide");
  const [node, setNode] = useParam("node");
  // "?": the panel is open, and nobody is named yet.
  const [begin, setFrom] = useParam("from");
  const from = begin === "?" ? "" : begin;
  const [to, setTo] = useParam("to");
  const [merges, setMerges] = useState(false);
  const [merging, setMerging] = useState<Entity | null>(null);
  const [extra, setExtra] = useState<Net | null>(null);
  const expanded = useRef<string[]>([]);
  const drawing = useRef<Drawing | null>(null);

  const asked: Asked = { day, faded: faded === "1", most: show === "5000" ? 5_000 : show === "1000" ? 1_000 : 300 };
  const answer = useAnswer<Net>(JSON.stringify([user, asked]), (signal) =>
    loadGraph(asked, expanded.current, signal));
  useEffect(() => setExtra(null), [answer.data]);
  const whole = useMemo(() => Net.of(answer.data, extra), [answer.data, extra]);
  const hidden = useMemo(() => new Set(hide ? hide.split(",") : []), [hide]);
  const net = useMemo(() => whole.without(hidden), [whole, hidden]);
  const add = useCallback((found: Subgraph) => setExtra((before) => Net.of(before, found)), []);

  const select = useCallback((id: string | null) => setNode(id, { replace: id === null }), [setNode]);
  const visit = useCallback((id: string) => {
    select(id);
    drawing.current?.center(id);
  }, [select]);

  const expand = useAction(async (id: string) => {
    const found = await traverse(id, asked);
    if (!expanded.current.includes(id)) expanded.current.push(id);
    const fresh = found.nodes.filter((each) => !whole.nodes.has(each.id)).length;
    const lines = found.edges.filter((each) => !whole.edges.has(each.id)).length;
    add(found);
    const name = found.nodes[0]?.name ?? "It";
    toast(fresh || lines ? `${count(fresh, "entity", "entities")} and ${count(lines, "relation", "relations")} more around ${name}` : `Nothing more lies around ${name}`);
  });

  // An address may name somebody who is not among those that are shown, by id, name or alias.
  const open = useAction(async (start: string) => {
    const found = await traverse(start, asked);
    const [first] = found.nodes;
    if (!first) return false;
    add(found);
    if (!expanded.current.includes(first.id)) expanded.current.push(first.id);
    setNode(first.id);
    return true;
  });
  const missing = node && answer.data && !answer.loading && !whole.nodes.has(node) ? node : null;
  const [gone, setGone] = useState<string | null>(null);
  useEffect(() => {
    setGone(null);
    if (missing) void open.run(missing).then((found) => found === false && setGone(missing));
  }, [missing, day, faded]);

  const ways = Boolean(begin || to);
  const asOfWhat = useRef(0);
  const graphs = useMemo(() => (asOfWhat.current += 1), [answer.data]);
  const ends = from && to && answer.data ? JSON.stringify([user, from, to, graphs]) : null;
  const found = useAnswer<Found>(ends, async (signal) => {
    const here = wayBetween(whole, from, to);
    if (here) return here;
    const around = await traverse(from, asked, { depth: MOST_STEPS, limit: MOST_AROUND, signal });
    const steps = wayBetween(Net.of(whole, around), from, to);
    if (!steps) return around.truncated ? "unknown" : "none";
    const ids = new Set(steps.flatMap((each) => [each.from, each.to]));
    if (!signal.aborted) add({ nodes: around.nodes.filter((each) => ids.has(each.id)), edges: steps.map((each) => each.edge), truncated: false });
    return steps;
  }, ends ?? "");
  const steps = found.data;
  const way = useMemo(() => (Array.isArray(steps)
    ? { nodes: new Set([from, ...steps.map((each) => each.to)]), edges: new Set(steps.map((each) => each.edge.id)) } : null), [steps, from, to]);

  const changed = () => {
    setExtra(null);
    answer.reload();
  };
  const selected = node ? whole.nodes.get(node) ?? null : null;
  const clickedNode = useCallback((id: string | null) => {
    // While the other end of a path is awaited, a click names it.
    const params = new URLSearchParams(location.hash.split("?")[1] ?? "");
    const start = params.get("from");
    if (id && start === "?") setParams({ from: id });
    else if (id && start && !params.get("to") && start !== id) setParams({ to: id });
    else select(id);
  }, [select]);

  const nothing = answer.data !== null && !whole.nodes.size;
  return (
    <Page
      wide title="Graph"
      lead={answer.data && !nothing ? <Counts net={net} whole={whole} /> : "People, things and how they belong together."}
      actions={
        <>
          <Select<Show>
            label="How many are shown" value={show as Show} onChange={setShow}
            options={[{ value: "300", title: "Top 300" }, { value: "1000", title: "Top 1,000" }, { value: "5000", title: "Top 5,000" }]}
          />
          <Button icon="changes" onClick={() => setParams({ from: ways ? null : selected?.id ?? "?", to: null })} aria-pressed={ways}>Path</Button>
          <Button icon="link" onClick={() => setMerges(true)}>Merges</Button>
        </>
      }
    >
      {answer.error && <ErrorBox error={answer.error} retry={answer.reload} />}
      {!answer.data && answer.loading && (
        <Loading lines={8} what="The graph" />
      )}
      {nothing && !day && !asked.faded && <NothingYet onFaded={() => setFaded("1")} />}
      {answer.data && !(nothing && !day && !asked.faded) && (
        <div class={cls("graph-view", Boolean(selected || gone) && "with-card")} aria-busy={answer.loading}>
          <Finder net={net} whole={whole} hidden={hidden} onHide={setHide} selected={node} onOpen={visit} look={open} />
          <section class="graph-middle" aria-label="Picture">
            {ways && (
              <WayPanel
                net={whole} from={from} to={to} onFrom={(id) => setFrom(id || "?")} onTo={setTo} found={found}
                onSelect={visit} onClose={() => setParams({ from: null, to: null })}
              />
            )}
            <Stage
              net={net} nothing={!net.nodes.size} day={day} busy={answer.loading} look={{ selected: node || null, way }}
              drawing={drawing} onSelect={clickedNode} onExpand={expand.run} onNow={() => setDay(null)}
            />
            <TimeBar user={user} net={answer.data} day={day} onDay={setDay} busy={answer.loading}>
              <Switch checked={asked.faded} onChange={(on) => setFaded(on ? "1" : null)}>Faded ones, too</Switch>
            </TimeBar>
          </section>
          {selected && (
            <Card
              entity={selected} net={whole} expanding={expand.busy} onClose={() => select(null)} onSelect={visit} onExpand={() => expand.run(selected.id)}
              onWay={() => setParams({ from: selected.id, to: null })} onMerge={() => setMerging(selected)} onChange={changed}
            />
          )}
          {gone && !selected && (
            <aside class="graph-card" aria-label="Not there">
              <Empty icon="search" title={day ? "Not there on that day" : "Not in this graph"} action={<Button onClick={() => select(null)}>Close</Button>}>
                {day ? `It was not known on ${formatDate(day)}, or had faded by then.` : "It was forgotten, has faded, or belongs to somebody else."}
              </Empty>
            </aside>
          )}
          {expand.error && <ErrorBox error={expand.error} />}
        </div>
      )}
      {merges && <MergesDialog onClose={() => setMerges(false)} onChange={changed} />}
      {merging && write && (
        <MergeDialog
          entity={merging} net={whole} onClose={() => setMerging(null)}
          onDone={(done) => { setMerging(null); select(done.into); changed(); }}
        />
      )}
    </Page>
  );
}

function count(many: number, one: string, several: string): string {
  return `${formatNumber(many)} ${many === 1 ? one : several}`;
}

function Counts({ net, whole }: { net: Net; whole: Net }) {
  const some = net.nodes.size < whole.nodes.size;
  return (
    <>
      {count(net.nodes.size, "entity", "entities")}{some && ` of ${formatNumber(whole.nodes.size)}`}, {count(net.edges.size, "relation", "relations")}
      {whole.truncated && " (there are more)"}
    </>
  );
}

function NothingYet({ onFaded }: { onFaded: () => void }) {
  return (
    <Empty
      icon="graph" title="No people or things yet"
      action={<><a class="button primary" href={href("start")}><span class="button-text">Get started</span></a><Button onClick={onFaded}>Look for faded ones</Button></>}
    >
      The graph is learned from what is said: who works where, who belongs to whom. Say something to your agent, or load the sample
      conversation.
    </Empty>
  );
}

// Search, legend and list: all that the picture can do, without it

function Finder({ net, whole, hidden, onHide, selected, onOpen, look }: {
  net: Net; whole: Net; hidden: ReadonlySet<string>; onHide: (types: string | null) => void; selected: string;
  onOpen: (id: string) => void; look: ReturnType<typeof useAction<[string], boolean>>;
}) {
  const [text, setText] = useDraft("graph.search");
  const [nobody, setNobody] = useState("");
  const ranked = useMemo(() => net.ranked(), [net]);
  const wanted = folded(text.trim());
  const found = useMemo(() => (wanted
    ? ranked.filter((each) => bears(each, wanted)).sort((a, b) => Number(folded(b.name).startsWith(wanted)) - Number(folded(a.name).startsWith(wanted)))
    : ranked), [ranked, wanted]);
  const lookFurther = async () => {
    setNobody("");
    if ((await look.run(text.trim())) === false) setNobody(text.trim());
  };
  const enter = () => {
    const [first] = found;
    if (first && wanted) onOpen(first.id);
    else if (wanted) void lookFurther();
  };
  return (
    <>
      <div class="graph-find">
        <SearchBox label="Find an entity" value={text} onInput={(next) => { setText(next); setNobody(""); }} onEnter={enter} />
        <Legend whole={whole} hidden={hidden} onHide={onHide} />
      </div>
      <div class="graph-list">
        <VirtualList
          items={found} keyOf={(each) => each.id} label="Entities" estimate={44} selected={selected} onOpen={(each) => onOpen(each.id)}
          row={(each) => <Row entity={each} net={net} />}
          empty={
            <Empty icon="search" title={wanted ? "Not among those shown" : "Nothing is shown"} action={wanted && <Button small busy={look.busy} icon="search" onClick={lookFurther}>Look in the whole graph</Button>}>
              {nobody ? `Nobody and nothing is called “${nobody}”.` : wanted ? "It may be one that is not drawn yet." : "All types are switched off."}
              {look.error && <ErrorBox error={look.error} retry={lookFurther} />}
            </Empty>
          }
        />
      </div>
    </>
  );
}

function Row({ entity, net }: { entity: Entity; net: Net }) {
  const relations = net.at.get(entity.id) ?? [];
  const [first] = relations;
  const other = first && net.nodes.get(first.source === entity.id ? first.target : first.source);
  return (
    <div class={cls("graph-row", entity.strength < 0.35 && "graph-pale")}>
      <Dot type={entity.type} />
      <span class="graph-row-words">
        <span class="graph-row-name" dir="auto">{entity.name}</span>
        <span class="graph-row-about" dir="auto">
          {typeWords(entity)}{first && other && <> · {first.source === entity.id ? `${relationWords(first, net)} ${other.name}` : `${other.name} ${relationWords(first, net)}`}</>}
        </span>
      </span>
      <span class="graph-row-count num" title={`${relations.length} relations`}>{relations.length || ""}</span>
    </div>
  );
}

function Legend({ whole, hidden, onHide }: { whole: Net; hidden: ReadonlySet<string>; onHide: (types: string | null) => void }) {
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const each of whole.nodes.values()) found.set(each.type, (found.get(each.type) ?? 0) + 1);
    const order = [...TYPES, ...[...found.keys()].sort()];
    return [...new Set(order)].flatMap((type) => (found.has(type) ? [[type, found.get(type) ?? 0] as const] : []));
  }, [whole]);
  const toggle = (type: string) => {
    const next = new Set(hidden);
    if (!next.delete(type)) next.add(type);
    onHide([...next].sort().join(",") || null);
  };
  return (
    <div class="graph-legend" role="group" aria-label="Types shown">
      {counts.map(([type, many]) => (
        <button key={type} type="button" class="graph-chip" aria-pressed={!hidden.has(type)} onClick={() => toggle(type)} title={`${hidden.has(type) ? "Show" : "Hide"}: ${type}`}>
          <Dot type={type} /><span class="truncate" dir="auto">{type}</span><span class="num muted">{formatNumber(many)}</span>
        </button>
      ))}
      {hidden.size > 0 && <button type="button" class="link-button" onClick={() => onHide(null)}>Show all</button>}
    </div>
  );
}

// The picture

function Stage({ net, nothing, day, busy, look, drawing, onSelect, onExpand, onNow }: {
  net: Net; nothing: boolean; day: string; busy: boolean;
  look: { selected: string | null; way: { nodes: ReadonlySet<string>; edges: ReadonlySet<string> } | null };
  drawing: { current: Drawing | null }; onSelect: (id: string | null) => void; onExpand: (id: string) => void; onNow: () => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"settling" | "settled" | "none">("settling");
  const events = useRef({ onSelect, onExpand });
  events.current = { onSelect, onExpand };
  const wanted = useRef(look.selected);
  const latest = useRef(look);
  latest.current = look;
  const dark = useDark();
  useEffect(() => {
    if (!box.current) return;
    try {
      drawing.current = new Drawing(box.current, {
        onSelect: (id) => events.current.onSelect(id), onExpand: (id) => events.current.onExpand(id), onSettled: () => setState("settled"),
      });
    } catch (error) {
      console.info(error);
      setState("none");
    }
    return () => {
      drawing.current?.kill();
      drawing.current = null;
    };
  }, []);
  useEffect(() => {
    if (!drawing.current) return;
    setState("settling");
    void drawing.current.show(net).then(() => {
      // Whom the address names stands in the middle of the first picture.
      if (wanted.current && net.nodes.has(wanted.current)) drawing.current?.center(wanted.current);
      wanted.current = null;
      // After a merge the one that stays may lie elsewhere; where, is known when it has been drawn.
      requestAnimationFrame(() => {
        const { selected } = latest.current;
        if (selected && net.nodes.has(selected) && drawing.current?.inSight(selected) === false) drawing.current.center(selected);
      });
    });
  }, [net]);
  useEffect(() => drawing.current?.setLook(look), [look.selected, look.way, net]);
  useEffect(() => {
    if (look.way) drawing.current?.frame(look.way.nodes);
  }, [look.way]);
  useEffect(() => drawing.current?.recolor(), [dark]);
  const keys = (event: KeyboardEvent) => {
    const at = drawing.current;
    if (!at || event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      "+": () => at.zoom(1.5), "=": () => at.zoom(1.5), "-": () => at.zoom(1 / 1.5), "0": () => at.fit(),
      ArrowLeft: () => at.move(-0.1, 0), ArrowRight: () => at.move(0.1, 0), ArrowUp: () => at.move(0, 0.1), ArrowDown: () => at.move(0, -0.1),
      Escape: () => onSelect(null),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const words = `${count(net.nodes.size, "entity", "entities")} and ${count(net.edges.size, "relation", "relations")}, drawn. The list holds the same. Plus and minus zoom, arrows move, 0 shows all.`;
  return (
    <div class="graph-stage" data-state={state}>
      <div ref={box} class="graph-canvas" role="application" aria-roledescription="picture" tabIndex={0} aria-label={words} onKeyDown={keys} hidden={state === "none"} />
      {state === "none" && (
        <Empty icon="warning" title="This browser cannot draw the graph">It has WebGL switched off. The list shows the same, with every relation, path and merge.</Empty>
      )}
      {nothing && state !== "none" && (
        <div class="graph-over">
          <Empty icon="graph" title={day ? `Nothing was known on ${formatDate(day)}` : "Nothing is shown"} action={day && <Button onClick={onNow}>Back to now</Button>}>
            {day ? "Move the slider to a later day." : "Switch a type on again."}
          </Empty>
        </div>
      )}
      {(busy || (state === "settling" && !nothing)) && (
        <p class="graph-busy" role="status"><span class="spinner" aria-hidden="true" /> {busy ? "Asking…" : "Finding places…"}</p>
      )}
      {state !== "none" && (
        <div class="graph-tools">
          <IconButton icon="plus" label="Zoom in" onClick={() => drawing.current?.zoom(1.5)} />
          <Button kind="quiet" class="icon-only" aria-label="Zoom out" title="Zoom out" onClick={() => drawing.current?.zoom(1 / 1.5)}>−</Button>
          <Button kind="quiet" class="icon-only" aria-label="Show all of it" title="Show all of it" onClick={() => drawing.current?.fit()}>
            <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="M2.5 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10" /></svg>
          </Button>
          <IconButton icon="refresh" label="Find new places" onClick={() => { setState("settling"); void drawing.current?.show(net, { anew: true }); }} />
        </div>
      )}
      {!nothing && state === "settled" && <p class="graph-hint" aria-hidden="true"><Icon name="info" size={12} /> click: about it · double click: what lies around it</p>}
    </div>
  );
}
