/** What the agent would be told for a message, and why. */
import { Empty, Page } from "../lib/ui";

export default function Ask() {
  return (
    <Page title="Ask" lead="What the agent would be told for a message, and why.">
      <Empty icon="ask" title="This view is being built">Nothing is shown here yet.</Empty>
    </Page>
  );
}
