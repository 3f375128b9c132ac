import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import {
  cleanUpAfterEach,
  newIdentity,
  serviceDrop,
  serviceHang,
  servicePage,
  sesDrip,
  sesError,
  sesThrottle,
  setEnvironment,
  startFakeSes,
} from '@postrider/testing';
import type { FakeSes, ServiceReaction, SesOperation } from '@postrider/testing';
import type { DomainProvider } from '../domain-provider.ts';
import { createSesDomains } from './domains.ts';

const LONG_MS = 20_000;
const SHORT_MS = 1000;
const ACME = 'acct_01jd0000000000000000000002' as AccountId;
const OTHER = 'acct_01jd0000000000000000000003' as AccountId;
const DOMAIN = 'mail.example.com';
/** The settings of a new identity. */
const SETTINGS: readonly SesOperation[] = [
  'PutEmailIdentityMailFromAttributes',
  'PutEmailIdentityFeedbackAttributes',
];

let ses: FakeSes;
let domains: DomainProvider;
const atEnd = cleanUpAfterEach();
beforeEach(async () => {
  ses = await startFakeSes();
  atEnd(() => ses.close());
  atEnd(setEnvironment(ses.environment));
  domains = provide(LONG_MS);
});

function provide(timeoutMs: number, configurationSet: string | null = 'events'): DomainProvider {
  const set = configurationSet ?? undefined;
  const provider = createSesDomains({ region: 'eu-central-1', timeoutMs, configurationSet: set });
  atEnd(() => provider.close());
  return provider;
}

const operations = () => ses.requests.map(({ operation }) => operation);
const create = (accountId = ACME) => domains.create({ domain: DOMAIN, accountId });

/** The identity that the fake has, to be changed by a test. */
function identity() {
  const found = ses.identities.get(DOMAIN);
  if (found === undefined) throw new Error('the fake has no such identity');
  return found;
}

describe('create', () => {
  test('answers with every record to publish: return path (MX, SPF) and three DKIM keys', async () => {
    const answer = await create();
    const [one, two, three] = identity().DkimAttributes.Tokens;
    const spf = { record: 'SPF', name: `send.${DOMAIN}`, ttl: 'Auto', status: 'not_started' };
    const dkim = (token = '') => ({
      record: 'DKIM',
      name: `${token}._domainkey.${DOMAIN}`,
      type: 'CNAME',
      ttl: 'Auto',
      status: 'pending',
      value: `${token}.dkim.amazonses.com`,
    });
    expect(answer).toEqual({
      kind: 'ok',
      value: {
        status: 'pending',
        records: [
          { ...spf, type: 'MX', value: 'feedback-smtp.eu-central-1.amazonses.com', priority: 10 },
          { ...spf, type: 'TXT', value: 'v=spf1 include:amazonses.com ~all' },
          dkim(one),
          dkim(two),
          dkim(three),
        ],
      },
    });
    expect(domains.region).toBe('eu-central-1');
  });

  test('sets a return path that does not stop mail while its record is missing', async () => {
    await create();
    expect(identity().MailFromAttributes).toMatchObject({
      MailFromDomain: `send.${DOMAIN}`,
      BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
    });
  });

  test('ends the mail of SES about bounces and complaints to the sender', async () => {
    await create();
    expect(identity().FeedbackForwardingStatus).toBe(false);
  });

  test('keeps that mail without a configuration set: nothing else reports', async () => {
    domains = provide(LONG_MS, null);
    expect((await create()).kind).toBe('ok');
    expect(identity().FeedbackForwardingStatus).toBe(true);
  });

  test.each(SETTINGS)('asked again by the same account goes on where %s stopped', async (setting) => {
    ses.script(setting, [serviceDrop]);
    ses.script('DeleteEmailIdentity', [serviceDrop]);
    expect((await create()).kind).toBe('unavailable');
    const tokens = identity().DkimAttributes.Tokens;
    const answer = await create();
    expect(answer.kind).toBe('ok');
    expect(identity().DkimAttributes.Tokens).toBe(tokens);
    expect(identity()).toMatchObject({
      MailFromAttributes: { MailFromDomain: `send.${DOMAIN}` },
      FeedbackForwardingStatus: false,
    });
    expect(JSON.stringify(answer)).toContain(tokens[0]);
  });

  test.each(SETTINGS)('leaves nothing behind when %s is refused', async (setting) => {
    ses.script(setting, [sesError(400, 'BadRequestException', 'no')]);
    expect(await create()).toEqual({ kind: 'refused', detail: 'BadRequestException: no' });
    expect(ses.identities.size).toBe(0);
  });

  test.each(SETTINGS)('again, failing at %s, keeps the identity that was there', async (setting) => {
    await create();
    ses.script(setting, [sesThrottle]);
    expect((await create()).kind).toBe('unavailable');
    expect(ses.identities.has(DOMAIN)).toBe(true);
  });

  test.each([
    ['another account', [{ Key: 'postrider-account', Value: OTHER }]],
    ['nobody we know', []],
    ['somebody who uses our account id for something else', [{ Key: 'team', Value: ACME }]],
  ])('is refused an identity of %s, verified or not, and touches nothing of it', async (_whose, tags) => {
    ses.identities.set(DOMAIN, { ...newIdentity(tags), VerifiedForSendingStatus: true });
    expect(await create()).toEqual({
      kind: 'refused',
      detail: `AlreadyExistsException: Email identity ${DOMAIN} already exist.`,
    });
    expect(operations()).toEqual(['CreateEmailIdentity', 'GetEmailIdentity']);
  });
});

