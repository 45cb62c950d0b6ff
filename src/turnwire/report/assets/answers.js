// How long answers took: a row for each kind of request.
const answers = D.answers.map((row) => Object.fromEntries(D.answer_columns.map((name, column) => [name, row[column]])));

function drawAnswers(holder) {
  const wires = new Set([...filter.wires].map(wireName));
  const found = answers.filter((one) => !wires.size || wires.has(one.wire));
  const tools = D.tools.filter(([wire]) => !wires.size || wires.has(wire));
  if (!found.length) return holder.replaceChildren(empty(answers.length ? "No records of these wires ask for an answer." : "No records ask for an answer."));
  const number = (name) => ({ name, number: true });
  const heads = [{ name: "Wire" }, { name: "Request" }, number("Asked"), number("Answered"), number("Open"), number("Median (p50)"), number("p90"), number("p99"), number("Longest")];
  const time = (value) => (value === null ? "–" : duration(value));
  const rows = found.map((one) => [badge(one.wire), one.asks.join(", "), count(one.requests), count(one.answered), count(one.waiting + one.given_up),
    time(one.p50), time(one.p90), time(one.p99), time(one.max)]);
  holder.replaceChildren(scroller("Table of latencies", table("", heads, rows)), note(answerNotes(found)), ...toolTable(tools));
}

function toolTable(tools) {
  if (!tools.length) return [];
  const heads = [{ name: "Wire" }, { name: "Tool" }, ...["Calls", "Answered", "Failed"].map((name) => ({ name, number: true }))];
  const rows = tools.map(([wire, tool, ...numbers]) => [badge(wire), saidOr(tool, "(none)"), ...numbers.map(count)]);
  return [scroller("Table of tools", table("Tool calls in the whole log", heads, rows))];
}

function answerNotes(found) {
  const sum = (name) => found.reduce((total, one) => total + one[name], 0);
  const parts = ["90 % of answers took no longer than p90. Percentiles may be up to 9 % too high; the longest time is exact."];
  const untimed = sum("answered") - sum("timed") - sum("backwards");
  if (untimed) parts.push(`${plural(untimed, "answer")} ${untimed === 1 ? "has" : "have"} no latency, as the request or the answer has no time.`);
  if (sum("backwards")) parts.push(`${plural(sum("backwards"), "answer")} ${sum("backwards") === 1 ? "is" : "are"} dated before the request.`);
  const told = [["orphans", "answer", "names a request that is not in the log", "name requests that are not in the log"], ["ahead", "answer", "comes before its request", "come before their requests"],
    ["further", "answer", "replies to an answered request", "reply to answered requests"], ["progress", "answer", "only reports progress", "only report progress"]];
  for (const [name, what, one, many] of told) if (sum(name)) parts.push(`${plural(sum(name), what)} ${sum(name) === 1 ? one : many}.`);
  if (sum("given_up")) parts.push(`${plural(sum("given_up"), "request")} waited too long to be tracked.`);
  if (byDetail() || byTime() || filter.kind !== null || filter.sender !== null || filter.receiver !== null) parts.push("Of the filters, this table follows only the wire: its figures cover the whole log.");
  return parts.join(" ");
}
