// Compares the calculator's wasm32 build with what it answers on this machine.
//
//   calculator.mjs FILE.wasm < the output of the example `numbers`
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/// Bytes that a page may have to fetch.
const LARGEST = 60_000;

const file = readFileSync(process.argv[2]);
assert.ok(file.length < LARGEST, `${file.length} bytes`);
const { instance } = await WebAssembly.instantiate(file, {});
const { memory, result, ...functions } = instance.exports;
const lines = readFileSync(0, 'utf8').trim().split('\n');
assert.ok(lines.length > 100);
let answered = 0;
for (const line of lines) {
  const [name, given, expected] = JSON.parse(line);
  const written = functions[name](...given);
  const numbers = written < 0 ? [] : [...new Float64Array(memory.buffer, result(), written)];
  assert.deepEqual(numbers, expected, line);
  answered += written > 0;
}
assert.ok(answered > 60, `only ${answered} filters are possible`);
for (const bad of [NaN, Infinity, -Infinity, -0.5, 2 ** 60]) {
  assert.equal(functions.plan(bad, 0.01, 2, 10), -1);
  assert.equal(functions.plan(100, 0.01, bad, 10), -1);
  assert.equal(functions.plan_window(100, 0.01, 2, 60, bad, 1, 10), -1);
}
assert.equal(functions.plan(100, NaN, 2, 10), -1);
console.log(`${lines.length} calls agree, ${file.length} bytes`);