describe('get', () => {
  beforeEach(async () => {
    await create();
  });

  test.each([
    [{ VerifiedForSendingStatus: true, VerificationStatus: 'SUCCESS' }, 'verified'],
    [{ VerifiedForSendingStatus: true, VerificationStatus: 'TEMPORARY_FAILURE' }, 'verified'],
    [{ VerifiedForSendingStatus: false, VerificationStatus: 'SUCCESS' }, 'pending'],
    [{ VerifiedForSendingStatus: false, VerificationStatus: 'PENDING' }, 'pending'],
    [{ VerifiedForSendingStatus: false, VerificationStatus: 'NOT_STARTED' }, 'pending'],
    [{ VerifiedForSendingStatus: false, VerificationStatus: 'FAILED' }, 'failed'],
    [{ VerifiedForSendingStatus: false, VerificationStatus: 'TEMPORARY_FAILURE' }, 'temporary_failure'],
  ] as const)('%j is %s: whether SES sends for it decides', async (change, status) => {
    Object.assign(identity(), change);
    expect(await domains.get(DOMAIN)).toMatchObject({ kind: 'ok', value: { status } });
  });

  test.each([
    ['SUCCESS', 'verified'],
    ['PENDING', 'pending'],
    ['FAILED', 'failed'],
    ['TEMPORARY_FAILURE', 'temporary_failure'],
    ['NOT_STARTED', 'not_started'],
  ] as const)('shows each record with the status of its own: %s is %s', async (theirs, ours) => {
    identity().DkimAttributes.Status = theirs;
    const statuses = async () => {
      const answer = await domains.get(DOMAIN);
      return answer.kind === 'ok' && answer.value?.records.map(({ record, status }) => [record, status]);
    };
    expect(await statuses()).toEqual([
      ['SPF', 'pending'],
      ['SPF', 'pending'],
      ['DKIM', ours],
      ['DKIM', ours],
      ['DKIM', ours],
    ]);
    identity().DkimAttributes.Status = 'SUCCESS';
    Object.assign(identity().MailFromAttributes ?? {}, { MailFromDomainStatus: theirs });
    expect(await statuses()).toEqual(expect.arrayContaining([['SPF', ours]]));
  });

  test('knows the regions whose DKIM zone is their own', async () => {
    identity().DkimAttributes.SigningHostedZone = 'abc.dkim.eu-central-2.amazonses.com';
    const [token] = identity().DkimAttributes.Tokens;
    const answer = await domains.get(DOMAIN);
    expect(answer.kind === 'ok' && answer.value?.records[2]?.value).toBe(
      `${token}.abc.dkim.eu-central-2.amazonses.com`,
    );
  });

  test('of a word that SES does not use yet is pending', async () => {
    const body = {
      VerifiedForSendingStatus: false,
      VerificationStatus: 'REVIEW',
      DkimAttributes: { Status: 'REVIEW', Tokens: ['t'] },
    };
    ses.script('GetEmailIdentity', [servicePage(200, JSON.stringify(body))]);
    expect(await domains.get(DOMAIN)).toMatchObject({
      value: { status: 'pending', records: [{}, {}, { record: 'DKIM', status: 'pending' }] },
    });
  });

  test('is not known from an answer with nothing in it', async () => {
    ses.script('GetEmailIdentity', [servicePage(200, '{}')]);
    expect(await domains.get(DOMAIN)).toMatchObject({
      kind: 'unavailable',
      detail: 'an answer of the mail provider that cannot be read (status 200)',
    });
  });
});

