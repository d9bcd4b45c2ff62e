/** The state of the service at a glance, what models took today, and how a memory grows. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { get, useAnswer } from "../../lib/api";
import { href, useRights, useUser } from "../../lib/store";
import { Answered, Badge, Empty, ErrorBox, Icon, Loading, Panel, Segmented, TierBadge, formatNumber, formatShort } from "../../lib/ui";
import { Chart } from "./chart";
import { sum, useMetrics, type Sample } from "./metrics";
import { Figure, Meter, NeedsUser, formatSeconds } from "./parts";

export interface Ready {
  status: "ok" | "degraded";
  reasons: string[];
  /** Only told to an operator. */
  jobs?: { ready: number; running: number; dead: number };
  oldest_job_seconds?: number;
}

interface Capabilities {
  version: string;
  features: Record<string, boolean>;
}

const EVERY_MS = 5_000;

export function Overview() {
  const { operator } = useRights();
  const user = useUser();
  const metrics = useMetrics(operator, EVERY_MS, user);
  const last = metrics.looks.at(-1);
  const samples = last?.samples ?? null;
  return (
    <div class="stack operations-stack">
      <State samples={samples} at={last?.at ?? 0} />
      {operator && <Spending samples={samples} user={last?.user === user ? user : null} failed={metrics.error && !samples ? <ErrorBox error={metrics.error} retry={metrics.reload} /> : null} />}
      <Growth />
    </div>
  );
}

function State({ samples, at }: { samples: Sample[] | null; at: number }) {
  // Asked again whenever the figures were, so that both are of one moment.
  const ready = useAnswer(`ready ${at}`, (signal) => get<Ready>("/v1/ready", {}, { scoped: false, signal }));
  const can = useAnswer("can", (signal) => get<Capabilities>("/v1/capabilities", {}, { scoped: false, signal }));
  const jobs = (state: "ready" | "running" | "dead") =>
    samples ? sum(samples, "holdfast_jobs", { state }) : ready.data?.jobs?.[state];
  const dead = jobs("dead");
  const features = Object.entries(can.data?.features ?? {});
  return (
    <Panel title="State" actions={can.data && <span class="muted">Holdfast {can.data.version}</span>}>
      <Answered answer={ready} what="The state of the service">
        {(found) => (
          <div class="stack">
            <div class={`operations-state ${found.status === "ok" ? "good" : "warn"}`} role="status">
              <Icon name={found.status === "ok" ? "check" : "warning"} />
              <div>
                <strong>{found.status === "ok" ? "Everything works" : "Degraded: requests are answered, but not all is well"}</strong>
                {found.reasons.map((each) => <p key={each}>{each}</p>)}
              </div>
            </div>
            {found.jobs && (
              <dl class="operations-figures">
                <Figure title="Waiting" value={formatNumber(jobs("ready") ?? 0)} note={found.oldest_job_seconds ? `the oldest for ${formatSeconds(found.oldest_job_seconds)}` : "nothing is late"} />
                <Figure title="Running" value={formatNumber(jobs("running") ?? 0)} />
                <Figure title="Dead letters" value={formatNumber(dead ?? 0)} tone={dead ? "bad" : undefined} note={dead ? <a href={href("operations", { tab: "queue" })}>see why and replay</a> : "none"} />
                {samples && <Figure title="Requests under way" value={formatNumber(sum(samples, "holdfast_requests_in_flight"))} note={`${formatNumber(sum(samples, "holdfast_streams"))} listening`} />}
                {samples && <Figure title="Answered since start" value={formatShort(sum(samples, "holdfast_requests_total"))} note={`${formatNumber(sum(samples, "holdfast_requests_total", { status: "5xx" }))} failed`} tone={sum(samples, "holdfast_requests_total", { status: "5xx" }) ? "warn" : undefined} />}
              </dl>
            )}
          </div>
        )}
      </Answered>
      {features.length > 0 && (
        <p class="row operations-features">
          {features.map(([name, on]) => <Badge key={name} tone={on ? "good" : "neutral"}>{name.replace(/_/g, " ")} {on ? "on" : "off"}</Badge>)}
        </p>
      )}
    </Panel>
  );
}

type Settings = Record<string, unknown>;

function Spending({ samples, user, failed }: { samples: Sample[] | null; user: string | null; failed: ComponentChildren }) {
  const config = useAnswer("config", (signal) => get<{ settings: Settings }>("/v1/config", {}, { scoped: false, signal }));
  return (
    <Panel title="Language models, today (UTC)">
      {failed}
      {!samples && !failed && <Loading lines={3} what="What models took today" />}
      {samples && (
        <Answered answer={config} what="The budget">
          {({ settings }) => <Spent samples={samples} user={user} settings={settings} />}
        </Answered>
      )}
    </Panel>
  );
}

