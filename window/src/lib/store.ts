/**
 * What the whole window knows: where we are, whom we look at, who we are, the theme, and drafts of
 * what is typed. A `Store` is a value with listeners; `useStore` re-renders a component with it.
 */
import { useCallback, useEffect, useState } from "preact/hooks";

// A value with listeners

export interface Store<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: (value: T) => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<(value: T) => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(() => store.get());
  useEffect(() => {
    setValue(() => store.get());
    return store.subscribe((next) => setValue(() => next));
  }, [store]);
  return value;
}

// Who we are (GET /v1/whoami)

export type Role = "read" | "write" | "admin";

export interface Identity {
  key_id: string;
  workspace_id: string;
  /** The one user of this key; null: a key of the whole workspace. */
  user_id: string | null;
  role: Role;
  expires_at: string | null;
}

/** Null until we know; `signedIn` tells whether we asked. */
export const identity = createStore<Identity | null>(null);

/** How many things are on the page that are shown once and never again: a secret, a receipt. */
export const shownOnce = createStore(0);

/** While this is mounted nothing lies over it, not even the box to sign in again. */
export function useShownOnce(): void {
  useEffect(() => {
    shownOnce.set(shownOnce.get() + 1);
    return () => shownOnce.set(shownOnce.get() - 1);
  }, []);
}

const WHO = "holdfast.who";

/** Whether what this tab keeps (drafts, what was done) is of somebody else; from now on it is theirs. */
export function isAnothers({ workspace_id, user_id }: Identity): boolean {
  const now = JSON.stringify([workspace_id, user_id]);
  try {
    const before = sessionStorage.getItem(WHO);
    if (before !== null && before !== now) sessionStorage.clear();
    sessionStorage.setItem(WHO, now);
    return before !== null && before !== now;
  } catch {
    return false; // Nothing is kept.
  }
}

export interface Rights {
  /** Change, forget, restore, correct. */
  write: boolean;
  /** Erase, replay, shares. */
  admin: boolean;
  /** Keys, audit log, metrics: an admin key that is not of one user. */
  operator: boolean;
}

export function rightsOf(who: Identity | null): Rights {
  const admin = who?.role === "admin";
  return { write: admin || who?.role === "write", admin, operator: admin && who?.user_id === null };
}

/** What this key may do. Offer nothing else: the server would refuse it. */
export function useRights(): Rights {
  return rightsOf(useStore(identity));
}

// Where we are: #/timeline?user=ann&tier=fact

export interface Place {
  view: string;
  params: URLSearchParams;
}

export const DEFAULT_VIEW = "ask";

function readPlace(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || DEFAULT_VIEW, params: new URLSearchParams(query) };
}

export const place = createStore<Place>(readPlace());
addEventListener("hashchange", () => place.set(readPlace()));

/** The address of a view. Whom we look at goes along; null and "" leave a parameter out. */
export function href(view: string, params: Record<string, string | null | undefined> = {}): string {
  const query = new URLSearchParams();
  const user = place.get().params.get("user");
  if (user && !("user" in params)) query.set("user", user);
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value);
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

export function go(view: string, params: Record<string, string | null | undefined> = {}): void {
  location.hash = href(view, params);
}

/** Change parameters of the present address; `replace` (the default) adds no step to Back. */
export function setParams(
  changes: Record<string, string | null | undefined>,
  { replace = true }: { replace?: boolean } = {},
): void {
  const { view, params } = readPlace();
  const next: Record<string, string | null | undefined> = Object.fromEntries(params);
  const address = href(view, { ...next, ...changes });
  if (address === location.hash) return;
  if (replace) {
    history.replaceState(null, "", address);
    place.set(readPlace());
  } else location.hash = address;
}

/** One parameter of the address, for filters and for what is open: it survives a reload and Back. */
export function useParam(
  name: string,
  fallback = "",
): [string, (value: string | null, options?: { replace?: boolean }) => void] {
  const value = useStore(place).params.get(name) ?? fallback;
  const set = useCallback(
    (next: string | null, options?: { replace?: boolean }) =>
      setParams({ [name]: next === fallback ? null : next }, options),
    [name, fallback],
  );
  return [value, set];
}

// Whom we look at

/** The user whose memory is shown: the key's own, else the one in the address; null: nobody yet. */
export function currentUser(): string | null {
  return identity.get()?.user_id ?? (place.get().params.get("user") || null);
}

