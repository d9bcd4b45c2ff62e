/** What the agent would be told for a message, and why; sliders re-rank it live. */
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post, restMs, useAnswer, type Answer } from "../lib/api";
import { setParams, useDraft, useParam, useUser } from "../lib/store";
import { Badge, Button, Empty, ErrorBox, Kbd, Loading, Page, Panel, Tabs, cls, formatNumber } from "../lib/ui";
import { Block, TaskProfile } from "./ask/block";
import { HitList, LeftOut, reasonInWords } from "./ask/hits";
import {
  asRequest, BUDGET, changesIn, defaultsOf, goneFrom, movesOf, readTune, tidy,
  type Capabilities, type Context, type Defaults, type Recalled, type Tune,
} from "./ask/model";
import { Tuning } from "./ask/tuning";
import { GetStarted } from "./firstrun";

const LEAD = "What the agent would be told for a message, and why. Looking leaves no trace: nothing is noted as used.";

interface Stats {
  tiers: Record<string, number>;
}

export default function Ask() {
  const user = useUser();
  const stats = useAnswer(`stats ${user}`, (signal) => get<Stats>("/v1/stats", {}, { signal }));
  const told = useAnswer("capabilities", (signal) => get<Capabilities>("/v1/capabilities", {}, { signal, scoped: false }));
  const error = stats.error ?? told.error;
  if (stats.data && !Object.values(stats.data.tiers).some(Boolean)) return <GetStarted onAsk={stats.reload} />;
  if (!stats.data || !told.data) {
    return (
      <Page title="Ask" lead={LEAD}>
        {error ? <ErrorBox error={error} retry={() => { stats.reload(); told.reload(); }} /> : <Loading lines={6} what="Ask" />}
      </Page>
    );
  }
  return <Asking sizes={stats.data.tiers} defaults={defaultsOf(told.data)} />;
}

/** Longer questions are kept in this tab, not in the address. */
const LONGEST_IN_ADDRESS = 1000;

/** The question: in the address, a long one in this tab. Who comes back finds the last one again. */
function useQuestion(): [string, (text: string) => void] {
  const [short, setShort] = useParam("q");
  const [long, setLong] = useDraft("ask.long");
  const ask = (text: string) => {
    const fits = text.length <= LONGEST_IN_ADDRESS;
    setLong(fits ? "" : text);
    setShort(fits ? text : null, { replace: false });
  };
  return [short || long, ask];
}

/** What is asked and tuned outlives other views and a reload; an address that says so itself wins. */
function useLastAddress(): void {
  const [q] = useParam("q");
  const [tune] = useParam("tune");
  const [last, setLast] = useDraft("ask.last");
  const restored = useRef(false);
  useEffect(() => {
    if (!restored.current) {
      restored.current = true;
      if (!q && !tune && last) return setParams(JSON.parse(last) as { q: string; tune: string });
    }
    setLast(q || tune ? JSON.stringify({ q, tune }) : "");
  }, [q, tune]);
}

/** As the sliders stand, as it is asked, how to change the first, and to let the second follow it. */
function useTune(): [Tune, Tune, (tune: Tune) => void, (tune: Tune) => void] {
  const [text] = useParam("tune");
  const [now, setNow] = useState(() => readTune(text));
  const [live, setLive] = useState(now);
  const written = useRef(text);
  const shown = useRef(now);
  useEffect(() => {
    // Somebody went back, or opened another address.
    if (text === written.current) return;
    written.current = text;
    const read = readTune(text);
    shown.current = read;
    setNow(read);
    setLive(read);
  }, [text]);
  useEffect(() => {
    if (now === shown.current) return;
    shown.current = now;
    const timer = setTimeout(() => {
      written.current = changesIn(now) ? JSON.stringify(now) : "";
      setParams({ tune: written.current || null });
    }, restMs(false));
    return () => clearTimeout(timer);
  }, [now]);
  return [now, live, setNow, setLive];
}

function useAsked<T>(path: string, key: string | null, body: Record<string, unknown>): Answer<T> {
  return useAnswer<T>(key, (signal) => post<T>(path, body, { signal, reads: true }));
}

