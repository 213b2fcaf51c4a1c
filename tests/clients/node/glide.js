// Runs commands through GLIDE for Node.js: see ../programs.py for what it reads and writes.
import readline from 'node:readline';
import { Decoder, GlideClient, Logger, ProtocolVersion, RequestError } from '@valkey/valkey-glide';

// The library writes its log to the standard output, which is for replies.
Logger.setLoggerConfig('off');
const [port, protocol] = process.argv.slice(2);
const client = await GlideClient.createClient({
  addresses: [{ host: '127.0.0.1', port: Number(port) }],
  protocol: protocol === '2' ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3,
  requestTimeout: 30_000,
});

const encode = (value) => {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (value instanceof Error) return { error: value.message };
  if (Array.isArray(value)) return value.map(encode);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, encode(member)]));
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const words = line.split(',').map((word) => Buffer.from(word, 'hex'));
  let reply;
  try {
    reply = encode(await client.customCommand(words, { decoder: Decoder.Bytes }));
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    reply = { raised: error.message };
  }
  console.log(JSON.stringify(reply));
}
client.close();
