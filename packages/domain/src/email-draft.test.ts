import { describe, expect, test } from '@jest/globals';
import { parseEmailDraft } from './email-draft.ts';

const good = { from: 'Acme <a@example.com>', to: 'jane@example.net', subject: 'Hi', text: 'Hello' };

/** The faults of `good` with `change` over it, as `field: message` lines. */
function faults(change: unknown): string[] {
  return faultsOf({ ...good, ...(change as object) });
}

function faultsOf(body: unknown): string[] {
  const parsed = parseEmailDraft(body);
  return parsed.ok ? [] : parsed.faults.map(({ field, message }) => `${field}: ${message}`);
}

const NO_BYTES = 'must be base64 or an array of bytes';
const TOPIC = 'top_01jd0000000000000000000001';
/** One file, with `change` over it. */
const file = (change: object) => ({ attachments: [{ filename: 'a.txt', content: 'YQ==', ...change }] });

const addresses = (count: number) => Array.from({ length: count }, (_, index) => `u${index}@example.net`);

const NO_REFERENCES = 'has over 997 characters, and is not up to 16 KiB of ids in angle brackets';

describe('a good request', () => {
  test('with the fewest fields leaves the others empty', () => {
    expect(parseEmailDraft(good)).toEqual({
      ok: true,
      draft: {
        from: 'Acme <a@example.com>',
        to: ['jane@example.net'],
        cc: [],
        bcc: [],
        replyTo: [],
        subject: 'Hi',
        html: null,
        text: 'Hello',
        headers: {},
        attachments: [],
        tags: [],
        topicId: null,
      },
    });
  });

  test('has all ids of a long conversation in References', () => {
    const ids = `${'<0102018c-1234@eu-west-1.amazonses.com> '.repeat(400)}<${'x'.repeat(300)}>`;
    expect(faults({ headers: { References: ids } })).toEqual([]);
    expect(faults({ headers: { references: `<${'x'.repeat(995)}> <a@a.example>` } })).toEqual([]);
    expect(faults({ headers: { References: '<a@a.example> '.repeat(1_171) } })).toEqual([
      `headers.References: ${NO_REFERENCES}`,
    ]);
  });

  test('keeps addresses as written and headers in their order', () => {
    const parsed = parseEmailDraft({
      ...good,
      to: ['Jane <jane@example.net>', 'joe@example.net'],
      cc: 'c@example.net',
      bcc: ['b@example.net'],
      reply_to: 'r@example.net',
      html: '<p>Grüße</p>',
      headers: { 'X-Second': '2', 'X-First': '1' },
    });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    expect(parsed.draft).toMatchObject({
      to: ['Jane <jane@example.net>', 'joe@example.net'],
      cc: ['c@example.net'],
      bcc: ['b@example.net'],
      replyTo: ['r@example.net'],
      html: '<p>Grüße</p>',
    });
    expect(Object.keys(parsed.draft.headers)).toEqual(['X-Second', 'X-First']);
  });

  test('keeps attachments and tags in their order, and the topic', () => {
    const parsed = parseEmailDraft({
      ...good,
      attachments: [
        { filename: 'a.txt', content: 'YQ==' },
        { filename: 'l.png', content: 'bG8=', content_type: 'image/png', content_id: 'logo', more: 1 },
      ],
      tags: [
        { name: 'b', value: '2', more: 1 },
        { name: 'a', value: '1' },
      ],
      topic_id: TOPIC,
    });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    expect(parsed.draft).toMatchObject({
      attachments: [
        { filename: 'a.txt', content: 'YQ==', contentType: null, contentId: null },
        { filename: 'l.png', content: 'bG8=', contentType: 'image/png', contentId: 'logo' },
      ],
      topicId: TOPIC,
    });
    expect(parsed.draft.tags).toEqual([
      { name: 'b', value: '2' },
      { name: 'a', value: '1' },
    ]);
  });

  test('may say null for a field that it could leave out', () => {
    expect(faults({ cc: null, bcc: null, reply_to: null, html: null, headers: null })).toEqual([]);
    expect(
      faults({ attachments: null, tags: null, scheduled_at: null, template: null, topic_id: null }),
    ).toEqual([]);
    const nulls = { content_type: null, content_id: null, path: null };
    expect(faults({ attachments: [{ filename: 'a', content: '', ...nulls }] })).toEqual([]);
  });

  test('may carry fields we do not know', () => {
    expect(faults({ surprise: { deep: [1] }, attachments: [] })).toEqual([]);
  });

  test.each(['text', 'html'])('may have its content in %s alone', (field) => {
    expect(faults({ text: undefined, [field]: '<p>Hello</p>' })).toEqual([]);
  });

  test('may have an empty subject and an empty text', () => {
    expect(faults({ subject: '', text: '' })).toEqual([]);
  });
});

