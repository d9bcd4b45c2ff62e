/**
 * The rows of the timeline: of known heights, so that any number of them is laid out at once, under
 * headings by day and session of which the present one stays in sight.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { cls, ErrorBox, Loading } from "../lib/ui";
import type { Pages } from "../lib/virtual";

export interface Heading {
  /** What tells groups apart. */
  key: string;
  day: string;
  /** `again`: it stands there a second time, beside the one that keys reach. */
  session: (again: boolean) => ComponentChildren;
}

type Line<T> = { heading: Heading; newDay: boolean } | { item: T; index: number };

const HEADING = 34;
const ROW = { wide: 46, narrow: 84 };
/** Drawn above and below what is in sight, in pixels. */
const OVERSCAN = 400;
/** So near to the end more is asked for, in rows. */
const AHEAD = 80;
const NARROW = matchMedia("(max-width: 760px)");

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const look = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", look);
    return () => NARROW.removeEventListener("change", look);
  }, []);
  return narrow;
}

export function TimelineList<T>({ items, pages, keyOf, hrefOf, headingOf, row, acts, label, selected, empty }: {
  items: readonly T[]; pages: Pick<Pages<T>, "more" | "loading" | "error" | "loadMore" | "reload">;
  keyOf: (item: T) => string; hrefOf: (item: T) => string;
  /** The group of an item; null: none. */
  headingOf: (item: T) => Heading | null;
  row: (item: T) => ComponentChildren;
  /** What can be done to an item, beside its link. */
  acts?: ((item: T) => ComponentChildren) | undefined;
  label: string; selected: string | null; empty: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [active, setActive] = useState(0);
  const focusNext = useRef(false);
  const narrow = useNarrow();
  const height = narrow ? ROW.narrow : ROW.wide;

  const { lines, tops, lineOf } = useMemo(() => {
    const lines: Line<T>[] = [];
    const lineOf = new Uint32Array(items.length);
    let [group, day]: [string | null, string | null] = [null, null];
    items.forEach((item, index) => {
      const heading = headingOf(item);
      if (heading && heading.key !== group) {
        lines.push({ heading, newDay: heading.day !== day });
        [group, day] = [heading.key, heading.day];
      }
      lineOf[index] = lines.length;
      lines.push({ item, index });
    });
    const tops = new Float64Array(lines.length + 1);
    lines.forEach((line, at) => (tops[at + 1] = (tops[at] ?? 0) + ("heading" in line ? HEADING : height)));
    return { lines, tops, lineOf };
  }, [items, headingOf, height]);

  const total = tops[lines.length] ?? 0;
  const first = Math.max(0, lineAt(tops, view.top - OVERSCAN));
  const last = Math.min(lines.length, lineAt(tops, view.top + view.height + OVERSCAN) + 1);
  const empties = !items.length;

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
  }, [empties]);

  useEffect(() => {
    if (pages.more && !pages.loading && !pages.error && last >= lines.length - AHEAD) pages.loadMore();
  });

  const moveTo = (index: number) => {
    const to = Math.max(0, Math.min(items.length - 1, index));
    const element = box.current;
    const line = lineOf[to] ?? 0;
    focusNext.current = true;
    setActive(to);
    if (!element) return;
    // The heading that stays in sight must not cover the row.
    const [top, end] = [(tops[line] ?? 0) - (lines.length > items.length ? HEADING : 0), tops[line + 1] ?? 0];
    if (top < element.scrollTop) element.scrollTop = Math.max(0, top);
    else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
    setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useLayoutEffect(() => {
    if (!focusNext.current) return;
    const link = box.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (!link) return;
    focusNext.current = false;
    link.focus({ preventScroll: true });
  });

  const here = useRef({ active, moveTo, count: items.length, screen: 1 });
  here.current = { active, moveTo, count: items.length, screen: Math.max(1, Math.floor(view.height / height) - 1) };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as Element;
      if (target.closest?.("input, textarea, select, [contenteditable]") || document.querySelector(".dialog")) return;
      const { active, moveTo, count, screen } = here.current;
      const inside = box.current?.contains(target) ?? false;
      const letters: Record<string, number> = { j: active + 1, k: active - 1 };
      const others: Record<string, number> = {
        ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: count - 1, PageDown: active + screen, PageUp: active - screen,
      };
      let to = letters[event.key] ?? (inside ? others[event.key] : undefined);
      if (to === undefined || !count) return;
      // The first press goes to the row where one is.
      if (!inside) to = active;
      moveTo(to);
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    if (active >= items.length && items.length) setActive(items.length - 1);
  }, [items.length]);

  if (empties) {
    if (pages.error) return <ErrorBox error={pages.error} retry={pages.reload} />;
    if (pages.loading) return <div class="timeline-loading"><Loading lines={9} what={label} /></div>;
    return <>{empty}</>;
  }
  const present = headingAt(lines, lineAt(tops, view.top));
  const reachable = active >= 0 && (lineOf[active] ?? 0) >= first && (lineOf[active] ?? 0) < last;
  let tabbable = reachable ? active : -1;
  return (
    <div class="timeline-box">
      <div ref={box} class="timeline-scroll">
        {present && <div class="timeline-present" aria-hidden="true"><div class="timeline-heading"><HeadingLine heading={present} newDay again /></div></div>}
        <div class="timeline-all" role="list" aria-label={label} style={{ height: `${total}px` }}>
          {lines.slice(first, last).map((line, offset) => {
            const style = { transform: `translateY(${tops[first + offset] ?? 0}px)` };
            if ("heading" in line) {
              return (
                <div key={`h ${line.heading.key} ${first + offset}`} role="listitem" class={cls("timeline-heading", line.newDay && "new-day")} style={style}>
                  <HeadingLine heading={line.heading} newDay={line.newDay} />
                </div>
              );
            }
            const key = keyOf(line.item);
            if (tabbable < 0) tabbable = line.index;
            return (
              <div
                key={key} role="listitem" aria-posinset={line.index + 1} aria-setsize={pages.more ? -1 : items.length}
                class={cls("timeline-row", key === selected && "selected", acts && "with-acts")} style={{ ...style, height: `${height}px` }}
              >
                <a
                  class="timeline-link" href={hrefOf(line.item)} data-index={line.index} data-id={key}
                  tabIndex={line.index === tabbable ? 0 : -1} onFocus={() => setActive(line.index)}
                >
                  {row(line.item)}
                </a>
                {acts && <span class="timeline-acts">{acts(line.item)}</span>}
              </div>
            );
          })}
        </div>
        {pages.error && <ErrorBox error={pages.error} retry={pages.loadMore} />}
        {pages.loading && <p class="timeline-more" role="status">Loading more…</p>}
        {!pages.more && !pages.error && <p class="timeline-more">That is all.</p>}
      </div>
    </div>
  );
}

function HeadingLine({ heading, newDay, again = false }: { heading: Heading; newDay: boolean; again?: boolean }) {
  return (
    <>
      <span class={newDay ? "timeline-day" : "hidden-text"}>{heading.day}</span>
      <span class="timeline-session">{heading.session(again)}</span>
    </>
  );
}

/** The line that a place lies in. */
function lineAt(tops: Float64Array, y: number): number {
  let [low, high] = [0, tops.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tops[middle] ?? 0) <= y) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function headingAt<T>(lines: readonly Line<T>[], from: number): Heading | null {
  for (let at = Math.min(from, lines.length - 1); at >= 0; at -= 1) {
    const line = lines[at];
    if (line && "heading" in line) return line.heading;
  }
  return null;
}
