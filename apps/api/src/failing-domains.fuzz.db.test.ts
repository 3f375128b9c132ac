import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { runs, serviceDrop, servicePage, sesError, sesThrottle } from '@postrider/testing';
import type { ServiceReaction, SesOperation } from '@postrider/testing';
import fc from 'fast-check';
import { startFuzzFixture } from '../test/fuzz/fuzz-fixture.ts';
import type { FuzzFixture } from '../test/fuzz/fuzz-fixture.ts';
import { judgeAnswer } from '../test/fuzz/judge-answer.ts';
import { createJudge } from '../test/fuzz/judge-exchange.ts';
import { readAnswers } from '../test/fuzz/read-answers.ts';
import type { RouteContract } from '../test/fuzz/route-contract.ts';
import { goodRequest, requests } from '../test/fuzz/request-spec.ts';
import type { RequestSpec } from '../test/fuzz/request-spec.ts';
import { allowedKinds, ROUTE_CONTRACTS } from '../test/fuzz/route-contracts.ts';
import type { Caller } from '../test/start-api.ts';

const RUNS = runs({ usual: 10, long: 2_000 });
const TIMEOUT_MS = runs({ usual: 120_000, long: 3_600_000 });
const DOMAIN_ROUTES = Object.entries(ROUTE_CONTRACTS).filter(([name]) => name.includes(' /v1/domains'));
/** The SES operations that the routes call. */
const OPERATIONS: readonly SesOperation[] = [
  'CreateEmailIdentity',
  'GetEmailIdentity',
  'DeleteEmailIdentity',
  'PutEmailIdentityMailFromAttributes',
  'PutEmailIdentityFeedbackAttributes',
];
const REFUSED = '502 ses-refused';
const UNAVAILABLE = '503 ses-unavailable';

/** A 200 like that of SES, with other contents. */
const ok = (body: string): ServiceReaction => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(body);
  };
};

/** A silent provider takes time. domains.db.test.ts covers it. */
const reactions: fc.Arbitrary<ServiceReaction | null> = fc.oneof(
  fc.constantFrom(null, sesThrottle, serviceDrop, servicePage(200), servicePage(502)),
  fc
    .record({
      status: fc.constantFrom(400, 403, 404, 409, 418, 500, 503),
      name: fc.constantFrom('AlreadyExistsException', 'NotFoundException', 'AccessDeniedException', 'Odd'),
      message: fc.string({ unit: 'binary', maxLength: 400 }),
    })
    .map(({ status, name, message }) => sesError(status, name, message)),
  fc.json().map(ok),
  fc
    .dictionary(
      fc.constantFrom('VerifiedForSendingStatus', 'DkimAttributes', 'MailFromAttributes', 'Tags'),
      fc.jsonValue(),
    )
    .map((body) => ok(JSON.stringify(body))),
);

/** Each call creates a domain with another name. */
const goodRequests = (contract: RouteContract): fc.Arbitrary<RequestSpec> =>
  fc.uuid().map((name) => {
    const body = { from: { name: `${name}.example` }, changes: [], encoding: 'none' } as const;
    return goodRequest(contract, contract.body === undefined ? {} : { body });
  });

const SURE_NAME = 'surely-fails';
const SURE_FAILURES = [sesError(400, 'BadRequestException', 'no'), serviceDrop];

let fixture: FuzzFixture;
const seen = new Set<string>();

beforeAll(async () => {
  fixture = await startFuzzFixture();
});
afterEach(() => reactAll(null));
afterAll(() => fixture.stop());

function reactAll(reaction: ServiceReaction | null): void {
  for (const operation of OPERATIONS) fixture.ses.always(operation, reaction);
}

describe.each(DOMAIN_ROUTES)('%s, whatever the provider does', (name, contract) => {
  test(
    'has the answers that it has elsewhere, 502 ses-refused and 503 ses-unavailable',
    async () => {
      const [method = ''] = name.split(' ');
      const judge = createJudge(fixture);
      const allowed = [...allowedKinds(contract), REFUSED, UNAVAILABLE];
      const property = fc.asyncProperty(
        fc.oneof(goodRequests(contract), requests(contract)),
        fc.array(reactions, { minLength: OPERATIONS.length, maxLength: OPERATIONS.length }),
        async (spec, told) => {
          reactAll(null);
          const bytes = await judge.bytesOf({ name, spec });
          OPERATIONS.forEach((operation, index) => fixture.ses.always(operation, told[index] ?? null));
          for (const answer of readAnswers(await fixture.exchange(bytes, spec.pieces), [method])) {
            const { kind } = judgeAnswer(answer, method, [502, 503]);
            if (!kind.startsWith('bare')) expect(allowed).toContain(kind);
            seen.add(`${name} ${kind}`);
          }
        },
      );
      // Every seed gives both.
      const body = { from: { name: `${SURE_NAME}.example` }, changes: [], encoding: 'none' } as const;
      const good = goodRequest(contract, contract.body === undefined ? {} : { body });
      const examples = SURE_FAILURES.map((told): [RequestSpec, ServiceReaction[]] => [
        good,
        OPERATIONS.map(() => told),
      ]);
      await fc.assert(property, { numRuns: RUNS, examples });
    },
    TIMEOUT_MS,
  );
});

test('the provider’s operations both failed and succeeded', () => {
  for (const name of ['POST /v1/domains', 'POST /v1/domains/:id/verify', 'DELETE /v1/domains/:id']) {
    for (const kind of [REFUSED, UNAVAILABLE]) expect(seen).toContain(`${name} ${kind}`);
  }
});

test(
  'once the provider answers again, every leftover domain can be created and deleted',
  async () => {
    const { live, other } = fixture.callers;
    const asked = await requestDomain(other, '', 'POST', { name: 'of-another-account.example' });
    expect(asked.status).toBe(200);
    for (const caller of [live, other]) {
      for (const name of identitiesOf(caller)) {
        expect([200, 409]).toContain((await requestDomain(caller, '', 'POST', { name })).status);
      }
      for (;;) {
        const { data } = (await requestDomain(caller, '?limit=100')).json;
        for (const { id } of data) {
          expect((await requestDomain(caller, `/${id}`, 'DELETE')).status).toBe(200);
        }
        if (data.length === 0) break;
      }
    }
    expect(fixture.ses.identities).toEqual(new Map());
  },
  TIMEOUT_MS,
);

async function requestDomain({ authorization }: Caller, path: string, method = 'GET', body?: object) {
  const response = await fetch(`${fixture.api.url}/v1/domains${path}`, {
    method,
    headers: { authorization },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as { data: { id: string }[] } };
}

/** The names of the domains that the provider still holds for the account. */
function identitiesOf({ accountId }: Caller): string[] {
  return [...fixture.ses.identities]
    .filter(([, { Tags }]) => Tags.some(({ Value }) => Value === accountId))
    .map(([name]) => name);
}