const MONEY = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/** Budgets are of one user: what that user took is drawn against them, what all took is told beside it. */
function Spent({ samples, user, settings }: { samples: Sample[]; user: string | null; settings: Settings }) {
  const limit = (name: string) => Number(settings[name] ?? 0);
  const model = String(settings["extraction.llm.model"] ?? "");
  const calls = sum(samples, "holdfast_llm_calls_today");
  const tokens = sum(samples, "holdfast_llm_tokens_today");
  const byKeys = sum(samples, "holdfast_key_tokens_today");
  const refused = sum(samples, "holdfast_key_calls_refused_total");
  return (
    <div class="stack">
      {!model && !calls && !byKeys && (
        <p class="notice"><Icon name="info" /><span>No language model is set, so nothing can be spent: what is said is read by the model that comes with Holdfast (<code>extraction.llm.url</code> would name another).</span></p>
      )}
      {user && (
        <div class="operations-meters" role="group" aria-label={`What ${user} took`}>
          <Meter title="Calls" used={sum(samples, "holdfast_user_llm_calls_today")} limit={limit("extraction.llm.dailyCalls")} show={formatNumber} />
          <Meter title="Tokens" used={sum(samples, "holdfast_user_llm_tokens_today")} limit={limit("extraction.llm.dailyTokens")} show={formatShort} />
          <Meter title="Cost" used={sum(samples, "holdfast_user_llm_cost_today")} limit={limit("extraction.llm.dailyCost")} show={(value) => MONEY.format(value)} />
        </div>
      )}
      <dl class="operations-figures">
        <Figure title="Calls of all users" value={formatNumber(calls)} />
        <Figure title="Tokens of all users" value={formatShort(tokens)} />
        <Figure title="Cost of all users" value={MONEY.format(sum(samples, "holdfast_llm_cost_today"))} />
        <Figure title="Tokens charged to keys" value={formatShort(byKeys)} note={limit("service.dailyTokens") ? `${formatShort(limit("service.dailyTokens"))} for each key, if it has no other limit` : undefined} />
      </dl>
      <p class="field-hint">
        {user ? <>The bars are what <bdi>{user}</bdi> took of the budget that each user has.</> : "Each user has a budget: name one in the box at the top to see what is left of it."}{" "}
        What a budget does not allow waits for the next day and is not lost.
        {refused > 0 && ` ${formatNumber(refused)} calls of keys were refused.`} What each key took stands under <a href={href("operations", { tab: "keys" })}>Keys</a>.
      </p>
    </div>
  );
}

interface Day {
  day: string;
  total: number;
  tiers: Record<string, number>;
}

const TIERS = ["session", "fact", "note", "profile", "graph", "procedure", "knowledge", "workspace"];

function Growth() {
  const user = useUser();
  const [days, setDays] = useState<"7" | "30" | "90">("30");
  const growth = useAnswer(user && `${user} ${days}`, (signal) => get<{ days: Day[] }>("/v1/stats/growth", { days, limit: days }, { signal }));
  const stats = useAnswer(user, (signal) => get<{ tiers: Record<string, number> }>("/v1/stats", {}, { signal }));
  if (!user) return <Panel title="Growth"><NeedsUser what="Growth" /></Panel>;
  return (
    <Panel
      title="Growth"
      actions={<Segmented label="Days" value={days} onChange={setDays} options={[{ value: "7", title: "7 d" }, { value: "30", title: "30 d" }, { value: "90", title: "90 d" }]} />}
    >
      <Answered answer={stats} what="How much there is" lines={1}>
        {({ tiers }) => (
          <p class="row operations-tiers num">
            {TIERS.filter((each) => tiers[each]).map((each) => <span key={each}><TierBadge tier={each} /> <strong>{formatNumber(tiers[each] ?? 0)}</strong></span>)}
          </p>
        )}
      </Answered>
      <Answered answer={growth} what="Growth" lines={6}>{(found) => <GrowthChart days={found.days} />}</Answered>
    </Panel>
  );
}

function GrowthChart({ days }: { days: Day[] }) {
  const found = TIERS.filter((tier) => days.some((each) => each.tiers[tier]));
  const total = days.reduce((all, each) => all + each.total, 0);
  if (!total) return <Empty icon="operations" title="Nothing was learned in these days">What is said and learned from now on is counted here by day.</Empty>;
  return (
    <Chart
      label={`Memories learned on each of ${days.length} days, ${formatNumber(total)} in all`} stacked show={formatShort}
      times={days.map((each) => Date.parse(each.day) / 1000)}
      series={found.map((tier) => ({ title: tier, color: `--tier-${tier}`, values: days.map((each) => each.tiers[tier] ?? 0) }))}
    />
  );
}