describe('a fault stands under its path as written in the request (contract 7.1)', () => {
  const ADDRESS = 'is not a valid email address';
  const TAG = 'has other characters than ASCII letters, digits, _ and -';
  const BASE64 = 'is not valid base64';
  const CONTENT_ID = 'contains a character that a Content-ID cannot have';

  test.each<[object, string[]]>([
    [{ from: 'nobody' }, [`from: ${ADDRESS}`]],
    [{ to: 'ann@x.example, Bob <bob@y.example>' }, [`to: ${ADDRESS}`]], // Ann would get nothing
    [{ from: ['a@example.com'] }, ['from: must be a string']],
    [{ from: undefined }, ['from: is required']],
    [{ from: null }, ['from: must be a string']],
    [{ to: undefined }, ['to: is required']],
    [{ to: null }, ['to: names no recipient']],
    [{ to: [] }, ['to: names no recipient']],
    [{ to: 'nobody' }, [`to: ${ADDRESS}`]],
    [{ to: ['nobody'] }, [`to[0]: ${ADDRESS}`]],
    [{ to: ['a@example.net', 'b@example.net', 'c@'] }, [`to[2]: ${ADDRESS}`]],
    [{ to: ['a@example.net', 5, null] }, ['to[1]: must be a string', 'to[2]: must be a string']],
    [{ to: [['a@example.net']] }, ['to[0]: must be a string']],
    [{ to: 5 }, ['to: must be an email address or an array of them']],
    [{ to: { 0: 'a@example.net' } }, ['to: must be an email address or an array of them']],
    [{ cc: 'x' }, [`cc: ${ADDRESS}`]],
    [{ bcc: ['x'] }, [`bcc[0]: ${ADDRESS}`]],
    [{ reply_to: ['r@example.net', 'x'] }, [`reply_to[1]: ${ADDRESS}`]],
    [{ subject: undefined }, ['subject: is required']],
    [{ subject: 7 }, ['subject: must be a string']],
    [{ subject: 'x'.repeat(998) }, ['subject: is longer than 997 characters']],
    [{ subject: 'Hi\r\nBcc: x@example.net' }, ['subject: contains a control character']],
    [{ text: 1 }, ['text: must be a string']],
    [{ html: {} }, ['html: must be a string']],
    [{ text: 'a\0b' }, ['text: contains a NUL character']],
    [{ html: '\0' }, ['html: contains a NUL character']],
    [{ headers: 'X-A: 1' }, ['headers: must be an object of strings']],
    [{ headers: [] }, ['headers: must be an object of strings']],
    [{ headers: { 'X-A': 1 } }, ['headers.X-A: must be a string']],
    [{ headers: { '0': null } }, ['headers.0: must be a string']],
    [{ headers: { 'X-A': 'x'.repeat(998) } }, ['headers.X-A: is longer than 997 characters']],
    [{ headers: { References: 'x'.repeat(998) } }, [`headers.References: ${NO_REFERENCES}`]],
    [{ headers: { References: `<${'x'.repeat(996)}>` } }, [`headers.References: ${NO_REFERENCES}`]],
    [{ headers: { 'X-A': 'a\r\nBcc: x@example.net' } }, ['headers.X-A: contains a control character']],
    [{ headers: { 'X A': '' } }, ['headers.X A: is not a valid header name']],
    [{ headers: { 'X:A': '' } }, ['headers.X:A: is not a valid header name']],
    [{ headers: { '': '' } }, ['headers.: is not a valid header name']],
    [{ headers: { ['x'.repeat(77)]: '' } }, [`headers.${'x'.repeat(77)}: is not a valid header name`]],
    [{ headers: { 'X-A\r\nBcc': '' } }, ['headers.X-A\r\nBcc: is not a valid header name']],
    [{ headers: { BCC: 'x@example.net' } }, ['headers.BCC: is set by the service']],
    [{ headers: { 'Content-Type': 'text/x' } }, ['headers.Content-Type: is set by the service']],
    [{ headers: { From: 5 } }, ['headers.From: is set by the service']],
    [{ headers: { 'X-A': '' } }, ['headers.X-A: is empty']],
    [{ headers: { 'X-A': '   ' } }, ['headers.X-A: is empty']],
    [
      { headers: { 'X-SES-Configuration-Set': 'x' } },
      ['headers.X-SES-Configuration-Set: is set by the service'],
    ],
    [
      { headers: { 'X-MC-BccAddress': 'victim@other.example' } },
      ['headers.X-MC-BccAddress: is set by the service'],
    ],
    [{ headers: { 'Resent-From': 'x' } }, ['headers.Resent-From: is set by the service']],
    [{ headers: { 'ARC-Seal': 'x' } }, ['headers.ARC-Seal: is set by the service']],
    [
      { headers: { 'authentication-results': 'x' } },
      ['headers.authentication-results: is set by the service'],
    ],
    [{ tags: 'x' }, ['tags: must be an array of tags']],
    [{ tags: [1] }, ['tags[0]: must be an object with a name and a value']],
    [{ tags: [{ name: 'a', value: 5 }] }, ['tags[0].value: must be a string']],
    [{ tags: [{ name: 'a' }] }, ['tags[0].value: is required']],
    [{ tags: [{ name: '', value: 'b' }] }, ['tags[0].name: is empty']],
    [{ tags: [{ name: 'a b', value: 'ä' }] }, [`tags[0].name: ${TAG}`, `tags[0].value: ${TAG}`]],
    [{ tags: [{ name: 'a', value: 'b\n' }] }, [`tags[0].value: ${TAG}`]],
    [{ tags: [{ name: 'x'.repeat(257), value: 'b' }] }, ['tags[0].name: is longer than 256 characters']],
    [{ attachments: 'x' }, ['attachments: must be an array of attachments']],
    [{ attachments: [5] }, ['attachments[0]: must be an object with a filename and a content']],
    [
      { attachments: [{ filename: 'a', content: '' }, {}] },
      ['attachments[1].filename: is required', 'attachments[1].content: is required'],
    ],
    [
      { attachments: [{ filename: 'a', path: 'https://x.example/' }] },
      [
        'attachments[0].content: is required',
        'attachments[0].path: is not supported: nothing is fetched from elsewhere',
      ],
    ],
    [file({ filename: 5 }), ['attachments[0].filename: must be a string']],
    [file({ filename: ' ' }), ['attachments[0].filename: is empty']],
    [file({ filename: 'a\r\nX: 1' }), ['attachments[0].filename: contains a control character']],
    [file({ filename: '\ud800' }), ['attachments[0].filename: contains half of a surrogate pair']],
    [file({ filename: 'x'.repeat(256) }), ['attachments[0].filename: is longer than 255 characters']],
    ...[null, 5, {}, { type: 'Buffer' }, { type: 'Buffer', data: 'YQ==' }, [256], [-1], [1.5], ['1']].map(
      (content): [object, string[]] => [file({ content }), [`attachments[0].content: ${NO_BYTES}`]],
    ),
    [file({ content: 'YQ' }), [`attachments[0].content: ${BASE64}`]],
    [file({ content_type: '' }), ['attachments[0].content_type: is not a media type']],
    [file({ content_type: 'text/plain\r\nX: 1' }), ['attachments[0].content_type: is not a media type']],
    [file({ content_type: 5 }), ['attachments[0].content_type: must be a string']],
    [file({ content_id: '' }), ['attachments[0].content_id: is empty']],
    [file({ content_id: 'a b' }), [`attachments[0].content_id: ${CONTENT_ID}`]],
    [file({ content_id: '<a@b>' }), [`attachments[0].content_id: ${CONTENT_ID}`]],
    [file({ content_id: 'a\r\nX: 1' }), [`attachments[0].content_id: ${CONTENT_ID}`]],
    [file({ content_id: 'x'.repeat(129) }), ['attachments[0].content_id: is longer than 128 characters']],
    [{ scheduled_at: 'tomorrow' }, ['scheduled_at: is not supported']],
    [{ template: { id: 't' } }, ['template: is not supported']],
    [{ topic_id: 't' }, ['topic_id: is not a topic of this account']],
    [{ topic_id: 5 }, ['topic_id: must be a string']],
    [{ text: undefined }, ['text: is required unless html is given']],
    [{ text: null, html: null }, ['text: is required unless html is given']],
  ])('%j', (change, expected) => {
    expect(faults(change)).toEqual(expected);
  });

  // Not in the table above: its title would be as long as the name.
  test('under the first 100 characters of a name that is as long as the body', () => {
    expect(faults({ headers: { ['é'.repeat(1_000_000)]: 1 } })).toEqual([
      `headers.${'é'.repeat(100)}…: is not a valid header name`,
    ]);
  });

  test('all faults are told at once, those of single fields and those of the whole message', () => {
    const body = {
      from: 'x',
      to: ['y', 'a@example.net'],
      cc: addresses(49),
      headers: { 'X A': 1, Date: 'now' },
      template: 't',
    };
    expect(faultsOf(body)).toEqual([
      'from: is not a valid email address',
      'to[0]: is not a valid email address',
      'subject: is required',
      'headers.X A: is not a valid header name',
      'headers.Date: is set by the service',
      'to: names more than 50 recipients, cc and bcc included',
      'text: is required unless html is given',
      'template: is not supported',
    ]);
  });

  test.each([undefined, null, 'x', 5, true, [], [good]])('the body %j is no JSON object', (body) => {
    expect(faultsOf(body)).toEqual([': must be a JSON object']);
  });

  test('an empty body lacks every required field', () => {
    expect(faultsOf({})).toEqual([
      'from: is required',
      'to: is required',
      'subject: is required',
      'text: is required unless html is given',
    ]);
  });
});

