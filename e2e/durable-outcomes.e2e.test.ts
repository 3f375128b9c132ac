import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { answer } from '@postrider/testing';
import type { ProcessName } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** Notes the `synchronous_commit` of each take, each logged attempt and each dead letter. */
const NOTE_COMMITS = `
  create table noted (what text, commits text);
  create function note() returns trigger language plpgsql as $$
    begin
      insert into noted values (tg_argv[0], current_setting('synchronous_commit'));
      return null;
    end $$;
  create trigger note after update on deliveries for each row
    when (new.taken_at is not null) execute function note('take');
  create trigger note after insert on attempts for each row execute function note('attempt');
  create trigger note after insert on dead_letters for each row execute function note('dead letter');
`;

let system: System;

beforeAll(async () => {
  system = await startSystem({ env: { ROLES: 'relay,worker', DELIVERY_RETRY_DELAYS_SECONDS: '0.1' } });
  for (const [path, status] of [
    ['/up', 200],
    ['/down', 503],
    ['/gone', 410],
  ] as const) {
    system.receiver.always(path, answer(status));
    await system.webhook(path);
  }
  await system.db.query(NOTE_COMMITS);
});
afterAll(() => system.close());

test.each<ProcessName[][]>([[['relay', 'worker']], [['all']]])(
  'outcomes are on disk before Postgres confirms them, and takes do not wait for the disk: %j',
  async (names) => {
    await system.db.query('delete from noted');
    const processes = await system.startAll(names);
    await system.record(1);
    await system.drained();
    await Promise.all(processes.map((started) => started.stop()));
    expect(await system.db.query('select distinct what, commits from noted order by what')).toEqual([
      { what: 'attempt', commits: 'on' },
      { what: 'dead letter', commits: 'on' },
      { what: 'take', commits: 'off' },
    ]);
  },
);
