/** A memory that is still empty: load the sample conversation, or send the first memory. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { newKey, post, get, useAction, asApiError } from "../lib/api";
import { go, href, identity, lookAt, useDraft, useRights, useStore, useUser } from "../lib/store";
import { Button, CopyButton, ErrorBox, Field, Icon, Page, Panel, Segmented, Tabs, cls, type IconName } from "../lib/ui";
import { SNIPPETS, isKey, type SnippetName } from "./firstrun/snippets";

const SAMPLE_USER = "mara";

const FROM_MENU = "Load an invented conversation to look around, or send memories from your agent.";

export default function FirstRun() {
  // From now on the window looks at whom the sample was given, whichever way somebody goes on.
  return <Starting lead={FROM_MENU} onLoaded={({ user }) => user && lookAt(user)} />;
}

/** What a view shows that has nothing to show yet; `onAsk` when somebody goes on to a question. */
export function GetStarted({ onAsk }: { onAsk?: () => void }) {
  const user = useUser();
  const lead = <>Nothing is remembered{user ? <> of <bdi>{user}</bdi></> : ""} yet. Load an invented conversation to look around, or send the first memory from your agent.</>;
  return <Starting lead={lead} onAsk={onAsk} />;
}

function Starting({ lead, onLoaded, onAsk }: {
  lead: ComponentChildren; onLoaded?: (whose: { user?: string }) => void; onAsk?: (() => void) | undefined;
}) {
  const { write } = useRights();
  /** Parameters of addresses that lead to whom the sample was given. */
  const [loaded, setLoaded] = useState<{ user?: string } | null>(null);
  return (
    <Page title="Get started" lead={loaded ? "The sample is there: ask about it, or look around." : lead}>
      <div class="firstrun">
        {write
          ? <Sample onDone={(whose) => { setLoaded(whose); onLoaded?.(whose); }} onAsk={onAsk} />
          : (
            <Panel title="The sample conversation">
              <p class="notice"><Icon name="info" /><span>This key may only read. To load the sample, sign in with a key that may write: <code>holdfast keys create --role write --db FILE</code></span></p>
            </Panel>
          )}
        <Snippets />
        <Next loaded={loaded} hasSample={write} onAsk={onAsk} />
      </div>
    </Page>
  );
}

// The sample

interface Turn {
  session: string;
  [field: string]: unknown;
}

type Step =
  | { at: "idle" }
  | { at: "storing"; done: number; all: number }
  | { at: "reading"; left: number | null }
  | { at: "done"; turns: number };

function Sample({ onDone, onAsk }: { onDone: (whose: { user?: string }) => void; onAsk: (() => void) | undefined }) {
  const own = useStore(identity)?.user_id ?? null;
  const looked = useUser();
  const { admin } = useRights();
  const [name, setName] = useDraft("firstrun.user", looked ?? SAMPLE_USER);
  const [step, setStep] = useState<Step>({ at: "idle" });
  const target = own ?? (name.trim() || SAMPLE_USER);
  const whose = own ? {} : { user: target };
  const load = useAction(async () => {
    const turns = await loadSample(own ? {} : { user_id: target }, setStep);
    setStep({ at: "done", turns });
    onDone(whose);
  });
  const busy = load.busy;
  const askFirst = () => {
    go("ask", { q: QUESTIONS[0], ...whose });
    onAsk?.();
  };
  return (
    <Panel title="The sample conversation">
      <div class="firstrun-sample">
        <p>
          Mara renovates a kitchen, builds a logger on the side and changes her mind now and then: 60 turns in three sessions, all
          invented. It shows facts that were replaced, standing instructions, names, dates and a small knowledge graph.
        </p>
        {own === null && (
          <Field label="Remember it as user" hint="A user of its own keeps it apart from real memories; it can be erased in Operations.">
            {(id) => <input id={id} class="input firstrun-user" value={name} disabled={busy} dir="auto" autocomplete="off" spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} />}
          </Field>
        )}
        {own !== null && <p class="field-hint">It is remembered as <bdi>{own}</bdi>, the user of this key. It can be forgotten in Timeline{admin && ", and the user erased in Operations"}.</p>}
        {step.at !== "idle" && <Progress step={step} failed={load.error !== null} />}
        {load.error && <ErrorBox title="The sample is not complete" error={`${load.error.message} What is stored stays; trying again stores nothing twice.`} />}
        <div class="row">
          {step.at === "done"
            ? <Button kind="primary" icon="ask" onClick={askFirst}>Ask something</Button>
            : <Button kind="primary" icon="start" busy={busy} onClick={() => load.run()}>{load.error ? "Try again" : busy ? "Loading…" : "Load the sample"}</Button>}
        </div>
      </div>
    </Panel>
  );
}

