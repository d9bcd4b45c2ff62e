/** Rules that hold no longer, and by which words they ended. */
import { useMemo, useState } from "preact/hooks";
import { del, part, useAction } from "../lib/api";
import { ForgetTime, forgetTime, useForgetDays } from "../lib/forgetting";
import { href, useRights, useUser } from "../lib/store";
import { Badge, Button, Empty, ErrorBox, Loading, Prose, Time, confirm } from "../lib/ui";
import { usePages } from "../lib/virtual";
import { done, whose } from "./changes-done";
import { Sources, Span, useAllPages, useSteady, type Memory } from "./changes-facts";

/** Rules and what ended them are told side by side: all of them are needed at once. */
const MOST_RULES = 5_000;
/** So many stand in the page at first, and come with each "Show more". */
const STEP = 50;

export interface Ended {
  rule: Memory;
  /** What ended it; null: it is not there any more. */
  by: Memory | null;
  /** Whether that is certain, so that it can be taken back: what ended it names it, or nothing else can have. */
  sure: boolean;
}

export function endedRules(all: readonly Memory[]): Ended[] {
  return all
    .filter((each) => each.kind === "instruction" && (each.valid_to !== null || each.known_to !== null))
    .map((rule) => ({ rule, ...enderOf(rule, all) }))
    .sort((a, b) => (b.rule.valid_to ?? "").localeCompare(a.rule.valid_to ?? ""));
}

/** What ended a rule names it. In stores of before it did not: then it is what was said at that moment to the same
 * agent, and of several the one that is most alike in its words, which is a guess. */
function enderOf(rule: Memory, all: readonly Memory[]): Pick<Ended, "by" | "sure"> {
  const others = all.filter((each) => each.id !== rule.id && ["instruction", "release", "doubtful"].includes(each.kind));
  const named = others.filter((each) => endedBy(each).includes(rule.id));
  const by = named.find((each) => each.created_at === rule.valid_to) ?? named[0];
  if (by) return { by, sure: true };
  const then = others.filter((each) => each.created_at === rule.valid_to && each.agent === rule.agent);
  const said = wordsOf(rule.content);
  const shared = (each: Memory) => [...wordsOf(each.content)].filter((word) => said.has(word)).length;
  return { by: then.sort((a, b) => shared(b) - shared(a))[0] ?? null, sure: then.length === 1 };
}

/** The rules that one ended: as the patterns found, and as the model that reads. */
function endedBy({ metadata }: Memory): readonly string[] {
  return [metadata["ended_rules"], metadata["withdrawn_rules"]].flatMap((each) => (Array.isArray(each) ? each.map(String) : []));
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []);
}

export function Withdrawn() {
  const user = useUser() ?? "";
  useForgetDays();
  const pages = useSteady(usePages<Memory>("/v1/memories", "memories", { tiers: ["procedure"], ended: true }, user, { limit: 500 }));
  useAllPages(pages, MOST_RULES);
  const [most, setMost] = useState(STEP);
  const ended = useMemo(() => endedRules(pages.items), [pages.items]);
  if (pages.error && !ended.length) return <ErrorBox error={pages.error} retry={pages.reload} />;
  if (!ended.length && (pages.loading || pages.more)) return <Loading lines={6} what="Withdrawn rules" />;
  if (!ended.length) {
    return (
      <Empty icon="changes" title="No rule was withdrawn">
        A rule ends when the user changes it (“answer in English from now on”) or takes it back (“forget what I said about citing”). It is shown here with the words that ended it.
      </Empty>
    );
  }
  return (
    <div class="changes-withdrawn">
      {pages.error && <ErrorBox error={pages.error} retry={pages.loadMore} />}
      {ended.slice(0, most).map((each) => <WithdrawnRule key={each.rule.id} ended={each} />)}
      {ended.length > most && <Button class="changes-more" onClick={() => setMost(most + STEP)}>Show {Math.min(STEP, ended.length - most)} more of {ended.length}</Button>}
      {pages.more && <p class="muted" role="status">Only rules among the last {MOST_RULES} records are shown.</p>}
    </div>
  );
}

function WithdrawnRule({ ended: { rule, by, sure } }: { ended: Ended }) {
  const { write } = useRights();
  const again = useAction(async () => {
    if (!by) return;
    const of = whose();
    const replaced = by.kind === "instruction";
    const agreed = await confirm({
      title: "Let this rule hold again?",
      yes: "Hold again",
      words: (
        <>
          <Prose text={rule.content} lines={4} />
          <p class="dialog-words">
            {replaced ? "The rule that took its place is forgotten:" : "The words that ended it are no longer followed:"}
          </p>
          <Prose text={by.content} lines={4} />
          <p class="dialog-words">You can undo this for <ForgetTime />. What was said itself stays in the timeline.</p>
        </>
      ),
    });
    if (!agreed) return;
    await del(`/v1/memories/${part(by.id)}`, {}, of);
    done("The rule holds again", {
      ...of,
      text: rule.content,
      undo: [{ method: "POST", path: `/v1/memories/${part(by.id)}/restore` }],
      note: `What ended it is forgotten; it can be restored for ${forgetTime()}: “${by.content.slice(0, 120)}”.`,
    });
  });
  return (
    <article class="changes-card" aria-label={`Withdrawn rule: ${rule.content.slice(0, 60)}`}>
      <div class="changes-sides">
        <div class="changes-side old">
          <header class="changes-side-head">Rule <Badge>{by?.kind === "instruction" ? "replaced" : "withdrawn"}</Badge></header>
          <div class="changes-struck"><Prose text={rule.content} lines={6} /></div>
          <div class="changes-side-meta"><Span from={rule.created_at} to={rule.valid_to} /><Sources ids={rule.sources} of={rule.content} /></div>
        </div>
        <div class="changes-side new">
          <header class="changes-side-head">{by ? sure ? "Ended by these words" : "Ended, probably by these words" : "Ended"}{rule.valid_to && <span class="muted"><Time at={rule.valid_to} /></span>}</header>
          {by
            ? (
              <>
                <Prose text={by.content} lines={6} />
                <div class="changes-side-meta">
                  {by.kind === "instruction" && (by.valid_to === null && by.known_to === null
                    ? <a href={href("profile", { tab: "rules" })}>holds now</a>
                    : <span class="muted">ended since</span>)}
                  {by.kind === "doubtful" && <Badge tone="warn">not the user’s own words</Badge>}
                  <Sources ids={by.sources} of={by.content} />
                </div>
              </>
            )
            : <p class="muted">The words that ended it are not there any more, or an answer ended it.</p>}
        </div>
      </div>
      {write && by && sure && by.kind !== "doubtful" && (
        <div class="changes-card-acts"><Button small icon="undo" busy={again.busy} aria-label={`Let it hold again: ${rule.content.slice(0, 60)}`} onClick={() => again.run()}>Let it hold again</Button></div>
      )}
      {again.error && <ErrorBox error={again.error} />}
    </article>
  );
}
