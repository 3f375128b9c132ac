import { parseEmailAddress } from '@postrider/domain';
import { findMessages } from '@postrider/store';
import type { FoundMessage, MessageSearch } from '@postrider/store';
import type { Command } from 'commander';
import { UsageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { messageIdOf, onlyOne } from '../mail-search.ts';
import { LISTED_MAX, note, printList } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'RECEIVED', 'STATUS', 'BYTES', 'ACCOUNT', 'INBOX OR RULE'];

interface Options {
  readonly messageId?: string;
  readonly address?: string;
  readonly json?: true;
}

/** `inbound find`: shows the state of received mail. It shows ids, never content. */
export function addInboundFind(inbound: Command, io: Io): void {
  inbound
    .command('find')
    .description(
      `the newest ${LISTED_MAX} received messages with a Message-ID or an address, of every account`,
    )
    .option('--message-id <id>', 'of the header, with or without angle brackets')
    .option('--address <address>', 'of the sender or of a recipient')
    .action(async (options: Options) => {
      const search = searchOf(options);
      await withDatabase(io, async ({ database }) => {
        const found = await findMessages(database, search, { limit: LISTED_MAX + 1 });
        const listed = found.slice(0, LISTED_MAX);
        printList(io, options.json, listed.map(messageObject), {
          head: HEAD,
          rows: listed.map(rowOf),
          none: 'no messages',
        });
        if (found.length > LISTED_MAX) note(io, 'postrider: there are older ones');
      });
    });
}

/** @throws UsageError */
function searchOf(options: Options): MessageSearch {
  const { name, value } = onlyOne('inbound find', options, ['messageId', 'address']);
  if (name === 'messageId') return { messageId: messageIdOf(value) };
  // Any text with an `@` is accepted: a sender may have written an address that no mail can be sent to.
  const address = parseEmailAddress(value.trim())?.address ?? value.trim();
  if (!address.includes('@')) throw new UsageError(`"${value}" is not an email address`);
  return { address };
}

function messageObject(message: FoundMessage) {
  return {
    id: message.id,
    account: message.accountId,
    kind: message.kind,
    inbox_id: message.inboxId,
    rule_id: message.ruleId,
    status: message.status,
    held_reason: message.heldReason,
    received_at: message.receivedAt.toISOString(),
    size: message.size,
  };
}

function rowOf(message: FoundMessage): string[] {
  return [
    message.id,
    message.receivedAt.toISOString(),
    message.heldReason === null ? message.status : `${message.status} (${message.heldReason})`,
    String(message.size),
    message.accountId,
    message.inboxId ?? message.ruleId ?? '',
  ];
}
