// Numbers as text, and text as numbers. No size or rate is computed here.
"use strict";

const NARROW = "\u202f";

/** A whole number with its digits in groups of three. */
function grouped(number) {
  return plain(number).replace(/\B(?=(\d{3})+$)/g, NARROW);
}

/** A number above 0 without an exponent, with the digits that identify it. */
function plain(number) {
  const [digits, exponent] = String(number).split("e");
  if (exponent === undefined) return digits;
  const [whole, fraction = ""] = digits.split(".");
  const point = whole.length + Number(exponent);
  const all = whole + fraction;
  if (point <= 0) return "0." + "0".repeat(-point) + all;
  const rest = all.slice(point);
  return all.slice(0, point).padEnd(point, "0") + (rest === "" ? "" : `.${rest}`);
}

/** Bytes with a decimal unit, to three digits, as `make plan` writes them. */
function humanBytes(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
  let index = 0;
  let size = bytes;
  while (size >= 999.5 && index + 1 < units.length) {
    size /= 1000;
    index += 1;
  }
  return `${index === 0 ? size : size.toPrecision(3)} ${units[index]}`;
}

/** A rate to three digits, as a fraction. */
function rate(number) {
  if (number === 0) return "0";
  return number < 1e-4 ? power(number) : plain(Number(number.toPrecision(3)));
}

/** A small number as digits and a power of ten: 1.23 × 10⁻⁷. */
function power(number) {
  const [digits, exponent] = number.toExponential(2).split("e");
  const raised = [...exponent.replace("-", "")].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  return `${digits} × 10⁻${raised.join("")}`;
}

/** A rate as a percentage. */
function percent(number) {
  return `${plain(Number((number * 100).toPrecision(6)))} %`;
}

/** A whole number that people write as 1e6, 1,000,000, 1 000 000, 1_000_000 or 1M; else NaN. */
function count(text) {
  const match = /^([\d.]+(?:e\+?\d+)?)([kMGT]?)$/.exec(text.replace(/[\s,_]/g, ""));
  if (match === null) return NaN;
  const factor = { "": 0, k: 3, M: 6, G: 9, T: 12 }[match[2]];
  // The exponent is raised as text: 0.3 * 1000 would not be exactly 300.
  const [digits, exponent = "0"] = match[1].split("e");
  return Number(`${digits}e${Number(exponent) + factor}`);
}

/** A rate that people write as 0.01, 1e-2 or 1 %; else NaN. */
function fraction(text) {
  const match = /^([\d.]+(?:e[+-]?\d+)?)(%?)$/.exec(text.replace(/\s/g, "").toLowerCase());
  if (match === null) return NaN;
  const [digits, exponent = "0"] = match[1].split("e");
  return Number(`${digits}e${Number(exponent) - (match[2] === "" ? 0 : 2)}`);
}

/** Seconds in the largest units: 604800 is 7 days. */
function duration(seconds) {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const [name, length] = units.find(([, length]) => seconds >= length) ?? units[3];
  const number = Number((seconds / length).toPrecision(4));
  return `${plain(number)} ${name}${number === 1 ? "" : "s"}`;
}
