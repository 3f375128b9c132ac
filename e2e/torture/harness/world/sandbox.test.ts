import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { watchSandbox } from './sandbox.ts';

test('a message that the sandbox accepts twice is listed twice; one that it drops half-way is not listed', async () => {
  const root = mkdtempSync(join(tmpdir(), 'sandbox-log-'));
  const folder = join(root, 'sandbox');
  const log = watchSandbox(folder);
  // As packages/mail/src/sandbox.ts does.
  const begin = (id: string): void => writeFileSync(join(folder, `.${id}.1`), 'a message', { flag: 'wx' });
  const accept = (id: string): void => {
    begin(id);
    renameSync(join(folder, `.${id}.1`), join(folder, `${id}.eml`));
  };
  try {
    for (const id of ['em_1', 'em_2', 'em_1']) accept(id);
    begin('em_3');
    await waitFor(() => log.handOvers().length >= 3, { what: 'three messages' });
    expect(log.handOvers().sort()).toEqual(['em_1', 'em_1', 'em_2']);
  } finally {
    log.close();
    rmSync(root, { recursive: true });
  }
});
