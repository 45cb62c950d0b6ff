// Puts the page together and draws it again when a filter changes.
const wireList = D.wires.length ? ` of ${D.wires.join(", ")}` : "";
const began = timed ? moment(D.time.first) : "", ended = timed ? moment(D.time.last) : "";
document.getElementById("lede").replaceChildren(
  `${plural(D.totals.records, "record")}${wireList} in ${bytes(D.totals.bytes.all)}`,
  ...(timed ? [`, ${began === ended ? began : `${began} to ${ended}`} UTC`] : []));

const tiles = el("dl", { class: "tiles", id: "tiles", "aria-label": "In short" });
document.getElementById("main").append(tiles);
const parts = [
  [card("volume", "Volume over time", timed ? "Records in each stretch of time, by wire. Times are UTC." : "Records in each stretch of time, by wire."), drawVolume],
  [card("rejects", "Rejects", "Ranges that begin like a record and are damaged: nothing of a log is dropped without a word."), drawRejects],
  [card("parties", "Who talks to whom", "Records from each sender (row) to each receiver (column). Choose a cell to see only those two.", "wider"), drawMatrix],
  [card("kinds", "Acts and kinds", "What the records of each wire are.", "narrower"), drawKinds],
  [card("tokens", "Token budget", "What the records of each wire cost a language model to read."), drawTokens],
  [card("answers", "Latencies", "From each question to its answer, as the rules of each wire pair them."), drawAnswers],
  [card("talks", "Conversations", "Choose a conversation, then a message to see its decoded fields and its text as written."), drawConversations],
  [card("messages", "Messages", "One by one, in the order of the log."), drawMessages],
];

function draw() {
  const view = look();
  showFilters(view);
  drawTiles(tiles, view);
  for (const [{ body }, show] of parts) show(body, view);
}

function drawFoot() {
  const lines = ["Times are UTC. Kinds, parties and conversations are those that the records name; a place is a line and a byte of the file."];
  lines.push(`Of ${bytes(D.totals.bytes.all)} read, ${bytes(D.totals.bytes.records)} are records, ${bytes(D.totals.bytes.rejects)} rejects and ${bytes(D.totals.bytes.text)} other text.`);
  document.getElementById("foot").append(`Made by turnwire ${D.version}, ${D.made}. This page is complete in itself and loads nothing.`, el("ul", {}, lines.map((line) => el("li", {}, line))));
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
    document.getElementById(link.dataset.part).scrollIntoView();
  });
}
let drawnWidth = document.body.clientWidth;
addEventListener("resize", () => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  draw();
});

// What is sticky below the bar of filters begins where the bar ends. On paper all that is closed is open.
const filterBar = document.getElementById("filter-fold");
new ResizeObserver(() => document.documentElement.style.setProperty("--bar", getComputedStyle(filterBar).position === "sticky" ? `${filterBar.offsetHeight}px` : "0px")).observe(filterBar);
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details.reject")) one.open = true; });
