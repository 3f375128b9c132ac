import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from '@postrider/testing';
import type { FaultProxy } from '@postrider/testing';
import { sendMail } from '../../../send-mail.ts';
import type { CauseEntry } from '../checker/history.ts';
import { nowMs } from '../times.ts';

/**
 * A mail server outside, with a queue. It tries a message again, with the same bytes, until 250 or a
 * permanent refusal.
 */
export interface MailSender {
  /** A line per message. Its cause is the `Message-ID`. */
  readonly log: readonly CauseEntry[];
  /** The proxy before the inbound process that was started last. */
  readonly line: FaultProxy;
  /** Length and hash of each message, by `Message-ID`. */
  readonly sent: ReadonlyMap<string, SentBytes>;
  /** The number of messages that were answered 250. */
  readonly taken: number;
  /** The number of failed tries. With `code`: only those with this answer. */
  refused(code?: number): number;
  /** Sends messages. Resolves when each got 250 or a permanent refusal. */
  send(count: number, wish: MailToUs): Promise<void>;
}

export interface SentBytes {
  readonly length: number;
  readonly sha256: string;
}

export interface MailToUs {
  readonly to: string;
  /** Messages at once. Default: 1. */
  readonly atOnce?: number;
  /** The size of the attachment. Default: 1,000. */
  readonly bytes?: () => number;
  /** Sends no new message after its abort. */
  readonly until?: AbortSignal;
}

/** The last line of every message. A trap that holds it holds the end. */
export const LAST_LINE = '--the-end--';

const FROM = 'ann@shop.example';
const RETRY_AFTER_MS = 100;
/** Longer than any fault: the fault ends the connection, not the sender. */
const PATIENCE_MS = 60_000;

interface Message {
  readonly id: string;
  readonly raw: Buffer;
}

/** @param signal ends tries that would not end */
export function createMailSender({
  line,
  signal,
}: {
  readonly line: FaultProxy;
  readonly signal: AbortSignal;
}): MailSender {
  const log: CauseEntry[] = [];
  const sent = new Map<string, SentBytes>();
  /** The codes of the answers. 0: none. */
  const refusals: number[] = [];

  /** @returns the code of the answer. 0: none */
  async function attempt({ raw }: Message, to: string): Promise<number> {
    const patience = { greetingTimeout: PATIENCE_MS, socketTimeout: PATIENCE_MS };
    try {
      return Number(
        (await sendMail(line.port, { envelope: { from: FROM, to: [to] }, raw }, patience)).slice(0, 3),
      );
    } catch (error) {
      return (error as { responseCode?: number }).responseCode ?? 0;
    }
  }

  async function deliver(message: Message, to: string): Promise<void> {
    const entry: CauseEntry = {
      cause: message.id,
      kind: 'message',
      outcome: 'unknown',
      id: null,
      beganAtMs: nowMs(),
      endedAtMs: NaN,
    };
    log.push(entry);
    sent.set(message.id, {
      length: message.raw.length,
      sha256: createHash('sha256').update(message.raw).digest('hex'),
    });
    while (entry.outcome === 'unknown') {
      const code = await attempt(message, to);
      entry.endedAtMs = nowMs();
      if (code === 250) {
        entry.outcome = 'ok';
        return;
      }
      refusals.push(code);
      if (code >= 500) entry.outcome = 'failed';
      signal.throwIfAborted();
      await delay(RETRY_AFTER_MS);
    }
  }

  return {
    log,
    line,
    sent,
    get taken() {
      return log.filter(({ outcome }) => outcome === 'ok').length;
    },
    refused: (code) => refusals.filter((one) => code === undefined || one === code).length,
    async send(count, { to, atOnce = 1, bytes = () => 1_000, until = signal }) {
      await inParallel({ count, concurrency: atOnce, until }, () => deliver(newMessage(to, bytes()), to));
    },
  };
}

/** Makes a message with a unique text and attachment. */
function newMessage(to: string, bytes: number): Message {
  const id = `${randomUUID()}@shop.example`;
  const attachment =
    Buffer.alloc(bytes, id)
      .toString('base64')
      .match(/.{1,76}/g) ?? [];
  const lines = [
    `Message-ID: <${id}>`,
    `From: Ann <${FROM}>`,
    `To: <${to}>`,
    'Subject: torture',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="the-end"',
    '',
    '--the-end',
    'Content-Type: text/plain',
    '',
    `This is ${id}.`,
    '--the-end',
    'Content-Type: application/octet-stream',
    'Content-Disposition: attachment; filename="torture.bin"',
    'Content-Transfer-Encoding: base64',
    '',
    ...attachment,
    LAST_LINE,
    '',
  ];
  return { id, raw: Buffer.from(lines.join('\r\n')) };
}