function Asking({ sizes, defaults }: { sizes: Record<string, number>; defaults: Defaults }) {
  const user = useUser();
  useLastAddress();
  const [question, ask] = useQuestion();
  const [now, live, setTune, follow] = useTune();
  const [format, setFormat] = useParam("format", defaults.formats[0] ?? "safe");
  const [tab, setTab] = useParam("tab", "block");
  const isTuned = changesIn(live) > 0;

  const key = question.trim() ? JSON.stringify([user, question, format]) : null;
  const asked = { messages: question, explain: true, record: false, format };
  const base = useAsked<Context>("/v1/context", key, asked);
  const detected = base.data?.task_profile ?? "general";
  const more = asRequest(live, defaults, detected);
  // The weights are those of a profile: which one is known when the default was answered.
  const ready = !live.weights || live.profile || base.data;
  const tuned = useAsked<Context>("/v1/context", key && isTuned && ready ? key + JSON.stringify(more) : null, { ...asked, ...more });
  const isAwaiting = base.loading || tuned.loading;
  // The first step of a slider is asked at once, the next when that is answered, or when the hand rests.
  useEffect(() => {
    if (now === live) return;
    if (!isAwaiting) return follow(now);
    const timer = setTimeout(() => follow(now), restMs(true));
    return () => clearTimeout(timer);
  }, [now, live, isAwaiting]);
  const shown = isTuned ? tuned.data ?? base.data : base.data;
  const isStale = isAwaiting || now !== live;
  const compared = isTuned && tuned.data && base.data ? base.data : null;
  const weights = { ...defaults.numbers, ...live.numbers };
  const error = (isTuned ? tuned.error : null) ?? base.error;
  const retry = () => (isTuned && tuned.error ? tuned.reload() : base.reload());
  const canRetry = error !== null && error.trouble !== "refused";

  return (
    <Page title="Ask" lead={LEAD} wide>
      <div class="ask">
        <div class="ask-question"><Question question={question} busy={key !== null && isAwaiting} onAsk={ask} onAgain={base.reload} /></div>
        <aside class="ask-side" aria-label="Tune">
          <Tuning tune={now} defaults={defaults} detected={detected} sizes={sizes} onTune={(tune) => setTune(tidy(tune))} />
        </aside>
        <div class="ask-answer">
          {error && <ErrorBox title={refusedTitle(error.field)} error={error} retry={canRetry ? retry : undefined} />}
          {!key && <Examples onAsk={ask} />}
          {key && !shown && !error && <Panel title="Context block"><Loading lines={8} what="The answer" /></Panel>}
          {key && shown && (
            <>
              <Summary shown={shown} compared={compared} stale={isStale} />
              {shown.warnings.map((each) => <p key={each} class="notice warn">{each}</p>)}
              <TaskProfile context={shown} chosen={live.profile} defaults={defaults} />
              <Block
                context={shown} budget={weights[BUDGET] ?? 0} before={compared?.tokens ?? null} format={format}
                formats={defaults.formats} stale={isStale} onFormat={setFormat}
              />
              <Panel flush class="ask-list-panel">
                <Tabs
                  label="Memories" value={tab} onChange={setTab}
                  tabs={[
                    { id: "block", title: `In the block ${shown.hits.length}` },
                    { id: "out", title: `Left out ${shown.dropped.length}` },
                    { id: "recall", title: "Recall" },
                  ]}
                />
                <div class={cls("ask-list", isStale && "stale")} role="tabpanel" aria-busy={isStale}>
                  {tab === "out" && <LeftOut dropped={shown.dropped} />}
                  {tab === "recall" && <RecallList question={question} live={live} more={more} weights={weights} defaults={defaults} />}
                  {tab !== "out" && tab !== "recall" && (
                    <HitList
                      hits={shown.hits} before={compared?.hits ?? null} levels={shown.levels} tokens={shown.hit_tokens} text={shown.text} weights={weights}
                      fusion={defaults.fusion} reasons={new Map(shown.dropped.map((each) => [each.id, reasonInWords(each.reason)]))}
                      empty="No memory would be told for this message."
                    />
                  )}
                </div>
              </Panel>
            </>
          )}
        </div>
      </div>
    </Page>
  );
}

function refusedTitle(field: string | null): string {
  if (field === "query" || field === "messages") return "The service refuses this message";
  return field ? `The service refuses ${field}` : "The question could not be answered";
}

