/** Long lists: pages come from the server as they are needed, and only rows in sight are in the page. */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { asApiError, get, isAbort, type ApiError, type Query } from "./api";
import { ErrorBox, Loading } from "./ui";

// Pages by cursor

export interface Pages<T> {
  items: T[];
  /** Whether the server has more. */
  more: boolean;
  loading: boolean;
  error: ApiError | null;
  loadMore: () => void;
  /** From the first page on. */
  reload: () => void;
  /** Ask anew for as many as are here, which stay until then: nobody loses their place. */
  again: () => void;
  /** Change items that are here, after a change that is known: `pages.update((all) => all.filter(...))`. */
  update: (change: (items: T[]) => T[]) => void;
}

interface State<T> {
  items: T[];
  cursor: string | null;
  more: boolean;
  loading: boolean;
  error: ApiError | null;
}

const PAGE = 100;
/** The most that is asked for at a time when a list is asked for again: no list of the server gives less. */
const MOST_AGAIN = 1_000;

/**
 * A list of the server, page by page: `usePages<Memory>("/v1/memories", "memories", { kind }, user)`.
 * `name` is the field of the answer with the items. Another path, query or `key` begins anew.
 * A path of null asks nothing.
 */
export function usePages<T>(
  path: string | null,
  name: string,
  query: Query = {},
  key = "",
  { limit = PAGE, scoped = true }: { limit?: number; scoped?: boolean | "workspace" } = {},
): Pages<T> {
  const fresh: State<T> = { items: [], cursor: null, more: path !== null, loading: path !== null, error: null };
  const [state, setState] = useState<State<T>>(fresh);
  const latest = useRef(state);
  latest.current = state;
  const [turn, setTurn] = useState(0);
  const stop = useRef<AbortController | null>(null);
  const failedAgain = useRef(false);
  const asked = JSON.stringify([path, name, query, key, limit, scoped]);

  /** What follows a cursor, after `before`: until there are `least` of them, in whole pages. */
  const fetchPages = useCallback(
    (cursor: string | null, before: T[], least = 0) => {
      if (path === null) return;
      stop.current?.abort();
      const control = new AbortController();
      stop.current = control;
      const isAnew = cursor === null && before.length === 0;
      const fetchSome = async (from: string | null, here: T[]): Promise<void> => {
        const wanting = Math.ceil((least - here.length) / limit) * limit;
        const most = Math.max(limit, Math.min(wanting, MOST_AGAIN));
        const answer = await get<Record<string, unknown>>(path, { ...query, limit: most, cursor: from }, { signal: control.signal, scoped });
        if (control.signal.aborted) return;
        const items = [...here, ...((answer[name] ?? []) as T[])];
        const next = typeof answer["next"] === "string" ? answer["next"] : null;
        if (next !== null && items.length < least) return fetchSome(next, items);
        failedAgain.current = false;
        setState({ items, cursor: next, more: next !== null, loading: false, error: null });
      };
      fetchSome(cursor, before).catch((error: unknown) => {
        if (control.signal.aborted || isAbort(error)) return;
        failedAgain.current = isAnew;
        setState((now) => ({ ...now, loading: false, error: asApiError(error) }));
      });
    },
    [asked],
  );

  useEffect(() => {
    setState(fresh);
    fetchPages(null, []);
    return () => stop.current?.abort();
  }, [asked, turn]);

  const again = useCallback(() => {
    const now = latest.current;
    latest.current = { ...now, loading: true };
    setState((before) => ({ ...before, loading: true, error: null }));
    // Where all were here, one that is new is here, too.
    fetchPages(null, [], now.items.length + (now.more ? 0 : 1));
  }, [fetchPages]);
  const loadMore = useCallback(() => {
    const now = latest.current;
    if (failedAgain.current && !now.loading) return again();
    if (now.loading || !now.more) return;
    latest.current = { ...now, loading: true };
    setState({ ...now, loading: true, error: null });
    fetchPages(now.cursor, now.items);
  }, [fetchPages, again]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const update = useCallback(
    (change: (items: T[]) => T[]) => setState((now) => ({ ...now, items: change(now.items) })),
    [],
  );
  const { items, more, loading, error } = state;
  return { items, more, loading, error, loadMore, reload, again, update };
}

// Rows in sight

export interface VirtualListProps<T> {
  items: readonly T[];
  /** What tells rows apart. */
  keyOf: (item: T) => string;
  row: (item: T, index: number) => ComponentChildren;
  label: string;
  /** How high a row is before it was measured, in pixels; heights may differ. */
  estimate?: number;
  /** Enter or a click. */
  onOpen?: (item: T) => void;
  /** The key of the row that is open. */
  selected?: string | null;
  /** For more than is here yet, as `usePages` gives it. */
  pages?: Pages<T>;
  /** What stands there when there is nothing. */
  empty?: ComponentChildren;
}

/** Rows drawn above and below what is in sight, in pixels. */
const OVERSCAN = 600;
/** So near to the end more is asked for, in rows. */
const AHEAD = 40;

/**
 * A list of any length in a scrolling box that fills its place. Arrow keys, j and k, Home and End move;
 * Enter opens.
 */
export function VirtualList<T>({
  items, keyOf, row, label, estimate = 64, onOpen, selected = null, pages, empty,
}: VirtualListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [view, setView] = useState({ top: 0, height: 800 });
  const [active, setActive] = useState(-1);
  const [, setMeasured] = useState(0);

  const tops = offsets(items, keyOf, heights.current, estimate);
  const total = tops[items.length] ?? 0;
  const first = Math.max(0, below(tops, view.top - OVERSCAN) - 1);
  const last = Math.min(items.length, below(tops, view.top + view.height + OVERSCAN) + 1);

  const observer = useRef<ResizeObserver | null>(null);
  observer.current ??= new ResizeObserver((entries) => {
    let changed = false;
    for (const { target } of entries) {
      const key = (target as HTMLElement).dataset["key"];
      const height = (target as HTMLElement).offsetHeight;
      if (key === undefined || !height || heights.current.get(key) === height) continue;
      heights.current.set(key, height);
      changed = true;
    }
    if (changed) setMeasured((before) => before + 1);
  });
  useEffect(() => () => observer.current?.disconnect(), []);
  const measured = useCallback((element: HTMLElement | null) => {
    if (element) observer.current?.observe(element);
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight });
    look();
    const resized = new ResizeObserver(look);
    resized.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [items.length === 0]);

  useEffect(() => {
    if (pages && pages.more && !pages.loading && !pages.error && last >= items.length - AHEAD) pages.loadMore();
  });

  const moveTo = (index: number) => {
    const to = Math.max(0, Math.min(items.length - 1, index));
    const element = box.current;
    setActive(to);
    if (!element) return;
    const [top, end] = [tops[to] ?? 0, tops[to + 1] ?? 0];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
  };
  const keys = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const screen = Math.max(1, Math.floor(view.height / estimate) - 1);
    const steps: Record<string, number> = {
      ArrowDown: active + 1, j: active + 1, ArrowUp: active - 1, k: active - 1, Home: 0, End: items.length - 1,
      PageDown: active + screen, PageUp: active - screen,
    };
    const to = steps[event.key];
    const item = items[active];
    if (to !== undefined) moveTo(to);
    else if (event.key === "Enter" && item !== undefined && onOpen) onOpen(item);
    else return;
    event.preventDefault();
  };

  if (!items.length) {
    if (pages?.error) return <ErrorBox error={pages.error} retry={pages.reload} />;
    if (pages?.loading) return <Loading lines={8} what={label} />;
    return <>{empty}</>;
  }
  return (
    <div ref={box} class="virtual" role="list" aria-label={label} tabIndex={0} onKeyDown={keys}>
      <div class="virtual-all" style={{ height: `${total}px` }} role="presentation">
        {items.slice(first, last).map((item, offset) => {
          const index = first + offset;
          const key = keyOf(item);
          return (
            <div
              key={key} data-key={key} ref={measured} role="listitem" aria-posinset={index + 1}
              aria-setsize={pages?.more ? -1 : items.length}
              class={`virtual-row${index === active ? " active" : ""}${key === selected ? " selected" : ""}${onOpen ? " opens" : ""}`}
              style={{ transform: `translateY(${tops[index] ?? 0}px)` }}
              onClick={(event) => {
                if (!isOnControl(event)) {
                  setActive(index);
                  onOpen?.(item);
                } else {
                  // A button or a link in the row is its own. Drawn anew before a box tells that it was ticked, the row
                  // would take the tick back: it waits until all is told.
                  setTimeout(() => setActive(index));
                }
              }}
            >
              {row(item, index)}
            </div>
          );
        })}
      </div>
      {pages?.error && <ErrorBox error={pages.error} retry={pages.loadMore} />}
      {pages?.loading && <p class="virtual-more" role="status">Loading more…</p>}
    </div>
  );
}

/** By the way that the event took: what was clicked may be replaced by now, as a button's icon is. */
function isOnControl(event: MouseEvent): boolean {
  const path = event.composedPath();
  const inside = path.slice(0, path.indexOf(event.currentTarget as EventTarget));
  return inside.some((each) => each instanceof Element && each.matches("button, a, input, select, textarea, label"));
}

function offsets<T>(
  items: readonly T[], keyOf: (item: T) => string, heights: Map<string, number>, estimate: number,
): Float64Array {
  const tops = new Float64Array(items.length + 1);
  let top = 0;
  items.forEach((item, index) => {
    tops[index] = top;
    top += heights.get(keyOf(item)) ?? estimate;
  });
  tops[items.length] = top;
  return tops;
}

/** How many rows begin at or above a place. */
function below(tops: Float64Array, y: number): number {
  let [low, high] = [0, tops.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tops[middle] ?? 0) <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}
