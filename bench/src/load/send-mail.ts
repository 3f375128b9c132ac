import { Agent, request } from 'node:http';

export interface MailLoad {
  readonly port: number;
  readonly key: string;
  readonly count: number;
  /** Requests in flight, each on a connection of its own that is kept. */
  readonly concurrency: number;
}

/** A message of some 2 KB, as JSON. */
export const MAIL_BODY = Buffer.from(
  JSON.stringify({
    from: 'Bench <bench@example.com>',
    to: ['someone@example.com'],
    subject: 'A message of the benchmark',
    html: `<p>${'words '.repeat(170)}</p>`,
    text: 'words '.repeat(130),
    tags: [{ name: 'kind', value: 'bench' }],
  }),
);

/** Sends messages as fast as that many requests in flight allow. @throws Error when one is not answered with 200 */
export async function sendMail({ port, key, count, concurrency }: MailLoad): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': MAIL_BODY.length,
  };
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const asked = request({ agent, port, host: '127.0.0.1', method: 'POST', path: '/v1/emails', headers });
      asked.once('error', reject);
      asked.once('response', (response) => {
        response.resume();
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`a message was answered with ${response.statusCode}`));
        });
      });
      asked.end(MAIL_BODY);
    });
  let left = count;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await one();
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, lane));
  } finally {
    agent.destroy();
  }
}
