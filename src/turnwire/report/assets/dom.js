// Elements are made here, and only here; text goes in as text nodes, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, amount] of Object.entries(value)) element.style.setProperty(key, amount);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A stranger's text: isolated from the writing direction around it, its unseen characters as marked escapes.
function said(text, lines = false) {
  return el("bdi", { dir: "auto" }, seen(text, lines));
}
function seen(text, lines) {
  const parts = [];
  let place = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (lines && found[0] === "\n") continue;
    parts.push(text.slice(place, found.index), control(escapeOf(found[0])));
    place = found.index + found[0].length;
  }
  return [...parts, text.slice(place)];
}
const control = (text) => el("span", { class: "control", title: "an invisible character" }, text);

const saidOr = (text, otherwise) => (text === null ? el("span", { class: "absent" }, otherwise) : said(text));

function card(id, title, about, extra = "") {
  const body = el("div", { class: "body" });
  const sub = el("p", {}, about);
  const section = el("section", { class: `card ${extra}`, id, "aria-labelledby": `${id}-title` },
    el("header", {}, el("h2", { id: `${id}-title` }, title), sub), body);
  document.getElementById("main").append(section);
  return { section, body, sub };
}
const empty = (text) => el("p", { class: "empty" }, text);
// What may be wider than the window: it can be scrolled, by the keyboard too, and says so where it is wider.
const widths = new ResizeObserver((entries) => requestAnimationFrame(() => {
  for (const { target } of entries) target.classList.toggle("wide", target.scrollWidth > target.clientWidth);
}));
function scroller(label, ...children) {
  const place = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
  widths.observe(place);
  return place;
}
const note = (text) => el("p", { class: "note" }, text);
const badge = (wire) => el("span", { class: `badge wire wire-${wire}` }, el("span", { class: "dot", "aria-hidden": "true" }), wire);

function table(caption, heads, rows) {
  const cell = (tag, value, head) => el(tag, { class: head.number ? "number" : null, scope: tag === "th" ? "col" : null, "data-label": tag === "td" && typeof head.name === "string" ? head.name : null }, value);
  return el("table", { class: "stacks" }, caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, heads.map((head) => cell("th", head.name, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((value, place) => cell("td", value, heads[place]))))));
}

// Pages of a list: draws items [start, stop) by ``show`` and the buttons below them.
function paged(holder, items, size, what, show, start = 0) {
  const stop = Math.min(start + size, items.length);
  holder.replaceChildren();
  show(items.slice(start, stop), holder);
  if (items.length <= size) return;
  const turn = (place) => () => paged(holder, items, size, what, show, place);
  const back = el("button", { type: "button", class: "button", onclick: turn(Math.max(0, start - size)), disabled: start === 0 }, "Previous");
  const on = el("button", { type: "button", class: "button", onclick: turn(stop), disabled: stop === items.length }, "Next");
  holder.append(el("nav", { class: "pager", "aria-label": `Pages of ${what}` }, back, on,
    el("span", { role: "status" }, `${what} ${count(start + 1)}–${count(stop)} of ${count(items.length)}`)));
}
