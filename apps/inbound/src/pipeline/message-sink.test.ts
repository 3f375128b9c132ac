import { expect, test } from '@jest/globals';
import type { Mail } from './mail-pipeline.ts';
import { createMessageSink } from './message-sink.ts';

test('the log lines of a message name its session and the address of its client, and no person', async () => {
  let mail: Mail | undefined;
  const sink = createMessageSink({
    store: { accepts: async () => true },
    screening: { screen: async () => Promise.reject(new Error('not asked')) },
    pipeline: {
      async process(given) {
        mail = given;
        return { kind: 'later' };
      },
    },
  });
  await sink.receive(Buffer.from('\r\n'), {
    client: '2001:db8:1:2::/64',
    remoteAddress: '2001:db8:1:2::7',
    helo: 'a.example',
    mailFrom: 'ann@a.example',
    recipients: ['bob@in.example'],
    tls: true,
    sessionId: 's1',
    traceBytes: 0,
  });
  expect(mail?.logFields).toEqual({ session_id: 's1', client_address: '2001:db8:1:2::7' });
});
