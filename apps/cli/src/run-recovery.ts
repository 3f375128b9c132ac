import type { RecoveryId } from '@postrider/domain';
import { pause } from '@postrider/limits';
import { createAccountStore, createRecoveryStore, createWebhookLookUps } from '@postrider/store';
import type { Actor, Database, NewRecovery, OwnedWebhook, Recovery } from '@postrider/store';
import { Failure } from './failure.ts';
import { withInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { isTerminal, note, printAnswer } from './print.ts';
import { countInWords, progressInWords, recoveryObject, stateInWords } from './recovery-object.ts';

const LOOK_EVERY_MS = 500;
/**
 * The wait for the outcomes of the events queued last: mostly seconds. A failing endpoint may need an hour.
 */
const LAST_EVENTS_MS = 10_000;
/** A terminal shows one line that changes. Elsewhere each line stays, so there are few. */
const LINE_EVERY_MS = 10_000;

type Webhook = Pick<OwnedWebhook, 'id' | 'accountId'>;

/**
 * Starts a recovery and shows its progress until all events are queued. Then it waits some seconds for the
 * outcomes of the events queued last, and prints the recovery. Ctrl+C ends the wait, not the recovery.
 */
export async function runRecovery(
  io: Io,
  database: Database,
  webhook: Webhook,
  request: NewRecovery,
  { by, json }: { readonly by: Actor; readonly json: boolean | undefined },
): Promise<void> {
  const { id, accountId } = webhook;
  const start = await createRecoveryStore(database, io.clock).start(accountId, id, request, by);
  switch (start.kind) {
    case 'no webhook':
      throw new Failure(`no webhook ${id}`);
    case 'running':
      throw new Failure(`${start.id} of ${id} runs. ${followUpCommands(webhook)}`);
    case 'changed':
      throw new Failure(`${start.count.matched} match, and not ${request.expected}`);
    case 'started':
      note(
        io,
        `postrider: ${start.id}: ${countInWords(start.count.matched, start.count.hasMore)} match, at most ${request.rate} a second`,
      );
  }
  const account = await createAccountStore(database, io.clock).describe(accountId);
  if (account?.suspendedAt) note(io, `postrider: ${accountId} is suspended: it waits for account resume`);
  await followRecovery(io, database, webhook, start.id, json);
}

/** Shows the progress as `runRecovery` does. When Postgres fails, a note says that the recovery goes on. */
async function followRecovery(
  io: Io,
  database: Database,
  webhook: Webhook,
  id: RecoveryId,
  json: boolean | undefined,
): Promise<void> {
  const goesOn = `postrider: ${id} goes on. ${followUpCommands(webhook)}`;
  const following = withInterrupt((interrupt) => untilEnd(io, database, { webhook, id, interrupt }));
  const last = await following.catch((error: unknown) => {
    if (!(error instanceof Failure)) note(io, goesOn);
    throw error;
  });
  if (last.status === 'running') note(io, goesOn);
  printRecovery(io, webhook, last, json);
}

/**
 * Shows the progress of the webhook's running recovery. When none runs, prints the webhook's last recovery.
 */
export async function showRecovery(
  io: Io,
  database: Database,
  webhook: Webhook,
  json: boolean | undefined,
): Promise<void> {
  const { id, accountId } = webhook;
  const newest = await createRecoveryStore(database, io.clock).list(accountId, id, { limit: 1 });
  // `no cursor` cannot come: no cursor is given.
  if (newest === 'no webhook' || newest === 'no cursor') throw new Failure(`no webhook ${id}`);
  const [last] = newest.entries;
  if (last === undefined) throw new Failure(`${id} never had a recovery; --since starts one`);
  if (last.status === 'running') await followRecovery(io, database, webhook, last.id, json);
  else printRecovery(io, webhook, last, json);
}

/** Stops the webhook's running recovery, and prints it. The events that it has queued are still sent. */
export async function stopRecovery(
  io: Io,
  database: Database,
  webhook: Webhook,
  { by, json }: { readonly by: Actor; readonly json: boolean | undefined },
): Promise<void> {
  const recoveries = createRecoveryStore(database, io.clock);
  const running = await recoveries.running(webhook.accountId, webhook.id);
  if (running === null) throw new Failure(`no recovery of ${webhook.id} runs`);
  const stopped = await recoveries.stop(webhook.accountId, webhook.id, running, by);
  if (stopped === null) throw new Failure(`no webhook ${webhook.id}`);
  printRecovery(io, webhook, stopped, json);
}

async function untilEnd(
  io: Io,
  database: Database,
  {
    webhook,
    id,
    interrupt,
  }: { readonly webhook: Webhook; readonly id: RecoveryId; readonly interrupt: AbortSignal },
): Promise<Recovery> {
  const recoveries = createRecoveryStore(database, io.clock);
  const webhooks = createWebhookLookUps(database);
  const progress = createProgress(io);
  let endsAtMs = Infinity;
  try {
    for (;;) {
      const recovery = await recoveries.find(webhook.accountId, webhook.id, id);
      const found = await webhooks.find(webhook.id);
      if (recovery === null || found === null)
        throw new Failure(`${webhook.id} is deleted, so ${id} has ended`);
      if (recovery.status === 'stopped') return recovery;
      if (recovery.status === 'finished') {
        const waitMs = recovery.inProgress > 0 ? LAST_EVENTS_MS : 0;
        endsAtMs = Math.min(endsAtMs, performance.now() + waitMs);
      }
      if (performance.now() >= endsAtMs || interrupt.aborted) return recovery;
      const pace = found.failingSince === null ? '' : '; it fails: 1 a second';
      progress.show(`${progressInWords(recovery)}${pace}`);
      await pause(LOOK_EVERY_MS, interrupt);
    }
  } finally {
    progress.end();
  }
}

function createProgress({ stderr }: Io) {
  const onTerminal = isTerminal(stderr);
  let shown = '';
  let nextAtMs = 0;
  return {
    show(text: string): void {
      const nowMs = performance.now();
      if (text === shown || (!onTerminal && nowMs < nextAtMs)) return;
      stderr.write(onTerminal ? `\r\u001b[K${text}` : `postrider: ${text}\n`);
      shown = text;
      nextAtMs = nowMs + LINE_EVERY_MS;
    },
    end(): void {
      if (onTerminal && shown !== '') stderr.write('\n');
    },
  };
}

/** The commands that show and stop the webhook's recovery. */
function followUpCommands({ id }: Webhook): string {
  return `To look: postrider recover ${id}; to stop it: postrider recover ${id} --stop`;
}

function printRecovery(io: Io, { accountId }: Webhook, recovery: Recovery, json: boolean | undefined): void {
  const { id, webhookId, endedAt } = recovery;
  const ended = endedAt === null ? '' : ` at ${endedAt.toISOString()}`;
  printAnswer(io, json, recoveryObject(recovery, accountId), [
    `${id} of ${webhookId} ${stateInWords(recovery)}${ended}: ${progressInWords(recovery)}`,
  ]);
}