function Progress({ step, failed }: { step: Step; failed: boolean }) {
  const share = step.at === "storing" ? (0.5 * step.done) / step.all : step.at === "reading" ? 0.5 + 0.45 / (1 + (step.left ?? 20) / 10) : 1;
  const words = {
    idle: "", done: `${step.at === "done" ? step.turns : ""} turns are remembered and understood.`,
    storing: `Storing session ${step.at === "storing" ? Math.min(step.done + 1, step.all) : ""} of ${step.at === "storing" ? step.all : ""}…`,
    reading: `Stored. Reading for facts, names and rules${step.at === "reading" && step.left ? `, ${step.left} steps left` : ""}…`,
  }[step.at];
  return (
    <div class={cls("firstrun-progress", failed && "failed", step.at === "done" && "done")} role="status">
      <div class="firstrun-track" role="progressbar" aria-label="Loading the sample" aria-valuenow={Math.round(100 * share)} aria-valuemin={0} aria-valuemax={100}>
        <span style={{ width: `${100 * share}%` }} />
      </div>
      <p>{step.at === "done" && <Icon name="check" />} {failed ? "Stopped." : words}</p>
    </div>
  );
}

const DRAIN_S = 4;
const MOST_DRAINS = 20;

/** How many turns were sent. The same keys each time: what is there already is not stored again. */
async function loadSample(whose: object, onStep: (step: Step) => void): Promise<number> {
  const lines = await get<string>("/assets/sample.jsonl", {}, { scoped: false });
  const turns = lines.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Turn);
  const stored = await storeSample(turns, "window-sample", whose, onStep);
  // Loaded before and forgotten since: the same keys would be taken for a repetition.
  if (!stored && (await isEmpty(whose))) await storeSample(turns, newKey(), whose, onStep);
  await understood(onStep);
  return turns.length;
}

async function storeSample(turns: Turn[], prefix: string, whose: object, onStep: (step: Step) => void): Promise<number> {
  const sessions = new Map<string, Turn[]>();
  for (const turn of turns) sessions.set(turn.session, [...(sessions.get(turn.session) ?? []), turn]);
  let done = 0;
  let stored = 0;
  for (const [session, group] of sessions) {
    onStep({ at: "storing", done, all: sessions.size });
    const messages = group.map(({ session: _, ...message }) => message);
    const body = { ...whose, session_id: session, messages };
    const answer = await post<{ duplicate: boolean }>("/v1/memories", body, { once: `${prefix}-${session}` });
    stored += answer.duplicate ? 0 : 1;
    done += 1;
  }
  return stored;
}

async function isEmpty(whose: object): Promise<boolean> {
  const stats = await get<{ tiers: Record<string, number> }>("/v1/stats", { ...whose });
  return !Object.values(stats.tiers).some(Boolean);
}

/** Until the background work is done. It is found by keyword already: trouble here is no failure. */
async function understood(onStep: (step: Step) => void): Promise<void> {
  onStep({ at: "reading", left: null });
  for (let turn = 0; turn < MOST_DRAINS; turn += 1) {
    try {
      const { pending } = await post<{ pending: number }>("/v1/jobs/drain", { timeout: DRAIN_S }, { scoped: false, reads: true });
      if (!pending) return;
      onStep({ at: "reading", left: pending });
    } catch (error) {
      if (asApiError(error).trouble !== "busy") return;
    }
  }
}

