import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import type { Noun } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { everythingStored } from '../../test/everything-stored.ts';
import { KEYED_ROUTES, pathOf, requestOf, titled } from '../../test/every-route.ts';
import { expectProblem, textOf, wholeAnswer } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { createOwnResources } from '../../test/own-resources.ts';
import type { OwnResources } from '../../test/own-resources.ts';
import { idNoun, idOfNothing } from '../../test/route-paths.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider }));
let reader: Caller;
let owner: Caller;
let readers: OwnResources;
let owners: OwnResources;

beforeAll(async () => {
  reader = await api.newCaller({ scopes: SCOPES });
  owner = await api.newCaller({ scopes: SCOPES });
  readers = createOwnResources(api, reader);
  owners = createOwnResources(api, owner);
});

/** The routes of a noun take turns, at most so many: the fuzz tests send more malformed ids. */
const TURNS_MAX = 4;

/**
 * Texts that cannot be an id of the noun, among them an id with one changed character and an id of another
 * noun.
 */
function malformed(noun: Noun | null, id: string): string[] {
  const other = newId(noun === 'webhook' ? 'email' : 'webhook', systemClock);
  return [
    id.toUpperCase(),
    id.slice(0, -1),
    `${id}0`,
    id.replace('_', '-'),
    id.replace(/_./, '_8'), // beyond what 128 bits hold
    id.slice(id.indexOf('_') + 1),
    other,
    '0',
    'null',
    '__proto__',
    '*',
    '%20',
    '%00',
    "'%20or%201=1--",
    '%F0%9F%93%AC',
    'x'.repeat(5_000),
  ];
}

describe.each(
  titled(KEYED_ROUTES)
    .flatMap(([name, route]) => {
      const { noun } = route.contract;
      return noun === undefined ? [] : [{ name, route, noun }];
    })
    .map((each, _, all) => {
      const ofNoun = all.filter(({ noun }) => noun === each.noun);
      return { ...each, place: ofNoun.indexOf(each), routes: ofNoun.length };
    }),
)('$name', ({ route, noun, place, routes }) => {
  test('another account’s id, a missing id and a malformed one give the same 404, which names no id and changes nothing', async () => {
    const foreign = await owners.idOf(noun);
    const missing = idOfNothing(noun);
    const mine = await readers.idOf(noun);
    const before = await everythingStored(api.database);
    const ask = (id: string, { authorization }: Caller) =>
      requestOf(api.url, route, id).set('authorization', authorization);
    const answers = new Set<string>();
    const turns = Math.min(routes, TURNS_MAX);
    const odd = malformed(idNoun(noun), mine).filter((_, n) => (n + place) % turns === 0);
    for (const id of [foreign, missing, ...odd]) {
      const response = await ask(id, reader);
      expectProblem(response, 'not-found');
      if ([foreign, missing].includes(id)) expect(textOf(response)).not.toContain(id);
      answers.add(wholeAnswer(response));
    }
    expect([...answers]).toHaveLength(1);
    expect(await everythingStored(api.database)).toEqual(before);
    // They exist: each account gets its own.
    const done = Number.parseInt(route.contract.success, 10); // 202 of a reply
    expect((await ask(mine, reader)).status).toBe(done);
    expect((await ask(foreign, owner)).status).toBe(done);
  });
});

test('these tests cover every route with an id in its path', () => {
  const asked = KEYED_ROUTES.filter(({ contract: { noun } }) => noun !== undefined);
  const withId = KEYED_ROUTES.filter((route) => pathOf(route, 'an-id') !== route.path);
  expect(asked).toEqual(withId);
});
