// The server of the tests: its Unix socket, and the layout of its new filters.
const missing = (name) => {
  throw new Error(`${name} is not set; run these tests with \`make test-clients\``);
};

export const socket = process.env.BLOOMLINE_SOCKET ?? missing('BLOOMLINE_SOCKET');
export const layout = process.env.BLOOMLINE_LAYOUT ?? missing('BLOOMLINE_LAYOUT');

// Every reply must arrive within this number of milliseconds.
export const DEADLINE = 300_000;
