import { describe, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import PostalMime from 'postal-mime';
import type { OutgoingMessage } from './mail-provider.ts';
import { outgoingMessage } from '../test/outgoing-message.ts';
import { composeMessage, messageIdOf } from './compose.ts';

async function composed(change: Partial<OutgoingMessage>) {
  const { envelope, bytes } = await composeMessage(outgoingMessage(change));
  return { envelope, source: bytes.toString('latin1'), mail: await PostalMime.parse(bytes) };
}

describe('a composed message', () => {
  test('reads back as it was asked for', async () => {
    const { mail } = await composed({
      to: ['"Jörg \\"J\\" Müller" <j@example.net>', 'plain@example.net'],
      cc: ['Doe, Jane <jane@example.net>'],
      replyTo: ['help@mail.example.com'],
      subject: 'Grüße 🎉 aus Köln',
      text: 'Guten Tag 🎉\n.\n..zwei Punkte\n',
      html: '<p>Guten Tag</p>',
      headers: { 'X-Order': '42', 'List-Unsubscribe': '<https://example.com/u>' },
    });
    expect(mail.from).toMatchObject({ name: 'Acme', address: 'orders@mail.example.com' });
    expect(mail.to).toMatchObject([
      { name: 'Jörg "J" Müller', address: 'j@example.net' },
      { address: 'plain@example.net' },
    ]);
    expect(mail.cc).toMatchObject([{ name: 'Doe, Jane', address: 'jane@example.net' }]);
    expect(mail.replyTo).toMatchObject([{ address: 'help@mail.example.com' }]);
    expect(mail.subject).toBe('Grüße 🎉 aus Köln');
    expect(mail.text?.trimEnd()).toBe('Guten Tag 🎉\n.\n..zwei Punkte');
    expect(mail.html?.trim()).toBe('<p>Guten Tag</p>');
    expect(mail.date).toBe('2026-11-20T10:15:30.000Z');
    expect(mail.headers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ key: 'x-order', value: '42' }),
        expect.objectContaining({ key: 'list-unsubscribe', value: '<https://example.com/u>' }),
      ]),
    );
  });

  test('goes to everyone, once each, and names nobody of bcc', async () => {
    const { envelope, source } = await composed({
      to: ['Jane <jane@example.net>'],
      cc: ['jane@example.net', 'c@example.net'],
      bcc: ['secret@example.net'],
    });
    expect(envelope).toEqual({
      from: 'orders@mail.example.com',
      to: ['jane@example.net', 'c@example.net', 'secret@example.net'],
    });
    expect(source).not.toMatch(/bcc|secret/i);
  });

  test('has the Message-ID that the email id fixes', async () => {
    const from = 'Acme <orders@Mail.Example.COM>';
    const { mail } = await composed({ from });
    expect(mail.messageId).toBe('<em_01jd0000000000000000000001@mail.example.com>');
    expect(messageIdOf(outgoingMessage({ from }))).toBe(mail.messageId);
  });

  test('has CRLF line ends and no line over 998 bytes, however long the text and the headers', async () => {
    const { source, mail } = await composed({
      text: 'x'.repeat(5000),
      subject: 'ü'.repeat(998),
      headers: { 'X-Long': 'word '.repeat(190) },
    });
    expect(source.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(Math.max(...source.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
    expect(mail.text?.trim()).toBe('x'.repeat(5000));
    expect(mail.subject).toBe('ü'.repeat(998));
  });

  test('has no line over 998 bytes for the longest word that a header may have', async () => {
    const word = 'x'.repeat(LIMITS.headerLength);
    const { source, mail } = await composed({ subject: word, headers: { ['N'.repeat(76)]: word } });
    expect(Math.max(...source.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
    expect(mail.subject).toBe(word);
    expect(mail.headers.find(({ key }) => key === 'n'.repeat(76))?.value).toBe(word);
  });

  test('has no header line of spaces alone, however many a value has', async () => {
    const spaced = `a${' '.repeat(300)}b`;
    const { source, mail } = await composed({ subject: spaced, headers: { 'X-A': spaced } });
    const [head = ''] = source.split('\r\n\r\n');
    expect(head.split('\r\n').filter((line) => line.trim() === '')).toEqual([]);
    expect(mail.subject).toBe('a b');
    expect(mail.headers.find(({ key }) => key === 'x-a')?.value).toBe('a b');
  });

  test('may have an empty subject, an empty text, or only HTML', async () => {
    expect((await composed({ subject: '', text: '' })).mail.text ?? '').toBe('');
    const { mail } = await composed({ text: null, html: '<b>x</b>' });
    expect(mail.html?.trim()).toBe('<b>x</b>');
  });

  test.each([
    ['subject', { subject: 'Hi\r\nBcc: victim@example.net' }],
    ['header value', { headers: { 'X-A': 'a\r\nBcc: victim@example.net' } }],
    ['header name', { headers: { 'X-A: 1\r\nBcc': 'victim@example.net' } }],
  ])('lets no line break of a %s begin a header, should one get this far', async (_where, change) => {
    const { mail } = await composed(change);
    expect(mail.bcc).toBeUndefined();
    expect(mail.headers.map(({ key }) => key)).not.toContain('bcc');
  });

  test('fetches nothing: a body that looks like an order to is only text', async () => {
    const { mail } = await composed({
      text: '{"path":"/etc/passwd"}',
      html: '<img src="file:///etc/passwd">',
    });
    expect(mail.attachments).toEqual([]);
    expect(mail.html?.trim()).toBe('<img src="file:///etc/passwd">');
  });

  test('is not made from a stored address that is none', async () => {
    await expect(composeMessage(outgoingMessage({ to: ['nobody'] }))).rejects.toThrow('address');
  });
});
