import { answer, redirectTo } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';

const STATUSES = [301, 302, 303, 307, 308];

export const redirectsInwards: Experiment = {
  number: 27,
  title: 'redirects to loopback, to the metadata service, to a file, and in a chain',
  shows: 'no redirect is followed: it is an answer like any other, tried again and then a dead letter',
  runs: 'ci',
  async run(world) {
    const canary = await world.canary();
    const inwards = [
      canary.url,
      'http://169.254.169.254/latest/meta-data/',
      'file:///etc/passwd',
      '//[::1]/',
    ];
    const endpoints: Endpoint[] = [];
    for (const location of inwards) {
      for (const status of STATUSES) {
        endpoints.push(await world.endpoint({ reaction: redirectTo(location, status), mayGiveUp: true }));
      }
    }
    const end = await world.endpoint();
    const chain = await world.endpoint({ reaction: redirectTo(end.url, 307), mayGiveUp: true });
    await world.start('relay');
    await world.start('worker');
    await world.producer.record(1);
    await world.until('every redirect to be tried again', () =>
      endpoints.every((endpoint) => endpoint.receipts.length > 1),
    );
    await world.until('the chain to be tried again', () => chain.receipts.length > 1);
    world.claim('nobody was sent on', end.receipts.length === 1, `${end.receipts.length} requests`);
    const all = await recordedStatuses(world);
    world.claim('each redirect is recorded as it was', all === [...STATUSES, 200].join(' '), all);
    for (const endpoint of [...endpoints, chain]) endpoint.reacts(answer(410));
  },
};

async function recordedStatuses(world: World): Promise<string> {
  const rows = await world.query<{ status: number }>('select distinct status from attempts order by 1 desc');
  const statuses = rows.map((row) => row.status);
  const rank = (status: number): number => (status === 200 ? Infinity : status); // 200 is last
  return statuses.sort((a, b) => rank(a) - rank(b)).join(' ');
}
