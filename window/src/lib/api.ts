/**
 * Talks to the service. Every call adds whom we look at, has a time limit, can be aborted, and fails
 * with an `ApiError` whose message can be shown as it stands.
 *
 * - 401: the shell asks for a key on top of the view, which stays as it is; then the call is made again.
 * - The server is gone: `connection` says so, the shell shows it, and what only reads waits and is
 *   asked again when the server is back. A change fails instead, with words that say what to do.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { createStore, currentUser, forgetDrafts, identity, isAnothers, type Identity } from "./store";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Query = Record<string, string | number | boolean | null | undefined | readonly string[]>;

export type Trouble =
  | "refused" // 4xx: the message says why
  | "busy" // 429, 503: try again after `retryAfter` seconds
  | "fault" // 5xx
  | "gone" // the server does not answer
  | "slow"; // it did not answer within the time limit

export class ApiError extends Error {
  constructor(
    message: string,
    readonly trouble: Trouble,
    /** 0 when there was no answer. */
    readonly status = 0,
    /** The field that is to blame, by its name on the wire. */
    readonly field: string | null = null,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export interface Options {
  signal?: AbortSignal | undefined;
  /** Default 30 s. */
  timeoutMs?: number;
  /** Whose memory, where that is not whoever is looked at when it is sent: an undo, the second step
   * of something that takes a while. */
  user?: string | undefined;
  /** `false`: leave out whose it is (the routes of an operator: keys, audit, metrics); "workspace": tell that alone. */
  scoped?: boolean | "workspace";
  /** A POST that changes nothing (recall, context, traverse): it waits for a server that is gone. */
  reads?: boolean;
  /** Sent as Idempotency-Key: the change may be sent again without being made twice. */
  once?: string;
  /** More headers, such as `if-match`. */
  headers?: Record<string, string>;
  /** Told the headers of the answer, such as `etag`. */
  onHeaders?: (headers: Headers) => void;
}

// Whether the server answers

export type Connection =
  | { state: "ok" }
  /** `nextTry`: when it is asked again, in milliseconds as of Date.now(). */
  | { state: "gone"; since: number; nextTry: number };

export const connection = createStore<Connection>({ state: "ok" });
/** Whether somebody must sign in: "unknown" until the first answer, "ended" after a session ended. */
export const session = createStore<"unknown" | "in" | "out" | "ended">("unknown");

const TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

let trying: Promise<void> | null = null;
let tryNow: () => void = () => undefined;

/** Resolves when the server answers again. */
function serverBack(): Promise<void> {
  trying ??= (async () => {
    const since = Date.now();
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.6, LONGEST_PAUSE_MS)) {
      connection.set({ state: "gone", since, nextTry: Date.now() + pause });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause);
        tryNow = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      try {
        await fetch("/health", { cache: "no-store", signal: AbortSignal.timeout(5_000) });
        break;
      } catch {
        // Not yet.
      }
    }
    trying = null;
    connection.set({ state: "ok" });
  })();
  return trying;
}

/** Ask a server that is gone at once, without waiting for the next try. */
export function tryAgainNow(): void {
  tryNow();
}

// Calls

export function get<T>(path: string, query: Query = {}, options: Options = {}): Promise<T> {
  return call<T>("GET", path, query, undefined, { reads: true, ...options });
}

export function post<T>(path: string, body: object = {}, options: Options = {}): Promise<T> {
  return call<T>("POST", path, {}, body, options);
}

export function put<T>(path: string, body: object = {}, options: Options = {}): Promise<T> {
  return call<T>("PUT", path, {}, body, options);
}

export function patch<T>(path: string, body: object = {}, options: Options = {}): Promise<T> {
  return call<T>("PATCH", path, {}, body, options);
}

export function del<T>(path: string, query: Query = {}, options: Options = {}): Promise<T> {
  return call<T>("DELETE", path, query, undefined, options);
}

/** A text for a path: `/v1/entries/${part(key)}`. */
export const part = encodeURIComponent;

/** A name for `once`. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
}

/**
 * Whose memory is meant, as this tab shows it. It is told with a key of one user, too: if another tab
 * signed in with another key meanwhile, the server refuses what would be done to somebody else.
 */
