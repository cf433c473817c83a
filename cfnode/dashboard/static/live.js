// Keeps the page up to date: at each new block of the books it fetches the page again, and replaces the parts
// that are marked with data-live and have changed. Without it, a reload does the same.
"use strict";

const drawn = new Map();
for (const part of document.querySelectorAll("[data-live]")) drawn.set(part.id, part.innerHTML);
let block = null;
let isRunning = false;
let isWanted = false;

async function refresh() {
  isWanted = true;
  if (isRunning || document.hidden) return;
  isRunning = true;
  while (isWanted) {
    isWanted = false;
    const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
    if (answer === null || !answer.ok) continue;
    if (answer.redirected) return location.reload(); // the session has ended
    replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
  }
  isRunning = false;
}

function replace(page) {
  for (const part of page.querySelectorAll("[data-live]")) {
    const own = document.getElementById(part.id);
    if (own === null || drawn.get(part.id) === part.innerHTML) continue;
    drawn.set(part.id, part.innerHTML);
    const open = [...own.querySelectorAll("details[open]")].map((details) => details.id);
    const focused = placeIn(own);
    own.replaceChildren(...part.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused !== null) {
      const near = document.getElementById(focused.id);
      if (near !== null) [near, ...focusable(near)][focused.place]?.focus({ preventScroll: true });
    }
  }
}

function focusable(part) {
  return [...part.querySelectorAll("a[href], button, input, select, summary, [tabindex]")];
}

// The nearest element with an id around what has the focus, such as a row, and which of its parts it is.
function placeIn(part) {
  if (!part.contains(document.activeElement)) return null;
  const near = document.activeElement.closest("[id]");
  return { id: near.id, place: [near, ...focusable(near)].indexOf(document.activeElement) };
}

const source = new EventSource("/web/events");
source.addEventListener("block", (event) => {
  if (block === event.data) return; // a new stream begins with the block that the last one ended with
  block = event.data;
  refresh();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && isWanted) refresh(); });
addEventListener("pagehide", () => source.close());
