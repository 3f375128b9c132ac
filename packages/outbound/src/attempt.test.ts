import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { Attempt } from './attempt.ts';
import type { ExchangeListener } from './transport/transport.ts';

const POST = { url: new URL('https://hooks.example.com/'), headers: {}, body: Buffer.from('{}') };
/** A connection that has brought an answer before. */
const POOLED = { bytesRead: 100 } as Socket;

/** No test can choose which of these a real connection reports: it depends on when the kernel has the reset. */
test.each(['ECONNRESET', 'EPIPE'])(
  'a pooled connection that fails with %s costs a second request, not the attempt',
  async (code) => {
    const reactions: ((listener: ExchangeListener) => void)[] = [
      (listener) => listener.onError(Object.assign(new Error(code), { code })),
      (listener) => {
        listener.onHead(204);
        listener.onEnd();
      },
    ];
    const closed: string[] = [];
    const environment = {
      transport: {
        post(_post: unknown, listener: ExchangeListener) {
          const react = reactions.shift();
          queueMicrotask(() => {
            listener.onSocket(POOLED);
            react?.(listener);
          });
          return { isSent: () => true, cut: () => undefined };
        },
      },
      timeoutMs: 20_000,
      closeIdle: (host: string) => void closed.push(host),
      isClosed: () => false,
    };
    expect(await Attempt.run(environment, POST)).toMatchObject({ kind: 'answered', statusCode: 204 });
    expect(closed).toEqual(['hooks.example.com']);
  },
);
