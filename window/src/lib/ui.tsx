/** What views are made of. Text is always a text node; nothing here takes HTML. */
import { createPortal, type ButtonHTMLAttributes, type ComponentChildren, type CSSProperties, type Ref } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, type Answer } from "./api";
import { createStore, useStore } from "./store";
import { CLAMPED, PIECE, bytesFrom, calmed, cut, piecesOf } from "./text";

export function cls(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

// Icons: 16 units square, one stroke.

const ICONS = {
  ask: "M2.5 3.5h11v7.5h-6l-3 2.5v-2.5h-2zM5.5 6.2h5M5.5 8.4h3",
  timeline: "M3.5 2.5v11M3.5 4h.01M6.5 4h7M3.5 8h.01M6.5 8h5M3.5 12h.01M6.5 12h6",
  changes: "M2.5 5h9l-2.5-2.5M13.5 11h-9l2.5 2.5",
  graph: "M4 4.5a1.5 1.5 0 1 0 0-.01M12 5.5a1.5 1.5 0 1 0 0-.01M7.5 12.5a1.5 1.5 0 1 0 0-.01M5.5 4.7l5 .6M4.6 5.9l2.6 5.2M11.2 6.8l-2.8 4.4",
  profile: "M8 8a2.6 2.6 0 1 0 0-5.2A2.6 2.6 0 0 0 8 8M3 13.4c.6-2.3 2.5-3.6 5-3.6s4.400 1.300 5 3.600",
  operations: "M2 8.500h2.800l1.600-5 3 9 1.700-4h2.900",
  start: "M5 3.200l7.500 4.800L5 12.800z",
  search: "M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9M10.400 10.400l3.100 3.100",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.500l3.200 3.200L13 4.800",
  copy: "M5.500 5.500h7v7h-7zM3.500 10.500v-7h7",
  chevron: "M6 3.500l4.500 4.500L6 12.500",
  down: "M3.500 6l4.500 4.500L12.500 6",
  sun: "M8 10.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5M8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1.100 1.100M11.500 11.500l1.100 1.100M12.600 3.400l-1.100 1.100M4.500 11.500l-1.100 1.100",
  moon: "M13 9.500A5.500 5.500 0 0 1 6.500 3a5.500 5.500 0 1 0 6.500 6.500",
  auto: "M8 2.500a5.500 5.500 0 1 0 0 11zM8 2.500a5.500 5.500 0 0 1 0 11",
  key: "M5.500 13a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5M7.300 8.700L13 3M10.800 5.200l1.700 1.700",
  keyboard: "M1.500 4.500h13v7h-13zM4 7h.01M6.500 7h.01M9 7h.01M11.500 7h.01M5 9.300h6",
  warning: "M8 2.500l6 10.500H2zM8 6.500v3M8 11.300v.01",
  info: "M8 13.500a5.500 5.500 0 1 0 0-11 5.500 5.500 0 0 0 0 11M8 7.500v3.300M8 5.200v.01",
  trash: "M3 4.500h10M6.500 4.500v-2h3v2M4.500 4.500l.6 9h5.800l.6-9M6.700 7v4M9.300 7v4",
  edit: "M3 13l.6-2.800 7-7 2.200 2.200-7 7zM9.300 4.500l2.200 2.200",
  undo: "M5.500 3l-3 3 3 3M2.500 6h6.500a3.700 3.700 0 0 1 0 7.400H6.500",
  refresh: "M13 8a5 5 0 1 1-1.500-3.600M13 2.500v2.500h-2.500",
  plus: "M8 3v10M3 8h10",
  link: "M6.500 9.500l3-3M7 4.500l1.300-1.300a2.700 2.700 0 0 1 3.800 3.800L10.800 8.300M9 11.500l-1.300 1.300a2.700 2.700 0 0 1-3.800-3.800L5.200 7.700",
  up: "M3.500 10l4.500-4.500L12.500 10",
  filter: "M2.500 3.500h11l-4.300 5v4.500l-2.400-1.500v-3z",
  signout: "M9.500 2.500h-6v11h6M6.500 8h7.500M11.500 5.500L14 8l-2.500 2.500",
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={ICONS[name]} />
    </svg>
  );
}

// Buttons and marks

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "ref" | "icon" | "disabled" | "type"> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  icon?: IconName;
  busy?: boolean;
  disabled?: boolean;
  small?: boolean;
  type?: "button" | "submit";
  buttonRef?: Ref<HTMLButtonElement>;
  children?: ComponentChildren;
}

