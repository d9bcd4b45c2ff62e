/**
 * Acts whose result is shown once and never again: a secret, a receipt. They live outside of the views:
 * who looks at something else meanwhile finds the result on return, and the page is not left by
 * mistake before it was seen.
 */
import { useCallback } from "preact/hooks";
import { asApiError, beforeAnew, isAbort, type ApiError } from "./api";
import { createStore, go, place, useStore, type Store } from "./store";
import { toast } from "./ui";

interface State<R> {
  busy: boolean;
  error: ApiError | null;
  result: R | null;
}

/** What is under way or was not dismissed yet, with where it is shown. */
export interface Held {
  /** "The receipt of the erasure". */
  title: string;
  view: string;
  params: Record<string, string>;
  busy: boolean;
}

export interface Deed<A extends unknown[], R> {
  state: Store<State<R>>;
  /** Undefined when it failed (`error` says why) or is under way already. */
  run: (...args: A) => Promise<R | undefined>;
  /** Its result was taken note of. */
  dismiss: () => void;
  /** Its error was. */
  clear: () => void;
}

/** What would be lost if the page were left now. */
export const held = createStore<readonly Held[]>([]);

const warn = (event: BeforeUnloadEvent) => {
  event.preventDefault();
  event.returnValue = ""; // So that older browsers ask, too.
};
// Only while there is something to lose: a page that listens to this is not kept for Back.
held.subscribe((all) => (all.length ? addEventListener("beforeunload", warn) : removeEventListener("beforeunload", warn)));

/** Whether the address is where it is shown. */
export function isHere({ view, params }: Pick<Held, "view" | "params">): boolean {
  const now = place.get();
  return now.view === view && Object.entries(params).every(([name, value]) => now.params.get(name) === value);
}

// The page begins anew for somebody else: what is held is not theirs.
beforeAnew.add(() => held.set([]));

export function createDeed<A extends unknown[], R>(
  { title, view, params = {} }: { title: string; view: string; params?: Record<string, string> },
  act: (...args: A) => Promise<R>,
): Deed<A, R> {
  const state = createStore<State<R>>({ busy: false, error: null, result: null });
  let mine: Held | null = null;
  const hold = (next: Held | null) => {
    held.set([...held.get().filter((each) => each !== mine), ...(next ? [next] : [])]);
    mine = next;
  };
  const dismiss = () => {
    if (!state.get().busy) hold(null);
    state.set({ ...state.get(), result: null });
  };
  return {
    state,
    async run(...args) {
      if (state.get().busy) return undefined;
      state.set({ ...state.get(), busy: true, error: null });
      hold({ title, view, params, busy: true });
      try {
        const result = await act(...args);
        hold({ title, view, params, busy: false });
        state.set({ busy: false, error: null, result });
        if (!isHere({ view, params })) toast(`${title} is there. It is shown once.`, "warn", { title: "Show", run: () => go(view, params) });
        return result;
      } catch (caught) {
        hold(state.get().result === null ? null : { title, view, params, busy: false });
        const error = isAbort(caught) ? null : asApiError(caught);
        state.set({ ...state.get(), busy: false, error });
        if (error && !isHere({ view, params })) toast(error.message, "bad", { title: "Show", run: () => go(view, params) });
        return undefined;
      }
    },
    dismiss,
    clear: () => state.set({ ...state.get(), error: null }),
  };
}

/** As `useAction`, with the result; the same in every view that shows it. */
export function useDeed<A extends unknown[], R>(deed: Deed<A, R>) {
  const state = useStore(deed.state);
  const run = useCallback((...args: A) => deed.run(...args), [deed]);
  return { ...state, run, dismiss: deed.dismiss, clear: deed.clear };
}
