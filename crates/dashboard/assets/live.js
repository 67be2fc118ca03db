// Keeps a page up to date: listens for news, loads the page again, and puts what is new in place. Everything
// can be read without it.
"use strict";
(() => {
  const PACE = 2000;
  // slices of a search that follow each other by themselves
  const SLICES = 20;
  const parts = () => document.querySelectorAll("[data-live]");
  const seen = {};
  let busy = false;
  let wanted = false;
  let last = 0;

  // a part that somebody works in is left alone
  const inUse = (part) => {
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && part.contains(selection.anchorNode)) return true;
    const at = document.activeElement;
    return part.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
  };

  const replace = (part, fresh) => {
    if (fresh.dataset.live) part.dataset.live = fresh.dataset.live; else delete part.dataset.live;
    for (const open of part.querySelectorAll("details[id][open]")) {
      const same = fresh.querySelector("#" + CSS.escape(open.id));
      if (same) same.open = true;
    }
    const at = part.contains(document.activeElement) ? document.activeElement : null;
    const scrolled = [...part.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    part.replaceChildren(...document.importNode(fresh, true).childNodes);
    part.querySelectorAll(".scroll").forEach((box, k) => { box.scrollLeft = scrolled[k] || 0; });
    if (at) {
      const href = at.getAttribute("href");
      const again = (at.id && document.getElementById(at.id)) ||
        (href && part.querySelector(`a[href="${CSS.escape(href)}"]`));
      if (again) again.focus({ preventScroll: true });
    }
  };

  const get = async (address) => {
    const answer = await fetch(address, { credentials: "same-origin" });
    return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  };

  // what a search found after its first answer would be lost with a new first answer
  let grown = false;
  const stays = (part) => inUse(part) || (grown && part.id === "list");

  const load = async (address, wanted = parts()) => {
    const page = await get(address);
    if (!page) return;
    for (const part of wanted) {
      const fresh = page.getElementById(part.id);
      if (fresh && fresh.innerHTML !== part.innerHTML && !stays(part)) replace(part, fresh);
    }
  };

  // where the map is wider than the screen, its middle is seen first
  for (const map of document.querySelectorAll(".world")) {
    const box = map.parentElement;
    box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
  }

  // a search that ran out of time goes on; what it found before stays above
  let search = 0;
  const further = async () => {
    const own = ++search;
    for (let slice = 0; slice < SLICES; slice++) {
      const link = document.querySelector("a[data-further]");
      const page = link && await get(link.href);
      if (!page || own !== search) return;
      const list = document.getElementById("list");
      const fresh = page.getElementById("list");
      const body = fresh.querySelector("tbody");
      const found = list.querySelectorAll("tbody tr");
      if (body) body.prepend(...found);
      else if (found.length) fresh.querySelector(".paging").before(list.querySelector(".scroll"));
      replace(list, fresh);
      grown = true;
    }
  };
  further();

  const refresh = async () => {
    if (busy || document.hidden) { wanted = true; return; }
    const wait = last + PACE - Date.now();
    if (wait > 0) {
      busy = true;
      setTimeout(() => { busy = false; refresh(); }, wait);
      return;
    }
    busy = true;
    wanted = false;
    last = Date.now();
    try { await load(location.href); } catch { /* the next news bring it */ }
    busy = false;
    if (wanted) refresh();
  };

  const source = new EventSource("/live");
  source.onopen = () => document.body.classList.remove("lost");
  source.onerror = () => document.body.classList.add("lost");
  source.onmessage = (event) => {
    const news = JSON.parse(event.data);
    const isOurs = [...parts()].some((part) => news[part.dataset.live] !== seen[part.dataset.live]);
    Object.assign(seen, news);
    if (isOurs) refresh();
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && wanted) refresh(); });

  // forms that only look for something do so while one types
  let typing;
  for (const form of document.querySelectorAll("form[data-look]")) {
    let looks = 0;
    const look = async () => {
      const own = ++looks;
      const address = form.action.split("?")[0] + "?" + new URLSearchParams(new FormData(form));
      history.replaceState(null, "", address);
      search++;
      grown = false;
      await load(address, document.querySelectorAll("[data-live], [data-found]"));
      if (own === looks) further();
    };
    form.addEventListener("input", (event) => {
      const twin = event.target.dataset.twin && document.getElementById(event.target.dataset.twin);
      // a slider tells the power of ten
      if (twin) twin.value = Number((10 ** event.target.value).toPrecision(3));
      const slider = form.querySelector(`[data-twin="${CSS.escape(event.target.id)}"]`);
      if (slider && event.target.value > 0) slider.value = Math.log10(event.target.value);
      clearTimeout(typing);
      typing = setTimeout(look, 250);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); look(); });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); }
  });
})();
