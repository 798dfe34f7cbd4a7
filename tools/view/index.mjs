// The list of runs, workers and spans, from what the server says of the directory (listing.h); looked at every 5 s.
// Names may hold anything: they are only ever the text of an element.
const kLook_ms = 5000;

const at = (id) => document.getElementById(id);
let shown = ""; // the list as it was received
let list = { directory: "", notes: [], runs: [] };

function element(tag, ...children) {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}

const named = (name) => element("bdi", name);

function link(text, address) {
  const made = element("a", text);
  made.href = `page?${address}`;
  return made;
}

// Cells of a run: its name, then a line for all workers if there are several, and one for each of them.
function rowsOf({ name, run, workers, recordings }) {
  const traces = workers.reduce((sum, { spans }) => sum + spans.length, 0);
  const title = traces > 1 ? link(named(name), `run=${run}`) : named(name);
  if (traces > 1) title.title = "one page with all of its workers and spans";
  const lines = workers.map((one) => [
    named(one.name),
    one.spans.map((span) => link(span, `run=${run}&worker=${one.worker}&span=${span}`)),
  ]);
  if (workers.length > 1) {
    const spans = [...new Set(workers.flatMap((one) => one.spans))];
    lines.unshift(["all workers", spans.map((span) => link(span, `run=${run}&span=${span}`))]);
  }
  for (const recording of recordings) {
    const said = element(
      "span",
      named(recording),
      ": a recording; tprof convert writes the traces that it still holds",
    );
    said.className = "recording";
    lines.push([said, []]);
  }
  return lines.map(([worker, spans], i) => {
    const row = element("tr", element("td", ...(i ? [] : [title])), element("td", worker), element("td", ...spans));
    if (i === 0) row.className = "first";
    return row;
  });
}

function show() {
  const words = at("search").value.toLowerCase().split(/\s+/);
  const text = ({ name, workers }) => [name, ...workers.map((one) => one.name)].join("\n").toLowerCase();
  const found = list.runs.filter((run) => words.every((word) => text(run).includes(word)));
  at("runs").replaceChildren(...found.flatMap(rowsOf));
  at("directory").textContent = list.directory;
  at("notes").replaceChildren(...list.notes.map((note) => element("li", note)));
  at("count").textContent = `${found.length} of ${list.runs.length} runs`;
}

async function look() {
  if (document.visibilityState !== "visible" && shown) return;
  try {
    const answer = await fetch("list");
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    if (text === shown) return;
    shown = text;
    list = JSON.parse(text);
    show();
  } catch (why) {
    shown = "";
    at("count").textContent = `The server does not answer: ${why.message}`;
  }
}

at("search").addEventListener("input", show);
document.addEventListener("visibilitychange", look);
setInterval(look, kLook_ms);
look();
