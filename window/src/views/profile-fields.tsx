/** The user document: each field with where it comes from, set and cleared by hand. */
import { useEffect, useState } from "preact/hooks";
import { del, get, part, put, useAction, useAnswer } from "../lib/api";
import { href, useDraft, useParam, useRights, useStore, useUser } from "../lib/store";
import { entryOf } from "../lib/text";
import { Answered, Badge, Button, Dialog, Empty, ErrorBox, Field, Icon, IconButton, Panel, Prose, Select, Time, confirm, formatDate, formatPercent } from "../lib/ui";
import { changed, done, whose, type Call } from "./changes-done";
import { CERTAIN, Sources } from "./changes-facts";

interface ProfileField {
  name: string;
  values: string[];
  sources: string[];
  facts: string[];
  confidence: number;
  updated_at: string | null;
  is_set: boolean;
}

interface Summary {
  text: string;
  updated_at: string | null;
  sources: string[];
}

interface ProfileDocument {
  user: string;
  fields: Record<string, ProfileField>;
  summaries: Record<string, Summary>;
}

/** Those that facts can give, in the order of a person's card. */
const KNOWN = [
  "name", "home", "hometown", "job", "employer", "age", "birthday", "marriage", "timezone",
  "family", "pets", "languages", "likes", "dislikes", "goals", "habits", "constraints",
];
const SEVERAL = new Set(KNOWN.slice(9));

const SUMMARIES: Record<string, [string, string]> = {
  topOfMind: ["Top of mind", "Goals and decisions of the last 30 days"],
  workContext: ["Work", "What has to do with work"],
  personalContext: ["Personal", "Who the user is, likes, does and must not do"],
  recentMonths: ["Recent months", "The rest of the last 90 days"],
  earlierContext: ["Earlier", "The rest of the last year"],
  longTermBackground: ["Long-term background", "What is older"],
};

const titleOf = (name: string) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll("_", " ");

function inOrder(fields: Record<string, ProfileField>): ProfileField[] {
  const place = (name: string) => (KNOWN.includes(name) ? KNOWN.indexOf(name) : KNOWN.length);
  return Object.values(fields).sort((a, b) => place(a.name) - place(b.name) || a.name.localeCompare(b.name));
}

/** The end of a day in the reader's own zone. */
function endOf(day: string): string | null {
  const at = new Date(`${day}T23:59:59.999`);
  return /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(at.getTime()) ? at.toISOString() : null;
}

export function Document() {
  const user = useUser();
  const { write } = useRights();
  const [day, setDay] = useParam("as_of");
  const asOf = day ? endOf(day) : null;
  const document = useAnswer(`${user} ${asOf}`, (signal) => get<ProfileDocument>("/v1/profile", { as_of: asOf }, { signal }));
  const turn = useStore(changed);
  useEffect(() => {
    if (turn) document.reload();
  }, [turn]);
  const [editing, setEditing] = useState<ProfileField | "new" | null>(null);
  const mayEdit = write && asOf === null;
  return (
    <>
      <div class="profile-bar">
        <label class="profile-day">
          <span>As of</span>
          <input type="date" class="input" value={day} aria-label="As of which day" onInput={(event) => setDay(event.currentTarget.value || null)} />
        </label>
        {day && <Button small icon="undo" onClick={() => setDay(null)}>Today</Button>}
        {day && !asOf && <span class="field-error" role="alert">This is no day.</span>}
        {mayEdit && <Button class="profile-add" icon="plus" onClick={() => setEditing("new")}>Set a field</Button>}
      </div>
      {asOf !== null && <p class="notice" role="status">This is what held on {formatDate(asOf)}. Go back to today to change something.</p>}
      <Answered answer={document} what="The profile" lines={8}>
        {(found) => (
          <div class="profile-parts">
            <Fields fields={inOrder(found.fields)} mayEdit={mayEdit} asOf={asOf} onEdit={setEditing} />
            <Summaries summaries={found.summaries} />
          </div>
        )}
      </Answered>
      {editing !== null && (
        <EditField
          known={editing === "new" ? null : editing} taken={document.data?.fields ?? {}} onClose={() => setEditing(null)}
        />
      )}
    </>
  );
}

