// The parts of the timeline that compute, beside slow ways that are plainly right, on random slices.
//
//   node timeline_parts.mjs BUNDLE     of timeline_parts.ts; prints "right", or fails with what is wrong
import assert from 'node:assert/strict';
import url from 'node:url';
import path from 'node:path';

const { Lane, Source, paintLane, paintMarks, kLeast, sumsOf, Extremes, nextHit, rankOf, search, arrowsFrom, arrowsTo } =
  await import(url.pathToFileURL(path.resolve(process.argv[2])).href);

// Numbers that look random and are the same in each run.
let seed = 12345;
const random = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
};

// Slices of a row: most of them short, some without length, some that touch the one before.
function rowOf(n, longest, from = 0) {
  const slices = [];
  let at = from;
  for (let i = 0; i < n; i += 1) {
    at += random(4) ? random(50) : 0;
    const dur = random(5) ? random(8) : random(longest);
    slices.push([at, dur]);
    at += dur;
  }
  return slices;
}

function timelineOf(tracks) {
  const all = tracks.flat(2);
  let first = 0;
  return {
    n: all.length,
    from: 0,
    to: Math.max(...all.map(([begin, dur]) => begin + dur)),
    begin: Float64Array.from(all, ([begin]) => begin),
    dur: Float64Array.from(all, ([, dur]) => dur),
    name: Uint32Array.from(all, () => random(9)),
    category: Uint8Array.from(all, () => random(2)),
    names: Array.from({ length: 9 }, (_, i) => `name${i}`),
    categories: ['cpu_op', 'kernel'],
    tracks: tracks.map((rows, t) => ({
      key: `track${t}`,
      group: 'host',
      kind: 'thread',
      title: '',
      thread: 1,
      rows: rows.map((row) => {
        const sums = new Float64Array(row.length + 1);
        row.forEach(([, dur], i) => (sums[i + 1] = sums[i] + dur));
        first += row.length;
        return { first: first - row.length, n: row.length, sums };
      }),
    })),
    flows: [],
    counters: [],
    left_out: [],
  };
}

const details = async () => ({ search: () => new Uint8Array(1e6) });
const inside = ([begin, dur], from, to) => Math.max(0, Math.min(begin + dur, to) - Math.max(begin, from));
const union = (slices, from, to) => {
  let sum = 0;
  for (let t = from; t < to; t += 1) sum += slices.some(([begin, dur]) => begin <= t && t < begin + dur) ? 1 : 0;
  return sum;
};

// --- pixels

function checkStrip() {
  for (let round = 0; round < 300; round += 1) {
    const slices = rowOf(1 + random(200), 2 + random(300));
    const timeline = timelineOf([[slices]]);
    const lane = Lane.of(timeline, timeline.tracks[0].rows[0]);
    const width = 20 + random(100);
    const perPixel = 1 + random(60) + (round % 4) / 4; // edges of pixels are exact
    const from = random(400) - 200;
    const out = new Uint32Array(width);
    paintLane(lane, { from, perPixel, width }, () => 0x00010203, out);
    for (let x = 0; x < width; x += 1) {
      const [left, right] = [from + x * perPixel, from + (x + 1) * perPixel];
      const here = slices.filter(
        ([begin, dur]) => begin < right && (begin + dur > left || (dur === 0 && begin >= left)),
      );
      const alpha = out[x] >>> 24;
      // No slice that begins in a pixel is dropped.
      if (here.some(([begin]) => begin >= left)) assert.ok(alpha > 0, `round ${round}, pixel ${x} is empty`);
      if (here.length === 0) assert.equal(alpha, 0, `round ${round}, pixel ${x} holds what is not there`);
      // Where all are narrower than a pixel, it is the share of time in which one is open.
      if (here.length > 0 && here.every(([, dur]) => dur < perPixel)) {
        const share = here.reduce((sum, one) => sum + inside(one, left, right), 0) / perPixel;
        const wanted = Math.max(kLeast, Math.round(255 * Math.min(1, share)));
        assert.ok(Math.abs(alpha - wanted) <= 1, `round ${round}, pixel ${x}: ${alpha}, not ${wanted}`);
      }
    }
    const wanted = Uint32Array.from(slices.map((_, i) => i).filter(() => random(4) === 0));
    const marks = new Uint32Array(width);
    paintMarks(lane, { from, perPixel, width }, wanted, 1, marks, 1);
    for (const i of wanted) {
      const x = Math.floor((slices[i][0] - from) / perPixel);
      if (x >= 0 && x < width) assert.ok(marks[x] > 0, `round ${round}: hit ${i} is not marked`);
    }
  }
}

// --- sums of a range

