/** What waits for a person's word: questions, contradictions, and conflicts between agents. */
import type { ComponentChildren } from "preact";
import { part, post, useAction } from "../lib/api";
import { href, useRights, useUser } from "../lib/store";
import { Badge, Button, Empty, ErrorBox, Loading, Prose, Time, confirm } from "../lib/ui";
import { usePages, type Pages } from "../lib/virtual";
import { done, whose } from "./changes-done";
import { Side, Words, reasonWords, useSteady, type Fact } from "./changes-facts";

interface Clarification {
  id: string;
  question: string;
  new: Fact;
  known: Fact[];
  reason: string;
  at: string;
}

interface Contradiction {
  earlier: Fact;
  later: Fact;
}

interface Conflict {
  id: string;
  slot: string;
  facts: Fact[];
  agents: (string | null)[];
  at: string;
}

type Keep = "new" | "old" | "both";

const PAGE = 50;

export function Settle() {
  const user = useUser() ?? "";
  const questions = useSteady(usePages<Clarification>("/v1/clarifications", "clarifications", {}, user, { limit: PAGE }));
  const contradictions = useSteady(usePages<Contradiction>("/v1/contradictions", "contradictions", {}, user, { limit: PAGE }));
  const conflicts = useSteady(usePages<Conflict>("/v1/conflicts", "conflicts", {}, user, { limit: PAGE }));
  const none = [questions, contradictions, conflicts].every((each) => !each.items.length && !each.loading && !each.error);
  if (none) {
    return (
      <Empty icon="check" title="Nothing waits for you">
        When something new would end what is known, but not for certain, or two facts cannot both be so, you are asked here.
      </Empty>
    );
  }
  return (
    <div class="changes-settle">
      <Group title="Questions" pages={questions} hint="Something new would end what is known, but not for certain. Until you answer, what is known holds.">
        {(each) => <Question key={each.id} asked={each} />}
      </Group>
      <Group title="Contradictions" pages={contradictions} hint="The two cannot both be so, and both hold until you say which.">
        {(each) => <Opposites key={`${each.earlier.id} ${each.later.id}`} pair={each} />}
      </Group>
      <Group title="Conflicts between agents" pages={conflicts} hint="Agents were told different things of one matter. What nobody settles in a day is decided by trust in them.">
        {(each) => <AgentsDisagree key={each.id} conflict={each} />}
      </Group>
    </div>
  );
}

function Group<T>({ title, hint, pages, children }: {
  title: string; hint: string; pages: Pages<T>; children: (item: T) => ComponentChildren;
}) {
  if (!pages.items.length && !pages.error && !pages.loading) return null;
  return (
    <section class="changes-settle-group" aria-label={title}>
      <header>
        <h2>{title} {pages.items.length > 0 && <span class="muted num">{pages.items.length}{pages.more ? "+" : ""}</span>}</h2>
        <p class="muted">{hint}</p>
      </header>
      {pages.error && <ErrorBox error={pages.error} retry={pages.items.length ? pages.loadMore : pages.reload} />}
      {!pages.items.length && pages.loading && <Loading lines={3} what={title} />}
      {pages.items.map((each) => children(each))}
      {pages.more && pages.items.length > 0 && <Button busy={pages.loading} onClick={pages.loadMore}>Show more</Button>}
    </section>
  );
}

function Question({ asked }: { asked: Clarification }) {
  return asked.reason === "handed-over" ? <RuleQuestion asked={asked} /> : <FactQuestion asked={asked} />;
}

