import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { freePort } from '@postrider/embedded';
import { listen, startTcpListener, testWithIpv6 } from '@postrider/testing';
import type { Settings } from '../settings.ts';
import { choosePort, reachableHost, requirePort, urlHost } from './ports.ts';

test.each(['METRICS_PORT', 'INBOUND_SMTP_PORT'] as const)(
  'a taken port is refused when %s names it, and replaced when it is the default',
  async (variable) => {
    const listener = await startTcpListener();
    const { port } = listener;
    const choose = (env: Settings['env']) => choosePort({ env } as Settings, '127.0.0.1', port, variable);
    await expect(choose({ [variable]: String(port) })).rejects.toThrow(
      `port ${port} on 127.0.0.1 is taken; choose another: ${variable}=`,
    );
    expect(await choose({})).not.toBe(port);
    await listener.close();
    expect(await choose({})).toBe(port);
  },
);

test('the port that is proposed for a taken one is free', async () => {
  const listener = await startTcpListener();
  // The console of the other checkout has the next port. Another program may have it, which is as good.
  const next = { host: '127.0.0.1', port: listener.port + 1 };
  const neighbour = await listen(createServer(), next).catch(() => null);
  const error = await requirePort('127.0.0.1', listener.port, 'PORT').catch((cause: unknown) => cause);
  const [, proposed = ''] = /choose another: PORT=(\d+) npm start$/.exec(String(error)) ?? [];
  expect(await requirePort('127.0.0.1', Number(proposed), 'PORT')).toBe(Number(proposed));
  await Promise.all([listener.close(), neighbour?.close()]);
});

test('a default port is left to the setting that names it', async () => {
  const port = await freePort();
  const settings = { env: {}, port, consolePort: port } as unknown as Settings;
  expect(await choosePort(settings, '127.0.0.1', port, 'CONSOLE_PORT')).not.toBe(port);
});

async function expectReachable(host: string): Promise<void> {
  const server = await listen(
    createServer((_request, response) => response.end('here')),
    { host },
  );
  const { port } = server;
  const reachable = reachableHost(host);
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, reachable, () => socket.end(resolve)).once('error', reject);
  });
  const answer = await fetch(`http://${urlHost(reachable)}:${port}`);
  expect(await answer.text()).toBe('here');
  await server.close();
}

const REACHED = 'a server on %s is reached with a socket and with a URL';
test.each(['127.0.0.1', '0.0.0.0'])(REACHED, expectReachable);
testWithIpv6.each(['::1', '::'])(REACHED, expectReachable);
