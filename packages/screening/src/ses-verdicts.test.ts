import { describe, expect, test } from '@jest/globals';
import { verdictsFromSes } from './ses-verdicts.ts';

/** The example of the SES developer guide, shortened. */
const RECEIPT = {
  timestamp: '2026-11-01T12:00:00.000Z',
  processingTimeMillis: 574,
  recipients: ['support@example.com'],
  spamVerdict: { status: 'PASS' },
  virusVerdict: { status: 'PASS' },
  spfVerdict: { status: 'PASS' },
  dkimVerdict: { status: 'PASS' },
  dmarcVerdict: { status: 'PASS' },
  action: { type: 'SNS', topicArn: 'arn:aws:sns:us-east-1:123456789012:mail' },
};

test('a message that passes everything', () => {
  expect(verdictsFromSes(RECEIPT)).toEqual({
    auth: { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
    dmarcPolicy: 'none',
    virus: false,
    spam: false,
  });
});

describe('each verdict has its own word', () => {
  const each = {
    spfVerdict: { status: 'GRAY' },
    dkimVerdict: { status: 'DISABLED' },
    dmarcVerdict: { status: 'FAIL' },
    spamVerdict: { status: 'FAIL' },
  };
  test('and its own place', () => {
    expect(verdictsFromSes({ ...RECEIPT, ...each })).toMatchObject({
      auth: { spf: 'neutral', dkim: 'none', dmarc: 'fail' },
      spam: true,
      virus: false,
    });
  });

  test.each([
    ['PASS', 'pass', false, false],
    ['FAIL', 'fail', true, true],
    ['GRAY', 'neutral', null, false],
    ['PROCESSING_FAILED', 'temperror', null, false],
    ['DISABLED', 'none', null, false],
    ['SOMETHING_NEW', 'none', null, false],
  ])('%s', (status, word, spam, virus) => {
    const verdict = { status };
    const all = { spfVerdict: verdict, dkimVerdict: verdict, dmarcVerdict: verdict };
    expect(verdictsFromSes({ ...RECEIPT, ...all, spamVerdict: verdict, virusVerdict: verdict })).toEqual({
      auth: { spf: word, dkim: word, dmarc: word },
      dmarcPolicy: 'none',
      spam,
      virus,
    });
  });
});

test.each([
  ['none', 'none'],
  ['quarantine', 'quarantine'],
  ['REJECT', 'reject'],
  ['something new', 'none'],
  [null, 'none'],
])('the policy %s', (dmarcPolicy, policy) => {
  expect(verdictsFromSes({ ...RECEIPT, dmarcPolicy }).dmarcPolicy).toBe(policy);
});

test.each([
  {},
  { spfVerdict: null, dkimVerdict: 'PASS', dmarcVerdict: {}, spamVerdict: [], virusVerdict: 1 },
])('an absent or malformed verdict is not judged: %j', (receipt) => {
  expect(verdictsFromSes(receipt)).toEqual({
    auth: { spf: 'none', dkim: 'none', dmarc: 'none' },
    dmarcPolicy: 'none',
    virus: false,
    spam: null,
  });
});

test.each([undefined, null, 'receipt'])('%p is no receipt', (receipt) => {
  expect(() => verdictsFromSes(receipt)).toThrow();
});