function FactQuestion({ asked }: { asked: Clarification }) {
  const { write } = useRights();
  const path = `/v1/clarifications/${part(asked.id)}/answer`;
  const answer = useAction(async (keep: Keep) => {
    const of = whose();
    const held = await post<Fact>(path, { keep }, of);
    if (keep === "old") {
      done("The known fact was kept", {
        ...of,
        text: held.content,
        undo: [{ method: "POST", path: `/v1/facts/${part(asked.id)}/invalidate`, body: { undo: true, reason: "undone in the window" } }],
      });
      return;
    }
    done(keep === "new" ? "The new fact holds now" : "Both hold now", {
      ...of,
      text: held.content,
      undo: [{ method: "DELETE", path: `/v1/memories/${part(held.id)}` }],
      note: "Undo forgets the new one, so that the known one holds again. The question is not asked again.",
    });
  });
  return (
    <article class="changes-card" aria-label={asked.question}>
      <header class="changes-card-head"><h3>Which one holds?</h3><span class="muted">{reasonWords(asked.reason)}. <Time at={asked.at} as="ago" /></span></header>
      <div class="changes-sides">
        <div class="changes-side-stack">
          {asked.known.map((each) => <Side key={each.id} title="Known" tone="old" fact={each} />)}
          {!asked.known.length && <div class="changes-side old"><p class="muted">What was known is gone.</p></div>}
        </div>
        <Side title="New" tone="new" fact={asked.new} />
      </div>
      <Words ids={asked.new.sources} />
      {write && (
        <div class="changes-card-acts">
          <Button busy={answer.busy} disabled={!asked.known.length} onClick={() => answer.run("old")}>Keep the known one</Button>
          <Button busy={answer.busy} onClick={() => answer.run("new")}>Keep the new one</Button>
          <Button busy={answer.busy} kind="quiet" onClick={() => answer.run("both")}>Keep both</Button>
        </div>
      )}
      {answer.error && <ErrorBox error={answer.error} />}
    </article>
  );
}

function RuleQuestion({ asked }: { asked: Clarification }) {
  const { write } = useRights();
  const answer = useAction(async (keep: Keep) => {
    const of = whose();
    if (keep === "old") {
      const sure = await confirm({
        title: "It is no rule?", yes: "It is no rule",
        words: (
          <>
            <Prose text={asked.new.content} lines={4} />
            <p class="dialog-words">This cannot be undone: the question is not asked again. The turn itself stays as it is, and you can add the rule by hand under Profile.</p>
          </>
        ),
      });
      if (!sure) return;
    }
    const made = await post<Fact>(`/v1/clarifications/${part(asked.id)}/answer`, { keep }, of);
    if (keep === "old") done("It is no rule", { ...of, text: asked.new.content, note: "This cannot be undone. Add the rule by hand under Profile if it was meant." });
    else {
      done("It is a rule now", {
        ...of,
        text: made.content,
        undo: [{ method: "DELETE", path: `/v1/memories/${part(made.id)}` }],
        note: "Undo forgets the rule. The question is not asked again.",
      });
    }
  });
  return (
    <article class="changes-card" aria-label={asked.question}>
      <header class="changes-card-head"><h3>Did you mean this as a rule?</h3><span class="muted">{reasonWords(asked.reason)}. <Time at={asked.at} as="ago" /></span></header>
      <div class="changes-side new"><Prose text={asked.new.content} lines={8} /></div>
      <p class="muted">The words it stands in:</p>
      <Words ids={asked.new.sources} />
      {write && (
        <div class="changes-card-acts">
          <Button busy={answer.busy} onClick={() => answer.run("new")}>Yes, follow it</Button>
          <Button busy={answer.busy} onClick={() => answer.run("old")}>No, it is part of the text</Button>
        </div>
      )}
      {answer.error && <ErrorBox error={answer.error} />}
    </article>
  );
}

