/** Everything that is remembered, by day and session. */
import { Empty, Page } from "../lib/ui";

export default function Timeline() {
  return (
    <Page title="Timeline" lead="Everything that is remembered, by day and session.">
      <Empty icon="timeline" title="This view is being built">Nothing is shown here yet.</Empty>
    </Page>
  );
}
