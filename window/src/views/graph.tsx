/** People, things and how they belong together. */
import { Empty, Page } from "../lib/ui";

export default function Graph() {
  return (
    <Page title="Graph" lead="People, things and how they belong together.">
      <Empty icon="graph" title="This view is being built">Nothing is shown here yet.</Empty>
    </Page>
  );
}
