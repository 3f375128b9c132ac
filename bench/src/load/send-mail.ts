import { postRequests } from './post-requests.ts';
import type { PostLoad } from './post-requests.ts';

/** A message of about 2 KB, as JSON. */
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

/** Sends messages as fast as this concurrency allows. @throws Error when an answer is not 200 */
export async function sendMail(
  load: Pick<PostLoad, 'port' | 'key' | 'count' | 'concurrency'>,
): Promise<void> {
  await postRequests({ ...load, path: '/v1/emails', bodyOf: () => MAIL_BODY, status: 200 });
}
