// Arguments and call stacks of slices: which set of arguments each has, the numbers that differ from slice to slice,
// and its innermost frame. Texts are made when they are asked for.
import { Guesses } from "./timeline_code";
import type { TimelineDetails, Track } from "./timeline_types";
import type { Reader } from "./unpack";

interface SetsHead {
  keys: string[];
  values: string[];
  numbers: ("whole" | "float")[];
  sets: number;
}

const NOTHING: SetsHead = { keys: [], values: [], numbers: [], sets: 0 };

export class Details implements TimelineDetails {
  private readonly n: number;
  private readonly head: SetsHead = NOTHING;
  // Members of set s: from starts[s] to starts[s + 1]. kinds: -1 a text, else which number.
  private readonly starts: Uint32Array;
  private readonly keys: number[] = [];
  private readonly kinds: number[] = [];
  private readonly values: number[] = [];
  private readonly set: Uint32Array; // of each slice, 0 none
  private readonly place: Uint32Array; // of each slice: its first number in `numbers`
  private numbers = new Float64Array(0);
  private readonly texts: string[] = []; // of frames
  private readonly caller: Uint32Array; // of each frame, 0 none; frames count from 1
  private readonly text: Uint32Array; // of each frame
  private readonly frame: Uint32Array; // of each slice, 0 none

  // `columns`: sets, set, numbers, frames, stack; none: the page has no slices.
  constructor(tracks: Track[], entry: Uint32Array, columns: Reader[]) {
    this.n = entry.length;
    this.starts = new Uint32Array(1);
    this.set = this.place = this.frame = new Uint32Array(0);
    this.caller = this.text = new Uint32Array(1);
    if (columns.length === 0) return;
    const [sets, set, numbers, frames, stack] = columns;
    this.head = sets.json() as unknown as SetsHead;
    this.starts = this.readSets(sets);
    this.set = readGuessed(tracks, entry, set);
    this.place = new Uint32Array(this.n + 1);
    this.readNumbers(numbers);
    this.texts = (frames.json() as unknown as { texts: string[] }).texts;
    const count = frames.varint();
    this.caller = new Uint32Array(count + 1);
    this.text = new Uint32Array(count + 1);
    for (let i = 1; i <= count; i++) {
      const back = frames.varint();
      this.caller[i] = back ? i - back : 0;
      this.text[i] = frames.varint();
    }
    this.frame = readGuessed(tracks, entry, stack);
  }

  private readSets(reader: Reader): Uint32Array {
    const starts = new Uint32Array(this.head.sets + 1);
    const kinds = this.head.numbers.length;
    for (let s = 0; s < this.head.sets; s++) {
      const size = reader.varint();
      for (const end = reader.at + size; reader.at < end;) {
        const coded = reader.varint();
        const half = Math.floor(coded / 2);
        const isText = coded % 2 === 1;
        this.keys.push(isText ? half : Math.floor(half / kinds));
        this.kinds.push(isText ? -1 : half % kinds);
        this.values.push(isText ? reader.varint() : 0);
      }
      starts[s + 1] = this.keys.length;
    }
    return starts;
  }

  // Numbers of a slice lie side by side in the order of its set, while the column has kind after kind.
  private readNumbers(reader: Reader): void {
    const counted = new Uint32Array(this.head.sets);
    for (let s = 0; s < this.head.sets; s++)
      for (let m = this.starts[s]; m < this.starts[s + 1]; m++) if (this.kinds[m] >= 0) counted[s]++;
    for (let i = 0; i < this.n; i++) this.place[i + 1] = this.place[i] + (this.set[i] ? counted[this.set[i] - 1] : 0);
    this.numbers = new Float64Array(this.place[this.n]);
    this.head.numbers.forEach((as, kind) => {
      const end = reader.varint() + reader.at;
      const has = this.slotsOf(kind);
      let last = 0;
      for (let i = 0; i < this.n; i++) {
        const slot = this.set[i] ? has[this.set[i] - 1] : -1;
        if (slot < 0) continue;
        last = as === "whole" ? last + reader.zigzag() : floatOf(reader.varint());
        this.numbers[this.place[i] + slot] = last;
      }
      reader.at = end;
    });
  }