export function useUser(): string | null {
  const who = useStore(identity);
  const { params } = useStore(place);
  return who?.user_id ?? (params.get("user") || null);
}

const RECENT = "holdfast.recent-users";
const MOST_RECENT = 8;

/** Users of the workspace, where the key opens all of it. */
export const knownUsers = createStore<string[]>([]);

/** Users looked at in this tab, the last first. */
export function recentUsers(): string[] {
  const found = readStored<unknown>(sessionStorage, RECENT, []);
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

export function lookAt(user: string): void {
  const others = recentUsers().filter((each) => each !== user);
  writeStored(sessionStorage, RECENT, [user, ...others].slice(0, MOST_RECENT));
  // Another user's memory: what was open or filtered does not belong to it. Nobody's yet: it waited for this.
  if (currentUser() === null) setParams({ user }, { replace: false });
  else go(place.get().view, { user });
}

/** What this tab keeps of a user who was erased: drafts, and the name. */
export function forgetUser(user: string): void {
  writeStored(sessionStorage, RECENT, recentUsers().filter((each) => each !== user));
  knownUsers.set(knownUsers.get().filter((each) => each !== user));
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(`${DRAFT}${user}.`)) sessionStorage.removeItem(name);
  } catch {
    // Nothing was kept.
  }
}

// Theme

export type Theme = "auto" | "light" | "dark";

const THEME = "holdfast.theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function storedTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "auto";
}

export const theme = createStore<Theme>(storedTheme());

export function chooseTheme(chosen: Theme): void {
  if (chosen === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  try {
    if (chosen === "auto") localStorage.removeItem(THEME);
    else localStorage.setItem(THEME, chosen);
  } catch {
    // Storage is switched off: it holds for this page.
  }
  theme.set(chosen);
}

/** Whether the page is dark now, for what draws on a canvas. */
export function useDark(): boolean {
  const chosen = useStore(theme);
  const [system, setSystem] = useState(systemDark.matches);
  useEffect(() => {
    const listen = () => setSystem(systemDark.matches);
    systemDark.addEventListener("change", listen);
    return () => systemDark.removeEventListener("change", listen);
  }, []);
  return chosen === "auto" ? system : chosen === "dark";
}

/** A design token as `rgb(...)`, for what draws on a canvas: `tokenColor("--accent")`. */
export function tokenColor(token: string): string {
  const probe = document.createElement("span");
  probe.style.setProperty("color", `var(${token})`);
  probe.hidden = true;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

// Drafts: what was typed and not yet sent outlives a reload, in this tab alone. Never a key.

const DRAFT = "holdfast.draft.";

/**
 * As `useState` for what somebody types; `name` says where ("ask.message", `edit.${id}`). Each user
 * that is looked at has drafts of its own. `clear` when it was sent.
 */
export function useDraft(name: string, initial = ""): [string, (text: string) => void, () => void] {
  const full = `${DRAFT}${useUser() ?? ""}.${name}`;
  const [held, setHeld] = useState({ full, text: readStored(sessionStorage, full, initial) });
  const text = held.full === full ? held.text : readStored(sessionStorage, full, initial);
  useEffect(() => {
    if (held.full !== full) setHeld({ full, text: readStored(sessionStorage, full, initial) });
  }, [full]);
  const set = useCallback(
    (next: string) => {
      setHeld({ full, text: next });
      if (next === initial) removeStored(sessionStorage, full);
      else writeStored(sessionStorage, full, next);
    },
    [full, initial],
  );
  const clear = useCallback(() => set(initial), [set, initial]);
  return [text, set, clear];
}

/** Everything that this tab kept of somebody; when they sign out. */
export function forgetDrafts(): void {
  try {
    sessionStorage.clear();
  } catch {
    // Nothing was kept.
  }
}

function readStored<T>(storage: Storage, name: string, fallback: T): T {
  try {
    const text = storage.getItem(name);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

function writeStored(storage: Storage, name: string, value: unknown): void {
  try {
    storage.setItem(name, JSON.stringify(value));
  } catch {
    // Full or switched off: it lives as long as the page.
  }
}

function removeStored(storage: Storage, name: string): void {
  try {
    storage.removeItem(name);
  } catch {
    // Nothing was kept.
  }
}
