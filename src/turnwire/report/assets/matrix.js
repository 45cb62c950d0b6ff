// Who talks to whom: a table whose cells are as strong as what passes between two parties.
const SIDE = 16;

function drawMatrix(holder, view) {
  const pairs = [...grouped(view.cells, "sender", "receiver").values()];
  if (!pairs.length) return holder.replaceChildren(noRecord());
  const [senders, restOfSenders] = leading(view.cells, "sender");
  const [receivers, restOfReceivers] = leading(view.cells, "receiver");
  const between = new Map(), dense = receivers.length > 9;
  let unshown = 0;
  for (const pair of pairs) {
    if (senders.includes(pair.key[0]) && receivers.includes(pair.key[1])) between.set(pair.key.join(), pair.records);
    else unshown += pair.records;
  }
  const most = Math.max(...between.values(), 1);
  const head = el("thead", {}, el("tr", {}, el("td", { class: "corner" }, "from ↓ to →"),
    receivers.map((place) => el("th", { scope: "col", title: visible(agentName(place)) }, el("span", {}, said(agentName(place))))),
    el("th", { scope: "col", class: "last" }, el("span", {}, "all"))));
  const rows = senders.map((sender) => {
    const own = pairs.filter((pair) => pair.key[0] === sender).reduce((sum, pair) => sum + pair.records, 0);
    return el("tr", {}, el("th", { scope: "row", title: visible(agentName(sender)) }, said(agentName(sender))),
      receivers.map((receiver) => matrixCell(sender, receiver, between.get(`${sender},${receiver}`) || 0, most, dense ? 1000 : 10000)),
      el("td", { class: "sum" }, tight(own)));
  });
  const rest = restOfSenders + restOfReceivers;
  holder.replaceChildren(
    scroller("Table of senders and receivers", el("table", { class: dense ? "matrix dense" : "matrix" }, head, el("tbody", {}, rows))),
    ...(unshown ? [note(`Not shown: ${plural(unshown, "record")} in ${plural(rest, "row or column", "rows and columns")} with less traffic. Filter by From or To to see them.`)] : []),
    ...(D.folded_agents ? [note(`${othersName()}: agents beyond the ${count(D.agents.length)} busiest are counted together.`)] : []));
}

// The busiest parties of one side, and how many there are besides.
function leading(here, column) {
  const all = [...grouped(here, column).values()].sort(byRecords).map((group) => group.key[0]);
  const shown = all.slice(0, SIDE);
  return [[...shown.filter((place) => place >= 0), ...shown.filter((place) => place < 0)], all.length - shown.length];
}

function matrixCell(sender, receiver, records, most, roomy) {
  if (!records) return el("td", {});
  const strength = Math.log1p(records) / Math.log1p(most);
  const choose = () => {
    const chosen = filter.sender === sender && filter.receiver === receiver;
    filter.sender = chosen ? null : sender;
    filter.receiver = chosen ? null : receiver;
    update();
  };
  return el("td", { class: "filled", vars: { "--share": strength.toFixed(3) } }, el("button", {
    type: "button", onclick: choose, title: `${visible(agentName(sender))} → ${visible(agentName(receiver))}: ${count(records)}`,
    "aria-label": `${visible(agentName(sender))} to ${visible(agentName(receiver))}: ${plural(records, "record")}`,
  }, tight(records, roomy)));
}
