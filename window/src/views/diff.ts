/** Which words two texts share, and which are in one of them alone. */

export interface Piece {
  text: string;
  /** In both, or in this text alone. */
  same: boolean;
}

/** Beyond this many comparisons only the common beginning and end are told. */
const MOST = 4_000_000;

const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

function words(text: string): string[] {
  // A dictionary parts words where no spaces do, as in Chinese and Japanese.
  if (segmenter) return Array.from(segmenter.segment(text), (each) => each.segment);
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

/** How much of what is the same stands before the first change, where there is more of it. */
const BEFORE = 1_000;

/** Where two texts begin to be worth comparing: shortly before they part. */
export function partingOf(before: string, after: string): number {
  let at = 0;
  while (at < before.length && at < after.length && before.charCodeAt(at) === after.charCodeAt(at)) at += 1;
  if (at <= 2 * BEFORE) return 0;
  at -= BEFORE;
  const unit = before.charCodeAt(at);
  return unit >= 0xdc00 && unit < 0xe000 ? at - 1 : at;
}

/** Both texts in pieces, for showing them side by side. Give it no more than is shown: words are parted slowly. */
export function compare(before: string, after: string): [Piece[], Piece[]] {
  const [a, b] = [words(before), words(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const [inA, inB] = shared(a.slice(start, endA), b.slice(start, endB));
  const flags = (list: string[], middle: boolean[], end: number) =>
    list.map((_, index) => index < start || index >= end || (middle[index - start] ?? false));
  return [joined(a, flags(a, inA, endA)), joined(b, flags(b, inB, endB))];
}

/** For each word whether it belongs to the longest common row of words. */
function shared(a: string[], b: string[]): [boolean[], boolean[]] {
  const [inA, inB] = [a.map(() => false), b.map(() => false)];
  if (!a.length || !b.length || a.length * b.length > MOST) return [inA, inB];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j]
        ? (longest[(i + 1) * width + j + 1] ?? 0) + 1
        : Math.max(longest[(i + 1) * width + j] ?? 0, longest[i * width + j + 1] ?? 0);
    }
  }
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      inA[i] = inB[j] = true;
      i += 1;
      j += 1;
    } else if ((longest[(i + 1) * width + j] ?? 0) >= (longest[i * width + j + 1] ?? 0)) i += 1;
    else j += 1;
  }
  return [inA, inB];
}

function joined(list: string[], same: boolean[]): Piece[] {
  const pieces: Piece[] = [];
  list.forEach((text, index) => add(pieces, text, same[index] ?? false));
  const found: Piece[] = [];
  pieces.forEach((each, index) => {
    // A comma or a space between two changed words belongs to them.
    const between = index > 0 && index < pieces.length - 1 && !/[\p{L}\p{N}]/u.test(each.text);
    add(found, each.text, each.same && !between);
  });
  return found;
}

function add(pieces: Piece[], text: string, same: boolean): void {
  const last = pieces[pieces.length - 1];
  if (last && last.same === same) last.text += text;
  else pieces.push({ text, same });
}
