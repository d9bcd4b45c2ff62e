/** The day whose graph is shown. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useState } from "preact/hooks";
import { get, part, restMs, useAnswer } from "../../lib/api";
import { Button, formatDate } from "../../lib/ui";
import type { Entity, Net } from "./model";

const DAY_MS = 86_400_000;

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

export function TimeBar({ user, net, day, onDay, busy, children }: {
  user: string | null; net: Net; day: string; onDay: (day: string | null) => void; busy: boolean; children: ComponentChildren;
}) {
  const id = useId();
  const today = useMemo(() => Math.floor(Date.now() / DAY_MS), []);
  // The entity that was learned first has nearly always the first day; a relation may be older.
  const eldest = useAnswer(`${user}`, async (signal) => {
    const { entities: [first] } = await get<{ entities: Entity[] }>("/v1/graph/entities", { limit: 1, faded: true }, { signal });
    if (!first) return null;
    return (await get<{ created_at: string }>(`/v1/memories/${part(first.id)}`, {}, { signal })).created_at;
  });
  const [begin, setBegin] = useState(today);
  useEffect(() => {
    const times = [...net.edges.values()].flatMap((each) => (each.valid_from ? [Date.parse(each.valid_from)] : []));
    if (eldest.data) times.push(Date.parse(eldest.data));
    if (day) times.push(Date.parse(day));
    const first = times.reduce((least, each) => Math.min(least, each), Infinity);
    if (Number.isFinite(first)) setBegin((before) => Math.min(before, Math.floor(first / DAY_MS)));
  }, [net, eldest.data]);
  const [held, setHeld] = useState<number | null>(null);
  useEffect(() => {
    if (held === null) return;
    const timer = setTimeout(() => {
      setHeld(null);
      onDay(held >= today ? null : dayOf(held * DAY_MS));
    }, restMs(busy));
    return () => clearTimeout(timer);
  }, [held]);
  const value = held ?? (day ? Math.floor(Date.parse(day) / DAY_MS) : today);
  const words = value >= today ? "now" : formatDate(dayOf(value * DAY_MS));
  return (
    <div class="graph-time">
      <label for={id}>As of</label>
      <input
        id={id} type="range" min={begin - 1} max={today} step={1} value={value} aria-valuetext={words} disabled={begin >= today}
        onInput={(event) => setHeld(Number(event.currentTarget.value))}
      />
      <output for={id} class="graph-words" aria-busy={busy}>{words}</output>
      <input
        type="date" class="input graph-day" aria-label="Day" value={value >= today ? "" : dayOf(value * DAY_MS)} max={dayOf(today * DAY_MS)}
        onChange={(event) => /^\d{4}-\d\d-\d\d$/.test(event.currentTarget.value) && onDay(event.currentTarget.value)}
      />
      {day && <Button small icon="undo" onClick={() => onDay(null)}>Now</Button>}
      {children}
    </div>
  );
}
