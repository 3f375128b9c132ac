import { consoleKeys, hostName, port } from '../schemas.ts';
import { defineSetting } from '../setting.ts';

/** The console: its address, and who may sign in. */
export const consoleSettings = {
  consoleKeys: defineSetting({
    key: 'CONSOLE_KEYS',
    description:
      'Who may sign in: `name:role:sha256`, comma-separated. The role is `operator` or `reader`; a reader cannot act. The ' +
      'last part is the SHA-256 of the key in hexadecimal. `npm start` makes a key of its own.',
    secret: 'whole',
    schema: consoleKeys,
    processes: ['console'],
  }),
  consoleHost: defineSetting({
    key: 'CONSOLE_HOST',
    description:
      'Address the console listens on. On any other than a local address, put a proxy with TLS in front.',
    schema: hostName,
    default: '127.0.0.1',
    processes: ['console'],
  }),
  consolePort: defineSetting({
    key: 'CONSOLE_PORT',
    description:
      'Port the console listens on; it serves `/healthz`, `/readyz` and `/metrics` there too. 0 means any free port.',
    schema: port,
    default: '3001',
    processes: ['console'],
  }),
};
