/** Whether the store is sound, what the processes take, and the servers it lies on. */
import { useState } from "preact/hooks";
import { get, useAnswer } from "../../lib/api";
import { useRights } from "../../lib/store";
import { Answered, Badge, Button, Disclosure, ErrorBox, Icon, Loading, Panel, formatBytes, formatNumber } from "../../lib/ui";
import { byLabel, sum, useMetrics, type Sample } from "./metrics";
import { Figure, Sign, formatSeconds } from "./parts";

interface Finding {
  check: string;
  ok: boolean;
  detail: string;
  repairable: boolean;
}

interface Capabilities {
  version: string;
  limits: Record<string, number>;
  formats: string[];
  document_formats: string[];
  task_profiles: string[];
}

const EVERY_MS = 5_000;
const DOCTOR_MS = 300_000;

export function StoreHealth() {
  const { operator } = useRights();
  const metrics = useMetrics(operator, EVERY_MS);
  const samples = metrics.looks.at(-1)?.samples;
  return (
    <div class="stack operations-stack">
      <Doctor />
      {metrics.error && <ErrorBox error={metrics.error} retry={metrics.reload} />}
      {samples ? <><Servers samples={samples} /><Processes samples={samples} /></> : !metrics.error && <Loading what="The processes" />}
      <Limits />
    </div>
  );
}

/** On demand: with 100,000 memories it takes half a minute, and the processor with it. */
function Doctor() {
  const [asked, setAsked] = useState(false);
  const doctor = useAnswer(asked ? "doctor" : null, (signal) =>
    get<{ findings: Finding[] }>("/v1/doctor", { limit: 200 }, { scoped: false, signal, timeoutMs: DOCTOR_MS }));
  const look = () => (asked ? doctor.reload() : setAsked(true));
  return (
    <Panel title="Doctor" actions={<Button small icon="check" busy={doctor.loading} onClick={look}>{asked ? "Check again" : "Check the store"}</Button>}>
      {!asked && <p class="muted">Looks at every invariant of the store: whether the file is sound, nothing is left over or missing, the audit chain holds. It reads everything once: with 100,000 memories that takes half a minute.</p>}
      <Answered answer={doctor} what="Looking at every invariant of the store" lines={6}>
        {({ findings }) => <Findings findings={findings} />}
      </Answered>
    </Panel>
  );
}

function Findings({ findings }: { findings: Finding[] }) {
  const wrong = findings.filter((each) => !each.ok);
  const line = (each: Finding) => (
    <li key={each.check}>
      <Sign ok={each.ok}><strong>{each.check}</strong></Sign>
      <span class="operations-detail">{each.detail}</span>
      {!each.ok && each.repairable && <Badge tone="warn">can be repaired</Badge>}
    </li>
  );
  return (
    <div class="stack">
      <div class={`operations-state ${wrong.length ? "bad" : "good"}`}>
        <Icon name={wrong.length ? "warning" : "check"} />
        <div>
          <strong>{wrong.length ? `${wrong.length} of ${findings.length} checks found something` : `All ${findings.length} checks hold`}</strong>
          {wrong.some((each) => each.repairable) && <p>Stop the service and run <code>holdfast doctor --repair</code>; back up first.</p>}
        </div>
      </div>
      {wrong.length > 0 && <ul class="operations-findings">{wrong.map(line)}</ul>}
      <Disclosure summary={<span>{wrong.length ? "The other checks" : "Every check"}</span>}>
        <ul class="operations-findings">{findings.filter((each) => each.ok).map(line)}</ul>
      </Disclosure>
    </div>
  );
}

function Servers({ samples }: { samples: Sample[] }) {
  const reads = byLabel(samples, "holdfast_reads_total", "server");
  const behind = byLabel(samples, "holdfast_replica_behind_bytes", "replica");
  const answering = new Map<string, number>();
  for (const each of samples) {
    // Of several processes the one that gets no answer tells.
    const name = each.labels["replica"];
    if (each.name === "holdfast_replica_answers" && name !== undefined) answering.set(name, Math.min(answering.get(name) ?? 1, each.value));
  }
  if (!reads.size) return null;
  return (
    <Panel title="Servers" flush>
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Servers and replicas">
        <table class="table">
          <thead><tr><th scope="col">Server</th><th scope="col">State</th><th scope="col" class="num">Reads</th><th scope="col" class="num">Behind</th></tr></thead>
          <tbody>
            {[...reads].map(([name, number]) => (
              <tr key={name}>
                <td class="mono">{name}</td>
                <td>{behind.has(name) ? <Sign ok={answering.get(name) === 1}>{answering.get(name) === 1 ? "replica answers" : "replica does not answer"}</Sign> : <Sign ok>primary</Sign>}</td>
                <td class="num">{formatNumber(number)}</td>
                <td class="num">{behind.has(name) ? formatBytes(behind.get(name) ?? 0) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Processes({ samples }: { samples: Sample[] }) {
  const numbers = [...byLabel(samples, "process_resident_memory_bytes", "process").keys()];
  const of = (name: string, process: string | null) => sum(samples, name, process === null ? {} : { process });
  return (
    <Panel title={numbers.length > 1 ? `${numbers.length} processes` : "Process"}>
      <div class="stack">
        {(numbers.length ? numbers : [null]).map((each) => (
          <dl key={each} class="operations-figures">
            {each !== null && <Figure title="Process" value={each} />}
            <Figure title="Memory" value={formatBytes(of("process_resident_memory_bytes", each))} />
            <Figure title="Processor time" value={formatSeconds(of("process_cpu_seconds_total", each))} />
            <Figure title="Open files" value={formatNumber(of("process_open_fds", each))} />
            <Figure title="Indexes in memory" value={formatNumber(of("holdfast_indexes", each))} note={formatBytes(of("holdfast_index_bytes", each))} />
            <Figure title="Listening" value={formatNumber(of("holdfast_streams", each))} />
          </dl>
        ))}
        <Webhooks samples={samples} />
      </div>
    </Panel>
  );
}

function Webhooks({ samples }: { samples: Sample[] }) {
  const states = [...byLabel(samples, "holdfast_webhooks", "state")].filter(([, number]) => number > 0);
  if (!states.length) return null;
  return (
    <p class="row">
      <span class="muted">Webhooks</span>
      {states.map(([state, number]) => <Badge key={state} tone={state === "ok" ? "good" : state === "failing" ? "warn" : "bad"}>{number} {state}</Badge>)}
    </p>
  );
}

function Limits() {
  const can = useAnswer("can", (signal) => get<Capabilities>("/v1/capabilities", {}, { scoped: false, signal }));
  return (
    <Panel title="What it takes in">
      <Answered answer={can} what="Its limits">
        {({ version, limits, formats, document_formats, task_profiles }) => (
          <dl class="facts">
            <dt>Version</dt><dd>{version}</dd>
            {Object.entries(limits).map(([name, value]) => [
              <dt key={`${name} name`}>{name.replace(/_/g, " ")}</dt>,
              <dd key={name} class="num">{name.endsWith("_bytes") ? formatBytes(value) : formatNumber(value)}</dd>,
            ])}
            <dt>context formats</dt><dd>{formats.join(", ")}</dd>
            <dt>document formats</dt><dd>{document_formats.join(", ")}</dd>
            <dt>task profiles</dt><dd>{task_profiles.join(", ")}</dd>
          </dl>
        )}
      </Answered>
    </Panel>
  );
}
