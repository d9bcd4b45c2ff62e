/** What several sections of Operations are made of. */
import type { ComponentChildren } from "preact";
import { href } from "../../lib/store";
import { Empty, Icon, cls, formatPercent, type IconName } from "../../lib/ui";

/** One figure with its name, and a word beside it. */
export function Figure({ title, value, note, tone }: {
  title: string; value: ComponentChildren; note?: ComponentChildren; tone?: "good" | "warn" | "bad" | undefined;
}) {
  return (
    <div class={cls("operations-figure", tone)}>
      <dt>{title}</dt>
      <dd class="num">{value}</dd>
      {note && <dd class="operations-note">{note}</dd>}
    </div>
  );
}

/** How much of a limit is used; a limit of 0 is none. */
export function Meter({ title, used, limit, show }: {
  title: string; used: number; limit: number; show: (value: number) => string;
}) {
  const share = limit > 0 ? used / limit : 0;
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good";
  return (
    <div class="operations-meter">
      <div class="spread">
        <span>{title}</span>
        <span class="num">
          <strong>{show(used)}</strong> <span class="muted">{limit > 0 ? `of ${show(limit)} (${formatPercent(share)})` : "no limit"}</span>
        </span>
      </div>
      {limit > 0 && (
        <div class={cls("operations-bar", tone)} role="meter" aria-label={title} aria-valuemin={0} aria-valuemax={limit} aria-valuenow={Math.min(used, limit)} aria-valuetext={`${show(used)} of ${show(limit)}`}>
          <i style={{ width: `${Math.min(100, 100 * share)}%` }} />
        </div>
      )}
    </div>
  );
}

/** Where a memory is shown with its history. */
export const memoryLink = (id: string) => href("timeline", { id });

export function NeedsUser({ what, icon = "profile" }: { what: string; icon?: IconName }) {
  return <Empty icon={icon} title="Whose?">{what} is of one user: name one in the box at the top.</Empty>;
}

/** Good or not, with a sign that does not need colour. */
export function Sign({ ok, children }: { ok: boolean; children: ComponentChildren }) {
  return <span class={cls("operations-sign", ok ? "good" : "bad")}><Icon name={ok ? "check" : "warning"} />{children}</span>;
}

export function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}
