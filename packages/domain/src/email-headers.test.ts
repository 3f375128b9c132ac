import { describe, expect, test } from '@jest/globals';
import { headerFaults, headersSchema } from './email-headers.ts';

const OWN = 'is set by the service';

describe('a header that a customer must not set is refused, however it is spelled', () => {
  test.each([
    // what the fields of the request say
    'From',
    'Sender',
    'To',
    'Cc',
    'Bcc',
    'Reply-To',
    'Subject',
    // what a server writes into a message on its way, or signs it with
    'Date',
    'Message-ID',
    'Return-Path',
    'Received',
    'DKIM-Signature',
    'Authentication-Results',
    'ARC-Authentication-Results',
    'ARC-Message-Signature',
    'ARC-Seal',
    'Resent-Date',
    'Resent-To',
    // how the message is built
    'MIME-Version',
    'Content-Type',
    'Content-Transfer-Encoding',
    'Content-Disposition',
    'Content-Length',
    // orders to the provider
    'X-SES-Configuration-Set',
    'X-SES-Source-ARN',
    'X-MC-BccAddress',
    'X-MC-Subaccount',
    'X-PM-Message-Stream',
    'X-Mailgun-Recipient-Variables',
    'X-MJ-CustomID',
    'X-MSYS-API',
    'X-SMTPAPI',
    'X-Mailin-Custom',
    'X-SG-EID',
    'X-Sparkpost-Options',
  ])('%s', (name) => {
    const spellings = [name, name.toLowerCase(), name.toUpperCase()];
    const written = Object.fromEntries(spellings.map((spelling) => [spelling, 'x']));
    expect(headerFaults(written)).toEqual(
      Object.keys(written).map((spelling) => ({ name: spelling, message: OWN })),
    );
  });
});

test('headers that only look like them are free', () => {
  const free = {
    'To-Do': 'x',
    'X-To': 'x',
    'Content-Language': 'de',
    Subjects: 'x',
    'X-Session': 'x',
    'X-MC': 'x',
    'X-PMessage': 'x',
    'X-SMTPAPI-Like': 'x',
    'X-Mailer': 'x',
    'X-Mailing-List': 'x',
    'X-Sgml': 'x',
    Resentment: 'x',
    Archived: 'x',
    'List-Unsubscribe': '<https://example.com/u>',
    'In-Reply-To': '<1@example.com>',
    References: '<1@example.com>',
  };
  expect(headerFaults(free)).toEqual([]);
});

describe('References of over 997 characters', () => {
  const ids = '<a@a.example> '.repeat(100);

  test('may have any case, and spaces around the ids', () => {
    const names = Object.keys(headersSchema().patternProperties);
    for (const name of ['References', 'references', 'REFERENCES', 'ReFeReNcEs']) {
      expect(headerFaults({ [name]: `  ${ids}  ` })).toEqual([]);
      expect(names.filter((pattern) => new RegExp(pattern).test(name))).toHaveLength(1);
    }
  });

  test.each([
    ['\r\n', '', 'contains a control character'],
    ['', '\r\n', 'contains a control character'],
    ['', '\u2028', 'has over 997 characters, and is not up to 16 KiB of ids in angle brackets'],
  ])('are refused with %j before and %j behind the ids', (before, behind, message) => {
    expect(headerFaults({ references: before + ids + behind })).toEqual([{ name: 'references', message }]);
  });
});

test.each([null, undefined, 'X-A: 1', 5, [], [{ 'X-A': '1' }]])('%j is no set of headers', (written) => {
  expect(headerFaults(written)).toEqual([{ name: null, message: 'must be an object of strings' }]);
});
