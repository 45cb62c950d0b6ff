// The bar of filters. Counts stay exact: times snap to the bars of the chart, since nothing finer is known of all records.
const controls = {};
let update = () => {};

function field(id, label, kind, control) {
  controls[id] = control;
  return el("div", { class: `field ${kind}` }, el("label", { for: id }, label), control);
}

function choice(id, label, options) {
  return field(id, label, "", el("select", { id, onchange: (event) => { filter[id] = event.target.value === "" ? null : Number(event.target.value); update(); } },
    el("option", { value: "" }, "All"), options.map(([value, name]) => el("option", { value }, cut(visible(name), 60)))));
}

const met = (column) => [...new Set(cells.map((cell) => cell[column]))];
const sorted = (codes, name) => codes.filter((value) => value >= 0).sort((a, b) => a - b)
  .concat(codes.filter((value) => value < 0).sort((a, b) => a - b)).map((value) => [value, name(value)]);

function wireChips() {
  controls.wires = D.wires.map((name, place) => el("button", {
    type: "button", class: `chip wire wire-${name}`, "aria-pressed": "false",
    onclick: () => { if (!filter.wires.delete(place)) filter.wires.add(place); update(); },
  }, el("span", { class: "dot", "aria-hidden": "true" }), name));
  return el("div", { class: "field wires" }, el("span", { class: "label", id: "wires-label" }, "Wires"),
    el("div", { class: "chips", role: "group", "aria-labelledby": "wires-label" }, controls.wires));
}

// The bar that begins at a time, or, for the end of a range, that ends there.
const bucketAt = (micros, key) => Math.min(D.time.buckets - 1, Math.max(0, Math.floor((micros - D.time.start - (key === "to" ? 1 : 0)) / D.time.width)));

function timeInput(id, label) {
  return field(id, label, "time", el("input", {
    id, type: "datetime-local", step: D.time.width < 1e6 ? "0.001" : "1",
    onchange: (event) => {
      const micros = Date.parse(`${event.target.value}Z`) * 1000;
      filter[id] = Number.isNaN(micros) ? null : bucketAt(micros, id);
      update();
    },
  }));
}

function typed(id, label, list) {
  let waiting = 0;
  return field(id, label, "wide", el("input", {
    id, type: "search", placeholder: "any", list, autocomplete: "off", spellcheck: "false",
    oninput: (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { filter[id] = event.target.value.trim(); update(); }, 120);
    },
  }));
}

function buildFilters() {
  const talks = conversations.filter((talk) => talk.id !== null).slice(0, 500);
  const bar = document.getElementById("filters");
  if (D.wires.length > 1) bar.append(wireChips());
  else bar.classList.add("single");
  bar.append(
    typed("text", "Text in a message"),
    typed("conversation", "Conversation", "known-conversations"),
    el("datalist", { id: "known-conversations" }, talks.map((talk) => el("option", { value: visible(talk.id) }))),
    choice("kind", "Kind", sorted(met("kind"), kindName)),
    choice("sender", "From", sorted(met("sender"), agentName)),
    choice("receiver", "To", sorted(met("receiver"), agentName)));
  if (timed) bar.append(timeInput("from", "After (UTC)"), timeInput("to", "Before (UTC)"));
  controls.reset = el("button", { type: "button", class: "button", id: "reset", onclick: reset }, "Clear filters");
  bar.append(controls.reset);
}

function clear() {
  Object.assign(filter, { kind: null, sender: null, receiver: null, conversation: "", text: "", from: null, to: null });
  filter.wires.clear();
  for (const id of ["conversation", "text"]) controls[id].value = "";
}
function reset() {
  clear();
  update();
}

// Shows in the bar what is filtered, however it came about.
function showFilters(view) {
  controls.wires?.forEach((chip, place) => chip.setAttribute("aria-pressed", String(filter.wires.has(place))));
  for (const id of ["kind", "sender", "receiver"]) controls[id].value = filter[id] === null ? "" : String(filter[id]);
  if (timed) {
    const digits = D.time.width < 1e6 ? 23 : 19;
    controls.from.value = filter.from === null ? "" : iso(bucketStart(filter.from)).slice(0, digits);
    controls.to.value = filter.to === null ? "" : iso(bucketStart(filter.to + 1)).slice(0, digits);
  }
  controls.reset.disabled = !byDetail() && !byCell();
  if (!controls.reset.disabled) document.getElementById("filter-fold").open = true;
  const shown = el("strong", { id: "shown" }, count(view.records));
  const all = view.held ? messages.length : D.totals.records;
  const parts = [shown, ` of ${plural(all, view.held ? "message" : "record")}`];
  if (view.held && !complete) parts.push(` in this page (the log has ${count(D.totals.records)}; filters by text and conversation search only this page)`);
  if (!byDetail() && !byCell()) parts.splice(0, parts.length, "All ", shown, ` ${D.totals.records === 1 ? "record" : "records"}`);
  document.getElementById("active").replaceChildren(...parts, ".");
}
