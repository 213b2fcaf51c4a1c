// What is asked: read from the form, kept in the address, written as a command.
"use strict";

const TEXTS = ["items", "error", "window", "generations", "capacity", "expansion"];
const DEFAULTS = {
  items: "1000000", error: "0.01", window: "1", unit: "86400", generations: "8",
  capacity: "100", expansion: "2", forgets: "none", growth: "reserved", refresh: "yes",
};

// Of the core, for the texts of refusals.
const MOST_SECONDS = 9007199254740;
const MOST_ITEMS = "1 to 1,000,000,000,000,000,000 (10¹⁸)";
const MOST_CAPACITY = "1 to 1,099,511,627,776 (2⁴⁰)";

const element = (id) => document.getElementById(id);
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`).value;

/** The inputs as texts. */
function readTexts() {
  const texts = Object.fromEntries([...TEXTS, "unit"].map((id) => [id, element(id).value]));
  const refresh = element("refresh").checked ? "yes" : "no";
  return { ...texts, refresh, forgets: chosen("window"), growth: chosen("growth") };
}

/** The texts into the form. Unknown choices are left out. */
function writeTexts(texts) {
  for (const id of [...TEXTS, "unit"]) {
    element(id).value = texts[id];
    if (element(id).value === "" && id === "unit") element(id).value = DEFAULTS.unit;
  }
  element("refresh").checked = texts.refresh !== "no";
  for (const [name, value] of [["window", texts.forgets], ["growth", texts.growth]]) {
    for (const radio of document.querySelectorAll(`input[name="${name}"]`)) {
      if (radio.value === value) radio.checked = true;
    }
  }
}

/** The texts that differ from the defaults, for the address. */
function toHash(texts) {
  const changed = Object.entries(texts).filter(([name, value]) => value !== DEFAULTS[name]);
  return String(new URLSearchParams(changed));
}

function fromHash(hash) {
  const texts = { ...DEFAULTS };
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (Object.hasOwn(DEFAULTS, name)) texts[name] = value;
  }
  return texts;
}

/** The numbers of a request. A text that is no number is NaN, which the core refuses. */
function request(texts) {
  const { forgets } = texts;
  const growth = forgets === "last" ? "reserved" : texts.growth;
  const items = count(texts.items);
  const seconds = { none: -1, time: seconds_of(texts), last: 0, hand: -1 }[forgets];
  return {
    forgets,
    growth,
    items,
    error: fraction(texts.error),
    capacity: growth === "grown" ? count(texts.capacity) : items,
    expansion: growth === "fixed" ? 0 : forgets === "last" ? 2 : growing(texts.expansion),
    seconds,
    generations: count(texts.generations),
    refreshes: texts.refresh !== "no",
  };
}

/** 0 seconds would mean LAST, and 0 as expansion NONSCALING: both have their own choice here. */
const growing = (text) => count(text) || NaN;
const seconds_of = (texts) => count(texts.window) * Number(texts.unit) || NaN;

/** The command that creates the filter, with the words that `make plan` writes. */
function command(asked) {
  const words = ["BF.RESERVE", "key", plain(asked.error), plain(asked.capacity)];
  if (asked.expansion === 0) words.push("NONSCALING");
  else if (asked.expansion !== 2) words.push("EXPANSION", plain(asked.expansion));
  if (asked.forgets === "time") words.push("WINDOW", plain(asked.seconds));
  if (asked.forgets === "last") words.push("LAST");
  if (asked.forgets !== "none") {
    words.push("GENERATIONS", plain(asked.generations));
  }
  if (asked.forgets !== "none" && !asked.refreshes) words.push("NOREFRESH");
  return words.join(" ");
}

/** Where a refusal of the core belongs, and what it says there; by its number. */
function refusal(number, asked) {
  const capacityField = asked.growth === "grown" ? "capacity" : "items";
  // The core names the capacity if it is valid and smaller than the number of generations.
  const isBelowGenerations = asked.forgets !== "none" && asked.capacity >= 1
    && asked.capacity < asked.generations;
  if (number === -2 && isBelowGenerations) return refusal(-6, asked);
  switch (number) {
    case -1: return ["items", `Give a whole number from ${MOST_ITEMS}, such as 1e6.`];
    case -2: return [capacityField, `The capacity is a whole number from ${MOST_CAPACITY}.`];
    case -3: return ["error", "Give a rate above 0 and up to 0.25 (25 %), such as 0.01 or 1 %. "
      + "The module replaces a higher one by 0.25."];
    case -4: return ["expansion", "Give a whole number from 1 to 32,768."];
    case -5: return ["window", `Give a whole number of seconds from 1 to ${MOST_SECONDS}.`];
    case -6: return ["generations",
      "Give a whole number from 2 to 64 that is not larger than the capacity."];
    case -7: return ["error", "The rate is too small for this layout: a layer would need one "
      + "below 1e-15, or below capacity / 2⁶⁴. Give a higher rate, or a capacity near the number "
      + "of items."];
    case -8: return [asked.growth === "grown" ? "capacity" : "expansion",
      "The filter would need too many layers. Give a larger capacity or expansion."];
    case -9: return ["items", "The filter does not grow, and has less capacity than items."];
    default: return ["items", "The core refuses these values."];
  }
}
