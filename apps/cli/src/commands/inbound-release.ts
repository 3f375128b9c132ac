import { createMessageStore, findMessage } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `inbound release`: hands a held message to its account, as the API's release does. */
export function addInboundRelease(inbound: Command, io: Io): void {
  withActor(inbound.command('release'))
    .description('hand a held message to its account, with its thread and its event')
    .argument('<id>', 'the message, msg_…')
    .action(async (text: string, options: ActorOptions & { json?: true }) => {
      const id = requireId('message', text);
      await withDatabase(io, async ({ database }) => {
        const found = await findMessage(database, id);
        if (found === null) throw new Failure(`no message ${id}`);
        const result = await createMessageStore(database, io.clock).release(found, id, actorOf(io, options));
        if (result === 'missing') throw new Failure(`no message ${id}`);
        if (result === 'not-held') throw new Failure(`${id} is not held: its status is ${found.status}`);
        const document = { id, account: found.accountId, status: result };
        printAnswer(io, options.json, document, [`released ${id} to ${found.accountId}`]);
      });
    });
}
