/** The text of GET /metrics: samples, sums over processes, and percentiles out of histogram buckets. */
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, get, isAbort, type ApiError } from "../../lib/api";

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : LINE.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, label = "", value = ""] of (found[2] ?? "").matchAll(LABEL)) {
      labels[label] = value.replace(/\\(.)/g, (_, each: string) => (each === "n" ? "\n" : each));
    }
    samples.push({ name: found[1] ?? "", labels, value: Number(found[3]) });
  }
  return samples;
}

/** All samples of a name that have these labels, added up (over processes, for one). */
export function sum(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  let total = 0;
  for (const each of samples) {
    if (each.name === name && Object.entries(labels).every(([label, value]) => each.labels[label] === value)) total += each.value;
  }
  return total;
}

/** Values of a label in the order in which they come, each with its sum. */
export function byLabel(samples: readonly Sample[], name: string, label: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const each of samples) {
    const value = each.labels[label];
    if (each.name === name && value !== undefined) found.set(value, (found.get(value) ?? 0) + each.value);
  }
  return found;
}

/** How many answers took at most so many seconds: [bound, count so far], the last bound infinite. */
export type Histogram = [bound: number, count: number][];

/** The histograms of the time until an answer began, by route. */
export function histograms(samples: readonly Sample[]): Map<string, Histogram> {
  const routes = new Map<string, Map<number, number>>();
  for (const { name, labels, value } of samples) {
    const { route, le } = labels;
    if (name !== "holdfast_request_seconds_bucket" || route === undefined || le === undefined) continue;
    const bound = le === "+Inf" ? Infinity : Number(le);
    const buckets = routes.get(route) ?? new Map<number, number>();
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    routes.set(route, buckets);
  }
  return new Map([...routes].map(([route, buckets]) => [route, [...buckets].sort(([a], [b]) => a - b)]));
}

export function added(all: Iterable<Histogram>): Histogram {
  const total = new Map<number, number>();
  for (const each of all) for (const [bound, count] of each) total.set(bound, (total.get(bound) ?? 0) + count);
  return [...total].sort(([a], [b]) => a - b);
}

/** What came between two looks at a histogram. A service that was restarted counts from zero. */
export function since(now: Histogram, before: Histogram | undefined): Histogram {
  if (!before || (now.at(-1)?.[1] ?? 0) < (before.at(-1)?.[1] ?? 0)) return now;
  const old = new Map(before);
  return now.map(([bound, count]) => [bound, count - (old.get(bound) ?? 0)]);
}

export const countOf = (histogram: Histogram) => histogram.at(-1)?.[1] ?? 0;

/** The time, in seconds, within which this share was answered: even within a bucket; null of nothing. */
export function quantile(histogram: Histogram, share: number): number | null {
  const total = countOf(histogram);
  if (!total) return null;
  const wanted = share * total;
  let [lower, below] = [0, 0];
  for (const [bound, count] of histogram) {
    if (count >= wanted) {
      if (bound === Infinity) return lower;
      return lower + (bound - lower) * (count === below ? 1 : (wanted - below) / (count - below));
    }
    [lower, below] = [bound, count];
  }
  return lower;
}

export interface Look {
  at: number;
  /** Of whom there is more. */
  user: string | null;
  samples: Sample[];
}

export interface Sampled {
  /** Oldest first; the last is of now. */
  looks: Look[];
  error: ApiError | null;
  reload: () => void;
}

const MOST_LOOKS = 240;

/** Looks at /metrics again and again while the page is seen. `on`: whether this key may. `user`: of whom they tell more. */
export function useMetrics(on: boolean, everyMs: number, user: string | null = null): Sampled {
  const [state, setState] = useState<{ looks: Look[]; error: ApiError | null }>({ looks: [], error: null });
  const [turn, setTurn] = useState(0);
  const control = useRef<AbortController | null>(null);
  useEffect(() => {
    if (!on) return;
    let timer = 0;
    const look = async () => {
      clearTimeout(timer);
      if (document.visibilityState === "hidden") return;
      control.current?.abort();
      const stop = (control.current = new AbortController());
      try {
        const text = await get<string>("/metrics", { user_id: user }, { scoped: false, signal: stop.signal });
        const next = { at: Date.now(), user, samples: parseMetrics(text) };
        setState((before) => ({ looks: [...before.looks, next].slice(-MOST_LOOKS), error: null }));
      } catch (caught) {
        if (isAbort(caught)) return;
        setState((before) => ({ ...before, error: asApiError(caught) }));
      }
      timer = window.setTimeout(look, everyMs);
    };
    void look();
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      control.current?.abort();
      document.removeEventListener("visibilitychange", look);
    };
  }, [on, everyMs, user, turn]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