export function whoseIs({ scoped = true, user }: Pick<Options, "scoped" | "user"> = {}): { user_id?: string; workspace_id?: string } {
  const of = user ?? (scoped === true ? currentUser() : null);
  const workspace = scoped === false && !of ? null : identity.get()?.workspace_id;
  return { ...(of ? { user_id: of } : {}), ...(workspace ? { workspace_id: workspace } : {}) };
}

async function call<T>(
  method: string,
  path: string,
  query: Query,
  body: object | undefined,
  options: Options,
): Promise<T> {
  const whose = whoseIs(options);
  const sent = body === undefined ? undefined : JSON.stringify({ ...whose, ...body });
  const target = path + queryText(body === undefined ? { ...whose, ...query } : query);
  const waits = options.reads || options.once !== undefined;
  for (;;) {
    if (waits && connection.get().state === "gone") await orAborted(serverBack(), options.signal);
    let answer: Response;
    try {
      answer = await ask(method, target, sent, options);
    } catch (error) {
      if (!(error instanceof ApiError) || error.trouble !== "gone") throw error;
      const back = serverBack();
      if (!waits) throw error;
      await orAborted(back, options.signal);
      continue;
    }
    if (answer.status === 401) {
      const before = identity.get()?.key_id;
      await orAborted(signedInAgain(), options.signal);
      if (!options.reads && identity.get()?.key_id !== before) {
        const words = "You signed in with another key, so this was not done. Do it again if it is still wanted.";
        throw new ApiError(words, "refused", 401);
      }
      continue;
    }
    if (answer.status === 403) lookAlive(); // Another tab may have signed in with another key.
    options.onHeaders?.(answer.headers);
    return (await contentOf(answer)) as T;
  }
}

async function ask(
  method: string,
  target: string,
  body: string | undefined,
  { signal, timeoutMs = TIMEOUT_MS, once, headers = {} }: Options,
): Promise<Response> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(target, {
      method,
      body: body ?? null,
      headers: {
        accept: "application/json",
        "x-holdfast-request": "1",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(once ? { "idempotency-key": once } : {}),
        ...headers,
      },
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
  } catch (error) {
    if (signal?.aborted) throw new DOMException("no longer wanted", "AbortError");
    if (limit.aborted) {
      const seconds = Math.round(timeoutMs / 1000);
      throw new ApiError(`The server did not answer within ${seconds} seconds.`, "slow");
    }
    throw new ApiError("The server does not answer. Nothing you typed is lost.", "gone");
  }
}

async function contentOf(answer: Response): Promise<unknown> {
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.startsWith("application/json") ?? false;
  const content: unknown = isJson && text ? JSON.parse(text) : text;
  if (answer.ok) return answer.status === 204 ? null : content;
  throw errorOf(answer, content);
}

function errorOf(answer: Response, content: unknown): ApiError {
  const told = content as { error?: unknown; field?: unknown } | null;
  const words = typeof told?.error === "string" ? told.error : `The server answered ${answer.status}.`;
  const field = typeof told?.field === "string" ? told.field : null;
  const retry = Number(answer.headers.get("retry-after") ?? NaN);
  const { status } = answer;
  const trouble = status === 429 || status === 503 ? "busy" : status >= 500 ? "fault" : "refused";
  return new ApiError(sentence(words), trouble, status, field, Number.isFinite(retry) ? retry : null);
}

