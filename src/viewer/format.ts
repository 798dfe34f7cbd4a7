// How values are written, by the unit of their column. tests/page checks each figure by the same rules:
//
//   us       microseconds; below 1,000 as µs, below 10,000,000 as ms, else as s
//   bytes    below 1,024 as B, else KB, MB, GB, TB of 1,024 each
//   percent  two decimals
//   number   a whole one as it is, others as `digits` says
//   count    the same
//   digits   decimals: 1 from 100 on, 2 from 10 on, else 3 (in µs, ms, s, KB ...); commas between thousands
//   a change says its sign: +1.250 ms, −12.00 %
//   null     a dash
import type { Cell } from "./data/unpack";

export const kUnknown = "–";

export function format(value: Cell | undefined, unit: string): string {
  if (value === null || value === undefined) return kUnknown;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value !== "number") return String(value);
  switch (unit) {
    case "us":
      return time(value);
    case "bytes":
      return bytes(value);
    case "percent":
      return fixed(value, 2) + " %";
    default:
      return Number.isInteger(value) ? fixed(value, 0) : digits(value);
  }
}

// Columns of what B takes more than A.
export const isChange = (key: string) => /^(delta|percent)_|^(delta|low|high)_us$|^change_percent$/.test(key);

export function formatChange(value: Cell | undefined, unit: string): string {
  return (typeof value === "number" && value > 0 ? "+" : "") + format(value, unit);
}

// A tick of an axis that ends at `top`, which also determines the unit.
export function formatTick(value: number, top: number, unit: string): string {
  if (unit !== "us" && unit !== "bytes") return format(value, unit);
  const word = format(top, unit).split(" ")[1];
  return `${minus(grouped(String(+(value / kScales[word]).toPrecision(4))))} ${word}`;
}
const kScales: Record<string, number> = {
  µs: 1,
  ms: 1e3,
  s: 1e6,
  B: 1,
  KB: 1024,
  MB: 1024 ** 2,
  GB: 1024 ** 3,
  TB: 1024 ** 4,
};

// A name where there is little room: without what many names begin with.
export function shortName(name: string): string {
  return name.trim().replace(/^(nn\.Module: |enumerate\(DataLoader\)#|enumerate\(DataPipe\)#)/, "");
}

// As precise as it is known, for hovering and for CSV.
export function exact(value: Cell, unit: string): string {
  if (typeof value !== "number") return format(value, unit);
  const words: Record<string, string> = { us: " µs", bytes: " bytes", percent: " %" };
  return grouped(String(value)) + (words[unit] ?? "");
}

function time(us: number): string {
  const size = Math.abs(us);
  if (size < 1e3) return digits(us) + " µs";
  if (size < 1e7) return digits(us / 1e3) + " ms";
  return digits(us / 1e6) + " s";
}

function bytes(value: number): string {
  let scaled = value;
  let unit = 0;
  const units = ["B", "KB", "MB", "GB", "TB"];
  while (Math.abs(scaled) >= 1024 && unit < units.length - 1) {
    scaled /= 1024;
    unit++;
  }
  return (unit === 0 ? fixed(scaled, 0) : digits(scaled)) + " " + units[unit];
}

function digits(value: number): string {
  const size = Math.abs(value);
  return fixed(value, size >= 100 ? 1 : size >= 10 ? 2 : size > 0 ? 3 : 0);
}

function fixed(value: number, decimals: number): string {
  const text = Math.abs(value) < 1e21 ? value.toFixed(decimals) : String(value);
  return minus(grouped(/^-[0.]*$/.test(text) ? text.slice(1) : text)); // no minus zero
}

// As long as a plus, which a hyphen is not.
function minus(text: string): string {
  return text.replace(/^-/, "−");
}

// Commas between thousands of what stands before the point.
function grouped(text: string): string {
  if (/e/i.test(text)) return text;
  const [whole, rest] = text.split(".");
  const out = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? out : `${out}.${rest}`;
}
