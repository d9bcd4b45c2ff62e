/** How things are done: procedures with their steps, what to think of them at, and how they fared. */
import { del, part, useAction } from "../lib/api";
import { ForgetTime } from "../lib/forgetting";
import { href, useParam, useRights, useUser } from "../lib/store";
import { Badge, Button, Disclosure, Empty, ErrorBox, IconButton, Loading, Prose, SearchBox, Time, confirm, formatPercent } from "../lib/ui";
import { usePages } from "../lib/virtual";
import { done, whose } from "./changes-done";
import { useSteady } from "./changes-facts";

interface Procedure {
  id: string;
  title: string;
  kind: string;
  steps: string[];
  trigger: string;
  tags: string[];
  origin: string;
  version: number;
  worked: number;
  failed: number;
  strength: number;
  created_at: string;
  agent: string | null;
}

const PAGE = 100;

export function Procedures() {
  const user = useUser() ?? "";
  const [tag, setTag] = useParam("tag");
  const [search, setSearch] = useParam("q");
  const pages = useSteady(usePages<Procedure>("/v1/procedures", "procedures", { tag }, user, { limit: PAGE }));
  const sought = search.trim().toLowerCase();
  const shown = pages.items.filter((each) => !sought || [each.title, each.trigger, ...each.steps].some((text) => text.toLowerCase().includes(sought)));
  const loading = !pages.items.length && pages.loading;
  return (
    <>
      <div class="changes-bar">
        <SearchBox label="Search in procedures" value={search} onInput={setSearch} />
        {tag && <Button small icon="close" aria-label={`#${tag}: show all tags again`} onClick={() => setTag(null)}><span dir="auto">#{tag}</span></Button>}
      </div>
      {pages.error && <ErrorBox error={pages.error} retry={pages.items.length ? pages.loadMore : pages.reload} />}
      {loading && <Loading lines={6} what="Procedures" />}
      {!loading && !pages.error && !shown.length && (
        pages.items.length || tag
          ? <Empty icon="filter" title="None of these" action={<Button onClick={() => { setTag(null); setSearch(null); }}>Show all</Button>} />
          : (
            <Empty icon="operations" title="No procedures yet">
              Workflows, rules of thumb and templates that an agent looks up before it sets to work. It writes them with <code>POST /v1/procedures</code>; they are told as data and are never an order.
            </Empty>
          )
      )}
      <div class="profile-procedures">
        {shown.map((each) => <ProcedureCard key={each.id} procedure={each} onTag={(next) => setTag(next)} />)}
      </div>
      {pages.more && pages.items.length > 0 && <Button class="profile-show-more" busy={pages.loading} onClick={pages.loadMore}>Show more</Button>}
    </>
  );
}

function ProcedureCard({ procedure, onTag }: { procedure: Procedure; onTag: (tag: string) => void }) {
  const { write } = useRights();
  const forget = useAction(async () => {
    const of = whose();
    const sure = await confirm({
      title: "Forget this procedure?", yes: "Forget", danger: true,
      words: (
        <>
          <Prose text={procedure.title} />
          <p class="dialog-words">It is hidden from every read{procedure.version > 1 ? ", and the version before it holds again" : ""}. You can undo this for <ForgetTime />.</p>
        </>
      ),
    });
    if (!sure) return;
    await del(`/v1/memories/${part(procedure.id)}`, {}, of);
    done("The procedure was forgotten", { ...of, text: procedure.title, undo: [{ method: "POST", path: `/v1/memories/${part(procedure.id)}/restore` }] });
  });
  const percent = formatPercent(procedure.strength);
  return (
    <article class="changes-card profile-procedure" aria-label={procedure.title}>
      <header class="profile-procedure-head">
        <h2 dir="auto">{procedure.title}</h2>
        <span class="profile-strength" title={`Strength ${percent}: higher for what worked`}>
          <meter min={0} max={1} value={procedure.strength} aria-label={`Strength ${percent}`} /><span class="num">{percent}</span>
        </span>
        <span class="row">
          <a class="changes-source-link" href={href("timeline", { id: procedure.id })} aria-label={`Open in the timeline: ${procedure.title.slice(0, 60)}`}>Open</a>
          {write && <IconButton small icon="trash" label={`Forget: ${procedure.title.slice(0, 60)}`} busy={forget.busy} onClick={() => forget.run()} />}
        </span>
      </header>
      {procedure.trigger && <p class="profile-rule-condition"><span class="profile-rule-when">when</span> <span dir="auto">{procedure.trigger}</span></p>}
      <Disclosure open={procedure.steps.length <= 5} summary={<>{procedure.steps.length === 1 ? "1 step" : `${procedure.steps.length} steps`}</>}>
        <ol class="profile-steps">{procedure.steps.map((each, index) => <li key={index}><Prose text={each} lines={4} /></li>)}</ol>
      </Disclosure>
      <div class="changes-side-meta">
        <Badge>{procedure.kind}</Badge>
        {procedure.tags.map((each) => <button key={each} type="button" class="profile-tag" dir="auto" aria-label={`#${each}: only with this tag`} onClick={() => onTag(each)}>#{each}</button>)}
        {procedure.origin !== "user" && <span>by <bdi>{procedure.agent ?? procedure.origin}</bdi></span>}
        <span>version {procedure.version}</span>
        <span>worked {procedure.worked}×{procedure.failed > 0 && <>, failed {procedure.failed}×</>}</span>
        <span>since <Time at={procedure.created_at} as="date" /></span>
      </div>
      {forget.error && <ErrorBox error={forget.error} />}
    </article>
  );
}
