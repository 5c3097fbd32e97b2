// Keeps the page's figures up to date by fetching the page again and changing what differs.
"use strict";
(() => {
  const interval = 2000;
  const pause = document.getElementById("pause");
  const announce = document.getElementById("announce");
  const filter = document.getElementById("filter");
  if (!pause || !announce) return;
  let paused = false;
  let failing = false;

  // The search for keys is not repeated: it reads all keys.
  function address() {
    const url = new URL(location.href);
    url.hash = "";
    url.searchParams.delete("find");
    return url.href;
  }

  function setFailing(text) {
    if (failing === (text !== "")) return;
    failing = text !== "";
    document.documentElement.classList.toggle("outdated", failing);
    announce.textContent = text;
  }

  async function fetchPage() {
    const from = address();
    const wasPaused = paused;
    const response = await fetch(from, { headers: { Accept: "text/html" }, cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (response.status === 404) throw new Error("The informer is gone; the figures are its last ones.");
    if (!response.ok) throw new Error("The server answers with an error; the figures are old.");
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (from !== address() || paused !== wasPaused) return; // the filter has changed, or the user has paused
    const focused = document.activeElement;
    for (const part of document.querySelectorAll("[data-live]")) {
      const newer = page.getElementById(part.id);
      if (newer) morph(part, newer);
    }
    if (focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
  }

  // morph changes a node to equal another one, and keeps what is equal, so that focus and selection stay.
  function morph(node, newer) {
    if (node.isEqualNode(newer)) return;
    if (node.nodeType !== Node.ELEMENT_NODE) {
      node.nodeValue = newer.nodeValue;
      return;
    }
    for (const { name } of [...node.attributes]) if (!newer.hasAttribute(name)) node.removeAttribute(name);
    for (const { name, value } of newer.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    let at = node.firstChild;
    for (const child of newer.childNodes) {
      while (at?.id && !newer.ownerDocument.getElementById(at.id)) at = remove(at);
      const match = child.id ? document.getElementById(child.id) : at;
      if (match?.parentNode !== node || match.nodeName !== child.nodeName || (match.id || "") !== (child.id || "")) {
        node.insertBefore(document.importNode(child, true), at);
        continue;
      }
      if (match === at) at = at.nextSibling;
      else node.insertBefore(match, at);
      morph(match, child);
    }
    while (at) at = remove(at);
  }

  function remove(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  async function refresh() {
    try {
      await fetchPage();
      setFailing("");
    } catch (error) {
      setFailing(error instanceof TypeError || error.name === "TimeoutError" ? "No connection; the figures are old." : error.message);
    }
  }

  async function run() {
    if (!paused && !document.hidden) await refresh();
    setTimeout(run, interval);
  }

  filter?.addEventListener("input", () => {
    const url = new URL(location.href);
    url.searchParams.set("filter", filter.value);
    history.replaceState(null, "", url);
    refresh();
  });

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Resume" : "Pause";
    announce.textContent = paused ? "Paused" : "";
  });
  setTimeout(run, interval);
})();
