/**
 * GET /v1/stream, read by fetch: an EventSource cannot be told where to go on, and this one stops while
 * nobody looks and goes on by `Last-Event-ID` where it stopped.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { lookAlive, whoseIs } from "../../lib/api";

export interface Told {
  type: string;
  /** The memory it is about; of `job.dead` too. */
  id: string;
  tier?: string;
  kind?: string;
  action?: string;
  step?: string;
  at: string;
}

export type StreamState = "connecting" | "open" | "paused" | "waiting";

const PAUSE_MS = 2_000;

/** Frames of a stream of server-sent events: [id or "", event, data]. */
async function* frames(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<[string, string, string]> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const fields: Record<string, string> = {};
      for (const line of part.split("\n")) {
        const at = line.indexOf(": ");
        if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
      }
      yield [fields["id"] ?? "", fields["event"] ?? "", fields["data"] ?? ""];
    }
  }
}

/** Calls `on` with all that happens to the user we look at, while the page is seen and `running`. */
export function useFeed(running: boolean, on: (told: Told) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const latest = useRef(on);
  latest.current = on;
  const last = useRef("");
  const [seen, setSeen] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const look = () => setSeen(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  useEffect(() => {
    if (!running || !seen) {
      setState("paused");
      return;
    }
    const stop = new AbortController();
    const listen = async () => {
      const answer = await fetch(`/v1/stream?${new URLSearchParams(whoseIs())}`, {
        headers: { accept: "text/event-stream", ...(last.current ? { "last-event-id": last.current } : {}) },
        credentials: "same-origin", cache: "no-store", signal: stop.signal,
      });
      if (!answer.ok || !answer.body) return;
      setState("open");
      for await (const [id, event, data] of frames(answer.body)) {
        if (id) last.current = id;
        if (event === "end") return;
        if (data) latest.current(JSON.parse(data) as Told);
      }
    };
    void (async () => {
      while (!stop.signal.aborted) {
        setState((before) => (before === "open" ? "waiting" : before === "paused" ? "connecting" : before));
        await listen().catch(() => undefined); // Cut off: it is asked again below.
        if (stop.signal.aborted) return;
        setState("waiting");
        lookAlive();
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    })();
    return () => stop.abort();
  }, [running, seen]);
  return state;
}
