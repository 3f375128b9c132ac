import { createTransport } from 'nodemailer';
import { StartError } from '../settings.ts';
import { urlHost } from '../system/ports.ts';
import type { ApiClient } from './api-client.ts';
import { ARRIVAL_TIMEOUT_MS } from './show.ts';
import type { Stage } from './show.ts';

const INBOX = 'support@inbound.postrider.example';
const MAIL = {
  from: 'Ann <first@sandbox.postrider.example>',
  to: `Support <${INBOX}>`,
  subject: 'Where is my order?',
  text: 'It should have come yesterday.',
};

/** Sends one message over SMTP, shows the signed `message.received` event, and replies in the thread. */
export async function showInboundMail(
  { api, arrivals, terminal }: Pick<Stage, 'api' | 'arrivals' | 'terminal'>,
  smtp: { readonly host: string; readonly port: number },
): Promise<void> {
  await ensureInbox(api);
  // The same bytes would count as the same message, so each start sends different bytes.
  const messageId = `<${crypto.randomUUID()}@sandbox.postrider.example>`;
  const answer = await send(smtp, messageId);
  terminal.say('demo', `SMTP ${urlHost(smtp.host)}:${smtp.port} took a message for ${INBOX}: ${answer}`);
  const arrival = await terminal.during('waiting for message.received', () =>
    arrivals.find(
      ({ event }) => event.type === 'message.received' && event.data.message_id === messageId,
      ARRIVAL_TIMEOUT_MS,
    ),
  );
  if (arrival?.event.type !== 'message.received') {
    throw new StartError(`message.received has not arrived within ${ARRIVAL_TIMEOUT_MS / 1000} s`);
  }
  const { id, thread_id: thread } = arrival.event.data;
  if (thread === null) throw new StartError(`the received message ${id} has no thread`);
  terminal.say('demo', `signed message.received ${arrival.event.id} arrived, signature verified`);
  const path = `/v1/inboxes/${encodeURIComponent(INBOX)}/threads/${thread}/emails`;
  const reply = await api.request<{ id: string }>('POST', `${path}/${id}/reply`, {
    text: 'It is on its way.',
  });
  const { data } = await api.request<{ data: readonly { id: string; subject: string }[] }>('GET', path);
  const [newest] = data;
  if (newest?.id !== reply.id) throw new StartError(`the reply ${reply.id} is not in its thread`);
  terminal.say(
    'demo',
    `reply ${reply.id} ("${newest.subject}") is queued, message ${data.length} of thread ${thread}`,
  );
}

async function ensureInbox(api: ApiClient): Promise<void> {
  const { data } = await api.request<{ data: readonly { email_address: string }[] }>('GET', '/v1/inboxes');
  if (data.some(({ email_address: address }) => address === INBOX)) return;
  await api.request('POST', '/v1/inboxes', { email_address: INBOX, from_name: 'Support' });
}

/** @returns the server's answer to the message. */
async function send({ host, port }: { host: string; port: number }, messageId: string): Promise<string> {
  const transport = createTransport({ host, port, ignoreTLS: true });
  try {
    const { response } = await transport.sendMail({ ...MAIL, messageId });
    return response;
  } finally {
    transport.close();
  }
}
