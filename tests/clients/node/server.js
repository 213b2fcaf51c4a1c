// The server that the tests were given: a Unix socket, and the layout that its new filters have.
const missing = (name) => {
  throw new Error(`${name} is not set; run these tests by \`make test-clients\``);
};

export const socket = process.env.BLOOMLINE_SOCKET ?? missing('BLOOMLINE_SOCKET');
export const layout = process.env.BLOOMLINE_LAYOUT ?? missing('BLOOMLINE_LAYOUT');

// Milliseconds within which every reply has to come.
export const DEADLINE = 30_000;
