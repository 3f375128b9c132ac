import { createServer } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  cleanUpAfterEach,
  CLOSED_PORT,
  listen,
  serviceDrop,
  serviceHang,
  servicePage,
  sesDrip,
  sesError,
  sesThrottle,
  setEnvironment,
  startFakeSes,
  waitFor,
} from '@postrider/testing';
import type { FakeSes, ServiceReaction } from '@postrider/testing';
import { outgoingMessage } from '../../test/outgoing-message.ts';
import { createMailProvider } from '../create-mail-provider.ts';
import type { MailTransport } from '../mail-provider.ts';
import type { SesOptions } from './client.ts';
import { createSesTransport } from './transport.ts';

/** Far longer than any exchange here takes; and short, where it is to run out. */
const LONG_MS = 20_000;
const SHORT_MS = 1000;

let ses: FakeSes;
const atEnd = cleanUpAfterEach();
beforeEach(async () => {
  ses = await startFakeSes();
  atEnd(() => ses.close());
  atEnd(setEnvironment({ ...NO_CREDENTIALS, ...ses.environment }));
});

/** Whatever the machine has of its own stays out of the tests. */
const NO_CREDENTIALS = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: undefined,
  AWS_EC2_METADATA_SERVICE_ENDPOINT: undefined,
};

function provide(options: Partial<SesOptions> = {}): MailTransport {
  const provider = createSesTransport({ region: 'eu-central-1', timeoutMs: LONG_MS, ...options });
  atEnd(() => provider.close());
  return provider;
}

describe('a message that SES accepts', () => {
  test('is sent as raw MIME, once, to its recipients, under its own From', async () => {
    const answer = await provide().send(
      outgoingMessage({
        from: 'Ämter, Köln <orders@mail.example.com>',
        cc: ['Jane <jane@example.net>', 'c@example.net'],
        bcc: ['secret@example.net'],
      }),
    );
    expect(answer).toEqual({ kind: 'accepted', providerMessageId: 'fake-1', notifications: [] });
    expect(ses.requests.map(({ operation }) => operation)).toEqual(['SendEmail']);
    expect(ses.requests[0]?.body).not.toHaveProperty('FromEmailAddress');
    const [message] = ses.messages;
    expect(message?.destination).toEqual({
      ToAddresses: ['jane@example.net'],
      CcAddresses: ['c@example.net'],
      BccAddresses: ['secret@example.net'],
    });
    expect(message?.mail).toMatchObject({
      from: { name: 'Ämter, Köln', address: 'orders@mail.example.com' },
      subject: 'Your order',
      messageId: '<em_01jd0000000000000000000001@mail.example.com>',
    });
    expect(message?.raw.toString('latin1')).not.toMatch(/bcc|secret/i);
  });

  test('goes to the rest of its recipients alone, when the others have it from another provider', async () => {
    await provide().send(
      outgoingMessage({ cc: ['c@example.net'], bcc: ['b@example.net'], only: ['c@example.net'] }),
    );
    const [message] = ses.messages;
    expect(message?.destination).toEqual({
      ToAddresses: [],
      CcAddresses: ['c@example.net'],
      BccAddresses: [],
    });
    expect(message?.mail.to).toMatchObject([{ address: 'jane@example.net' }]);
  });

  test('carries our id and those tags of the customer that SES allows', async () => {
    const tags = [
      { name: 'category', value: 'welcome' },
      { name: 'category', value: 'second' },
      { name: 'email_id', value: 'em_forged' },
      { name: 'größe', value: 'x' },
      { name: 'plan', value: 'über' },
      { name: 'empty', value: '' },
      { name: 'long', value: 'x'.repeat(257) },
      { name: 'x'.repeat(256), value: 'x'.repeat(256) },
      { name: '__proto__', value: 'polluted' },
    ];
    await provide().send(outgoingMessage({ tags }));
    expect(ses.requests[0]?.body['EmailTags']).toEqual([
      { Name: 'email_id', Value: 'em_01jd0000000000000000000001' },
      { Name: 'category', Value: 'welcome' },
      { Name: 'x'.repeat(256), Value: 'x'.repeat(256) },
      { Name: '__proto__', Value: 'polluted' },
    ]);
  });

  test('has 50 tags at most, ours among them, and so not the last of 50', async () => {
    const tags = Array.from({ length: 50 }, (_, n) => ({ name: `tag-${n}`, value: 'x' }));
    await provide().send(outgoingMessage({ tags }));
    expect(Object.keys(ses.messages[0]?.tags ?? {})).toHaveLength(50);
    expect(ses.messages[0]?.tags).toHaveProperty('email_id');
    expect(ses.messages[0]?.tags).toHaveProperty('tag-48');
    expect(ses.messages[0]?.tags).not.toHaveProperty('tag-49');
  });

  test('names the configuration set when there is one', async () => {
    const live = await createMailProvider({
      provider: 'ses',
      awsRegion: 'eu-central-1',
      sesConfigurationSet: 'live',
      sandboxDir: '/nowhere',
      timeoutMs: LONG_MS,
      connectionsMax: 1,
    });
    atEnd(() => live.close());
    await live.send(outgoingMessage());
    await provide().send(outgoingMessage());
    expect(ses.messages.map(({ configurationSet }) => configurationSet)).toEqual(['live', null]);
  });

  test('is signed with the credentials of the environment, for the region', async () => {
    await provide({ region: 'ap-southeast-2' }).send(outgoingMessage());
    expect(ses.requests[0]?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAFAKE\/\d{8}\/ap-southeast-2\/ses\/aws4_request/,
    );
  });

  test('goes over a connection that is kept', async () => {
    const provider = provide({ connectionsMax: 1 });
    await Promise.all([provider.send(outgoingMessage()), provider.send(outgoingMessage())]);
    await provider.send(outgoingMessage());
    expect(ses.messages).toHaveLength(3);
    expect(ses.openSockets).toBe(1);
  });
});