// Snippets

function Snippets() {
  const user = useUser() ?? SAMPLE_USER;
  const [name, setName] = useState<SnippetName>("python");
  // In this component alone: gone with the view, never stored, never sent.
  const [key, setKey] = useState("");
  const [shows, setShows] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const fits = isKey(key.trim());
  const write = SNIPPETS[name].write;
  const place = { url: location.origin, user };
  const shown = write({ ...place, key: fits ? (shows ? key.trim() : `rk_${"•".repeat(12)}`) : null });
  const copied = write({ ...place, key: fits ? key.trim() : null });
  return (
    <Panel title="Your first memory" actions={<CopyButton text={copied} label={fits ? "Copy with key" : "Copy"} />}>
      <div class="firstrun-snippets">
        <Tabs<SnippetName>
          label="Language" value={name} onChange={setName}
          tabs={[{ id: "python", title: "Python" }, { id: "curl", title: "curl" }, { id: "mcp", title: "MCP" }]}
        />
        <pre class="firstrun-code" role="region" tabIndex={0} aria-label={`${SNIPPETS[name].title} example`}>{shown}</pre>
        <p class="field-hint">{SNIPPETS[name].hint}</p>
        <Field
          label="Fill in your key" error={key.trim() && !fits ? "A key begins with rk_ and is made of letters, digits, - and _." : undefined}
          hint="Only for this example: it stays in this box, is sent nowhere and is gone when you leave the view. You signed in with a key that the page no longer knows."
        >
          {(id) => (
            <div class="firstrun-key">
              <input
                id={id} ref={input} class="input mono" type="password" value={key} placeholder="rk_…" autocomplete="off" autocapitalize="off"
                spellcheck={false} maxLength={512} onInput={(event) => setKey(event.currentTarget.value)}
              />
              {fits && (
                <Segmented
                  label="The key in the example" value={shows ? "shown" : "hidden"} onChange={(value) => setShows(value === "shown")}
                  options={[{ value: "hidden", title: "Hidden" }, { value: "shown", title: "Shown" }]}
                />
              )}
              {key && <Button kind="quiet" onClick={() => { setKey(""); setShows(false); input.current?.focus(); }}>Clear</Button>}
            </div>
          )}
        </Field>
      </div>
    </Panel>
  );
}

// What to try next

const QUESTIONS = [
  "Which workshop is making the kitchen cabinets, and which one had Mara chosen first?",
  "On what date does demolition start?",
  "What is order KW-58213, and when will it be delivered?",
  "In which unit should lengths be given?",
] as const;

const VIEWS: { view: string; icon: IconName; title: string; words: string }[] = [
  { view: "timeline", icon: "timeline", title: "Timeline", words: "everything remembered, by day and session" },
  { view: "changes", icon: "changes", title: "What changed", words: "facts that were replaced, and by which words" },
  { view: "graph", icon: "graph", title: "Graph", words: "who and what is connected" },
  { view: "profile", icon: "profile", title: "Profile", words: "who the user is, and the rules they gave" },
];

function Next({ loaded, hasSample, onAsk }: { loaded: { user?: string } | null; hasSample: boolean; onAsk: (() => void) | undefined }) {
  return (
    <Panel title="What to try next" class={cls("firstrun-next", loaded !== null && "ready")}>
      <div class="firstrun-next-body">
        {hasSample && (
          <div>
            <h3>Ask about the sample</h3>
            <ul class="firstrun-questions">
              {QUESTIONS.map((each) => (
                <li key={each}><a href={href("ask", { q: each, ...loaded })} onClick={() => onAsk?.()}>{each}</a></li>
              ))}
            </ul>
          </div>
        )}
        <div>
          <h3>Look around</h3>
          <ul class="firstrun-views">
            {VIEWS.map((each) => (
              <li key={each.view}><Icon name={each.icon} /><a href={href(each.view, { ...loaded })}>{each.title}</a><span class="muted">{each.words}</span></li>
            ))}
          </ul>
        </div>
      </div>
    </Panel>
  );
}