function Fields({ fields, mayEdit, asOf, onEdit }: {
  fields: ProfileField[]; mayEdit: boolean; asOf: string | null; onEdit: (field: ProfileField | "new") => void;
}) {
  if (!fields.length) {
    return (
      <Panel title="Who they are">
        <Empty
          icon="profile" title={asOf ? "Nothing was known then" : "Nothing is known yet"}
          action={mayEdit && <Button kind="primary" icon="plus" onClick={() => onEdit("new")}>Set a field</Button>}
        >
          Fields come from what users say of themselves: “I live in Lisbon”, “I’m allergic to peanuts”.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Who they are" flush>
      <dl class="profile-fields">
        {fields.map((each) => <FieldRow key={each.name} field={each} mayEdit={mayEdit} onEdit={onEdit} />)}
      </dl>
    </Panel>
  );
}

function FieldRow({ field, mayEdit, onEdit }: { field: ProfileField; mayEdit: boolean; onEdit: (field: ProfileField) => void }) {
  const clear = useAction(async () => {
    const of = whose();
    const sure = await confirm({
      title: `Clear ${titleOf(field.name)}?`, yes: "Clear", danger: true,
      words: (
        <>
          <Prose text={field.values.join("\n")} lines={6} />
          <p class="dialog-words">What was set by hand is taken back: the field says again what facts say, or goes. You can set it again at any time.</p>
        </>
      ),
    });
    if (!sure) return;
    const path = `/v1/profile/${part(field.name)}`;
    await del(path, {}, of);
    done(`${titleOf(field.name)} was cleared`, { ...of, text: field.values.join(", "), undo: [{ method: "PUT", path, body: { value: field.values } }] });
  });
  const title = titleOf(field.name);
  return (
    <div class="profile-field">
      <dt dir="auto">{title}</dt>
      <dd>
        <div class="profile-value">
          {field.values.length === 1
            ? <Prose text={field.values[0] ?? ""} lines={6} />
            : <ul class="profile-values">{field.values.map((each, index) => <li key={index}><Prose text={each} lines={4} /></li>)}</ul>}
          <div class="changes-side-meta">
            {field.is_set ? <Badge tone="accent" title="It stands above what facts say">set by hand</Badge> : <Sources ids={field.sources} of={title} none="told by hand" />}
            {field.facts.slice(0, 2).map((id, index) => (
              <a key={id} class="changes-source-link" href={href("timeline", { id })} aria-label={`Fact ${index + 1} behind ${title}`}><Icon name="link" size={12} />fact{field.facts.length > 1 ? ` ${index + 1}` : ""}</a>
            ))}
            {field.confidence < CERTAIN && <span title="How sure this is">{formatPercent(field.confidence)} sure</span>}
            {field.updated_at && <span>learned <Time at={field.updated_at} as="date" /></span>}
          </div>
          {clear.error && <ErrorBox error={clear.error} />}
        </div>
        {mayEdit && (
          <div class="profile-acts">
            <IconButton small icon="edit" label={`Edit ${title}`} onClick={() => onEdit(field)} />
            {field.is_set && <IconButton small icon="trash" label={`Clear ${title}`} busy={clear.busy} onClick={() => clear.run()} />}
          </div>
        )}
      </dd>
    </div>
  );
}

const OTHER = "other…";

function EditField({ known, taken, onClose }: {
  known: ProfileField | null; taken: Record<string, ProfileField>; onClose: () => void;
}) {
  const free = KNOWN.filter((name) => !(name in taken));
  const [chosen, setChosen, clearChosen] = useDraft("profile.new.name", free[0] ?? OTHER);
  const [own, setOwn, clearOwn] = useDraft("profile.new.own");
  const [text, setText, clearText] = useDraft(`profile.${known?.name ?? "new"}`, known?.values.join("\n") ?? "");
  const name = known?.name ?? (chosen === OTHER ? own.trim() : chosen);
  const before = entryOf(taken, name);
  const lines = text.split("\n").map((each) => each.trim()).filter(Boolean);
  const save = useAction(async () => {
    const of = whose();
    const path = `/v1/profile/${part(name)}`;
    await put(path, { value: lines.length === 1 ? lines[0] : lines }, of);
    clearText();
    clearChosen();
    clearOwn();
    onClose();
    const undo: Call = before?.is_set ? { method: "PUT", path, body: { value: before.values } } : { method: "DELETE", path };
    done(`${titleOf(name)} was set`, { ...of, text: lines.join(", "), undo: [undo] });
  });
  const unchanged = known !== null && lines.join("\n") === known.values.join("\n");
  return (
    <Dialog
      title={known ? `Edit ${titleOf(known.name)}` : "Set a field"} onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={save.busy} disabled={!lines.length || !name || unchanged} onClick={() => save.run()}>Set</Button>
        </>
      }
    >
      {!known && (
        <Field label="Field">
          {(id) => (
            <Select
              id={id} value={chosen} onChange={setChosen}
              options={[...free, OTHER].map((value) => ({ value, title: value === OTHER ? OTHER : titleOf(value) }))}
            />
          )}
        </Field>
      )}
      {!known && chosen === OTHER && (
        <Field label="Its name" hint="Small letters, digits and _." error={save.error?.field === "field" ? save.error.message : undefined}>
          {(id) => <input id={id} class="input" value={own} spellcheck={false} autocomplete="off" onInput={(event) => setOwn(event.currentTarget.value)} />}
        </Field>
      )}
      <Field
        label="Value"
        hint={known && !known.is_set
          ? "Set by hand it stands above what facts say, until you clear it. One value a line."
          : SEVERAL.has(name) ? "One value a line." : "One value; several on lines of their own."}
      >
        {(id) => <textarea id={id} class="input" rows={SEVERAL.has(name) ? 4 : 2} dir="auto" value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      </Field>
      {save.error && save.error.field !== "field" && <ErrorBox error={save.error} />}
    </Dialog>
  );
}

function Summaries({ summaries }: { summaries: Record<string, Summary> }) {
  const told = Object.entries(SUMMARIES).filter(([name]) => summaries[name]?.text);
  return (
    <Panel title="Summaries">
      {!told.length && <p class="muted">None yet: they are composed of the facts that hold.</p>}
      <div class="profile-summaries">
        {told.map(([name, [title, hint]]) => {
          const summary = summaries[name];
          return summary && (
            <section key={name} class="profile-summary">
              <h3 title={hint}>{title}</h3>
              <Prose text={summary.text} />
              <div class="changes-side-meta"><Sources ids={summary.sources} of={title} none="told by hand" /></div>
            </section>
          );
        })}
      </div>
    </Panel>
  );
}
