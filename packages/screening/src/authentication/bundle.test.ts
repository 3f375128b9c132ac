import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ENVELOPE, message, newSigner, signed, startSenderFixture } from '../../test/sender-fixture.ts';
import type { SenderFixture } from '../../test/sender-fixture.ts';

// Imported by URL: the script has no TypeScript types.
const BUILD_SCRIPT = new URL('../../../../scripts/build.mjs', import.meta.url).href;

let fixture: SenderFixture;
let folder: string;
beforeEach(async () => {
  fixture = await startSenderFixture();
  folder = await mkdtemp(join(tmpdir(), 'screening-'));
});
afterEach(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

test('runs in a worker thread, from one file with nothing beside it', async () => {
  const outfile = join(folder, 'thread.mjs');
  const { bundle } = (await import(BUILD_SCRIPT)) as { bundle: (options: object) => Promise<unknown> };
  await bundle({
    outfile,
    stdin: {
      resolveDir: import.meta.dirname,
      loader: 'ts',
      contents: `
        import { parentPort, workerData } from 'node:worker_threads';
        import { authenticateSender } from './authenticate-sender.ts';
        parentPort.postMessage(await authenticateSender(workerData.raw, workerData.envelope, workerData.options));`,
    },
  });
  const signer = newSigner('example.com');
  fixture.publish(signer);
  fixture.dns.zone.set('_dmarc.example.com', { TXT: ['v=DMARC1; p=reject'] });
  fixture.dns.zone.set('example.com', { TXT: ['v=spf1 ip4:192.0.2.10 -all'] });
  const options = { dnsServers: [fixture.dns.address], timeoutMs: 20_000, spf: true };
  const workerData = { raw: await signed(message(), signer), envelope: ENVELOPE, options };
  const worker = new Worker(outfile, { workerData });
  const exited = once(worker, 'exit');
  const [verdict] = (await once(worker, 'message')) as [unknown];
  expect(verdict).toMatchObject({
    auth: { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
    dmarcPolicy: 'reject',
  });
  expect(await exited).toEqual([0]);
});
