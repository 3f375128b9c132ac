import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { EVENT_TYPES, PROBLEMS } from '@postrider/domain';
import { SAMPLES } from '@postrider/receiver/samples';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { allowedKinds, ROUTE_CONTRACTS } from '../../test/fuzz/route-contracts.ts';
import { routeName } from '../../test/route-name.ts';
import { delivery, envelopeSchema } from './deliveries.ts';
import { describedRoutes, openApiDocument, openApiPath } from './openapi.ts';
import { problemsPage } from './problems-page.ts';
import { refusalsOf } from './refusals.ts';

/** The fuzzed deployment cannot give these answers: its provider verifies nothing and never fails. */
const ELSEWHERE = ['403 domain-not-verified'];

/** The refusals of a route: `404 not-found`, `422 text`. */
const writtenRefusals = (route: Parameters<typeof refusalsOf>[0]) =>
  refusalsOf(route).map(({ status, name }) => `${status} ${name}`);

const ROUTES = describedRoutes().map((route) => [routeName(route), route] as const);

test.each(ROUTES)(
  '%s: the description has every refusal that the contract lets it answer, and no other',
  (name, route) => {
    const contract = ROUTE_CONTRACTS[name];
    if (contract === undefined)
      throw new Error('it needs an entry in ROUTE_CONTRACTS of test/fuzz/route-contracts.ts');
    const refusals = writtenRefusals(route).filter((refusal) => !refusal.startsWith('5'));
    const allowed = allowedKinds(contract).filter((kind) => !/ (json|page|file)$/.test(kind));
    const elsewhere = refusals.filter((refusal) => ELSEWHERE.includes(refusal));
    expect([...refusals].sort()).toEqual([...allowed, ...elsewhere].sort());
    const { status, body } = route.docs.success;
    const kind = body === 'html' ? 'page' : typeof body === 'string' ? 'file' : 'json';
    expect(`${status} ${kind}`).toBe(contract.success);
  },
);

test.each(ROUTES)('%s: a route that reads a body says what it reads', (_, route) => {
  expect(route.docs.request === undefined).toBe(route.body === undefined);
});

/** 5xx answers of the domain routes, caused by the provider (contract 7.2). */
const PROVIDER_FAULTS = ['502 ses-refused', '503 ses-unavailable'];
const DOMAIN_FAULTS: Readonly<Record<string, readonly string[]>> = {
  'POST /v1/domains': [...PROVIDER_FAULTS, '503 ses-not-configured'],
  'GET /v1/domains': ['503 ses-not-configured'],
  'GET /v1/domains/:id': ['503 ses-not-configured'],
  'PATCH /v1/domains/:id': ['503 ses-not-configured'],
  'POST /v1/domains/:id/verify': [...PROVIDER_FAULTS, '503 ses-not-configured'],
  'DELETE /v1/domains/:id': [...PROVIDER_FAULTS, '503 ses-not-configured'],
};

test.each(ROUTES)(
  '%s: the description has exactly the 5xx answers that the route can give',
  (name, route) => {
    const faults = writtenRefusals(route).filter((refusal) => refusal.startsWith('5'));
    expect([...faults].sort()).toEqual(
      ['500 internal', '503 not-ready', ...(DOMAIN_FAULTS[name] ?? [])].sort(),
    );
  },
);

/** What a reader of the document is told of one route. */
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly required: boolean; readonly content: object };
  readonly responses: Readonly<Record<string, { readonly content: object }>>;
}

const DOCUMENT = openApiDocument() as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

function operationOf(name: string): Operation {
  const [method = '', path = ''] = name.toLowerCase().split(' ');
  const operation = DOCUMENT.paths[openApiPath(path)]?.[method];
  if (operation === undefined) throw new Error(`${name} is not in the document`);
  return operation;
}

describe('a body', () => {
  const READING = ROUTES.filter(([, { body }]) => body !== undefined).map(([name]) => name);
  const OPTIONAL = [
    'POST /v1/webhooks/dead-letters/:id/replay',
    'POST /v1/webhooks/:id/events/:event/replay',
    'DELETE /v1/suppressions/:id',
    'POST /v1/inbound/messages/:id/release',
    'POST /u/:id',
  ];
  const MEDIA: Readonly<Record<string, readonly string[]>> = {
    'POST /u/:id': ['application/x-www-form-urlencoded', 'multipart/form-data'],
    'POST /internal/ses/sns': ['text/plain; charset=UTF-8'],
  };

  test.each(READING)(
    '%s: is required where there must be one, and of the media types that are sent',
    (name) => {
      const { required, content } = operationOf(name).requestBody ?? { content: {} };
      expect({ required, types: Object.keys(content) }).toEqual({
        required: !OPTIONAL.includes(name),
        types: MEDIA[name] ?? ['application/json'],
      });
    },
  );
});

