import type { EventId } from '@postrider/domain';
import { readEventMoment } from '@postrider/store';
import type { Database } from '@postrider/store';
import type { Terminal } from '../terminal.ts';
import type { ApiClient } from './api-client.ts';
import type { Arrivals } from './arrivals.ts';

/** The parts of the running system that the demonstration uses. */
export interface Stage {
  readonly api: ApiClient;
  readonly arrivals: Arrivals;
  readonly database: Database;
  readonly terminal: Terminal;
  readonly logsDir: string;
}

const MAIL = {
  from: 'Postrider <hello@example.com>',
  to: 'first@sandbox.postrider.example',
  subject: 'The first mail',
  text: 'Accepted by the sandbox provider, which sends nothing.',
};
export const ARRIVAL_TIMEOUT_MS = 20_000;
const COMMITTED = 'the commit that recorded the event (commit time as Postgres keeps it)';
const WRITTEN = 'the event was written (its created_at: this Postgres keeps no commit times)';

/** Sends one mail and shows the signed `email.sent` event. @returns false when it does not arrive in time. */
export async function showSentMail({ api, arrivals, database, terminal, logsDir }: Stage): Promise<boolean> {
  const { id } = await api.request<{ id: string }>('POST', '/v1/emails', MAIL);
  const answeredAtMs = Date.now();
  terminal.say(
    'demo',
    `POST /v1/emails answered 200: mail ${id} is stored, and queued for the sandbox provider`,
  );
  const arrival = await terminal.during('waiting for email.sent', () =>
    arrivals.find(
      ({ event }) => event.type === 'email.sent' && event.data.email_id === id,
      ARRIVAL_TIMEOUT_MS,
    ),
  );
  if (arrival === null) {
    const seconds = ARRIVAL_TIMEOUT_MS / 1000;
    terminal.say('demo', `email.sent has not arrived within ${seconds} s; ${logsDir} may say why`);
    return false;
  }
  const { event, receivedAtMs } = arrival;
  const moment = await readEventMoment(database.pool, event.id as EventId);
  if (moment === null) throw new Error(`event ${event.id} has arrived and is not in the database`);
  const after = (ms: number) => `${Math.max(0, Math.round(receivedAtMs - ms))} ms`;
  terminal.say('demo', `signed email.sent ${event.id} arrived, signature verified`);
  terminal.say('demo', `${after(moment.atMs)} after ${moment.isCommitTime ? COMMITTED : WRITTEN}`);
  terminal.say('demo', `${after(answeredAtMs)} after POST /v1/emails was answered`);
  return true;
}
