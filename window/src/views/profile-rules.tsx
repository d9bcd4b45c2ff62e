/** Standing instructions: with their condition, since when, from which words; switched off and on, edited, added. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, asApiError, del, get, isAbort, newKey, part, post, useAction, type Options } from "../lib/api";
import { ForgetTime } from "../lib/forgetting";
import { href, useDraft, useParam, useRights, useUser } from "../lib/store";
import { Badge, Button, Dialog, Empty, ErrorBox, Field, IconButton, Loading, Prose, SearchBox, Switch, Time, cls, confirm, formatPercent, toast } from "../lib/ui";
import { usePages } from "../lib/virtual";
import { done, takeBack, useActs, whose, type Act, type Call } from "./changes-done";
import { restore, type Forgotten } from "./memory";
import { CERTAIN, Sources, useSteady, type Fact, type Memory } from "./changes-facts";

const PAGE = 100;
const MOST_FORGOTTEN = 1_000;

export function Rules() {
  const user = useUser() ?? "";
  const { write } = useRights();
  const [search, setSearch] = useParam("q");
  const pages = useSteady(usePages<Memory>("/v1/memories", "memories", { tiers: ["procedure"], kind: "instruction" }, user, { limit: PAGE }));
  const [editing, setEditing] = useState<Memory | "new" | null>(null);
  const off = useSwitchedOff(user);
  const sought = search.trim().toLowerCase();
  const shown = pages.items.filter((each) => !sought || each.content.toLowerCase().includes(sought));
  const loading = !pages.items.length && pages.loading;
  return (
    <>
      <div class="changes-bar">
        <SearchBox label="Search in instructions" value={search} onInput={setSearch} />
        {write && <Button class="profile-add" icon="plus" onClick={() => setEditing("new")}>Add an instruction</Button>}
      </div>
      {pages.error && <ErrorBox error={pages.error} retry={pages.items.length ? pages.loadMore : pages.reload} />}
      {loading && <Loading lines={6} what="Instructions" />}
      {!loading && !pages.error && !pages.items.length && !off.acts.length && !off.others.length && (
        <Empty icon="profile" title="No standing instructions" action={write && <Button kind="primary" icon="plus" onClick={() => setEditing("new")}>Add an instruction</Button>}>
          They are recognised in what the user says: “Always cite sources when I ask about history”. Every answer follows them. Those that ended are under <a href={href("changes", { tab: "rules" })}>What changed</a>.
        </Empty>
      )}
      {!loading && pages.items.length > 0 && !shown.length && <Empty icon="filter" title="None of these" action={<Button onClick={() => setSearch(null)}>Show all</Button>}>No instruction has “{search.slice(0, 60)}” in it.</Empty>}
      {shown.length > 0 && (
        <ul class="profile-rules" aria-label="Standing instructions">
          {shown.map((each) => <RuleRow key={each.id} rule={each} write={write} onEdit={setEditing} />)}
        </ul>
      )}
      {pages.more && pages.items.length > 0 && <Button class="profile-show-more" busy={pages.loading} onClick={pages.loadMore}>Show more</Button>}
      {(off.acts.length > 0 || off.others.length > 0) && (
        <section class="profile-rules-off" aria-label="Switched off">
          <h2>Switched off</h2>
          <p class="muted">Forgotten for now. They can be switched on for <ForgetTime />, then they are wiped. What was switched off in this tab is shown with its words until you sign out; the words of the others are withheld.</p>
          <ul class="profile-rules">
            {off.acts.map((each) => <OffRow key={each.id} act={each} write={write} />)}
            {off.others.map((each) => <WithheldRow key={each.id} rule={each} write={write} />)}
          </ul>
        </section>
      )}
      {off.error && <ErrorBox title="What is switched off could not be read" error={off.error} retry={off.reload} />}
      {editing !== null && <EditRule known={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
    </>
  );
}

/** Rules that are forgotten: those that this tab knows the words of, and the others that the server has. */
function useSwitchedOff(user: string) {
  const known = useActs().filter((each) => each.rule);
  const pages = useSteady(usePages<Forgotten>("/v1/memories/forgotten", "forgotten", {}, user, { limit: MOST_FORGOTTEN }));
  const gone = pages.items.filter((each) => each.tier === "procedure" && each.kind === "instruction");
  // One that came back in some other way is off no longer.
  const told = !pages.loading && !pages.more && !pages.error;
  const acts = known.filter((act) => !told || gone.some((each) => each.id === act.rule));
  const others = gone.filter((each) => !known.some((act) => act.rule === each.id));
  return { acts, others, error: pages.error, reload: pages.reload };
}

