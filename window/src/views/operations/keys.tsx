/** The keys of the workspace: made, given another secret, revoked. A secret is shown once. */
import { useEffect, useState } from "preact/hooks";
import { del, get, newKey, part, post, useAction, useAnswer, type ApiError } from "../../lib/api";
import { createDeed, useDeed } from "../../lib/deeds";
import { identity, useDraft, useShownOnce, useStore } from "../../lib/store";
import { entryOf } from "../../lib/text";
import {
  Answered, Badge, Button, CopyButton, Dialog, Empty, ErrorBox, Field, Icon, IconButton, Panel, Segmented, Select, Switch, Time, confirm, formatShort, toast, type Tone,
} from "../../lib/ui";
import { Meter } from "./parts";

interface Key {
  id: string;
  workspace_id: string;
  user_id: string | null;
  role: "read" | "write" | "admin";
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  label: string | null;
  tools: string[] | null;
  tokens_a_day: number | null;
  tokens_today: number;
}

interface NewKey extends Key {
  key: string;
}

const ROLES: Record<Key["role"], Tone> = { read: "neutral", write: "accent", admin: "warn" };

const PLACE = { view: "operations", params: { tab: "keys" } };

const rotating = createDeed({ title: "The new secret of a key", ...PLACE }, (key: Key) =>
  post<NewKey>(`/v1/keys/${part(key.id)}/rotate`, {}, { scoped: false }));

/** A key as it is asked for. */
type Wanted = Pick<Key, "role" | "label" | "user_id" | "tokens_a_day" | "expires_at">;

const creating = createDeed({ title: "The secret of a new key", ...PLACE }, (wanted: Wanted) =>
  // Under a name of its own each time: sent by a browser twice it is made once; pressed again it is another one.
  post<NewKey>("/v1/keys", wanted, { scoped: "workspace", headers: { "idempotency-key": newKey() } }));

/** Whether it may have been done, though no answer came. */
const isLost = (error: ApiError | null) => error !== null && error.trouble !== "refused" && error.trouble !== "busy";

export function Keys() {
  const keys = useAnswer("keys", (signal) => get<{ keys: Key[] }>("/v1/keys", {}, { scoped: false, signal }));
  const me = useStore(identity)?.key_id;
  const [all, setAll] = useState(false);
  const [making, setMaking] = useState(false);
  const rotate = useDeed(rotating);
  const create = useDeed(creating);
  const made = rotate.result ?? create.result;
  // Asked before it is busy: nothing is done to it yet.
  const askToRotate = async (key: Key) => {
    const own = key.id === me;
    const sure = await confirm({
      title: `A new secret for ${nameOf(key)}?`, yes: "Rotate", danger: true,
      words: <p class="dialog-words">The secret it has opens nothing from then on, and cannot be brought back: whoever uses it needs the new one.{own && " It is the key you are signed in with: you will have to sign in again."}</p>,
    });
    if (!sure) return;
    if ((await rotate.run(key)) && !own) keys.reload();
  };
  const revoke = useAction(async (key: Key) => {
    const sure = await confirm({
      title: `Revoke ${nameOf(key)}?`, yes: "Revoke", danger: true,
      words: <p class="dialog-words">It opens nothing from the next request on. This cannot be undone; another key can be made.{key.id === me && " It is the key you are signed in with: you will be signed out."}</p>,
    });
    if (!sure) return;
    await del(`/v1/keys/${part(key.id)}`, {}, { scoped: false });
    toast(`${nameOf(key)} is revoked`);
    keys.reload();
  });
  const problem = rotate.error ?? revoke.error;
  return (
    <Panel
      flush title="Keys"
      actions={
        <>
          <Switch checked={all} onChange={setAll}>Revoked too</Switch>
          <Button small kind="primary" icon="plus" onClick={() => setMaking(true)}>New key</Button>
        </>
      }
    >
      {problem && <ErrorBox error={problem} />}
      {isLost(rotate.error) && <p class="notice warn"><Icon name="warning" /><span>The answer was lost. The key may have its new secret already: then the old one opens nothing. Rotate it again to see one that holds.</span></p>}
      <Answered answer={keys} what="Keys" lines={6}>
        {(found) => {
          const shown = found.keys.filter((each) => all || !isOver(each)).reverse();
          if (!shown.length) return <Empty icon="key" title="No key holds any more">Make one: who has it reaches the memory of this workspace.</Empty>;
          return (
            <ul class="operations-keys" aria-label="Keys">
              {shown.map((key) => (
                <KeyRow key={key.id} of={key} mine={key.id === me} busy={rotate.busy || revoke.busy} onRotate={() => void askToRotate(key)} onRevoke={() => revoke.run(key)} />
              ))}
            </ul>
          );
        }}
      </Answered>
      {making && <MakeKey onClose={() => setMaking(false)} onMade={() => { setMaking(false); keys.reload(); }} onLost={keys.reload} />}
      {made && <Secret made={made} onClose={() => { (rotate.result ? rotate : create).dismiss(); keys.reload(); }} />}
    </Panel>
  );
}

const nameOf = (key: Key) => (key.label ? `“${key.label}”` : `key ${key.id}`);
const isOver = (key: Key) => Boolean(key.revoked_at) || (key.expires_at !== null && new Date(key.expires_at) < new Date());

