import { describe, expect, test } from '@jest/globals';
import { outgoingMessage } from '../test/outgoing-message.ts';
import { composeMessage } from './compose.ts';
import { MailProvider } from './mail-provider.ts';
import type { AddressedMessage, MailTransport } from './mail-provider.ts';

/** A transport that accepts every message and records it. */
function recordingTransport(): MailTransport & { readonly sent: AddressedMessage[] } {
  const sent: AddressedMessage[] = [];
  return {
    sent,
    async send(message) {
      sent.push(message);
      return { kind: 'accepted', providerMessageId: null, notifications: [] };
    },
    close: () => undefined,
  };
}

describe('a suppressed recipient', () => {
  test('is in neither the envelope nor the headers, whatever its name, field and case', async () => {
    const transport = recordingTransport();
    await new MailProvider(transport).send(
      outgoingMessage({
        to: ['Gone <GONE@Example.net>', 'jane@example.net'],
        cc: ['gone2@example.net', 'c@example.net'],
        bcc: ['gone3@example.net', 'b@example.net'],
        suppressed: ['gone@example.net', 'Gone2@example.net', 'gone3@example.net'],
      }),
    );
    const [message] = transport.sent;
    if (message === undefined) throw new Error('nothing was sent');
    const { envelope, bytes } = await composeMessage(message);
    expect(envelope.to).toEqual(['jane@example.net', 'c@example.net', 'b@example.net']);
    expect(bytes.toString('latin1')).not.toMatch(/gone/i);
    expect(message).not.toHaveProperty('suppressed');
  });

  test.each([
    ['in needless quotes', '"ann"@example.net', 'ann@example.net'],
    ['in quotes and with a name', 'Ann <"Ann"@example.net>', 'ann@example.net'],
    ['with an escaped letter', '"a\\nn"@example.net', 'ann@example.net'],
    ['with a decomposed letter', 'zoe\u0308@example.net', 'zo\u00eb@example.net'],
    ['with a domain in Unicode', 'ann@b\u00fccher.example', 'ann@xn--bcher-kva.example'],
  ])('gets nothing when the message writes the address %s', async (_form, written, suppressed) => {
    const transport = recordingTransport();
    const others = ['jane@example.net'];
    await new MailProvider(transport).send(
      outgoingMessage({ to: others, cc: [written], bcc: [written], suppressed: [suppressed] }),
    );
    await new MailProvider(transport).send(
      outgoingMessage({ to: [written, ...others], only: [written, ...others], suppressed: [suppressed] }),
    );
    expect(transport.sent.map(({ to, cc, bcc }) => [...to, ...cc, ...bcc])).toEqual([others, others]);
    const alone = outgoingMessage({ to: [written], suppressed: [suppressed] });
    expect(await new MailProvider(transport).send(alone)).toMatchObject({ kind: 'refused' });
  });

  test('is not one whose address only begins or ends alike', async () => {
    const transport = recordingTransport();
    const to = ['xgone@example.net', 'gone@example.net.test'];
    await new MailProvider(transport).send(outgoingMessage({ to, suppressed: ['gone@example.net'] }));
    expect(transport.sent[0]?.to).toEqual(to);
  });

  test('leaves "undisclosed-recipients" in To when nobody else is in it', async () => {
    const transport = recordingTransport();
    await new MailProvider(transport).send(
      outgoingMessage({
        to: ['gone@example.net'],
        bcc: ['b@example.net'],
        suppressed: ['gone@example.net'],
      }),
    );
    const [message] = transport.sent;
    if (message === undefined) throw new Error('nothing was sent');
    const { envelope, bytes } = await composeMessage(message);
    expect(envelope.to).toEqual(['b@example.net']);
    expect(bytes.toString()).toMatch(/^To: "undisclosed-recipients":;\r$/m);
  });
});

test('a message is refused when everyone it would still go to is suppressed', async () => {
  const transport = recordingTransport();
  const suppressed = ['jane@example.net', 'c@example.net'];
  const cc = ['c@example.net'];
  for (const change of [{}, { cc: [...cc, 'has-it@example.net'], only: cc }]) {
    const message = outgoingMessage({ to: ['jane@example.net'], cc, suppressed, ...change });
    const answer = await new MailProvider(transport).send(message);
    expect(answer).toEqual({ kind: 'refused', error: 'every recipient is suppressed', notAsked: true });
  }
  expect(transport.sent).toEqual([]);
});
