// Puts the page together and draws it again when a filter changes.
const wireList = D.wires.length ? ` of ${D.wires.join(", ")}` : "";
const began = timed ? moment(D.time.first) : "", ended = timed ? moment(D.time.last) : "";
document.getElementById("lede").replaceChildren(
  `${plural(D.totals.records, "record")}${wireList} in ${bytes(D.totals.bytes)}`,
  ...(timed ? [`, ${began === ended ? began : `${began} to ${ended}`} UTC`] : []));

const tiles = el("dl", { class: "tiles", id: "tiles", "aria-label": "Key figures" });
document.getElementById("main").append(tiles);
const parts = [
  [card("volume", "Volume over time", `Records per time interval, by wire.${timed ? " Times are UTC." : ""}`), drawVolume],
  [card("rejects", "Rejects", "Text that begins like a record but cannot be read as one. Nothing in the log is dropped silently."), drawRejects],
  [card("parties", "Who talks to whom", "Records from each sender (row) to each receiver (column). Choose a cell to see only that pair.", "wider"), drawMatrix],
  [card("kinds", "Acts and kinds", "How many records of each kind, by wire.", "narrower"), drawKinds],
  [card("tokens", "Token budget", "Tokens that a language model reads for the records of each wire."), drawTokens],
  [card("answers", "Latencies", "Time from each request to its answer, paired by the rules of its wire."), drawAnswers],
  [card("talks", "Conversations", "Choose a conversation, then a message to see its decoded fields and its text as written."), drawConversations],
];

function draw() {
  const view = look();
  showFilters(view);
  drawTiles(tiles, view);
  for (const [{ body }, show] of parts) show(body, view);
}

function drawFoot() {
  const lines = ["Times are UTC. Kinds, agents and conversations have the names used in the records. Positions are lines and byte offsets in the file."];
  lines.push(`Of ${bytes(D.totals.bytes)} read, ${bytes(D.totals.record_bytes)} are records, ${bytes(D.totals.reject_bytes)} rejects and ${bytes(D.totals.text_bytes)} other text.`);
  document.getElementById("foot").append(`Made by turnwire ${D.version}, ${D.made}. This page is self-contained and loads nothing.`, el("ul", {}, lines.map((line) => el("li", {}, line))));
}

buildFilters();
drawFoot();
update = () => { draw(); remember(); };
recall();
draw();
addEventListener("hashchange", () => { if (recall()) draw(); });
for (const link of document.querySelectorAll("#findings a")) {
  link.addEventListener("click", (event) => { // the filter of the sentence, then the part that shows it
    event.preventDefault();
    const given = link.hash.slice(1);
    if (given !== link.dataset.part) {
      location.hash = given;
      if (recall()) draw();
    }
    placeBar(); // the filter may just have opened
    document.getElementById(link.dataset.part).scrollIntoView();
  });
}
let drawnWidth = document.body.clientWidth;
addEventListener("resize", () => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  draw();
});

// What is sticky below the bar of filters begins where the bar ends.
const filterBar = document.getElementById("filter-fold");
function placeBar() {
  document.documentElement.style.setProperty("--bar", getComputedStyle(filterBar).position === "sticky" ? `${filterBar.offsetHeight}px` : "0px");
}
new ResizeObserver(placeBar).observe(filterBar);
