/** Facts as chains: the version that holds on top, those before it below, and why each ended. */
import { useMemo, useState } from "preact/hooks";
import { get, part, post, put, useAction, useAnswer } from "../lib/api";
import { href, useDraft, useParam, useRights, useUser } from "../lib/store";
import { entryOf } from "../lib/text";
import { Answered, Badge, Button, Dialog, Empty, ErrorBox, Field, Icon, IconButton, Loading, Prose, SearchBox, Segmented, Time, cls, confirm, formatNumber } from "../lib/ui";
import { VirtualList, usePages } from "../lib/virtual";
import { done, whose } from "./changes-done";
import { Sources, Span, StateBadge, Told, reasonWords, useSteady, type Fact, type HistoryLine } from "./changes-facts";

type Which = "all" | "changed" | "ended";

export interface Chain {
  id: string;
  /** The newest first. */
  versions: Fact[];
}

/**
 * Versions of one claim, and what they replaced, as one chain each; in the order in which the first
 * of each was found.
 */
export function toChains(facts: readonly Fact[]): Chain[] {
  const parent = new Map<string, string>();
  const root = (claim: string): string => {
    let at = claim;
    for (let up = parent.get(at); up !== undefined; up = parent.get(at)) at = up;
    return at;
  };
  const claimOf = new Map(facts.map((each) => [each.id, each.claim]));
  for (const fact of facts) {
    for (const id of fact.replaces) {
      const [one, other] = [root(fact.claim), root(claimOf.get(id) ?? fact.claim)];
      if (one !== other) parent.set(other, one);
    }
  }
  const chains = new Map<string, Fact[]>();
  for (const fact of facts) {
    const id = root(fact.claim);
    const known = chains.get(id);
    if (known) known.push(fact);
    else chains.set(id, [fact]);
  }
  return [...chains].map(([id, versions]) => ({ id, versions: versions.sort(newestFirst) }));
}

function newestFirst(a: Fact, b: Fact): number {
  const holds = Number(b.status === "active") - Number(a.status === "active");
  return holds || b.valid_from.localeCompare(a.valid_from) || b.known_from.localeCompare(a.known_from);
}

const isChanged = ({ versions }: Chain) => versions.length > 1 || versions.some((each) => each.replaces.length > 0);
const isEnded = ({ versions }: Chain) => versions.every((each) => each.status === "superseded" || each.status === "invalidated");

function wanted(chain: Chain, which: Which, search: string): boolean {
  if (which === "changed" && !isChanged(chain)) return false;
  if (which === "ended" && !isEnded(chain)) return false;
  const sought = search.trim().toLowerCase();
  return !sought || chain.versions.some((each) => each.content.toLowerCase().includes(sought));
}

const PAGE = 500;
/** So many facts the service lists; those before are in the timeline alone. */
const MOST_FACTS = 10_000;

export function Chains() {
  const user = useUser();
  const { write } = useRights();
  const [which, setWhich] = useParam("show", "all");
  const [search, setSearch] = useParam("q");
  const [open, setOpen] = useParam("history");
  const pages = useSteady(usePages<Fact>("/v1/facts", "facts", { status: "all" }, user ?? "", { limit: PAGE }));
  const chains = useMemo(() => toChains(pages.items), [pages.items]);
  const shown = useMemo(
    () => chains.filter((each) => wanted(each, which as Which, search)), [chains, which, search],
  );
  const texts = useMemo(() => new Map(pages.items.map((each) => [each.id, each.content])), [pages.items]);
  const [editing, setEditing] = useState<Fact | null>(null);
  const numbers = { all: chains.length, changed: chains.filter(isChanged).length, ended: chains.filter(isEnded).length };
  const cut = !pages.more && pages.items.length >= MOST_FACTS;
  const more = pages.more || cut ? "+" : "";
  return (
    <>
      <div class="changes-bar">
        <Segmented<Which>
          label="Which facts" value={which as Which} onChange={(next) => setWhich(next)}
          options={(["all", "changed", "ended"] as const).map((value) => ({
            value,
            title: <>{{ all: "All", changed: "Changed only", ended: "Ended" }[value]} <span class="muted num">{numbers[value]}{more}</span></>,
          }))}
        />
        <SearchBox label="Search in facts" placeholder="Search in facts" value={search} onInput={setSearch} />
      </div>
      {cut && (
        <p class="notice" role="status"><Icon name="info" /><span>These are the last {formatNumber(MOST_FACTS)} facts, as many as are listed here. Older ones are neither counted nor searched: the <a href={href("timeline", { tier: "fact", status: "all" })}>timeline</a> has all.</span></p>
      )}
      <div class="changes-box">
        <VirtualList
          items={shown} keyOf={(each) => each.id} label="Facts" estimate={92} pages={{ ...pages, items: shown, update: () => undefined }}
          onOpen={(each) => setOpen(each.versions[0]?.id ?? null, { replace: false })}
          row={(each) => <ChainRow chain={each} texts={texts} write={write} onEdit={setEditing} onHistory={(id) => setOpen(id, { replace: false })} />}
          empty={pages.more ? <Loading lines={8} what="Facts" /> : <NoFacts any={chains.length > 0} cut={cut} which={which as Which} search={search} onAll={() => { setWhich("all"); setSearch(null); }} />}
        />
      </div>
      {editing && <EditFact fact={editing} onClose={() => setEditing(null)} />}
      {open && <History id={open} texts={texts} versions={chains.find((each) => each.versions.some((one) => one.id === open))?.versions ?? []} onClose={() => setOpen(null)} />}
    </>
  );
}

