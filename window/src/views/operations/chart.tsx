/** Lines and bars over time, drawn by uPlot, which is loaded with the first chart. */
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { tokenColor, useDark } from "../../lib/store";
import { Empty, Loading } from "../../lib/ui";

export interface Series {
  title: string;
  /** A design token: `--accent`. */
  color: string;
  values: (number | null)[];
}

interface ChartProps {
  /** What it shows, for those who do not see it. */
  label: string;
  /** Seconds since 1970. */
  times: number[];
  series: Series[];
  show: (value: number) => string;
  /** Days (UTC) as bars whose parts stand on each other, from the first up; else lines. */
  stacked?: boolean;
  height?: number;
}

type Draw = typeof uPlot;

let loaded: Promise<Draw> | null = null;
const load = () => (loaded ??= import("uplot").then((module) => module.default));

/** The series as uPlot draws them: of stacked ones, the sum of those up to each, the highest first. */
function columns(times: number[], series: Series[], stacked: boolean): { data: uPlot.AlignedData; order: Series[] } {
  if (!stacked) return { data: [times, ...series.map((each) => each.values)], order: series };
  const below = times.map(() => 0);
  const sums = series.map((each) => each.values.map((value, at) => (below[at] = (below[at] ?? 0) + (value ?? 0))));
  return { data: [times, ...sums.reverse()], order: [...series].reverse() };
}

export function Chart({ label, times, series, show, stacked = false, height = 220 }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [Draw, setDraw] = useState<{ plot: Draw } | null>(null);
  const [failed, setFailed] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const dark = useDark();
  const { data, order } = columns(times, series, stacked);
  const shape = `${dark} ${stacked} ${height} ${series.map((each) => each.title + each.color).join()}`;

  useEffect(() => {
    load().then((found) => setDraw({ plot: found }), () => setFailed(true));
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element || !Draw) return;
    const axis = {
      stroke: tokenColor("--muted"), grid: { stroke: tokenColor("--line"), width: 1 }, ticks: { show: false },
      font: `11px ${getComputedStyle(element).fontFamily}`,
    };
    const made = new Draw.plot(
      {
        width: element.clientWidth, height, legend: { show: false }, padding: [10, 12, 0, 0],
        cursor: { y: false, points: { show: !stacked, size: 6 }, drag: { x: false, y: false } },
        scales: {
          x: stacked ? { time: false, range: (_self, low, high) => [low - DAY_S / 2, high + DAY_S / 2] } : {},
          y: { range: (_self, _low, high) => [0, Math.max(high * 1.1, 1e-6)] },
        },
        axes: [{
          ...axis, size: 30, space: 74, incrs: stacked ? DAY_STEPS : TIME_STEPS, grid: { ...axis.grid, show: !stacked },
          values: (_self, ticks) => ticks.map((each) => moment(each, stacked)),
        }, { ...axis, size: 62, values: (_self, ticks) => ticks.map(show) }],
        series: [
          {},
          ...order.map(({ title, color }) => {
            const stroke = tokenColor(color);
            const bars = Draw.plot.paths.bars;
            if (stacked && bars) return { label: title, fill: stroke, width: 0, points: { show: false }, paths: bars({ size: [0.7, 34] }) };
            return { label: title, stroke, width: 1.6, points: { show: times.length < 3 }, spanGaps: true };
          }),
        ],
        hooks: { setCursor: [(self) => setAt(self.cursor.idx ?? null)] },
      },
      data,
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [Draw, shape]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);

  const newest = times.findLastIndex((_, index) => series.some((each) => each.values[index] !== null));
  const shown = at !== null && at < times.length ? at : newest;
  if (failed) return <Empty icon="warning" title="The chart could not be loaded">Reload the page. The figures stand beside it.</Empty>;
  return (
    <figure class="operations-chart" aria-label={label}>
      <figcaption class="operations-legend num">
        <span class="muted">{moment(times[shown], stacked)}</span>
        {series.map((each) => {
          const value = each.values[shown];
          return (
            <span key={each.title} class="operations-legend-item">
              <i style={{ background: `var(${each.color})` }} aria-hidden="true" />
              {each.title} <strong>{value === null || value === undefined ? "–" : show(value)}</strong>
            </span>
          );
        })}
      </figcaption>
      {!Draw && <Loading lines={4} what="The chart" />}
      <div ref={box} class="operations-plot" aria-hidden="true" />
    </figure>
  );
}

const DAY_S = 86_400;
const DAY_STEPS = [1, 7, 14, 28].map((days) => days * DAY_S);
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function moment(seconds: number | undefined, isDay: boolean): string {
  return seconds === undefined ? "" : (isDay ? DAY : CLOCK).format(new Date(1000 * seconds));
}