  // Of each set: at which place of its numbers the one of this kind is, -1: it has none.
  private slotsOf(kind: number): Int32Array {
    const out = new Int32Array(this.head.sets).fill(-1);
    for (let s = 0; s < this.head.sets; s++) {
      let slot = 0;
      for (let m = this.starts[s]; m < this.starts[s + 1]; m++) {
        if (this.kinds[m] === kind) out[s] = slot;
        if (this.kinds[m] >= 0) slot++;
      }
    }
    return out;
  }

  args(slice: number): [string, string][] {
    const out: [string, string][] = [];
    const set = this.set[slice];
    if (!set) return out;
    let number = this.place[slice];
    for (let m = this.starts[set - 1]; m < this.starts[set]; m++) {
      const { values, numbers } = this.head;
      const kind = this.kinds[m];
      const said = kind < 0 ? values[this.values[m]] : textOf(this.numbers[number++], numbers[kind] === "float");
      out.push([this.head.keys[this.keys[m]], said]);
    }
    return out;
  }

  stack(slice: number): string[] {
    const out: string[] = [];
    for (let frame = this.frame[slice]; frame; frame = this.caller[frame]) out.push(this.texts[this.text[frame]]);
    return out;
  }

  search(text: string): Uint8Array {
    const wanted = text.toLowerCase();
    const holds = (all: string[]) => Uint8Array.from(all, (one) => (one.toLowerCase().includes(wanted) ? 1 : 0));
    const sets = this.setsWith(holds(this.head.values));
    const frames = this.framesWith(holds(this.texts));
    const out = new Uint8Array(this.n);
    for (let i = 0; i < this.n; i++) out[i] = sets[this.set[i]] | frames[this.frame[i]];
    if (/^[-+.e\d]+$/.test(wanted)) this.markNumbers(wanted, out);
    return out;
  }

  private setsWith(values: Uint8Array): Uint8Array {
    const out = new Uint8Array(this.head.sets + 1);
    for (let s = 0; s < this.head.sets; s++)
      for (let m = this.starts[s]; m < this.starts[s + 1]; m++)
        if (this.kinds[m] < 0) out[s + 1] |= values[this.values[m]];
    return out;
  }

  private framesWith(texts: Uint8Array): Uint8Array {
    const out = new Uint8Array(this.caller.length);
    for (let i = 1; i < out.length; i++) out[i] = texts[this.text[i]] | out[this.caller[i]];
    return out;
  }

  private markNumbers(wanted: string, out: Uint8Array): void {
    for (let i = 0; i < this.n; i++) {
      let number = this.place[i];
      if (out[i] || number === this.place[i + 1]) continue;
      const set = this.set[i];
      for (let m = this.starts[set - 1]; m < this.starts[set]; m++) {
        const kind = this.kinds[m];
        if (kind < 0) continue;
        if (textOf(this.numbers[number++], this.head.numbers[kind] === "float").includes(wanted)) out[i] = 1;
      }
    }
  }
}

// A column with a number for each slice, by guess after its entry and the number of the slice before it in its row.
function readGuessed(tracks: Track[], entry: Uint32Array, reader: Reader): Uint32Array {
  const out = new Uint32Array(entry.length);
  const guesses = new Guesses();
  for (const { rows } of tracks)
    for (const { first, n } of rows) {
      let before = 0;
      for (let i = first; i < first + n; i++) out[i] = before = guesses.next(reader, entry[i], before);
    }
  return out;
}

const bits = new DataView(new ArrayBuffer(4));
function floatOf(code: number): number {
  bits.setUint32(0, code);
  return bits.getFloat32(0);
}

// A float has the shortest text that stands for it among floats, as in a trace.
function textOf(value: number, isFloat: boolean): string {
  if (!isFloat) return String(value);
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}
