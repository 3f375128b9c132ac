import { createMessageStore, findMessage } from '@postrider/store';
import type { MessageDetails } from '@postrider/store';
import type { Command } from 'commander';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `inbound show`: shows why a message is held, and what the checks found. It shows no text of the mail. */
export function addInboundShow(inbound: Command, io: Io): void {
  inbound
    .command('show')
    .description('a received message, held or not: its state, its checks and its addresses, without its text')
    .argument('<id>', 'the message, msg_…')
    .action(async (text: string, { json }: { json?: true }) => {
      const id = requireId('message', text);
      await withDatabase(io, async ({ database }) => {
        const found = await findMessage(database, id);
        const message = found && (await createMessageStore(database, io.clock).find(found, id));
        if (message === null) throw new Failure(`no message ${id}`);
        printAnswer(io, json, messageObject(message), linesOf(message));
      });
    });
}

function messageObject(message: MessageDetails) {
  return {
    id: message.id,
    account: message.accountId,
    kind: message.kind,
    inbox_id: message.inboxId,
    rule_id: message.ruleId,
    thread_id: message.threadId,
    status: message.status,
    held_reason: message.heldReason,
    received_at: message.receivedAt.toISOString(),
    released_at: message.releasedAt?.toISOString() ?? null,
    ...message.auth,
    from: message.from,
    to: message.to,
    cc: message.cc,
    received_for: message.receivedFor,
    message_id: message.messageId,
    subject: message.subject,
    size: message.size,
    attachments: message.attachments.map(({ filename, contentType, size }) => ({
      filename,
      content_type: contentType,
      size,
    })),
  };
}

function linesOf(message: MessageDetails): string[] {
  const { auth, heldReason, releasedAt } = message;
  return [
    `${message.id} of ${message.accountId} (${message.kind}), ${message.inboxId ?? message.ruleId ?? 'without an inbox'}`,
    `status: ${message.status}${heldReason === null ? '' : ` (${heldReason})`}`,
    `received: ${message.receivedAt.toISOString()}, ${message.size} bytes`,
    ...(releasedAt === null ? [] : [`released: ${releasedAt.toISOString()}`]),
    `checks: spf ${auth.spf}, dkim ${auth.dkim}, dmarc ${auth.dmarc}`,
    `from: ${message.from}`,
    `received for: ${message.receivedFor.join(', ')}`,
    `subject: ${message.subject ?? '-'}`,
    `attachments: ${message.attachments.length}`,
  ];
}
