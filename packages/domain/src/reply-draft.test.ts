import { describe, expect, test } from '@jest/globals';
import { LIMITS } from './limits.ts';
import { parseReply } from './reply-draft.ts';
import type { AnsweredMessage, ReplyingInbox } from './reply-draft.ts';

const INBOX: ReplyingInbox = { address: 'support@shop.example', fromName: null };

const RECEIVED: AnsweredMessage = {
  direction: 'inbound',
  from: 'Ann <ann@a.example>',
  to: ['Support <support@shop.example>', 'bob@b.example'],
  cc: ['carl@c.example'],
  replyTo: [],
  subject: 'A question',
  ids: ['1@a.example'],
  references: [],
};

function draftOf(body: object, answered: Partial<AnsweredMessage> = {}, inbox = INBOX) {
  const parsed = parseReply({ text: 'Hello', ...body }, inbox, { ...RECEIVED, ...answered });
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.draft;
}

function faultOf(body: object, answered: Partial<AnsweredMessage> = {}): string {
  const parsed = parseReply(body, INBOX, { ...RECEIVED, ...answered });
  if (parsed.ok) throw new Error('it was taken');
  const { field, message, value } = parsed.fault;
  return `${[field, ...(value === undefined ? [] : [JSON.stringify(value)]), message].join(' ')}.`;
}

describe('who gets a reply', () => {
  test('the sender', () => {
    expect(draftOf({})).toMatchObject({ from: INBOX.address, to: [RECEIVED.from], cc: [] });
  });

  test('whom Reply-To names instead', () => {
    expect(draftOf({}, { replyTo: ['desk@a.example', 'Eve <eve@a.example>'] }).to).toEqual([
      'desk@a.example',
      'Eve <eve@a.example>',
    ]);
  });

  test('ten addresses of a Reply-To at most; the others are skipped', () => {
    const replyTo = Array.from({ length: 49 }, (_, n) => `victim${n}@v.example`);
    const parsed = parseReply({ text: 'Hello' }, INBOX, { ...RECEIVED, replyTo });
    expect(parsed).toMatchObject({
      ok: true,
      draft: { to: replyTo.slice(0, 10), cc: [] },
      skipped: replyTo.slice(10),
      messages: 10,
    });
    const all = parseReply({ text: 'Hello', reply_all: true }, INBOX, { ...RECEIVED, replyTo });
    expect(all).toMatchObject({
      draft: { to: replyTo.slice(0, 10), cc: ['bob@b.example', 'carl@c.example'] },
      messages: 12,
    });
    const own = { ...RECEIVED, direction: 'outbound' as const, to: replyTo };
    expect(parseReply({ text: 'Hello' }, INBOX, own)).toMatchObject({
      draft: { to: replyTo },
      skipped: [],
      messages: 1,
    });
  });

  test('whom the customer adds does not count as another message', () => {
    const body = { text: 'Hello', cc: 'dora@d.example', bcc: ['eve@e.example'] };
    expect(parseReply(body, INBOX, RECEIVED)).toMatchObject({ messages: 1 });
  });

  test('with reply_all everybody but the inbox itself, each once', () => {
    const cc = ['Carl <CARL@c.example>', 'support+7@shop.example', 'ann@a.example', 'carl@c.example'];
    const draft = draftOf({ reply_all: true, cc: 'dora@d.example' }, { cc });
    expect(draft.to).toEqual([RECEIVED.from]);
    expect(draft.cc).toEqual(['bob@b.example', 'Carl <CARL@c.example>', 'dora@d.example']);
  });

  test('both of two +tags of a foreign domain, but none of the inbox', () => {
    const tagged = ['case+1@t.example', 'case+2@t.example', 'CASE+1@t.example', 'support+1@shop.example'];
    expect(draftOf({ reply_all: true }, { cc: tagged }).cc).toEqual([
      'bob@b.example',
      'case+1@t.example',
      'case+2@t.example',
    ]);
    expect(draftOf({}, { replyTo: tagged }).to).toEqual(['case+1@t.example', 'case+2@t.example']);
  });

  test('whom the inbox wrote to, when its own message is answered', () => {
    const draft = draftOf(
      { reply_all: true },
      { direction: 'outbound', to: ['ann@a.example'], from: INBOX.address },
    );
    expect(draft).toMatchObject({ to: ['ann@a.example'], cc: ['carl@c.example'] });
  });

  test('the inbox, when it wrote to itself', () => {
    expect(draftOf({}, { from: INBOX.address }).to).toEqual([INBOX.address]);
  });

  test('nobody, when the message has no sender address', () => {
    expect(faultOf({ text: 'Hello' }, { from: '' })).toBe('The message has no sender address.');
  });

  test('nobody, when what it names is no address; the fault names it', () => {
    expect(faultOf({ text: 'Hello' }, { replyTo: ['', 'ceo at bank'] })).toBe(
      'The message can only be answered at "ceo at bank", which is not an email address.',
    );
  });

  test.each([
    'a..b@docomo.ne.jp',
    `reply+${'0f'.repeat(40)}@reply.example`,
    '"john doe"@example.net',
    'j@a_b.example.net',
    'jürgen@example.net',
  ])('%s, though RFC 5321 would not have it', (address) => {
    expect(draftOf({}, { from: address }).to).toEqual([address]);
  });
});

