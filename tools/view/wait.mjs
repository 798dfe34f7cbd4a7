// Asks for the page until it is made, then shows it: what stands behind # in the address stays.
const kAgain_ms = 500;

async function ask() {
  const answer = await fetch(location.href, { method: "HEAD" }).catch(() => null);
  if (answer && answer.status !== 202) location.reload();
  else setTimeout(ask, kAgain_ms);
}
setTimeout(ask, kAgain_ms);
