/** The sliders: what they change, and what it is called in the configuration file. */
import { useState } from "preact/hooks";
import { isDay } from "../../lib/text";
import { Button, CopyButton, Disclosure, Field, Icon, IconButton, Panel, Select, Slider, Switch, cls, formatNumber } from "../../lib/ui";
import {
  asConfig, BUDGET, changesIn, onlyOfCall, tidy, weightOf, withNumber, withWeight, type Defaults, type Tune,
} from "./model";

const STOPS = [100, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000, 3000, 4000, 6000, 8192, 12_000, 16_000, 32_000];
const HEAVIEST = 4;
/** Searched only when they are named: they repeat what was said. */
const QUIET = ["fact", "note"];

const SOURCES: [string, string][] = [
  ["vector", "Meaning"], ["around", "Meaning, with the turns beside"], ["theme", "Meaning of the session"],
  ["window", "Keywords, with the turns beside"], ["people", "Keywords of people"], ["session", "Keywords of the session"],
  ["cover", "How many words of the question"], ["graph", "Knowledge graph"], ["speaker", "Said by who is named"],
  ["role", "Said by those asked for"], ["time", "Tells a time"], ["taste", "Tells a taste"], ["length", "Has something to say"],
];

interface Props {
  tune: Tune;
  defaults: Defaults;
  /** The task profile that the message calls for. */
  detected: string;
  /** Tiers that hold anything, with how much. */
  sizes: Record<string, number>;
  onTune: (tune: Tune) => void;
}

export function Tuning({ tune, defaults, detected, sizes, onTune }: Props) {
  const [open, setOpen] = useState(false);
  const count = changesIn(tune);
  return (
    <Panel
      class={cls("ask-tuning", open && "open")}
      title={<>Tune{count > 0 && <span class="ask-count">{count}</span>}</>}
      actions={
        <>
          <Button small kind="quiet" icon="undo" disabled={!count} onClick={() => onTune({})}>Reset</Button>
          <IconButton
            class="ask-tuning-toggle" small icon={open ? "up" : "down"} label={open ? "Hide the settings" : "Show the settings"}
            aria-expanded={open} onClick={() => setOpen(!open)}
          />
        </>
      }
    >
      <div class="ask-tuning-body">
        <Main tune={tune} defaults={defaults} detected={detected} onTune={onTune} />
        <Tiers tune={tune} defaults={defaults} detected={detected} sizes={sizes} onTune={onTune} />
        <Sources tune={tune} defaults={defaults} onTune={onTune} />
        <AsConfig tune={tune} defaults={defaults} detected={detected} />
      </div>
    </Panel>
  );
}

function Main({ tune, defaults, detected, onTune }: Omit<Props, "sizes">) {
  const number = (name: string) => tune.numbers?.[name] ?? defaults.numbers[name] ?? 0;
  const set = (name: string, value: number) => onTune(withNumber(tune, name, value, defaults.numbers[name]));
  const budget = defaults.numbers[BUDGET] ?? 8192;
  const stops = [...new Set([...STOPS, budget, number(BUDGET)])].sort((a, b) => a - b);
  const boost = tune.boost ?? defaults.boost;
  return (
    <div class="ask-knobs">
      <Slider
        label="Budget, tokens" min={0} max={stops.length - 1} step={1} value={stops.indexOf(number(BUDGET))} initial={stops.indexOf(budget)}
        show={(place) => formatNumber(stops[place] ?? 0)} onInput={(place) => set(BUDGET, stops[place] ?? budget)}
      />
      <Slider
        label="Instruction boost" min={0} max={2} step={0.05} value={boost} initial={defaults.boost}
        show={(value) => (value > 0 ? `+${value.toFixed(2)}` : "off")}
        onInput={(value) => onTune(tidy({ ...tune, boost: value === defaults.boost ? undefined : value }))}
      />
      <Slider
        label="Instructions added" min={0} max={6} step={1} value={number("instructionLane")} initial={defaults.numbers["instructionLane"] ?? 2}
        onInput={(value) => set("instructionLane", value)}
      />
      <Slider
        label="Relevance gate" min={0} max={1} step={0.05} value={number("relevanceGate")} initial={defaults.numbers["relevanceGate"] ?? 0.7}
        show={(value) => (value > 0 ? value.toFixed(2) : "off")} onInput={(value) => set("relevanceGate", value)}
      />
      <AsOf tune={tune} onTune={onTune} />
      <Field label="Task profile">
        {(id) => (
          <Select
            id={id} value={tune.profile ?? ""} onChange={(profile) => onTune(tidy({ ...tune, profile }))}
            options={[
              { value: "", title: `Auto (${detected})` },
              ...defaults.profiles.map((each) => ({ value: each.name, title: each.name })),
            ]}
          />
        )}
      </Field>
    </div>
  );
}

