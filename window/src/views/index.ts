/** The views: where they are, what they need, and how they are loaded when they are first opened. */
import type { ComponentType } from "preact";
import type { IconName } from "../lib/ui";

export interface View {
  /** As in the address: #/ask */
  id: string;
  title: string;
  /** One word, for narrow screens. */
  short: string;
  icon: IconName;
  /** `g` and this letter go there. */
  letter: string;
  /** Whether it shows the memory of one user. */
  ofUser: boolean;
  /** Whether it stands in the navigation. */
  listed: boolean;
  load: () => Promise<{ default: ComponentType }>;
}

export const VIEWS: readonly View[] = [
  { id: "ask", title: "Ask", short: "Ask", icon: "ask", letter: "a", ofUser: true, listed: true, load: () => import("./ask") },
  { id: "timeline", title: "Timeline", short: "Timeline", icon: "timeline", letter: "t", ofUser: true, listed: true, load: () => import("./timeline") },
  { id: "changes", title: "What changed", short: "Changes", icon: "changes", letter: "c", ofUser: true, listed: true, load: () => import("./changes") },
  { id: "graph", title: "Graph", short: "Graph", icon: "graph", letter: "g", ofUser: true, listed: true, load: () => import("./graph") },
  { id: "profile", title: "Profile", short: "Profile", icon: "profile", letter: "p", ofUser: true, listed: true, load: () => import("./profile") },
  { id: "operations", title: "Operations", short: "Operate", icon: "operations", letter: "o", ofUser: false, listed: true, load: () => import("./operations") },
  { id: "start", title: "Get started", short: "Start", icon: "start", letter: "s", ofUser: false, listed: false, load: () => import("./firstrun") },
];
