// Tiles, volume over time, kinds and tokens.
const noRecord = () => empty(D.totals.records ? "No records match these filters." : "There are no records.");

function drawTiles(holder, view) {
  const agents = new Set(view.cells.flatMap((cell) => [cell.sender, cell.receiver]).filter((place) => place >= 0)).size;
  const talks = new Set(view.messages.map((message) => message.conversation));
  const filtered = byCell() || byDetail();
  const tile = (id, label, figure, of) => el("div", { class: "tile", id: `tile-${id}` }, el("dt", {}, label),
    el("dd", {}, el("span", { class: "figure" }, figure), el("span", { class: "of" }, of)));
  const tiles = [
    tile("records", filtered ? "Records found" : "Records", compact(view.records), filtered ? `${share(view.records, D.totals.records)} of ${count(D.totals.records)}` : bytes(D.totals.record_bytes)),
    tile("conversations", "Conversations", filtered ? compact(talks.size) : `${compact(D.total_conversations)}${D.more_conversations ? "+" : ""}`,
      filtered ? `of ${count(conversations.length)} in this page` : `${count(conversations.length)} in this page`),
    tile("agents", "Agents", filtered ? `${D.folded_agents ? "≥ " : ""}${compact(agents)}` : `${compact(D.totals.agents)}${D.more_agents ? "+" : ""}`, "senders and receivers"),
    tile("rejects", "Rejects", compact(allRejects), allRejects ? bytes(D.totals.reject_bytes) : "nothing was damaged"),
    tile("bytes", "Bytes of records", bytes(view.bytes), view.records ? `${decimal(view.bytes / view.records)} B each` : "–"),
    tile("tokens", "Tokens", measured ? compact(view.tokens) : "–", measured ? (view.records ? `${decimal(view.tokens / view.records)} each` : "–") : "not measured"),
  ];
  holder.replaceChildren(...tiles);
}

// A round number not below ``value``, and steps to it.
function steps(value) {
  const rough = Math.max(value, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough && (size >= 1 ? size % 1 === 0 : true)) || 10 * power);
  return Array.from({ length: Math.ceil(value / step - 1e-9) + 1 }, (_, place) => place * step);
}

const TOP = 12, BOTTOM = 42, LEFT = 56, RIGHT = 8, WIDEST_BAR = 96;

