/** What will be hidden within some days if nobody needs it. Nothing of it is deleted. */
import { useParam, useUser } from "../../lib/store";
import { glance } from "../../lib/text";
import { Badge, Empty, Panel, Segmented, Time, TierBadge, formatPercent } from "../../lib/ui";
import { VirtualList, usePages } from "../../lib/virtual";
import { NeedsUser, memoryLink } from "./parts";

interface Faded {
  id: string;
  tier: string;
  kind: string;
  content: string;
  /** 0..1, now and after these days. */
  strength: number;
  then: number;
  hidden_at: string | null;
  hidden: boolean;
}

export function Fading() {
  const user = useUser();
  const [days, setDays] = useParam("days", "30");
  const fading = usePages<Faded>(user ? "/v1/fading" : null, "memories", { days }, user ?? "");
  if (!user) return <NeedsUser what="What fades" icon="timeline" />;
  return (
    <Panel
      flush title={`Hidden within ${days} days`}
      actions={
        <Segmented
          label="Days ahead" value={days} onChange={setDays}
          options={["7", "30", "90", "365"].map((value) => ({ value, title: `${value} d` }))}
        />
      }
    >
      <p class="operations-lead muted">The first to go first. What fades is hidden from recall and stays in the store; whatever is used or praised meanwhile stays in sight.</p>
      <div class="operations-list tall">
        <VirtualList
          items={fading.items} pages={fading} label="Fading memories" keyOf={(each) => each.id} estimate={66}
          onOpen={(each) => { location.hash = memoryLink(each.id); }}
          row={(each) => <FadedRow memory={each} />}
          empty={<Empty icon="check" title={`Nothing fades within ${days} days`}>Notes and what is seldom needed fade first; facts and instructions do not fade while they hold.</Empty>}
        />
      </div>
    </Panel>
  );
}

function FadedRow({ memory }: { memory: Faded }) {
  return (
    <div class="operations-faded">
      <div class="operations-faded-what">
        <p class="row"><TierBadge tier={memory.tier} /><span class="muted">{memory.kind}</span></p>
        <a class="operations-faded-text" href={memoryLink(memory.id)} dir="auto">{glance(memory.content, 600)}</a>
      </div>
      <div class="operations-faded-when">
        {memory.hidden ? <Badge tone="warn">hidden</Badge> : memory.hidden_at && <span>hidden <Time at={memory.hidden_at} as="ago" /></span>}
        <span class="muted num operations-small">strength {formatPercent(memory.strength)} → {formatPercent(memory.then)}</span>
      </div>
    </div>
  );
}
