// Every Bloom filter command of node-redis (@redis/bloom), in both protocols.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createClient, RESP_TYPES } from 'redis';

import { DEADLINE, layout, socket } from './server.js';

const FIELDS = ['Capacity', 'Size', 'Number of filters', 'Number of items inserted', 'Expansion rate'];

for (const RESP of [2, 3]) {
  describe(`node-redis in RESP${RESP}`, () => {
    let client;

    before(async () => {
      client = createClient({ RESP, socket: { path: socket, socketTimeout: DEADLINE, reconnectStrategy: false } });
      client.on('error', () => {}); // Each call also rejects with this error.
      await client.connect();
    });
    after(() => client.destroy());
    beforeEach(() => client.flushAll());

    it('creates a filter once', async () => {
      assert.equal(await client.bf.reserve('bloom', 0.01, 1000), 'OK');
      assert.equal(await client.bf.reserve('growing', 0.01, 1000, { EXPANSION: 4 }), 'OK');
      assert.equal(await client.bf.reserve('fixed', 0.01, 1000, { NONSCALING: true }), 'OK');
      await assert.rejects(client.bf.reserve('bloom', 0.01, 1000), { message: 'ERR item exists' });
      await assert.rejects(client.bf.reserve('none', 0.01, 1, { EXPANSION: 2, NONSCALING: true }), {
        message: 'Nonscaling filters cannot expand',
      });
    });

    it('adds items once and finds them, with booleans', async () => {
      assert.equal(await client.bf.add('bloom', 'foo'), true);
      assert.equal(await client.bf.add('bloom', 'foo'), false);
      assert.deepEqual(await client.bf.mAdd('bloom', ['foo', 'bar', 'bar']), [false, true, false]);
      assert.equal(await client.bf.exists('bloom', 'foo'), true);
      assert.equal(await client.bf.exists('bloom', 'absent'), false);
      assert.deepEqual(await client.bf.mExists('bloom', ['bar', 'absent']), [true, false]);
      assert.deepEqual(await client.bf.mExists('nothing', ['bar', 'absent']), [false, false]);
    });

    it('counts with a number', async () => {
      await client.bf.mAdd('bloom', ['foo', 'bar']);
      assert.equal(await client.bf.card('bloom'), 2);
      assert.equal(await client.bf.card('nothing'), 0);
    });

    it('takes items and keys of any bytes', async () => {
      const item = Buffer.from([0xff, 0x00, 0x0d, 0x0a]);
      const key = Buffer.from([0x00, 0xfe]);
      assert.equal(await client.bf.add(key, item), true);
      assert.equal(await client.bf.exists(key, item), true);
      assert.equal(await client.bf.exists(key, item.subarray(0, 3)), false);
    });

    it('inserts with the options of a new filter', async () => {
      const options = { CAPACITY: 10, ERROR: 0.1, EXPANSION: 4 };
      assert.deepEqual(await client.bf.insert('bloom', ['foo', 'foo'], options), [true, false]);
      const info = await client.bf.info('bloom');
      assert.equal(info.Capacity, 10);
      assert.equal(info['Expansion rate'], 4);
      assert.deepEqual(await client.bf.insert('fixed', 'foo', { NONSCALING: true }), [true]);
      await assert.rejects(client.bf.insert('nothing', 'foo', { NOCREATE: true }), { message: 'ERR not found' });
    });

    it('reports the five fields of a filter in order', async () => {
      await client.bf.reserve('bloom', 0.001, 2000);
      await client.bf.mAdd('bloom', ['a', 'b', 'c']);
      const info = await client.bf.info('bloom');
      assert.deepEqual(Object.keys(info), FIELDS);
      assert.ok(info.Size > 2000);
      assert.deepEqual([info.Capacity, info[FIELDS[2]], info[FIELDS[3]], info[FIELDS[4]]], [2000, 1, 3, 2]);
      await client.bf.reserve('fixed', 0.001, 2000, { NONSCALING: true });
      assert.equal((await client.bf.info('fixed'))['Expansion rate'], null);
      await assert.rejects(client.bf.info('nothing'), { message: 'ERR not found' });
    });

    it('reports the fields as a Map if types are mapped so', async () => {
      await client.bf.reserve('bloom', 0.01, 100);
      const info = await client.withTypeMapping({ [RESP_TYPES.MAP]: Map }).bf.info('bloom');
      assert.ok(info instanceof Map);
      assert.deepEqual([...info.keys()], FIELDS);
    });

    it('reports one field by name: one value, or one pair', async () => {
      await client.bf.reserve('bloom', 0.01, 100);
      const answer = await client.sendCommand(['BF.INFO', 'bloom', 'CAPACITY']);
      assert.deepEqual(RESP === 2 ? answer : { ...answer }, RESP === 2 ? [100] : { Capacity: 100 });
      const named = await client.sendCommand(['BF.STATS', 'bloom', 'layout']);
      assert.equal(RESP === 2 ? named[1] : named.layout, layout);
    });

    it('ends the array with an error when a filter is full', async () => {
      await client.bf.reserve('fixed', 0.001, 3, { NONSCALING: true });
      const answers = await client.bf.mAdd('fixed', ['a', 'b', 'c', 'd', 'e']);
      assert.equal(answers.length, 4);
      assert.deepEqual(answers.slice(0, 3), [true, true, true]);
      // In RESP2 the library maps every reply except 1 to false.
      if (RESP === 2) assert.equal(answers[3], false);
      else assert.equal(answers[3].message, 'ERR non scaling filter is full');
      await assert.rejects(client.bf.add('fixed', 'd'), { message: 'ERR non scaling filter is full' });
      assert.equal(await client.bf.add('fixed', 'a'), false);
    });

    it('returns the error of a refused packed item after the bitmap', async () => {
      await client.bf.reserve('fixed', 0.001, 2, { NONSCALING: true });
      const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer };
      const call = ['BF.BULKADD', 'fixed', 'FIXED', '1', 'abcd'];
      const [processed, bitmap, refused] = await client.sendCommand(call, { typeMapping });
      assert.deepEqual([processed, bitmap], [2, Buffer.from([0b1100_0000])]);
      assert.equal(refused.message, 'ERR non scaling filter is full');
      await assert.rejects(client.sendCommand(['BF.BULKADD', 'fixed', 'FIXED', '3', 'abcd']), {
        message: 'ERR the data has 4 bytes, which is no multiple of 3',
      });
    });

    it('copies a filter to another key in chunks of bytes', async () => {
      const items = Array.from({ length: 3000 }, (_, i) => `item:${i}`);
      await client.bf.mAdd('first', items);
      const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
      let iterator = 0;
      let chunks = 0;
      for (;;) {
        const reply = await bytes.bf.scanDump('first', iterator);
        iterator = reply.iterator;
        if (iterator === 0) break;
        assert.equal(await client.bf.loadChunk('second', iterator, reply.chunk), 'OK');
        chunks += 1;
      }
      assert.ok(chunks >= 3);
      const both = await Promise.all(['first', 'second'].map((key) => client.sendCommand(['BF.DEBUG', key])));
      assert.deepEqual(both[1], both[0]);
      assert.ok((await client.bf.mExists('second', items)).every((found) => found === true));
    });

    it('answers a transaction and a pipeline in order', async () => {
      const replies = await client.multi().bf.add('bloom', 'foo').bf.mAdd('bloom', ['foo', 'bar']).bf.card('bloom').exec();
      assert.deepEqual(replies, [true, [false, true], 2]);
      // The library sends calls of one turn of the event loop together.
      const many = await Promise.all(Array.from({ length: 200 }, (_, i) => client.bf.add('many', `item:${i}`)));
      assert.ok(many.filter(Boolean).length >= 196);
      assert.equal(await client.bf.card('many'), many.filter(Boolean).length);
    });

    it('returns numbers to a script', async () => {
      const script = "return {redis.call('BF.ADD', KEYS[1], ARGV[1]), redis.call('BF.EXISTS', KEYS[1], ARGV[1])}";
      assert.deepEqual(await client.eval(script, { keys: ['bloom'], arguments: ['foo'] }), [1, 1]);
    });

    it('adds items to a cuckoo filter, finds, counts and deletes them', async () => {
      assert.equal(await client.cf.reserve('cuckoo', 1000, { BUCKETSIZE: 4, MAXITERATIONS: 9, EXPANSION: 2 }), 'OK');
      assert.equal(await client.cf.add('cuckoo', 'foo'), true);
      assert.equal(await client.cf.addNX('cuckoo', 'foo'), false);
      assert.deepEqual(await client.cf.insert('cuckoo', ['foo', 'bar'], { CAPACITY: 100 }), [true, true]);
      // The elements of CF.INSERTNX are integers, as in RedisBloom, since -1 is a third answer.
      const added = await client.cf.insertNX('cuckoo', ['bar', 'baz'], { NOCREATE: true });
      assert.deepEqual(added.map(Number), [0, 1]);
      await assert.rejects(client.cf.insert('nothing', 'foo', { NOCREATE: true }), { message: 'ERR not found' });
      assert.equal(await client.cf.count('cuckoo', 'foo'), 2);
      assert.equal(await client.cf.del('cuckoo', 'foo'), true);
      assert.equal(await client.cf.del('cuckoo', 'absent'), false);
      assert.equal(await client.cf.exists('cuckoo', 'foo'), true);
      assert.equal(await client.cf.exists('cuckoo', 'absent'), false);
      const info = await client.cf.info('cuckoo');
      const shown = ['Number of items inserted', 'Number of items deleted', 'Bucket size', 'Max iterations'];
      assert.deepEqual(shown.map((name) => info[name]), [3, 1, 4, 9]);
    });

    it('copies a cuckoo filter in chunks of bytes', async () => {
      const items = Array.from({ length: 3000 }, (_, i) => `item:${i}`);
      await client.cf.insert('first', items);
      const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
      let iterator = 0;
      for (;;) {
        const reply = await bytes.cf.scanDump('first', iterator);
        iterator = reply.iterator;
        if (iterator === 0) break;
        assert.equal(await client.cf.loadChunk('second', iterator, reply.chunk), 'OK');
      }
      const both = await Promise.all(['first', 'second'].map((key) => client.sendCommand(['CF.DEBUG', key])));
      assert.deepEqual(both[1], both[0]);
      const found = await client.sendCommand(['CF.MEXISTS', 'second', ...items]);
      assert.ok(found.every((answer) => Boolean(answer)));
    });

    it('rejects keys of another type, except in EXISTS', async () => {
      await client.set('text', 'value');
      await assert.rejects(client.bf.add('text', 'a'), /WRONGTYPE/);
      await assert.rejects(client.bf.info('text'), /WRONGTYPE/);
      assert.equal(await client.bf.exists('text', 'a'), false);
      await client.bf.add('bloom', 'a');
      assert.equal(await client.type('bloom'), 'MBbloom--');
    });
  });
}