test.each([
  ['POST /u/:id', ['application/json', 'text/html; charset=utf-8']],
  ['GET /u/:id', ['text/html; charset=utf-8']],
  ['GET /links/:id', ['*/*']],
  ['GET /v1/webhooks', ['application/json']],
])('%s succeeds with %j', (name, types) => {
  expect(Object.keys(operationOf(name).responses['200']?.content ?? {})).toEqual(types);
});

test.each([
  ['POST /v1/inboxes/:id/threads/:thread/emails/:email/reply', 'is not an object'],
  ['POST /v1/inboxes/:id/threads/:thread/emails/:email/forward', 'is not an object'],
  ['POST /v1/inbound/routes', 'lacks the required field match'],
  ['PATCH /v1/inboxes/:id', 'lacks the required field name or from_name'],
])('%s: the example of a 422 in plain text says that the body %s', (name, words) => {
  expect(operationOf(name).responses['422']?.content).toMatchObject({
    'text/plain; charset=utf-8': { example: `The request body ${words}.` },
  });
});

test.each(ROUTES)('%s: the query has the parameters that the route reads', (name) => {
  const paging = ['limit', 'after', 'before'];
  const EVENT_PARAMETERS = ['type', 'since', 'until', 'after', 'limit'];
  const READ_BY: Readonly<Record<string, readonly string[]>> = {
    'GET /v1/emails': paging,
    'GET /v1/emails/metrics': [
      ...['start_date', 'end_date', 'timezone', 'granularity'],
      ...['metrics', 'dimensions', 'domain_id', 'email_id'],
    ],
    'GET /v1/emails/:id/attachments': paging,
    'GET /v1/emails/receiving': paging,
    'GET /v1/emails/receiving/:id': ['html_format'],
    'GET /v1/emails/receiving/:id/attachments': paging,
    'GET /v1/webhooks/:id/attempts': ['event_id', 'after', 'limit'],
    'GET /v1/events': ['recipient', 'email_id', ...EVENT_PARAMETERS],
    'GET /v1/emails/:id/events': EVENT_PARAMETERS,
    'GET /v1/webhooks/:id/events': ['status', 'recipient', 'email_id', ...EVENT_PARAMETERS],
    'GET /v1/webhooks/:id/events/:event/attempts': ['after', 'limit'],
    'GET /v1/webhooks/:id/recoveries': ['after', 'limit'],
    'GET /v1/webhooks/dead-letters': ['type', 'reason', 'webhook', 'since', 'until', 'after'],
    'GET /v1/domains': paging,
    'GET /v1/topics': paging,
    'GET /v1/inboxes': paging,
    'GET /v1/inboxes/:id/threads': [...paging, 'read', 'folders', 'labels'],
    'GET /v1/inboxes/:id/threads/search': [
      ...paging,
      ...['query', 'start_date', 'end_date', 'has_attachment', 'from', 'to', 'cc', 'bcc'],
      ...['read', 'folders', 'labels'],
    ],
    'GET /v1/inboxes/:id/threads/:thread/emails': paging,
    'GET /v1/inbound/messages': [...paging, 'status', 'inbox_id'],
    'GET /v1/inbound/messages/:id/body': ['part'],
    'GET /v1/inbound/routes': paging,
    'GET /v1/inbound/blocked-senders': paging,
    'GET /v1/suppressions': [...paging, 'origin'],
    'DELETE /v1/suppressions/:id': ['reason'],
    'POST /v1/suppressions/batch/remove': ['reason'],
  };
  const named = (operationOf(name).parameters ?? []).filter((parameter) => parameter.in === 'query');
  expect(named.map((parameter) => parameter.name)).toEqual(READ_BY[name] ?? []);
});

test('every named part of a path is a parameter, in its order', () => {
  const named = (operationOf('GET /v1/inbound/messages/:id/attachments/:attachment').parameters ?? []).map(
    (parameter) => [parameter.in, parameter.name],
  );
  expect(named).toEqual([
    ['path', 'id'],
    ['path', 'attachment'],
  ]);
});

/** The routes that docs/api.md lists: `GET /v1/emails`; `/v1/domains…` for all that begin so. */
function listedRoutes(): string[] {
  const page = readFileSync(new URL('../../../../docs/api.md', import.meta.url), 'utf8');
  const [table = ''] = page.split('## Routes')[1]?.split('\n#') ?? [];
  const cells = table.split('\n').filter((line) => line.startsWith('| `'));
  return cells.flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
}

test('docs/api.md lists the routes of the document, and the five that the document leaves out', () => {
  const names = ROUTES.map(([name]) => openApiPath(name));
  const listed = listedRoutes();
  const isListed = (name: string): boolean =>
    listed.some(
      (one) =>
        one === name || (one.endsWith('…') && name.split(' ')[1]?.startsWith(one.slice(0, -1)) === true),
    );
  expect(names.filter((name) => !isListed(name))).toEqual([]);
  const missing = listed.filter((one) => !one.endsWith('…') && !names.includes(one));
  expect(missing).toEqual(['GET /openapi.json', 'GET /docs', 'GET /healthz', '/readyz', '/metrics']);
});

test('the document is OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(DOCUMENT));
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
});

