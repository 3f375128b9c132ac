import { expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { Page, PageRequest } from '@postrider/store';
import { listAnswer } from './list-answer.ts';

const ID = newId('topic', systemClock);

/** The answer, and the request to the list. */
async function ask(query: string, page: Page<string> | null = { entries: ['b', 'a'], hasMore: true }) {
  const asked: PageRequest<'topic'>[] = [];
  const answer = await listAnswer(new URLSearchParams(query), {
    noun: 'topic',
    read: async (request) => {
      asked.push(request);
      return page;
    },
    show: (name) => ({ name }),
    refusalStatus: 400,
  });
  return { answer, asked };
}

test.each([
  ['', 20, null],
  ['limit=1', 1, null],
  ['limit=100&other=x&other=y', 100, null],
  [`after=${ID}`, 20, { side: 'after', id: ID }],
  [`before=${ID}&limit=5`, 5, { side: 'before', id: ID }],
])('?%s asks for %i entries beside %j', async (query, limit, cursor) => {
  const { answer, asked } = await ask(query);
  expect(asked).toEqual([{ limit, cursor }]);
  const body = { object: 'list', has_more: true, data: [{ name: 'b' }, { name: 'a' }] };
  expect(answer).toEqual({ kind: 'json', status: 200, body });
});

const LIMIT_FAULT = 'is not a whole number from 1 to 100.';
const CURSOR_FAULT = 'is not the id of an entry of this list.';

test.each([
  ...['', '0', '-1', '101', '1e1', '1.0', '+5', '0x5', '05', ' 5', '\u0665', 'all'].map((limit) => [
    `limit=${encodeURIComponent(limit)}`,
    `limit "${limit}" ${LIMIT_FAULT}`,
  ]),
  ['limit=5&limit=6', 'limit ["5","6"] is given more than once.'],
  [`after=${ID}&after=${ID}`, `after ["${ID}","${ID}"] is given more than once.`],
  [`after=${ID}&before=${ID}`, `before "${ID}" cannot be used together with after.`],
  ['after=', `after "" ${CURSOR_FAULT}`],
  ['before=%00', `before "\\u0000" ${CURSOR_FAULT}`],
  ['after=%ff', `after "\ufffd" ${CURSOR_FAULT}`],
  [`after=${ID.replace('top', 'em')}`, `after "${ID.replace('top', 'em')}" ${CURSOR_FAULT}`],
])('?%s is refused by name and value, and nothing is read', async (query, detail) => {
  const { answer, asked } = await ask(query);
  expect(answer).toEqual({ kind: 'problem', slug: 'validation-failed', status: 400, detail });
  expect(asked).toEqual([]);
});

test('an unknown cursor and a malformed one get the same refusal', async () => {
  const { answer } = await ask(`before=${ID}`, null);
  expect(answer).toMatchObject({ slug: 'validation-failed', detail: `before "${ID}" ${CURSOR_FAULT}` });
});