function Opposites({ pair }: { pair: Contradiction }) {
  const { write } = useRights();
  const settle = useAction(async (kept: Fact, other: Fact) => {
    const of = whose();
    const path = `/v1/facts/${part(other.id)}/invalidate`;
    await post(path, { reason: `settled in the window: “${kept.content.slice(0, 200)}” was kept` }, of);
    done("One of two was kept", { ...of, text: kept.content, undo: [{ method: "POST", path, body: { undo: true, reason: "undone in the window" } }] });
  });
  const both = useAction(async () => {
    const of = whose();
    const held = await post<Fact>(`/v1/clarifications/${part(pair.later.id)}/answer`, { keep: "both" }, of);
    done("Both are so", {
      ...of,
      text: held.content,
      undo: [{ method: "DELETE", path: `/v1/memories/${part(held.id)}` }],
      note: `${pair.later.contradicts.length > 1 ? "It answers for all that the later one contradicts. " : ""}Undo forgets the answer, so that you are asked again.`,
    });
  });
  const busy = settle.busy || both.busy;
  const many = pair.later.contradicts.length;
  const sides: [string, Fact, Fact][] = [["Said first", pair.earlier, pair.later], ["Said later", pair.later, pair.earlier]];
  return (
    <article class="changes-card" aria-label={`Contradiction: ${pair.earlier.content.slice(0, 60)}`}>
      <div class="changes-sides">
        {sides.map(([title, fact, other]) => (
          <Side key={fact.id} title={title} fact={fact}>
            {write && (
              <div class="changes-card-acts">
                <Button small busy={busy} aria-label={`This one holds: ${fact.content.slice(0, 60)}`} onClick={() => settle.run(fact, other)}>This one holds</Button>
              </div>
            )}
          </Side>
        ))}
      </div>
      {write && (
        <div class="changes-card-acts">
          {many > 1 && <span class="muted">The later one contradicts {many} facts. “Both are so” answers for all of them.</span>}
          <Button small kind="quiet" busy={busy} onClick={() => both.run()}>Both are so</Button>
        </div>
      )}
      {(settle.error ?? both.error) && <ErrorBox error={(settle.error ?? both.error)!} />}
    </article>
  );
}

function AgentsDisagree({ conflict }: { conflict: Conflict }) {
  const { write } = useRights();
  const settle = useAction(async (keep: string) => {
    const of = whose();
    await post(`/v1/conflicts/${part(conflict.id)}/resolve`, { keep }, of);
    const over = keep === "both" ? [] : conflict.facts.filter((each) => each.id !== keep);
    const kept = conflict.facts.find((each) => each.id === keep);
    done(keep === "both" ? "Both are kept" : "One of two was kept", {
      ...of,
      text: kept?.content ?? conflict.facts.map((each) => each.content).join(" · "),
      undo: over.map((each) => ({ method: "POST", path: `/v1/facts/${part(each.id)}/invalidate`, body: { undo: true, reason: "undone in the window" } })),
      note: over.length ? "Undo lets both hold again. The conflict itself stays settled." : "Both hold as before; the conflict is settled for good.",
    });
  });
  return (
    <article class="changes-card" aria-label={`Conflict: ${conflict.facts.map((each) => each.content.slice(0, 40)).join(" / ")}`}>
      <div class="changes-sides">
        {conflict.facts.map((fact, index) => (
          <Side key={fact.id} title={<>Told to <Badge tone="accent"><bdi>{conflict.agents[index] ?? "no agent"}</bdi></Badge></>} fact={fact}>
            {write && (
              <div class="changes-card-acts">
                <Button small busy={settle.busy} aria-label={`Keep this one: ${fact.content.slice(0, 60)}`} onClick={() => settle.run(fact.id)}>Keep this one</Button>
              </div>
            )}
          </Side>
        ))}
      </div>
      <div class="changes-card-acts spread">
        <span class="muted"><Time at={conflict.at} as="ago" /> · <a href={href("changes", { tab: "facts", q: conflict.facts[0]?.content.slice(0, 80) ?? "" })}>In facts</a></span>
        {write && <Button small kind="quiet" busy={settle.busy} onClick={() => settle.run("both")}>Keep both</Button>}
      </div>
      {settle.error && <ErrorBox error={settle.error} />}
    </article>
  );
}