function NoFacts({ any, cut, which, search, onAll }: { any: boolean; cut: boolean; which: Which; search: string; onAll: () => void }) {
  if (!any) {
    return (
      <Empty icon="changes" title="No facts yet">
        Facts are drawn from what is said, a moment after it was stored. Each one that changes later becomes a chain here.
      </Empty>
    );
  }
  const none = cut ? `None of the last ${formatNumber(MOST_FACTS)} facts` : "No fact";
  const words = search
    ? `${none} has “${search.slice(0, 60)}” in it.`
    : which === "changed" ? `${none} has changed so far: each holds as it was first told.` : `${none} has ended without another in its place.`;
  return <Empty icon="filter" title="None of these" action={<Button onClick={onAll}>Show all</Button>}>{words}</Empty>;
}

const MOST_SHOWN = 3;

function ChainRow({ chain, texts, write, onEdit, onHistory }: {
  chain: Chain; texts: ReadonlyMap<string, string>; write: boolean; onEdit: (fact: Fact) => void; onHistory: (id: string) => void;
}) {
  const [all, setAll] = useState(false);
  const [head, ...before] = chain.versions;
  const acts = useFactActs();
  if (!head) return null;
  const shown = all ? before : before.slice(0, MOST_SHOWN);
  const short = head.content.slice(0, 60);
  return (
    <article class={cls("changes-chain", before.length > 0 && "changed")}>
      <VersionLine fact={head} newer={null} texts={texts} head />
      <div class="changes-chain-acts">
        <IconButton small icon="timeline" label={`History of: ${short}`} onClick={() => onHistory(head.id)} />
        {write && head.status === "active" && (
          <>
            <IconButton small icon="edit" label={`Edit: ${short}`} onClick={() => onEdit(head)} />
            <IconButton small icon="trash" label={`Take back: ${short}`} busy={acts.busy} onClick={() => acts.run("back", head, before.length > 0)} />
          </>
        )}
        {write && head.status === "invalidated" && (
          <Button small icon="undo" busy={acts.busy} aria-label={`Let it hold again: ${short}`} onClick={() => acts.run("hold", head)}>Hold again</Button>
        )}
      </div>
      {acts.error && <ErrorBox error={acts.error} />}
      {shown.length > 0 && (
        <ol class="changes-chain-before" aria-label="Versions before it">
          {shown.map((fact, index) => (
            <li key={fact.id}><VersionLine fact={fact} newer={enderOf(fact, chain.versions) ?? (index ? shown[index - 1] ?? head : head)} texts={texts} /></li>
          ))}
        </ol>
      )}
      {before.length > MOST_SHOWN && (
        <button type="button" class="link-button changes-chain-more" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${before.length - MOST_SHOWN} more versions`}
        </button>
      )}
    </article>
  );
}

/** The version that took the place of another. */
export function enderOf(fact: Fact, versions: readonly Fact[]): Fact | null {
  return versions.find((each) => each.replaces.includes(fact.id)) ?? null;
}

function VersionLine({ fact, newer, texts, head = false }: {
  fact: Fact; newer: Fact | null; texts: ReadonlyMap<string, string>; head?: boolean;
}) {
  const why = fact.status === "superseded" ? reasonWords(newer?.reason ?? (fact.reason === "told-late" ? fact.reason : "")) : "";
  return (
    <div class={cls("changes-version", head && "head", fact.status !== "active" && "over")}>
      <Told fact={fact} lines={head ? 4 : 3} />
      <div class="changes-version-meta">
        <StateBadge status={fact.status} />
        <Span from={fact.valid_from} to={fact.valid_to} />
        {head && fact.category !== "context" && fact.category !== "other" && <Badge>{fact.category}</Badge>}
        {fact.agent && <Badge title="The agent that was told"><bdi>{fact.agent}</bdi></Badge>}
        {fact.origin !== "user" && <Badge title="Whose word it is"><bdi>{fact.origin}</bdi></Badge>}
        <Sources ids={fact.sources} of={fact.content} />
      </div>
      {why && <p class="changes-version-why">{why}.</p>}
      {fact.status === "invalidated" && <TakenBackWhy id={fact.id} texts={texts} />}
    </div>
  );
}

function TakenBackWhy({ id, texts }: { id: string; texts: ReadonlyMap<string, string> }) {
  const lines = useAnswer(id, (signal) => get<{ versions: HistoryLine[] }>(`/v1/facts/${part(id)}/history`, {}, { signal }));
  const last = lines.data?.versions.filter((each) => each.record === id && each.action === "invalidated").pop();
  if (!last) return null;
  return <p class="changes-version-why">Taken back <Time at={last.at} />{last.note ? <>: <span dir="auto">{reasonWords(last.note, texts)}</span></> : "."}</p>;
}

function useFactActs() {
  return useAction(async (act: "back" | "hold", fact: Fact, replaces = false) => {
    const of = whose();
    const path = `/v1/facts/${part(fact.id)}/invalidate`;
    if (act === "hold") {
      await post(path, { undo: true, reason: "undone in the window" }, of);
      done("The fact holds again", { ...of, text: fact.content, undo: [{ method: "POST", path, body: { reason: "by hand, in the window" } }] });
      return;
    }
    const sure = await confirm({
      title: "Take this fact back?",
      yes: "Take back",
      danger: true,
      words: (
        <>
          <Prose text={fact.content} lines={6} />
          <p class="dialog-words">
            It holds no longer and stays here as history. You can let it hold again at any time. The words it was read from stay in the timeline and may still be told.
            {replaces && " What it replaced does not hold again: for that, forget this fact in the timeline instead."}
          </p>
        </>
      ),
    });
    if (!sure) return;
    await post(path, { reason: "by hand, in the window" }, of);
    done("The fact was taken back", { ...of, text: fact.content, undo: [{ method: "POST", path, body: { undo: true, reason: "undone in the window" } }] });
  });
}

function EditFact({ fact, onClose }: { fact: Fact; onClose: () => void }) {
  const [text, setText, clear] = useDraft(`fact.${fact.id}`, fact.content);
  const save = useAction(async () => {
    const of = whose();
    const made = await put<Fact>(`/v1/facts/${part(fact.id)}`, { text: text.trim() }, of);
    clear();
    onClose();
    done("A new version was stored", { ...of, text: made.content, undo: [{ method: "DELETE", path: `/v1/memories/${part(made.id)}` }] });
  });
  const same = text.trim() === fact.content || !text.trim();
  return (
    <Dialog
      title="Edit the fact" onClose={onClose}
      footer={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" busy={save.busy} disabled={same} onClick={() => save.run()}>Store a new version</Button></>}
    >
      <Field label="It should say" hint="The present text stays in the history as the version before it.">
        {(id) => <textarea id={id} class="input" rows={4} dir="auto" value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      </Field>
      {save.error && <ErrorBox error={save.error} />}
    </Dialog>
  );
}

const ACTIONS: Record<string, string> = {
  stored: "Learned", superseded: "Replaced", invalidated: "Taken back", reopened: "Holds again", confirmed: "Said again",
  changed: "Changed", forgotten: "Forgotten", restored: "Restored", archived: "Put aside", unarchived: "Brought back",
  praised: "Praised", blamed: "Blamed",
};

/** Everything that happened to a chain, the last first. */
function History({ id, texts, versions, onClose }: {
  id: string; texts: ReadonlyMap<string, string>; versions: readonly Fact[]; onClose: () => void;
}) {
  const answer = useAnswer(id, (signal) => get<{ versions: HistoryLine[]; next: string | null }>(`/v1/facts/${part(id)}/history`, { limit: 500 }, { signal }));
  const facts = new Map(versions.map((each) => [each.id, each]));
  return (
    <Dialog title="History of a fact" side onClose={onClose}>
      <Answered answer={answer} what="The history" lines={6}>
        {(found) => (
          <ol class="changes-history">
            {[...found.versions].reverse().map((line, index) => (
              <li key={`${line.at} ${index}`} class={cls("changes-history-line", line.action)}>
                <div class="changes-history-head"><strong>{entryOf(ACTIONS, line.action) ?? line.action}</strong> <Time at={line.at} /></div>
                {line.content !== null && <Prose text={line.content} lines={6} />}
                {line.note && <p class="changes-version-why" dir="auto">{reasonWords(line.note, texts)}</p>}
                {line.action === "stored" && <Sources ids={facts.get(line.record ?? "")?.sources ?? []} of={line.content ?? ""} />}
              </li>
            ))}
          </ol>
        )}
      </Answered>
    </Dialog>
  );
}
