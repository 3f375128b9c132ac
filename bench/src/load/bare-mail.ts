import { createTransport } from 'nodemailer';
import { monotonicMs } from '../monotonic.ts';

const FROM = 'bench@example.com';
const TO = 'someone@example.com';
const BYTES = 2_000;

/** The yardstick of sent mail: nodemailer alone sends messages of about 2 KB over kept connections. */
export interface BareMail {
  /** @returns answered messages per second. @throws Error when the server refuses one */
  rate(count: number): Promise<number>;
  close(): void;
}

export function openBareMail(port: number, connections: number): BareMail {
  const transport = createTransport({ host: '127.0.0.1', port, pool: true, maxConnections: connections });
  const line = `${'words '.repeat(12)}\r\n`;
  const raw = `From: ${FROM}\r\nTo: ${TO}\r\nSubject: A message of the benchmark\r\n\r\n${line.repeat(BYTES / line.length)}`;
  const envelope = { from: FROM, to: [TO] };
  return {
    async rate(count) {
      const begun = monotonicMs();
      await Promise.all(Array.from({ length: count }, () => transport.sendMail({ envelope, raw })));
      return (count * 1000) / (monotonicMs() - begun);
    },
    close: () => transport.close(),
  };
}
