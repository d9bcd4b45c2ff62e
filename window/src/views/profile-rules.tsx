/** Standing instructions: with their condition, since when, from which words; switched off and on, edited, added. */
import { useState } from "preact/hooks";
import { ApiError, del, get, part, post, useAction, type Options } from "../lib/api";
import { currentUser, href, useDraft, useParam, useRights, useUser } from "../lib/store";
import { Badge, Button, Dialog, Empty, ErrorBox, Field, IconButton, Loading, Prose, SearchBox, Switch, Time, cls, confirm, formatPercent } from "../lib/ui";
import { usePages } from "../lib/virtual";
import { done, takeBack, useActs, type Act, type Call } from "./changes-done";
import { CERTAIN, Sources, useSteady, type Fact, type Memory } from "./changes-facts";

const PAGE = 100;

export function Rules() {
  const user = useUser() ?? "";
  const { write } = useRights();
  const [search, setSearch] = useParam("q");
  const pages = useSteady(usePages<Memory>("/v1/memories", "memories", { tiers: ["procedure"], kind: "instruction" }, user, { limit: PAGE }));
  const [editing, setEditing] = useState<Memory | "new" | null>(null);
  const off = useActs().filter((each) => each.rule);
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
      {!loading && !pages.error && !pages.items.length && !off.length && (
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
      {off.length > 0 && (
        <section class="profile-rules-off" aria-label="Switched off">
          <h2>Switched off</h2>
          <p class="muted">Forgotten for now and shown only in this tab, until you sign out. They can be switched on for 30 days, then they are wiped.</p>
          <ul class="profile-rules">{off.map((each) => <OffRow key={each.id} act={each} write={write} />)}</ul>
        </section>
      )}
      {editing !== null && <EditRule known={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
    </>
  );
}

const conditionOf = (rule: Memory): string => (typeof rule.metadata["condition"] === "string" ? rule.metadata["condition"] : "");

function RuleRow({ rule, write, onEdit }: { rule: Memory; write: boolean; onEdit: (rule: Memory) => void }) {
  const off = useAction(async () => {
    const sure = await confirm({
      title: "Switch this instruction off?", yes: "Switch off", danger: true,
      words: (
        <>
          <Prose text={rule.content} lines={6} />
          <p class="dialog-words">It is forgotten: no answer follows it any more, and a rule that it had replaced may hold again. You can switch it on again for 30 days; then it is wiped. What was said stays in the timeline.</p>
        </>
      ),
    });
    if (!sure) return;
    await del(`/v1/memories/${part(rule.id)}`);
    done("The instruction was switched off", {
      text: rule.content, rule: rule.id, undo: [{ method: "POST", path: `/v1/memories/${part(rule.id)}/restore` }],
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

const PAUSE_MS = 800;
const LONGEST_MS = 60_000;

/**
 * A rule as the user says it: only what a user says in a turn can become one. It is recognised at
 * once by its wording, else a moment later by the model that reads. What is taken for a part of a
 * text that was handed over is confirmed: whoever types here means it.
 */
async function giveRule(text: string, agent: string | null, whose: Options): Promise<{ turn: string; rule: string }> {
  const receipt = await post<{ events: string[] }>("/v1/memories", { messages: [{ role: "user", content: text }], session_id: "window", ...(agent ? { agent_id: agent } : {}) }, whose);
  const turn = receipt.events[0] ?? "";
  for (const began = Date.now(); Date.now() - began < LONGEST_MS; await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))) {
    const { state } = await get<{ state: string }>(`/v1/events/${part(turn)}`, {}, whose);
    const { memories } = await get<{ memories: Memory[] }>("/v1/memories", { tiers: ["procedure"], limit: 100 }, whose);
    const own = memories.filter((each) => each.sources.includes(turn));
    const rule = own.find((each) => each.kind === "instruction");
    if (rule) return { turn, rule: rule.id };
    const asked = own.find((each) => each.kind === "doubtful");
    if (asked) {
      const made = await post<Fact>(`/v1/clarifications/${part(asked.id)}/answer`, { keep: "new" }, whose);
      return { turn, rule: made.id };
    }
    if (state === "done" || state === "failed" || state === "dead") break;
  }
  await del(`/v1/memories/${part(turn)}`, {}, whose);
  throw new ApiError("This was not understood as a rule, and nothing was kept of it. Say it as an order, such as “Always …”, “Never …” or “When I ask for …, …”.", "refused", 422);
}

function EditRule({ known, onClose }: { known: Memory | null; onClose: () => void }) {
  const [text, setText, clear] = useDraft(`rule.${known?.id ?? "new"}`, known?.content ?? "");
  const save = useAction(async () => {
    const user = currentUser() ?? "";
    const whose = { user: user || undefined };
    const { turn, rule } = await giveRule(text.trim(), known?.agent ?? null, whose);
    const undo: Call[] = [{ method: "DELETE", path: `/v1/memories/${part(turn)}` }];
    if (known && known.id !== rule) {
      const old = await get<Memory>(`/v1/memories/${part(known.id)}`, {}, whose);
      if (old.valid_to === null && old.known_to === null) {
        // The new words do not end the old rule by themselves.
        await del(`/v1/memories/${part(known.id)}`, {}, whose);
        undo.push({ method: "POST", path: `/v1/memories/${part(known.id)}/restore` });
      }
    }
    clear();
    onClose();
    done(known ? "The instruction has new words" : "The instruction was added", {
      user, text: text.trim(), undo, note: known ? "Undo forgets the new words; those before hold again." : "",
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
      {save.busy && <p class="muted" role="status">Reading it…</p>}
      {save.error && <ErrorBox error={save.error} />}
    </Dialog>
  );
}
