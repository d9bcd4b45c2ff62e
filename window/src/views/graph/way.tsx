/** The path between two entities, in words. */
import { useEffect, useState } from "preact/hooks";
import type { Answer } from "../../lib/api";
import { Button, ErrorBox, IconButton, formatNumber } from "../../lib/ui";
import { MOST_AROUND, type Found, type Net } from "./model";
import { PickEntity } from "./pick";

export function WayPanel({ net, from, to, onFrom, onTo, found, onSelect, onClose }: {
  net: Net; from: string; to: string; onFrom: (id: string | null) => void; onTo: (id: string | null) => void;
  found: Answer<Found>; onSelect: (id: string) => void; onClose: () => void;
}) {
  const steps = found.data;
  const name = (id: string) => net.nodes.get(id)?.name ?? "";
  const [first, setFirst] = useState(name(from));
  const [second, setSecond] = useState(name(to));
  useEffect(() => { if (from) setFirst(name(from)); }, [from, net]);
  useEffect(() => { if (to) setSecond(name(to)); }, [to, net]);
  return (
    <section class="graph-way" aria-label="Path between two">
      <div class="graph-way-ends">
        <PickEntity net={net} label="From" text={first} except={to || null} onPick={onFrom} autofocus={!from} onText={(text) => { setFirst(text); if (from) onFrom(null); }} />
        <span aria-hidden="true" class="muted">→</span>
        <PickEntity net={net} label="To" text={second} except={from || null} onPick={onTo} autofocus={Boolean(from)} onText={(text) => { setSecond(text); if (to) onTo(null); }} />
        <IconButton icon="changes" label="Turn the path around" disabled={!from || !to} onClick={() => { onFrom(to); onTo(from); }} />
        <IconButton icon="close" label="Close the path" onClick={onClose} />
      </div>
      <div aria-live="polite">
        {!to && <p class="muted">Name both ends, or click the other one in the picture.</p>}
        {found.loading && <p class="muted">Looking for a path…</p>}
        {found.error && <ErrorBox error={found.error} retry={found.reload} />}
        {steps === "none" && <p>No path leads from <strong dir="auto">{name(from)}</strong> to <strong dir="auto">{name(to)}</strong> within five steps.</p>}
        {steps === "unknown" && (
          <p>
            No path from <strong dir="auto">{name(from)}</strong> to <strong dir="auto">{name(to)}</strong> was found among the{" "}
            {formatNumber(MOST_AROUND)} entities nearest to the first. There are more within five steps: one of them may lead there.
          </p>
        )}
        {Array.isArray(steps) && (
          <>
            <p class="muted">{steps.length === 1 ? "One step:" : `${steps.length} steps:`}</p>
            <ol class="graph-steps">
              {steps.map((each) => (
                <li key={each.edge.id}>
                  <span dir="auto">{each.edge.content}</span>
                  <Button small kind="quiet" aria-label={`About ${name(each.to)}`} onClick={() => onSelect(each.to)}>{name(each.to)}</Button>
                </li>
              ))}
            </ol>
          </>
        )}
      </div>
    </section>
  );
}