describe('what SES says about the message is final, and asked once', () => {
  test.each([
    [400, 'MessageRejected', 'Email address is not verified.'],
    [400, 'MailFromDomainNotVerifiedException', 'Not yet.'],
    [400, 'BadRequestException', 'Illegal address'],
    [413, 'RequestEntityTooLargeException', 'too large'],
    [403, 'SomethingNewException', 'never heard of'],
  ])('%d %s', async (status, name, message) => {
    ses.script('SendEmail', [sesError(status, name, message)]);
    expect(await provide().send(outgoingMessage())).toEqual({
      kind: 'refused',
      error: `${name}: ${message}`,
    });
    expect(ses.requests).toHaveLength(1);
  });

  test('in one line of bounded length', async () => {
    ses.script('SendEmail', [sesError(400, 'MessageRejected', `a\r\nb\u0000c ${'x'.repeat(2000)}`)]);
    const answer = await provide().send(outgoingMessage());
    expect(answer).toEqual({
      kind: 'refused',
      error: expect.stringMatching(/^MessageRejected: a b c x+$/),
    });
    expect(answer.kind === 'refused' && answer.error.length).toBe(500);
  });
});

test.each<[string, ServiceReaction, string]>([
  ['429', sesThrottle, 'TooManyRequestsException: Maximum sending rate exceeded.'],
  ['400', sesError(400, 'ThrottlingException', 'Daily quota'), 'ThrottlingException: Daily quota'],
  ['a quota', sesError(400, 'LimitExceededException', 'Daily'), 'LimitExceededException: Daily'],
])('throttling by %s is told from a deferral, and asked once', async (_status, reaction, error) => {
  ses.script('SendEmail', [reaction]);
  expect(await provide().send(outgoingMessage())).toEqual({ kind: 'throttled', error });
  expect(ses.requests).toHaveLength(1);
});

