// Numbers, times and strangers' text on their way to a reader.
const LOCALE = "en";
const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat(LOCALE, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const tenth = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const count = (value) => whole.format(value);
const compact = (value) => (value < 1e6 ? whole.format(value) : short.format(value));
const tight = (value, roomy = 10000) => (value < roomy ? whole.format(value) : short.format(value)); // for a cell of the matrix
const share = (part, all) => (all ? percent.format(part / all) : "–");
const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
const decimal = (value) => tenth.format(value); // one digit always, so that columns stand even

// The numbers of an axis in one notation: "0", "500K", "1,000K", with as many digits as the finest needs.
function axisNumbers(values) {
  const top = Math.max(...values);
  const [unit, name] = top < 10000 ? [1, ""] : top < 1e7 ? [1e3, "K"] : top < 1e10 ? [1e6, "M"] : [1e9, "B"];
  const digits = values.every((value) => (value / unit) % 1 === 0) ? 0 : 1;
  return values.map((value) => (value ? `${(value / unit).toLocaleString(LOCALE, { minimumFractionDigits: digits, maximumFractionDigits: digits })}${name}` : "0"));
}

function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) {
    value /= 1000;
    place += 1;
  }
  return `${place ? decimal(value) : whole.format(value)} ${units[place]}`;
}

// Microseconds as people say them: "842 ms", "4 min 10 s", "2 d 3 h".
function duration(micros) {
  if (micros < 1000) return `${whole.format(micros)} µs`;
  if (micros < 1e6) return `${micros < 10000 ? decimal(micros / 1000) : whole.format(micros / 1000)} ms`;
  if (micros < 60e6) return `${decimal(micros / 1e6)} s`;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  let left = Math.round(micros / 1e6);
  const parts = [];
  for (const [name, size] of units) {
    const amount = Math.floor(left / size);
    left -= amount * size;
    if (amount) parts.push(`${whole.format(amount)} ${name}`);
    else if (parts.length) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

// Times are UTC everywhere; a JavaScript date ends 8.64e15 ms from 1970, timestamps of a log may not.
function iso(micros) {
  const date = new Date(micros / 1000);
  return Number.isNaN(date.getTime()) ? `${count(micros)} µs` : date.toISOString();
}
const day = (micros) => iso(micros).slice(0, 10);
function clock(micros, width) {
  const text = iso(micros);
  return width < 1e6 ? text.slice(11, 23) : width < 60e6 ? text.slice(11, 19) : text.slice(11, 16);
}
function moment(micros) {
  const text = iso(micros);
  return text.endsWith("Z") ? `${text.slice(0, 10)} ${text.slice(11, 23).replace(/\.000$/, "")}` : text;
}

// Controls, invisible and bidirectional characters, separators and lone surrogates: shown as escapes, so that no text
// can hide, reorder or imitate what stands around it.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;
function escapeOf(character) {
  const code = character.codePointAt(0);
  const known = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
  if (known) return known;
  const digits = code.toString(16);
  return code < 256 ? `\\x${digits.padStart(2, "0")}` : code < 65536 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
const visible = (text) => text.replace(UNSEEN, escapeOf);
// East Asian characters and pictures are as wide as two letters; accents take no room.
const DOUBLE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;
const letters = (character) => (/\p{M}/u.test(character) ? 0 : DOUBLE.test(character) ? 2 : 1);
const room = (characters) => characters.reduce((sum, character) => sum + letters(character), 0);
// The text within so many letters: without its end, or, of names, which differ at their end, without its middle.
function cut(text, most, inside = false) {
  const all = Array.from(inside ? text : text.slice(0, 4 * most));
  if (text.length <= most / 2 || (room(all) <= most && all.join("") === text)) return text;
  let first = inside ? Math.ceil(all.length / 2) : all.length, last = first; // what is between them goes
  while (room(all.slice(0, first)) + room(all.slice(last)) > most - 1) {
    if (inside && all.length - last >= first) last += 1;
    else first -= 1;
  }
  return isolated(`${all.slice(0, first).join("")}…${all.slice(last).join("").replace(/^\p{M}+/u, "")}`);
}
// In a drawing: text that is written from right to left has its ellipsis where it ends.
const isolated = (text) => (/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text);
