// Messages one by one, and the damaged ranges with their bytes.
const ROWS = 50, CARDS = 15, REJECTS = 10;
const rowsInView = () => (matchMedia("(max-width: 560px)").matches ? CARDS : ROWS); // on a phone each is a card

function drawMessages(holder, view) {
  if (!view.messages.length) return holder.replaceChildren(empty(messages.length ? "No message in this page matches these filters." : "There are no messages."));
  const heads = [...["Time (UTC)", "Wire", "Kind", "From", "To", "Conversation", "About"].map((name) => ({ name })), { name: "Line", number: true }, { name: "Details" }];
  paged(holder, view.messages, rowsInView(), "Messages", (part, place) => {
    const made = table("", heads, part.map(messageRow));
    made.classList.add("one-by-one");
    place.append(scroller("Table of messages", made));
  });
  if (!complete) holder.append(note(`${count(messages.length)} of ${plural(D.totals.records, "message")} of the log are in this page.`));
}

function messageRow(message) {
  const clipped = (text) => el("span", { class: "clip", title: text === null ? null : visible(text) }, saidOr(text, "–"));
  const button = el("button", { type: "button", class: "open", "aria-expanded": "false", "aria-label": `Show the message on line ${count(message.line)}`, onclick: () => {
    const open = button.getAttribute("aria-expanded") === "true", row = button.closest("tr");
    if (open) row.nextSibling.remove();
    else row.after(el("tr", { class: "more" }, el("td", { colspan: "9" }, messageDetail(message))));
    button.setAttribute("aria-expanded", String(!open));
    button.setAttribute("aria-label", `${open ? "Show" : "Hide"} the message on line ${count(message.line)}`);
    button.replaceChildren(open ? "Show" : "Hide");
  } }, "Show");
  return [saidOr(message.time === null ? null : moment(message.time), "–"), badge(wireName(message.talk.wire)), clipped(message.kind), clipped(message.sender),
    clipped(message.receiver), clipped(message.talk.id), clipped(message.subject), count(message.line), button];
}

const chosenReasons = new Set();

function drawRejects(holder, view) {
  if (!allRejects) return holder.replaceChildren(empty("Nothing is damaged: everything that begins like a record is valid."));
  const wires = new Set([...filter.wires].map(wireName));
  const counts = D.reject_counts.filter(([wire]) => !wires.size || wires.has(wire));
  const reasons = el("div", { class: "chips reasons no-print", role: "group", "aria-label": "Reasons" }, counts.map(([wire, reason, number]) => {
    const name = `${wire} ${reason}`;
    return el("button", { type: "button", class: `chip wire wire-${wire}`, "aria-pressed": String(chosenReasons.has(name)),
      onclick: () => { if (!chosenReasons.delete(name)) chosenReasons.add(name); drawRejects(holder, view); } },
    el("span", { class: "dot", "aria-hidden": "true" }), el("span", {}, reason), " ", el("strong", {}, count(number)));
  }));
  const found = rejects.filter((reject) => (!wires.size || wires.has(reject.wire)) && (!chosenReasons.size || chosenReasons.has(`${reject.wire} ${reject.reason}`)) &&
    (!view.wanted || rejectText(reject).includes(view.wanted)));
  const list = el("div", {});
  if (found.length) paged(list, found, REJECTS, "Rejects", (part, place) => place.append(...part.map((reject, row) => rejectBlock(reject, row === 0))));
  else list.append(empty("No reject in this page matches these filters."));
  const notes = rejects.length < allRejects ? [note(`This page has ${count(rejects.length)} of ${plural(allRejects, "reject")}: the first of each wire and reason.`)] : [];
  if (filter.kind !== null || filter.sender !== null || filter.receiver !== null || filter.conversation || byTime()) {
    notes.push(note("Rejects have no kind, sender, receiver, conversation or time, so those filters do not affect this list."));
  }
  holder.replaceChildren(reasons, list, ...notes);
}

const decoded = (hex) => Uint8Array.from(hex.match(/../g) || [], (pair) => parseInt(pair, 16));
function rejectText(reject) {
  reject.hay ??= `${reject.text}\n${reject.reason}\n${reject.file ?? ""}`.toLowerCase();
  return reject.hay;
}

function rejectBlock(reject, open) {
  const place = [reject.file === null ? null : [said(reject.file), ", "], `line ${count(reject.line)}, bytes ${count(reject.offset)}–${count(reject.offset + reject.length)}`];
  return el("details", { class: "reject", open, "aria-label": `Damage on line ${count(reject.line)}` }, el("summary", { class: "what" }, badge(reject.wire), el("span", { class: "reason" }, reject.reason), el("span", { class: "absent" }, ...place.flat().filter(Boolean)),
    el("span", { class: "absent" }, `reading failed at byte ${count(reject.fault)}`)), hexDump(reject));
}

function hexDump(reject) {
  const data = decoded(reject.raw), fault = reject.fault - reject.offset;
  const dump = el("pre", { class: "hex", tabindex: "0", role: "group", "aria-label": "Bytes in hexadecimal and as text" });
  const marked = (text, at) => (at === fault ? el("mark", {}, text) : text);
  for (let start = 0; start < data.length; start += 16) {
    const line = [...data.slice(start, start + 16)];
    dump.append(el("span", { class: "at" }, `${(reject.offset + start).toString(16).padStart(8, "0")}  `));
    line.forEach((byte, place) => dump.append(marked(byte.toString(16).padStart(2, "0"), start + place), place === 7 ? "  " : " "));
    dump.append(" ".repeat((16 - line.length) * 3 + (line.length < 8 ? 1 : 0) + 1));
    line.forEach((byte, place) => dump.append(marked(byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·", start + place)));
    dump.append("\n");
  }
  return el("div", {}, dump, el("p", { class: "place" }, el("code", {}, said(reject.text)), reject.length > data.length ? ` … ${plural(reject.length - data.length, "more byte")}` : ""));
}
