import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, InboxId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { draftOf } from '../../test/draft.ts';
import { ageSends } from '../../test/age-sends.ts';
import { setupStore } from '../../test/open-store.ts';
import { createInboxStore } from '../inbound/inboxes.ts';
import { removeInboxes } from '../retention/remove-inboxes.ts';
import { storeMail } from './send-emails.ts';
import type { SendRequest } from './send-request.ts';

/* How long a message counts in the limits of inboxes and threads: an hour of Postgres's clock. */

const ADDRESS = 'agent@in.example';

const store = setupStore();
let accountId: AccountId;

beforeEach(async () => {
  await createRows(store.outside).clear();
  accountId = await store.newAccount();
});

const inboxes = () =>
  createInboxStore(store.db, store.clock, {
    sharedDomains: ['in.example'],
    reservedNames: [],
    perAccountMax: 100,
  });

async function inbox(): Promise<InboxId> {
  const fields = { address: ADDRESS, name: ADDRESS, fromName: null } as const;
  const creation = await inboxes().create({ accountId, kind: 'live', ...fields });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.id;
}

async function send(count: number, reply?: SendRequest['reply']): Promise<string> {
  const drafts = Array.from({ length: count }, () => draftOf({ from: ADDRESS }));
  const request: SendRequest = { accountId, kind: 'live', drafts, domains: [], idempotency: null };
  return (await storeMail(store.db, store.clock, { ...request, ...(reply === undefined ? {} : { reply }) }))
    .kind;
}

/** What a send gets when the hour is not over yet, and when it is. */
async function aroundTheHour(sendMore: () => Promise<string>): Promise<string[]> {
  await ageSends(store, '59 minutes');
  const before = await sendMore();
  await ageSends(store, '1 minute');
  return [before, await sendMore()];
}

describe('an hour of mail counts', () => {
  test('for an inbox', async () => {
    await inbox();
    await send(60);
    expect(await aroundTheHour(() => send(1))).toEqual(['inbox-over-limit', 'stored']);
  });

  test('for the inbox that follows a deleted one', async () => {
    const first = await inbox();
    await send(60);
    await inboxes().delete({ accountId, kind: 'live' }, first);
    await removeInboxes(store.db.pool);
    await inbox();
    expect(await aroundTheHour(() => send(1))).toEqual(['inbox-over-limit', 'stored']);
  });

  test('for the address of a deleted inbox: an hour from the deletion on', async () => {
    await inboxes().delete({ accountId, kind: 'live' }, await inbox());
    expect(await aroundTheHour(() => send(61))).toEqual(['inbox-over-limit', 'stored']);
  });

  test('for a thread', async () => {
    const inboxId = await inbox();
    await send(1);
    const [thread] = await store.outside.query<{ id: NonNullable<SendRequest['reply']>['threadId'] }>(
      'select id from inbox_threads',
    );
    if (thread === undefined) throw new Error('no thread');
    const reply = () => send(1, { inboxId, threadId: thread.id, messages: 1, skipped: [] });
    for (let n = 0; n < 9; n += 1) expect(await reply()).toBe('stored');
    expect(await aroundTheHour(reply)).toEqual(['thread-over-limit', 'stored']);
  });
});