const conditionOf = (rule: Memory): string => (typeof rule.metadata["condition"] === "string" ? rule.metadata["condition"] : "");

function RuleRow({ rule, write, onEdit }: { rule: Memory; write: boolean; onEdit: (rule: Memory) => void }) {
  const off = useAction(async () => {
    const of = whose();
    const sure = await confirm({
      title: "Switch this instruction off?", yes: "Switch off", danger: true,
      words: (
        <>
          <Prose text={rule.content} lines={6} />
          <p class="dialog-words">It is forgotten: no answer follows it any more, and a rule that it had replaced may hold again. You can switch it on again for <ForgetTime />; then it is wiped. What was said stays in the timeline.</p>
        </>
      ),
    });
    if (!sure) return;
    await del(`/v1/memories/${part(rule.id)}`, {}, of);
    done("The instruction was switched off", {
      ...of, text: rule.content, rule: rule.id, undo: [{ method: "POST", path: `/v1/memories/${part(rule.id)}/restore` }],
    });
  });
  const condition = conditionOf(rule);
  const short = rule.content.slice(0, 60);
  return (
    <li class="profile-rule">
      {write && (
        <Switch checked={!off.busy} disabled={off.busy} onChange={() => off.run()}>
          <span class="hidden-text">Follow: {short}</span>
        </Switch>
      )}
      <div class="profile-rule-words">
        <Prose text={rule.content} lines={5} />
        <div class="changes-side-meta">
          {condition && <span class="profile-rule-condition"><span class="profile-rule-when">condition</span> <span dir="auto">{condition}</span></span>}
          <span>since <Time at={rule.created_at} as="date" /></span>
          {rule.agent && <Badge title="Given to this agent"><bdi>{rule.agent}</bdi></Badge>}
          {rule.confidence < CERTAIN && <Badge tone={rule.confidence < 0.7 ? "warn" : "neutral"} title="How sure the reader is that this is a rule">{formatPercent(rule.confidence)} sure</Badge>}
          <Sources ids={rule.sources} of={rule.content} />
        </div>
        {off.error && <ErrorBox error={off.error} />}
      </div>
      {write && <IconButton small icon="edit" label={`Edit: ${short}`} onClick={() => onEdit(rule)} />}
    </li>
  );
}

function OffRow({ act, write }: { act: Act; write: boolean }) {
  const on = useAction(takeBack);
  return (
    <li class={cls("profile-rule", "off")}>
      {write && (
        <Switch checked={on.busy} disabled={on.busy} onChange={() => on.run(act)}>
          <span class="hidden-text">Follow: {act.text.slice(0, 60)}</span>
        </Switch>
      )}
      <div class="profile-rule-words">
        <Prose text={act.text} lines={5} />
        <div class="changes-side-meta"><span>off since <Time at={act.at} /></span></div>
        {on.error && <ErrorBox error={on.error} />}
      </div>
    </li>
  );
}

function WithheldRow({ rule, write }: { rule: Forgotten; write: boolean }) {
  const on = useAction(() => restore(rule.id));
  return (
    <li class={cls("profile-rule", "off")}>
      {write && (
        <Switch checked={on.busy} disabled={on.busy} onChange={() => on.run()}>
          <span class="hidden-text">Follow the instruction of <Time at={rule.created_at} as="date" /> again</span>
        </Switch>
      )}
      <div class="profile-rule-words">
        <p class="muted">Text withheld, forgotten on <Time at={rule.forgotten_at} as="date" /></p>
        <div class="changes-side-meta"><span>of <Time at={rule.created_at} as="date" /></span><span>wiped after <Time at={rule.until} as="date" /></span></div>
        {on.error && <ErrorBox error={on.error} />}
      </div>
    </li>
  );
}

const PAUSE_MS = 800;
const LONGEST_MS = 60_000;

/**
 * A rule as the user says it: only what a user says in a turn can become one. It is recognised at
 * once by its wording, else a moment later by the model that reads. What is taken for a part of a
 * text that was handed over is confirmed: whoever types here means it. What comes to nothing, or is
 * no longer wanted, is taken back: nothing of it stays.
 */
