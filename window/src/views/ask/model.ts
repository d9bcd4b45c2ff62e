/** What the service answers with, what can be tuned, and what differs from the default. */
import { entryOf, isDay } from "../../lib/text";

// Answers

export interface Source {
  rank: number;
  score: number;
  rrf: number;
}

export interface Change {
  /** Null where the step brought the memory in. */
  before: number | null;
  after: number;
}

export interface Why {
  sources?: Record<string, Source>;
  score?: { fused: number; final: number };
  tier?: { name: string; weight: number };
  stages?: Record<string, Change>;
  profile?: { name: string; score: number; triggers?: string[] };
  /** What a source or a stage said; its shape is its own. */
  [name: string]: unknown;
}

export interface Hit {
  id: string;
  content: string;
  tier: string;
  kind: string;
  score: number;
  confidence: number;
  created_at: string;
  sources: string[];
  why: Why;
  role: string | null;
  name: string | null;
  session: string | null;
  origin: string;
}

export interface Dropped {
  id: string;
  tokens: number;
  reason: string;
}

export interface Context {
  text: string;
  tokens: number;
  hits: Hit[];
  dropped: Dropped[];
  task_profile: string;
  levels: string[];
  warnings: string[];
  hit_tokens: number[];
}

export interface Recalled {
  hits: Hit[];
  degraded: string[];
  warnings: string[];
  task_profile: string;
}

export interface Profile {
  name: string;
  weights: [string, number][];
  triggers: string[];
}

/** The settings in force that a call may override, by their full names (GET /v1/capabilities). */
export interface Defaults {
  tiers: string[];
  formats: string[];
  profiles: Profile[];
  numbers: Record<string, number>;
  boosting: boolean;
  boost: number;
  fusion: string;
}

export interface Capabilities {
  tiers: string[];
  formats: string[];
  per_call: Record<string, unknown>;
}

export function defaultsOf(told: Capabilities): Defaults {
  const settings = told.per_call;
  const numbers: Record<string, number> = {};
  for (const [name, value] of Object.entries(settings)) if (typeof value === "number") numbers[name] = value;
  return {
    tiers: told.tiers,
    formats: told.formats,
    profiles: (settings["boosting.profiles"] ?? []) as Profile[],
    numbers,
    boosting: settings["boosting.enabled"] !== false,
    boost: settings["instructionBoostEnabled"] === true ? numbers["instructionBoostWeight"] ?? 0 : 0,
    fusion: String(settings["fusion"] ?? "blend"),
  };
}

// What is tuned: only what differs from the default is there.

export interface Tune {
  /** Settings by their full names: contextBudgetTokens, instructionLane, blend.vector ... */
  numbers?: Record<string, number>;
  /** Added to the score of each instruction; 0 is off. */
  boost?: number;
  /** Multipliers of tiers, of the profile at hand. */
  weights?: Record<string, number>;
  profile?: string;
  /** A day, 2026-04-01: as it was known when the day ended. */
  asOf?: string;
  /** Also facts and notes, which repeat what was said. */
  everyTier?: boolean;
}

export const BUDGET = "contextBudgetTokens";

export function readTune(text: string): Tune {
  try {
    const found: unknown = JSON.parse(text);
    return checked(found);
  } catch {
    return {};
  }
}

