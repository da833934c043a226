"""The script of the pages: filters, sorting, copy buttons. Without it everything is shown."""

BEHAVIOUR = """\
"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

for (const button of all("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = button.parentElement.querySelector("code");
    let done = true;
    try { await navigator.clipboard.writeText(source.textContent); }
    catch { getSelection().selectAllChildren(source); done = document.execCommand("copy"); }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

const filters = document.querySelector("form.filters");
if (filters) {
  const cards = all("article.finding"), more = document.querySelector("button.more");
  const step = Number(more.dataset.step);
  let room = step;
  const show = () => {
    const chosen = new FormData(filters);
    const kinds = chosen.getAll("kind"), tiers = chosen.getAll("tier");
    const words = chosen.get("words").toLowerCase().split(/\\s+/).filter(Boolean);
    const fits = cards.filter(card => kinds.includes(card.dataset.kind) && tiers.includes(card.dataset.tier)
      && words.every(word => card.textContent.toLowerCase().includes(word)));
    const shown = new Set(fits.slice(0, room));
    for (const card of cards) card.hidden = !shown.has(card);
    for (const group of all("section.tier")) group.hidden = !group.querySelector("article:not([hidden])");
    filters.querySelector("output").textContent =
      `${fits.length} of ${cards.length}${shown.size < fits.length ? `, the first ${shown.size} shown` : ""}`;
    more.hidden = shown.size === fits.length;
    more.textContent = `Show all ${fits.length}`;
  };
  const follow = () => {
    const card = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!card || !cards.includes(card)) return;
    if (card.hidden) { filters.reset(); room = Infinity; show(); }
    card.scrollIntoView();
  };
  filters.hidden = false;
  filters.addEventListener("submit", event => event.preventDefault());
  filters.addEventListener("input", () => { room = step; show(); });
  more.addEventListener("click", () => { room = Infinity; show(); });
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => { room = Infinity; show(); });
  show();
  follow();
}

const sorter = document.querySelector("form.sorter");
if (sorter) {
  const orders = {
    name: (a, b) => a.dataset.name.localeCompare(b.dataset.name),
    most: (a, b) => b.dataset.covered - a.dataset.covered,
    missing: (a, b) => (b.dataset.total - b.dataset.covered) - (a.dataset.total - a.dataset.covered),
    lowest: (a, b) => a.dataset.covered / a.dataset.total - b.dataset.covered / b.dataset.total,
    highest: (a, b) => b.dataset.covered / b.dataset.total - a.dataset.covered / a.dataset.total,
  };
  const sort = () => {
    const order = orders[sorter.elements.order.value];
    const compare = (a, b) => order(a, b) || orders.name(a, b);
    for (const list of all("ul.rows")) list.append(...[...list.children].sort(compare));
  };
  const search = () => {
    const word = sorter.elements.words.value.trim().toLowerCase();
    let found = 0;
    const fit = (row, above) => {
      const here = above || !word || row.dataset.name.toLowerCase().includes(word);
      let any = here;
      const inside = row.querySelector(":scope > details > ul");
      for (const each of inside ? inside.children : []) any = fit(each, here) || any;
      if (inside && word && any) row.firstElementChild.open = !here || row.firstElementChild.open;
      row.hidden = !any;
      if (!inside && any) found += 1;
      return any;
    };
    for (const list of all(".view:not([hidden]) > ul.rows")) for (const row of list.children) fit(row, false);
    sorter.querySelector("output").textContent = word ? `${found} found` : "";
  };
  const view = () => {
    for (const each of all(".view")) each.hidden = each.id !== sorter.elements.view.value;
    search();
  };
  sorter.hidden = false;
  sorter.addEventListener("submit", event => event.preventDefault());
  sorter.elements.order.addEventListener("change", sort);
  sorter.elements.words.addEventListener("input", search);
  sorter.elements.view.addEventListener("change", view);
  view();
}
"""
