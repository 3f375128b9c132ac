import type { EventType } from '@postrider/domain';
import { searchEvents } from '@postrider/store';
import type { Database, EventSearch, EventWithFates, FoundEventFilter } from '@postrider/store';
import type { Command } from 'commander';
import { eventOptions } from '../event-options.ts';
import { fatesInWords, foundEventObject } from '../fate-object.ts';
import { optionalId, requireId, requireWebhook } from '../ids.ts';
import type { Io } from '../io.ts';
import { messageIdOf, onlyOne, requireAddress } from '../mail-search.ts';
import { LISTED_MAX, note, printList } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'RECORDED', 'TYPE', 'ACCOUNT', 'EMAIL', 'WEBHOOKS'];
const SEARCHES = ['event', 'email', 'address', 'messageId', 'request', 'webhook'] as const;

interface Options extends Partial<Record<(typeof SEARCHES)[number], string>> {
  readonly account?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly after?: bigint;
  readonly type?: EventType;
  readonly status?: FoundEventFilter['status'];
  readonly json?: true;
}

/** `events find`: finds events of every account, and shows what became of each. */
export function addEventsFind(events: Command, io: Io): void {
  events
    .command('find')
    .description(`the newest ${LISTED_MAX} events of a message, an address, a request or a webhook`)
    .option('--event <id>', 'an event')
    .option('--email <id>', 'of this sent message')
    .option('--address <address>', 'to this recipient')
    .option('--message-id <id>', 'of the mail with this Message-ID, sent or received')
    .option('--request <id>', 'of the mail that this request sent: its x-request-id')
    .option('--webhook <id>', 'of this webhook')
    .option('--account <id>', 'only events of this account')
    .addOption(eventOptions.since())
    .addOption(eventOptions.until())
    .addOption(eventOptions.after())
    .addOption(eventOptions.type())
    .addOption(eventOptions.status())
    .action(async (options: Options) => {
      const { since, until, after, type, status } = options;
      const search = parseSearch(options);
      const accountId = optionalId('account', options.account);
      const filter = { accountId, since, until, after, type, status };
      await withDatabase(
        io,
        async ({ database }) => {
          const { events, olderFrom } = await searchEvents(
            database,
            await search(database),
            filter,
            LISTED_MAX,
          );
          printList(io, options.json, events.map(foundEventObject), {
            head: HEAD,
            rows: events.map(rowOf),
            none: 'no events',
          });
          if (olderFrom !== null) {
            const some = events.length === LISTED_MAX ? 'are' : 'may be';
            note(io, `postrider: there ${some} older ones: --after ${olderFrom}`);
          }
        },
        { indexesOnly: true },
      );
    });
}

/** @throws UsageError */
function parseSearch(options: Options): (database: Database) => EventSearch | Promise<EventSearch> {
  const { name, value } = onlyOne('events find', options, SEARCHES);
  switch (name) {
    case 'event': {
      const id = requireId('event', value);
      return () => ({ by: 'event', id });
    }
    case 'email': {
      const id = requireId('email', value);
      return () => ({ by: 'email', id });
    }
    case 'address': {
      const address = requireAddress(value);
      return () => ({ by: 'address', address });
    }
    case 'messageId':
      return () => ({ by: 'messageId', messageId: messageIdOf(value) });
    case 'request':
      return () => ({ by: 'request', requestId: value.trim() });
    case 'webhook': {
      const id = requireId('webhook', value);
      return async (database) => {
        const { accountId } = await requireWebhook(database, id);
        return { by: 'webhook', id, accountId };
      };
    }
  }
}

function rowOf(event: EventWithFates): string[] {
  const { id, createdAt, type, accountId, emailId, fates } = event;
  return [id, createdAt.toISOString(), type, accountId, emailId ?? '-', fatesInWords(fates)];
}