export function Button({
  kind = "plain", icon, busy = false, disabled = false, small = false, type = "button", buttonRef, children, ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      ref={buttonRef ?? null}
      type={type}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      class={cls("button", kind, small && "small", rest.class as string | undefined)}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children !== undefined && <span class="button-text">{children}</span>}
    </button>
  );
}

/** A button that is only an icon; `label` is its name and its hint. */
export function IconButton({ label, ...rest }: ButtonProps & { icon: IconName; label: string }) {
  return <Button kind="quiet" {...rest} class={cls("icon-only", rest.class as string | undefined)} aria-label={label} title={label} />;
}

export type Tone = "neutral" | "accent" | "good" | "warn" | "bad" | "tier-session" | "tier-fact" | "tier-note"
  | "tier-profile" | "tier-graph" | "tier-procedure" | "tier-knowledge" | "tier-workspace";

export function Badge({ tone = "neutral", children, title }: { tone?: Tone; children: ComponentChildren; title?: string }) {
  return <span class={`badge ${tone}`} title={title}>{children}</span>;
}

/** A tier by its colour, the same in every view. */
export function TierBadge({ tier }: { tier: string }) {
  return <Badge tone={`tier-${tier}` as Tone}>{tier}</Badge>;
}

export function Kbd({ children }: { children: ComponentChildren }) {
  return <kbd class="kbd">{children}</kbd>;
}

export function CopyButton({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      toast("The browser does not allow copying here: select the text and copy it by hand.", "warn");
    }
  };
  return <Button small kind="quiet" icon={done ? "check" : "copy"} onClick={copy}>{done ? "Copied" : label}</Button>;
}

// Where things stand

/** The frame of a view: title, what can be done, then the content. */
export function Page({ title, lead, actions, children, wide = false }: {
  title: string; lead?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; wide?: boolean;
}) {
  return (
    <div class={cls("page", wide && "wide")}>
      <header class="page-head">
        <div class="page-title">
          <h1>{title}</h1>
          {lead && <p class="lead">{lead}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Panel({ title, actions, children, flush = false, class: more }: {
  title?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; flush?: boolean; class?: string;
}) {
  return (
    <section class={cls("panel", flush && "flush", more)}>
      {(title || actions) && (
        <header class="panel-head">
          {title && <h2>{title}</h2>}
          {actions && <div class="panel-actions">{actions}</div>}
        </header>
      )}
      <div class="panel-body">{children}</div>
    </section>
  );
}

/** Opens and closes; `open` is where it begins. */
export function Disclosure({ summary, children, open = false }: {
  summary: ComponentChildren; children: ComponentChildren; open?: boolean;
}) {
  const [isOpen, setOpen] = useState(open);
  const id = useId();
  return (
    <div class={cls("disclosure", isOpen && "open")}>
      <button type="button" class="disclosure-head" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" size={12} />
        {summary}
      </button>
      <div id={id} class="disclosure-body" hidden={!isOpen}>{isOpen && children}</div>
    </div>
  );
}

export function Tabs<T extends string>({ tabs, value, onChange, label }: {
  tabs: readonly { id: T; title: ComponentChildren }[]; value: T; onChange: (id: T) => void; label: string;
}) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex((each) => each.id === value);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChange(next.id);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((each) => (
        <button
          key={each.id} type="button" role="tab" class="tab" aria-selected={each.id === value}
          tabIndex={each.id === value ? 0 : -1} onClick={() => onChange(each.id)}
        >
          {each.title}
        </button>
      ))}
    </div>
  );
}

// What is typed and chosen

