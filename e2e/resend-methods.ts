import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Resend } from 'resend';

/** A request that a method of the SDK makes. */
export interface SdkRequest {
  readonly method: string;
  /** Below the base address, with `{id}` in the place of an id, without a query. */
  readonly path: string;
}

/** A public method of Resend's SDK. */
export interface SdkMethod {
  /** `inboxes.threads.list` */
  readonly name: string;
  /** Makes its requests with placeholders for all arguments. @returns what the method returns. */
  readonly call: (resend: Resend) => Promise<unknown>;
}

const IDS = [
  ...['id', 'emailId', 'inboxId', 'threadId', 'draftId', 'labelId', 'webhookId', 'eventId'],
  ...['contactId', 'segmentId', 'automationId', 'runId'],
];

/** Fits every parameter: as an id it is `{id}`, as options it has every id, as a list it is empty. */
const ANYTHING = {
  ...Object.fromEntries(IDS.map((name) => [name, `{${name}}`])),
  steps: [],
  connections: [],
  file: new Blob([]),
  headers: undefined,
  toString: () => '{id}',
  *[Symbol.iterator]() {},
};

/** The names that the SDK's types declare private. At run time they look like the public ones. */
async function privateNames(): Promise<ReadonlySet<string>> {
  const types = fileURLToPath(import.meta.resolve('resend')).replace(/[.]mjs$/, '.d.mts');
  const found = (await readFile(types, 'utf8')).matchAll(/^\s+private (?:readonly )?(\w+);/gm);
  return new Set([...found].map(([, name = '']) => name));
}

/** Lists the public methods of the SDK, sorted by name. Leaves out further names of the same resource. */
export async function sdkMethods(): Promise<SdkMethod[]> {
  const hidden = await privateNames();
  const seen = new Set<object>();
  const methods: SdkMethod[] = [];
  const walk = (resource: object, path: readonly string[]): void => {
    if (seen.has(resource)) return;
    seen.add(resource);
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
      // The SDK's own methods are HTTP verbs, such as `post`.
      if (path.length === 0 || name === 'constructor' || hidden.has(name)) continue;
      methods.push({
        name: [...path, name].join('.'),
        call: async (resend) => call(resend, [...path, name]),
      });
    }
    for (const [name, value] of Object.entries(resource)) {
      if (typeof value === 'object' && value !== null && !hidden.has(name))
        walk(value as object, [...path, name]);
    }
  };
  walk(new Resend('any'), []);
  return methods.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Calls a method with a placeholder for each required parameter. */
async function call(resend: Resend, path: readonly string[]): Promise<unknown> {
  let owner: unknown;
  let target: unknown = resend;
  for (const name of path) {
    owner = target;
    target = (owner as Record<string, unknown>)[name];
  }
  const method = target as (...given: unknown[]) => unknown;
  return method.apply(owner, Array<unknown>(method.length).fill(ANYTHING));
}

/** Calls each method against a server that answers everything. @returns the requests of each. */
export async function recordedRequests(methods: readonly SdkMethod[]): Promise<SdkRequest[][]> {
  let requests: SdkRequest[] = [];
  // Not by `listen` of @postrider/testing: scripts/generated.mjs runs this outside Jest.
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    requests.push({ method: request.method ?? '', path: decodeURIComponent(path) });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: '{id}', data: [], raw: { download_url: `${baseUrl}/raw` } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const resend = new Resend('any', { baseUrl });
  const all: SdkRequest[][] = [];
  try {
    for (const method of methods) {
      requests = [];
      // `webhooks.verify` makes no request. It refuses a placeholder as a secret.
      await method.call(resend).catch(() => undefined);
      all.push(requests.filter(({ path }) => path !== '/raw'));
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return all;
}
