import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { publishKeys, startFakeSes, waitFor } from '@postrider/testing';
import type { FakeSes, SystemProcess } from '@postrider/testing';
import { callApi } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * One installation has one mail provider, whatever the environments say. Mail leaves through SES only from
 * verified domains.
 */

let ses: FakeSes;
let system: System;
let withSes: Readonly<Record<string, string>>;

beforeAll(async () => {
  ses = await startFakeSes();
  system = await startSystem({ env: { MAIL_RETRY_DELAYS_SECONDS: '0.05' } });
  withSes = { ...ses.environment, MAIL_PROVIDER: 'ses' };
});
afterEach(async () => {
  await system.reset();
  await Promise.all(system.processes.filter(({ running }) => running).map((each) => each.kill()));
  ses.reset();
});
afterAll(async () => {
  await system.close();
  await ses.close();
});

const startSender = () => system.start('all', { ...withSes, ROLES: 'relay,worker' });

const post = async (api: SystemProcess, path: string, body: object) =>
  callApi({ api, key: system.apiKey }, 'POST', `/v1/${path}`, body);

const message = (from: string) => ({ from, to: 'ann@example.net', subject: 'Hi', text: 'Hi' });

async function send(api: SystemProcess, from: string): Promise<string> {
  const { status, body } = await post(api, 'emails', message(from));
  expect(status).toBe(200);
  return String(body['id']);
}

async function eventOf(emailId: string): Promise<unknown> {
  return waitFor(
    () =>
      system.receiver.requests
        .map(({ body }) => JSON.parse(String(body)) as { type: string; data: { email_id: string } })
        .find((event) => event.data.email_id === emailId),
    { what: `the event of ${emailId}`, timeoutMs: 60_000 },
  );
}

async function verify(api: SystemProcess, name: string): Promise<void> {
  const { body } = await post(api, 'domains', { name });
  const identity = ses.identities.get(name);
  if (identity === undefined) throw new Error('SES has no such identity');
  publishKeys(identity);
  expect((await post(api, `domains/${String(body['id'])}/verify`, {})).status).toBe(200);
}

test('when the API does not know of SES, mail from an unverified domain still does not leave', async () => {
  const api = await system.start('api');
  await startSender();
  await system.webhook('/hook');
  expect(await eventOf(await send(api, 'Boss <ceo@other-tenant.example>'))).toMatchObject({
    type: 'email.failed',
    data: { error: 'the account has not verified the domain other-tenant.example' },
  });
  expect(ses.messages).toEqual([]);

  // Started again, the API uses the provider that the worker has stored, and refuses at once.
  const next = await system.start('api');
  expect(await post(next, 'emails', message('ceo@other-tenant.example'))).toMatchObject({
    status: 403,
    body: { type: expect.stringMatching(/domain-not-verified$/) },
  });
});

test('mail that was accepted from a verified domain does not leave when the domain is no longer verified', async () => {
  const api = await system.start('api', withSes);
  await system.webhook('/hook');
  await verify(api, 'mine.example');
  const [old, current] = [await send(api, 'a@mine.example'), await send(api, 'b@mine.example')];
  // An earlier release did not store the domain in From.
  await system.db.query('update emails set from_domain = null where id = $1', [old]);
  await system.db.query(`update domains set status = 'failed'`);
  await startSender();
  for (const id of [old, current]) expect(await eventOf(id)).toMatchObject({ type: 'email.failed' });
  expect(ses.messages).toEqual([]);

  await system.db.query(`update domains set status = 'verified'`);
  const id = await send(api, 'c@mine.example');
  expect(await eventOf(id)).toMatchObject({ type: 'email.sent' });
  expect(ses.messages).toMatchObject([{ tags: { email_id: id } }]);
});

test('a worker ends with one line when its environment names another provider than the stored one, or lacks a variable of the stored one', async () => {
  await system.db.query(`insert into installation (mail_provider) values ('ses')`);
  for (const [env, words] of [
    [{ MAIL_PROVIDER: 'sandbox' }, '`postrider installation set mail-provider sandbox`'],
    [{}, 'AWS_REGION'],
  ] as const) {
    await expect(system.start('worker', env)).rejects.toThrow('ended while starting');
    const ended = system.processes.at(-1);
    expect(await ended?.exited()).toBe(1);
    expect(ended?.stderr).toEqual([expect.stringContaining(words)]);
  }
});