export function Field({ label, hint, error, children }: {
  label: ComponentChildren; hint?: ComponentChildren; error?: ComponentChildren; children: (id: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class={cls("field", Boolean(error) && "wrong")}>
      <label for={id}>{label}</label>
      {children(id)}
      {error ? <p class="field-error" role="alert">{error}</p> : hint && <p class="field-hint">{hint}</p>}
    </div>
  );
}

/** The box that `/` goes to. One in a view. */
export function SearchBox({ value, onInput, label, placeholder, onEnter }: {
  value: string; onInput: (text: string) => void; label: string; placeholder?: string; onEnter?: () => void;
}) {
  return (
    <div class="search-box">
      <Icon name="search" />
      <input
        type="search" class="input" data-search value={value} aria-label={label} placeholder={placeholder ?? label}
        spellcheck={false} autocomplete="off"
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onEnter?.();
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <Kbd>/</Kbd>
    </div>
  );
}

export function Select<T extends string>({ value, options, onChange, label, id }: {
  value: T; options: readonly { value: T; title: string }[]; onChange: (value: T) => void; label?: string; id?: string;
}) {
  return (
    <span class="select">
      <select id={id} aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {options.map((each) => <option key={each.value} value={each.value}>{each.title}</option>)}
      </select>
      <Icon name="down" size={12} />
    </span>
  );
}

export function Switch({ checked, onChange, children, disabled = false }: {
  checked: boolean; onChange: (checked: boolean) => void; children: ComponentChildren; disabled?: boolean;
}) {
  return (
    <label class={cls("switch", disabled && "off")}>
      <input
        type="checkbox" role="switch" checked={checked} disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span class="switch-track" aria-hidden="true" />
      <span>{children}</span>
    </label>
  );
}

/** A slider with its value beside it; `initial` is marked and can be gone back to. */
export function Slider({ label, value, min, max, step, onInput, show = String, initial }: {
  label: string; value: number; min: number; max: number; step: number; onInput: (value: number) => void;
  show?: (value: number) => string; initial?: number;
}) {
  const id = useId();
  const changed = initial !== undefined && value !== initial;
  return (
    <div class={cls("slider", changed && "changed")}>
      <label for={id}>{label}</label>
      <output for={id}>{show(value)}</output>
      <input
        id={id} type="range" min={min} max={max} step={step} value={value} aria-valuetext={show(value)}
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
      {initial !== undefined && (
        <IconButton
          icon="undo" small label={`Back to ${show(initial)}`} disabled={!changed} onClick={() => onInput(initial)}
        />
      )}
    </div>
  );
}

/** Exclusive choices as one row of buttons. */
export function Segmented<T extends string>({ value, options, onChange, label }: {
  value: T; options: readonly { value: T; title: ComponentChildren; label?: string }[]; onChange: (value: T) => void; label: string;
}) {
  return (
    <div class="segmented" role="group" aria-label={label}>
      {options.map((each) => (
        <button
          key={each.value} type="button" aria-pressed={each.value === value} aria-label={each.label} title={each.label}
          onClick={() => onChange(each.value)}
        >
          {each.title}
        </button>
      ))}
    </div>
  );
}

// While nothing is there, and when something went wrong

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => <span key={index} class={`skeleton-line w${index % 4}`} />)}
    </div>
  );
}

const SLOW_MS = 1_000;

/** A skeleton that, when it takes long, says so. */
export function Loading({ lines = 3, what = "Loading" }: { lines?: number; what?: string }) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="loading" role="status" aria-busy="true">
      <span class={slow ? "loading-words" : "hidden-text"}>{slow ? `${what} takes longer than usual. Still waiting…` : `${what}…`}</span>
      <Skeleton lines={lines} />
    </div>
  );
}

export function Empty({ icon = "info", title, children, action }: {
  icon?: IconName; title: string; children?: ComponentChildren; action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <span class="empty-icon"><Icon name={icon} size={20} /></span>
      <h2>{title}</h2>
      {children && <div class="empty-words">{children}</div>}
      {action && <div class="empty-action">{action}</div>}
    </div>
  );
}

export function ErrorBox({ error, retry, title }: { error: ApiError | string; retry?: (() => void) | undefined; title?: string }) {
  const words = typeof error === "string" ? error : error.message;
  const after = typeof error === "string" ? null : error.retryAfter;
  return (
    <div class="error-box" role="alert">
      <Icon name="warning" />
      <div class="error-words">
        {title && <strong>{title}</strong>}
        <span>{words}{after ? ` Try again in ${after} s.` : ""}</span>
      </div>
      {retry && <Button small icon="refresh" onClick={retry}>Try again</Button>}
    </div>
  );
}

/** The usual three states of an answer, then the content. Old data stay while new ones are awaited. */
export function Answered<T>({ answer, what, lines, children }: {
  answer: Answer<T>; what?: string; lines?: number; children: (data: T) => ComponentChildren;
}) {
  if (answer.data === null) {
    if (answer.error) return <ErrorBox error={answer.error} retry={answer.reload} />;
    return answer.loading ? <Loading {...(what ? { what } : {})} {...(lines ? { lines } : {})} /> : null;
  }
  return (
    <div class={cls("answered", answer.loading && "stale")} aria-busy={answer.loading}>
      {answer.error && <ErrorBox error={answer.error} retry={answer.reload} />}
      {children(answer.data)}
    </div>
  );
}

// Dialogs

const FOCUSABLE = "a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), [tabindex='0']";

