// How long answers took: a row for each kind of question, its histogram over a range that all rows share.
const answers = D.answers.map((row) => Object.fromEntries(D.answer_columns.map((name, column) => [name, row[column]])));
const PER_DOUBLING = 2; // bars of the histogram

function drawAnswers(holder) {
  const wires = new Set([...filter.wires].map(wireName));
  const found = answers.filter((one) => !wires.size || wires.has(one.wire));
  if (!found.length) return holder.replaceChildren(empty(answers.length ? "These wires ask nothing here." : "No record here asks for an answer."));
  const known = found.filter((one) => one.timed);
  const low = Math.floor(log2(Math.min(...known.map((one) => one.min)))), high = Math.ceil(log2(Math.max(...known.map((one) => one.max))) + 0.01);
  const number = (name) => ({ name, number: true });
  const heads = [{ name: "Wire" }, { name: "Question" }, number("Asked"), number("Answered"), number("Open"), number("Median (p50)"), number("p90"), number("p99"), number("Longest")];
  if (known.length) heads.push({ name: `${duration(2 ** low)} to ${duration(2 ** high)}` });
  const time = (value) => (value === null ? "–" : duration(value));
  const rows = found.map((one) => [badge(one.wire), one.asks.join(", "), count(one.requests), count(one.answered), count(one.waiting + one.given_up),
    time(one.p50), time(one.p90), time(one.p99), time(one.max), ...(known.length ? [shape(one, low, high)] : [])]);
  const made = table("", heads, rows);
  made.classList.add("answers");
  if (known.length) for (const row of made.tBodies[0].rows) row.lastElementChild.classList.add("shape");
  holder.replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of latencies" }, made), note(answerNotes(found)));
}

const log2 = (micros) => Math.log2(Math.max(micros, 1));

function shape(one, low, high) {
  const bars = Array.from({ length: Math.max(1, (high - low) * PER_DOUBLING) }, () => 0);
  for (const [most, number] of one.steps) bars[Math.min(bars.length - 1, Math.max(0, Math.ceil((log2(most) - low) * PER_DOUBLING) - 1))] += number;
  const top = Math.max(...bars, 1), width = 100 / bars.length;
  const drawing = svg("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img",
    "aria-label": one.timed ? `${plural(one.timed, "answer")} from ${duration(one.min)} to ${duration(one.max)}` : "no answer with a time" });
  drawing.append(svg("line", { x1: 0, x2: 100, y1: 39.5, y2: 39.5, "vector-effect": "non-scaling-stroke" }));
  bars.forEach((number, place) => {
    if (number) drawing.append(svg("rect", { x: place * width + width * 0.08, width: width * 0.84, y: 39 - (36 * number) / top, height: (36 * number) / top },
      svg("title", {}, `${duration(2 ** (low + place / PER_DOUBLING))} to ${duration(2 ** (low + (place + 1) / PER_DOUBLING))}: ${count(number)}`)));
  });
  return el("span", { class: `wire wire-${one.wire}` }, drawing);
}

function answerNotes(found) {
  const sum = (name) => found.reduce((total, one) => total + one[name], 0);
  const parts = ["p90: nine in ten answers took no longer. Percentiles are at most 9 % above the truth; the longest is exact."];
  const untimed = sum("answered") - sum("timed") - sum("backwards");
  if (untimed) parts.push(`${plural(untimed, "answer")} without a time on both sides ${untimed === 1 ? "tells" : "tell"} no latency.`);
  if (sum("backwards")) parts.push(`${plural(sum("backwards"), "answer")} ${sum("backwards") === 1 ? "is" : "are"} dated before the question.`);
  const told = [["orphans", "answer", "names a question that is not here", "name questions that are not here"], ["ahead", "answer", "stands before its question", "stand before their questions"],
    ["further", "answer", "is to a question that had been answered", "are to questions that had been answered"], ["progress", "answer", "only tells how the work goes", "only tell how the work goes"]];
  for (const [name, what, one, many] of told) if (sum(name)) parts.push(`${plural(sum(name), what)} ${sum(name) === 1 ? one : many}.`);
  if (sum("given_up")) parts.push(`${plural(sum("given_up"), "question")} waited too long to be remembered.`);
  if (byDetail() || byTime() || filter.kind !== null || filter.sender !== null || filter.receiver !== null) parts.push("Only the filter by wire touches this table: the figures are those of the whole log.");
  return parts.join(" ");
}
