/** Load the sample conversation, or send the first memory. */
import { Empty, Page } from "../lib/ui";

export default function FirstRun() {
  return (
    <Page title="Get started" lead="Load the sample conversation, or send the first memory.">
      <Empty icon="start" title="This view is being built">Nothing is shown here yet.</Empty>
    </Page>
  );
}
