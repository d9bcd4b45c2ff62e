/** Names that were taken for one entity: why, by hand, and parting them again. */
import { useState } from "preact/hooks";
import { newKey, post, useAction } from "../../lib/api";
import { useDraft, useRights, useUser } from "../../lib/store";
import { Badge, Button, Dialog, Empty, ErrorBox, Switch, Time, confirm, formatPercent, toast } from "../../lib/ui";
import { VirtualList, usePages } from "../../lib/virtual";
import { type Entity, type Merge, type Net } from "./model";
import { Dot, PickEntity, typeWords } from "./pick";

/** Ask, part, tell; undefined when it was not done. */
export function useUnmerge(onDone: () => void) {
  return useAction(async (merge: Merge) => {
    const yes = await confirm({
      title: `Part “${merge.merged_name}” and “${merge.into_name}”?`, yes: "Part them",
      words: "Both stand as if they had never been one, and likeness does not join them again. You can merge them by hand later.",
    });
    if (!yes) return;
    await post(`/v1/graph/merges/${merge.id}/undo`);
    toast(`${merge.merged_name} and ${merge.into_name} are two again`);
    onDone();
  });
}

/** Why two names are taken for one. */
export function Evidence({ merge }: { merge: Merge }) {
  return (
    <ul class="graph-evidence" aria-label="What spoke for it">
      {merge.evidence.map((each) => <li key={each}><Badge>{each}</Badge></li>)}
      <li class="muted">likeness {formatPercent(merge.score)}</li>
    </ul>
  );
}

export function MergeWords({ merge }: { merge: Merge }) {
  return (
    <p class="graph-merge-words">
      <strong dir="auto">{merge.merged_name}</strong> <span class="muted">is taken for</span> <strong dir="auto">{merge.into_name}</strong>
    </p>
  );
}

export function MergesDialog({ onClose, onChange }: { onClose: () => void; onChange: () => void }) {
  const user = useUser();
  const { write } = useRights();
  const [undone, setUndone] = useState(false);
  const pages = usePages<Merge>("/v1/graph/merges", "merges", { undone }, user ?? "");
  const part = useUnmerge(() => {
    pages.reload();
    onChange();
  });
  return (
    <Dialog title="Names taken for one" side onClose={onClose}>
      <p class="muted">Names that are alike enough are taken for one entity. Here is what spoke for it; part what is wrong.</p>
      <Switch checked={undone} onChange={setUndone}>Also those that were parted again</Switch>
      {part.error && <ErrorBox error={part.error} />}
      <div class="graph-merges">
        <VirtualList
          items={pages.items} pages={pages} keyOf={(each) => each.id} label="Merges" estimate={96}
          empty={<Empty icon="graph" title="Nothing was merged">Every name stands for itself.</Empty>}
          row={(each) => (
            <div class="graph-merge">
              <MergeWords merge={each} />
              <Evidence merge={each} />
              <div class="spread">
                <span class="muted"><Time at={each.at} as="date" />{each.undone_at && <> · parted <Time at={each.undone_at} as="date" /></>}</span>
                {write && !each.undone_at && (
                  <Button small icon="undo" busy={part.busy} aria-label={`Part ${each.merged_name} and ${each.into_name}`} onClick={() => part.run(each)}>Part again</Button>
                )}
              </div>
            </div>
          )}
        />
      </div>
    </Dialog>
  );
}

/** Take an entity and another for one. */
export function MergeDialog({ entity, net, onClose, onDone }: {
  entity: Entity; net: Net; onClose: () => void; onDone: (merge: Merge) => void;
}) {
  const [text, setText, clear] = useDraft(`graph.merge.${entity.id}`);
  const [other, setOther] = useState<string | null>(null);
  const [once] = useState(newKey);
  const chosen = other === null ? null : net.nodes.get(other) ?? null;
  const merge = useAction(async () => {
    // A name that is not drawn here may be known all the same.
    const done = await post<Merge>("/v1/graph/merges", { a: entity.id, b: chosen?.id ?? text.trim() }, { once });
    clear();
    toast(`${done.merged_name} is shown as ${done.into_name}`);
    onDone(done);
  });
  return (
    <Dialog
      title="Merge two entities" onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={merge.busy} disabled={!chosen && !text.trim()} onClick={() => merge.run()}>Merge</Button>
        </>
      }
    >
      <p>
        <strong dir="auto">{entity.name}</strong> <span class="muted">and the one that you name here are the same.</span>
      </p>
      <PickEntity
        net={net} label="The other entity" text={text} except={entity.id} autofocus onPick={setOther}
        onText={(next) => { setText(next); setOther(null); merge.clear(); }}
      />
      {chosen && (
        <div class="graph-sides">
          {[entity, chosen].map((each) => (
            <div key={each.id} class="graph-side">
              <p class="graph-name"><Dot type={each.type} /><strong dir="auto">{each.name}</strong></p>
              <p class="muted">{typeWords(each)}{each.aliases.length > 0 && <>, also <span dir="auto">{each.aliases.join(", ")}</span></>}</p>
              <ul>{(net.at.get(each.id) ?? []).slice(0, 4).map((edge) => <li key={edge.id} dir="auto">{edge.content}</li>)}</ul>
              <p class="muted">Relations: {net.degree(each.id)}. Turns: {each.sources.length}.</p>
            </div>
          ))}
        </div>
      )}
      <p class="field-hint">The fuller name is shown, the other becomes an alias. Nothing is lost: part them again at any time under Merges.</p>
      {merge.error && <ErrorBox error={merge.error} />}
    </Dialog>
  );
}
