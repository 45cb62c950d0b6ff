// Conversations: a list, and the chosen one as a sequence diagram.
const NARROW = 56, WIDE = 280, ROW = 44, HEAD = 40, GUTTER = 92, STEPS = 40, TALKS = 12;
let chosenTalk = null, chosenMessage = null;

function drawConversations(holder, view) {
  const talks = new Map();
  for (const message of view.messages) {
    if (!talks.has(message.talk)) talks.set(message.talk, []);
    talks.get(message.talk).push(message);
  }
  const found = [...talks].sort(([a], [b]) => (a.id === null) - (b.id === null) || b.total - a.total || a.place - b.place);
  if (!found.length) return holder.replaceChildren(empty(messages.length ? "No message in this page matches these filters." : "There are no messages."));
  if (!talks.has(chosenTalk)) [chosenTalk] = found[0];
  const list = el("div", {}), diagram = el("div", { id: "diagram" });
  holder.replaceChildren(el("div", { class: "talk" }, list, diagram), ...conversationNotes());
  const show = () => {
    const start = Math.max(0, Math.floor(found.findIndex(([talk]) => talk === chosenTalk) / TALKS) * TALKS);
    paged(list, found, TALKS, "Conversations", (part, place) => place.append(el("ul", { class: "talk-list" }, part.map(([talk, own]) => talkItem(talk, own, show)))), start);
    drawDiagram(diagram, chosenTalk, talks.get(chosenTalk));
  };
  show();
}

function conversationNotes() {
  const named = conversations.filter((talk) => talk.id !== null).length;
  const parts = [];
  if (named < D.total_conversations) parts.push(`This page has ${count(named)} of ${D.more_conversations ? "more than " : ""}${plural(D.total_conversations, "conversation")}: those with an unanswered request or with damage after a message, then the largest. Each begins with its first message.`);
  if (!complete) parts.push(`${count(messages.length)} of ${plural(D.totals.records, "message")} are shown in full; the charts above count all of them.`);
  return parts.length ? [note(parts.join(" "))] : [];
}

const talkName = (talk) => (talk.id === null ? "(no conversation named)" : talk.id);

function talkItem(talk, own, show) {
  const times = own.map((message) => message.time).filter((time) => time !== null);
  const lasted = times.length > 1 ? `, ${duration(Math.max(...times) - Math.min(...times))}` : "";
  const held = own.length < talk.total ? `${count(own.length)} of ${plural(talk.total, "message")}` : plural(talk.total, "message");
  return el("li", {}, el("button", { type: "button", "aria-pressed": String(talk === chosenTalk), onclick: () => { chosenTalk = talk; chosenMessage = null; show(); } },
    el("span", { class: "first" }, badge(wireName(talk.wire)), el("span", { class: "id", title: visible(talkName(talk)) }, saidOr(talk.id, talkName(talk)))),
    el("span", { class: "second" }, `${held}${lasted}`)));
}

function drawDiagram(holder, talk, own) {
  const body = el("div", {});
  const title = el("h3", {}, "Conversation ", saidOr(talk.id, "(none named)"));
  const left = talk.total - talk.messages.length;
  holder.replaceChildren(title, body, ...(left ? [note(`The first ${count(talk.messages.length)} of its ${count(talk.total)} messages are in this page.`)] : []));
  paged(body, own, STEPS, "Messages", (part, place) => {
    const detail = el("div", { "aria-live": "polite" });
    const open = (message, step) => {
      for (const other of place.querySelectorAll(".step")) other.setAttribute("aria-pressed", "false");
      step.setAttribute("aria-pressed", "true");
      chosenMessage = message;
      detail.replaceChildren(messageDetail(message));
    };
    const [heads, steps, fits] = sequenceOf(part, open, holder.clientWidth);
    const drawn = [el("div", { class: "heads" }, heads), steps];
    const lanes = fits ? el("div", { role: "region", "aria-label": "Sequence diagram" }, drawn) : scroller("Sequence diagram", drawn);
    lanes.classList.add("lanes");
    place.append(lanes, detail);
    if (part.includes(chosenMessage)) detail.replaceChildren(messageDetail(chosenMessage));
  });
}

const NOBODY = null;

