import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { waitFor } from '../wait-for.ts';
import { startZoneServer } from './zone-server.ts';

test('a malformed question gets no answer, and later questions do', async () => {
  const server = await startZoneServer({ 'a.example': { A: ['192.0.2.1'] } });
  const port = Number(server.address.split(':')[1]);
  const udp = createSocket('udp4');
  const tcp = connect({ port, host: '127.0.0.1' });
  try {
    udp.send(Buffer.alloc(3), port, '127.0.0.1');
    tcp.write(Buffer.of(0, 1, 0)); // the length of the message, and one byte
    await waitFor(() => server.questions.length === 2, { what: 'both questions' });
    expect(server.questions).toEqual(['malformed', 'malformed']);
    const resolver = new Resolver();
    resolver.setServers([server.address]);
    expect(await resolver.resolve4('a.example')).toEqual(['192.0.2.1']);
  } finally {
    udp.close();
    tcp.destroy();
    await server.close();
  }
});
