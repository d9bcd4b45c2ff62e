/** How the service is: queue, spending, speed, growth, keys and the audit log. Each key is offered what it may see. */
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useParam, useRights, useUser, type Rights } from "../lib/store";
import { Page, Tabs } from "../lib/ui";
import { Audit } from "./operations/audit";
import { Erase } from "./operations/erase";
import { Fading } from "./operations/fading";
import { Keys } from "./operations/keys";
import { Live } from "./operations/live";
import { Overview } from "./operations/overview";
import { Queue } from "./operations/queue";
import { Speed } from "./operations/speed";
import { StoreHealth } from "./operations/storehealth";

interface Section {
  id: string;
  title: string;
  needs: keyof Rights | null;
  show: ComponentType;
}

const SECTIONS: readonly Section[] = [
  { id: "overview", title: "Overview", needs: null, show: Overview },
  { id: "queue", title: "Queue", needs: "operator", show: Queue },
  { id: "speed", title: "Speed", needs: "operator", show: Speed },
  { id: "store", title: "Store", needs: "operator", show: StoreHealth },
  { id: "fading", title: "Fading", needs: null, show: Fading },
  { id: "live", title: "Live", needs: null, show: Live },
  { id: "keys", title: "Keys", needs: "operator", show: Keys },
  { id: "audit", title: "Audit", needs: "operator", show: Audit },
  { id: "erase", title: "Erase", needs: "admin", show: Erase },
];

export default function Operations() {
  const rights = useRights();
  const user = useUser();
  const [wanted, setTab] = useParam("tab", "overview");
  const offered = SECTIONS.filter((each) => each.needs === null || rights[each.needs]);
  const section = offered.find((each) => each.id === wanted) ?? offered[0];
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => bar.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "center" }), [section?.id]);
  if (!section) return null;
  const Shown = section.show;
  return (
    <Page title="Operations" lead="How the service is, what it does just now, and who may use it.">
      <div ref={bar} class="operations-tabs">
        <Tabs label="Sections" tabs={offered} value={section.id} onChange={(id) => setTab(id, { replace: false })} />
      </div>
      <div class="operations-section" role="tabpanel" aria-label={section.title}>
        <Shown key={`${section.id} ${user ?? ""}`} />
      </div>
    </Page>
  );
}
