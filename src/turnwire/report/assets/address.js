// The filters stand in the fragment of the page's address, so that a view can be kept and sent: #wire=nslip&from=planner.
// Names are written as they are; what is no name is "~none" or "~others", and a name that begins with "~" gets another.
const LISTS = { kind: D.kinds, sender: D.agents, receiver: D.agents };
const NAMES = { kind: "kind", sender: "from", receiver: "to", from: "after", to: "before" };
const nameOf = (code, names) => (code === ABSENT ? "~none" : code === OTHERS ? "~others" : names[code].replace(/^~/, "~~"));
function codeOf(text, names) {
  if (text === "~none" || text === "~others") return text === "~none" ? ABSENT : OTHERS;
  const place = names.indexOf(text.replace(/^~~/, "~"));
  return place < 0 ? null : place;
}

function fragment() {
  const parts = [...filter.wires].sort((a, b) => a - b).map((place) => ["wire", wireName(place)]);
  for (const [field, names] of Object.entries(LISTS)) if (filter[field] !== null) parts.push([NAMES[field], nameOf(filter[field], names)]);
  if (filter.from !== null) parts.push([NAMES.from, iso(bucketStart(filter.from))]);
  if (filter.to !== null) parts.push([NAMES.to, iso(bucketStart(filter.to + 1))]);
  for (const field of ["conversation", "text"]) if (filter[field] !== "") parts.push([field, filter[field]]);
  return new URLSearchParams(parts.map(([name, value]) => [name, value.toWellFormed?.() ?? value])).toString();
}

let told = "";
function remember() {
  const now = fragment();
  if (now === told) return;
  told = now;
  location.replace(`#${now}`); // no entry of the history for each letter that is typed
}

// Takes the filters from the address; whether they changed. What is not known in this log is left out.
function recall() {
  const given = location.hash.slice(1);
  if (given === told) return false;
  const found = new URLSearchParams(given);
  clear();
  for (const name of found.getAll("wire")) if (D.wires.includes(name)) filter.wires.add(D.wires.indexOf(name));
  for (const [field, names] of Object.entries(LISTS)) if (found.has(NAMES[field])) filter[field] = codeOf(found.get(NAMES[field]), names);
  for (const field of ["from", "to"]) {
    const micros = Date.parse(found.get(NAMES[field]) ?? "") * 1000;
    if (timed && !Number.isNaN(micros)) filter[field] = bucketAt(micros, field);
  }
  for (const field of ["conversation", "text"]) controls[field].value = filter[field] = found.get(field) ?? "";
  told = given;
  return true;
}
