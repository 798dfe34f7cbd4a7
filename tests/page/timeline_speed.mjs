// How fast the timeline of a report is: opened, and zoomed and panned by a script.
//
//   tests/bench/big_trace.py big.json 1000000 --rich; tprof report big.json --max-size 256M -o big.html
//   node tests/page/timeline_speed.mjs big.html [chromium|firefox]...
//
// For each browser: the time from opening the file at #view=timeline until the first frame of all slices is on the
// screen (best of three, each in a fresh profile), the heap, and of a sweep of 60 steps over zoom and pan the time in
// which a frame is made (median, 95th percentile, worst), and from one frame on the screen to the next.
import path from 'node:path';
import os from 'node:os';
import url from 'node:url';
import puppeteer from 'puppeteer-core';

const BROWSERS = {
  chromium: {
    browser: 'chrome',
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--enable-precise-memory-info'],
  },
  firefox: { browser: 'firefox', executablePath: '/usr/bin/firefox-esr' },
};
const RUNS = 3;
const STEPS = 60;
const [report, ...names] = process.argv.slice(2);
const address = `${url.pathToFileURL(path.resolve(report)).href}#view=timeline`;

// In the page. Closer at a place, along, back out, along: a step is a turn of the wheel and its frame.
async function sweep(steps) {
  const canvas = document.querySelector('.tl-canvas');
  const box = canvas.getBoundingClientRect();
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  performance.clearMeasures('timeline-frame');
  const gaps = [];
  let last = 0;
  for (let step = 0; step < steps; step += 1) {
    const turn = Math.floor((4 * step) / steps); // 0: closer, 1: along, 2: out, 3: along
    const zooms = turn % 2 === 0;
    canvas.dispatchEvent(
      new WheelEvent('wheel', {
        bubbles: true,
        cancelable: true,
        clientX: box.left + 0.4 * box.width,
        clientY: box.top + 0.3 * box.height,
        ctrlKey: zooms,
        shiftKey: !zooms,
        deltaY: zooms ? (turn === 0 ? -250 : 250) : 180,
      }),
    );
    await frame();
    await frame();
    const now = performance.now();
    if (last) gaps.push((now - last) / 2);
    last = now;
  }
  return { drawn: performance.getEntriesByName('timeline-frame').map(({ duration }) => duration), gaps };
}

// What the page keeps, typed arrays included, which lie outside of the heap of objects.
async function heapOf(page) {
  const session = await page.createCDPSession();
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize, backingStorageSize } = await session.send('Runtime.getHeapUsage');
  return usedSize + backingStorageSize;
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
const told = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return [0.5, 0.95, 1].map((share) => `${at(sorted, share).toFixed(1)} ms`).join(', ');
};

for (const name of names.length > 0 ? names : Object.keys(BROWSERS)) {
  let best = Infinity;
  for (let run = 0; run < RUNS; run += 1) {
    const browser = await puppeteer.launch({ headless: true, protocolTimeout: 600000, ...BROWSERS[name] });
    const page = await browser.newPage();
    await page.setViewport({ width: 1600, height: 1000 });
    const begin = performance.now();
    await page.goto(address, { waitUntil: 'load', timeout: 600000 });
    await page.waitForFunction(
      () => performance.getEntriesByName('timeline-frame').length > 0 && !document.querySelector('.loading'),
      { timeout: 600000 },
    );
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    best = Math.min(best, performance.now() - begin);
    if (run === RUNS - 1) {
      const heap = name === 'chromium' ? await heapOf(page) : NaN;
      const { drawn, gaps } = await page.evaluate(sweep, STEPS);
      const load = os.loadavg()[0].toFixed(1);
      console.log(`${name}: ${await browser.version()}, load of the machine ${load} on ${os.cpus().length} cores`);
      console.log(`  opened in       ${best.toFixed(0)} ms`);
      if (heap) console.log(`  heap            ${(heap / 2 ** 20).toFixed(0)} MiB`);
      console.log(`  frame is made   ${told(drawn)} (median, 95 %, worst of ${drawn.length})`);
      console.log(`  frame to frame  ${told(gaps)}`);
      if (process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, `timeline.${name}.png`) });
    }
    await browser.close();
  }
}