/**
 * A dialog on top of everything, which keeps the focus and gives it back. Escape and a click beside it
 * call `onClose`, unless `stubborn`. `side` slides in from the right, for details.
 */
export function Dialog({ title, onClose, children, footer, wide = false, side = false, stubborn = false }: {
  title: string; onClose: () => void; children: ComponentChildren; footer?: ComponentChildren;
  wide?: boolean; side?: boolean; stubborn?: boolean;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const box = frame.current;
    const first = box?.querySelector<HTMLElement>("[autofocus]") ?? box?.querySelector<HTMLElement>(".dialog-body input, .dialog-body textarea, .dialog-body select");
    (first ?? box)?.focus();
    return () => before?.isConnected && before.focus();
  }, []);
  const keys = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape" && !stubborn) {
      event.preventDefault();
      onClose();
    }
    if (event.key !== "Tab" || !frame.current) return;
    const all = [...frame.current.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((each) => each.offsetParent !== null);
    const [first, last] = [all[0], all[all.length - 1]];
    if (!first || !last) return event.preventDefault();
    const at = document.activeElement;
    if (event.shiftKey && (at === first || at === frame.current)) {
      event.preventDefault();
      last.focus();
    } else if (!event.shiftKey && at === last) {
      event.preventDefault();
      first.focus();
    }
  };
  const latest = useRef(keys);
  latest.current = keys;
  // What had the focus may go (a row that was dealt with): keys then come from the page, and are still the dialog's.
  useEffect(() => {
    const stray = (event: KeyboardEvent) => {
      const all = document.querySelectorAll(".dialog");
      if (event.target !== document.body || all[all.length - 1] !== frame.current) return;
      frame.current?.focus();
      latest.current(event);
    };
    document.addEventListener("keydown", stray, true);
    return () => document.removeEventListener("keydown", stray, true);
  }, []);
  return createPortal(
    <div class={cls("dialog-backdrop", side && "side")} onMouseDown={(event) => event.target === event.currentTarget && !stubborn && onClose()}>
      <div
        ref={frame} class={cls("dialog", wide && "wide")} role="dialog" aria-modal="true" aria-labelledby={id}
        tabIndex={-1} onKeyDown={keys}
      >
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          {!stubborn && <IconButton icon="close" label="Close" onClick={onClose} />}
        </header>
        <div class="dialog-body">{children}</div>
        {footer && <footer class="dialog-foot">{footer}</footer>}
      </div>
    </div>,
    document.body,
  );
}

interface Question {
  title: string;
  words: ComponentChildren;
  yes: string;
  danger: boolean;
  /** What must be typed before it may be done. */
  type: string | null;
  answer: (yes: boolean) => void;
}

const question = createStore<Question | null>(null);

/**
 * Ask before something is done: `if (await confirm({ title: "Forget this?", yes: "Forget" })) ...`.
 * `type`: what must be typed first, for what cannot be undone.
 */
export function confirm({ title, words = null, yes, danger = false, type = null }: {
  title: string; words?: ComponentChildren; yes: string; danger?: boolean; type?: string | null;
}): Promise<boolean> {
  question.get()?.answer(false);
  return new Promise((resolve) => {
    const answer = (value: boolean) => {
      question.set(null);
      resolve(value);
    };
    question.set({ title, words, yes, danger, type, answer });
  });
}

/** Shows what `confirm` asks; once, in the shell. */
export function Confirmations() {
  const asked = useStore(question);
  const [typed, setTyped] = useState("");
  useEffect(() => setTyped(""), [asked]);
  if (!asked) return null;
  const ready = asked.type === null || typed === asked.type;
  return (
    <Dialog
      title={asked.title}
      onClose={() => asked.answer(false)}
      footer={
        <>
          <Button onClick={() => asked.answer(false)}>Cancel</Button>
          <Button kind={asked.danger ? "danger" : "primary"} disabled={!ready} onClick={() => asked.answer(true)}>{asked.yes}</Button>
        </>
      }
    >
      {asked.words}
      {asked.type !== null && (
        <Field label={<>Type <strong>{asked.type}</strong> to go on</>}>
          {(id) => <input id={id} class="input" value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />}
        </Field>
      )}
    </Dialog>
  );
}

// Toasts

interface Toast {
  id: number;
  words: string;
  tone: "good" | "warn" | "bad";
  action: { title: string; run: () => void } | null;
}

const toasts = createStore<Toast[]>([]);
let toastNumber = 0;

