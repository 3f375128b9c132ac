import { createHash, randomUUID } from 'node:crypto';
import { systemClock } from '@postrider/runtime';
import { createReceivedMessageStore, createWakeUps, openDatabase } from '@postrider/store';
import type { IncomingMessage } from '@postrider/store';
import { SHARED_DOMAIN } from './start-api.ts';

/** What an inbound process does with a message once it is parsed and judged. */
export interface OpenIntake {
  /** @returns the id of the message that was stored @throws Error when none was */
  receive(
    message: Partial<IncomingMessage> & Pick<IncomingMessage, 'recipients' | 'from' | 'to'>,
  ): Promise<string>;
  close(): Promise<void>;
}

export function openIntake(databaseUrl: string): OpenIntake {
  const connection = { databaseUrl, applicationName: 'intake-of-a-test', onError: () => undefined };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: 2 }, wakeUps);
  const intake = createReceivedMessageStore(database, systemClock, [SHARED_DOMAIN]);
  return {
    async receive(message) {
      const reception = await intake.receive({
        digest: createHash('sha256').update(randomUUID()).digest(),
        blob: 'b'.repeat(64),
        size: 1_000,
        senders: [],
        messageId: `${randomUUID()}@mail.example`,
        inReplyTo: null,
        references: [],
        cc: [],
        replyTo: [],
        subject: 'Order',
        text: 'Where is it?',
        html: null,
        headers: [],
        attachments: [],
        automatic: false,
        heldReason: null,
        auth: { spf: 'pass', dkim: 'none', dmarc: 'none' },
        ...message,
      });
      if (reception.kind !== 'stored' || reception.messages[0] === undefined)
        throw new Error('it went nowhere');
      return reception.messages[0].id;
    },
    async close() {
      await database.close();
      await wakeUps.close();
    },
  };
}
