// Colours that people with each kind of colour blindness tell apart: the eight of Okabe and Ito ("Color Universal
// Design", 2008), the usual choice for categories; black is left out and grey stands for what is other or unknown.
// Slices and bars have gaps between them and labels beside them, so that colour is never the only information.
const kBlue = "#0072b2",
  kOrange = "#e69f00",
  kGreen = "#009e73",
  kRed = "#d55e00",
  kPink = "#cc79a7",
  kSky = "#56b4e9",
  kYellow = "#f0e442";
export const kGrey = "#9aa1ab";

// Where the time of a step went: GPU work in blues and green, waiting for data in red.
const kCategories: Record<string, string> = {
  Kernel: kBlue,
  Memcpy: kSky,
  Memset: kPink,
  Communication: kGreen,
  Runtime: kYellow,
  DataLoader: kRed,
  "CPU Exec": kOrange,
  Other: kGrey,
  Computation: kBlue,
  Overlapping: kSky,
  "Data transfer": kGreen,
  Synchronizing: kRed,
  Either: kPink,
};

// In the order of the Overview.
export const kCategoryNames = Object.keys(kCategories);

export function categoryColor(category: string): string {
  return kCategories[category] ?? kGrey;
}

// Colours of the curves of memory.
export function memoryColor(curve: string): string {
  return curve === "Allocated" ? kBlue : kOrange;
}

// Colours of a diff: A and B (unlike any category), slower and faster in B, and the sum of all changes.
export const kSides = { a: "#6b7c93", b: "#8e6bbf", more: kRed, less: kGreen, sum: kGrey };

// The colour of the n-th of many names. After seven the colours repeat, lighter.
export function colorOf(n: number): string {
  const colors = [kBlue, kOrange, kGreen, kPink, kSky, kRed, kYellow];
  const turn = Math.floor(n / colors.length);
  return turn === 0 ? colors[n] : mixed(colors[n % colors.length], kGrey, turn === 1 ? 0.55 : 0.3);
}

// `share` of the first colour and the rest of the second, both #rrggbb.
export function mixed(one: string, other: string, share: number): string {
  const parts = (color: string) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  const [a, b] = [parts(one), parts(other)];
  return (
    "#" +
    a
      .map((v, i) =>
        Math.round(v * share + b[i] * (1 - share))
          .toString(16)
          .padStart(2, "0"),
      )
      .join("")
  );
}
