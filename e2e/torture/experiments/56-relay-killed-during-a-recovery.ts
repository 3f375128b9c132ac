import { answer } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';
import { holdAt } from './hold-at.ts';
import { queueAtOnce } from './queue-at-once.ts';

const EVENTS = 4_000;
/** The recovery lasts some ten seconds. */
const RATE = 400;
const FRESH_PER_SECOND = 20;
/** At each moment the relay dies in the middle of a step, after it has queued events. */
const MOMENTS = [
  { sees: 'queue-recovered', holds: 'toClient' },
  { sees: 'record-step', holds: 'toServer' },
  { sees: 'record-step', holds: 'toClient' },
] as const;

export const relayKilledDuringARecovery: Experiment = {
  number: 56,
  title: 'kill -9 the relay in the middle of a recovery, while fresh events come in',
  shows: 'the next relay goes on: each event is sent again once, and fresh events arrive beside them',
  runs: 'ci',
  async run(world) {
    const events = world.scaled(EVENTS);
    const since = new Date().toISOString();
    const down = await world.endpoint({ reaction: answer(410) });
    await outage(world, down, events);
    down.reacts(answer(200));
    const neighbour = await world.endpoint({ accountId: await world.newAccount() });
    const loads = [down, neighbour].map(({ accountId }) =>
      world.producer.load({ perSecond: FRESH_PER_SECOND, accountId }),
    );
    const id = await startRecovery(world, down, { since, events });
    for (const [n, moment] of MOMENTS.entries()) {
      await dieAt(world, moment);
      await killWhenQueued(world, id, (events * (n + 1)) / (MOMENTS.length + 1));
    }
    const relay = await world.start('relay');
    await world.until('the recovery to end', async () => !(await isRunning(world, id)));
    for (const load of loads) await load.stop();
    await world.drained();
    await claimOnce(world, down, id, events);
    await world.stop(relay);
  },
};

/** Every event of the endpoint fails. Then half of the dead letters are deleted, as retention would do. */
async function outage(world: World, endpoint: Endpoint, events: number): Promise<void> {
  await queueAtOnce(world, events);
  await world.start('worker');
  const relay = await world.start('relay');
  await world.until('all events to fail', async () => (await world.count('dead_letters')) === events);
  await world.stop(relay);
  await world.query(
    `delete from dead_letters where id in (select id from dead_letters order by created_at, id limit $1)`,
    [Math.floor(events / 2)],
  );
  const rows = await world.query<{ id: string }>('select id from events where account_id = $1', [
    endpoint.accountId,
  ]);
  for (const { id } of rows) world.noteReplay(id, endpoint.webhookId);
}

async function startRecovery(
  world: World,
  endpoint: Endpoint,
  { since, events }: { readonly since: string; readonly events: number },
): Promise<string> {
  await world.start('api');
  const request = { since, rate: RATE };
  const started = await world.api.request('POST', `/v1/webhooks/${endpoint.webhookId}/recover`, request);
  if (started.outcome !== 'answered' || started.status !== 202)
    throw new Error(`the recovery did not start: ${JSON.stringify(started)}`);
  const { id, matched } = started.body as { id: string; matched: number };
  world.claim('the count has every event that failed', matched === events, `${matched} of ${events}`);
  return id;
}

/** Starts a relay that stops at the moment, and kills it there. */
async function dieAt(world: World, { sees, holds }: (typeof MOMENTS)[number]): Promise<void> {
  const database = await world.proxy('postgres');
  const reached = holdAt(database, sees, holds);
  const relay = await world.start('relay', { through: [database] });
  await reached();
  await world.kill(relay);
  database.cut();
}

/** Starts another relay, and kills it when this many events are queued. */
async function killWhenQueued(world: World, id: string, count: number): Promise<void> {
  const relay = await world.start('relay');
  await world.until(`${count} events to be queued`, async () => {
    const [row] = await world.query<{ queued: number }>('select queued from recoveries where id = $1', [id]);
    return (row?.queued ?? 0) >= count;
  });
  await world.kill(relay);
}

async function isRunning(world: World, id: string): Promise<boolean> {
  return (await world.count('recoveries where id = $1 and ended_at is null', [id])) > 0;
}

async function claimOnce(world: World, endpoint: Endpoint, id: string, events: number): Promise<void> {
  const path = `/v1/webhooks/${endpoint.webhookId}/recoveries/${id}`;
  const read = await world.api.request('GET', path);
  const { status, queued, delivered, failed } = (read.outcome === 'answered' ? read.body : {}) as Record<
    string,
    unknown
  >;
  const saw = JSON.stringify({ status, queued, delivered, failed });
  world.claim(
    'the recovery says that each event was queued and delivered once',
    status === 'finished' && queued === events && delivered === events && failed === 0,
    saw,
  );
  const left = await world.count('dead_letters');
  world.claim('no dead letter is left', left === 0, String(left));
}
