import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { blobIdOf } from '@postrider/blobs';
import { createRows, s3Hang, startFakeS3, waitFor } from '@postrider/testing';
import type { FakeS3, SystemProcess } from '@postrider/testing';
import { sendMail } from './send-mail.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Bytes that no message names, removed by real processes; one of them is killed in the middle. */

const INBOX = 'support@inbound.postrider.example';
const HOUR_MS = 3_600_000;

let system: System;
let s3: FakeS3;

beforeEach(async () => {
  s3 = await startFakeS3();
  system = await startSystem();
  await system.db.query(
    `insert into inboxes values ('ibx_1', $1, 'live', $2, 'Support', null, now(), now())`,
    [system.accountId, INBOX],
  );
});
afterEach(async () => {
  await system.close();
  await s3.close();
});

const startInbound = async () =>
  system.start('inbound', { BLOB_STORE: 's3://blobs/mail', ...s3.environment });

const objectOf = (bytes: Buffer) => `blobs/mail/${blobIdOf(bytes)}`;

/** An object that was put more than a day ago. */
function put(bytes = randomBytes(20)): string {
  s3.objects.set(objectOf(bytes), { bytes, lastModified: new Date(Date.now() - 25 * HOUR_MS) });
  return blobIdOf(bytes);
}

const sweepDone = async (inbound: SystemProcess) =>
  waitFor(() => inbound.log.find(({ msg }) => msg === 'blob sweep done'), { what: 'a sweep' });

async function send(inbound: SystemProcess, content: Buffer): Promise<string> {
  const attachments = [{ filename: 'logo.png', content, contentType: 'image/png' }];
  return sendMail(await inbound.smtpPort(), { from: 'ann@shop.example', to: INBOX, text: 'Hi', attachments });
}

test('an inbound process sweeps at its start, and counts what it removed', async () => {
  const named = put();
  await createRows(system.db).message({ accountId: system.accountId, blob: named });
  for (let n = 0; n < 20; n += 1) put();
  const inbound = await startInbound();
  expect(await sweepDone(inbound)).toMatchObject({ removed: 20 });
  expect([...s3.objects.keys()]).toEqual([`blobs/mail/${named}`]);
  const metrics = await fetch(`http://127.0.0.1:${await inbound.port()}/metrics`);
  expect(await metrics.text()).toMatch(/postrider_blobs_swept_total{[^}]*} 20\n/);
});

test('a message with bytes that a killed sweep had taken is stored when the lease is over, with its bytes', async () => {
  const logo = randomBytes(100);
  put(logo);
  s3.fail(s3Hang, { operation: 'DeleteObject' });
  const killed = await startInbound();
  await s3.waitForRequests('DeleteObject', 1, 30_000);
  await killed.kill();
  s3.heal();

  const inbound = await startInbound();
  await expect(send(inbound, logo)).rejects.toThrow('451');
  expect(await system.db.query('select from messages')).toEqual([]);
  // What the killed process had sent may reach the store late.
  s3.objects.delete(objectOf(logo));
  await system.db.query('update swept_blobs set leased_until = now()');
  expect(await send(inbound, logo)).toMatch(/^250 /);
  expect(s3.objects.get(objectOf(logo))?.bytes).toEqual(logo);

  put(); // another one, that nobody names
  await system.db.query('update blob_sweeps set due_at = now()');
  expect(await sweepDone(await startInbound())).toMatchObject({ removed: 1 });
  expect(s3.objects.has(objectOf(logo))).toBe(true);
});
