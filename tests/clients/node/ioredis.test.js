// The Bloom filter commands through ioredis, which has no methods for them, by its method `call`.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Redis } from 'ioredis';

import { DEADLINE, layout, socket } from './server.js';

const FIELDS = ['Capacity', 'Size', 'Number of filters', 'Number of items inserted', 'Expansion rate'];

// How the library maps replies: in RESP3 it returns booleans and maps only with an option.
const modes = [
  { name: 'RESP2', options: { protocol: 2 } },
  { name: 'RESP3, its default', options: {} },
  { name: 'RESP3 with the types of RESP3', options: { protocol: 3, replyMapping: 'resp3' }, typed: true },
];

for (const { name, options, typed } of modes) {
  describe(`ioredis in ${name}`, () => {
    const [yes, no] = typed ? [true, false] : [1, 0];
    let redis;

    before(() => {
      redis = new Redis({ path: socket, commandTimeout: DEADLINE, retryStrategy: null, ...options });
    });
    after(() => redis.disconnect());
    beforeEach(() => redis.flushall());

    it('answers every command in the types of its protocol', async () => {
      assert.equal(await redis.call('BF.RESERVE', 'bloom', 0.01, 1000), 'OK');
      assert.equal(await redis.call('BF.ADD', 'bloom', 'foo'), yes);
      assert.equal(await redis.call('BF.ADD', 'bloom', 'foo'), no);
      assert.deepEqual(await redis.call('BF.MADD', 'bloom', 'foo', 'bar'), [no, yes]);
      assert.deepEqual(await redis.call('BF.INSERT', 'new', 'CAPACITY', 10, 'ITEMS', 'a', 'a'), [yes, no]);
      assert.equal(await redis.call('BF.EXISTS', 'bloom', 'foo'), yes);
      assert.deepEqual(await redis.call('BF.MEXISTS', 'bloom', 'foo', 'absent'), [yes, no]);
      assert.equal(await redis.call('BF.CARD', 'bloom'), 2);
      assert.equal((await redis.call('BF.DEBUG', 'bloom'))[0], 'size:2');
    });

    it('reports the fields of a filter', async () => {
      await redis.call('BF.RESERVE', 'fixed', 0.01, 1000, 'NONSCALING');
      const info = await redis.call('BF.INFO', 'fixed');
      const pairs = typed ? Object.entries(info) : FIELDS.map((_, i) => [info[2 * i], info[2 * i + 1]]);
      assert.deepEqual(pairs.map(([field]) => field), FIELDS);
      const values = Object.fromEntries(pairs);
      assert.deepEqual([values.Capacity, values['Expansion rate']], [1000, null]);
      const one = await redis.call('BF.STATS', 'fixed', 'layout');
      assert.equal(typed ? one.layout : one.at(-1), layout);
    });

    it('copies a filter to another key in chunks of bytes', async () => {
      const items = Array.from({ length: 3000 }, (_, i) => `item:${i}`);
      await redis.call('BF.MADD', 'first', ...items);
      let iterator = 0;
      for (;;) {
        const [next, data] = await redis.callBuffer('BF.SCANDUMP', 'first', iterator);
        if (next === 0) break;
        iterator = next;
        assert.equal(await redis.call('BF.LOADCHUNK', 'second', iterator, data), 'OK');
      }
      assert.deepEqual(await redis.call('BF.DEBUG', 'second'), await redis.call('BF.DEBUG', 'first'));
      const answers = await redis.call('BF.MEXISTS', 'second', ...items);
      assert.ok(answers.every((found) => found === yes));
    });

    it('answers pipelines, transactions and scripts', async () => {
      const piped = await redis.pipeline().call('BF.ADD', 'bloom', 'foo').call('BF.INFO', 'nothing').call('BF.CARD', 'bloom').exec();
      assert.deepEqual(piped[0], [null, yes]);
      assert.equal(piped[1][0].message, 'ERR not found');
      assert.deepEqual(piped[2], [null, 1]);
      const multi = await redis.multi().call('BF.MADD', 'bloom', 'foo', 'bar').call('BF.CARD', 'bloom').exec();
      assert.deepEqual(multi, [[null, [no, yes]], [null, 2]]);
      redis.defineCommand('addTwice', {
        numberOfKeys: 1,
        lua: "return {redis.call('BF.ADD', KEYS[1], ARGV[1]), redis.call('BF.ADD', KEYS[1], ARGV[1])}",
      });
      assert.deepEqual(await redis.addTwice('scripted', 'foo'), [1, 0]);
    });

    it('returns an error in the array of a full filter', async () => {
      await redis.call('BF.RESERVE', 'fixed', 0.001, 2, 'NONSCALING');
      const answers = await redis.call('BF.MADD', 'fixed', 'a', 'b', 'c', 'd');
      assert.equal(answers.length, 3);
      assert.deepEqual(answers.slice(0, 2), [yes, yes]);
      assert.match(String(answers[2]), /non scaling filter is full/);
      await assert.rejects(redis.call('BF.ADD', 'fixed', 'c'), { message: 'ERR non scaling filter is full' });
      const [processed, bitmap, refused] = await redis.callBuffer('BF.BULKADD', 'fixed', 'LINES', 'a\nb\nc');
      assert.deepEqual([processed, bitmap], [2, Buffer.from([0])]);
      assert.match(String(refused), /non scaling filter is full/);
    });
  });
}