function KeyRow({ of: key, mine, busy, onRotate, onRevoke }: {
  of: Key; mine: boolean; busy: boolean; onRotate: () => void; onRevoke: () => void;
}) {
  const over = isOver(key);
  return (
    <li class="operations-key">
      <div class="operations-key-what">
        <p class="row">
          <strong class="truncate" dir="auto">{key.label ?? "without a label"}</strong>
          <Badge tone={entryOf(ROLES, key.role) ?? "neutral"}>{key.role === "admin" && key.user_id === null ? "operator" : key.role}</Badge>
          {mine && <Badge tone="accent">yours</Badge>}
          {key.revoked_at ? <Badge tone="bad">revoked</Badge> : over && <Badge tone="bad">expired</Badge>}
        </p>
        <p class="muted operations-small">
          <span class="mono">{key.id}</span> · <span dir="auto">{key.user_id ?? "all users"}</span> · made <Time at={key.created_at} as="date" />
          {key.revoked_at && <> · revoked <Time at={key.revoked_at} as="ago" /></>}
          {key.expires_at && !key.revoked_at && <> · {over ? "expired" : "expires"} <Time at={key.expires_at} as="date" /></>}
          {key.tools && <> · tools: {key.tools.join(", ")}</>}
        </p>
        {(key.tokens_a_day !== null || key.tokens_today > 0) && !over && (
          <Meter title="Tokens today" used={key.tokens_today} limit={key.tokens_a_day ?? 0} show={formatShort} />
        )}
      </div>
      {!over && (
        <div class="row operations-key-acts">
          <Button small icon="refresh" disabled={busy} aria-label={`Rotate ${nameOf(key)}`} onClick={onRotate}>Rotate</Button>
          <IconButton small icon="trash" disabled={busy} label={`Revoke ${nameOf(key)}`} onClick={onRevoke} />
        </div>
      )}
    </li>
  );
}

const ENDS = [
  { value: "", title: "Never" }, { value: "1", title: "After a day" }, { value: "30", title: "After 30 days" }, { value: "365", title: "After a year" },
];

function MakeKey({ onClose, onMade, onLost }: { onClose: () => void; onMade: () => void; onLost: () => void }) {
  const [label, setLabel, dropLabel] = useDraft("key.label");
  const [user, setUser, dropUser] = useDraft("key.user");
  const [role, setRole] = useState<Key["role"]>("write");
  const [days, setDays] = useState("");
  const [tokens, setTokens] = useState("");
  const make = useDeed(creating);
  // What went wrong in a dialog before is not told in this one.
  useEffect(() => make.clear(), []);
  const submit = async () => {
    const made = await make.run({
      role, label: label.trim() || null, user_id: user.trim() || null, tokens_a_day: tokens ? Number(tokens) : null,
      expires_at: days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null,
    });
    if (!made) {
      if (isLost(creating.state.get().error)) onLost();
      return;
    }
    dropLabel();
    dropUser();
    onMade();
  };
  const field = make.error?.field;
  const wrong = (name: string) => (field === name ? make.error?.message : undefined);
  return (
    <Dialog
      title="New key" onClose={onClose}
      footer={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" icon="key" busy={make.busy} onClick={() => void submit()}>Make the key</Button></>}
    >
      <form class="stack" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
        <Field label="Label" hint="For whom or what it is: laptop, nightly import." error={wrong("label")}>
          {(id) => <input id={id} class="input" value={label} dir="auto" autocomplete="off" onInput={(event) => setLabel(event.currentTarget.value)} />}
        </Field>
        <Field label="User" hint="Empty: all users of the workspace." error={wrong("user_id")}>
          {(id) => <input id={id} class="input" value={user} dir="auto" autocomplete="off" spellcheck={false} onInput={(event) => setUser(event.currentTarget.value)} />}
        </Field>
        <div class="field">
          <span class="operations-label">May</span>
          <Segmented label="Role" value={role} onChange={setRole} options={[{ value: "read", title: "Read" }, { value: "write", title: "Write" }, { value: "admin", title: "Admin" }]} />
          <p class="field-hint">{role === "read" ? "See and ask." : role === "write" ? "Also store, correct and forget." : user.trim() ? "Also erase this user." : "All of it: keys, audit log, erasure. For people, not for agents."}</p>
        </div>
        <div class="operations-pair">
          <Field label="Ends" error={wrong("expires_at")}>{(id) => <Select id={id} value={days} onChange={setDays} options={ENDS} />}</Field>
          <Field label="Model tokens a day" hint="Empty: what the service allows." error={wrong("tokens_a_day")}>
            {(id) => <input id={id} class="input" type="number" min={1} value={tokens} onInput={(event) => setTokens(event.currentTarget.value)} />}
          </Field>
        </div>
        {make.error && !["label", "user_id", "expires_at", "tokens_a_day"].includes(field ?? "") && <ErrorBox error={make.error} />}
        {isLost(make.error) && <p class="notice warn"><Icon name="warning" /><span>The answer was lost, so the key may exist without anybody having its secret. Pressing again makes another one; the first, if it is in the list, can be revoked there.</span></p>}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
}

function Secret({ made, onClose }: { made: NewKey; onClose: () => void }) {
  useShownOnce();
  return (
    <Dialog title="Copy the key now" stubborn onClose={onClose} footer={<Button kind="primary" onClick={onClose}>I have it</Button>}>
      <p class="notice warn"><Icon name="warning" /><span>It is shown this once. The store keeps only a digest: nobody can tell it to you again.</span></p>
      <div class="operations-secret">
        <code aria-label="The key">{made.key}</code>
        <CopyButton text={made.key} />
      </div>
      <p class="muted">{made.label && <><strong dir="auto">{made.label}</strong> · </>}{made.role} · <span dir="auto">{made.user_id ?? "all users"}</span></p>
    </Dialog>
  );
}
