/** How long answers take: percentiles out of the histograms of /metrics, watched while this is open. */
import { useState } from "preact/hooks";
import { Empty, ErrorBox, Loading, Panel, Select, cls, formatNumber } from "../../lib/ui";
import { Chart } from "./chart";
import { added, byLabel, countOf, histograms, quantile, since, sum, useMetrics, type Histogram, type Look } from "./metrics";
import { Figure, formatSeconds } from "./parts";

const EVERY_MS = 2_000;
const ALL = "";

export function Speed() {
  const metrics = useMetrics(true, EVERY_MS);
  const [route, setRoute] = useState(ALL);
  const [first, last] = [metrics.looks[0], metrics.looks.at(-1)];
  if (!last || !first) {
    return metrics.error ? <ErrorBox error={metrics.error} retry={metrics.reload} /> : <Loading lines={8} what="The figures of the service" />;
  }
  const routes = [...histograms(last.samples)].sort(([, a], [, b]) => countOf(b) - countOf(a));
  const whole = added(routes.map(([, each]) => each));
  const errors = sum(last.samples, "holdfast_requests_total", { status: "5xx" });
  return (
    <div class="stack operations-stack">
      {metrics.error && <ErrorBox error={metrics.error} retry={metrics.reload} />}
      <Panel title="Since the service started">
        <dl class="operations-figures">
          <Figure title="Answers" value={formatNumber(countOf(whole))} note={`${formatNumber(errors)} failed (5xx)`} tone={errors ? "warn" : undefined} />
          <Figure title="p50" value={told(quantile(whole, 0.5))} />
          <Figure title="p95" value={told(quantile(whole, 0.95))} />
          <Figure title="p99" value={told(quantile(whole, 0.99))} />
          <Figure title="Under way" value={formatNumber(sum(last.samples, "holdfast_requests_in_flight"))} />
        </dl>
      </Panel>
      <Panel
        title="While this is open"
        actions={<Select label="Route" value={route} onChange={setRoute} options={[{ value: ALL, title: "All routes" }, ...routes.map(([name]) => ({ value: name, title: name }))]} />}
      >
        <Watched looks={metrics.looks} route={route} />
      </Panel>
      <Panel title="By route" flush>
        {routes.length === 0 && <Empty title="No request was answered yet" />}
        <RouteTable routes={routes} looks={last} chosen={route} onChoose={(name) => setRoute(name === route ? ALL : name)} />
      </Panel>
    </div>
  );
}

const told = (seconds: number | null) => (seconds === null ? "–" : formatSeconds(seconds));

function Watched({ looks, route }: { looks: Look[]; route: string }) {
  const found = looks.map((each) => {
    const all = histograms(each.samples);
    return route === ALL ? added(all.values()) : all.get(route) ?? [];
  });
  const between = found.slice(1).map((each, at) => since(each, found[at]));
  const times = looks.slice(1).map((each) => each.at / 1000);
  if (times.length < 2) return <p class="muted operations-wait" role="status">Watching: the first points come after a few seconds…</p>;
  const series = (share: number) => between.map((each) => quantile(each, share));
  return (
    <Chart
      label={`Time until an answer began, ${route || "all routes"}`} show={formatSeconds} times={times}
      series={[
        { title: "p50", color: "--accent", values: series(0.5) },
        { title: "p95", color: "--warn", values: series(0.95) },
      ]}
    />
  );
}

function RouteTable({ routes, looks, chosen, onChoose }: {
  routes: [string, Histogram][]; looks: Look; chosen: string; onChoose: (route: string) => void;
}) {
  const seconds = byLabel(looks.samples, "holdfast_request_seconds_sum", "route");
  return (
    <div class="table-scroll operations-routes" tabIndex={0} role="group" aria-label="Answers by route">
      <table class="table">
        <thead><tr><th scope="col">Route</th><th scope="col" class="num">Answers</th><th scope="col" class="num">Mean</th><th scope="col" class="num">p50</th><th scope="col" class="num">p95</th></tr></thead>
        <tbody>
          {routes.map(([name, each]) => (
            <tr key={name} class={cls(name === chosen && "operations-chosen")}>
              <td><button type="button" class="link-button mono" aria-pressed={name === chosen} onClick={() => onChoose(name)}>{name}</button></td>
              <td class="num">{formatNumber(countOf(each))}</td>
              <td class="num">{told((seconds.get(name) ?? 0) / Math.max(1, countOf(each)))}</td>
              <td class="num">{told(quantile(each, 0.5))}</td>
              <td class="num">{told(quantile(each, 0.95))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
