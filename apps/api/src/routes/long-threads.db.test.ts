import { expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';

const api = setupApi();

test('a thread of more than 10,000 messages is marked and deleted by two requests each', async () => {
  const { accountId, authorization } = await api.newCaller({ scopes: ['inbound:manage'] });
  const [inbox, thread] = [newId('inbox', systemClock), newId('thread', systemClock)];
  await api.database.query(
    `insert into inboxes values ($1, $2, 'live', $1 || '@a.example', 'A', null, now(), now())`,
    [inbox, accountId],
  );
  await api.database.query(`insert into inbox_threads values ($1, $2, 'Hi', now(), now())`, [thread, inbox]);
  await api.database.query(
    `insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size, from_address,
       to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
     select $1 || n, $3, 'live', $2, $1, 'received', now() - make_interval(secs => n / 10), '', 'b', 1, 'a@a.example',
       '{}', '{}', '{}', '{}', '[]', 'none', 'none', 'none', false
     from generate_series(1, 10200) n`,
    [thread, inbox, accountId],
  );
  const path = `/v1/inboxes/${inbox}/threads/${thread}`;
  const mark = () => request(api.url).patch(path).set('authorization', authorization).send({ read: true });
  const remove = () => request(api.url).delete(path).set('authorization', authorization);
  for (const ask of [mark, remove]) {
    expect(expectProblem(await ask(), 'not-ready')).toContain('more messages than one request changes');
    expect((await ask()).status).toBe(200);
  }
  expectProblem(await mark(), 'not-found');
});
