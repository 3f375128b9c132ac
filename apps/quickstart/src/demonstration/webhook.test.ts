import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startWebhooksApi } from '../../test/webhooks-api.ts';
import { DemonstrationFile } from '../state/demonstration-file.ts';
import { ApiClient } from './api-client.ts';
import { ensureWebhook } from './webhook.ts';

const WANTED = { endpoint: 'https://127.0.0.1:9443/events', sealedWith: 'key' };

let folder: string;
let api: Awaited<ReturnType<typeof startWebhooksApi>>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'webhook-'));
  api = await startWebhooksApi();
});
afterEach(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

const ensure = (wanted = WANTED) =>
  ensureWebhook(new ApiClient(api.url, 'pr_live_x'), new DemonstrationFile(folder, 'embedded'), wanted);

test('the webhook of the last start is kept', async () => {
  const { fresh, ...first } = await ensure();
  expect(fresh).toBe(true);
  expect(await ensure()).toEqual({ ...first, fresh: false });
  expect([...api.webhooks.keys()]).toEqual([first.id]);
});

test.each([
  ['another receiver', { ...WANTED, endpoint: 'https://127.0.0.1:9444/events' }],
  ['another SECRETS_KEY, with which no worker can sign for it', { ...WANTED, sealedWith: 'other' }],
])('with %s, the webhook of the last start is deleted and another one made', async (_what, wanted) => {
  const first = await ensure();
  const second = await ensure(wanted);
  expect(second).toMatchObject({ ...wanted, fresh: true });
  expect(second.id).not.toBe(first.id);
  expect([...api.webhooks.keys()]).toEqual([second.id]);
});
