// The data of the page, what is filtered, and the sums that the charts show.
const D = JSON.parse(document.getElementById("data").textContent);
const ABSENT = -1, OTHERS = -2;
const NO_TIME = -1, EARLIER = -2, LATER = -3;
const CELL = ["bucket", "wire", "kind", "sender", "receiver", "records", "bytes", "tokens"];

const cells = Array.from(D.cells[0], (_, row) => Object.fromEntries(CELL.map((name, column) => [name, D.cells[column][row]])));
const conversations = D.conversations.map(([wire, id, total], place) => ({ place, wire, id, total, messages: [] }));
const places = (names) => new Map(names.map((name, place) => [name, place]));
const kindPlaces = places(D.kinds), agentPlaces = places(D.agents);
const code = (known, name) => (name === null ? ABSENT : known.has(name) ? known.get(name) : OTHERS);

function bucketOf(time) {
  if (time === null) return NO_TIME;
  const place = Math.floor((time - D.time.start) / D.time.width);
  return place < 0 ? EARLIER : place >= D.time.buckets ? LATER : place;
}

const messages = D.messages.map((row, place) => {
  const message = Object.fromEntries(D.message_columns.map((name, column) => [name, row[column]]));
  message.place = place;
  message.talk = conversations[message.conversation];
  message.file = message.file < 0 ? null : D.files[message.file];
  message.talk.messages.push(message);
  message.cell = {
    bucket: bucketOf(message.time), wire: message.talk.wire, kind: code(kindPlaces, message.kind),
    sender: code(agentPlaces, message.sender), receiver: code(agentPlaces, message.receiver),
    records: 1, bytes: message.length, tokens: message.tokens || 0,
  };
  return message;
});
const rejects = D.rejects.map((row) => Object.fromEntries(D.reject_columns.map((name, column) => [name, row[column]])));

const measured = D.totals.tokenizer !== null;
const allRejects = D.reject_counts.reduce((sum, [, , number]) => sum + number, 0);
const timed = D.time.buckets > 0;
const complete = messages.length === D.totals.records;
const wireName = (place) => D.wires[place];
const kindName = (place) => (place === ABSENT ? "(none)" : place === OTHERS ? "(other kinds)" : D.kinds[place]);
const agentName = (place) => (place === ABSENT ? "(none)" : place === OTHERS ? othersName() : D.agents[place]);
const othersName = () => `(${D.more_agents ? "more than " : ""}${plural(D.folded_agents, "other agent")})`;
const bucketStart = (bucket) => D.time.start + bucket * D.time.width;

const filter = { wires: new Set(), kind: null, sender: null, receiver: null, conversation: "", text: "", from: null, to: null };
const byDetail = () => filter.conversation !== "" || filter.text !== "";
const byTime = () => filter.from !== null || filter.to !== null;
const byCell = () => filter.wires.size > 0 || filter.kind !== null || filter.sender !== null || filter.receiver !== null || byTime();

function passes(cell) {
  if (filter.wires.size && !filter.wires.has(cell.wire)) return false;
  if (filter.kind !== null && cell.kind !== filter.kind) return false;
  if (filter.sender !== null && cell.sender !== filter.sender) return false;
  if (filter.receiver !== null && cell.receiver !== filter.receiver) return false;
  if (!byTime()) return true;
  return cell.bucket >= (filter.from ?? 0) && cell.bucket <= (filter.to ?? D.time.buckets - 1);
}

function haystack(message) {
  message.hay ??= [message.raw, message.subject, message.kind, message.sender, message.receiver, message.talk.id,
    ...message.fields.flat()].filter((part) => part !== null).join("\n").toLowerCase();
  return message.hay;
}

// What is shown now. ``cells`` are sums over all records, but where text or a conversation is looked for, over the
// messages that the page holds: nothing else is known of single records here.
function look() {
  const wanted = filter.text.toLowerCase();
  const is = (talk) => talk.id !== null && (talk.id === filter.conversation || visible(talk.id) === filter.conversation);
  const holds = (talk) => talk.id !== null && talk.id.toLowerCase().includes(filter.conversation.toLowerCase());
  const meant = conversations.some(is) ? is : holds;
  const named = (talk) => !filter.conversation || meant(talk);
  const found = messages.filter((message) => passes(message.cell) && named(message.talk) && (!wanted || haystack(message).includes(wanted)));
  const held = byDetail();
  const here = held ? found.map((message) => message.cell) : cells.filter(passes);
  return { cells: here, messages: found, held, wanted, ...sums(here) };
}

function sums(here) {
  const total = { records: 0, bytes: 0, tokens: 0 };
  for (const cell of here) for (const name of ["records", "bytes", "tokens"]) total[name] += cell[name];
  return total;
}

// Sums by one or more columns: Map from "a" or "a,b" to {key: [a, b], records, bytes, tokens}.
function grouped(here, ...columns) {
  const groups = new Map();
  for (const cell of here) {
    const key = columns.map((name) => cell[name]);
    const name = key.join();
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { key, records: 0, bytes: 0, tokens: 0 }));
    for (const sum of ["records", "bytes", "tokens"]) group[sum] += cell[sum];
  }
  return groups;
}
const byRecords = (a, b) => b.records - a.records || (a.key < b.key ? -1 : 1);
