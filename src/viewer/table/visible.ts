// Which rows of a table are in the DOM: those in sight, and when the page is printed all of them.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const kMargin = 12; // rows kept above and below what is in sight

export function usePrinting(): boolean {
  const [printing, set] = useState(false);
  useEffect(() => {
    const media = matchMedia("print");
    const changed = () => set(media.matches);
    const [before, after] = [() => set(true), () => set(false)]; // a PDF is made before the change of media is heard
    media.addEventListener("change", changed);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      media.removeEventListener("change", changed);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);
  return printing;
}

// Which rows are in sight. Rows have one height, what lies below open ones is measured.
export function useVisible(rows: number[], open: Set<number>, everything: boolean) {
  const scroller = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<number, number>());
  const [view, setView] = useState({ top: 0, height: 600, row: 26 });
  const [, remeasured] = useState(0);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => {
      const row =
        element.querySelector("thead tr")?.nextElementSibling ??
        element.querySelector("tbody tr:not(.gap):not(.below)");
      setView({
        top: element.scrollTop,
        height: element.clientHeight,
        row: row ? row.getBoundingClientRect().height : 26,
      });
    };
    look();
    element.addEventListener("scroll", look, { passive: true });
    const resized = new ResizeObserver(look);
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      resized.disconnect();
    };
  }, [rows.length > 0, everything]);

  const measured = (row: number, element: HTMLElement | null) => {
    if (!element || everything) return;
    const height = element.getBoundingClientRect().height;
    if (height === heights.current.get(row)) return;
    heights.current.set(row, height);
    remeasured((n) => n + 1);
  };
  if (everything) return { scroller, first: 0, last: rows.length, above: 0, below: 0, measured };

  const { top, height, row: rowHeight } = view;
  const extra = (row: number) => (open.has(row) ? (heights.current.get(row) ?? 200) : 0);
  const from = top - kMargin * rowHeight;
  const to = top + height + kMargin * rowHeight;
  let y = 0;
  let first = 0;
  while (first < rows.length && y + rowHeight + extra(rows[first]) < from) y += rowHeight + extra(rows[first++]);
  const above = y;
  let last = first;
  while (last < rows.length && y < to) y += rowHeight + extra(rows[last++]);
  let below = 0;
  for (let i = last; i < rows.length; i++) below += rowHeight + extra(rows[i]);
  return { scroller, first, last, above, below, measured };
}
