import { GetEmailIdentityCommand } from '@aws-sdk/client-sesv2';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  cleanUpAfterEach,
  newIdentity,
  serviceHang,
  setEnvironment,
  startFakeSes,
  waitFor,
} from '@postrider/testing';
import type { FakeSes } from '@postrider/testing';
import { sdkTimeouts, SesClient } from './client.ts';
import type { SdkTimeouts } from './client.ts';

/** The time limit of an operation, far longer than any exchange here. */
const LONG_MS = 20_000;
const DOMAIN = 'mail.example.com';

let ses: FakeSes;
const atEnd = cleanUpAfterEach();
beforeEach(async () => {
  ses = await startFakeSes();
  atEnd(() => ses.close());
  atEnd(setEnvironment(ses.environment));
});

function connect(timeouts?: SdkTimeouts): SesClient {
  const client = new SesClient({ region: 'eu-central-1', timeoutMs: LONG_MS, connectionsMax: 1 }, timeouts);
  atEnd(() => client.close());
  return client;
}

function getDomain(client: SesClient): Promise<unknown> {
  const command = new GetEmailIdentityCommand({ EmailIdentity: DOMAIN });
  return client.operation((sdk, options) => sdk.send(command, options));
}

describe('long before the time of an operation is up', () => {
  test('the SDK throws for a request that is not answered in its time, and ends its connection', async () => {
    ses.always('GetEmailIdentity', serviceHang);
    await expect(getDomain(connect({ connectionMs: LONG_MS, requestMs: 100 }))).rejects.toMatchObject({
      name: 'SesNoAnswerError',
      message: 'no answer from the mail provider in time',
      cause: { name: 'TimeoutError', code: 'ETIMEDOUT' },
    });
    await waitFor(() => ses.openSockets === 0, { what: 'the connection to end' });
  });

  test('the SDK throws for a request that gets no connection in its time', async () => {
    ses.always('GetEmailIdentity', serviceHang);
    const client = connect({ connectionMs: 1000, requestMs: LONG_MS });
    const first = getDomain(client);
    await ses.waitForRequests('GetEmailIdentity', 1);
    await expect(getDomain(client)).rejects.toMatchObject({
      name: 'TimeoutError',
      message: expect.stringContaining('did not establish a connection'),
    });
    client.close();
    await expect(first).rejects.toMatchObject({ name: 'SesNoAnswerError' });
    expect(ses.requests).toHaveLength(1);
  });
});

test('an operation gives the SDK less time than it has itself, waits for a connection for 5 s at the most, and has its connection limit over http and https', async () => {
  for (const operationMs of [2, 100, 5000, 30_000, 600_000]) {
    const { connectionMs, requestMs } = sdkTimeouts(operationMs);
    expect(requestMs).toBeLessThan(operationMs);
    expect(connectionMs).toBe(Math.min(5000, requestMs));
  }
  ses.identities.set(DOMAIN, newIdentity());
  const client = connect();
  await getDomain(client);
  const used = await client.operation(async ({ config }) =>
    (config.requestHandler as unknown as { httpHandlerConfigs(): object }).httpHandlerConfigs(),
  );
  expect(used).toMatchObject({
    connectionTimeout: sdkTimeouts(LONG_MS).connectionMs,
    requestTimeout: sdkTimeouts(LONG_MS).requestMs,
    throwOnRequestTimeout: true,
    httpAgent: { maxSockets: 1 },
    httpsAgent: { maxSockets: 1 },
  });
});