describe('what a reply says of itself', () => {
  test.each([
    ['A question', 'Re: A question'],
    ['RE: A question', 'RE: A question'],
    [null, 'Re: '],
    ['two\r\nlines', 'Re: two  lines'],
    ['x'.repeat(2_000), `Re: ${'x'.repeat(LIMITS.headerLength - 4)}`],
  ])('the subject of %j is %j', (subject, replied) => {
    expect(draftOf({}, { subject }).subject).toBe(replied);
  });

  test('a subject of its own', () => {
    expect(draftOf({ subject: 'Solved' }).subject).toBe('Solved');
  });

  test('the name of its inbox, quoted', () => {
    const inbox = { ...INBOX, fromName: String.raw`The "best" \ shop` };
    expect(draftOf({}, {}, inbox).from).toBe(String.raw`"The \"best\" \\ shop" <support@shop.example>`);
  });

  test('what it answers, and the whole chain before it, each id once', () => {
    const { headers } = draftOf(
      { headers: { 'X-Case': '7' } },
      { ids: ['own@x', 'ses@y'], references: ['0@a', 'own@x'] },
    );
    expect(headers).toEqual({ 'X-Case': '7', 'In-Reply-To': '<ses@y>', References: '<0@a> <own@x> <ses@y>' });
  });

  test('no id that its headers cannot hold: one beyond ASCII, or longer than a line', () => {
    const longest = `${'x'.repeat(993)}@x`;
    const ids = ['1@x', longest, `x${longest}`, 'é@x', 'a\u007Fb@x'];
    const { headers } = draftOf({}, { ids, references: ['ü@x', '0@x'] });
    const isHeld = headers['In-Reply-To'] === `<${longest}>`;
    expect([isHeld, headers['References']?.replace(longest, 'longest')]).toEqual([
      true,
      '<0@x> <1@x> <longest>',
    ]);
    expect(draftOf({}, { ids: ['é@x'], references: ['0@x'] }).headers).toEqual({ References: '<0@x>' });
  });

  test('of a long chain the first id and the newest', () => {
    const references = Array.from({ length: 150 }, (_, index) => `${index}@a.example`);
    const ids = (draftOf({}, { references, ids: ['own@a.example'] }).headers['References'] ?? '').split(' ');
    expect(ids).toHaveLength(100);
    expect([ids[0], ids[1], ids.at(-1)]).toEqual(['<0@a.example>', '<52@a.example>', '<own@a.example>']);
  });

  test('its own copies and attachments, as any send', () => {
    const attachments = [{ filename: 'a.txt', content: 'aGk=' }];
    const draft = draftOf({ bcc: ['boss@s.example'], attachments, html: '<p>Hello</p>' });
    expect(draft).toMatchObject({
      bcc: ['boss@s.example'],
      attachments,
      text: 'Hello',
      html: '<p>Hello</p>',
    });
  });

  test('the references of a message without an id, and nothing when it has none', () => {
    const { headers } = draftOf({}, { ids: [], references: ['0@a.example'] });
    expect(headers).toEqual({ References: '<0@a.example>' });
    expect(draftOf({}, { ids: [], references: [] }).headers).toEqual({});
  });
});

describe('a reply is refused', () => {
  test.each([
    [
      'with a header that the service sets',
      { text: 'a', headers: { 'REPLY-TO': 'a@b.example' } },
      /^headers\.REPLY-TO is set/,
    ],
    [
      'with reply_all that is no boolean',
      { text: 'a', reply_all: 'yes' },
      /^reply_all "yes" is not true or false/,
    ],
    ['without text and html', {}, /^text is required/],
    ['with a broken cc', { text: 'a', cc: ['nobody'] }, /^cc\[0\] "nobody" is not a valid email address\.$/],
    ['with a broken cc that is no list', { text: 'a', cc: 'nobody' }, /^cc "nobody" is not/],
    ['with a cc that is no address', { text: 'a', cc: 5 }, /^cc 5 must be an email address/],
    [
      'with a broken cc after the recipients of reply_all',
      { text: 'a', reply_all: true, cc: ['dora@d.example', 'nobody'] },
      /^cc\[1\] "nobody" is not/,
    ],
    [
      'with 50 recipients and those of reply_all',
      { text: 'a', reply_all: true, cc: Array.from({ length: 48 }, (_, n) => `c${n}@c.example`) },
      /^to names more than 50 recipients, cc and bcc included\.$/,
    ],
  ])('%s', (_, body, fault) => {
    expect(faultOf(body)).toMatch(fault);
  });

  test('with reply_all, 50 recipients are taken', () => {
    const cc = Array.from({ length: 47 }, (_, n) => `c${n}@c.example`);
    expect(draftOf({ reply_all: true, cc }).cc).toHaveLength(49);
  });

  test('over 512 KiB of text and HTML together, counted in bytes', () => {
    const half = 'é'.repeat(LIMITS.replyBytes / 4);
    expect(draftOf({ text: half, html: half }).text).toBe(half);
    expect(faultOf({ text: half, html: `${half}a` })).toBe('html exceeds 512 KiB together with text.');
  });

  test.each([
    ['text', { html: null }],
    ['text', {}],
    ['html', { text: '' }],
  ])('over 512 KiB of %s alone, with %j', (field, other) => {
    const body = { text: undefined, [field]: 'x'.repeat(LIMITS.replyBytes + 1), ...other };
    expect(faultOf(body)).toBe(`${field} exceeds 512 KiB.`);
  });
});