/** The errors that `redocly lint` reports of a document by its recommended rules. */
async function lintErrors(document: object): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems
    .filter(({ severity }) => severity === 'error')
    .map(({ ruleId, location }) => `${ruleId} at ${location[0]?.pointer ?? ''}`);
}

test('redocly lint finds no error in the document', async () => {
  expect(await lintErrors(DOCUMENT)).toEqual([]);
});

test('redocly lint finds an operation that does not say how it is secured', async () => {
  const path = { get: { ...operationOf('GET /v1/webhooks'), security: undefined } };
  const planted = { ...DOCUMENT, paths: { '/v1/webhooks': path } };
  expect(await lintErrors(planted)).toContain('security-defined at #/paths/~1v1~1webhooks/get');
});

test('each operation has one tag, and each tag has a description and an operation', () => {
  const document = openApiDocument() as {
    readonly tags: readonly { readonly name: string; readonly description: string }[];
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly tags: readonly string[] }>>>>;
    readonly webhooks: typeof document.paths;
  };
  const operations = [document.paths, document.webhooks].flatMap((paths) =>
    Object.values(paths).flatMap((path) => Object.values(path)),
  );
  for (const { tags } of operations) expect(tags).toHaveLength(1);
  const names = document.tags.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect([...new Set(operations.flatMap(({ tags }) => tags))].sort()).toEqual([...names].sort());
  for (const { description } of document.tags) expect(description).toMatch(/^[A-Z].*\.$/);
});

test('each operation has an id of its own', () => {
  const ids = ROUTES.map(([, route]) => route.docs.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the example of each delivery is signed in the second of its event', () => {
  const { webhooks } = openApiDocument() as {
    webhooks: Record<string, { post: { parameters: { name: string; example: string }[] } }>;
  };
  for (const { type, created_at } of SAMPLES) {
    const seconds = Math.floor(Date.parse(created_at) / 1000);
    expect(webhooks[type]?.post.parameters).toContainEqual(
      expect.objectContaining({
        name: 'Service-Signature',
        example: expect.stringContaining(`t=${seconds},`),
      }),
    );
  }
});

describe('the schema of a delivery', () => {
  test.each(EVENT_TYPES)('of %s compiles, and refuses what has no data', (type) => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(envelopeSchema(type));
    expect(validate({ id: 'evt_01jd0000000000000000000001', type, subject: 'acct_1', created_at: '' })).toBe(
      false,
    );
  });

  test('takes the body of a delivery', () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
      envelopeSchema('email.sent'),
    );
    const body = {
      id: 'evt_01jd0000000000000000000001',
      type: 'email.sent',
      subject: 'acct_1',
      created_at: '2026-11-20T10:15:30.123Z',
      data: { email_id: 'em_1', from: 'a@a.example', subject: 'Hi', error: null },
    };
    expect(validate(body)).toBe(true);
  });
});

describe('objects that may gain fields in a later release', () => {
  test.each(SAMPLES)(
    'the schema of $type takes more in the envelope, in data and in the objects there',
    (sample) => {
      const isObject = (value: unknown) =>
        typeof value === 'object' && value !== null && !Array.isArray(value);
      const body = JSON.parse(JSON.stringify(sample), (_, value: object) =>
        isObject(value) ? { ...value, more: 1 } : value,
      ) as unknown;
      const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
        envelopeSchema(sample.type),
      );
      expect(validate(body) ? null : validate.errors).toBeNull();
    },
  );

  const { schemas } = (openApiDocument() as { components: { schemas: Record<string, object> } }).components;

  test('every answer takes more; a request does where the API ignores a field that it does not know', () => {
    const closed = Object.keys(schemas).filter((name) =>
      JSON.stringify(schemas[name]).includes('"additionalProperties":false'),
    );
    expect(closed).toEqual([
      ...['DomainUpdate', 'NoFields', 'RecoveryRequest', 'ReplayRequest'],
      ...['SuppressionBatchRemoval', 'WebhookRequest'],
    ]);
  });

  test('the type of an event in an answer says that types may be added', () => {
    expect(schemas['EventType']).toHaveProperty(
      'description',
      expect.stringMatching(
        /^A later release may add types\. .* Known are `email\.sent`, .*`message\.held`\.$/,
      ),
    );
  });
});

test.each(Object.entries(PROBLEMS))(
  'the problems page has a row of %s',
  (slug, { title, family, when, remedy }) => {
    const row = problemsPage()
      .split('\n')
      .find((line) => line.startsWith(`| \`${slug}\` |`));
    for (const words of [title, family, when, remedy]) expect(row).toContain(` ${words} |`);
  },
);

test.each(EVENT_TYPES)(
  'the delivery of %s says which of its headers the signature does not cover',
  (type) => {
    const { parameters } = delivery(type) as { parameters: { name: string; description: string }[] };
    const unsigned = parameters.filter(({ description }) =>
      description.includes('Not covered by the signature'),
    );
    expect(unsigned.map(({ name }) => name)).toEqual(['Service-Event-Id', 'Service-Event-Type']);
  },
);