/** A word at the edge of the page that goes by itself; with an action ("Undo") it stays longer. */
export function toast(words: string, tone: Toast["tone"] = "good", action: Toast["action"] = null): void {
  const id = ++toastNumber;
  toasts.set([...toasts.get().slice(-3), { id, words, tone, action }]);
  setTimeout(() => dropToast(id), action ? 12_000 : 5_000);
}

function dropToast(id: number): void {
  toasts.set(toasts.get().filter((each) => each.id !== id));
}

/** Nothing of what was asked or said stays on the page. */
export function dismissAll(): void {
  question.get()?.answer(false);
  toasts.set([]);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useStore(toasts).map((each) => (
        <div key={each.id} class={`toast ${each.tone}`}>
          <Icon name={each.tone === "good" ? "check" : "warning"} />
          <span>{each.words}</span>
          {each.action && (
            <Button small onClick={() => { dropToast(each.id); each.action?.run(); }}>{each.action.title}</Button>
          )}
          <IconButton icon="close" small label="Dismiss" onClick={() => dropToast(each.id)} />
        </div>
      ))}
    </div>
  );
}

// Times and numbers, in the reader's own language and zone

const DATE = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const DATE_TIME = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY_CLOCK = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const LONG_DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", year: "numeric", month: "long", day: "numeric" });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });
const NUMBER = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600], ["month", 2_629_800], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60],
];

/** A day without a time ("2026-03-01") is that day everywhere, not the evening before it in the west. */
export const formatDate = (at: string | Date) => DATE.format(new Date(typeof at === "string" && at.length === 10 ? `${at}T12:00` : at));
export const formatTime = (at: string | Date) => DATE_TIME.format(new Date(at));
export const formatClock = (at: string | Date) => CLOCK.format(new Date(at));
/** Where the year is told elsewhere. */
export const formatDayClock = (at: string | Date) => DAY_CLOCK.format(new Date(at));
export const formatDay = (at: string | Date) => LONG_DAY.format(new Date(at));
export const formatNumber = (value: number) => NUMBER.format(value);
/** 12.3K */
export const formatShort = (value: number) => SHORT.format(value);
export const formatPercent = (share: number, digits = 0) => `${(100 * share).toFixed(digits)} %`;

export function formatBytes(bytes: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let at = 0;
  while (bytes >= 1024 && at < units.length - 1) {
    bytes /= 1024;
    at += 1;
  }
  return `${bytes.toFixed(at && bytes < 10 ? 1 : 0)} ${units[at]}`;
}

export function formatAgo(at: string | Date, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  for (const [unit, size] of STEPS) if (Math.abs(seconds) >= size) return AGO.format(Math.round(seconds / size), unit);
  return "now";
}

/** A time; the exact one as a hint. */
export function Time({ at, as = "time" }: { at: string; as?: "time" | "date" | "clock" | "ago" }) {
  const show = { time: formatTime, date: formatDate, clock: formatClock, ago: formatAgo }[as];
  return <time dateTime={at} title={`${formatTime(at)} (${at})`}>{show(at)}</time>;
}

/** Somebody's text as it stands: line breaks kept, its own direction, never wider than its place. A long one is shown in pieces. */
export function Prose({ text, lines = 0 }: { text: string; lines?: number }) {
  // How many pieces are open; 0: clamped.
  const [open, setOpen] = useState(lines > 0 ? 0 : 1);
  const long = lines > 0 && (text.length > lines * 110 || text.split("\n").length > lines);
  const clamped = long && open === 0;
  const { pieces, rest } = useMemo(
    () => (clamped ? { pieces: [calmed(cut(text, CLAMPED))], rest: 0 } : piecesOf(text, Math.max(open, 1))), [text, clamped, open],
  );
  const left = useMemo(() => (rest < text.length ? formatBytes(bytesFrom(text, rest)) : null), [text, rest]);
  return (
    <>
      {pieces.map((each, index) => (
        <p key={index} class={cls("prose", clamped && "clamped")} dir="auto" style={clamped ? { "--lines": lines } as CSSProperties : undefined}>{each}</p>
      ))}
      {left !== null && (
        <button type="button" class="link-button" aria-expanded={clamped ? false : undefined} onClick={() => setOpen(open + 1)}>
          {clamped ? `Show ${text.length > PIECE ? "more" : "all"} (${left})` : `Show more (${left} left)`}
        </button>
      )}
      {long && !clamped && <button type="button" class="link-button" aria-expanded onClick={() => setOpen(0)}>Show less</button>}
    </>
  );
}
