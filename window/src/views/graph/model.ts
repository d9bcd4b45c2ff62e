/** What the graph view knows: entities, relations, how they are asked for, and ways between them. */
import { get, post } from "../../lib/api";

export interface Entity {
  id: string;
  name: string;
  type: string;
  /** The type it was given as, where that is none of ours. */
  subtype: string | null;
  aliases: string[];
  summary: string;
  confidence: number;
  origin: string;
  importance: number;
  /** How present it still is, 0..1. */
  strength: number;
  /** Ids of the turns it was learned from. */
  sources: string[];
}

export interface Relation {
  id: string;
  source: string;
  type: string;
  target: string;
  original: string | null;
  /** The relation as a sentence. */
  content: string;
  confidence: number;
  valid_from: string | null;
  valid_to: string | null;
  strength: number;
  sources: string[];
}

export interface Subgraph {
  nodes: Entity[];
  edges: Relation[];
  truncated: boolean;
}

export interface Merge {
  id: string;
  into: string;
  into_name: string;
  merged: string;
  merged_name: string;
  score: number;
  evidence: string[];
  at: string;
  undone_at: string | null;
}

/** The types in the order of the legend; each has a colour `--graph-NAME`. */
export const TYPES = ["person", "team", "organization", "place", "event", "document", "outcome", "market", "concept"] as const;

export const colorToken = (type: string) => `--graph-${(TYPES as readonly string[]).includes(type) ? type : "concept"}`;

/** Entities and relations by their ids, and the relations at each entity. */
export class Net {
  readonly nodes = new Map<string, Entity>();
  readonly edges = new Map<string, Relation>();
  readonly at = new Map<string, Relation[]>();
  truncated = false;

  static of(...parts: readonly (Subgraph | Net | null)[]): Net {
    const net = new Net();
    for (const part of parts) {
      if (!part) continue;
      for (const node of part.nodes.values()) net.nodes.set(node.id, node);
      for (const edge of part.edges.values()) net.edges.set(edge.id, edge);
      net.truncated ||= part instanceof Net && part.truncated;
    }
    for (const edge of net.edges.values()) {
      // A relation to somebody who is not here cannot be drawn.
      if (!net.nodes.has(edge.source) || !net.nodes.has(edge.target)) net.edges.delete(edge.id);
      else for (const end of new Set([edge.source, edge.target])) {
        const there = net.at.get(end);
        if (there) there.push(edge);
        else net.at.set(end, [edge]);
      }
    }
    return net;
  }

  degree(id: string): number {
    return this.at.get(id)?.length ?? 0;
  }

  /** Those most worth looking at first. */
  ranked(): Entity[] {
    const weight = new Map([...this.nodes.values()].map((each) => [each.id, (1 + this.degree(each.id)) * each.importance]));
    return [...this.nodes.values()].sort((a, b) =>
      (weight.get(b.id) ?? 0) - (weight.get(a.id) ?? 0) || a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
  }

  /** The entities of these types alone, and what joins them. */
  without(hidden: ReadonlySet<string>): Net {
    if (!hidden.size) return this;
    const nodes = [...this.nodes.values()].filter((each) => !hidden.has(each.type));
    const net = Net.of({ nodes, edges: [...this.edges.values()], truncated: false });
    net.truncated = this.truncated;
    return net;
  }
}

/** What a relation says between its ends: the sentence without them, else its type. */
export function relationWords(edge: Relation, net: Net): string {
  const [from, to] = [net.nodes.get(edge.source)?.name ?? "", net.nodes.get(edge.target)?.name ?? ""];
  const { content } = edge;
  if (from && to && content.length > from.length + to.length && content.startsWith(from) && content.endsWith(to)) {
    const between = content.slice(from.length, content.length - to.length).trim();
    if (between) return between;
  }
  return (edge.original ?? edge.type).replaceAll("_", " ");
}

const MARKS = /\p{M}/gu;

/** For comparing names: whatever their case and accents. */
export function folded(text: string): string {
  return text.normalize("NFKD").replace(MARKS, "").toLowerCase();
}

/** Whether a name or an alias holds a text. */
export function bears(entity: Entity, wanted: string): boolean {
  return folded(entity.name).includes(wanted) || entity.aliases.some((each) => folded(each).includes(wanted));
}

// Asking

export interface Asked {
  /** The end of this day, as of which the graph is shown; "" is now. */
  day: string;
  faded: boolean;
  /** How many of the most connected. */
  most: number;
}

/** A large graph on a busy server. */
const TIMEOUT_MS = 60_000;

export const asOf = (day: string) => (day ? `${day}T23:59:59Z` : null);

export async function loadGraph(asked: Asked, expanded: readonly string[], signal: AbortSignal): Promise<Net> {
  const times = { as_of: asOf(asked.day), faded: asked.faded };
  const around = Promise.all(expanded.map((id) => traverse(id, asked, { signal })));
  const found = await get<Subgraph>("/v1/graph", { limit: asked.most, ...times }, { signal, timeoutMs: TIMEOUT_MS });
  const net = Net.of(found, ...(await around));
  net.truncated = found.truncated;
  return net;
}

export function traverse(
  start: string, asked: Asked, { depth = 1, limit = 200, signal }: { depth?: number; limit?: number; signal?: AbortSignal } = {},
): Promise<Subgraph> {
  const body = { start, depth, limit, faded: asked.faded, ...(asked.day ? { as_of: asOf(asked.day) } : {}) };
  return post<Subgraph>("/v1/graph/traverse", body, { reads: true, signal });
}

// Ways

export interface Step {
  edge: Relation;
  from: string;
  to: string;
}

/** The way between two; "none": there is none of so few steps; "unknown": not among those that were looked at. */
export type Found = Step[] | "none" | "unknown";

/** How far from one end the other is sought, and among how many. */
export const MOST_STEPS = 5;
export const MOST_AROUND = 1_000;

/** The shortest way between two entities, whatever the direction of the relations; null: there is none. */
export function wayBetween(net: Net, from: string, to: string): Step[] | null {
  if (!net.nodes.has(from) || !net.nodes.has(to)) return null;
  const led = new Map<string, Step | null>([[from, null]]);
  const queue = [from];
  for (const here of queue) {
    if (here === to) break;
    for (const edge of net.at.get(here) ?? []) {
      const next = edge.source === here ? edge.target : edge.source;
      if (led.has(next)) continue;
      led.set(next, { edge, from: here, to: next });
      queue.push(next);
    }
  }
  if (!led.has(to)) return null;
  const steps: Step[] = [];
  for (let step = led.get(to); step; step = led.get(step.from)) steps.unshift(step);
  return steps;
}
