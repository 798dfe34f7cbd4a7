// A page that `tprof view` serves: its parts are asked for when they are needed, and it knows what else there is.

// What the addresses of parts begin with; undefined in a page that is a file.
export const partsAddress =
  typeof document === "undefined"
    ? undefined
    : document.querySelector<HTMLMetaElement>("meta[name=tprof-parts]")?.content;

// The server keeps the pages that were used last, and makes others anew when they are opened again.
export async function loadPart(number: number): Promise<Blob> {
  const answer = await fetch(`${partsAddress}${number}`);
  if (answer.ok) return answer.blob();
  if (answer.status === 404) location.reload();
  throw new Error(`part ${number} of the page: ${answer.statusText}`);
}

// What tools/view/listing.h says. `run` and `worker` as they stand in an address.
export interface ServedRun {
  name: string;
  run: string;
  workers: { name: string; worker: string; spans: string[] }[];
}

export async function loadRuns(): Promise<ServedRun[]> {
  const answer = await fetch("list");
  if (!answer.ok) throw new Error(`the list of runs: ${answer.statusText}`);
  return ((await answer.json()) as { runs: ServedRun[] }).runs.filter(({ workers }) => workers.length > 0);
}

// A part of this page's address as it stands there, not decoded: names may be no Unicode.
export function asked(name: string): string | undefined {
  const found = location.search
    .slice(1)
    .split("&")
    .find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}
