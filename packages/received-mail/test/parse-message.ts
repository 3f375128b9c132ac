/** The package keeps `parseMessage` out of its index, because it runs in worker threads only. Tests call it directly. */
export { parseMessage } from '../src/parse-message.ts';