function nested(n) {
  const outer = rowOf(n, 300);
  const inner = outer.flatMap(([begin, dur]) => (dur > 8 ? [[begin + 1, random(dur - 2)]] : []));
  const crossing = rowOf(n, 100);
  return [outer, inner, crossing];
}

function checkSums() {
  for (let round = 0; round < 60; round += 1) {
    const tracks = [nested(30), nested(10)];
    const timeline = timelineOf(tracks);
    const source = new Source('', 0, timeline, details);
    const [from, to] = [random(600) - 50, random(1500)].sort((a, b) => a - b);
    const wanted = new Map();
    tracks.forEach((rows, t) =>
      rows.forEach((row, r) =>
        row.forEach((slice, i) => {
          const [begin, dur] = slice;
          if (dur ? begin >= to || begin + dur <= from : begin < from || begin >= to) return;
          const id = timeline.tracks[t].rows[r].first + i;
          const key = `track${t} ${source.name(id)} ${source.category(id)}`;
          const sum = wanted.get(key) ?? { count: 0, total: 0, self: 0 };
          const [a, b] = [Math.max(begin, from), Math.min(begin + dur, to)];
          sum.count += 1;
          sum.total += b - a;
          sum.self += b - a - union(rows.slice(r + 1).flat(), a, b);
          wanted.set(key, sum);
        }),
      ),
    );
    const found = sumsOf(source, { from, to });
    assert.equal(found.length, wanted.size);
    for (const { track, name, category, count, total, self } of found)
      assert.deepEqual({ count, total, self }, wanted.get(`${track} ${name} ${category}`), `${from}:${to} ${name}`);
    tracks.forEach((rows, t) =>
      assert.equal(source.cover(t, 0).busy(from, to), union(rows.flat(), from, to), `busy of track ${t}`),
    );
  }
}

// --- curves

function checkExtremes() {
  const values = Float64Array.from({ length: 5000 }, () => (random(20) ? random(1e6) : NaN));
  const extremes = new Extremes(values);
  for (let round = 0; round < 500; round += 1) {
    const [from, to] = [random(5001), random(5001)].sort((a, b) => a - b);
    const known = Array.from(values.subarray(from, to)).filter((value) => !Number.isNaN(value));
    const wanted = known.length > 0 ? [Math.min(...known), Math.max(...known)] : [NaN, NaN];
    assert.deepEqual(extremes.of(from, to), wanted);
  }
}

// --- hits, in order of time over all sources

async function checkHits() {
  const sources = [0, 1].map((id) => new Source(id ? 'w1' : '', id, timelineOf([nested(40), nested(40)]), details));
  const hits = await Promise.all(sources.map((source) => search(source, 'name3')));
  const count = hits.reduce((sum, { inTime }) => sum + inTime.length, 0);
  const named = sources.reduce((sum, { timeline }) => sum + timeline.name.filter((name) => name === 3).length, 0);
  assert.equal(count, named);
  let at = nextHit(hits, -1e9, 1);
  const seen = new Set();
  for (let i = 0; i < count; i += 1) {
    assert.equal(rankOf(hits, at), i);
    const before = nextHit(hits, at, -1);
    const next = nextHit(hits, at, 1);
    assert.ok(i === 0 || before.source.begin(before.slice) <= at.source.begin(at.slice));
    assert.deepEqual([nextHit(hits, next, -1).slice, nextHit(hits, next, -1).source.id], [at.slice, at.source.id]);
    seen.add(`${at.source.id}.${at.slice}`);
    at = next;
  }
  assert.equal(seen.size, count);
  assert.equal((await search(sources[0], '"name"')).inTime.length, 0, 'in quotes it is the whole name');
}

function checkArrows() {
  const timeline = timelineOf([[rowOf(50, 5)]]);
  const pairs = Array.from({ length: 80 }, () => [random(50), random(50)]).sort((a, b) => a[0] - b[0]);
  timeline.flows = [
    { kind: 'launch', from: Uint32Array.from(pairs, ([a]) => a), to: Uint32Array.from(pairs, ([, b]) => b) },
  ];
  for (let slice = 0; slice < 50; slice += 1) {
    const sorted = (list) => list.sort((a, b) => a - b);
    assert.deepEqual(
      sorted(arrowsFrom(timeline, slice).map(({ to }) => to)),
      sorted(pairs.filter(([a]) => a === slice).map(([, b]) => b)),
    );
    assert.deepEqual(
      sorted(arrowsTo(timeline, slice).map(({ from }) => from)),
      sorted(pairs.filter(([, b]) => b === slice).map(([a]) => a)),
    );
  }
}

checkStrip();
checkSums();
checkExtremes();
await checkHits();
checkArrows();
console.log('right');
