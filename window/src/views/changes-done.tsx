/**
 * What was just done in this tab, and how to take it back. An undo is a list of calls, so that it
 * outlives a reload; it is kept in the tab's own storage and goes when somebody signs out.
 */
import { del, post, put, useAction } from "../lib/api";
import { createStore, currentUser, useStore, useUser } from "../lib/store";
import { Button, Disclosure, ErrorBox, Time, toast } from "../lib/ui";

export interface Call {
  method: "POST" | "PUT" | "DELETE";
  path: string;
  body?: object;
}

export interface Act {
  id: string;
  at: string;
  user: string;
  /** What was done, as a sentence without its end. */
  words: string;
  /** Somebody's text that it was done to. */
  text: string;
  /** The calls that take it back; none: it cannot be undone, and `note` says why. */
  undo: Call[];
  note: string;
  /** Of a rule that was switched off: its id. */
  rule?: string;
}

const KEPT = "holdfast.done";
const MOST_KEPT = 60;

function kept(): Act[] {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]") as unknown;
    return Array.isArray(found) ? (found as Act[]) : [];
  } catch {
    return [];
  }
}

const acts = createStore<Act[]>(kept());
/** Counts what was done or taken back: views ask again when it rises. */
export const changed = createStore(0);

acts.subscribe((all) => {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(all));
  } catch {
    // Full or switched off: it lives as long as the page.
  }
});

export function touched(): void {
  changed.set(changed.get() + 1);
}

/** What this user's memory had done to it in this tab, the last first. */
export function useActs(): Act[] {
  const user = useUser() ?? "";
  return useStore(acts).filter((each) => each.user === user);
}

/** Whose memory is looked at. An act asks before it begins: another one may be looked at when it ends. */
export const whose = (): { user: string | undefined } => ({ user: currentUser() ?? undefined });

/** Note what was done and to whom, and say so with an "Undo" where it can be undone. */
export function done(words: string, about: { user: string | undefined; text?: string; undo?: Call[]; note?: string; rule?: string }): void {
  const act: Act = {
    id: `${Date.now()}-${Math.random().toString(36).slice(2)}`,
    at: new Date().toISOString(),
    user: about.user ?? "",
    words,
    text: (about.text ?? "").slice(0, 300),
    undo: about.undo ?? [],
    note: about.note ?? "",
    ...(about.rule ? { rule: about.rule } : {}),
  };
  acts.set([act, ...acts.get()].slice(0, MOST_KEPT));
  touched();
  const run = () => {
    takeBack(act).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : "Something went wrong.";
      toast(`It was not undone. ${why}`, "bad");
    });
  };
  toast(`${words}.`, "good", act.undo.length ? { title: "Undo", run } : null);
}

export async function takeBack(act: Act): Promise<void> {
  // Of whom it was done, whoever is looked at by now.
  const options = { user: act.user || undefined };
  for (const { method, path, body = {} } of act.undo) {
    if (method === "DELETE") await del(path, {}, options);
    else await (method === "PUT" ? put : post)(path, body, options);
  }
  drop(act);
  touched();
  toast("Undone.");
}

function drop(act: Act): void {
  acts.set(acts.get().filter((each) => each.id !== act.id));
}

/** Of a user who was erased nothing is kept. */
export function dropActsOf(user: string): void {
  acts.set(acts.get().filter((each) => each.user !== user));
}

/** The acts of this tab, with what can still be taken back. */
export function JustDone() {
  const all = useActs();
  const undo = useAction(takeBack);
  if (!all.length) return null;
  return (
    <section class="changes-done" aria-label="Done here">
      <Disclosure summary={<>Done here <span class="muted num">{all.length}</span></>}>
        <p class="changes-done-hint">Kept in this tab until you sign out.</p>
        {undo.error && <ErrorBox error={undo.error} title="It was not undone" />}
        <ul class="changes-done-list">
          {all.map((act) => (
            <li key={act.id} class="changes-done-act">
              <div class="changes-done-words">
                <span>{act.words}</span> <span class="muted"><Time at={act.at} as="clock" /></span>
                {act.text && <p class="changes-done-text" dir="auto">{act.text}</p>}
                {act.note && <p class="changes-done-note">{act.note}</p>}
              </div>
              {act.undo.length > 0 && (
                <Button small icon="undo" busy={undo.busy} aria-label={`Undo: ${act.words}: ${act.text.slice(0, 60)}`} onClick={() => undo.run(act)}>
                  Undo
                </Button>
              )}
            </li>
          ))}
        </ul>
      </Disclosure>
    </section>
  );
}
