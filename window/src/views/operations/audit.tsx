/** Who did what to which id, the newest first, and whether the chain of hashes holds. */
import { get, useAction } from "../../lib/api";
import { useState } from "preact/hooks";
import { entryOf } from "../../lib/text";
import { Badge, Button, CopyButton, Empty, ErrorBox, Icon, Panel, Segmented, Time, formatNumber, type Tone } from "../../lib/ui";
import { VirtualList, usePages } from "../../lib/virtual";

interface AuditLine {
  seq: number;
  at: string;
  actor: string;
  action: string;
  outcome: string;
  user_digest: string | null;
  subject: string | null;
  hash: string;
}

interface Verified {
  ok: boolean;
  broken_at: number | null;
  lines: number;
  head: string | null;
}

const TONES: Record<string, Tone> = { done: "good", refused: "bad", denied: "bad", failed: "warn" };

export function Audit() {
  const [order, setOrder] = useState<"desc" | "asc">("desc");
  const lines = usePages<AuditLine>("/v1/audit", "lines", { order }, "", { scoped: false, limit: 200 });
  const [found, setFound] = useState<Verified | null>(null);
  const verify = useAction(async () => {
    setFound(null);
    setFound(await get<Verified>("/v1/audit/verify", {}, { scoped: false, timeoutMs: 120_000 }));
  });
  return (
    <div class="stack operations-stack">
      <Panel title="Is the log whole?" actions={<Button small icon="check" busy={verify.busy} onClick={() => verify.run()}>Verify the chain</Button>}>
        {verify.error && <ErrorBox error={verify.error} retry={() => void verify.run()} />}
        {!found && !verify.error && <p class="muted">Each line holds the hash of the one before. Verifying computes all of them again: a line that was changed or taken out is found.</p>}
        {found && <Verdict found={found} />}
      </Panel>
      <Panel
        flush title="Audit log"
        actions={
          <>
            <Segmented label="Order" value={order} onChange={setOrder} options={[{ value: "desc", title: "Newest" }, { value: "asc", title: "Oldest" }]} />
            <Button small kind="quiet" icon="refresh" onClick={lines.reload}>Look again</Button>
          </>
        }
      >
        <div class="operations-list tall">
          <VirtualList
            items={lines.items} pages={lines} label="Audit lines" keyOf={(each) => String(each.seq)} estimate={46}
            row={(each) => <AuditRow line={each} />}
            empty={<Empty icon="timeline" title="Nothing was noted yet">What changes, shares, exports or erases something, and what is refused, is noted here with the key that did it: never a name and never a word of a memory.</Empty>}
          />
        </div>
      </Panel>
    </div>
  );
}

function Verdict({ found }: { found: Verified }) {
  return (
    <div class={`operations-state ${found.ok ? "good" : "bad"}`} role="status">
      <Icon name={found.ok ? "check" : "warning"} />
      <div>
        <strong>{found.ok ? `The chain holds: ${formatNumber(found.lines)} lines` : `The chain is broken at line ${found.broken_at}`}</strong>
        {!found.ok && <p>Somebody changed the file, or a row is damaged. Compare with a backup.</p>}
        {found.head && <p class="operations-hash">Newest hash, worth keeping elsewhere: <code>{found.head}</code> <CopyButton text={found.head} /></p>}
      </div>
    </div>
  );
}

function AuditRow({ line }: { line: AuditLine }) {
  return (
    <div class="operations-audit">
      <span class="muted num operations-seq">{line.seq}</span>
      <span class="num"><Time at={line.at} /></span>
      <strong class="truncate">{line.action}</strong>
      <Badge tone={entryOf(TONES, line.outcome) ?? "neutral"}>{line.outcome}</Badge>
      <span class="muted truncate operations-who">
        by <span class="mono">{line.actor}</span>
        {line.subject && <> on <span class="mono" title={line.subject}>{line.subject.slice(-12)}</span></>}
        {line.user_digest && <> of user <span class="mono" title={line.user_digest}>{line.user_digest.slice(0, 8)}</span></>}
      </span>
    </div>
  );
}
