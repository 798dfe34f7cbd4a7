// Holds one browser and runs commands: a JSON object per line on stdin, its answer as a line on stdout.
//
//   node browser.mjs chromium|firefox
//   {"do": "open", "path": "/tmp/report.html", "hash": "view=operators"}   ->  {"value": {...}}  or  {"error": "..."}
//
// Each command is a function of `commands`; browser.py is the other side. Nothing is loaded from a network: the
// browser's proxy is a port where nobody listens, but for the server of a page that is opened by its address, and
// whatever a page asks for is in `report`.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import readline from 'node:readline';
import url from 'node:url';
import puppeteer from 'puppeteer-core';

const NOBODY = '127.0.0.1:9';
const BROWSERS = {
  chromium: {
    browser: 'chrome',
    executablePath: '/usr/bin/chromium',
    protocolTimeout: 120000,
    // Without its sandbox it runs as root too; a report that is opened here is one of our tests' own.
    args: ['--no-sandbox', `--proxy-server=${NOBODY}`, '--proxy-bypass-list=<-loopback>', '--hide-scrollbars'],
  },
  firefox: {
    browser: 'firefox',
    executablePath: '/usr/bin/firefox-esr',
    protocolTimeout: 120000,
    extraPrefsFirefox: {
      'network.proxy.type': 1,
      'network.proxy.http': '127.0.0.1',
      'network.proxy.http_port': 9,
      'network.proxy.ssl': '127.0.0.1',
      'network.proxy.ssl_port': 9,
      'network.captive-portal-service.enabled': false,
    },
  },
};
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const name = process.argv[2];
const browser = await puppeteer.launch({ headless: true, ...BROWSERS[name] });
let page = null;
let seen = null; // what went wrong on the page since it was opened

// --- in the page

// Runs before the page's own script. `__tprof_hacked` is what the data of hostile traces would set.
function watch() {
  window.__violations = [];
  document.addEventListener('securitypolicyviolation', (event) => {
    window.__violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
  });
}

// Until nothing is being opened, nothing has changed for `calm` ms, and the page has been drawn since, whatever else
// the machine does: canvases are painted and changes of media are heard in a frame. Or for 30 s, what is then to be
// seen counts.
function settled(calm) {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const busy = () => document.readyState !== 'complete' || document.querySelector('.loading, [aria-busy=true]');
  const calmAndDrawn = async () => {
    let changes = 0;
    const observer = new MutationObserver(() => (changes += 1));
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    for (let before = -1; before !== changes || busy();) {
      before = changes;
      await wait(calm);
      await frame().then(frame); // effects of the first frame are seen in the second
    }
    observer.disconnect();
  };
  return Promise.race([calmAndDrawn(), wait(30000)]);
}

// Every figure: [pointer or rule, exact value as JSON, text, is it in a table]. The list is sent as one JSON text,
// since browsers are slow with long lists.
function figuresOfPage(kind) {
  return JSON.stringify(
    Array.from(document.querySelectorAll(`[${kind}]`), (element) => [
      element.getAttribute(kind),
      element.getAttribute('data-value'),
      element.textContent,
      element.closest('td') !== null,
    ]),
  );
}

// The box of an element, which is scrolled to where the pointer can reach it.
async function inSight(at) {
  const element = await page.waitForSelector(at, { timeout: 5000 });
  await element.evaluate((one) => one.scrollIntoView({ block: 'center' }));
  return element.boundingBox();
}

// --- what can be told

