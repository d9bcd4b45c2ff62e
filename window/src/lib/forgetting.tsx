/** How long what was forgotten can be restored: a setting of the service, asked for once. */
import { useEffect } from "preact/hooks";
import { get } from "./api";
import { createStore, useStore } from "./store";

const days = createStore<number | null>(null);
let asked: Promise<void> | null = null;

function ask(): void {
  asked ??= get<{ forget_days?: number }>("/v1/capabilities", {}, { scoped: false }).then(
    (told) => days.set(told.forget_days || null),
    () => void (asked = null), // Asked again by the next that wants to know.
  );
}

/** In days; null: not known yet. */
export function useForgetDays(): number | null {
  useEffect(ask, []);
  return useStore(days);
}

/** "30 days", for words that are made when they are needed; `useForgetDays` asks for it before. */
export function forgetTime(): string {
  const known = days.get();
  return known === null ? "some time" : known === 1 ? "1 day" : `${known} days`;
}

/** The same in a page, as soon as it is known. */
export function ForgetTime() {
  useForgetDays();
  return <>{forgetTime()}</>;
}
