import type { Figure } from '../figure.ts';
import { checkOf, valueOf } from '../result/result.ts';

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

    const without: number[] = [];
    const withEvent: number[] = [];
    for (let round = 1; round <= fixture.rounds; round += 1) {
      without.push(await commits(false));
      withEvent.push(await commits(true));
      fixture.say(
        `round ${round} of ${fixture.rounds}: ${(withEvent.at(-1) ?? 0).toFixed(0)} commits/s with an event, ` +
          `${(without.at(-1) ?? 0).toFixed(0)} without`,
      );
    }
    return {
      checks: [
        checkOf(
          'commits per second with an event, against without',
          '×',
          withEvent.map((rate, round) => rate / (without[round] ?? Number.NaN)),
          { atLeast: 0.7 },
        ),
      ],
      values: [
        valueOf('commits without an event', '/s', without),
        valueOf('commits with an event', '/s', withEvent),
      ],
      tables: [],
      plots: [],
    };
  },
};
