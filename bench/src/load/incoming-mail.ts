import { randomUUID } from 'node:crypto';
import { openSmtpClient } from '@postrider/testing';
import type { SmtpClient } from '@postrider/testing';
import { monotonicMs } from '../monotonic.ts';
import { atSteadyRate } from '../roles/steady-rate.ts';

export interface MailTarget {
  readonly port: number;
  readonly to: string;
  /** The largest size of a message. The real size is some bytes less. */
  readonly bytes: number;
}

/** An accepted message. Times are milliseconds of the machine's monotonic clock. */
export interface AcceptedMail {
  /** `Message-ID`, without brackets. */
  readonly id: string;
  /** When its last byte was written to the socket. */
  readonly endedAtMs: number;
  /** When its 250 arrived. */
  readonly acceptedAtMs: number;
}

/** The product accepts 100 messages per session. */
const MESSAGES_PER_SESSION = 100;
const CONNECTIONS_MAX = 16;

/**
 * Sends messages over parallel connections as fast as they are accepted. @throws Error when one is refused
 */
export async function sendIncoming(target: MailTarget, count: number, connections: number): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: connections }, (_, index) =>
      withConnection(target, index, async (send) => {
        while (left > 0) {
          left -= 1;
          await send();
        }
      }),
    ),
  );
}

/** Sends messages at a steady rate while a connection is free. @returns all, in the order of their start */
export async function paceIncoming(
  target: MailTarget,
  rate: { readonly perSecond: number; readonly seconds: number },
): Promise<AcceptedMail[]> {
  const connections = Array.from({ length: CONNECTIONS_MAX }, (_, index) => new Connection(target, index));
  const idle = [...connections];
  const waiting: ((free: Connection) => void)[] = [];
  try {
    return await atSteadyRate(rate, async () => {
      const connection = idle.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
      try {
        return await connection.send();
      } finally {
        const next = waiting.shift();
        if (next === undefined) idle.push(connection);
        else next(connection);
      }
    });
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Sends messages over parallel connections until stopped. */
export function floodIncoming(
  target: MailTarget,
  connections: number,
): { stop(): Promise<{ readonly sent: number }> } {
  let sent = 0;
  let over = false;
  const flooding = Promise.all(
    Array.from({ length: connections }, (_, index) =>
      withConnection(target, index, async (send) => {
        while (!over) {
          await send();
          sent += 1;
        }
      }),
    ),
  );
  flooding.catch(() => undefined); // `stop` throws it
  return {
    async stop() {
      over = true;
      await flooding;
      return { sent };
    },
  };
}

async function withConnection(
  target: MailTarget,
  index: number,
  work: (send: () => Promise<AcceptedMail>) => Promise<void>,
): Promise<void> {
  const connection = new Connection(target, index);
  try {
    await work(() => connection.send());
  } finally {
    connection.close();
  }
}

/**
 * A kept connection, renewed when its session has reached the limit of messages. Each has its own address,
 * because the product limits the sessions and the bytes of one address. Linux has all of 127.0.0.0/8.
 */
class Connection {
  readonly #target: MailTarget;
  readonly #from: string;
  #client: SmtpClient | null = null;
  #messages = 0;

  constructor(target: MailTarget, index: number) {
    this.#target = target;
    this.#from = `127.0.1.${index + 1}`;
  }

  async send(): Promise<AcceptedMail> {
    if (this.#messages % MESSAGES_PER_SESSION === 0) await this.#connect();
    this.#messages += 1;
    const client = this.#open();
    await this.#say('MAIL FROM:<ann@shop.example>', '250');
    await this.#say(`RCPT TO:<${this.#target.to}>`, '250');
    await this.#say('DATA', '354');
    const { id, raw } = newMail(this.#target);
    client.write(raw);
    await client.flushed();
    const endedAtMs = monotonicMs();
    expectCode(await client.answer(), '250');
    return { id, endedAtMs, acceptedAtMs: monotonicMs() };
  }

  close(): void {
    this.#client?.destroy();
  }

  async #connect(): Promise<void> {
    this.close();
    this.#client = await openSmtpClient(this.#target.port, '127.0.0.1', this.#from);
    expectCode(await this.#client.answer(), '220');
    await this.#say('EHLO client.example', '250');
  }

  async #say(line: string, code: string): Promise<void> {
    expectCode(await this.#open().say(line), code);
  }

  #open(): SmtpClient {
    if (this.#client === null) throw new Error('there is no connection');
    return this.#client;
  }
}

function expectCode(answer: string, code: string): void {
  if (!answer.startsWith(code))
    throw new Error(`mail was answered '${answer || 'with the end'}', not ${code}`);
}

const LINE_BYTES = 57; // 76 characters of base64
const fillers = new Map<number, string>();

/**
 * A short text and a unique attachment: the product does not store the same bytes twice. The message includes
 * the final dot, which in a separate write would wait for an acknowledgement.
 */
function newMail({ to, bytes }: MailTarget): { readonly id: string; readonly raw: Buffer } {
  const id = `${randomUUID()}@shop.example`;
  const head = [
    `Message-ID: <${id}>`,
    'From: Ann <ann@shop.example>',
    `To: <${to}>`,
    'Subject: A message of the benchmark',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="cut"',
    '',
    '--cut',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'words '.repeat(150),
    '--cut',
    'Content-Type: application/pdf',
    'Content-Disposition: attachment; filename="invoice.pdf"',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.alloc(LINE_BYTES, id).toString('base64'),
    '',
  ].join('\r\n');
  const tail = '--cut--\r\n.\r\n';
  return { id, raw: Buffer.from(head + fillerOf(bytes - head.length - tail.length) + tail) };
}

/** Whole lines of base64, at most `bytes` long. */
function fillerOf(bytes: number): string {
  const line = `${Buffer.alloc(LINE_BYTES, 'postrider').toString('base64')}\r\n`;
  const lines = Math.max(0, Math.floor(bytes / line.length));
  const filler = fillers.get(lines) ?? line.repeat(lines);
  fillers.set(lines, filler);
  return filler;
}
