/** The block as it is injected, what its tokens went to, and the task that was recognised. */
import { useMemo, useState } from "preact/hooks";
import { PIECE, bytesFrom, calmed, cut } from "../../lib/text";
import { Badge, CopyButton, Panel, Segmented, TierBadge, cls, formatBytes, formatNumber, formatPercent } from "../../lib/ui";
import { weightOf, type Context, type Defaults } from "./model";

interface Props {
  context: Context;
  budget: number;
  /** Tokens of the default, where another is shown. */
  before: number | null;
  format: string;
  formats: readonly string[];
  stale: boolean;
  onFormat: (format: string) => void;
}

export function Block({ context, budget, before, format, formats, stale, onFormat }: Props) {
  return (
    <Panel
      class="ask-block-panel" title="Context block"
      actions={
        <>
          <Segmented label="Format" value={format} onChange={onFormat} options={formats.map((each) => ({ value: each, title: each }))} />
          <CopyButton text={context.text} label="Copy block" />
        </>
      }
    >
      <div class={cls("ask-block-body", stale && "stale")} aria-busy={stale}>
        <TokenBar context={context} budget={budget} before={before} />
        {context.text
          ? <BlockText text={context.text} />
          : <p class="ask-nothing">Nothing would be injected{context.dropped.length ? ": no memory fits into this budget." : ": no memory speaks to this message."}</p>}
      </div>
    </Panel>
  );
}

/** As it is injected; of much of it the beginning. What is copied is all of it, and exact. */
function BlockText({ text }: { text: string }) {
  const [most, setMost] = useState(PIECE);
  const shown = useMemo(() => calmed(cut(text, most)), [text, most]);
  const rest = text.length > most;
  return (
    <>
      <pre class="ask-block" role="region" tabIndex={0} aria-label="Context block as it is injected">{shown}</pre>
      {(rest || shown !== text) && (
        <p class="field-hint">
          {rest ? `${formatBytes(bytesFrom(text, most))} more are not shown here. ` : "Piles of marks are shown shortened. "}“Copy block” copies the whole, as it is injected.
          {rest && <> <button type="button" class="link-button" onClick={() => setMost(most + PIECE)}>Show more</button></>}
        </p>
      )}
    </>
  );
}

interface Slice {
  tier: string;
  tokens: number;
  count: number;
}

function slicesOf(context: Context): Slice[] {
  const found = new Map<string, Slice>();
  context.hits.forEach((hit, place) => {
    const slice = found.get(hit.tier) ?? { tier: hit.tier, tokens: 0, count: 0 };
    found.set(hit.tier, { ...slice, tokens: slice.tokens + (context.hit_tokens[place] ?? 0), count: slice.count + 1 });
  });
  return [...found.values()].sort((a, b) => b.tokens - a.tokens);
}

function TokenBar({ context, budget, before }: Pick<Props, "context" | "budget" | "before">) {
  const slices = slicesOf(context);
  const frame = Math.max(0, context.tokens - slices.reduce((sum, each) => sum + each.tokens, 0));
  const whole = Math.max(budget, context.tokens, 1);
  const width = (tokens: number) => ({ width: `${(100 * tokens) / whole}%` });
  const words = [...slices.map((each) => `${each.tier} ${each.tokens}`), `frame ${frame}`].join(", ");
  return (
    <div class="ask-tokens">
      <p class="ask-tokens-head">
        <span>
          <strong class="num">{formatNumber(context.tokens)}</strong> of {formatNumber(budget)} tokens
          {before !== null && before !== context.tokens && <span class="ask-of"> (by default {formatNumber(before)})</span>}
        </span>
        <span class="ask-of">{formatPercent(context.tokens / whole)} of the budget</span>
      </p>
      <div class="ask-token-bar" role="img" aria-label={`${context.tokens} of ${budget} tokens: ${words}`}>
        {slices.map((each) => <span key={each.tier} class={`ask-slice tier-${each.tier}`} style={width(each.tokens)} title={`${each.tier}: ${each.tokens} tokens`} />)}
        {frame > 0 && <span class="ask-slice ask-frame" style={width(frame)} title={`headings and dates: ${frame} tokens`} />}
      </div>
      <ul class="ask-legend">
        {slices.map((each) => (
          <li key={each.tier}><TierBadge tier={each.tier} /> <span class="num">{formatNumber(each.tokens)}</span> <span class="ask-of">in {each.count}</span></li>
        ))}
        {frame > 0 && <li><span class="badge ask-frame-badge">headings, dates</span> <span class="num">{formatNumber(frame)}</span></li>}
        <li class="ask-left"><span class="ask-of">left</span> <span class="num">{formatNumber(Math.max(0, budget - context.tokens))}</span></li>
      </ul>
    </div>
  );
}

/** Which task, what led to it, and what it weighs. */
export function TaskProfile({ context, chosen, defaults }: { context: Context; chosen: string | undefined; defaults: Defaults }) {
  const name = context.task_profile;
  const found = context.hits.find((hit) => hit.why.profile)?.why.profile;
  const weights = defaults.tiers.map((tier) => [tier, weightOf(defaults, name, tier)] as const).filter(([, weight]) => weight !== 1);
  return (
    <p class="ask-task">
      <span class="ask-of">Task</span> <Badge tone={name === "general" ? "neutral" : "accent"}>{name}</Badge>
      <span class="ask-task-why">
        {chosen ? "chosen by you" : !defaults.boosting ? "task profiles are switched off" : becauseOf(name, found)}
      </span>
      {weights.map(([tier, weight]) => <span key={tier} class="ask-task-weight"><TierBadge tier={tier} /> × {weight}</span>)}
    </p>
  );
}

function becauseOf(name: string, found: { score: number; triggers?: string[] } | undefined): string {
  if (name === "general") return "no special task was recognised in the message";
  const score = found ? ` (score ${found.score.toFixed(2)}, needs 0.50)` : "";
  const heard = found?.triggers ?? [];
  return heard.length ? `heard ${heard.map((each) => `“${each}”`).join(", ")}${score}` : `by its meaning${score}`;
}
