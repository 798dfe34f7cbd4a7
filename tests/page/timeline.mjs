// What the page's own decoder reads of a report, without a browser: timeline.mjs DECODER REPORT WORKER [TEXT...]
//
// DECODER: timeline_all.ts, bundled. Prints one JSON object: tracks, slices (of each its track, row, times, name,
// category, arguments and stack), arrows, counters, and the slices that search() finds for each TEXT. With the text
// "--figures" instead only what a large report is measured by.
import { readFileSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { createInflateRaw } from 'node:zlib';

const [decoder, report, worker, ...texts] = process.argv.slice(2);
const html = readFileSync(report, 'latin1');

// That of Node knows raw deflate from version 20.12 on only.
globalThis.DecompressionStream = class {
  constructor() {
    return Duplex.toWeb(createInflateRaw());
  }
};

globalThis.document = {
  getElementById(id) {
    const mark = `<script type="text/plain" id="${id}">`;
    const begin = html.indexOf(mark);
    if (begin < 0) return null;
    return { textContent: html.slice(begin + mark.length, html.indexOf('</script>', begin)) };
  },
  querySelector: () => null, // nobody serves it
};

const { openDocuments, loadTimeline, loadDetails } = await import(pathToFileURL(decoder));
await openDocuments();

const ms = async (work) => {
  const start = performance.now();
  const value = await work();
  return [value, performance.now() - start];
};
const heap = () => (globalThis.gc?.(), process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers);

const before = heap();
const [timeline, timelineMs] = await ms(() => loadTimeline(Number(worker)));
const afterTimeline = heap();
const [details, detailsMs] = await ms(() => loadDetails(Number(worker)));
const afterDetails = heap();

if (texts[0] === '--figures') {
  const searched = [];
  for (const text of texts.slice(1)) {
    const [found, took] = await ms(() => details.search(text));
    searched.push({ text, found: found.reduce((sum, one) => sum + one, 0), ms: took });
  }
  console.log(
    JSON.stringify({
      slices: timeline.n,
      left_out: timeline.left_out,
      timelineMs,
      detailsMs,
      searched,
      timelineBytes: afterTimeline - before,
      detailsBytes: afterDetails - afterTimeline,
    }),
  );
} else {
  const slices = [];
  timeline.tracks.forEach(({ rows, key }) =>
    rows.forEach(({ first, n, sums }, row) => {
      if (sums.length !== n + 1) throw new Error(`${key}: ${sums.length} sums of ${n} slices`);
      for (let i = first; i < first + n; i++)
        slices.push([
          key,
          row,
          timeline.begin[i],
          timeline.dur[i],
          timeline.names[timeline.name[i]],
          timeline.categories[timeline.category[i]],
          details.args(i),
          details.stack(i),
        ]);
    }),
  );
  const found = Object.fromEntries(
    texts.map((text) => {
      const marks = details.search(text);
      return [text, [...marks.keys()].filter((i) => marks[i])];
    }),
  );
  const { n, from, to, left_out } = timeline;
  const tracks = timeline.tracks.map(({ rows, ...track }) => ({
    ...track,
    rows: rows.map((row) => row.n),
    busy: rows.map((row) => row.sums[row.n]),
  }));
  const flows = timeline.flows.map((flow) => ({ kind: flow.kind, from: [...flow.from], to: [...flow.to] }));
  const counters = timeline.counters.map((one) => ({ ...one, times: [...one.times], values: [...one.values] }));
  console.log(JSON.stringify({ n, from, to, left_out, tracks, slices, flows, counters, found }));
}
