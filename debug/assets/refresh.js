// Keeps the page's figures up to date by fetching the page again and changing what differs.
"use strict";
(() => {
  const interval = 2000;
  const pause = document.getElementById("pause");
  const announce = document.getElementById("announce");
  if (!pause || !announce) return;
  let paused = false;
  let failing = false;

  // The search for keys is not repeated: it reads all keys.
  function address() {
    const url = new URL(location.href);
    url.hash = "";
    url.searchParams.delete("find");
    return url;
  }

  function setFailing(text) {
    if (failing === (text !== "")) return;
    failing = text !== "";
    document.documentElement.classList.toggle("outdated", failing);
    announce.textContent = text;
  }

  async function refresh() {
    const response = await fetch(address(), { headers: { Accept: "text/html" }, cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (response.status === 404) throw new Error("The informer is gone; the figures are its last ones.");
    if (!response.ok) throw new Error("The server answers with an error; the figures are old.");
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const newer = page.getElementById(part.id);
      if (newer) morph(part, newer);
    }
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
    for (const child of [...newer.childNodes]) {
      const match = find(at, child);
      if (!match) {
        node.insertBefore(document.importNode(child, true), at);
        continue;
      }
      while (at !== match) at = remove(at);
      morph(match, child);
      at = match.nextSibling;
    }
    while (at) at = remove(at);
  }

  // find returns the first of the siblings that stands for the same thing.
  function find(sibling, wanted) {
    for (; sibling; sibling = sibling.nextSibling) {
      if (sibling.nodeName === wanted.nodeName && sibling.id === wanted.id) return sibling;
      if (!wanted.id) return null;
    }
    return null;
  }

  function remove(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  async function run() {
    if (!paused && !document.hidden) {
      try {
        await refresh();
        setFailing("");
      } catch (error) {
        setFailing(error instanceof TypeError || error.name === "TimeoutError" ? "No connection; the figures are old." : error.message);
      }
    }
    setTimeout(run, interval);
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Resume" : "Pause";
    announce.textContent = paused ? "Paused" : "";
  });
  setTimeout(run, interval);
})();