async function giveRule(text: string, agent: string | null, of: Options, sent: Sent, signal: AbortSignal): Promise<{ turn: string; rule: string }> {
  const body = { messages: [{ role: "user", content: text }], session_id: "window", ...(agent ? { agent_id: agent } : {}) };
  const user = of.user ?? "";
  if (sent.text !== text || sent.user !== user) Object.assign(sent, { text, user, key: newKey() });
  // Not aborted: what is on its way may be stored, and is taken back when its id is known.
  const receipt = await post<{ events: string[] }>("/v1/memories", body, { ...of, headers: { "idempotency-key": sent.key } });
  const turn = receipt.events[0] ?? "";
  const takeBackTurn = async () => {
    await del(`/v1/memories/${part(turn)}`, {}, of);
    sent.text = ""; // The next is another one.
  };
  let rule: string | null;
  try {
    rule = await ruleOf(turn, of, signal);
    signal.throwIfAborted();
  } catch (error) {
    if (isAbort(error)) await takeBackTurn();
    throw error; // Else the same words go on with the same turn.
  }
  if (rule) return { turn, rule };
  await takeBackTurn();
  throw new ApiError("This was not understood as a rule, and nothing was kept of it. Say it as an order, such as “Always …”, “Never …” or “When I ask for …, …”.", "refused", 422);
}

/** What was sent last, and by which key: sent again, it is stored once, also when the dialog was closed meanwhile. */
interface Sent {
  text: string;
  user: string;
  key: string;
}

const lastSent: Sent = { text: "", user: "", key: "" };

/** The rule that a turn gave, as soon as it is read; null: it gave none. */
async function ruleOf(turn: string, of: Options, signal: AbortSignal): Promise<string | null> {
  const reads = { ...of, signal };
  for (const began = Date.now(); Date.now() - began < LONGEST_MS; await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))) {
    const { state } = await get<{ state: string }>(`/v1/events/${part(turn)}`, {}, reads);
    const { memories } = await get<{ memories: Memory[] }>("/v1/memories", { tiers: ["procedure"], limit: 100 }, reads);
    const own = memories.filter((each) => each.sources.includes(turn));
    const rule = own.find((each) => each.kind === "instruction");
    if (rule) return rule.id;
    const asked = own.find((each) => each.kind === "doubtful");
    if (asked) return (await post<Fact>(`/v1/clarifications/${part(asked.id)}/answer`, { keep: "new" }, of)).id;
    if (state === "done" || state === "failed" || state === "dead") break;
  }
  return null;
}

function EditRule({ known, onClose }: { known: Memory | null; onClose: () => void }) {
  const [text, setText, clear] = useDraft(`rule.${known?.id ?? "new"}`, known?.content ?? "");
  const stop = useRef<AbortController | null>(null);
  // Closed in whatever way: what is being read is not wanted.
  useEffect(() => () => stop.current?.abort(), []);
  const save = useAction(async () => {
    const of = whose();
    const { signal } = (stop.current = new AbortController());
    const { turn, rule } = await giveRule(text.trim(), known?.agent ?? null, of, lastSent, signal).catch((error: unknown) => {
      if (isAbort(error)) toast("Cancelled: nothing was kept of the instruction.");
      else if (signal.aborted) toast(`The instruction may have been kept. ${asApiError(error).message}`, "bad");
      throw error;
    });
    stop.current = null; // From here on it is done, not read.
    const undo: Call[] = [{ method: "DELETE", path: `/v1/memories/${part(turn)}` }];
    if (known && known.id !== rule) {
      const old = await get<Memory>(`/v1/memories/${part(known.id)}`, {}, of);
      if (old.valid_to === null && old.known_to === null) {
        // The new words do not end the old rule by themselves.
        await del(`/v1/memories/${part(known.id)}`, {}, of);
        undo.push({ method: "POST", path: `/v1/memories/${part(known.id)}/restore` });
      }
    }
    lastSent.text = ""; // The same words again are another one.
    clear();
    onClose();
    done(known ? "The instruction has new words" : "The instruction was added", {
      ...of, text: text.trim(), undo, note: known ? "Undo forgets the new words; those before hold again." : "",
    });
  });
  const same = !text.trim() || text.trim() === known?.content;
  return (
    <Dialog
      title={known ? "Edit the instruction" : "Add an instruction"} onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={save.busy} disabled={same} onClick={() => save.run()}>{known ? "Replace" : "Add"}</Button>
        </>
      }
    >
      <Field
        label="In the user’s words"
        hint={known ? "Stored as something the user says now; the present rule ends." : "As an order, with its condition if there is one: “Always cite sources when I ask about history”. It is stored as something the user says now."}
      >
        {(id) => <textarea id={id} class="input" rows={3} dir="auto" value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      </Field>
      {save.busy && <p class="muted" role="status">Reading it… Cancel keeps nothing of it.</p>}
      {save.error && <ErrorBox error={save.error} />}
    </Dialog>
  );
}
