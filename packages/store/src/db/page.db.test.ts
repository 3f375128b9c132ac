import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, EmailId, KeyKind } from '@postrider/domain';
import { statementsOf } from '../../test/counted-statements.ts';
import { setupStore } from '../../test/open-store.ts';
import { createEmailStore } from '../mail/emails.ts';
import type { EmailStore } from '../mail/emails.ts';
import { readRows } from './page.ts';
import type { PageRequest } from './page.ts';

const store = setupStore();
let emails: EmailStore;
let accountId: AccountId;
let kind: KeyKind;

beforeAll(async () => {
  emails = createEmailStore(store.db, store.clock);
});
beforeEach(async () => {
  accountId = await store.newAccount();
  kind = 'live';
});

/** @param sameMoment how many share one `created_at`, so that only their ids tell them apart. */
async function insert(count: number, sameMoment = 3, owner = accountId): Promise<void> {
  const at = store.clock.now();
  const ids = Array.from({ length: count }, () => newId('email', store.clock));
  await store.outside.query(
    `insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
                         reply_to_addresses, subject, text, headers, last_event, created_at)
     select id, $2, $5::key_kind, 'sent', 'a@a.example', '{b@b.example}', '{}', '{}', '{}', 'Hi', 'Hello', '{}', 'sent',
            $3::timestamptz - ((n - 1) / $4::int) * interval '1 millisecond'
     from unnest($1::text[]) with ordinality u (id, n)`,
    [ids, owner, at, sameMoment, kind],
  );
}

/** The whole list, as Postgres sorts it. */
async function listed(): Promise<string[]> {
  const rows = await store.outside.query<{ id: string }>(
    'select id from emails where account_id = $1 order by created_at desc, id desc',
    [accountId],
  );
  return rows.map(({ id }) => id);
}

async function pageOf(limit: number, side?: 'after' | 'before', id?: string) {
  const cursor = side === undefined ? null : { side, id: id as EmailId };
  const page = await emails.list({ accountId, kind }, { limit, cursor });
  if (page === null) throw new Error(`no page ${side} ${id}`);
  return { ids: page.entries.map((entry) => String(entry.id)), hasMore: page.hasMore };
}

describe.each(['live', 'test'] as const)('of a list of a %s key', (of) => {
  beforeEach(() => void (kind = of));

  test.each([1, 2, 3, 6, 7, 8])(
    'pages of %i lead through the list, each entry once, and back again',
    async (limit) => {
      await insert(7);
      const all = await listed();
      const down = [];
      let page = await pageOf(limit);
      for (;;) {
        down.push(page.ids);
        if (!page.hasMore) break;
        page = await pageOf(limit, 'after', page.ids.at(-1));
      }
      expect(down.flat()).toEqual(all);
      const up = [all.slice(-1)];
      for (;;) {
        page = await pageOf(limit, 'before', up[0]?.[0]);
        up.unshift(page.ids);
        if (!page.hasMore) break;
      }
      expect(up.flat()).toEqual(all);
    },
  );

  test('in front of the first entry and behind the last there is an empty page', async () => {
    await insert(2);
    const [first, last] = await listed();
    expect(await pageOf(5, 'before', first)).toEqual({ ids: [], hasMore: false });
    expect(await pageOf(5, 'after', last)).toEqual({ ids: [], hasMore: false });
  });

  test('an entry that comes meanwhile shifts no page', async () => {
    await insert(4, 1);
    const all = await listed();
    store.clock.advance(1000);
    await insert(1);
    expect((await pageOf(2, 'after', all[1])).ids).toEqual(all.slice(2));
  });

  test('a cursor of another account, or of nobody, stands in no list', async () => {
    await insert(1);
    const [foreign] = await listed();
    accountId = await store.newAccount();
    await insert(2);
    for (const id of [foreign as EmailId, newId('email', store.clock)]) {
      for (const side of ['after', 'before'] as const) {
        expect(await emails.list({ accountId, kind }, { limit: 5, cursor: { side, id } })).toBeNull();
      }
    }
  });

  test('an entry of the list has all of a message but its bodies', async () => {
    await insert(1);
    const page = await emails.list({ accountId, kind }, { limit: 1, cursor: null });
    expect(page?.entries).toHaveLength(1);
    const { html, text, ...rest } =
      (await emails.find({ accountId, kind }, page?.entries[0]?.id as EmailId)) ?? {};
    expect({ html, text }).toEqual({ html: null, text: 'Hello' });
    expect(page?.entries[0]).toEqual(rest);
  });
});

test('a page keeps to a condition on the time and to alternatives', async () => {
  await insert(6, 1);
  const all = await listed();
  const at = async (n: number) => {
    const { createdAt } = await store.db.prisma.email.findUniqueOrThrow({ where: { id: all[n] ?? '' } });
    return createdAt;
  };
  const [since, until] = [await at(4), await at(1)];
  const idsOf = async (where: object, side: 'after' | 'before', cursor = 2) => {
    const id = all[cursor] as EmailId;
    const request = { limit: 9, cursor: { side, id } };
    const ids = (rows: { id: string }[]) => rows.map((row) => row.id);
    return (await readRows(request, store.db.prisma.email, { accountId, ...where }, ids))?.entries;
  };
  expect(await idsOf({ createdAt: { gte: since } }, 'after')).toEqual(all.slice(3, 5));
  expect(await idsOf({ createdAt: { lte: until } }, 'before')).toEqual(all.slice(1, 2));
  const either = { OR: [{ id: all[0] ?? '' }, { id: all[2] ?? '' }, { id: all[5] ?? '' }] };
  expect(await idsOf(either, 'after')).toEqual(all.slice(5));
  expect(await idsOf({ id: all[0] ?? '' }, 'after')).toBeUndefined();
});

test.each([null, 'after', 'before'] as const)(
  'the index serves a page deep in a long list (%s)',
  async (side) => {
    await insert(3_000, 2);
    await insert(3_000, 2, await store.newAccount());
    await store.outside.query('analyze emails');
    const id = (await listed())[1_500] as EmailId;
    const request: PageRequest<'email'> = { limit: 20, cursor: side === null ? null : { side, id } };
    const asked = await statementsOf(store.db, () => emails.list({ accountId, kind: 'live' }, request));
    const { text, values } = asked.at(-1) ?? { text: '', values: [] };
    const [plan] = await store.db.pool
      .query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(`explain (analyze, format json) ${text}`, values)
      .then(({ rows }) => rows.map((row) => row['QUERY PLAN'][0].Plan));
    if (plan === undefined) throw new Error('no plan');
    const nodes = nodesOf(plan);
    expect(nodes.map((node) => node['Index Name']).filter(Boolean)).toEqual(['emails_of_account']);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
    // The page, the one that tells of more, and those of the cursor's own moment.
    const read = nodes.map((node) => node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0));
    expect(Math.max(...read)).toBeLessThanOrEqual(24);
  },
);

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
