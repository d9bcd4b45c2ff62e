/** Choosing an entity by typing a part of its name. */
import { useId, useState } from "preact/hooks";
import { cls } from "../../lib/ui";
import { bears, colorToken, folded, type Entity, type Net } from "./model";

const MOST_OFFERED = 8;

/** The dot in the colour of a type. */
export function Dot({ type }: { type: string }) {
  return <span class="graph-dot" aria-hidden="true" style={{ background: `var(${colorToken(type)})` }} />;
}

export const typeWords = (entity: Entity) => (entity.subtype && entity.subtype !== entity.type ? `${entity.type} · ${entity.subtype}` : entity.type);

export function matches(net: Net, text: string, most = MOST_OFFERED, except: string | null = null): Entity[] {
  const wanted = folded(text.trim());
  if (!wanted) return [];
  const found = net.ranked().filter((each) => each.id !== except && bears(each, wanted));
  // Who begins so comes before who only holds it.
  return found.sort((a, b) => Number(folded(b.name).startsWith(wanted)) - Number(folded(a.name).startsWith(wanted))).slice(0, most);
}

/** A box that offers entities as somebody types; `text` is what is typed. */
export function PickEntity({ net, label, text, onText, onPick, except = null, autofocus = false }: {
  net: Net; label: string; text: string; onText: (text: string) => void; onPick: (id: string) => void;
  except?: string | null; autofocus?: boolean;
}) {
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const id = useId();
  const offered = open ? matches(net, text, MOST_OFFERED, except) : [];
  const pick = (entity: Entity) => {
    setOpen(false);
    onText(entity.name);
    onPick(entity.id);
  };
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const chosen = offered[at];
    if (step && offered.length) setAt((at + step + offered.length) % offered.length);
    else if (event.key === "Enter" && chosen) pick(chosen);
    else if (event.key === "Escape" && offered.length) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="graph-pick">
      <input
        class="input" role="combobox" aria-label={label} placeholder={label} aria-expanded={offered.length > 0} aria-controls={`${id}-list`}
        aria-autocomplete="list" aria-activedescendant={offered[at] ? `${id}-${at}` : undefined} autocomplete="off" spellcheck={false}
        dir="auto" value={text} autofocus={autofocus} onKeyDown={keys} onBlur={() => setOpen(false)}
        onInput={(event) => { onText(event.currentTarget.value); setAt(0); setOpen(true); }}
      />
      <ul id={`${id}-list`} class="graph-offers" role="listbox" aria-label={label} hidden={!offered.length}>
        {offered.map((each, index) => (
          <li
            key={each.id} id={`${id}-${index}`} role="option" aria-selected={index === at} class={cls("graph-offer", index === at && "active")}
            onMouseDown={(event) => { event.preventDefault(); pick(each); }}
          >
            <Dot type={each.type} /><span class="truncate" dir="auto">{each.name}</span><span class="graph-type">{typeWords(each)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
