// What src/report/pack.h wrote: rows of tables as columns, and other large values.
import { loadPart, partsAddress } from "./served";
import type { Json } from "./types";

export type Cell = string | number | boolean | null;

// The values of one column, by row.
export type Cells = (row: number) => Cell;

export interface Unpacked {
  n: number;
  columns: Map<string, Cells>;
}

interface Head {
  n: number;
  columns: { key: string; as: "text" | "int" | "ns" | "double" | "json"; values?: Cell[] }[];
  strings: string[];
  value?: Json;
}

const texts = new TextDecoder();

// Bytes of the element with this id.
export async function inflate(id: string): Promise<Uint8Array> {
  const element = document.getElementById(id);
  if (!element) throw new Error(`this page has no data ${id}`);
  return inflated(new Blob([bytesOf(element.textContent ?? "")]));
}

// Bytes of the blob with this number: an element of the page, or a part that `tprof view` serves.
export async function inflateBlob(number: number): Promise<Uint8Array> {
  return partsAddress === undefined ? inflate(`tprof-blob-${number}`) : inflated(await loadPart(number));
}

async function inflated(data: Blob): Promise<Uint8Array> {
  const stream = data.stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const quick = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (quick) return quick(base64);
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out;
}

export class Reader {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  // Up to 2^53.
  varint(): number {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    do {
      byte = bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    return value;
  }

  zigzag(): number {
    return unzigzag(this.varint());
  }

  json(): Json {
    const size = this.varint();
    const value = JSON.parse(texts.decode(this.bytes.subarray(this.at, this.at + size))) as Json;
    this.at += size;
    return value;
  }

  head(): Head {
    return this.json() as unknown as Head;
  }

  // NaN: null.
  ints(n: number): Float64Array {
    const out = new Float64Array(n);
    let last = 0;
    for (let i = 0; i < n; i++) {
      const coded = this.varint();
      if (coded === 0) {
        out[i] = NaN;
        continue;
      }
      last += unzigzag(coded - 1);
      out[i] = last;
    }
    return out;
  }

  doubles(n: number): Float64Array {
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.at, 8 * n);
    const out = new Float64Array(n);
    for (let i = 0; i < n; i++) out[i] = view.getFloat64(8 * i, true);
    this.at += 8 * n;
    return out;
  }

  indices(n: number): Int32Array {
    const out = new Int32Array(n);
    for (let i = 0; i < n; i++) out[i] = this.varint() - 1;
    return out;
  }
}

function unzigzag(coded: number): number {
  return coded % 2 ? -(coded + 1) / 2 : coded / 2;
}

export function unpackTable(bytes: Uint8Array): Unpacked {
  const reader = new Reader(bytes);
  const { n, columns, strings } = reader.head();
  const out: Unpacked = { n, columns: new Map() };
  for (const { key, as, values } of columns) {
    if (as === "text") {
      const indices = reader.indices(n);
      out.columns.set(key, (row) => (indices[row] < 0 ? null : strings[indices[row]]));
    } else if (as === "json") {
      out.columns.set(key, (row) => values![row]);
    } else {
      const numbers = as === "double" ? reader.doubles(n) : reader.ints(n);
      const divisor = as === "ns" ? 1000 : 1;
      out.columns.set(key, (row) => (Number.isNaN(numbers[row]) ? null : numbers[row] / divisor));
    }
  }
  return out;
}

export function unpackValue(bytes: Uint8Array): Json {
  return new Reader(bytes).head().value ?? null;
}
