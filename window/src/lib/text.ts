/** Somebody's text as far as it is shown: a browser lays out everything that it is given, and long. */

/** What is shown of a text that is clamped, and of each piece when it is opened, in code units. */
export const CLAMPED = 4_000;
export const PIECE = 20_000;
/** Beside the place where a piece would end a line break or a space is looked for so far back. */
const NEAR = 2_000;
const MOST_MARKS = 8;

/** Marks that stand over one letter, with the joiners between them. */
const PILE = new RegExp(`[\\p{M}\\u200c\\u200d]{${MOST_MARKS + 1},}`, "gu");
const NUMBER = new Intl.NumberFormat();

/** Never between the two halves of a character. */
function whole(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  return at < text.length && unit >= 0xd800 && unit < 0xdc00 ? at - 1 : at;
}

export const cut = (text: string, most: number): string => (text.length <= most ? text : text.slice(0, whole(text, most)));

/** For the eye alone: of many marks over one letter the first few, and how many more there are. */
export function calmed(text: string): string {
  return text.replace(PILE, (run) => {
    const all = [...run];
    const more = all.length - MOST_MARKS;
    return `${all.slice(0, MOST_MARKS).join("")}⟨+${NUMBER.format(more)} ${more === 1 ? "mark" : "marks"}⟩`;
  });
}

/** The beginning of a text, for a line of a list. */
export const glance = (text: string, most: number): string => calmed(cut(text, most)) + (text.length > most ? "…" : "");

/** The first `count` pieces of a text, each to be laid out by itself, and where the rest begins. */
export function piecesOf(text: string, count: number): { pieces: string[]; rest: number } {
  const pieces: string[] = [];
  let at = 0;
  while (pieces.length < count && (at < text.length || !pieces.length)) {
    let end = Math.min(text.length, at + PIECE);
    if (end < text.length) {
      const tail = text.slice(end - NEAR, end);
      const gap = tail.lastIndexOf("\n") >= 0 ? tail.lastIndexOf("\n") : tail.lastIndexOf(" ");
      end = gap >= 0 ? end - NEAR + gap + 1 : whole(text, end);
    }
    pieces.push(calmed(text.slice(at, end)));
    at = end;
  }
  return { pieces, rest: at };
}

/** Bytes of a text from a place on, as it is kept. */
export const bytesFrom = (text: string, at = 0): number => new Blob([at ? text.slice(at) : text]).size;

/** What a table of words says; never what every object has ("constructor"). */
export function entryOf<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** Whether it is a day of the calendar, as in an address: 2026-03-01. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}
