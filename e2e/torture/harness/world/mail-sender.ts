import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from '@postrider/testing';
import type { FaultProxy } from '@postrider/testing';
import { sendMail } from '../../../send-mail.ts';
import type { CauseEntry } from '../checker/history.ts';
import { nowMs } from '../times.ts';

/**
 * A mail server outside, with a queue as all have: it tries a message again, the same bytes, until it hears 250 or a refusal
 * for good.
 */
export interface MailSender {
  /** A line for each message; its cause is the `Message-ID`. */
  readonly log: readonly CauseEntry[];
  /** Stands between it and the inbound process that was started last. */
  readonly line: FaultProxy;
  /** What each message consists of, by `Message-ID`. */
  readonly sent: ReadonlyMap<string, SentBytes>;
  /** How many messages have heard 250. */
  readonly taken: number;
  /** How often a message was not taken; with `code` only by this answer, else also without one. */
  refused(code?: number): number;
  /** Sends messages, and resolves when each has heard 250 or a refusal for good. */
  send(count: number, wish: MailToUs): Promise<void>;
}

export interface SentBytes {
  readonly length: number;
  readonly sha256: string;
}

export interface MailToUs {
  readonly to: string;
  /** Messages at a time; 1. */
  readonly atOnce?: number;
  /** Of the attachment; 1,000. */
  readonly bytes?: () => number;
  /** Takes no new message from then on. */
  readonly until?: AbortSignal;
}

/** A line of the end of every message: whoever holds it on the wire holds the end. */
export const LAST_LINE = '--the-end--';

const FROM = 'ann@shop.example';
const RETRY_AFTER_MS = 100;
/** Longer than any fault is held for: the fault ends the connection, not the sender. */
const PATIENCE_MS = 60_000;

interface Message {
  readonly id: string;
  readonly raw: Buffer;
}

/** @param signal ends what would be tried for ever. */
export function createMailSender({
  line,
  signal,
}: {
  readonly line: FaultProxy;
  readonly signal: AbortSignal;
}): MailSender {
  const log: CauseEntry[] = [];
  const sent = new Map<string, SentBytes>();
  /** Code of the answer; 0: there was none. */
  const refusals: number[] = [];

  /** @returns the code of the answer; 0: there was none */
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

/** A text and an attachment, which no other message has. */
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