test('a refused request still tells which topic it asks for', () => {
  expect(parseEmailDraft({ topic_id: TOPIC })).toMatchObject({ ok: false, topicId: TOPIC });
  for (const body of [{ topic_id: 't' }, { topic_id: 5 }, {}, null, [TOPIC]]) {
    expect(parseEmailDraft(body)).toMatchObject({ ok: false, topicId: null });
  }
});

describe('half of a surrogate pair, which has no UTF-8, is refused wherever it stands', () => {
  const HALF = 'contains half of a surrogate pair';

  test.each<[object, string]>([
    [{ from: 'J\ud800 <a@example.com>' }, 'from: is not a valid email address'],
    [{ to: ['J\udc00 <a@example.net>'] }, 'to[0]: is not a valid email address'],
    [{ cc: 'J\ud800 <a@example.net>' }, 'cc: is not a valid email address'],
    [{ bcc: 'J\ud800 <a@example.net>' }, 'bcc: is not a valid email address'],
    [{ reply_to: 'J\ud800 <a@example.net>' }, 'reply_to: is not a valid email address'],
    [{ subject: '\udc00\ud800' }, `subject: ${HALF}`],
    [{ text: 'a\ud800' }, `text: ${HALF}`],
    [{ html: '\udc00b' }, `html: ${HALF}`],
    [{ headers: { 'X-A': '\ud800' } }, `headers.X-A: ${HALF}`],
    [file({ filename: 'a\ud800' }), `attachments[0].filename: ${HALF}`],
  ])('%j', (change, expected) => {
    expect(faults(change)).toEqual([expected]);
  });

  test('a whole pair is accepted everywhere', () => {
    const whole = { subject: '🎉', text: '🎉', html: '🎉', headers: { 'X-A': '🎉' } };
    expect(faults({ ...whole, to: '🎉 <a@example.net>', ...file({ filename: '🎉' }) })).toEqual([]);
  });
});

