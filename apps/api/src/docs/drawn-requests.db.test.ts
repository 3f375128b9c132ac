import { describe, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import { runs, setup } from '@postrider/testing';
import fc from 'fast-check';
import { drawnRequests, exampleRequest, operationOf } from '../../test/document/drawn-requests.ts';
import type { DrawnRequest } from '../../test/document/drawn-requests.ts';
import { EVERY_ROUTE } from '../../test/every-route.ts';
import type { KnownRoute } from '../../test/every-route.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { createOwnResources } from '../../test/own-resources.ts';
import { filledPath } from '../../test/route-paths.ts';
import { setupApi } from '../../test/start-api.ts';

/* What the document allows is never refused for its form. */

const RUNS = runs({ usual: 10, long: 2_000 });
const TIMEOUT_MS = 60_000 + 100 * RUNS;

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider }));
const own = setup(
  async () => {
    const caller = await api.newCaller({ scopes: SCOPES });
    const resources = createOwnResources(api, caller);
    const webhook = await resources.idOf('webhook');
    return { resources, webhook, authorization: caller.authorization };
  },
  async () => undefined,
);

/**
 * Refusals of what a request asks for, not of its form. No JSON Schema can say them: they depend on what is
 * stored, on a register, or on several values together. A description in the document says each of them.
 */
const REFUSED_CONTENT: readonly RegExp[] = [
  // What is stored
  /is not the id of an entry of this list/,
  /is not the id of an event of the account|is neither a cursor of this list nor the id of an event/,
  /is not a cursor of this list|is not a cursor of this history|is not the id of an attempt/,
  /^The webhook has a recovery that runs/,
  /is not the id of a dead letter of the account/,
  /is not a recovery of the webhook/,
  /is not a topic of this account/,
  /^The account has not verified the domain of /,
  /is reserved: no account may have it on a shared domain/,
  /^expected is \d+, and \d+ events match/,
  // A register: the tz database and the list of public suffixes
  /is not a name of a time zone/,
  /is a public suffix/,
  // Several values together
  /^until \S+ is not after since/,
  /^start_date is after end_date|^The range is longer than \d+ days/,
  /names more than 50 recipients, cc and bcc included/,
  /has more than \d+ values$/,
];

/** SNS signs its requests, and nobody else can. The body of unsubscribing is no JSON. */
const NOT_DRAWN = ['POST /internal/ses/sns', 'POST /u/:id'];

const DRAWN = EVERY_ROUTE.map((route) => ({ ...route, operation: operationOf(route.name) })).filter(
  ({ name, operation }) =>
    !NOT_DRAWN.includes(name) &&
    (operation.requestBody !== undefined ||
      operation.parameters?.some((each) => each.in !== 'path') === true),
);

interface Answered {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

async function send(route: KnownRoute, id: string, drawn: DrawnRequest): Promise<Answered> {
  const { query, headers } = drawn;
  const { names } = route.contract.body ?? {};
  const body = names === true ? { ...(drawn.body as object), webhook: own.webhook } : drawn.body;
  const search = new URLSearchParams(query).toString();
  const response = await fetch(`${api.url}${filledPath(route.path, id)}?${search}`, {
    method: route.method.toUpperCase(),
    headers: { ...headers, authorization: own.authorization },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

/** Null: the answer refuses no form. */
function refusedForm({ status, type, text }: Answered): string | null {
  if (status >= 500) return `${status} ${text}`;
  if (status !== 400 && status !== 422) return null;
  if (type !== 'application/problem+json') return `${status} ${text}`;
  const { detail, errors = [] } = JSON.parse(text) as {
    readonly detail: string;
    readonly errors?: readonly { readonly field: string; readonly message: string }[];
  };
  const faults = errors.length === 0 ? [detail] : errors.map(({ field, message }) => `${field} ${message}`);
  return faults.find((fault) => !REFUSED_CONTENT.some((refused) => refused.test(fault))) ?? null;
}

describe.each(DRAWN.map((route) => [route.name, route] as const))('%s', (_, route) => {
  const newId = async () =>
    route.contract.noun === undefined ? '' : own.resources.idOf(route.contract.noun);

  test('takes the example of the document', async () => {
    const { status, text } = await send(route, await newId(), exampleRequest(route.operation));
    expect({ status: status < 300, text }).toMatchObject({ status: true });
  });

  test(
    'refuses no form that the document allows',
    async () => {
      const id = await newId();
      const property = fc.asyncProperty(drawnRequests(route.operation), async (drawn) => {
        expect(refusedForm(await send(route, id, drawn))).toBeNull();
      });
      await fc.assert(property, { numRuns: RUNS });
    },
    TIMEOUT_MS,
  );
});
