import { createWebhookEventStore, findEvent } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options extends ActorOptions {
  readonly webhook: string;
  readonly json?: true;
}

/** `events replay`: sends an event to a webhook again, unless a delivery is outstanding. */
export function addEventsReplay(events: Command, io: Io): void {
  withActor(events.command('replay'))
    .description('send an event to a webhook again, with a new set of attempts')
    .argument('<event>', 'evt_…')
    .requiredOption('--webhook <id>', 'a webhook that gets the event')
    .action(async (text: string, options: Options) => {
      const event = requireId('event', text);
      const webhook = requireId('webhook', options.webhook);
      await withDatabase(
        io,
        async ({ database }) => {
          const found = await findEvent(database, event);
          if (found === null) throw new Failure(`no event ${event}`);
          const { accountId: account } = found;
          const replay = await createWebhookEventStore(database).replay(
            account,
            webhook,
            event,
            actorOf(io, options),
          );
          // `replay` returns `changed` only with its argument `seen`, which is not given here.
          if (replay === 'missing') throw new Failure(`no webhook ${webhook} of ${account} gets ${event}`);
          if (replay === 'pending')
            throw new Failure(`nothing changed: a delivery of ${event} to ${webhook} is outstanding`);
          printAnswer(io, options.json, { event, webhook, account }, [
            `${event} is queued for ${webhook} of ${account}`,
          ]);
        },
        { indexesOnly: true },
      );
    });
}
