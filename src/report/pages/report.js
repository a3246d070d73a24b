// Search, sorting, keyboard, dialogs of images. Pages are complete without it: it writes no HTML and only shows what they contain, and links to it.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const main = document.getElementById("main");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const isSingle = "single" in main.dataset;
  const views = [...document.querySelectorAll(".view")];
  let view = views[0];

  // The reader's choices are stored if the browser allows it.
  const stored = {
    get: (key) => { try { return localStorage.getItem("riposte-" + key); } catch { return null; } },
    set: (key, value) => { try { localStorage.setItem("riposte-" + key, value); } catch { /* not stored */ } },
  };

  // The theme: light, dark or that of the system.
  const theme = document.getElementById("theme");
  const THEMES = ["auto", "light", "dark"];
  const setTheme = (name) => {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    theme.title = "Theme: " + name;
    theme.textContent = { auto: "◐", light: "○", dark: "●" }[name];
    stored.set("theme", name);
  };
  const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(root.dataset.theme || "auto") + 1) % 3]);
  setTheme(THEMES.includes(stored.get("theme")) ? stored.get("theme") : "auto");
  theme.addEventListener("click", nextTheme);

  // Boxes around the text in images.
  const toggles = [...document.querySelectorAll(".toggle")];
  const setBoxes = (on) => {
    root.classList.toggle("with-boxes", on);
    for (const toggle of toggles) toggle.setAttribute("aria-pressed", String(on));
    stored.set("boxes", on ? "on" : "off");
  };
  const flipBoxes = () => setBoxes(!root.classList.contains("with-boxes"));
  setBoxes(stored.get("boxes") !== "off");
  for (const toggle of toggles) toggle.addEventListener("click", flipBoxes);
  // Hovering over a line or its box highlights both.
  const light = (event, on) => {
    const at = event.target.closest?.("[data-line]");
    if (!at) return;
    const figure = at.closest("figure");
    for (const one of figure.querySelectorAll(`[data-line="${at.dataset.line}"]`)) one.classList.toggle("lit", on);
  };
  document.addEventListener("pointerover", (event) => light(event, true));
  document.addEventListener("pointerout", (event) => light(event, false));

  // The items between which j and k move: topics, images or texts.
  const items = () => {
    const links = view.dataset.view === "index" ? ".topics tbody tr:not([hidden]) th a" : ".card:not(.dim) > a, .text:not(.dim)";
    return [...view.querySelectorAll(links)];
  };
  const walk = (step) => {
    const all = items();
    if (!all.length) return;
    const here = all.findIndex((item) => item.contains(document.activeElement));
    const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step));
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  };
  // The up and down keys move to the nearest item of the next row on the screen.
  const climb = (direction) => {
    const all = items();
    const here = all.find((item) => item.contains(document.activeElement));
    if (!here) return walk(direction);
    const from = here.getBoundingClientRect();
    const beyond = all.map((item) => [item, item.getBoundingClientRect()])
      .filter(([, to]) => direction * (to.top - from.top) > 4);
    const cost = (to) => direction * (to.top - from.top) + 0.5 * Math.abs(to.left - from.left);
    beyond.sort((a, b) => cost(a[1]) - cost(b[1]));
    if (beyond.length) { beyond[0][0].focus(); beyond[0][0].scrollIntoView({ block: "nearest" }); }
  };

  // Search: rows that lack one of the words are hidden; cards and texts that lack one are dimmed.
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const contents = new WeakMap();
  const contentOf = (item) => {
    if (!contents.has(item)) {
      let text = item.textContent;
      const link = item.matches(".card") && item.querySelector("a");
      const opened = link && document.getElementById(decodeURIComponent(link.hash.slice(1)));
      for (const part of opened ? opened.querySelectorAll(".lines, .page, .doc") : []) text += " " + part.textContent;
      contents.set(item, text.toLowerCase());
    }
    return contents.get(item);
  };
  // The topics that have all words, and the documents whose ids have the only one, wherever they are in the report.
  const places = document.getElementById("places");
  const topics = [...places.children];
  const MOST = 8;
  const isPlain = (id) => id.length <= 64 && /^[\w-]+$/.test(id);
  const linkTo = (topic, id) => {
    const link = document.createElement("a");
    const href = topic.getAttribute("href");
    link.href = !isPlain(id) ? href : isSingle ? href + "/" + id : href + "#" + id;
    link.textContent = id + " · " + topic.textContent;
    link.className = "document";
    return link;
  };
  const find = (wanted) => {
    let shown = 0;
    const hasAll = (text) => wanted.length > 0 && wanted.every((word) => text.toLowerCase().includes(word));
    for (const link of places.querySelectorAll(".document")) link.remove();
    for (const topic of topics) {
      topic.hidden = view.dataset.view === "index" || shown >= MOST || !hasAll(topic.textContent);
      shown += topic.hidden ? 0 : 1;
    }
    const id = wanted.length === 1 && wanted[0].length > 2 ? wanted[0] : null;
    for (const topic of id ? topics : []) {
      for (const one of (topic.dataset.documents ?? "").split(" ")) {
        if (shown >= MOST || !one.toLowerCase().includes(id)) continue;
        places.append(linkTo(topic, one));
        shown += 1;
      }
    }
    places.hidden = shown === 0;
  };
  places.addEventListener("click", () => { search.value = ""; filter(); });
  const filter = () => {
    const wanted = words(search.value);
    find(wanted);
    const isIndex = view.dataset.view === "index";
    let shown = 0, all = 0;
    for (const item of view.querySelectorAll(isIndex ? ".topics tbody tr" : ".card, .text")) {
      const has = wanted.every((word) => contentOf(item).includes(word));
      if (isIndex) item.hidden = !has; else item.classList.toggle("dim", !has);
      all += 1;
      shown += has ? 1 : 0;
    }
    found.textContent = wanted.length ? `${shown} of ${all}` : "";
    const empty = isIndex && view.querySelector(":scope > .empty");
    if (empty) empty.hidden = shown > 0;
  };
  search.addEventListener("input", filter);

  // Sorting: measures start with the largest value, titles and topic numbers with the first.
  const sort = (button) => {
    const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
    const by = button.dataset.sort;
    const isMeasure = by !== "number" && by !== "title";
    const was = head.getAttribute("aria-sort");
    const descending = was ? was === "ascending" : isMeasure;
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const column = [...head.parentNode.children].indexOf(head);
    const key = (row) => by === "number" ? Number(row.dataset.at)
      : by === "title" ? row.querySelector("th").textContent.trim().toLowerCase()
      : row.children[column].dataset.value === "" ? -Infinity : Number(row.children[column].dataset.value);
    const order = (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (descending ? -1 : 1) || a[1].dataset.at - b[1].dataset.at;
    body.append(...[...body.rows].map((row) => [key(row), row]).sort(order).map(([, row]) => row));
  };
  for (const button of document.querySelectorAll("[data-sort]")) button.addEventListener("click", () => sort(button));

  // The fragment of the address names the image whose dialog is open. In a single page it also selects the view.
  const fragment = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; } };
  const openDialogs = () => [...document.querySelectorAll("dialog[open]")];
  const follow = () => {
    const target = document.getElementById(fragment());
    const inView = target?.closest(".view");
    if (isSingle) show(inView || (location.hash.length > 1 ? view : views[0]));
    const dialog = target?.matches("dialog.image") ? target : null;
    for (const other of openDialogs()) if (other !== dialog) { other.leaving = true; other.close(); }
    if (dialog && !dialog.open) dialog.showModal();
    else if (target?.matches(".text")) target.focus({ preventScroll: true });
  };
  const show = (which) => {
    for (const other of views) other.hidden = other !== which;
    if (which === view) return;
    view = which;
    search.value = "";
    filter();
    scrollTo(0, 0);
    document.title = view.querySelector("h1").textContent.trim();
  };
  const leave = (dialog) => {
    // return to the topic without scrolling, and focus the card of the image
    const anchor = isSingle ? "#" + view.id : "";
    history.replaceState(null, "", location.href.split("#")[0] + anchor);
    const card = [...view.querySelectorAll(".card > a")].find((link) => decodeURIComponent(link.hash.slice(1)) === dialog.id);
    card?.focus();
  };
  for (const dialog of document.querySelectorAll("dialog.image")) {
    dialog.addEventListener("close", () => { if (dialog.leaving) dialog.leaving = false; else leave(dialog); });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.querySelector("a.close").addEventListener("click", (event) => { event.preventDefault(); dialog.close(); });
  }
  addEventListener("hashchange", follow);

  const keys = document.getElementById("keys");
  document.getElementById("help").addEventListener("click", () => keys.showModal());
  keys.querySelector(".close").addEventListener("click", () => keys.close());

  // Texts that are too long for their box get a button that expands them.
  const cut = () => {
    for (const text of view.querySelectorAll(".text:not(.long, .whole)")) {
      const body = text.querySelector(".words");
      if (body.scrollHeight <= body.clientHeight + 4) continue;
      text.classList.add("long");
      const more = document.createElement("button");
      more.type = "button";
      more.className = "more";
      more.textContent = "Whole text";
      more.addEventListener("click", () => {
        const whole = text.classList.toggle("whole");
        text.classList.toggle("long", !whole);
        more.textContent = whole ? "Less" : "Whole text";
      });
      body.after(more);
    }
  };

  const click = (scope, selector) => { const link = scope.querySelector(selector); link?.click(); return Boolean(link); };
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.target === search) {
      if (event.key === "Escape") { search.value = ""; filter(); search.blur(); return true; }
      if (event.key === "Enter" || event.key === "ArrowDown") {
        const first = items().length ? null : places.querySelector("a:not([hidden])");
        search.blur();
        if (first) first.focus(); else walk(1);
        return true;
      }
      return false;
    }
    const dialog = openDialogs()[0];
    if (event.key === "b") { flipBoxes(); return true; }
    if (event.key === "t") { nextTheme(); return true; }
    if (dialog) {
      if (!dialog.matches(".image")) return false;
      if (["ArrowLeft", "k"].includes(event.key)) return click(dialog, "a.previous");
      if (["ArrowRight", "j"].includes(event.key)) return click(dialog, "a.next");
      return false;
    }
    const isIndex = view.dataset.view === "index";
    switch (event.key) {
      case "/": search.focus(); search.select(); return true;
      case "?": keys.showModal(); return true;
      case "j": walk(1); return true;
      case "k": walk(-1); return true;
      case "ArrowRight": if (isIndex) return false; walk(1); return true;
      case "ArrowLeft": if (isIndex) return false; walk(-1); return true;
      case "ArrowDown": if (!items().includes(document.activeElement)) return false; climb(1); return true;
      case "ArrowUp": if (!items().includes(document.activeElement)) return false; climb(-1); return true;
      case "n": return click(view, ".crumbs [rel=next]");
      case "p": return click(view, ".crumbs [rel=prev]");
      case "u": return click(view, ".crumbs .up");
      case "Enter": {
        const text = document.activeElement?.matches(".text") && document.activeElement.querySelector(".why");
        if (text) { text.open = !text.open; return true; }
        return false;
      }
    }
    return false;
  };
  document.addEventListener("keydown", (event) => { if (press(event)) event.preventDefault(); });

  follow();
  cut();
  if (isSingle) addEventListener("hashchange", cut);
})();