describe('what may be different next time is deferred, and asked once', () => {
  test.each<[string, ServiceReaction, string | RegExp]>([
    ['a request too slow for them', sesError(400, 'RequestTimeout', 'slow'), 'RequestTimeout: slow'],
    ['500', sesError(500, 'InternalFailure', 'oops'), 'InternalFailure: oops'],
    ['503', sesError(503, 'ServiceUnavailable', 'later'), 'ServiceUnavailable: later'],
    ['a paused account', sesError(400, 'SendingPausedException', 'paused'), /paused$/],
    ['an account that may not send', sesError(400, 'AccountSuspendedException', 'no'), /no$/],
    ['no such configuration set', sesError(404, 'NotFoundException', 'no set'), /no set$/],
    ['a dropped connection', serviceDrop, 'no answer from the mail provider'],
    ['JSON of a proxy', servicePage(403, '{"code":"FORBIDDEN"}'), /cannot be read \(status 403\)$/],
    ['a page of a proxy', servicePage(403), /cannot be read \(status 403\)$/],
    ['JSON of a proxy', servicePage(403, '{"message":"Forbidden"}'), /cannot be read \(status 403\)$/],
    ['JSON of a proxy with a number', servicePage(403, '{"code":403}'), /cannot be read \(status 403\)$/],
    ['JSON that names no error', servicePage(400, '{}'), /cannot be read \(status 400\)$/],
    ['JSON of a gateway', servicePage(502, '{"message":"Bad Gateway"}'), /cannot be read \(status 502\)$/],
    ['a page where the acceptance should be', servicePage(200), /cannot be read \(status 200\)$/],
    ['an answer without an id', servicePage(200, '{}'), /cannot be read \(status 200\)$/],
    ['an answer without a body', servicePage(204, ''), /cannot be read \(status 204\)$/],
    ['a page of a gateway', servicePage(502), /cannot be read \(status 502\)$/],
  ])('%s', async (_what, reaction, error) => {
    ses.script('SendEmail', [reaction]);
    const expected = typeof error === 'string' ? error : expect.stringMatching(error);
    expect(await provide().send(outgoingMessage())).toMatchObject({ kind: 'deferred', error: expected });
    expect(ses.requests).toHaveLength(1);
  });

  test.each([
    [403, 'ExpiredTokenException', 'The security token included in the request is expired'],
    [403, 'InvalidSignatureException', 'Signature expired: 20260101T000000Z'],
    [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.'],
    [403, 'SignatureDoesNotMatch', 'The canonical string for this request should have been AKIDEXAMPLE'],
    [403, 'RequestExpired', 'Request has expired: 20260101T000000Z'],
    [403, 'RequestInTheFuture', 'Signature not yet current: 20260101T000000Z'],
    [403, 'IncompleteSignature', 'Authorization header requires Credential=AKIDEXAMPLE'],
    [403, 'InvalidAccessKeyId', 'There is no key AKIDEXAMPLE'],
    [403, 'InvalidClientTokenId', 'The security token included in the request is invalid'],
    [403, 'MissingAuthenticationTokenException', 'Missing Authentication Token'],
    [403, 'OptInRequired', 'The key AKIDEXAMPLE needs a subscription for the service'],
  ])('%d %s: our credentials, in words that tell nothing of them', async (status, name, message) => {
    ses.script('SendEmail', [sesError(status, name, message)]);
    expect(await provide().send(outgoingMessage())).toEqual({
      kind: 'deferred',
      error: 'the mail provider does not accept our credentials',
      code: name,
    });
  });

  test.each(['AccessDeniedException', 'AccessDenied', 'NotAuthorized'])(
    '403 %s: the operator reads which right is missing, and the customer does not',
    async (name) => {
      const message = 'User: arn:aws:iam::1:user/x is not authorized to perform: ses:SendRawEmail';
      ses.script('SendEmail', [sesError(403, name, message)]);
      expect(await provide().send(outgoingMessage())).toEqual({
        kind: 'deferred',
        error: 'the mail provider does not accept our credentials',
        code: `${name}: ${message}`,
      });
    },
  );

  test('nobody there', async () => {
    atEnd(setEnvironment({ AWS_ENDPOINT_URL_SESV2: `http://127.0.0.1:${CLOSED_PORT}` }));
    expect(await provide().send(outgoingMessage())).toEqual({
      kind: 'deferred',
      error: 'no answer from the mail provider',
      code: 'ECONNREFUSED',
    });
  });
});

describe('the time limit fires whatever SES does, and its connection goes', () => {
  test.each<[string, ServiceReaction]>([
    ['silence', serviceHang],
    ['a byte now and then, for ever', sesDrip(20)],
  ])('%s', async (_what, reaction) => {
    ses.script('SendEmail', [reaction]);
    const provider = provide({ timeoutMs: SHORT_MS });
    expect(await provider.send(outgoingMessage())).toEqual({
      kind: 'deferred',
      error: 'no answer from the mail provider in time',
    });
    await waitFor(() => ses.openSockets === 0, { what: 'the connection to end' });
    expect((await provider.send(outgoingMessage())).kind).toBe('accepted');
  });

  test('no connection free', async () => {
    ses.always('SendEmail', serviceHang);
    const provider = provide({ timeoutMs: SHORT_MS, connectionsMax: 1 });
    const answers = await Promise.all([provider.send(outgoingMessage()), provider.send(outgoingMessage())]);
    expect(answers.map(({ kind }) => kind)).toEqual(['deferred', 'deferred']);
  });

  test('close breaks off what is running; what comes after is deferred', async () => {
    ses.always('SendEmail', serviceHang);
    const provider = provide();
    const running = provider.send(outgoingMessage());
    await ses.waitForRequests('SendEmail', 1);
    provider.close();
    expect((await running).kind).toBe('deferred');
    expect((await provider.send(outgoingMessage())).kind).toBe('deferred');
  });
});

describe('credentials', () => {
  test('of the environment are enough: the metadata service of the machine is not asked', async () => {
    const metadata = await metadataService();
    atEnd(setEnvironment({ AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url }));
    expect((await provide().send(outgoingMessage())).kind).toBe('accepted');
    expect(metadata.requests()).toBe(0);
  });

  // This test loads the code for credentials first. The next one has no time for that within its limit.
  test('that are nowhere defer the message', async () => {
    atEnd(setEnvironment({ ...NO_CREDENTIALS, AWS_EC2_METADATA_DISABLED: 'true' }));
    expect(await provide().send(outgoingMessage())).toEqual({
      kind: 'deferred',
      error: 'no credentials for the mail provider',
    });
  });

  test('that a silent metadata service does not give are waited for no longer than the time limit', async () => {
    const metadata = await metadataService();
    atEnd(setEnvironment({ ...NO_CREDENTIALS, AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url }));
    const answer = await provide({ timeoutMs: SHORT_MS }).send(outgoingMessage());
    expect(answer).toEqual({
      kind: 'deferred',
      error: 'no answer from the mail provider in time',
    });
    expect(metadata.requests()).toBeGreaterThan(0);
    expect(ses.requests).toHaveLength(0);
  });
});

/** A metadata service that takes connections and never answers, as behind a firewall that drops. */
async function metadataService(): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const { port, close } = await listen(createServer(() => (requests += 1)));
  atEnd(close);
  return { url: `http://127.0.0.1:${port}`, requests: () => requests };
}