describe('delete', () => {
  test('removes the identity; one that is not there is as good as deleted', async () => {
    await create();
    expect(await domains.delete(DOMAIN)).toEqual({ kind: 'ok', value: null });
    expect(ses.identities.size).toBe(0);
    expect(await domains.delete(DOMAIN)).toEqual({ kind: 'ok', value: null });
  });
});

describe('every operation', () => {
  const calls: readonly [SesOperation, (provider: DomainProvider) => Promise<{ kind: string }>][] = [
    ['CreateEmailIdentity', (provider) => provider.create({ domain: DOMAIN, accountId: ACME })],
    ...SETTINGS.map((name): [SesOperation, (provider: DomainProvider) => Promise<{ kind: string }>] => [
      name,
      (provider) => provider.create({ domain: DOMAIN, accountId: ACME }),
    ]),
    ['GetEmailIdentity', (provider) => provider.get(DOMAIN)],
    ['DeleteEmailIdentity', (provider) => provider.delete(DOMAIN)],
  ];

  test.each(calls)(
    '%s: 5xx, throttling, a lost connection and nonsense are unavailable',
    async (name, call) => {
      const reactions: ServiceReaction[] = [
        sesError(500, 'InternalFailure', 'oops'),
        sesError(503, 'ServiceUnavailable', 'later'),
        sesThrottle,
        sesError(400, 'ThrottlingException', 'slow'),
        serviceDrop,
        servicePage(502),
      ];
      for (const reaction of reactions) {
        ses.script(name, [reaction]);
        expect((await call(domains)).kind).toBe('unavailable');
      }
    },
  );

  test.each(calls)(
    '%s: any other 4xx is refused, also one about our account or not of AWS',
    async (name, call) => {
      for (const fault of ['BadRequestException', 'LimitExceededException', 'SomethingNewException']) {
        ses.script(name, [sesError(400, fault, 'no')]);
        expect(await call(domains)).toEqual({ kind: 'refused', detail: `${fault}: no` });
      }
      ses.script(name, [servicePage(403)]);
      expect((await call(domains)).kind).toBe('refused');
      ses.script(name, [sesError(403, 'AccessDeniedException', 'arn:aws:iam::123456789012:user/x')]);
      expect(await call(domains)).toEqual({
        kind: 'refused',
        detail: 'the mail provider does not accept our credentials',
        code: 'AccessDeniedException: arn:aws:iam::123456789012:user/x',
      });
    },
  );

  test.each(calls)('%s: silence and a byte now and then end at the time limit', async (name, call) => {
    const hasty = provide(SHORT_MS);
    for (const reaction of [serviceHang, sesDrip(20)]) {
      ses.identities.clear();
      ses.script(name, [reaction]);
      expect(await call(hasty)).toEqual({
        kind: 'unavailable',
        detail: 'no answer from the mail provider in time',
      });
    }
  });
});

test('close breaks off what is running, as unavailable', async () => {
  ses.always('GetEmailIdentity', serviceHang);
  const running = domains.get(DOMAIN);
  await ses.waitForRequests('GetEmailIdentity', 1);
  domains.close();
  expect((await running).kind).toBe('unavailable');
});
