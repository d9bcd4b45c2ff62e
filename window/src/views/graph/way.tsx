/** The path between two entities, in words. */
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../../lib/api";
import { Button, ErrorBox, IconButton } from "../../lib/ui";
import type { Net, Step } from "./model";
import { PickEntity } from "./pick";

export function WayPanel({ net, from, to, onFrom, onTo, steps, busy, error, retry, onSelect, onClose }: {
  net: Net; from: string; to: string; onFrom: (id: string | null) => void; onTo: (id: string | null) => void;
  steps: Step[] | "none" | null; busy: boolean; error: ApiError | null; retry: () => void; onSelect: (id: string) => void; onClose: () => void;
}) {
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
        {busy && <p class="muted">Looking for a path…</p>}
        {error && <ErrorBox error={error} retry={retry} />}
        {steps === "none" && <p>No path leads from <strong dir="auto">{name(from)}</strong> to <strong dir="auto">{name(to)}</strong> within five steps.</p>}
        {Array.isArray(steps) && from && to && (
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
