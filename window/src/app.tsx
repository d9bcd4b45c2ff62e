/** The shell: top bar, navigation, keys, and the view that the address names. */
import { Component, render, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, connection, get, leftElsewhere, lookAlive, session, signOut, tryAgainNow, useAction, whoAmI, type ApiError } from "./lib/api";
import { held, isHere } from "./lib/deeds";
import {
  chooseTheme, currentUser, forgetDrafts, go, href, identity, knownUsers, lookAt, place, recentUsers, theme, useRights, useStore,
  shownOnce, useDraft, useUser, type Identity, type Theme,
} from "./lib/store";
import { Badge, Button, Confirmations, Dialog, Empty, ErrorBox, Field, Icon, IconButton, Kbd, Loading, Page, Segmented, Toasts, cls, dismissAll, formatTime } from "./lib/ui";
import { SignInAgain, SignInPage } from "./signin";
import { VIEWS, type View } from "./views/index";

function App() {
  const state = useStore(session);
  const who = useStore(identity);
  const once = useStore(shownOnce);
  const kept = useStore(held).filter((each) => !each.busy);
  useStore(place);
  // Who signed out, in any tab, sees nothing of a memory any more, but for what is shown once. What was typed is kept as drafts.
  const left = useStore(leftElsewhere);
  const shown = state !== "ended" || !left || once > 0 || kept.some(isHere);
  useEffect(() => {
    if (!shown) dismissAll();
  }, [shown]);
  const [error, setError] = useState<ApiError | null>(null);
  const start = () => {
    setError(null);
    whoAmI().catch((caught: unknown) => setError(asApiError(caught)));
  };
  useEffect(start, []);
  return (
    <>
      <GoneBanner />
      {error && <main class="boot"><ErrorBox title="The window could not start" error={error} retry={start} /></main>}
      {!error && state === "unknown" && <main class="boot"><span class="boot-name">Holdfast</span></main>}
      {state === "out" && <SignInPage />}
      {who && state !== "out" && shown && <Shell who={who} />}
      {state === "ended" && !once && <SignInAgain kept={kept} />}
      <Confirmations />
      <Toasts />
    </>
  );
}

function Shell({ who }: { who: Identity }) {
  const { view: name } = useStore(place);
  const user = useUser();
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const view = VIEWS.find((each) => each.id === name);
  useKeys(() => setHelp(true));
  useHeartbeat();
  useEffect(() => {
    document.title = view ? `${view.title} · Holdfast` : "Holdfast";
  }, [view]);
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to content</a>
      <TopBar who={who} onHelp={() => setHelp(true)} />
      <Navigation current={name} />
      <main id="main" ref={main} tabIndex={-1} class="main">
        {!view && <NoView name={name} />}
        {view && view.ofUser && !user && <WhoseMemory />}
        {view && (!view.ofUser || user) && (
          // The first run names a user itself, and goes on.
          <Boundary key={view.listed ? `${view.id} ${user ?? ""}` : view.id}><Lazy view={view} /></Boundary>
        )}
      </main>
      {help && <KeysHelp onClose={() => setHelp(false)} />}
    </div>
  );
}

// Top bar

function TopBar({ who, onHelp }: { who: Identity; onHelp: () => void }) {
  return (
    <header class="top">
      <a class="brand" href={href("ask")} aria-label="Holdfast, to Ask">
        <span class="brand-mark"><Icon name="graph" size={16} /></span>
        <span class="brand-name">Holdfast</span>
      </a>
      <UserBox who={who} />
      <div class="top-right">
        <IconButton class="wide-only" icon="keyboard" label="Keys (?)" onClick={onHelp} />
        <ThemeSwitch />
        <KeyMenu who={who} onHelp={onHelp} />
      </div>
    </header>
  );
}

const MOST_OFFERED = 200;
const MOST_SHOWN = 12;

function UserBox({ who }: { who: Identity }) {
  const user = useUser();
  const [text, setText] = useState(user ?? "");
  const offered = useOfferedUsers();
  useEffect(() => setText(user ?? ""), [user]);
  useEffect(() => {
    if (who.user_id !== null) return;
    const leaving = new AbortController();
    get<{ users: string[] }>("/v1/users", { limit: MOST_OFFERED }, { signal: leaving.signal, scoped: "workspace" }).then(
      ({ users }) => knownUsers.set(users),
      () => undefined, // Who is not offered can be typed.
    );
    return () => {
      leaving.abort();
      knownUsers.set([]);
    };
  }, [who.key_id]);
  if (who.user_id !== null) {
    return (
      <div class="whose">
        <span class="whose-space" title="Workspace">{who.workspace_id}</span>
        <span class="whose-slash" aria-hidden="true">/</span>
        <span class="whose-user" title="User" dir="auto">{who.user_id}</span>
      </div>
    );
  }
  const look = (event: Event) => {
    event.preventDefault();
    const wanted = text.trim();
    if (wanted && wanted !== currentUser()) lookAt(wanted);
    else setText(user ?? "");
  };
  return (
    <form class="whose" onSubmit={look}>
      <span class="whose-space" title="Workspace">{who.workspace_id}</span>
      <span class="whose-slash" aria-hidden="true">/</span>
      <input
        class="whose-input" aria-label="User whose memory is shown" placeholder="user…" value={text} dir="auto"
        list="known-users" spellcheck={false} autocomplete="off" autocapitalize="off"
        onInput={(event) => setText(event.currentTarget.value)} onBlur={look}
        onKeyDown={(event) => event.key === "Escape" && (setText(user ?? ""), event.currentTarget.blur())}
      />
      <datalist id="known-users">{offered.map((each) => <option key={each} value={each} />)}</datalist>
    </form>
  );
}

