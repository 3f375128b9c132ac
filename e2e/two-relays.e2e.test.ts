import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { answer, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { arrivals, expectNoneLost } from './short-leases.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

const EVENTS = 20;
const ACTIVE = 'relay is active';

let system: System;

beforeEach(async () => {
  system = await startSystem();
});
afterEach(() => system.close());

const says = (relay: SystemProcess, msg: string) => relay.log.some((line) => line['msg'] === msg);

test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'when the active relay gets %s, the other one goes on; nothing is lost, and nothing is sent twice',
  async (signal) => {
    system.receiver.always('/hook', answer(200));
    await system.webhook('/hook');
    const [one, two] = await system.startAll(['relay', 'relay', 'worker']);
    await waitFor(() => says(one, ACTIVE) || says(two, ACTIVE), { what: 'a relay to be active' });
    const [active, other] = says(one, ACTIVE) ? [one, two] : [two, one];
    const ids = await system.record(EVENTS);
    await system.receiver.waitForRequests(EVENTS);
    expect(says(other, ACTIVE)).toBe(false);

    active.signal(signal);
    ids.push(...(await system.record(EVENTS)));
    await system.receiver.waitForRequests(2 * EVENTS);
    expect(says(other, ACTIVE)).toBe(true);
    await system.drained();
    expectNoneLost(system, ids);
    expect([...arrivals(system).values()].filter((times) => times > 1)).toEqual([]);
    if (signal !== 'SIGSTOP') return;

    active.signal('SIGCONT');
    await waitFor(() => says(active, 'relay stands by: another one is active'), {
      what: 'the thawed relay to stand by',
      timeoutMs: 30_000,
    });
  },
  90_000,
);
