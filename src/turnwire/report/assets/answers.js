// How long answers took: a row for each kind of question.
const answers = D.answers.map((row) => Object.fromEntries(D.answer_columns.map((name, column) => [name, row[column]])));

function drawAnswers(holder) {
  const wires = new Set([...filter.wires].map(wireName));
  const found = answers.filter((one) => !wires.size || wires.has(one.wire));
  const tools = D.tools.filter(([wire]) => !wires.size || wires.has(wire));
  if (!found.length) return holder.replaceChildren(empty(answers.length ? "These wires ask nothing here." : "No record here asks for an answer."));
  const number = (name) => ({ name, number: true });
  const heads = [{ name: "Wire" }, { name: "Question" }, number("Asked"), number("Answered"), number("Open"), number("Median (p50)"), number("p90"), number("p99"), number("Longest")];
  const time = (value) => (value === null ? "–" : duration(value));
  const rows = found.map((one) => [badge(one.wire), one.asks.join(", "), count(one.requests), count(one.answered), count(one.waiting + one.given_up),
    time(one.p50), time(one.p90), time(one.p99), time(one.max)]);
  holder.replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of latencies" }, table("", heads, rows)), note(answerNotes(found)), ...toolTable(tools));
}

function toolTable(tools) {
  if (!tools.length) return [];
  const heads = [{ name: "Wire" }, { name: "Tool" }, ...["Calls", "Answered", "Failed"].map((name) => ({ name, number: true }))];
  const rows = tools.map(([wire, tool, ...numbers]) => [badge(wire), saidOr(tool, "(none)"), ...numbers.map(count)]);
  return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of tools" }, table("Calls of tools, in the whole log", heads, rows))];
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