function AsOf({ tune, onTune }: Pick<Props, "tune" | "onTune">) {
  return (
    <Field label="As of" hint={tune.asOf ? "As it was known at the end of this day (UTC)." : undefined}>
      {(id) => (
        <div class="ask-date">
          <input
            id={id} type="date" class="input" value={tune.asOf ?? ""} min="1970-01-01" max="9999-12-31"
            onInput={(event) => {
              const day = event.currentTarget.value;
              if (!day || isDay(day)) onTune(tidy({ ...tune, asOf: day }));
            }}
          />
          <IconButton icon="close" small label="Back to today" disabled={!tune.asOf} onClick={() => onTune(tidy({ ...tune, asOf: undefined }))} />
        </div>
      )}
    </Field>
  );
}

function Tiers({ tune, defaults, detected, sizes, onTune }: Props) {
  const profile = tune.profile ?? detected;
  const shown = defaults.tiers.filter((tier) => (sizes[tier] ?? 0) > 0 || tune.weights?.[tier] !== undefined);
  const searched = (tier: string) => tune.everyTier || !QUIET.includes(tier);
  const quiet = shown.filter((tier) => QUIET.includes(tier));
  return (
    <Disclosure open summary={<>Tier weights <span class="ask-of">of “{profile}”</span></>}>
      <div class="ask-knobs">
        {!defaults.boosting && <p class="field-hint">Task profiles are switched off (boosting.enabled): weights do nothing.</p>}
        {shown.filter(searched).map((tier) => {
          const initial = weightOf(defaults, profile, tier);
          return (
            <Slider
              key={tier} label={tier} min={0.1} max={HEAVIEST} step={0.1} initial={initial} value={tune.weights?.[tier] ?? initial}
              show={(value) => `× ${value.toFixed(1)}`} onInput={(value) => onTune(withWeight(tune, tier, value, initial))}
            />
          );
        })}
        {!shown.length && <p class="field-hint">No tier holds anything yet.</p>}
        {quiet.length > 0 && (
          <Switch checked={tune.everyTier === true} onChange={(everyTier) => onTune(tidy({ ...tune, everyTier: everyTier || undefined }))}>
            Also search facts and notes
          </Switch>
        )}
      </div>
    </Disclosure>
  );
}

function Sources({ tune, defaults, onTune }: Pick<Props, "tune" | "defaults" | "onTune">) {
  const rows = defaults.fusion === "rrf"
    ? ["hybrid", "vector", "keyword", "graph"].map((name): [string, string] => [`rrf.weights.${name}`, name])
    : SOURCES.map(([name, title]): [string, string] => [`blend.${name}`, title]);
  return (
    <Disclosure summary={<>Source weights <span class="ask-of">{defaults.fusion}</span></>}>
      <div class="ask-knobs">
        {rows.filter(([name]) => name in defaults.numbers).map(([name, title]) => {
          const initial = defaults.numbers[name] ?? 0;
          return (
            <Slider
              key={name} label={title} min={0} max={HEAVIEST} step={0.05} initial={initial} value={tune.numbers?.[name] ?? initial}
              show={(value) => value.toFixed(2)} onInput={(value) => onTune(withNumber(tune, name, value, initial))}
            />
          );
        })}
      </div>
    </Disclosure>
  );
}

function AsConfig({ tune, defaults, detected }: Pick<Props, "tune" | "defaults" | "detected">) {
  if (!changesIn(tune)) return <p class="field-hint ask-hint">Move a slider: the answer follows at once, and what differs from the default is marked.</p>;
  const config = asConfig(tune, defaults, detected);
  const text = JSON.stringify(config, null, 2);
  const others = onlyOfCall(tune);
  const any = Object.keys(config).length > 0;
  return (
    <div class="ask-config">
      <div class="spread">
        <h3>As configuration</h3>
        {any && <CopyButton text={text} label="Copy as config" />}
      </div>
      {any && <pre class="ask-json" role="region" tabIndex={0} aria-label="Configuration">{text}</pre>}
      {any && <p class="field-hint">JSON is YAML too: put it into <code>holdfast.yml</code> and start the service again.</p>}
      {others.length > 0 && (
        <p class="field-hint"><Icon name="info" size={12} /> {others.join(", ")}: {others.length > 1 ? "fields" : "a field"} of a call, not of the configuration.</p>
      )}
    </div>
  );
}
