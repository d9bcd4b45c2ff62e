/** Remove everything of a user for good, and keep the receipt. */
import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "../../lib/api";
import { createDeed, useDeed } from "../../lib/deeds";
import { ForgetTime } from "../../lib/forgetting";
import { forgetUser, identity, useDraft, useShownOnce, useStore, useUser } from "../../lib/store";
import { Button, CopyButton, ErrorBox, Field, Icon, Panel, Time, confirm, formatNumber } from "../../lib/ui";
import { dropActsOf } from "../changes-done";

interface Receipt {
  version: number;
  id: string;
  workspace: string;
  /** A digest. */
  user: string;
  at: string;
  removed: Record<string, number>;
  signature: string;
}

const ERASE_MS = 600_000;

const erasing = createDeed({ title: "The receipt of the erasure", view: "operations", params: { tab: "erase" } }, async (user: string) => {
  const receipt = await post<Receipt>("/v1/erase", { user_id: user }, { scoped: "workspace", timeoutMs: ERASE_MS });
  forgetUser(user);
  dropActsOf(user);
  return { user, receipt };
});

export function Erase() {
  const own = useStore(identity)?.user_id ?? null;
  const looking = useUser();
  const [typed, setTyped] = useDraft("erase.user", looking ?? "");
  const erase = useDeed(erasing);
  const user = own ?? typed.trim();
  // Asked before it is busy: nothing is being erased yet.
  const ask = async () => {
    const sure = await confirm({
      title: `Erase everything of ${user}?`, yes: "Erase for good", danger: true, type: user,
      words: (
        <p class="dialog-words">
          All that was said and all that was learned from it, with their keys and webhooks, is removed from the file at once. <strong>There is no undo.</strong> Backups and exports are files of their own and are not reached.
        </p>
      ),
    });
    if (sure && (await erase.run(user))) setTyped("");
  };
  return (
    <div class="stack operations-stack operations-erase">
      <Panel title="Erase a user">
        <form class="stack" onSubmit={(event) => { event.preventDefault(); void ask(); }}>
          <p class="muted">Forgetting hides one memory and can be undone for <ForgetTime />. Erasing removes everything of a user physically: turns, facts, notes, profile, graph, documents, vectors, history, keys. The store cannot be written to meanwhile, for some seconds.</p>
          {own === null ? (
            <Field label="User" hint="Exactly as your agent names them in user_id.">
              {(id) => <input id={id} class="input" value={typed} dir="auto" spellcheck={false} autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} />}
            </Field>
          ) : (
            <p>This key is of <strong dir="auto">{own}</strong>, who would be erased, this key with them.</p>
          )}
          {erase.error && <ErrorBox error={erase.error} />}
          <div class="row"><Button kind="danger" icon="trash" type="submit" busy={erase.busy} disabled={!user}>{erase.busy ? "Erasing…" : "Erase…"}</Button></div>
        </form>
      </Panel>
      {erase.result && <ReceiptPanel {...erase.result} onClose={erase.dismiss} />}
    </div>
  );
}

function ReceiptPanel({ user, receipt, onClose }: { user: string; receipt: Receipt; onClose: () => void }) {
  useShownOnce();
  const text = JSON.stringify(receipt, null, 2);
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), []);
  const removed = Object.entries(receipt.removed).filter(([, number]) => number > 0);
  return (
    <Panel
      title="Receipt"
      actions={
        <>
          <CopyButton text={text} />
          <a class="button small" href={address} download={`erasure-${receipt.id.slice(0, 8)}.json`}><Icon name="down" /><span class="button-text">Download</span></a>
          <Button small icon="check" onClick={onClose}>I have it</Button>
        </>
      }
    >
      <div ref={box} class="stack">
        <div class="operations-state good" role="status">
          <Icon name="check" />
          <div>
            <strong>Everything of <span dir="auto">{user}</span> is gone</strong>
            <p>{removed.length ? removed.map(([name, number]) => `${formatNumber(number)} ${name.replace(/_/g, " ")}`).join(", ") : "There was nothing of this user."}</p>
          </div>
        </div>
        <p class="notice warn"><Icon name="warning" /><span>Keep it outside of the store: it is shown now and not again. <code>holdfast erase --user NAME --verify receipt.json</code> checks it, also years later.</span></p>
        <dl class="facts">
          <dt>Receipt</dt><dd class="mono">{receipt.id}</dd>
          <dt>Erased</dt><dd><Time at={receipt.at} /></dd>
          <dt>User, as a digest</dt><dd class="mono">{receipt.user}</dd>
          <dt>Signature</dt><dd class="mono">{receipt.signature}</dd>
        </dl>
      </div>
    </Panel>
  );
}