/** What came from an address may be anything. */
function checked(found: unknown): Tune {
  const given = found as Record<string, unknown> | null;
  if (typeof given !== "object" || given === null) return {};
  const tune: Tune = {};
  const numbers = numbersIn(given["numbers"]);
  const weights = numbersIn(given["weights"]);
  if (numbers) tune.numbers = numbers;
  if (weights) tune.weights = weights;
  if (isNumber(given["boost"])) tune.boost = given["boost"];
  if (typeof given["profile"] === "string") tune.profile = given["profile"];
  if (typeof given["asOf"] === "string" && isDay(given["asOf"])) tune.asOf = given["asOf"];
  if (given["everyTier"] === true) tune.everyTier = true;
  return tune;
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function numbersIn(found: unknown): Record<string, number> | null {
  if (typeof found !== "object" || found === null) return null;
  const kept = Object.entries(found).filter((each): each is [string, number] => isNumber(each[1]));
  return kept.length ? Object.fromEntries(kept) : null;
}

/** How many things differ from the default. */
export function changesIn(tune: Tune): number {
  const single = [tune.boost, tune.profile, tune.asOf, tune.everyTier].filter((each) => each !== undefined).length;
  return single + Object.keys(tune.numbers ?? {}).length + Object.keys(tune.weights ?? {}).length;
}

/** One number of the tune; the default takes it out. */
export function withNumber(tune: Tune, name: string, value: number, initial: number | undefined): Tune {
  return tidy({ ...tune, numbers: changed(tune.numbers, name, value, initial) });
}

export function withWeight(tune: Tune, tier: string, value: number, initial: number): Tune {
  return tidy({ ...tune, weights: changed(tune.weights, tier, value, initial) });
}

function changed(
  before: Record<string, number> | undefined, name: string, value: number, initial: number | undefined,
): Record<string, number> {
  const next = { ...before, [name]: value };
  if (value === initial) delete next[name];
  return next;
}

/** Without what is empty, so that equal tunes are equal texts. */
export function tidy(tune: Tune): Tune {
  const { numbers, boost, weights, profile, asOf, everyTier } = tune;
  return {
    ...(numbers && Object.keys(numbers).length ? { numbers: sorted(numbers) } : {}),
    ...(boost !== undefined ? { boost } : {}),
    ...(weights && Object.keys(weights).length ? { weights: sorted(weights) } : {}),
    ...(profile ? { profile } : {}),
    ...(asOf ? { asOf } : {}),
    ...(everyTier ? { everyTier } : {}),
  };
}

function sorted(values: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function weightOf(defaults: Defaults, profile: string, tier: string): number {
  const found = defaults.profiles.find((each) => each.name === profile);
  return found?.weights.find(([name]) => name === tier)?.[1] ?? 1;
}

/** All weights of a profile as tuned: in a file, too, a tier that is left out weighs 1. */
function weightsOf(tune: Tune, defaults: Defaults, profile: string): Record<string, number> {
  const own = defaults.profiles.find((each) => each.name === profile)?.weights ?? [];
  return { ...Object.fromEntries(own), ...tune.weights };
}

/** What a request sends: beside the question, the fields and the settings that differ. */
export function asRequest(tune: Tune, defaults: Defaults, detected: string): Record<string, unknown> {
  const { [BUDGET]: budget, ...numbers } = tune.numbers ?? {};
  const override: Record<string, unknown> = { ...numbers, ...boostSettings(tune) };
  if (tune.weights) {
    const profile = tune.profile ?? detected;
    for (const [tier, weight] of Object.entries(weightsOf(tune, defaults, profile))) {
      override[`boosting.profiles.${profile}.weights.${tier}`] = weight;
    }
  }
  return {
    ...(budget !== undefined ? { budget_tokens: budget } : {}),
    ...(Object.keys(override).length ? { config_override: override } : {}),
    ...(tune.profile ? { task_profile: tune.profile } : {}),
    ...(tune.asOf ? { as_of: `${tune.asOf}T23:59:59.999Z` } : {}),
    ...(tune.everyTier ? { tiers: defaults.tiers } : {}),
  };
}

function boostSettings({ boost }: Tune): Record<string, unknown> {
  if (boost === undefined) return {};
  return boost > 0 ? { instructionBoostEnabled: true, instructionBoostWeight: boost } : { instructionBoostEnabled: false };
}

/** What differs, for the configuration file: JSON, which YAML reads too. */
export function asConfig(tune: Tune, defaults: Defaults, detected: string): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const [name, value] of Object.entries({ ...tune.numbers, ...boostSettings(tune) })) put(config, name.split("."), value);
  if (tune.weights) {
    const profile = tune.profile ?? detected;
    put(config, ["boosting", "profiles", profile, "weights"], weightsOf(tune, defaults, profile));
  }
  return config;
}

function put(tree: Record<string, unknown>, path: string[], value: unknown): void {
  const [first = "", ...rest] = path;
  // Names may come from an address that somebody was sent.
  if (first === "__proto__") return;
  if (rest.length && !Object.hasOwn(tree, first)) tree[first] = {};
  if (rest.length) put(tree[first] as Record<string, unknown>, rest, value);
  else tree[first] = value;
}

/** What of a tune no configuration file can say: it belongs to one call. */
export function onlyOfCall(tune: Tune): string[] {
  return [
    ...(tune.asOf ? ["as_of"] : []), ...(tune.profile ? ["task_profile"] : []), ...(tune.everyTier ? ["tiers"] : []),
  ];
}

// The difference to the default

export type Move = { kind: "new" } | { kind: "same" } | { kind: "moved"; by: number; from: number };

export function movesOf(hits: readonly Hit[], before: readonly Hit[]): Move[] {
  const was = new Map(before.map((hit, place) => [hit.id, place]));
  return hits.map((hit, place) => {
    const from = was.get(hit.id);
    if (from === undefined) return { kind: "new" };
    return from === place ? { kind: "same" } : { kind: "moved", by: from - place, from: from + 1 };
  });
}

export function goneFrom(hits: readonly Hit[], before: readonly Hit[]): Hit[] {
  const here = new Set(hits.map((hit) => hit.id));
  return before.filter((hit) => !here.has(hit.id));
}

// Why a hit was found

/** The sources of a score, in the order in which they are drawn. */
export const GROUPS = ["keyword", "vector", "graph", "who", "what"] as const;
export type Group = (typeof GROUPS)[number];

export interface Shares {
  group: Group;
  /** Of all that the sources gave this memory, 0..1. */
  share: number;
  /** What the source said in detail, as a share of the best memory's. */
  parts: [string, number][];
}

/**
 * What each source gave: with the default fusion its parts times their weights, with reciprocal rank
 * fusion its terms.
 */
export function sharesOf(why: Why, weights: Record<string, number>, fusion: string): Shares[] {
  const found = GROUPS.flatMap((group) => {
    const told = why[group];
    if (typeof told !== "object" || told === null) return [];
    const parts = Object.entries(told).filter((each): each is [string, number] => isNumber(each[1]) && each[0] !== "score");
    const given = parts.reduce((sum, [name, value]) => sum + value * (weights[`blend.${name}`] ?? 0), 0);
    return [{ group, share: given, parts }];
  });
  if (fusion === "rrf") return rankShares(why);
  const all = found.reduce((sum, each) => sum + each.share, 0);
  return found.map((each) => ({ ...each, share: all ? each.share / all : 0 })).filter((each) => each.parts.length);
}

function rankShares(why: Why): Shares[] {
  const terms = Object.entries(why.sources ?? {});
  const all = terms.reduce((sum, [, each]) => sum + each.rrf, 0);
  const groupOf: Record<string, Group> = { keyword: "keyword", hybrid: "what", vector: "vector", graph: "graph" };
  return terms.map(([name, each]) => ({
    group: entryOf(groupOf, name) ?? "who", share: all ? each.rrf / all : 0, parts: [[`${name} #${each.rank}`, all ? each.rrf / all : 0]],
  }));
}
