import { measureRounds } from '../figure.ts';
import type { Figure } from '../figure.ts';
import { judging } from '../result/result.ts';

const CONCURRENCY = 8;

export const recordEvent: Figure = {
  id: 'record-event',
  title: 'Recording an event in the caller’s transaction',
  group: 'load',
  how:
    `A service commits small changes (a row of 300 bytes each) on ${CONCURRENCY} connections, as fast as it can, in turn ` +
    'without and with `recordEvent` in the same transaction. The event matches one webhook; the wake-up after the commit ' +
    'is part of it. Neither relay nor worker run. Commits wait for the disk.',
  limitSeconds: 120,
  async run(fixture) {
    const installation = await fixture.install();
    const accountId = await installation.addAccount();
    await installation.addWebhooks(accountId, ['https://127.0.2.1/never-called']);
    await installation.database.query(
      'create table bench_causes (id bigint generated always as identity primary key, body text not null)',
    );
    const caller = fixture.caller(installation, CONCURRENCY);
    const seconds = fixture.sizes.commitSeconds;
    const commits = (withEvent: boolean) =>
      caller.call('commits', { accountId, withEvent, concurrency: CONCURRENCY, seconds });
    await commits(false);
    await commits(true);

    const rounds = await measureRounds(
      fixture,
      async () => ({ without: await commits(false), withEvent: await commits(true) }),
      ({ without, withEvent }) =>
        `${withEvent.toFixed(0)} commits/s with an event, ${without.toFixed(0)} without`,
    );
    const { check, value } = judging(rounds);
    return {
      checks: [
        check(
          'commits per second with an event, against without',
          '×',
          { atLeast: 0.7 },
          ({ without, withEvent }) => withEvent / without,
        ),
      ],
      values: [
        value('commits without an event', '/s', ({ without }) => without),
        value('commits with an event', '/s', ({ withEvent }) => withEvent),
      ],
    };
  },
};
