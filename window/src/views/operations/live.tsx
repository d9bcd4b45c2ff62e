/** What happens to a user's memory, as it happens: ids and deeds from the stream, words asked for by id. */
import { useEffect, useRef, useState } from "preact/hooks";
import { get, isAbort, part } from "../../lib/api";
import { useUser } from "../../lib/store";
import { entryOf } from "../../lib/text";
import { Badge, Button, Empty, Panel, TierBadge, Time, type Tone } from "../../lib/ui";
import { VirtualList } from "../../lib/virtual";
import { NeedsUser, memoryLink } from "./parts";
import { useFeed, type StreamState, type Told } from "./stream";

interface Line extends Told {
  key: string;
}

const MOST_LINES = 500;
const DEEDS: Record<string, Tone> = {
  stored: "good", restored: "good", reopened: "good", praised: "good", forgotten: "bad", invalidated: "bad", blamed: "bad", dead: "bad",
  superseded: "warn", changed: "warn", archived: "warn",
};
const STATES: Record<StreamState, [Tone, string]> = {
  connecting: ["neutral", "connecting"], open: ["good", "listening"], paused: ["neutral", "paused"], waiting: ["warn", "connecting again"],
};

let number = 0;

export function Live() {
  const user = useUser();
  if (!user) return <NeedsUser what="The feed" icon="operations" />;
  return <Feed user={user} />;
}

function Feed({ user }: { user: string }) {
  const [running, setRunning] = useState(true);
  const [lines, setLines] = useState<Line[]>([]);
  const texts = useTexts();
  const state = useFeed(running, (told) => {
    if (told.action === "forgotten") texts.drop(told.id);
    else texts.want(told.id, told.action === "restored");
    setLines((before) => [{ ...told, key: String(++number) }, ...before].slice(0, MOST_LINES));
  });
  const [tone, words] = STATES[state];
  return (
    <Panel
      flush
      title={<span class="row">What happens now <span role="status"><Badge tone={tone}>{words}</Badge></span></span>}
      actions={
        <>
          <Button small kind="quiet" disabled={!lines.length} onClick={() => setLines([])}>Clear</Button>
          <Button small aria-pressed={!running} onClick={() => setRunning(!running)}>{running ? "Pause" : "Go on"}</Button>
        </>
      }
    >
      <div class="operations-list tall">
        <VirtualList
          items={lines} label="Events" keyOf={(each) => each.key} estimate={44}
          row={(each) => <EventRow line={each} text={texts.of(each.id)} />}
          empty={
            <Empty icon="operations" title={state === "paused" ? "Paused" : "Listening"}>
              What is said to the memory of {user}, learned, used, changed or forgotten appears here within half a second. It rests while this tab is hidden and then tells what was missed.
            </Empty>
          }
        />
      </div>
    </Panel>
  );
}

function EventRow({ line, text }: { line: Line; text: string | undefined }) {
  const deed = line.action ?? line.type.split(".").at(-1) ?? "";
  return (
    <div class="operations-event">
      <span class="muted num"><Time at={line.at} as="clock" /></span>
      <Badge tone={entryOf(DEEDS, deed) ?? "neutral"}>{deed}</Badge>
      {line.tier ? <TierBadge tier={line.tier} /> : <span class="muted">{line.step?.split(":")[0] ?? ""}</span>}
      <a class="truncate" href={memoryLink(line.id)} dir="auto">{text ?? line.id.slice(-8)}</a>
    </div>
  );
}

const MOST_AT_ONCE = 30;

interface Texts {
  /** `again`: also of one that was dropped. */
  want: (id: string, again?: boolean) => void;
  /** It was forgotten: its words go, also those that are on their way. */
  drop: (id: string) => void;
  of: (id: string) => string | undefined;
}

/** The words of memories that were told of by their ids, asked for a few at a time. */
function useTexts(): Texts {
  const dropped = useRef(new Set<string>());
  const found = useRef(new Map<string, string>());
  const wanted = useRef(new Set<string>());
  const timer = useRef(0);
  const stop = useRef(new AbortController());
  const [, setTurn] = useState(0);
  useEffect(() => () => {
    clearTimeout(timer.current);
    stop.current.abort();
  }, []);
  const fetchSome = async () => {
    timer.current = 0;
    const ids = [...wanted.current].slice(-MOST_AT_ONCE);
    wanted.current.clear();
    for (const id of ids) {
      try {
        const memory = await get<{ content: string }>(`/v1/memories/${part(id)}`, {}, { signal: stop.current.signal });
        if (!dropped.current.has(id)) found.current.set(id, memory.content.slice(0, 300));
      } catch (error) {
        if (isAbort(error)) return;
        found.current.delete(id); // Forgotten meanwhile: its id stands there.
      }
    }
    setTurn((before) => before + 1);
  };
  const want = (id: string, again = false) => {
    if (again) dropped.current.delete(id);
    if (found.current.has(id) || dropped.current.has(id)) return;
    wanted.current.add(id);
    timer.current ||= window.setTimeout(fetchSome, 250);
  };
  const drop = (id: string) => {
    dropped.current.add(id);
    wanted.current.delete(id);
    found.current.delete(id);
  };
  return { want, drop, of: (id) => found.current.get(id) };
}
