// The page: asks the core, and shows its answer. `core.js` has the core as WebAssembly.
"use strict";

// The numbers of `Value` and of `Column` in tools/calculator/src/planned.rs.
const VALUES = ["bytes", "compacted", "bitsPerItem", "rate", "layerCount", "generations",
  "redisbloomBytes", "redisbloomLayers", "leastBytes", "classicBytes", "usedBytes"];
const COLUMNS = ["capacity", "items", "bytes", "bitsPerItem", "hashes", "rate"];

/** The layers that the table shows: a filter has at most 4,096. */
const MOST_ROWS = 64;

let core;

/** The answer of the core: a `refusal`, or the values and the layers of the plan. */
function answer(asked) {
  const size = [asked.items, asked.capacity, asked.error, asked.expansion];
  const lifetime = [asked.seconds, asked.generations, Number(asked.refreshes)];
  const count = asked.forgets === "none" ? core.plan(...size)
    : core.plan_forgetting(...size, ...lifetime);
  if (count < 0) return { refusal: count };
  const values = VALUES.map((name, number) => [name, core.value(number)]);
  const layers = Array.from({ length: count }, (_, index) =>
    Object.fromEntries(COLUMNS.map((name, column) => [name, core.layer(index, column)])));
  return { ...Object.fromEntries(values), layers };
}

function cell(name, content, row, isHeading) {
  const node = document.createElement(isHeading ? "th" : "td");
  if (isHeading) node.scope = "row";
  if (name !== "") node.className = name;
  node.append(content);
  row.append(node);
}

function showFacts(plan, asked) {
  const isCompacted = plan.compacted < plan.bytes;
  const hashes = [...new Set(plan.layers.map((layer) => layer.hashes))];
  const facts = [
    ["used", "used_memory", humanBytes(plan.usedBytes), "what maxmemory counts, with the key"],
    ...asked.forgets !== "none" ? [] : [["compacted", "After BF.COMPACT",
      isCompacted ? humanBytes(plan.compacted) : "no change", `${grouped(plan.compacted)} bytes`]],
    ["bits", "Bits per item", plan.bitsPerItem.toFixed(2)],
    ["rate", "Computed rate", rate(plan.rate), percent(Number(plan.rate.toPrecision(3)))],
    ["layer-count", "Layers", grouped(plan.layerCount)],
    ["generation-count", "Generations", grouped(plan.generations), asked.forgets === "none"
      ? "" : `the newest and ${plan.generations - 1} older`],
    ["hashes", "Hashes", hashes.length === 1 ? `${hashes[0]}`
      : `${Math.min(...hashes)} to ${Math.max(...hashes)}`, hashes.length === 1 ? "" : "by layer"],
  ];
  element("facts").replaceChildren(...facts.map(([id, name, value, note]) => {
    const group = document.createElement("div");
    const [term, data] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    data.id = id;
    data.textContent = value;
    group.append(term, data);
    if (note) {
      const small = document.createElement("dd");
      small.className = "note";
      small.textContent = note;
      group.append(small);
    }
    return group;
  }));
}

function showCompared(plan, asked) {
  const rows = [["Bloomline", plan.bytes, "ours"], ["RedisBloom", plan.redisbloomBytes, "other"],
    ["Classic Bloom filter, full", plan.classicBytes, "other"],
    ["Theoretical minimum", plan.leastBytes, "other"]];
  const largest = Math.max(...rows.map(([, bytes]) => bytes || 0));
  element("compared").tBodies[0].replaceChildren(...rows.map(([name, bytes, kind]) => {
    const row = document.createElement("tr");
    const isKnown = Number.isFinite(bytes);
    const label = document.createElement("span");
    label.textContent = name;
    const bar = document.createElement("span");
    bar.className = `bar ${kind}`;
    bar.style.width = `${isKnown ? bytes / largest * 100 : 0}%`;
    bar.setAttribute("aria-hidden", "true");
    const heading = document.createDocumentFragment();
    heading.append(label, bar);
    cell("", heading, row, true);
    cell("number", isKnown ? humanBytes(bytes) : "none", row);
    cell("number", isKnown ? (bytes * 8 / asked.items).toFixed(2) : "none", row);
    row.dataset.bytes = bytes;
    return row;
  }));
  const minimum = "The minimum is log₂(1/e) bits per item, a classic Bloom filter takes 1.44 times "
    + "as many.";
  const layers = plan.redisbloomLayers;
  element("compared-note").textContent = (asked.forgets !== "none"
    ? "RedisBloom has no windowed filters. "
    : Number.isFinite(layers)
      ? `RedisBloom has ${grouped(layers)} layer${layers === 1 ? "" : "s"} for the same request. `
      : "RedisBloom refuses this request: its largest capacity is 1,073,741,824. ") + minimum;
}

function showLayers(plan, asked) {
  const forgets = asked.forgets !== "none";
  element("layers-title").textContent = forgets
    ? `Layers of each of ${plan.generations} generations` : "Layers";
  const rows = plan.layers.slice(0, MOST_ROWS).map((layer, index) => {
    const row = document.createElement("tr");
    const name = !forgets ? `${index + 1}` : index === 0 ? "regular" : `overflow ${index}`;
    cell("", name, row, true);
    const texts = [grouped(layer.capacity), grouped(layer.items), grouped(layer.bytes),
      layer.bitsPerItem.toFixed(2), `${layer.hashes}`, rate(layer.rate)];
    for (const text of texts) cell("number", text, row);
    return row;
  });
  if (plan.layers.length > MOST_ROWS) {
    const row = document.createElement("tr");
    cell("", `and ${plan.layers.length - MOST_ROWS} more`, row, true);
    row.firstChild.colSpan = 7;
    rows.push(row);
  }
  element("layers").tBodies[0].replaceChildren(...rows);
}

