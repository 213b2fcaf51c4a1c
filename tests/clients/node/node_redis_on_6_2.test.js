// What node-redis gives on Redis 6.2, whose modules have neither booleans nor maps.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient } from 'redis';

import { DEADLINE, socket } from './server.js';

const connect = async (options) => {
  const client = createClient({ socket: { path: socket, socketTimeout: DEADLINE, reconnectStrategy: false }, ...options });
  client.on('error', () => {}); // Each call also rejects with this error.
  await client.connect();
  await client.flushAll();
  return client;
};

describe('node-redis on Redis 6.2', () => {
  it('gives numbers and an array in RESP3, its default', async () => {
    const client = await connect({});
    assert.equal(await client.bf.add('bloom', 'foo'), 1);
    assert.deepEqual(await client.bf.mAdd('bloom', ['foo', 'bar']), [0, 1]);
    const info = await client.bf.info('bloom');
    assert.ok(Array.isArray(info));
    assert.deepEqual(info.slice(0, 2), ['Capacity', 100]);
    await client.bf.reserve('fixed', 0.001, 1, { NONSCALING: true });
    const [, refused] = await client.bf.mAdd('fixed', ['a', 'b']);
    assert.equal(refused.message, 'ERR non scaling filter is full');
    client.destroy();
  });

  it('gives booleans and an object in RESP2', async () => {
    const client = await connect({ RESP: 2 });
    assert.equal(await client.bf.add('bloom', 'foo'), true);
    assert.equal((await client.bf.info('bloom')).Capacity, 100);
    client.destroy();
  });
});
