import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { createSecretBox, openHeaders, sealHeaders } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import { openClient, untilWaitingForLock } from '@postrider/testing';
import { runInProcess, setupCli } from '../test/run-in-process.ts';
import type { CliResult } from '../test/run-in-process.ts';

const { json, database, rows } = setupCli();

const [old, older, fresh] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
const keysOf = (...keys: Buffer[]) => keys.map((key) => key.toString('base64')).join(',');
const idOf = (key: Buffer) => createSecretBox([key]).keyId;
const HEADERS = { 'X-Api-Key': 'very secret' };

/** Two webhooks of the old key, one of an older one, and one of the fresh one. */
let webhooks: { readonly id: WebhookId; readonly key: Buffer }[];

beforeEach(async () => {
  webhooks = [];
  for (const key of [old, older, fresh, old]) webhooks.push({ id: await sealedWith(key, true), key });
});

async function sealedWith(key: Buffer, hasHeaders = false): Promise<WebhookId> {
  const [id, box] = [await rows.webhook(), createSecretBox([key])];
  await database.query(
    'update webhooks set secret_key_id = $2, secret_sealed = $3, headers_sealed = $4 where id = $1',
    [
      id,
      box.keyId,
      box.seal(`whsec_${id}`, id).sealed,
      hasHeaders ? sealHeaders(box, HEADERS, id).sealed : null,
    ],
  );
  return id;
}

/** Runs `secrets reseal` with these keys. */
const reseal = (keys: string, ...args: string[]): Promise<CliResult> =>
  runInProcess(['secrets', 'reseal', ...args], { DATABASE_URL: database.url, SECRETS_KEY: keys });

interface Stored {
  readonly keyId: string;
  readonly secret: Buffer;
  readonly headers: Buffer | null;
}

async function stored(id: WebhookId): Promise<Stored> {
  const [row] = await database.query<Stored>(
    `select secret_key_id as "keyId", secret_sealed as secret, headers_sealed as headers from webhooks where id = $1`,
    [id],
  );
  if (row === undefined) throw new Error('no webhook');
  return row;
}

/** What a process that has only this key reads. */
async function openedWith(key: Buffer, id: WebhookId) {
  const [box, { keyId, secret, headers }] = [createSecretBox([key]), await stored(id)];
  return {
    secret: box.open({ keyId, sealed: secret }, id),
    headers: headers && openHeaders(box, { keyId, sealed: headers }, id),
  };
}

test('afterwards a process with the new key alone opens every secret and all headers', async () => {
  const [without, kept] = [await sealedWith(old), await stored(webhooks[2]?.id as WebhookId)];
  const done = await reseal(keysOf(fresh, old, older), '--json');
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(done.stdout)).toEqual({ key_id: idOf(fresh), dry_run: false, resealed: 4, others: [] });
  for (const { id } of webhooks) {
    expect(await openedWith(fresh, id)).toEqual({ secret: `whsec_${id}`, headers: HEADERS });
  }
  expect(await openedWith(fresh, without)).toEqual({ secret: `whsec_${without}`, headers: null });
  expect(await stored(webhooks[2]?.id as WebhookId)).toEqual(kept);
  expect(await reseal(keysOf(fresh))).toEqual({
    code: 0,
    stdout: `sealed the secrets of 0 webhooks again, with the key ${idOf(fresh)}\n`,
    stderr: '',
  });
});

test('the audit has who did it and how many, and nothing of a pass that found nothing', async () => {
  await reseal(keysOf(fresh, old, older), '--as', 'ada', '--note', 'yearly');
  await reseal(keysOf(fresh, old, older), '--as', 'ben');
  const { data } = await json<{ data: object[] }>('audit', 'list');
  expect(data).toEqual([
    expect.objectContaining({
      by: { kind: 'cli', name: 'ada' },
      action: 'secrets.reseal',
      account: null,
      target: idOf(fresh),
      count: 3,
      before: { keys: [idOf(old), idOf(older)].sort() },
      after: { keys: [idOf(fresh)] },
      note: 'yearly',
    }),
  ]);
});

