import { once } from 'node:events';
import { createConnection } from 'node:net';
import { expect, test } from '@jest/globals';
import { describeWithRedis, redisForTests } from './redis.ts';

describeWithRedis('the Redis of the tests', (url) => {
  test('answers, and is not the one of this machine', async () => {
    const { hostname, port } = new URL(url);
    const socket = createConnection({ host: hostname, port: Number(port) });
    socket.write('PING\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();

    expect(answer.toString()).toBe('+PONG\r\n');
    expect(redisForTests()).toBe(url);
    if (process.env['TEST_REDIS_URL'] === undefined) expect(port).not.toBe('6379');
  });
});
