import { describe, expect, test } from '@jest/globals';
import { parseReply, requestedEmail } from '@postrider/domain';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ruleRequest } from '../routes/routing-rules.ts';
import { webhookRequest } from '../routes/webhooks.ts';
import { openApiDocument } from './openapi.ts';

/* A client that is made from the document can send what the API takes, and is warned of what it refuses. */

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const { schemas } = (openApiDocument() as { components: { schemas: Readonly<Record<string, object>> } })
  .components;
const schemaOf = (name: string): object => schemas[name] ?? {};
const takesEmail = ajv.compile(schemaOf('EmailRequest'));
const takesReply = ajv.compile(schemaOf('ReplyRequest'));
const takesWebhook = ajv.compile(schemaOf('WebhookRequest'));
const takesRule = ajv.compile(schemaOf('InboundRouteRequest'));

const REQUIRED = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi' };
const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `r${n}@b.example`);
const OPTIONAL = ['cc', 'bcc', 'reply_to', 'headers', 'tags', 'attachments', 'topic_id', 'html'];

describe('the schema of a message says what the API says', () => {
  test.each([
    ...OPTIONAL.map((field) => [`${field} null`, { text: 'Hi', [field]: null }, true] as const),
    ['html alone', { html: '<p>Hi</p>' }, true],
    ['an empty text', { text: '' }, true],
    ['neither html nor text', {}, false],
    ['html and text null', { html: null, text: null }, false],
    ['to null', { text: 'Hi', to: null }, false],
    ['to without an address', { text: 'Hi', to: [] }, false],
    ['50 recipients', { text: 'Hi', to: many(50) }, true],
    ['51 recipients', { text: 'Hi', to: many(51) }, false],
    ['51 in cc', { text: 'Hi', cc: many(51) }, false],
    ['51 to reply to', { text: 'Hi', reply_to: many(51) }, false],
    ['no headers', { text: 'Hi', headers: {} }, true],
    ['a header that is a list', { text: 'Hi', headers: ['X-A'] }, false],
    ['a tag with a blank', { text: 'Hi', tags: [{ name: 'a b', value: '1' }] }, false],
    [
      'an attachment by path',
      { text: 'Hi', attachments: [{ filename: 'a', content: '', path: '/a' }] },
      false,
    ],
    ['an attachment in bytes', { text: 'Hi', attachments: [{ filename: 'a', content: [0, 255] }] }, true],
    ['a byte of 256', { text: 'Hi', attachments: [{ filename: 'a', content: [256] }] }, false],
    [
      'a Buffer as Node writes it to JSON, inline',
      {
        text: 'Hi',
        attachments: [{ filename: 'a', content: { type: 'Buffer', data: [1] }, inline_content_id: 'a' }],
      },
      true,
    ],
    [
      'an object without bytes',
      { text: 'Hi', attachments: [{ filename: 'a', content: { data: [1] } }] },
      false,
    ],
    [
      'an attachment whose path is null',
      { text: 'Hi', attachments: [{ filename: 'a', content: 'aGk=', path: null }] },
      true,
    ],
    ['scheduled_at', { text: 'Hi', scheduled_at: 'in 1 min' }, false],
    ['scheduled_at null', { text: 'Hi', scheduled_at: null }, true],
    ['an empty template', { text: 'Hi', template: [] }, true],
  ])('%s', (_, more, taken) => {
    const body = { ...REQUIRED, ...more };
    expect({ schema: takesEmail(body), api: requestedEmail(body).parse.ok }).toEqual({
      schema: taken,
      api: taken,
    });
  });
});

describe('the schema of a reply says what the API says', () => {
  const inbox = { address: 'a@a.example', fromName: null };
  const answered = {
    direction: 'inbound',
    from: 'b@b.example',
    to: [],
    cc: [],
    replyTo: [],
    subject: null,
    ids: [],
    references: [],
  } as const;
  test.each([
    ['a text alone', {}, true],
    ['null in every field', { cc: null, bcc: null, headers: null, attachments: null, reply_all: null }, true],
    ['a subject of null', { subject: null }, true],
    ['51 in bcc', { bcc: many(51) }, false],
    ['a cc that is a number', { cc: 5 }, false],
    ['reply_all in words', { reply_all: 'yes' }, false],
    ['headers that are a list', { headers: ['X-A'] }, false],
    ['an attachment without content', { attachments: [{ filename: 'a' }] }, false],
  ])('%s', (_, more, taken) => {
    const body = { text: 'Hi', ...more };
    expect({ schema: takesReply(body), api: parseReply(body, inbox, answered).ok }).toEqual({
      schema: taken,
      api: taken,
    });
  });
});

describe('the schema of a webhook says what the API says', () => {
  const long = (length: number): string => 'https://a.example/'.padEnd(length, 'x');
  test.each([
    ['an https URL', { endpoint: 'https://a.example/hook' }, true],
    ['its scheme in capitals', { endpoint: 'HTTPS://a.example/hook' }, true],
    ['an http URL', { endpoint: 'http://a.example/hook' }, false],
    ['a host name alone', { endpoint: 'a.example' }, false],
    ['2,048 characters', { endpoint: long(2_048) }, true],
    ['2,049 characters', { endpoint: long(2_049) }, false],
    ['an unknown type', { endpoint: 'https://a.example', events: ['email.unknown'] }, false],
    ['no endpoint', {}, false],
  ])('%s', (_, body, taken) => {
    expect({ schema: takesWebhook(body), api: webhookRequest.safeParse(body).success }).toEqual({
      schema: taken,
      api: taken,
    });
  });
});

describe('the schema of a rule says what the API says', () => {
  const RULE = { match: 'a@a.example', endpoint: 'https://a.example/hook' };
  test.each([
    ['no more than it must have', {}, true],
    ['an http URL', { endpoint: 'http://a.example/hook' }, false],
    ['no events', { events: [] }, true],
    ['both events', { events: ['message.held', 'message.received'] }, true],
    ['another event', { events: ['email.sent'] }, false],
    ['events null', { events: null }, false],
    ['no name', { name: null }, true],
    ['100 characters of name', { name: '\u{1f389}'.repeat(100) }, true],
    ['101 characters of name', { name: '\u{1f389}'.repeat(101) }, false],
    ['no match', { match: undefined }, false],
  ])('%s', (_, more, taken) => {
    const body = JSON.parse(JSON.stringify({ ...RULE, ...more })) as unknown;
    expect({ schema: takesRule(body), api: ruleRequest.safeParse(body).success }).toEqual({
      schema: taken,
      api: taken,
    });
  });
});
