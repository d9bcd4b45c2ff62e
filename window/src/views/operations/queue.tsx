/** What waits to be done, what was given up and why; try it again, or read everything again. */
import { useState } from "preact/hooks";
import { get, isAbort, post, useAction, useAnswer } from "../../lib/api";
import { useParam } from "../../lib/store";
import { entryOf } from "../../lib/text";
import { Badge, Button, Empty, ErrorBox, Loading, Panel, Segmented, Time, confirm, formatNumber, toast, type Tone } from "../../lib/ui";
import { VirtualList, usePages } from "../../lib/virtual";
import { sum, useMetrics } from "./metrics";
import { Figure, formatSeconds, memoryLink } from "./parts";

type State = "ready" | "running" | "dead";

interface Job {
  id: number;
  scope: { workspace: string; user: string; agent: string | null; session: string | null };
  subject: string;
  step: string;
  attempts: number;
  state: State;
  due: string | null;
  error: string | null;
  transient: boolean;
}

const TONES: Record<State, Tone> = { ready: "accent", running: "good", dead: "bad" };
const WORDS: Record<State, string> = { ready: "waiting", running: "running", dead: "dead" };
const EVERY_MS = 3_000;

export function Queue() {
  const [state, setState] = useParam("state", "dead");
  const metrics = useMetrics(true, EVERY_MS);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const jobs = usePages<Job>("/v1/jobs", "jobs", { states: state === "all" ? [] : [state] }, "", { scoped: "workspace" });
  const steps = useSteps(metrics.looks.at(-1)?.at ?? 0);
  const again = () => {
    setChosen(new Set());
    jobs.reload();
    metrics.reload();
  };
  const replay = useAction(async (ids: number[] | null) => {
    const { replayed } = await post<{ replayed: number }>("/v1/jobs/replay", ids ? { ids } : {}, { scoped: "workspace" });
    toast(replayed ? `${count(replayed, "dead letter")} will be tried again` : "Nothing was left to try again", replayed ? "good" : "warn");
    again();
  });
  const samples = metrics.looks.at(-1)?.samples;
  const dead = samples ? sum(samples, "holdfast_jobs", { state: "dead" }) : 0;
  const oldest = samples ? sum(samples, "holdfast_oldest_job_seconds") : 0;
  const picked = jobs.items.filter((each) => chosen.has(each.id)).map((each) => each.id);
  return (
    <div class="stack operations-stack">
      <Panel class="operations-depth" title="Depth" actions={<Rebuild onDone={again} />}>
        {metrics.error && !samples && <ErrorBox error={metrics.error} retry={metrics.reload} />}
        {!samples && !metrics.error && <Loading what="The queue" />}
        {samples && (
          <dl class="operations-figures">
            {(["ready", "running", "dead"] as const).map((each) => {
              const found = sum(samples, "holdfast_jobs", { state: each });
              return <Figure key={each} title={each === "ready" ? "Waiting" : each === "running" ? "Running" : "Dead letters"} value={formatNumber(found)} note={stepWords(steps, each)} tone={each === "dead" && found ? "bad" : undefined} />;
            })}
            <Figure title="Oldest waits for" value={oldest ? formatSeconds(oldest) : "–"} tone={oldest > 900 ? "warn" : undefined} note={oldest > 900 ? "is a worker running?" : undefined} />
            <Figure title="Done by this service" value={formatNumber(sum(samples, "holdfast_jobs_done_total"))} note={`${formatNumber(sum(samples, "holdfast_jobs_done_total", { step: "extract" }))} read, ${formatNumber(sum(samples, "holdfast_jobs_died_total"))} given up`} />
          </dl>
        )}
      </Panel>
      <Panel
        flush
        title={
          <Segmented
            label="State" value={state as State | "all"} onChange={(value) => { setChosen(new Set()); setState(value); }}
            options={[{ value: "dead", title: "Dead" }, { value: "ready", title: "Waiting" }, { value: "running", title: "Running" }, { value: "all", title: "All" }]}
          />
        }
        actions={state === "dead" && jobs.items.length > 0 && (
          picked.length
            ? <Button small kind="primary" icon="refresh" busy={replay.busy} onClick={() => replay.run(picked)}>{`Replay ${picked.length}`}</Button>
            : <Button small icon="refresh" busy={replay.busy} onClick={() => replay.run(null)}>{`Replay all${dead ? ` ${formatNumber(dead)}` : ""}`}</Button>
        )}
      >
        {replay.error && <ErrorBox error={replay.error} />}
        <div class="operations-list">
          <VirtualList
            items={jobs.items} pages={jobs} label="Jobs" keyOf={(each) => String(each.id)} estimate={68}
            row={(job) => (
              <JobRow
                job={job} busy={replay.busy} chosen={chosen.has(job.id)} onReplay={() => replay.run([job.id])}
                onChoose={(on) => setChosen((before) => withOrWithout(before, job.id, on))}
              />
            )}
            empty={
              state === "dead"
                ? <Empty icon="check" title="No dead letters">What was given up after several tries would stand here with its reason, to be tried again.</Empty>
                : <Empty icon="check" title="Nothing to do">Everything that was said is read and embedded.</Empty>
            }
          />
        </div>
      </Panel>
    </div>
  );
}

