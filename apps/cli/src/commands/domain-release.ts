import { parseDomainName } from '@postrider/domain';
import { createDomainStore } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure, UsageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `domain release`: removes a sending domain from its account. An API process deletes it at the provider. */
export function addDomainRelease(domain: Command, io: Io): void {
  withActor(domain.command('release'))
    .description('take a sending domain from its account, verified or not: its name is free at once')
    .argument('<name>', 'such as mail.example.com')
    .action(async (text: string, options: ActorOptions & { json?: true }) => {
      const parsed = parseDomainName(text);
      if (!parsed.ok) throw new UsageError(`"${text}" is not the name of a domain`);
      const { name } = parsed;
      await withDatabase(io, async ({ database }) => {
        const released = await createDomainStore(database, io.clock).release(name, actorOf(io, options));
        if (released === null) throw new Failure(`nobody has the domain ${name}`);
        const { id, accountId } = released;
        printAnswer(io, options.json, { id, name, account: accountId }, [
          `released ${name} (${id} of ${accountId})`,
        ]);
      });
    });
}
