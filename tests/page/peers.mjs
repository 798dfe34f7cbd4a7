// How long a browser takes to show a trace: as a report, and in other viewers that run in a browser.
//
//   tests/bench/big_trace.py big.json 300000; tprof report big.json -o big.html
//   node tests/page/peers.mjs big.json big.html
//
// The others are Catapult, formerly chrome://tracing (apt: golang-1.19-src), and the Performance panel of Chromium's
// developer tools. They are started first; the time is that from handing over the trace until it is shown (in Catapult:
// until it has been read, without drawing). For the report it is the time to open the page. Best of three, each in a
// fresh profile.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import url from 'node:url';
import puppeteer from 'puppeteer-core';

const CATAPULT = '/usr/share/go-1.19/src/cmd/trace/static';
const DEBUG_PORT = 9333;
const [trace, report] = process.argv.slice(2).map((one) => path.resolve(one));

const EMBEDDED = `<!doctype html><script src="/webcomponents.min.js"></script>
<link rel="import" href="/trace_viewer_full.html"><body></body>`;
const server = http.createServer((request, answer) => {
  const name = request.url.slice(1);
  if (name === 'catapult') return answer.end(EMBEDDED);
  if (name === 'trace') return fs.createReadStream(trace).pipe(answer);
  return fs
    .createReadStream(path.join(CATAPULT, path.basename(name)))
    .on('error', () => answer.end())
    .pipe(answer);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const site = `http://127.0.0.1:${server.address().port}`;

// Draws what stands there: two frames later it is on the screen.
const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

async function openReport(page) {
  const begin = performance.now();
  await page.goto(url.pathToFileURL(report).href, { waitUntil: 'load' });
  await page.waitForFunction(
    () => document.querySelector('[data-figure]') && !document.querySelector('.loading, [aria-busy=true]'),
  );
  await page.evaluate(drawn);
  return { ms: performance.now() - begin, shows: await page.$$eval('[data-figure]', (all) => `${all.length} figures`) };
}

async function openCatapult(page) {
  await page.goto(`${site}/catapult`);
  await page.waitForFunction(() => window.tr?.importer?.Import, { timeout: 120000 });
  const begin = performance.now();
  const shows = await page.evaluate(async () => {
    const text = await (await fetch('/trace')).text();
    const model = new tr.Model();
    await new tr.importer.Import(model, new tr.importer.ImportOptions()).importTracesWithProgressDialog([text]);
    let slices = 0;
    for (const thread of model.getAllThreads()) slices += thread.sliceGroup.slices.length;
    return `${slices} slices`;
  });
  return { ms: performance.now() - begin, shows };
}

async function openDevtools(page) {
  await page.goto(`http://127.0.0.1:${DEBUG_PORT}/devtools/devtools_app.html?panel=timeline`);
  const field = await page.waitForSelector('>>> input[type=file]', { timeout: 60000 });
  const begin = performance.now();
  await field.uploadFile(trace);
  await page.waitForSelector('>>> .timeline-flamechart', { timeout: 300000, visible: true });
  await page.evaluate(drawn);
  return { ms: performance.now() - begin, shows: 'tracks' };
}

const PEERS = { 'tprof report': openReport, Catapult: openCatapult, 'DevTools Performance': openDevtools };
const best = {};
for (const [name, open] of Object.entries(PEERS)) {
  for (let run = 0; run < 3; run += 1) {
    const browser = await puppeteer.launch({
      executablePath: '/usr/bin/chromium',
      headless: true,
      protocolTimeout: 600000,
      args: ['--no-sandbox', `--remote-debugging-port=${DEBUG_PORT}`, '--window-size=1600,1000'],
    });
    try {
      const page = await browser.newPage();
      await page.setViewport({ width: 1600, height: 1000 });
      const found = await open(page);
      if (process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, `${name}.png`) });
      if (!best[name] || found.ms < best[name].ms) best[name] = found;
    } catch (error) {
      console.log(`${name}: ${String(error.message).split('\n')[0]}`);
    }
    await browser.close();
  }
}
server.close();
const own = best['tprof report'].ms;
for (const [name, { ms, shows }] of Object.entries(best))
  console.log(`${name.padEnd(22)}${ms.toFixed(0).padStart(8)} ms ${(ms / own).toFixed(1).padStart(6)} x   ${shows}`);