test('a dry run counts the webhooks of each other key, and changes nothing', async () => {
  const before = await Promise.all(webhooks.map(({ id }) => stored(id)));
  const { code, stdout } = await reseal(keysOf(fresh, old, older), '--dry-run', '--json');
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      key_id: idOf(fresh),
      dry_run: true,
      resealed: 0,
      others: [
        { key_id: idOf(old), webhooks: 2, oldest_webhook: [webhooks[0]?.id, webhooks[3]?.id].sort()[0] },
        { key_id: idOf(older), webhooks: 1, oldest_webhook: webhooks[1]?.id },
      ].sort((one, other) => (one.key_id < other.key_id ? -1 : 1)),
    },
  ]);
  expect(await Promise.all(webhooks.map(({ id }) => stored(id)))).toEqual(before);
  expect(await json<{ data: object[] }>('audit', 'list')).toMatchObject({ data: [] });
  await reseal(keysOf(fresh, old, older));
  expect((await reseal(keysOf(fresh), '--dry-run')).stdout).toBe(
    `the key ${idOf(fresh)} has sealed all secrets\n`,
  );
});

test('a secret that no given key opens stays as it is, the others are sealed, and the command fails', async () => {
  const lost = webhooks[1]?.id as WebhookId;
  const before = await stored(lost);
  expect(await reseal(keysOf(fresh, old))).toEqual({
    code: 1,
    stdout:
      `sealed the secrets of 2 webhooks again, with the key ${idOf(fresh)}\n` +
      `1 webhooks have secrets of the key ${idOf(older)}, such as ${lost}\n`,
    stderr:
      'postrider: keep the other keys: SECRETS_KEY does not open these secrets, or an API still seals with another key\n',
  });
  expect(await stored(lost)).toEqual(before);
});

test('headers that do not open keep their secret with them: one key opens both', async () => {
  const id = webhooks[0]?.id as WebhookId;
  await database.query(`update webhooks set headers_sealed = '\\x00' where id = $1`, [id]);
  const before = await stored(id);
  expect((await reseal(keysOf(fresh, old, older))).code).toBe(1);
  expect(await stored(id)).toEqual(before);
});

test('a secret that another command seals meanwhile stays as that command left it, outside the audit', async () => {
  const [id, box] = [webhooks[1]?.id as WebhookId, createSecretBox([fresh])];
  const sealed = box.seal(`whsec_${id}`, id).sealed;
  const other = await openClient(database.url);
  await other.query('begin');
  await other.query(
    'update webhooks set secret_key_id = $2, secret_sealed = $3, headers_sealed = null where id = $1',
    [id, box.keyId, sealed],
  );
  const resealed = reseal(keysOf(fresh, old, older), '--json');
  await untilWaitingForLock(database);
  await other.query('commit');
  await other.end();
  expect(JSON.parse((await resealed).stdout)).toMatchObject({ resealed: 2, others: [] });
  expect(await stored(id)).toEqual({ keyId: box.keyId, secret: sealed, headers: null });
  const { data } = await json<{ data: object[] }>('audit', 'list');
  expect(data).toEqual([expect.objectContaining({ count: 2, before: { keys: [idOf(old)] } })]);
});

test('more webhooks than one step are sealed again, with progress, and an entry for each step', async () => {
  const { keyId, secret } = await stored(webhooks[0]?.id as WebhookId);
  await database.query(
    `insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
     select 'wh_00jd' || lpad(n::text, 22, '0'), (select min(id) from accounts), 'https://a.example/', $1, $2
     from generate_series(1, 1500) n`,
    [keyId, secret],
  );
  const box = createSecretBox([old]);
  const many = await database.query<{ id: WebhookId }>(`select id from webhooks where id like 'wh_00%'`);
  await database.query(
    `update webhooks w set secret_sealed = s.sealed from unnest($1::text[], $2::bytea[]) s (id, sealed) where w.id = s.id`,
    [many.map(({ id }) => id), many.map(({ id }) => box.seal(`whsec_${id}`, id).sealed)],
  );
  expect(await reseal(keysOf(fresh, old, older))).toMatchObject({
    code: 0,
    stdout: `sealed the secrets of 1503 webhooks again, with the key ${idOf(fresh)}\n`,
    stderr: 'postrider: 1000 so far\n',
  });
  const { data } = await json<{ data: { count: number }[] }>('audit', 'list');
  expect(data.map(({ count }) => count)).toEqual([503, 1000]);
});

test.each([
  ['without SECRETS_KEY', '', 'postrider: SECRETS_KEY is not set: the new key, then the old ones\n'],
  [
    'with a key that is none',
    'abc',
    /^postrider cli: configuration: SECRETS_KEY must be one or more 32-byte keys [^\n]*\n$/,
  ],
])('%s it fails in one line', async (_, keys, line) => {
  const { code, stdout, stderr } = await reseal(keys);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(line);
});
