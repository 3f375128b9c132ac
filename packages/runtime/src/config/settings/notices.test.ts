import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, loadConfig, maskedConfig } from '../load.ts';

function relay(env: Readonly<Record<string, string>>) {
  return loadConfig('relay', { DATABASE_URL: 'postgres://db.example/a', ...env });
}

function problems(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    relay(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
}

describe('the events for the operator', () => {
  const OPERATOR_WEBHOOK_URL = 'http://alerts.internal/postrider?token=hunter2';
  const OPERATOR_WEBHOOK_SECRET = 's'.repeat(32);

  test('need a secret that signs them', () => {
    expect(problems({ OPERATOR_WEBHOOK_URL })).toEqual([
      'OPERATOR_WEBHOOK_SECRET is required with OPERATOR_WEBHOOK_URL (openssl rand -hex 32)',
    ]);
    expect(problems({ OPERATOR_WEBHOOK_URL, OPERATOR_WEBHOOK_SECRET })).toEqual([]);
    expect(problems({ OPERATOR_WEBHOOK_SECRET })).toEqual([]);
  });

  test.each(['s'.repeat(31), 's'.repeat(257), `${'s'.repeat(32)} s`])(
    'refuse the secret %j, and do not repeat it',
    (short) => {
      expect(problems({ OPERATOR_WEBHOOK_URL, OPERATOR_WEBHOOK_SECRET: short })).toEqual([
        'OPERATOR_WEBHOOK_SECRET must be 32 to 256 characters of ASCII without spaces',
      ]);
    },
  );

  test.each([
    ['ftp://a.example/', 'be a https:// or http:// URL'],
    ['https://user:hunter2@a.example/', 'have neither user name nor password'],
    ['a.example', 'be a https:// or http:// URL'],
  ])('refuse the URL %s, and do not repeat it', (url, must) => {
    expect(problems({ OPERATOR_WEBHOOK_URL: url, OPERATOR_WEBHOOK_SECRET })).toEqual([
      `OPERATOR_WEBHOOK_URL must ${must}`,
    ]);
  });

  test('are not shown at start', () => {
    const config = relay({ OPERATOR_WEBHOOK_URL, OPERATOR_WEBHOOK_SECRET });
    expect(maskedConfig('relay', config)).toMatchObject({
      OPERATOR_WEBHOOK_URL: '***',
      OPERATOR_WEBHOOK_SECRET: '***',
    });
  });
});

test('minutes until a notice may be a fraction, and From is a mailbox', () => {
  expect(relay({}).webhookFailingNoticeMinutes).toBe(5);
  expect(relay({ WEBHOOK_FAILING_NOTICE_MINUTES: '0.05' }).webhookFailingNoticeMinutes).toBe(0.05);
  expect(relay({ NOTICE_MAIL_FROM: 'Ops <ops@a.example>' }).noticeMailFrom).toBe('Ops <ops@a.example>');
  const wrong = { WEBHOOK_FAILING_NOTICE_MINUTES: '-1', NOTICE_MAIL_FROM: 'ops' };
  expect(problems(wrong)).toEqual([
    'WEBHOOK_FAILING_NOTICE_MINUTES must be a number from 0 to 10080, fractions allowed (got "-1")',
    'NOTICE_MAIL_FROM must be an e-mail address, with or without a name (got "ops")',
  ]);
});