function showChart(plan, asked) {
  let end = 0;
  const older = plan.generations === 1 ? 1 : plan.generations - 1;
  const ends = plan.layers.slice(0, -1).map((layer) => (end += layer.capacity) * older);
  const shown = ends.slice(-MOST_ROWS);
  const points = samples(asked.items, shown).map((items) => [items, core.rate_at(items)]);
  drawChart(element("chart"), points, asked.error, shown);
  const at = (part) => {
    const items = Math.ceil(asked.items * part);
    return `${rate(core.rate_at(items))} at ${grouped(items)}`;
  };
  element("chart-text").textContent = `The rate rises from 0 without items to ${at(0.5)} and `
    + `${at(1)} items. The target is ${rate(asked.error)}.`
    + (ends.length > 0 ? " Thin vertical lines show where a layer is full." : "");
}

function showHints(asked) {
  const known = (number, text) => (Number.isFinite(number) && number > 0 ? text() : "");
  const items = asked.forgets === "none" ? "that will be added" : "distinct, inside one window";
  element("items-label").textContent = asked.forgets === "last" ? "Last items to keep" : "Items";
  element("items-hint").textContent = known(asked.items, () => `${grouped(asked.items)} ${items}`);
  element("error-hint").textContent = asked.error > 0.25 ? "" : known(asked.error, () =>
    `${plain(asked.error)} = ${percent(asked.error)}: `
    + `at most 1 in ${grouped(Math.round(1 / asked.error))} absent items is reported as present`);
  element("capacity-hint").textContent = known(asked.capacity, () =>
    `${grouped(asked.capacity)} items. A filter that nobody reserves starts with 100.`);
  element("window-hint").textContent = known(asked.seconds, () =>
    `${grouped(asked.seconds)} s: found for ${duration(asked.seconds)}`
    + known(asked.generations, () =>
      `, expired after ${duration(asked.seconds * (1 + 1 / asked.generations))} at most`));
  element("generations-hint").textContent =
    "With more generations items expire more exactly. They cost more layers and time.";
}

function showFields(texts) {
  for (const node of document.querySelectorAll("[data-for]")) {
    const names = node.dataset.for.split(" ");
    const isGrowth = node.closest("fieldset").querySelector('[name="growth"]') !== null
      && node.tagName !== "FIELDSET";
    node.hidden = !names.includes(isGrowth ? texts.growth : texts.forgets);
  }
}

function showRefusal(number, asked) {
  const [field, text] = refusal(number, asked);
  element(`${field}-error`).textContent = text;
  element(field).setAttribute("aria-invalid", "true");
  element("bytes").textContent = "No plan";
  element("exact").textContent = "";
  element("summary").textContent = "An input is refused: its field says why.";
}

function update() {
  const texts = readTexts();
  const asked = request(texts);
  showFields(texts);
  showHints(asked);
  for (const field of TEXTS) {
    if (element(`${field}-error`).textContent !== "") element(`${field}-error`).textContent = "";
    element(field).removeAttribute("aria-invalid");
  }
  element("copied").textContent = "";
  const plan = answer(asked);
  const isRefused = plan.refusal !== undefined;
  document.body.classList.toggle("refused", isRefused);
  element("copy").disabled = isRefused;
  if (isRefused) {
    element("command").textContent = "";
    showRefusal(plan.refusal, asked);
    return;
  }
  element("bytes").textContent = humanBytes(plan.bytes);
  element("exact").textContent = `${grouped(plan.bytes)} bytes`;
  element("summary").textContent = asked.forgets === "none"
    ? `${grouped(asked.items)} items in ${grouped(plan.layerCount)} `
      + `layer${plan.layerCount === 1 ? "" : "s"}, at most ${percent(asked.error)} errors`
    : `${grouped(asked.items)} items inside one window, in ${plan.generations} generations, `
      + `at most ${percent(asked.error)} errors`;
  element("command").textContent = command(asked);
  showFacts(plan, asked);
  showCompared(plan, asked);
  showLayers(plan, asked);
  showChart(plan, asked);
  window.shown = { ...plan, command: command(asked) };
}

function edited() {
  const hash = toHash(readTexts());
  history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
  update();
}

function restore() {
  writeTexts(fromHash(location.hash));
  update();
}

async function copy() {
  const text = element("command").textContent;
  try {
    await navigator.clipboard.writeText(text);
    element("copied").textContent = "Copied.";
  } catch {
    // Without the permission the text is selected, so that the keys for copying take it.
    getSelection().selectAllChildren(element("command"));
    element("copied").textContent = "Selected: copy it with the keyboard or the menu.";
  }
}

async function start() {
  const bytes = Uint8Array.from(atob(CORE), (letter) => letter.charCodeAt(0));
  core = (await WebAssembly.instantiate(bytes)).instance.exports;
  element("inputs").addEventListener("input", edited);
  element("inputs").addEventListener("submit", (event) => event.preventDefault());
  element("copy").addEventListener("click", copy);
  addEventListener("hashchange", restore);
  addEventListener("resize", update);
  restore();
  document.body.classList.add("ready");
}

start();
