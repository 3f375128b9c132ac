import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import { startWebhooksApi } from '../../test/webhooks-api.ts';
import { readSettings } from '../settings.ts';
import { DemonstrationFile } from '../state/demonstration-file.ts';
import { Terminal } from '../terminal.ts';
import { Arrivals } from './arrivals.ts';
import { makeLoopbackCertificate } from './certificates.ts';
import { Receiver } from './receiver.ts';
import { runDemonstration } from './run.ts';

test.each(['smtp', 'ses'])(
  'no mail is sent while the installation keeps the provider %s',
  async (provider) => {
    const folder = mkdtempSync(join(tmpdir(), 'run-'));
    const settings = readSettings({ args: [], env: {}, distDir: folder, rootDir: folder });
    const [database, api, certificate] = await Promise.all([
      createTestDatabase(),
      startWebhooksApi(),
      makeLoopbackCertificate(new Date()),
    ]);
    const receiver = await Receiver.start(0, {
      certificate,
      signatureHeader: settings.signatureHeader,
      forward: null,
      onArrival: () => undefined,
      onRefusal: () => undefined,
    });
    const lines: string[] = [];
    try {
      await database.query('insert into installation (mail_provider) values ($1)', [provider]);
      await runDemonstration({
        settings,
        terminal: new Terminal({ write: (line: string) => lines.push(line) > 0 }),
        databaseUrl: database.url,
        baseUrl: api.url,
        smtp: { host: '127.0.0.1', port: 1 },
        console: { url: 'http://127.0.0.1:1', key: null },
        receiver,
        arrivals: new Arrivals(),
        file: new DemonstrationFile(folder, 'test'),
        sealedWith: 'key',
      });
      expect(api.requests).toEqual(['GET /v1/webhooks', 'POST /v1/webhooks']);
      expect(lines).toContain(
        '[demo] the mail provider is a real one: no mail is sent without being asked\n',
      );
    } finally {
      await Promise.all([receiver.close(), api.close(), database.drop()]);
      rmSync(folder, { recursive: true });
    }
  },
);
