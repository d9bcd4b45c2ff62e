/**
 * Where entities stand: ForceAtlas2 in slices between frames, so that the page stays alive. What has a
 * place keeps it, unless all is laid out anew; what hangs on nothing stands in rows below.
 */
import iterate from "graphology-layout-forceatlas2/iterate.js";

export interface Point {
  x: number;
  y: number;
}

export type Places = Map<string, Point>;

/** As ForceAtlas2 keeps them: numbers for each node, then for each edge. */
const [NODE, EDGE] = [10, 3];
const [MASS, CONVERGENCE, SIZE, FIXED] = [6, 7, 8, 9];
/** Time for one slice, in milliseconds. */
const SLICE_MS = 24;
/** Turn by which the next one of a spiral stands. */
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const SPREAD = 12;

/**
 * Places for all of `ids`; `places` is filled as it goes. `show` is called now and then with a picture
 * that is not finished. A signal stops it where it is.
 */
export async function layOut(
  ids: readonly string[], links: readonly (readonly [string, string])[], places: Places, signal: AbortSignal,
  show: (() => void) | null,
): Promise<void> {
  const linked = new Set(links.flat());
  const known = ids.filter((each) => linked.has(each) && places.has(each));
  const fresh = ids.filter((each) => linked.has(each) && !places.has(each));
  if (fresh.length) {
    seed(fresh, links, places, known.length > 0);
    await settle([...known, ...fresh], links, places, new Set(known), signal, show);
  }
  const alone = ids.filter((each) => !linked.has(each));
  if (!signal.aborted && alone.some((each) => !places.has(each))) inRows(alone, [...known, ...fresh], places);
}

/** Where they begin: beside somebody who has a place, else on a spiral in the order of their links. */
function seed(fresh: readonly string[], links: readonly (readonly [string, string])[], places: Places, some: boolean): void {
  const near = neighbours(links);
  const order: string[] = [];
  const waiting = new Set(fresh);
  const queue = some ? fresh.filter((each) => near.get(each)?.some((other) => places.has(other))) : [];
  const walk = () => {
    for (const each of queue) {
      if (!waiting.delete(each)) continue;
      order.push(each);
      for (const other of near.get(each) ?? []) if (waiting.has(other)) queue.push(other);
    }
    queue.length = 0;
  };
  walk();
  const busiest = [...fresh].sort((a, b) => (near.get(b)?.length ?? 0) - (near.get(a)?.length ?? 0));
  for (const each of busiest) {
    if (!waiting.has(each)) continue;
    queue.push(each);
    walk();
  }
  order.forEach((each, index) => {
    const beside = near.get(each)?.map((other) => places.get(other)).find(Boolean);
    const out = beside && some ? SPREAD : SPREAD * Math.sqrt(index + 1);
    const [x, y] = beside && some ? [beside.x, beside.y] : [0, 0];
    places.set(each, { x: x + out * Math.cos(index * GOLDEN), y: y + out * Math.sin(index * GOLDEN) });
  });
}

function neighbours(links: readonly (readonly [string, string])[]): Map<string, string[]> {
  const near = new Map<string, string[]>();
  const add = (a: string, b: string) => {
    const there = near.get(a);
    if (there) there.push(b);
    else near.set(a, [b]);
  };
  for (const [a, b] of links) {
    add(a, b);
    add(b, a);
  }
  return near;
}

async function settle(
  ids: readonly string[], links: readonly (readonly [string, string])[], places: Places, fixed: ReadonlySet<string>,
  signal: AbortSignal, show: (() => void) | null,
): Promise<void> {
  const nodes = new Float32Array(ids.length * NODE);
  const offsets = new Map<string, number>();
  ids.forEach((each, index) => {
    const at = index * NODE;
    const place = places.get(each) ?? { x: 0, y: 0 };
    offsets.set(each, at);
    nodes.set([place.x, place.y], at);
    nodes[at + MASS] = 1;
    nodes[at + CONVERGENCE] = 1;
    nodes[at + SIZE] = 1;
    nodes[at + FIXED] = fixed.has(each) ? 1 : 0;
  });
  const edges = new Float32Array(links.length * EDGE);
  links.forEach(([a, b], index) => {
    const [from, to] = [offsets.get(a) ?? 0, offsets.get(b) ?? 0];
    nodes[from + MASS] = (nodes[from + MASS] ?? 0) + 1;
    nodes[to + MASS] = (nodes[to + MASS] ?? 0) + 1;
    edges.set([from, to, 1], index * EDGE);
  });
  const write = () => ids.forEach((each, index) => {
    const at = index * NODE;
    places.set(each, { x: nodes[at] ?? 0, y: nodes[at + 1] ?? 0 });
  });
  const count = ids.length;
  const rounds = count < 400 ? 500 : count < 2_000 ? 250 : 110;
  const settings = {
    linLogMode: false, outboundAttractionDistribution: false, adjustSizes: false, edgeWeightInfluence: 0,
    scalingRatio: 10, strongGravityMode: true, gravity: count < 100 ? 0.6 : 0.08, slowDown: 1 + Math.log(count),
    barnesHutOptimize: count > 800, barnesHutTheta: 0.7,
  };
  const pause = count > 1_000 ? 600 : 60;
  let shown = performance.now();
  for (let round = 0; round < rounds;) {
    const until = performance.now() + SLICE_MS;
    while (round < rounds && performance.now() < until) {
      iterate(settings, nodes, edges);
      round += 1;
    }
    if (signal.aborted) return;
    if (show && performance.now() - shown > pause) {
      write();
      show();
      shown = performance.now();
    }
    await nextTurn();
    if (signal.aborted) return;
  }
  write();
}

/** Those without relations, in rows below all others. */
function inRows(alone: readonly string[], others: readonly string[], places: Places): void {
  if (!alone.length) return;
  let [left, right, top, bottom] = [Infinity, -Infinity, -Infinity, Infinity];
  for (const each of others) {
    const place = places.get(each);
    if (!place) continue;
    [left, right] = [Math.min(left, place.x), Math.max(right, place.x)];
    [bottom, top] = [Math.min(bottom, place.y), Math.max(top, place.y)];
  }
  if (!others.length) [left, right, bottom, top] = [0, 0, 0, 0];
  const columns = Math.max(1, Math.min(alone.length, Math.ceil(Math.sqrt(alone.length * 1.2))));
  const width = Math.max(right - left, (top - bottom) * 1.3, columns * SPREAD);
  const step = Math.min((width * 1.1) / columns, others.length ? width / 5 : Infinity);
  const begin = (left + right) / 2 - (step * (columns - 1)) / 2;
  alone.forEach((each, index) => {
    const row = Math.floor(index / columns);
    const shift = row % 2 ? step / 2 : 0;
    places.set(each, { x: begin + (index % columns) * step + shift - step / 4, y: bottom - step * (0.75 + row * 0.5) });
  });
}

function nextTurn(): Promise<void> {
  // Also in a tab that is not in sight, where no frame comes.
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 50);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      setTimeout(resolve, 0);
    });
  });
}
