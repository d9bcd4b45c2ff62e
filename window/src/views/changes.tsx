/** Facts as chains of versions, what waits for a word, and rules that were withdrawn. */
import { useEffect } from "preact/hooks";
import { get, useAnswer } from "../lib/api";
import { useParam, useStore, useUser } from "../lib/store";
import { Badge, Page, Tabs } from "../lib/ui";
import { Chains } from "./changes-chains";
import { Withdrawn } from "./changes-rules";
import { Settle } from "./changes-settle";
import { JustDone, changed } from "./changes-done";

type Tab = "facts" | "settle" | "rules";

const MOST_COUNTED = 100;

interface Waiting {
  /** How many things wait; up to `MOST_COUNTED` of each kind are counted. */
  count: number;
  more: boolean;
}

async function waiting(signal: AbortSignal): Promise<Waiting> {
  const paths = ["/v1/clarifications", "/v1/contradictions", "/v1/conflicts"];
  const found = await Promise.all(
    paths.map((path) => get<{ count: number; next: string | null }>(path, { limit: MOST_COUNTED }, { signal })),
  );
  return { count: found.reduce((sum, each) => sum + each.count, 0), more: found.some((each) => each.next !== null) };
}

export default function Changes() {
  const user = useUser();
  const [tab, setTab] = useParam("tab", "facts");
  const turn = useStore(changed);
  const waits = useAnswer(`${user}`, waiting);
  useEffect(() => {
    if (turn) waits.reload();
  }, [turn]);
  const shown: Tab = tab === "settle" || tab === "rules" ? tab : "facts";
  const count = waits.data?.count ?? 0;
  const number = `${count}${waits.data?.more ? "+" : ""}`;
  return (
    <Page title="What changed" lead="Every fact with the versions before it, what waits for your word, and rules that were withdrawn.">
      <Tabs<Tab>
        label="What changed" value={shown} onChange={(next) => setTab(next)}
        tabs={[
          { id: "facts", title: "Facts" },
          { id: "settle", title: <>To settle {count > 0 && <span class="changes-count"><Badge tone="warn" title={`${number} wait for an answer`}>{number}</Badge></span>}</> },
          { id: "rules", title: "Withdrawn rules" },
        ]}
      />
      <JustDone />
      {shown === "facts" && <Chains />}
      {shown === "settle" && <Settle />}
      {shown === "rules" && <Withdrawn />}
    </Page>
  );
}