/** The users of a workspace, as far as they are offered: those looked at before, and the first of all. */
function useOfferedUsers(): string[] {
  const users = useStore(knownUsers);
  return [...new Set([...recentUsers(), ...users])];
}

function ThemeSwitch() {
  const chosen = useStore(theme);
  const next: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
  const icon = { auto: "auto", light: "sun", dark: "moon" } as const;
  const words = { auto: "as the system", light: "light", dark: "dark" };
  return (
    <IconButton
      class="theme-switch" icon={icon[chosen]} label={`Theme: ${words[chosen]}. Change to ${words[next[chosen]]}`}
      onClick={() => chooseTheme(next[chosen])}
    />
  );
}

function KeyMenu({ who, onHelp }: { who: Identity; onHelp: () => void }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const chosen = useStore(theme);
  const rights = useRights();
  const leave = useAction(async () => {
    await signOut();
    forgetDrafts();
    // The page begins anew: nothing of this user stays in it.
    location.hash = "";
    location.reload();
  });
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("mousedown", away);
    document.addEventListener("focusin", away);
    return () => {
      document.removeEventListener("mousedown", away);
      document.removeEventListener("focusin", away);
    };
  }, [open]);
  const role = rights.operator ? "operator" : who.role;
  return (
    <div class="menu" ref={box} onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
      <Button kind="quiet" icon="key" aria-expanded={open} aria-haspopup="dialog" aria-label={`Key: ${role}`} onClick={() => setOpen(!open)}>
        {role}
      </Button>
      {open && (
        <div class="menu-box" role="dialog" aria-label="Who you are">
          <dl class="facts">
            <dt>Workspace</dt><dd>{who.workspace_id}</dd>
            <dt>User</dt><dd dir="auto">{who.user_id ?? "all of the workspace"}</dd>
            <dt>May</dt><dd><Badge tone={rights.admin ? "warn" : rights.write ? "accent" : "neutral"}>{role}</Badge></dd>
            <dt>Key</dt><dd class="mono">{who.key_id}</dd>
            {who.expires_at && <><dt>Expires</dt><dd>{formatTime(who.expires_at)}</dd></>}
          </dl>
          <Segmented<Theme>
            label="Theme" value={chosen} onChange={chooseTheme}
            options={[{ value: "auto", title: "Auto" }, { value: "light", title: "Light" }, { value: "dark", title: "Dark" }]}
          />
          <div class="menu-actions">
            <a class="button quiet" href={href("start")} onClick={() => setOpen(false)}><Icon name="start" /><span class="button-text">Get started</span></a>
            <Button kind="quiet" icon="keyboard" onClick={() => { setOpen(false); onHelp(); }}>Keys</Button>
            {who.key_id !== "no-auth" && <Button kind="quiet" icon="signout" busy={leave.busy} onClick={() => leave.run()}>Sign out</Button>}
          </div>
          {leave.error && <ErrorBox error={leave.error} />}
        </div>
      )}
    </div>
  );
}

// Navigation

function Navigation({ current }: { current: string }) {
  return (
    <nav class="nav" aria-label="Views">
      {VIEWS.filter((each) => each.listed).map((each) => (
        <a
          key={each.id} class={cls("nav-link", each.id === current && "here")} href={href(each.id)}
          aria-current={each.id === current ? "page" : undefined} title={`${each.title} (g ${each.letter})`}
        >
          <Icon name={each.icon} />
          <span class="nav-title">{each.title}</span>
          <span class="nav-short">{each.short}</span>
        </a>
      ))}
    </nav>
  );
}

function NoView({ name }: { name: string }) {
  return (
    <Page title="Not found">
      <Empty icon="search" title="There is no such view" action={<Button kind="primary" onClick={() => go("ask")}>Go to Ask</Button>}>
        The address names “{name.slice(0, 60)}”.
      </Empty>
    </Page>
  );
}

