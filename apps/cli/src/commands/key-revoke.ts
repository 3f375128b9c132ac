import { createApiKeyStore } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { keyObject } from '../key-object.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `key revoke`: once it returns, every API process answers 401. A key revoked twice keeps the first time. */
export function addKeyRevoke(key: Command, io: Io): void {
  withActor(key.command('revoke'))
    .description('revoke a key for good; takes a second, and once it returns nothing is served with the key')
    .argument('<id>', "the key's id, key_…")
    .action(async (text: string, options: ActorOptions & { json?: true }) => {
      const id = requireId('apiKey', text);
      await withDatabase(io, async ({ database }) => {
        const revoked = await createApiKeyStore(database, io.clock).revoke(id, actorOf(io, options));
        if (revoked === null) throw new Failure(`no key ${id}`);
        printAnswer(io, options.json, keyObject(revoked), [`revoked key ${id}`]);
      });
    });
}
