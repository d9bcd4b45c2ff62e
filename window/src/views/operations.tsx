/** How the service is: queue, spending, speed, growth, keys and the audit log. */
import { Empty, Page } from "../lib/ui";

export default function Operations() {
  return (
    <Page title="Operations" lead="How the service is: queue, spending, speed, growth, keys and the audit log.">
      <Empty icon="operations" title="This view is being built">Nothing is shown here yet.</Empty>
    </Page>
  );
}
