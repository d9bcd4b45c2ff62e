/** What is known of this user, the rules that always hold, and how things are done. */
import { useParam } from "../lib/store";
import { Page, Tabs } from "../lib/ui";
import { JustDone } from "./changes-done";
import { Document } from "./profile-fields";
import { Procedures } from "./profile-procedures";
import { Rules } from "./profile-rules";

type Tab = "document" | "rules" | "procedures";

export default function Profile() {
  const [tab, setTab] = useParam("tab", "document");
  const shown: Tab = tab === "rules" || tab === "procedures" ? tab : "document";
  return (
    <Page title="Profile and instructions" lead="What is known of this user, the rules that always hold, and how things are done.">
      <Tabs<Tab>
        label="Profile and instructions" value={shown} onChange={(next) => setTab(next)}
        tabs={[
          { id: "document", title: "Profile" },
          { id: "rules", title: "Instructions" },
          { id: "procedures", title: "Procedures" },
        ]}
      />
      <JustDone />
      {shown === "document" && <Document />}
      {shown === "rules" && <Rules />}
      {shown === "procedures" && <Procedures />}
    </Page>
  );
}