function WhoseMemory() {
  const [text, setText, clear] = useDraft("whose");
  const known = useOfferedUsers();
  const submit = (event: Event) => {
    event.preventDefault();
    clear();
    if (text.trim()) lookAt(text.trim());
  };
  return (
    <Page title="Whose memory?">
      <form class="whose-memory" onSubmit={submit}>
        <p class="lead">This key opens a whole workspace. Name the user whose memory you want to see.</p>
        <Field label="User" hint="As your agent names them in user_id.">
          {(id) => (
            <input
              id={id} class="input" data-search value={text} spellcheck={false} autocomplete="off" autocapitalize="off"
              dir="auto" list="known-users" onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="row">
          <Button kind="primary" type="submit" disabled={!text.trim()}>Show</Button>
          <a class="button" href={href("start")}><span class="button-text">I have no data yet</span></a>
        </div>
        {known.length > 0 && (
          <p class="recent">Who has a memory here: {known.slice(0, MOST_SHOWN).map((each) => <Button key={each} small onClick={() => lookAt(each)}><bdi>{each.slice(0, 60)}</bdi></Button>)}
            {known.length > MOST_SHOWN && <span class="muted">and others: type a part of the name</span>}
          </p>
        )}
      </form>
    </Page>
  );
}

// Views are loaded when they are first opened

function Lazy({ view }: { view: View }) {
  const [found, setFound] = useState<{ show: ComponentType } | null>(null);
  const [failed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    view.load().then((module) => setFound({ show: module.default }), () => setFailed(true));
  };
  useEffect(load, [view]);
  if (failed) {
    return (
      <Page title={view.title}>
        <Empty icon="warning" title="This view could not be loaded" action={<Button kind="primary" icon="refresh" onClick={() => location.reload()}>Reload the page</Button>}>
          The server does not answer, or it was upgraded since this page was opened. What you typed is kept.
        </Empty>
      </Page>
    );
  }
  if (!found) return <Page title={view.title}><Loading lines={6} what={view.title} /></Page>;
  const Shown = found.show;
  return <Shown />;
}

class Boundary extends Component<{ children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false };

  static override getDerivedStateFromError() {
    return { failed: true };
  }

  override componentDidCatch(error: unknown) {
    console.error(error);
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <Page title="Something went wrong">
        <Empty icon="warning" title="This view has a defect" action={<Button kind="primary" onClick={() => this.setState({ failed: false })}>Show it again</Button>}>
          The others still work. What you typed is kept.
        </Empty>
      </Page>
    );
  }
}

// The server is gone

function GoneBanner() {
  const state = useStore(connection);
  const [now, setNow] = useState(Date.now());
  const [back, setBack] = useState(false);
  const gone = state.state === "gone";
  const was = useRef(false);
  useEffect(() => {
    if (gone) {
      was.current = true;
      setBack(false);
      setNow(Date.now());
      const timer = setInterval(() => setNow(Date.now()), 500);
      return () => clearInterval(timer);
    }
    if (!was.current) return;
    was.current = false;
    setBack(true);
    const timer = setTimeout(() => setBack(false), 3000);
    return () => clearTimeout(timer);
  }, [gone]);
  if (state.state === "gone") {
    const seconds = Math.max(0, Math.ceil((state.nextTry - now) / 1000));
    return (
      <div class="banner bad" role="alert">
        <Icon name="warning" />
        <span>The server does not answer. Trying again{seconds ? ` in ${seconds} s.` : "…"} Nothing you typed is lost.</span>
        <Button small onClick={tryAgainNow}>Try now</Button>
      </div>
    );
  }
  return back ? <div class="banner good" role="status"><Icon name="check" /><span>The server is back.</span></div> : null;
}

const HEARTBEAT_MS = 30_000;

/** A revoked key and a server that is gone are noticed without a click. */
function useHeartbeat(): void {
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && lookAlive();
    const timer = setInterval(look, HEARTBEAT_MS);
    addEventListener("focus", look);
    addEventListener("online", look);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", look);
      removeEventListener("online", look);
    };
  }, []);
}

// Keys

const TYPING = "input, textarea, select, [contenteditable]";

function useKeys(onHelp: () => void): void {
  useEffect(() => {
    let began = -Infinity;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if ((event.target as Element).closest?.(TYPING) || document.querySelector(".dialog")) return;
      const follows = event.timeStamp - began < 1500;
      began = -Infinity;
      const view = follows && VIEWS.find((each) => each.letter === event.key);
      if (view) go(view.id);
      else if (event.key === "g") began = event.timeStamp;
      else if (event.key === "?") onHelp();
      else if (event.key === "/") document.querySelector<HTMLElement>(".main [data-search]")?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

function KeysHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {VIEWS.map((each) => (
          <div key={each.id}><dt>{each.title}</dt><dd><Kbd>g</Kbd> <Kbd>{each.letter}</Kbd></dd></div>
        ))}
        <div><dt>Search in this view</dt><dd><Kbd>/</Kbd></dd></div>
        <div><dt>Next, previous in a list</dt><dd><Kbd>j</Kbd> <Kbd>k</Kbd></dd></div>
        <div><dt>Open</dt><dd><Kbd>Enter</Kbd></dd></div>
        <div><dt>Close</dt><dd><Kbd>Esc</Kbd></dd></div>
        <div><dt>These keys</dt><dd><Kbd>?</Kbd></dd></div>
      </dl>
    </Dialog>
  );
}

const root = document.getElementById("app");
if (root) {
  root.textContent = "";
  render(<App />, root);
}
