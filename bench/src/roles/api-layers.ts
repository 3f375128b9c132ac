import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { apiKeyDigest, bearerKey, newId } from '@postrider/domain';
import { createLogger, createMetrics, systemClock } from '@postrider/runtime';
import { createApiKeyStore, createWakeUps, openDatabase } from '@postrider/store';
import type { ApiKeyStore, SuppressionStore } from '@postrider/store';
import { listen } from '@postrider/testing';
import express from 'express';
import { createExpress } from '../../../apps/api/src/app.ts';
import { createAccessLog } from '../../../apps/api/src/http/access-log.ts';
import { createUnmeteredSlots } from '../../../apps/api/src/http/account-slots.ts';
import { json } from '../../../apps/api/src/http/answer.ts';
import { resourceBody } from '../../../apps/api/src/http/body-rules.ts';
import { Body, BodyLimits } from '../../../apps/api/src/http/read-body.ts';
import { openRequest } from '../../../apps/api/src/http/request-context.ts';
import { createSend } from '../../../apps/api/src/http/send.ts';
import { serveRoute } from '../../../apps/api/src/http/serve-route.ts';
import { addSuppression } from '../../../apps/api/src/routes/suppressions.ts';
import { ApiServer } from '../../../apps/api/src/server.ts';
import { API_LAYERS } from '../load/api-layers.ts';
import type { ApiLayer } from '../load/api-layers.ts';

export const LAYERED_PATH = '/v1/suppressions';

interface LayersWish {
  /** How many of `API_LAYERS` the route has, from the first. */
  readonly count: number;
  /** The database with the keys. */
  readonly databaseUrl: string;
}

export interface ApiLayersCommands extends Record<string, (argument: never) => unknown> {
  /** @returns the port on 127.0.0.1 */
  readonly listen: (wish: LayersWish) => Promise<number>;
}

const CONNECTIONS = 10;
const BASES = { service: 'https://problems.bench', platform: 'https://platform.bench' };

/** An Express route that parses JSON and answers with an id, behind some layers of the API. */
export function apiLayersCommands(): ApiLayersCommands {
  return {
    async listen({ count, databaseUrl }) {
      const chosen: readonly ApiLayer[] = API_LAYERS.slice(0, count).map(({ id }) => id);
      const has = (layer: ApiLayer): boolean => chosen.includes(layer);
      const app = layered(has, keysIn(databaseUrl));
      if (has('server')) {
        return new ApiServer(app, { connectionsPerAddressMax: 0 }).listen(0, '127.0.0.1');
      }
      return (await listen(createServer(app))).port;
    },
  };
}

const UNLIMITED = {
  perSecond: Infinity,
  outstandingMax: Infinity,
  outstandingOf: async () => Promise.resolve(0),
};

const allow = async () => Promise.resolve({ allowed: true } as const);

function layered(has: (layer: ApiLayer) => boolean, apiKeys: ApiKeyStore): RequestListener {
  const logger = createLogger({ level: 'info', service: 'bench', stream: nowhere() });
  const metrics = createMetrics('api');
  const send = createSend(BASES, logger, metrics);
  const bodies = new BodyLimits();
  const slots = createUnmeteredSlots(CONNECTIONS, UNLIMITED);

  async function served(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const written = bearerKey(request.headers.authorization);
    if (has('key')) {
      const key = written === null ? null : await apiKeys.findActive(apiKeyDigest(written));
      if (key === null) throw new Error('the key is not known');
    }
    const body = has('body')
      ? await readLimited(bodies, request, response)
      : { ok: true, body: (request as express.Request).body as unknown };
    if (!body.ok) throw new Error('the body cannot be read');
    const work = async (): Promise<object> =>
      Promise.resolve({ object: 'suppression', id: newSuppression() });
    const made = has('turns') ? await slots.accountSlots.run('bench', work, response) : await work();
    if (made === null) throw new Error('the account has no slot');
    if (has('answer')) send(request, response, json(201, made));
    else (response as express.Response).status(201).json(made);
  }

  const app = has('express') ? createExpress() : express();
  if (!has('body')) app.use(express.json());
  const services = {
    apiKeys,
    bodies,
    metrics,
    limitOf: () => Infinity,
    limiter: { peek: allow, charge: allow },
    ...slots,
  };
  const route = addSuppression({ add: addNowhere });
  app.post(LAYERED_PATH, has('route') ? serveRoute(route, services, send) : served);
  const log = createAccessLog(logger, metrics);
  return (request, response) => {
    if (has('id')) openRequest(request, response);
    if (has('log')) log(request, response);
    (app as RequestListener)(request, response);
  };
}

async function readLimited(bodies: BodyLimits, request: IncomingMessage, response: ServerResponse) {
  const parts = { request, response, rule: resourceBody, limits: bodies };
  const body = new Body({ ...parts, owner: 'bench', isBatch: false });
  try {
    return await body.json();
  } finally {
    body.release();
  }
}

const addNowhere: SuppressionStore['add'] = async (_accountId, addresses) =>
  Promise.resolve({
    added: addresses.map((address) => ({ id: newSuppression(), address, isNew: true })),
    deliveries: 0,
  });

function newSuppression() {
  return newId('suppression', systemClock);
}

function keysIn(databaseUrl: string): ApiKeyStore {
  const postgres = { databaseUrl, applicationName: 'bench', onError: () => undefined };
  return createApiKeyStore(openDatabase({ ...postgres, size: 1 }, createWakeUps(postgres)), systemClock);
}

/** Writes each line with one system call, like a process that logs to a file. */
function nowhere(): Writable {
  const file = openSync('/dev/null', 'w');
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      writeSync(file, chunk);
      done();
    },
  });
}
