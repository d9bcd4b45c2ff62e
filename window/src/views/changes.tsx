/** Facts and their versions, contradictions, and questions that wait for an answer. */
import { Empty, Page } from "../lib/ui";

export default function Changes() {
  return (
    <Page title="What changed" lead="Facts and their versions, contradictions, and questions that wait for an answer.">
      <Empty icon="changes" title="This view is being built">Nothing is shown here yet.</Empty>
    </Page>
  );
}