function drawVolume(holder, view) {
  if (!timed) {
    holder.replaceChildren(empty("The records have no times, so there is nothing to chart."));
    return;
  }
  const found = grouped(view.cells, "bucket", "wire");
  const totals = grouped(view.cells, "bucket");
  const columns = Array.from({ length: D.time.buckets }, (_, bucket) => totals.get(String(bucket))?.records || 0);
  const width = Math.max(280, holder.clientWidth || 900), height = 242;
  const inner = width - LEFT - RIGHT, tall = height - TOP - BOTTOM;
  const ticks = steps(Math.max(...columns, 1)), top = ticks[ticks.length - 1];
  const x = (bucket) => LEFT + (bucket / D.time.buckets) * inner;
  const y = (value) => TOP + tall * (1 - value / top);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, height, role: "img",
    "aria-label": `Records over time from ${moment(D.time.first)} to ${moment(D.time.last)} UTC, in bars of ${duration(D.time.width)}; the highest has ${count(Math.max(...columns, 0))}` });
  const numbers = axisNumbers(ticks);
  ticks.forEach((tick, place) => {
    chart.append(svg("line", { class: tick ? "grid" : "base", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      svg("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, numbers[place]));
  });
  timeLabels(chart, inner, TOP + tall, height);
  const gap = inner / D.time.buckets > 5 ? 1 : 0, thick = Math.min(WIDEST_BAR, inner / D.time.buckets - gap);
  const readout = el("p", { class: "readout" }, hint());
  for (let bucket = 0; bucket < D.time.buckets; bucket += 1) {
    let base = 0;
    const parts = [];
    D.wires.forEach((name, wire) => {
      const records = found.get(`${bucket},${wire}`)?.records || 0;
      if (!records) return;
      const box = { x: x(bucket) + gap / 2, width: Math.max(0.5, thick), y: y(base + records), height: y(base) - y(base + records) };
      chart.append(svg("rect", { class: `part wire wire-${name}`, ...box, "data-records": records, "data-bucket": bucket }));
      parts.push(`${name} ${count(records)}`);
      base += records;
    });
    const spoken = `${span(bucket)}: ${plural(base, "record")}${parts.length > 1 ? ` (${parts.join(", ")})` : ""}`;
    chart.append(svg("rect", { class: "hit", x: x(bucket), y: TOP, width: inner / D.time.buckets, height: tall,
      onpointerenter: () => readout.replaceChildren(spoken), onclick: () => chooseBar(bucket) }));
  }
  chart.addEventListener("pointerleave", () => readout.replaceChildren(hint()));
  if (byTime()) {
    const from = x(filter.from ?? 0), to = x((filter.to ?? D.time.buckets - 1) + 1);
    chart.append(svg("rect", { class: "range", x: from, width: to - from, y: TOP, height: tall }));
  }
  const rows = columns.map((records, bucket) => [span(bucket), count(records)]).filter((_, bucket) => columns[bucket]);
  const strays = [EARLIER, LATER, NO_TIME].map((bucket) => [bucket, totals.get(String(bucket))?.records || 0]).filter(([, records]) => records);
  const names = { [EARLIER]: "before the chart begins", [LATER]: "after the chart ends", [NO_TIME]: "without a time" };
  holder.replaceChildren(legend(view), chart, readout,
    ...(strays.length ? [note(`Not drawn: ${strays.map(([bucket, records]) => `${plural(records, "record")} ${names[bucket]}`).join(", ")}.${strays.some(([bucket]) => bucket !== NO_TIME) ? ` Times run from ${moment(D.time.first)} to ${moment(D.time.last)}.` : ""}`)] : []),
    el("details", { class: "data", "aria-label": "Records over time as a table" }, el("summary", {}, "Show as a table"),
      scroller("Records over time", table("", [{ name: "Time (UTC)" }, { name: "Records", number: true }], rows))));
}

const span = (bucket) => `${day(bucketStart(bucket))} ${clock(bucketStart(bucket), D.time.width)}–${clock(bucketStart(bucket + 1), D.time.width)}`;
const hint = () => `Each bar covers ${duration(D.time.width)}. Choose a bar to see only its records.`;

// The keyboard has the two time fields.
function chooseBar(bucket) {
  const chosen = filter.from === bucket && filter.to === bucket;
  filter.from = filter.to = chosen ? null : bucket;
  update();
}

function legend(view) {
  const wires = grouped(view.cells, "wire");
  return el("ul", { class: "legend" }, D.wires.map((name, wire) => [name, wires.get(String(wire))?.records || 0])
    .filter(([, records]) => records).map(([name, records]) => el("li", {}, badge(name), el("span", { class: "absent" }, count(records)))));
}

// Labels stand at every so many bars, counted from 1970, so that the times are round. Where they are those of a clock, the
// date stands below the first label and below each that begins a day.
const EVERY = [1, 2, 3, 4, 6, 12, 24, 30, 60, 120];
const DAY = 86400e6;

function timeLabels(chart, inner, foot, height) {
  const start = D.time.start, stop = bucketStart(D.time.buckets), most = Math.max(2, Math.min(10, Math.floor(inner / 90)));
  const step = D.time.width * (EVERY.find((bars) => D.time.buckets / bars <= most) || D.time.buckets), clocks = step < DAY;
  const label = (at) => (clocks ? clock(at, step) : day(at));
  let last = "";
  for (let at = Math.ceil(start / step) * step; at < stop; at += step) {
    const place = LEFT + ((at - start) / (stop - start)) * inner;
    const dated = clocks && day(at) !== last, half = 3.5 * (dated ? day(at) : label(at)).length; // of what stands below the tick
    const anchor = place + half > LEFT + inner + RIGHT ? "end" : "middle";
    chart.append(svg("line", { class: "base", x1: place, x2: place, y1: foot, y2: foot + 5 }), svg("text", { class: "tick", x: place, y: height - 22, "text-anchor": anchor }, label(at)));
    if (dated) chart.append(svg("text", { class: "date", x: place, y: height - 6, "text-anchor": anchor }, day(at)));
    last = day(at);
  }
}

const bar = (amount, most) => el("div", { class: "bar", "aria-hidden": "true" }, el("span", { vars: { width: `${(100 * amount) / Math.max(most, 1)}%` } }));

function drawKinds(holder, view) {
  const groups = [...grouped(view.cells, "wire", "kind").values()].sort(byRecords);
  if (!groups.length) return holder.replaceChildren(noRecord());
  const most = groups[0].records;
  const blocks = D.wires.map((name, wire) => [name, groups.filter((group) => group.key[0] === wire)]).filter(([, own]) => own.length);
  holder.replaceChildren(el("div", { class: "bars" }, blocks.map(([name, own]) => {
    const all = own.reduce((sum, group) => sum + group.records, 0);
    return el("div", { class: `wire wire-${name}`, role: "group", "aria-label": name }, el("h3", {}, badge(name), el("span", { class: "of" }, plural(all, "record"))),
      own.map((group) => el("div", { class: "bar-row" }, el("span", { class: "name" }, said(kindName(group.key[1]))), bar(group.records, most),
        el("span", { class: "value" }, count(group.records), " ", el("span", { class: "of" }, share(group.records, all))))));
  })));
}

function drawTokens(holder, view) {
  if (!measured) return holder.replaceChildren(empty(`Not measured: ${D.totals.why_no_tokens}.`));
  const groups = [...grouped(view.cells, "wire").values()].sort((a, b) => b.tokens - a.tokens);
  if (!groups.length) return holder.replaceChildren(noRecord());
  const heads = [{ name: "Wire" }, { name: "Tokens", number: true }, { name: "Share", number: true }, { name: "Per record", number: true }, { name: "Bytes per token", number: true }];
  holder.replaceChildren(
    el("div", { class: "bars budget" }, groups.map((group) => el("div", { class: `bar-row wire wire-${wireName(group.key[0])}` }, badge(wireName(group.key[0])),
      bar(group.tokens, groups[0].tokens), el("span", { class: "value" }, compact(group.tokens))))),
    scroller("Table of tokens", table(`Tokens of the records as written, counted by ${D.totals.tokenizer}`, heads, groups.map((group) => [badge(wireName(group.key[0])), count(group.tokens),
      share(group.tokens, view.tokens), decimal(group.tokens / group.records), decimal(group.bytes / Math.max(group.tokens, 1))]))));
}
