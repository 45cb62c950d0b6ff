// The damaged ranges with their bytes.
const REJECTS = 10;
const chosenReasons = new Set();

function drawRejects(holder, view) {
  if (!allRejects) return holder.replaceChildren(empty("Nothing is damaged: everything that begins like a record is valid."));
  const wires = new Set([...filter.wires].map(wireName));
  const counts = D.reject_counts.filter(([wire]) => !wires.size || wires.has(wire));
  const reasons = el("div", { class: "chips reasons", role: "group", "aria-label": "Reasons" }, counts.map(([wire, reason, number]) => {
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
