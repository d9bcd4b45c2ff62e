/** What is known of this user, and the rules that always hold. */
import { Empty, Page } from "../lib/ui";

export default function Profile() {
  return (
    <Page title="Profile and instructions" lead="What is known of this user, and the rules that always hold.">
      <Empty icon="profile" title="This view is being built">Nothing is shown here yet.</Empty>
    </Page>
  );
}