function sentence(words: string): string {
  const text = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?:)\]`'"]$/.test(text) ? text : `${text}.`;
}

function queryText(query: Query): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const each of value) found.append(name, each);
    else if (value !== null && value !== undefined && value !== "") found.set(name, String(value));
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(new DOMException("no longer wanted", "AbortError"));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

// Signing in and out

let signingIn: { promise: Promise<void>; resolve: () => void } | null = null;

function signedInAgain(): Promise<void> {
  if (!signingIn) {
    let resolve: () => void = () => undefined;
    const promise = new Promise<void>((done) => (resolve = done));
    signingIn = { promise, resolve };
    session.set("ended");
  }
  return signingIn.promise;
}

/** Told before the page is loaded anew for somebody else. */
export const beforeAnew = new Set<() => void>();

function beginAnew(): void {
  for (const tell of beforeAnew) tell();
  location.hash = "";
  location.reload();
}

/** Who we are, by the cookie; asked once at the start. */
export async function whoAmI(): Promise<void> {
  if ((await whoIsIn()) === "nobody") session.set("out");
}

/** "another": somebody else than before, so that the page is being loaded anew, without what this tab kept. */
async function whoIsIn(): Promise<"somebody" | "another" | "nobody"> {
  for (;;) {
    let answer: Response;
    try {
      answer = await ask("GET", "/v1/whoami", undefined, {});
    } catch (error) {
      if (!(error instanceof ApiError) || error.trouble !== "gone") throw error;
      await serverBack();
      continue;
    }
    if (answer.status === 401) return "nobody";
    const who = (await contentOf(answer)) as Identity;
    if (isAnothers(who)) {
      beginAnew();
      return "another";
    }
    identity.set(who);
    session.set("in");
    return "somebody";
  }
}

/** Show a key once; afterwards the cookie stands for it, and nothing here knows it. */
export async function signIn(key: string): Promise<void> {
  const answer = await ask("POST", "/v1/sign-in", JSON.stringify({ key }), { timeoutMs: 10_000 });
  if (!answer.ok) await contentOf(answer);
  const before = identity.get();
  const found = await whoIsIn();
  if (found === "nobody") {
    const words = "The key is right, but this browser keeps no cookies for this page, and without one nobody is signed in. Allow cookies for it and try again.";
    throw new ApiError(words, "refused");
  }
  tabs?.postMessage("in");
  if (found === "another") return;
  const now = identity.get();
  const same = before?.workspace_id === now?.workspace_id && before?.user_id === now?.user_id;
  if (before && !same) {
    // Somebody else: nothing of the one before may stay on the page.
    forgetDrafts();
    beginAnew();
    return;
  }
  goOn();
}

/** With what waited for somebody to sign in. */
function goOn(): void {
  leftElsewhere.set(false);
  signingIn?.resolve();
  signingIn = null;
}

// All tabs of a browser have one session: what one does to it the others look at.
const tabs = typeof BroadcastChannel === "function" ? new BroadcastChannel("holdfast.session") : null;
tabs?.addEventListener("message", ({ data }) => {
  leftElsewhere.set(data === "out");
  if (data === "in" && session.get() === "ended") void signedInElsewhere();
  else lookAlive();
});

/** Another tab asked for the key first: whoever signed in there is in here, too. */
async function signedInElsewhere(): Promise<void> {
  const found = await whoIsIn().catch(() => "nobody");
  if (found === "somebody") goOn();
}

/** Whether somebody signed out in another tab. A session that ended by itself leaves the view as it is: it goes on
 * with what it was about after the next sign-in. */
export const leftElsewhere = createStore(false);

/** Also when the session has ended already. */
export async function signOut(): Promise<void> {
  try {
    await ask("POST", "/v1/sign-out", "{}", {});
    tabs?.postMessage("out");
  } catch (error) {
    if (asApiError(error).trouble === "gone") void serverBack();
    throw error;
  }
}

/** Another tab may have signed in with another key, or as somebody else: all tabs have one session. */
function onlyIfTheSame(now: Identity): void {
  const before = identity.get();
  if (!before) return;
  if (before.workspace_id === now.workspace_id && before.user_id === now.user_id) {
    // Another key of the same one: what it may do is offered from now on.
    if (before.key_id !== now.key_id || before.role !== now.role || before.expires_at !== now.expires_at) identity.set(now);
    return;
  }
  forgetDrafts();
  beginAnew();
}

let looking = false;

/** Ask whether the server and the key are still there; `connection` and `session` tell. */
export function lookAlive(): void {
  if (looking || session.get() !== "in") return;
  looking = true;
  get<Identity>("/v1/whoami", {}, { scoped: false })
    .then(onlyIfTheSame)
    .catch(() => undefined) // Slow or busy is alive.
    .finally(() => (looking = false));
}

// Hooks

export interface Answer<T> {
  /** The last answer; while another is awaited, that of before. */
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  /** Ask again. */
  reload: () => void;
  /** Put another value in its place, after a change that is known. */
  set: (value: T) => void;
}

/**
 * Asks when it is mounted and whenever what `ask` depends on changes (`key`); the question before is
 * aborted. A `key` of null asks nothing.
 *
 *     const stats = useAnswer(`stats ${user}`, (signal) => get<Stats>("/v1/stats", {}, { signal }));
 *
 * `about`: what the answer is about, where one about something else must not be shown for it, not even for a moment.
 */
export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>, about = ""): Answer<T> {
  const [state, setState] = useState<{ data: T | null; of: string | null; about: string; error: ApiError | null; loading: boolean }>({
    data: null,
    of: null,
    about,
    error: null,
    loading: key !== null,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (key === null) {
      setState({ data: null, of: null, about, error: null, loading: false });
      return;
    }
    const stop = new AbortController();
    setState((before) => (before.about === about ? { ...before, loading: true } : { data: null, of: null, about, error: null, loading: true }));
    latest.current(stop.signal).then(
      (data) => stop.signal.aborted || setState({ data, of: key, about, error: null, loading: false }),
      (error: unknown) => {
        if (stop.signal.aborted || isAbort(error)) return;
        // The answer to another question is none to this one.
        setState(({ data, of }) => ({ data: of === key ? data : null, of, about, error: asApiError(error), loading: false }));
      },
    );
    return () => stop.abort();
  }, [key, about, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const set = useCallback((data: T) => setState({ data, of: key, about, error: null, loading: false }), [key, about]);
  if (state.about !== about) return { data: null, error: null, loading: key !== null, reload, set };
  const { data, error, loading } = state;
  return { data, error, loading, reload, set };
}

/** So long a hand rests before what it moves or types is asked for. While an answer is awaited it is longer: a server
 * that is slow is not asked for every step. */
export const restMs = (isAwaiting: boolean) => (isAwaiting ? 250 : 70);

export interface Action<A extends unknown[], R> {
  /** Undefined when it failed (`error` says why) or is under way already. */
  run: (...args: A) => Promise<R | undefined>;
  busy: boolean;
  error: ApiError | null;
  clear: () => void;
}

/** Something that a person does: one at a time, with its error kept to be shown beside the button. */
export function useAction<A extends unknown[], R>(act: (...args: A) => Promise<R>): Action<A, R> {
  const [state, setState] = useState<{ busy: boolean; error: ApiError | null }>({ busy: false, error: null });
  const busy = useRef(false);
  const alive = useRef(true);
  useEffect(() => {
    alive.current = true;
    return () => void (alive.current = false);
  }, []);
  const latest = useRef(act);
  latest.current = act;
  const run = useCallback(async (...args: A) => {
    if (busy.current) return undefined;
    busy.current = true;
    setState({ busy: true, error: null });
    let error: ApiError | null = null;
    try {
      return await latest.current(...args);
    } catch (caught) {
      if (!isAbort(caught)) error = asApiError(caught);
      return undefined;
    } finally {
      busy.current = false;
      if (alive.current) setState({ busy: false, error });
    }
  }, []);
  const clear = useCallback(() => setState({ busy: busy.current, error: null }), []);
  return { ...state, run, clear };
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  console.error(error);
  return new ApiError("Something went wrong in this page. Reload it and try again.", "fault");
}

/** Events of GET /v1/stream while mounted; the browser connects again by itself. */
export function useStream(events: readonly string[], on: (event: string, data: Json) => void): "open" | "waiting" {
  const [state, setState] = useState<"open" | "waiting">("waiting");
  const latest = useRef(on);
  latest.current = on;
  const names = events.join(",");
  useEffect(() => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(whoseIs())) query.set(name, value);
    for (const name of names ? names.split(",") : []) query.append("events", name);
    const source = new EventSource(`/v1/stream?${query}`);
    const listen = (message: MessageEvent<string>) => {
      let data: Json = message.data;
      try {
        data = JSON.parse(message.data) as Json;
      } catch {
        // Plain words.
      }
      latest.current(message.type, data);
    };
    for (const name of names ? names.split(",") : ["message"]) source.addEventListener(name, listen);
    source.onopen = () => setState("open");
    source.onerror = () => setState("waiting");
    return () => source.close();
  }, [names]);
  return state;
}