function JobRow({ job, chosen, busy, onChoose, onReplay }: {
  job: Job; chosen: boolean; busy: boolean; onChoose: (on: boolean) => void; onReplay: () => void;
}) {
  const dead = job.state === "dead";
  return (
    <div class="operations-job">
      {dead && (
        <label class="operations-check">
          <input type="checkbox" checked={chosen} aria-label={`Choose job ${job.id}`} onChange={(event) => onChoose(event.currentTarget.checked)} />
        </label>
      )}
      <div class="operations-job-what">
        <p class="row">
          <Badge tone={entryOf(TONES, job.state) ?? "neutral"}>{entryOf(WORDS, job.state) ?? job.state}</Badge>
          <strong class="truncate" title={job.step}>{stepName(job.step)}</strong>
          <span class="muted truncate" dir="auto">{job.scope.user}</span>
          <a class="mono" href={memoryLink(job.subject)}>{job.subject.slice(-8)}</a>
        </p>
        {job.error && <p class="operations-reason" dir="auto">{job.error}</p>}
        <p class="muted operations-small">
          {count(job.attempts, "try", "tries")}
          {job.due && !dead && <> · due <Time at={job.due} as="ago" /></>}
          {job.transient && dead && " · may go away by itself"}
        </p>
      </div>
      {dead && <Button small icon="refresh" disabled={busy} aria-label={`Replay job ${job.id}`} onClick={onReplay}>Replay</Button>}
    </div>
  );
}

function Rebuild({ onDone }: { onDone: () => void }) {
  const rebuild = useAction(async () => {
    const sure = await confirm({
      title: "Read every turn again?", yes: "Read again",
      words: <p class="dialog-words">Every turn of this workspace is queued and read with the reader of today, while everything goes on. What is known stays as it is; what was forgotten is not read. It takes a while, and a language model, if one is set, is charged.</p>,
    });
    if (!sure) return;
    const { queued } = await post<{ queued: number }>("/v1/jobs/rebuild", {}, { scoped: "workspace", timeoutMs: 120_000 });
    toast(`${count(queued, "turn")} will be read again`);
    onDone();
  });
  return (
    <>
      {rebuild.error && <span class="field-error">{rebuild.error.message}</span>}
      <Button small kind="quiet" icon="undo" busy={rebuild.busy} onClick={() => rebuild.run()}>Rebuild</Button>
    </>
  );
}

const MOST_COUNTED = 1_000;
type Steps = { counts: Map<string, number>; all: boolean };

/** How many jobs there are of each state and step, among the first thousand. */
function useSteps(at: number): Steps | null {
  const answer = useAnswer(at ? `steps ${at}` : null, async (signal) => {
    const counts = new Map<string, number>();
    try {
      const { jobs, next } = await get<{ jobs: Job[]; next: string | null }>("/v1/jobs", { limit: MOST_COUNTED }, { scoped: "workspace", signal });
      for (const each of jobs) {
        const name = `${each.state} ${stepName(each.step)}`;
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      return { counts, all: next === null };
    } catch (error) {
      // The figures above say it; a word less under them does no harm.
      if (isAbort(error)) throw error;
      return { counts, all: false };
    }
  });
  return answer.data;
}

function stepWords(steps: Steps | null, state: State): string | undefined {
  const found = [...(steps?.counts ?? [])].filter(([name]) => name.startsWith(`${state} `));
  if (!found.length) return undefined;
  const words = found.map(([name, number]) => `${formatNumber(number)} ${name.slice(state.length + 1)}`).join(", ");
  return steps?.all ? words : `of the first ${formatNumber(MOST_COUNTED)}: ${words}`;
}

/** "embed:3f2a..." is embedding into a vector space. */
const stepName = (step: string) => step.split(":", 1)[0] ?? step;

const count = (number: number, one: string, many = `${one}s`) => `${formatNumber(number)} ${number === 1 ? one : many}`;

function withOrWithout(before: ReadonlySet<number>, id: number, on: boolean): ReadonlySet<number> {
  const after = new Set(before);
  if (on) after.add(id);
  else after.delete(id);
  return after;
}