describe('__proto__ in a request', () => {
  const parsedJson = (text: string): unknown => JSON.parse(text);

  test('as a header name is refused, not lost', () => {
    expect(faults({ headers: parsedJson('{"__proto__":"x","X-A":"1"}') })).toEqual([
      'headers.__proto__: is not a valid header name',
    ]);
  });

  test('as a field gives the request nothing', () => {
    expect(faultsOf(parsedJson(`{"__proto__":${JSON.stringify(good)}}`))).toContain('from: is required');
    expect(({} as Record<string, unknown>)['from']).toBeUndefined();
  });
});

describe('the limits of a message (contract 8)', () => {
  test('50 recipients over to, cc and bcc are accepted, 51 are not', () => {
    expect(faults({ to: addresses(20), cc: addresses(20), bcc: addresses(10) })).toEqual([]);
    const more = 'to: names more than 50 recipients, cc and bcc included';
    expect(faults({ to: addresses(20), cc: addresses(20), bcc: addresses(11) })).toEqual([more]);
    expect(faults({ to: 'a@example.net', cc: addresses(50) })).toEqual([more]);
    expect(faults({ to: addresses(51) })).toEqual([more]);
  });

  test('reply_to counts for itself', () => {
    expect(faults({ to: addresses(50), reply_to: addresses(50) })).toEqual([]);
    expect(faults({ reply_to: addresses(51) })).toEqual(['reply_to: names more than 50 addresses']);
  });

  test('a list far too long is answered shortly', () => {
    expect(faults({ to: Array<number>(100_000).fill(1) }).length).toBe(51);
  });

  test('50 headers are accepted, 51 are not', () => {
    const headers = (count: number) =>
      Object.fromEntries(addresses(count).map((_, index) => [`X-${index}`, 'v']));
    expect(faults({ headers: headers(50) })).toEqual([]);
    expect(faults({ headers: headers(51) })).toEqual(['headers: has more than 50 headers']);
  });

  test('of one too many, the first 50 are judged all the same, and nothing behind them', () => {
    const among = <T>(good: T, bad: T): T[] => [bad, ...Array<T>(48).fill(good), bad, bad];
    const names = among('X-', 'X ').map((prefix, index) => `${prefix}${index}`);
    expect(faults({ headers: Object.fromEntries(names.map((name) => [name, 'v'])) })).toEqual([
      'headers.X 0: is not a valid header name',
      'headers.X 49: is not a valid header name',
      'headers: has more than 50 headers',
    ]);
    const tags = among({ name: 'a', value: 'b' }, { name: 'a', value: '' });
    expect(faults({ tags })).toEqual([
      'tags[0].value: is empty',
      'tags[49].value: is empty',
      'tags: has more than 50 tags',
    ]);
    const attachments = among({ filename: 'a', content: '' }, { filename: 'a', content: '?' });
    expect(faults({ attachments })).toEqual([
      expect.stringMatching(/^attachments\[0\][.]content: /),
      expect.stringMatching(/^attachments\[49\][.]content: /),
      'attachments: has more than 50 attachments',
    ]);
  });

  test('50 tags are accepted, 51 are not', () => {
    const tags = (count: number) => Array<object>(count).fill({ name: 'a', value: 'b' });
    expect(faults({ tags: tags(50) })).toEqual([]);
    expect(faults({ tags: tags(51) })).toEqual(['tags: has more than 50 tags']);
  });

  test('50 attachments are accepted, 51 are not', () => {
    const attachments = (count: number) => Array<object>(count).fill({ filename: 'a', content: '' });
    expect(faults({ attachments: attachments(50) })).toEqual([]);
    expect(faults({ attachments: attachments(51) })).toEqual(['attachments: has more than 50 attachments']);
  });

  test.each([
    ['base64', 'aGk='],
    ['an array of bytes', [104, 105]],
    ['a Buffer as Node writes it to JSON', JSON.parse(JSON.stringify(Buffer.from('hi'))) as unknown],
  ])('the content of an attachment may be %s', (_, content) => {
    const parsed = parseEmailDraft({ ...good, ...file({ content }) });
    expect(parsed.ok && parsed.draft.attachments[0]?.content).toBe('aGk=');
  });

  test('`inline_content_id` means `content_id`, which wins', () => {
    const idOf = (change: object) => {
      const parsed = parseEmailDraft({ ...good, ...file(change) });
      return parsed.ok && parsed.draft.attachments[0]?.contentId;
    };
    expect(idOf({ inline_content_id: 'logo' })).toBe('logo');
    expect(idOf({ inline_content_id: 'logo', content_id: null })).toBe('logo');
    expect(idOf({ inline_content_id: 'logo', content_id: 'other' })).toBe('other');
    expect(faults(file({ inline_content_id: 'a b' }))).toEqual([
      'attachments[0].inline_content_id: contains a character that a Content-ID cannot have',
    ]);
  });

  test('an array of bytes counts as long as its base64', () => {
    const text = 'x'.repeat(5 * 1024 * 1024 - 4);
    expect(faults({ text, ...file({ content: [1, 2, 3] }) })).toEqual([]);
    for (const content of [[1, 2, 3, 4], { type: 'Buffer', data: [1, 2, 3, 4] }]) {
      expect(faults({ text, ...file({ content }) })).toEqual([
        'attachments: exceed 5 MiB in base64, together with text and html',
      ]);
    }
  });

  test('5 MiB of text, html and attachments in base64 together are accepted, four characters more are not', () => {
    const bodies = { text: 'ä'.repeat(512 * 1024), html: 'x'.repeat(1024 * 1024) };
    const content = 'A'.repeat(1024 * 1024);
    const attachments = Array.from({ length: 3 }, () => ({ filename: 'a', content }));
    expect(faults({ ...bodies, attachments })).toEqual([]);
    const more = [...attachments, { filename: 'b', content: 'AAAA' }];
    expect(faults({ ...bodies, attachments: more })).toEqual([
      'attachments: exceed 5 MiB in base64, together with text and html',
    ]);
  });

  test('5 MiB of text and html together, counted in UTF-8 bytes, are accepted, a byte more is not', () => {
    const half = 'ä'.repeat((5 * 1024 * 1024) / 4);
    expect(faults({ text: half, html: half })).toEqual([]);
    expect(faults({ text: half, html: `${half}!` })).toEqual(['text: exceeds 5 MiB together with html']);
  });

  test.each(['text', 'html'])('5 MiB and a byte of %s alone names what was sent', (field) => {
    expect(faults({ text: undefined, html: '', [field]: 'x'.repeat(5 * 1024 * 1024 + 1) })).toEqual([
      `${field}: exceeds 5 MiB`,
    ]);
  });

  test('a subject and a header value of 997 characters are accepted', () => {
    expect(faults({ subject: 'x'.repeat(997), headers: { 'X-A': 'x'.repeat(997) } })).toEqual([]);
  });
});
