import {
  answer,
  closeInsideHead,
  closeWithoutAnswer,
  duplicateContentLength,
  garbage,
  headerBomb,
  http09,
  malformedBody,
  raw,
  resetAfterHead,
  resetBeforeHead,
  switchProtocols,
  truncatedBody,
} from '@postrider/testing';
import type { Behaviour } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';

/** How an endpoint answers its first request, and whether that counts as done. Later requests get 200. */
const ANSWERS: readonly (readonly [name: string, behaviour: Behaviour, done: boolean])[] = [
  ['101 with an upgrade', switchProtocols(), false],
  ['101 without one', switchProtocols({ upgrade: false }), false],
  ['a header bomb', headerBomb(), false],
  ['no HTTP at all', garbage(), false],
  ['HTTP/0.9', http09(), false],
  ['status 000', raw('HTTP/1.1 000 Zero\r\ncontent-length: 0\r\n\r\n'), false],
  ['status 999', raw('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n', 999), false],
  ['two lengths', duplicateContentLength(), false],
  ['a reset', resetBeforeHead(), false],
  ['an end without an answer', closeWithoutAnswer(), false],
  ['half a head', closeInsideHead(), false],
  ['a 2xx cut short', truncatedBody(), true],
  ['a 2xx whose body is malformed', malformedBody(), true],
  ['a 2xx and then a reset', resetAfterHead(), true],
];

export const hostileAnswers: Experiment = {
  number: 26,
  title: 'answers that no server should give',
  shows: 'every attempt settles: a complete 2xx head is done, anything else is tried again',
  runs: 'ci',
  async run(world) {
    const endpoints = [];
    for (const [name, first, done] of ANSWERS) {
      const endpoint = await world.endpoint();
      endpoint.reacts(() => (endpoint.receipts.length === 0 ? first : answer(200)));
      endpoints.push({ name, done, endpoint });
    }
    await world.start('relay');
    await world.start('worker');
    await world.producer.record(1);
    await world.drained();
    for (const { name, done, endpoint } of endpoints) {
      const statuses = await statusesOf(world, endpoint.webhookId);
      const held = done ? statuses.join() === '200' : statuses.length > 1 && statuses.at(-1) === 200;
      world.claim(`${name} ${done ? 'is done' : 'is tried again'}`, held, statuses.join(' '));
    }
  },
};

async function statusesOf(world: World, webhookId: string): Promise<(number | null)[]> {
  const attempts = await world.query<{ status: number | null }>(
    'select status from attempts where webhook_id = $1 order by attempt',
    [webhookId],
  );
  return attempts.map((attempt) => attempt.status);
}
