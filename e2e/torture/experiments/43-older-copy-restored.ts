import { after, answer } from '@postrider/testing';
import type { LogLine } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { nowMs } from '../harness/times.ts';
import type { World } from '../harness/world/world.ts';

/** A webhook may have this many in flight, even when the relay does not know it. */
const HELD = 6;
const OUTSTANDING = 20;

export const olderCopyRestored: Experiment = {
  number: 43,
  title: 'an older copy of Postgres is restored under running processes',
  shows: 'ids come twice; outcomes of the lost history end no delivery of the restored one',
  runs: 'ci',
  ownPostgres: true,
  queue: 'postgres',
  // The worker tries to record until its lease ends. Before that, the same ids must have been used again.
  leaseSeconds: 60,
  async run(world) {
    const [answerLost, answerHeld] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const endpoint = await world.endpoint();
    const relay = await world.start('relay');
    const line = await world.proxy('postgres');
    const stranded = await world.start('worker', { through: [line] });
    await world.producer.record(world.scaled(OUTSTANDING));
    await world.drained();
    await world.stop(relay);
    const kept = new Set(await world.producer.record(world.scaled(OUTSTANDING)));
    await world.postgres.backUp();
    const backedUpAtMs = nowMs();

    await world.start('relay');
    await world.drained();
    endpoint.reacts(after(answerLost.promise, answer(200)));
    const lost = await recordAndMeet(world, endpoint);
    line.takeAway();
    answerLost.resolve(); // a 200, which the worker cannot record for now
    await world.restore(backedUpAtMs);

    const held = after(answerHeld.promise, answer(503));
    endpoint.reacts(({ headers }) => (kept.has(String(headers['service-event-id'])) ? answer(200) : held));
    await world.start('worker');
    const again = await recordAndMeet(world, endpoint);
    line.restore();
    const late = (): LogLine[] => stranded.log.filter((entry) => isOf(entry, lost.events));
    await world.until('the stranded worker to report', () => late().length >= lost.events.size);
    answerHeld.resolve();
    endpoint.reacts(answer(200));
    await world.drained();

    const twice = lost.deliveries.filter((id) => again.deliveries.includes(id)).length;
    world.claim('ids were given out twice', twice > 0, `${twice} of ${HELD}`);
    const recorded = late().filter((entry) => entry['unrecorded'] !== true).length;
    world.claim('nothing of the lost history was recorded', recorded === 0, `${recorded} of ${HELD}`);
  },
};

/** Records events, and waits until the endpoint has got each. @returns the ids of events and deliveries */
async function recordAndMeet(
  world: World,
  endpoint: { readonly receipts: readonly { readonly eventId: string }[] },
): Promise<{ events: ReadonlySet<string>; deliveries: readonly string[] }> {
  const events = await world.producer.record(HELD);
  await world.until('all to arrive', () =>
    events.every((id) => endpoint.receipts.some((receipt) => receipt.eventId === id)),
  );
  const rows = await world.query<{ id: string }>(
    'select id::text from deliveries where event_id = any ($1)',
    [events],
  );
  return { events: new Set(events), deliveries: rows.map(({ id }) => id) };
}

function isOf(line: LogLine, events: ReadonlySet<string>): boolean {
  return line['msg'] === 'delivery.attempted' && events.has(String(line['event_id']));
}