// The names of the parties, which stay in sight, the messages between them, and whether there is room for all. Lanes shrink
// down to NARROW pixels before anything has to be scrolled.
function sequenceOf(part, open, room) {
  const actors = [...new Set(part.flatMap((message) => [message.sender, message.receiver]))];
  if (actors.includes(NOBODY)) actors.push(actors.splice(actors.indexOf(NOBODY), 1)[0]);
  const space = (room || 800) - GUTTER - 10;
  const lane = Math.max(NARROW, Math.min(WIDE, space / actors.length));
  const width = GUTTER + actors.length * lane + 8, height = 8 + part.length * ROW + 8;
  const middle = (name) => GUTTER + (actors.indexOf(name) + 0.5) * lane;
  const heads = svg("svg", { class: "sequence", width, height: HEAD, viewBox: `0 0 ${width} ${HEAD}`, role: "img", "aria-label": `Parties: ${actors.map((name) => (name === NOBODY ? "nobody named" : visible(name))).join(", ")}` });
  const drawing = svg("svg", { class: "sequence", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${plural(part.length, "message")} between ${plural(actors.length, "party", "parties")}` });
  const edge = lane < 90 ? 3 : 6;
  for (const name of actors) {
    const full = name === NOBODY ? "(nobody named)" : visible(name);
    const label = cut(name === NOBODY && lane < 120 ? "(none)" : full, Math.max(4, Math.floor((lane - 2 * edge - 8) / 7.2)), true);
    drawing.append(svg("line", { class: "life", x1: middle(name), x2: middle(name), y1: 0, y2: height - 4 }));
    heads.append(svg("g", { class: "actor" }, svg("title", {}, full), svg("rect", { x: middle(name) - lane / 2 + edge, y: 4, width: lane - 2 * edge, height: 30, rx: 6 }),
      svg("text", { x: middle(name), y: 24, "text-anchor": "middle" }, label)));
  }
  let before = null;
  part.forEach((message, row) => {
    drawing.append(step(message, row, middle, width, lane, before, open));
    before = message.time ?? before;
  });
  return [heads, drawing, lane * actors.length <= space + 1];
}

function step(message, row, middle, width, lane, before, open) {
  const y = 8 + row * ROW, line = y + 30;
  const from = middle(message.sender), to = middle(message.receiver);
  const group = svg("g", { class: `step wire wire-${message.talk ? wireName(message.talk.wire) : ""}`, tabindex: "0", role: "button", "aria-pressed": String(message === chosenMessage) });
  const words = Math.floor((Math.max(Math.abs(to - from), lane, 150) - 24) / 6.9);
  const kind = visible(message.kind ?? "");
  const about = message.subject === null ? "" : cut(visible(message.subject), Math.max(6, words - kind.length));
  const when = stamp(message, before); // the name of a step begins with what is seen of it
  group.setAttribute("aria-label", `${[when, kind, about].filter(Boolean).join(" ")}, ${spoken(message)}`);
  const half = ((kind.length + about.length + 1) * 6.9) / 2; // what is said stays inside the drawing, whatever the arrow is
  const centre = Math.max(GUTTER + half, Math.min(width - 8 - half, from === to ? from + 40 + half : (from + to) / 2));
  group.append(svg("title", { "aria-hidden": "true" }, spoken(message)), svg("rect", { class: "ground", x: 1, y: y + 1, width: width - 2, height: ROW - 2, rx: 6 }),
    svg("text", { class: "when", x: 8, y: line + 1 }, when), " ",
    svg("text", { class: "said", x: centre, y: line - 8, "text-anchor": "middle" }, svg("tspan", { class: "kind" }, kind), " ", svg("tspan", { class: "about" }, about)));
  if (from === to) {
    group.append(svg("path", { class: "arrow", d: `M${from} ${line - 6}h24v10h-18` }), head(from + 2, line + 4, -1));
  } else {
    const way = to > from ? 1 : -1;
    group.append(svg("line", { class: "arrow", x1: from, x2: to - way * 7, y1: line, y2: line }), svg("circle", { class: "head", cx: from, cy: line, r: 2.5 }), head(to, line, way));
  }
  const choose = () => open(message, group);
  group.addEventListener("click", choose);
  group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } });
  return group;
}

const head = (x, y, way) => svg("path", { class: "head", d: `M${x} ${y}l${-9 * way} -4.5v9z` });
const stamp = (message, before) => (message.time === null ? (message.sequence === null ? "" : `#${message.sequence}`) : before === null || message.time < before ? clock(message.time, 1e6) : `+${duration(message.time - before)}`);
function spoken(message) {
  const parts = [`from ${message.sender ?? "nobody named"} to ${message.receiver ?? "nobody named"}`];
  if (message.time !== null) parts.push(moment(message.time));
  if (message.subject !== null) parts.push(message.subject);
  return visible(parts.join(", "));
}

function messageDetail(message) {
  const place = [message.file === null ? null : [said(message.file), ", "], `line ${count(message.line)}, byte ${count(message.offset)}, ${plural(message.length, "byte")}`,
    message.tokens === null ? "" : `, ${plural(message.tokens, "token")}`, message.time === null ? "" : `, ${moment(message.time)} UTC`];
  return el("div", { class: "detail" }, el("h3", {}, badge(wireName(message.talk.wire)), " ", saidOr(message.kind, "message"), " ", saidOr(message.sender, "nobody named"), " → ", saidOr(message.receiver, "nobody named")),
    el("p", { class: "place" }, ...place.flat()),
    el("dl", { class: "fields" }, message.fields.map(([name, value]) => [el("dt", {}, said(name)), el("dd", {}, said(value, true))])),
    el("p", { class: "place" }, "As written"), el("pre", { class: "raw", tabindex: "0" }, said(message.raw, true)));
}
