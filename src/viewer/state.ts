// The state of the page, all of it in its address: #view=operators&worker=1&sort=calls
//
// What belongs to the whole page is in kGlobal and stays when another view is chosen; the rest is the view's.
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

const kGlobal = ["view", "worker", "theme", "editor", "rows", "columns"];

// Numbers of threads, rows and slices of one worker: in another one they mean something else, or nothing.
const kOfWorker = ["thread", "root", "zoom", "at", "row", "slice", "sel", "on", "turned", "y", "pick"];
export const withoutWorker = (): Params => Object.fromEntries(["worker", ...kOfWorker].map((name) => [name, ""]));

export type Params = Record<string, string>;

export interface State {
  params: Params;
  // "" takes a parameter away. `keep` false: parameters of the view go, as when another view is chosen.
  set(changes: Params, keep?: boolean): void;
  href(changes: Params, keep?: boolean): string;
}

export const StateContext = createContext<State>({ params: {}, set: () => {}, href: () => "#" });

export function useParams(): State {
  return useContext(StateContext);
}

// One parameter and how to set it.
export function useParam(name: string, otherwise = ""): [string, (value: string) => void] {
  const { params, set } = useParams();
  return [params[name] ?? otherwise, (value) => set({ [name]: value === otherwise ? "" : value })];
}

export function useAddress(): State {
  const [params, setParams] = useState(parse(location.hash));
  useEffect(() => {
    const changed = () => setParams(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const changed = (changes: Params, keep = true) => {
    const before = parse(location.hash);
    const out: Params = {};
    for (const name of Object.keys(before)) if (keep || kGlobal.includes(name)) out[name] = before[name];
    for (const name of Object.keys(changes)) out[name] = changes[name];
    for (const name of Object.keys(out)) if (out[name] === "") delete out[name];
    return out;
  };
  return {
    params,
    set: (changes, keep = true) => {
      const next = changed(changes, keep);
      // Another view is a place to come back to, a letter more in a search is none.
      if (changes.view !== undefined) history.pushState(null, "", text(next));
      else history.replaceState(null, "", text(next));
      setParams(next);
    },
    href: (changes, keep = true) => text(changed(changes, keep)),
  };
}

function parse(hash: string): Params {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

function text(params: Params): string {
  return "#" + new URLSearchParams(params).toString();
}