const commands = {
  // A fresh page in a fresh profile, at `width` x `height` as a window of that size with this zoom would have it.
  // `path`: of a file, or an http address; what a page asks for below that is no stranger.
  async open({ path, hash = '', width = 1280, height = 800, zoom = 1, scheme = 'light', calm = 60 }) {
    if (page) await page.browserContext().close();
    const served = path.startsWith('http://') ? new URL('.', path) : null;
    const proxy = { proxyServer: NOBODY, proxyBypassList: ['<-loopback>', served?.host] };
    page = await (await browser.createBrowserContext(served ? proxy : {})).newPage();
    const address = (served ? path : url.pathToFileURL(path).href) + (hash ? `#${hash}` : '');
    seen = { console: [], errors: [], requests: [], dialogs: [], served: [] };
    page.on('console', (message) => {
      if (['error', 'warn', 'warning', 'assert'].includes(message.type())) seen.console.push(message.text());
    });
    page.on('pageerror', (error) => seen.errors.push(String(error.stack || error)));
    page.on('error', (error) => seen.errors.push(`crash: ${error}`));
    page.on('dialog', (dialog) => {
      seen.dialogs.push(dialog.message());
      dialog.dismiss();
    });
    page.on('popup', (popup) => {
      seen.requests.push(`popup ${popup.url()}`);
      popup.close();
    });
    page.on('request', (request) => {
      // Firefox draws bullets with a font of its own, a data: address; one of the page's own would violate its policy.
      const own = request.url().split('#')[0] === address.split('#')[0] || request.url().startsWith('data:');
      if (served && request.url().startsWith(served.href)) seen.served.push(request.url().slice(served.href.length));
      else if (!own) seen.requests.push(request.url());
    });
    await page.evaluateOnNewDocument(watch);
    await commands.size({ width, height, zoom });
    if (name === 'chromium') await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    const begin = performance.now();
    await page.goto(address, { waitUntil: 'load', timeout: 120000 });
    await page.evaluate(settled, calm);
    return { ms: performance.now() - begin - calm };
  },
  async size({ width, height, zoom = 1 }) {
    const shown = (pixels) => Math.round(pixels / zoom);
    await page.setViewport({ width: shown(width), height: shown(height), deviceScaleFactor: zoom });
  },
  // The page's address changes as by a click on a link, or as typed.
  async hash({ hash, calm = 60 }) {
    await page.evaluate((value) => {
      location.hash = value;
    }, hash);
    await page.evaluate(settled, calm);
  },
  async reload({ calm = 60 }) {
    await page.reload({ waitUntil: 'load' });
    await page.evaluate(settled, calm);
  },
  async settle({ calm = 60 }) {
    await page.evaluate(settled, calm);
  },
  async click({ at, button = 'left', calm = 60 }) {
    await (await page.waitForSelector(at, { timeout: 5000 })).click({ button });
    await page.evaluate(settled, calm);
  },
  // Replaces what stands in a field.
  async type({ at, text, calm = 60 }) {
    const field = await page.waitForSelector(at, { timeout: 5000 });
    await field.click({ count: 3 });
    await page.keyboard.press('Backspace');
    await field.type(text);
    await page.evaluate(settled, calm);
  },
  async choose({ at, value, calm = 60 }) {
    await page.waitForSelector(at, { timeout: 5000 });
    await page.select(at, value);
    await page.evaluate(settled, calm);
  },
  // Keys as puppeteer names them, one after the other; "Control+a" holds the first.
  async keys({ keys, calm = 60 }) {
    for (const one of keys) {
      const chord = one.length > 1 ? one.split('+') : [one];
      for (const held of chord.slice(0, -1)) await page.keyboard.down(held);
      await page.keyboard.press(chord.at(-1));
      for (const held of chord.slice(0, -1).reverse()) await page.keyboard.up(held);
    }
    await page.evaluate(settled, calm);
  },
  // From one share of an element's box to another: [0.2, 0.5] is a fifth from the left, half way down.
  async drag({ at, from, to, button = 'left', calm = 60 }) {
    const box = await inSight(at);
    const place = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
    await page.mouse.move(...place(from));
    await page.mouse.down({ button });
    await page.mouse.move(...place(to), { steps: 8 });
    await page.mouse.up({ button });
    await page.evaluate(settled, calm);
  },
  // Two clicks at that share of an element's box.
  async click_twice({ at, to, calm = 60 }) {
    const box = await inSight(at);
    await page.mouse.click(box.x + to[0] * box.width, box.y + to[1] * box.height, { count: 2 });
    await page.evaluate(settled, calm);
  },
  // The same as drag, while a key is held.
  async drag_with({ key, ...told }) {
    await page.keyboard.down(key);
    await commands.drag(told);
    await page.keyboard.up(key);
    await page.evaluate(settled, told.calm ?? 60);
  },
  // The pointer over that share of an element's box.
  async point({ at, to, calm = 60 }) {
    const box = await inSight(at);
    await page.mouse.move(box.x + to[0] * box.width, box.y + to[1] * box.height, { steps: 2 });
    await page.evaluate(settled, calm);
  },
  async figures({ kind = 'data-figure' }) {
    return JSON.parse(await page.evaluate(figuresOfPage, kind));
  },
  // The value of an expression, or of a function's body with `return`; promises are waited for.
  async evaluate({ js, argument = null }) {
    const body = /\breturn\b/.test(js) ? js : `return (${js})`;
    const call = `(async (argument) => { ${body} })(${JSON.stringify(argument)})`;
    const value = await page.evaluate(`${call}.then(JSON.stringify)`);
    return value === undefined ? null : JSON.parse(value);
  },
  // What a person reads in the first frame of the page, once it says `until`.
  async frame_text({ until }) {
    const frame = page.frames()[1];
    await frame.waitForFunction((text) => document.body.innerText.includes(text), { timeout: 30000 }, until);
    return frame.evaluate(() => document.body.innerText);
  },
  async media({ type }) {
    await page.emulateMediaType(type);
  },
  async screenshot({ path, full = false }) {
    await page.screenshot({ path, fullPage: full });
  },
  async pdf({ path }) {
    await page.pdf({ path, printBackground: true });
  },
  // What axe-core finds, without what is said only as a matter of taste.
  async axe() {
    await page.evaluate(AXE);
    const found = JSON.parse(
      await page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(JSON.stringify)"),
    );
    const places = (nodes) => nodes.slice(0, 5).map((node) => `${node.target.join(' ')}: ${node.failureSummary}`);
    return found.violations.map((one) => [one.impact, one.id, one.help, places(one.nodes)]);
  },
  async report() {
    const violations = await page.evaluate(() => window.__violations ?? ['no list of violations']);
    const heap = name === 'chromium' ? (await page.metrics()).JSHeapUsedSize : null;
    return { ...seen, violations, heap };
  },
  async version() {
    return browser.version();
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await commands[told.do](told)) ?? null };
  } catch (error) {
    answer = { error: String(error.message || error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
