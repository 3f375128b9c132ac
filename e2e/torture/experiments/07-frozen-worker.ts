import { setTimeout as delay } from 'node:timers/promises';
import { after, answer } from '@postrider/testing';
import type { LogLine } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { TIMES } from '../harness/times.ts';

const EVENTS = 30;
const FROZEN_MS = 2 * TIMES.leaseSeconds * 1000;
/** It stays frozen until the other worker has started and made an attempt. */
const OTHER_ATTEMPTS_WITHIN_MS = 10_000;

export const frozenWorker: Experiment = {
  number: 7,
  title: 'SIGSTOP the worker for two leases, then SIGCONT while another worker attempts its deliveries',
  shows: 'another worker takes its deliveries; the late outcomes of the frozen one change nothing',
  runs: 'ci',
  signatureOffMs: FROZEN_MS + OTHER_ATTEMPTS_WITHIN_MS,
  async run(world) {
    const answerFrozen = Promise.withResolvers<void>();
    const answerOther = Promise.withResolvers<void>();
    const endpoint = await world.endpoint({ reaction: after(answerFrozen.promise, answer(200)) });
    await world.start('relay');
    const frozen = await world.start('worker');
    await world.producer.record(world.scaled(EVENTS));
    await endpoint.arrived(2);
    await world.fault('SIGSTOP worker', { mayRepeat: true }, () => frozen.signal('SIGSTOP'));
    const inFlight = new Set(endpoint.receipts.map((receipt) => receipt.eventId));
    endpoint.reacts(after(answerOther.promise, answer(503)));
    answerFrozen.resolve(); // answered with 200, and the frozen one does not know it yet
    await delay(FROZEN_MS);
    const before = endpoint.receipts.length;
    await world.start('worker');
    await endpoint.arrived(before + 1);
    await world.fault('SIGCONT worker', { mayRepeat: false }, () => frozen.signal('SIGCONT'));
    const late = (): LogLine[] => frozen.log.filter((line) => isFirstAttempt(line, inFlight));
    await world.until('the frozen worker to report', () => late().length >= inFlight.size);
    answerOther.resolve();
    endpoint.reacts(answer(200));
    await world.drained();
    const recorded = late().filter((line) => line['unrecorded'] !== true).length;
    world.claim('none of its late outcomes was recorded', recorded === 0, `${recorded} of ${late().length}`);
  },
};

function isFirstAttempt(line: LogLine, eventIds: ReadonlySet<string>): boolean {
  return (
    line['msg'] === 'delivery.attempted' && line['attempt'] === 1 && eventIds.has(String(line['event_id']))
  );
}