function Question({ question, busy, onAsk, onAgain }: {
  question: string; busy: boolean; onAsk: (text: string) => void; onAgain: () => void;
}) {
  // Of each question its own: what was typed over it and not yet asked. All of it: others may begin alike.
  const [typed, setTyped, clear] = useDraft(`ask.message.${question}`, question);
  const box = useRef<HTMLTextAreaElement>(null);
  const asked = useRef<() => void>(() => undefined);
  useEffect(() => {
    asked.current();
    asked.current = () => undefined;
  }, [question]);
  const submit = () => {
    const text = typed.trim();
    if (!text) return box.current?.focus();
    if (text === question) {
      clear();
      return onAgain();
    }
    asked.current = clear;
    onAsk(text);
  };
  return (
    <form class="ask-form" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <label class="hidden-text" for="ask-message">Message</label>
      <textarea
        id="ask-message" ref={box} class="input ask-message" data-search rows={2} dir="auto" value={typed}
        placeholder="A message as your agent would send it…"
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      <div class="ask-form-foot">
        <span class="ask-keys"><Kbd>Enter</Kbd> asks, <Kbd>Shift Enter</Kbd> begins a line, <Kbd>/</Kbd> comes back here</span>
        {question && typed.trim() !== question && <span class="ask-of">not asked yet</span>}
        {question && <Button kind="quiet" onClick={() => { onAsk(""); box.current?.focus(); }}>Clear</Button>}
        <Button kind="primary" type="submit" icon="ask" busy={busy && typed.trim() === question} disabled={!typed.trim()}>Ask</Button>
      </div>
    </form>
  );
}

const EXAMPLES = ["What do you know about me?", "Draft an answer the way I like it.", "What have we decided lately?", "I get an error, why is it failing?"];

function Examples({ onAsk }: { onAsk: (text: string) => void }) {
  return (
    <Panel>
      <Empty
        icon="ask" title="Ask as your agent would"
        action={EXAMPLES.map((each) => <Button key={each} small onClick={() => onAsk(each)}>{each}</Button>)}
      >
        You see the block that would be put before the model, what each token of it went to, and for every memory why it was found.
      </Empty>
    </Panel>
  );
}

/** How much, and how it differs from the default. */
function Summary({ shown, compared, stale }: { shown: Context; compared: Context | null; stale: boolean }) {
  const moves = compared ? movesOf(shown.hits, compared.hits) : [];
  const count = (kind: string) => moves.filter((each) => each.kind === kind).length;
  const gone = compared ? goneFrom(shown.hits, compared.hits).length : 0;
  const cut = shown.levels.filter((each) => each !== "full").length;
  const same = compared !== null && !gone && moves.every((each) => each.kind === "same");
  return (
    <div class="ask-summary" role="status">
      <span><strong class="num">{formatNumber(shown.hits.length)}</strong> {shown.hits.length === 1 ? "memory" : "memories"} told</span>
      {cut > 0 && <span title="The budget has no room for all of it: these are told in part"><strong class="num">{formatNumber(cut)}</strong> of them shortened</span>}
      <span><strong class="num">{formatNumber(shown.dropped.length)}</strong> left out</span>
      {compared && (
        <span class="ask-diff">
          <span class="ask-of">Against the default:</span>
          {same && <Badge>the same memories in the same order</Badge>}
          {count("new") > 0 && <Badge tone="good">{count("new")} new</Badge>}
          {count("moved") > 0 && <Badge tone="accent">{count("moved")} moved</Badge>}
          {gone > 0 && <Badge tone="bad">{gone} gone</Badge>}
        </span>
      )}
      {stale && <span class="ask-wait"><span class="spinner" aria-hidden="true" /> ranking…</span>}
    </div>
  );
}

/** The same question to `recall`: what a tool call gets, without a budget. */
function RecallList({ question, live, more, weights, defaults }: {
  question: string; live: Tune; more: Record<string, unknown>; weights: Record<string, number>; defaults: Defaults;
}) {
  const user = useUser();
  const { budget_tokens: _, ...settings } = more;
  const asked = { query: question, explain: true };
  const key = JSON.stringify([user, question]);
  const isTuned = Object.keys(settings).length > 0;
  const base = useAsked<Recalled>("/v1/recall", key, asked);
  const tuned = useAsked<Recalled>("/v1/recall", isTuned ? key + JSON.stringify(settings) : null, { ...asked, ...settings });
  const shown = isTuned ? tuned.data ?? base.data : base.data;
  const error = (isTuned ? tuned.error : null) ?? base.error;
  if (error && !shown) return <ErrorBox error={error} retry={() => { base.reload(); tuned.reload(); }} />;
  if (!shown) return <Loading lines={6} what="Recall" />;
  return (
    <>
      <p class="ask-list-hint">What <code>recall</code> answers to the same question: the best first, without a budget{live.numbers?.[BUDGET] ? ", so the budget does not count" : ""}.</p>
      {shown.degraded.map((each) => <p key={each} class="notice warn">{each}</p>)}
      <HitList
        hits={shown.hits} before={isTuned && tuned.data && base.data ? base.data.hits : null} weights={weights} fusion={defaults.fusion}
        empty="Recall finds nothing for this question."
      />
    </>
  );
}
