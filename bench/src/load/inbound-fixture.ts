import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccountId } from '@postrider/domain';
import { createRows, startZoneServer } from '@postrider/testing';
import type { Installation, ListeningProcess } from '../fixture/installation.ts';

/** What inbound processes need besides an installation. */
export interface InboundFixture {
  /** Starts an inbound process with an empty blob store. Its port is the SMTP port. */
  start(installation: Installation): Promise<ListeningProcess>;
  /** Makes an inbox on the shared domain. @returns its address */
  addInbox(installation: Installation, accountId: AccountId): Promise<string>;
  close(): Promise<void>;
}

/** Starts a name server without names, and makes a folder for the bytes of mail. */
async function openInboundFixture(): Promise<InboundFixture> {
  const names = await startZoneServer();
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-mail-'));
  const blobs = join(folder, 'blobs');
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeFolder);
  return {
    start(installation) {
      rmSync(blobs, { recursive: true, force: true }); // each run writes gigabytes
      return installation.start('inbound', { BLOB_STORE: `file:${blobs}`, DNS_SERVERS: names.address });
    },
    async addInbox({ database }, accountId) {
      const address = `${randomUUID()}@inbound.postrider.example`;
      await createRows(database).inbox({ accountId, address });
      return address;
    },
    async close() {
      process.off('exit', removeFolder);
      removeFolder();
      await names.close();
    },
  };
}

/** Runs `work`, and closes the fixture afterwards. */
export async function withInboundFixture<T>(work: (fixture: InboundFixture) => Promise<T>): Promise<T> {
  const fixture = await openInboundFixture();
  try {
    return await work(fixture);
  } finally {
    await fixture.close();
  }
}
