// Results by words until models have read them, explanations in place, and the keyboard. Pages are complete without it, and it makes no HTML of texts: it
// moves parts of other pages of this server into this one.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  // In milliseconds. The server itself says when there is no answer in time; this is for one that says nothing.
  const PATIENCE = 125_000;

  // Fetches a page and passes it on, or a sentence that says why there is none.
  const fetchPage = (address, done, failed) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.timeout = PATIENCE;
    request.setRequestHeader("Accept", "text/html");
    request.onload = () => {
      const page = request.response;
      if (request.status === 200 && page) return done(page);
      failed(page?.querySelector(".refused")?.textContent.trim() || "The server did not answer as it should.");
    };
    request.onerror = () => failed("The server does not answer.");
    request.ontimeout = () => failed("There was no answer in time.");
    request.send();
  };

  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  };

  // Says in a place why nothing came, with a button for another try.
  const offerAgain = (place, sentence, again) => {
    place.classList.add("failed");
    place.replaceChildren(sentence + " ", button("Try again", () => { place.classList.remove("failed"); again(); }));
  };

  // A question first gets the results by words, which are there at once. The form and the links ask for them; the address that remains does not.
  const quick = (address) => {
    const asked = new URL(address, location.href);
    if (asked.searchParams.has("q")) asked.searchParams.set("stage", "words");
    return asked.href;
  };
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-ask]")) return;
    event.preventDefault();
    const fields = new URLSearchParams(new FormData(event.target));
    location.assign(quick("/?" + fields));
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a");
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (link.matches("[data-ask]")) { event.preventDefault(); location.assign(quick(link.href)); }
    else if (link.matches("a.why")) { event.preventDefault(); explain(link); }
    else if (link.matches("a.more")) { event.preventDefault(); more(link); }
  });

  // Replaces the results by those of another page, and the address by that of the other page.
  const show = (fresh, title, address) => {
    document.getElementById("main").replaceWith(fresh);
    document.title = title;
    history.replaceState(null, "", address);
  };

  // Replaces the results by words when models have read them.
  const read = () => {
    const main = document.getElementById("main");
    const next = main.dataset.next;
    if (!next) return;
    const note = main.querySelector(".reading");
    const said = [...note.childNodes];
    main.setAttribute("aria-busy", "true");
    const settle = () => main.removeAttribute("aria-busy");
    fetchPage(next, (page) => {
      settle();
      const hadFocus = main.contains(document.activeElement) && document.activeElement !== main;
      const fresh = document.adoptNode(page.getElementById("main"));
      show(fresh, page.title, next);
      if (hadFocus) fresh.focus({ preventScroll: true });
      status.textContent = "Models have read the results.";
    }, (sentence) => {
      settle();
      offerAgain(note, sentence, () => { note.replaceChildren(...said); read(); });
    });
  };

  // Shows more results, and goes to the first new one. Those that are there stay: until the answer comes, and afterwards with what is opened in them.
  const more = (link) => {
    const main = document.getElementById("main");
    if (main.hasAttribute("aria-busy")) return;
    const place = link.parentElement;
    const said = link.textContent;
    main.setAttribute("aria-busy", "true");
    link.textContent = "Looking for more …";
    const settle = () => { main.removeAttribute("aria-busy"); link.textContent = said; };
    const results = (within) => [...within.querySelectorAll("li a.open")].map((open) => [open.href, open.closest("li")]);
    const line = (result) => result.querySelector(".line").textContent;
    fetchPage(link.href, (page) => {
      settle();
      const active = document.activeElement;
      const known = new Map(results(main));
      const fresh = document.adoptNode(page.getElementById("main"));
      const added = [];
      for (const [href, result] of results(fresh)) {
        const before = known.get(href);
        if (!before) added.push(result);
        else if (line(before) === line(result)) result.replaceWith(before);
      }
      const folded = fresh.querySelector(".nearest");
      if (folded) folded.open = true;
      show(fresh, page.title, link.href);
      status.textContent = added.length ? added.length + " more results." : "There are no more results.";
      // whoever has gone elsewhere meanwhile stays there
      if (active !== link && active !== document.body && active.isConnected) active.focus({ preventScroll: true });
      else reach(added[0]?.querySelector("a.open") ?? fresh);
    }, (sentence) => {
      settle();
      const hadFocus = document.activeElement === link;
      offerAgain(place, sentence, () => { place.replaceChildren(link); link.focus(); more(link); });
      if (hadFocus) place.querySelector("button").focus();
    });
  };

  // Opens an explanation below its result.
  const explain = (link) => {
    const details = document.createElement("details");
    details.className = "why";
    details.open = true;
    const summary = document.createElement("summary");
    summary.textContent = link.textContent;
    const place = document.createElement("div");
    details.append(summary, place);
    link.replaceWith(details);
    summary.focus();
    const load = () => {
      place.textContent = "…";
      place.setAttribute("aria-live", "polite");
      fetchPage(link.href, (page) => place.replaceChildren(document.adoptNode(page.querySelector(".explanation"))), (sentence) => offerAgain(place, sentence, load));
    };
    load();
  };

  const status = document.createElement("p");
  status.className = "hidden";
  status.setAttribute("role", "status");
  document.body.append(status);

  const reach = (element) => {
    element.focus();
    element.scrollIntoView({ block: "nearest" });
  };

  // "/" goes to the box, j and k or the arrows go from result to result.
  const walk = (step) => {
    const all = [...document.querySelectorAll("main a.open")].filter((link) => link.checkVisibility());
    if (!all.length) return false;
    // an image is inside the argument that it illustrates
    const here = all.findLastIndex((link) => link.parentElement.closest("li").contains(document.activeElement));
    const next = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step))];
    reach(next);
    return true;
  };
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const box = document.getElementById("q");
    if (event.target.matches?.("input, select, textarea")) {
      if (event.key === "Escape") { event.target.blur(); return true; }
      return false;
    }
    const onResult = document.activeElement?.matches("a.open");
    switch (event.key) {
      case "/": box?.focus(); box?.select(); return Boolean(box);
      case "j": return walk(1);
      case "k": return walk(-1);
      case "ArrowDown": return onResult && walk(1);
      case "ArrowUp": return onResult && walk(-1);
    }
    return false;
  };
  document.addEventListener("keydown", (event) => { if (press(event)) event.preventDefault(); });

  read();
})();
