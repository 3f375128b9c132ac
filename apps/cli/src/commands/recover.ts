import { LIMITS } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { createRecoveryStore, RECOVERED_EVENTS } from '@postrider/store';
import type { Database, NewRecovery, OwnedWebhook } from '@postrider/store';
import { Option } from 'commander';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { eventOptions } from '../event-options.ts';
import { Failure, UsageError } from '../failure.ts';
import { requireId, requireWebhook } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { countObject, dryRunInWords } from '../recovery-object.ts';
import { recoveryOptions } from '../recovery-options.ts';
import { runRecovery, showRecovery, stopRecovery } from '../run-recovery.ts';
import { withDatabase } from '../session.ts';

interface Options extends ActorOptions {
  readonly since?: Date;
  readonly until?: Date;
  readonly types?: readonly EventType[];
  readonly only?: (typeof RECOVERED_EVENTS)[number];
  readonly rate?: number;
  readonly dryRun?: true;
  readonly stop?: true;
  readonly json?: true;
}

const OPTIONS_OF_A_START = ['since', 'until', 'types', 'only', 'rate', 'dryRun'] as const;

/** `recover`: sends the events of a time span to a webhook again, also events without a dead letter. */
export function addRecover(program: Command, io: Io): void {
  withActor(program.command('recover'))
    .description('send the events of a time span to a webhook again; without options, show the last recovery')
    .argument('<webhook>', 'wh_…')
    .addOption(eventOptions.since())
    .addOption(eventOptions.until())
    .addOption(recoveryOptions.types())
    .addOption(
      new Option('--only <events>', 'those that the endpoint did not take (default), or all').choices(
        RECOVERED_EVENTS,
      ),
    )
    .addOption(recoveryOptions.rate(`default: ${LIMITS.recoveryRateDefault}`))
    .addOption(recoveryOptions.dryRun())
    .addOption(recoveryOptions.stop())
    .action(async (text: string, options: Options) => {
      const id = requireId('webhook', text);
      const act = parseAct(options, io);
      await withDatabase(io, async ({ database }) => act(database, await requireWebhook(database, id)), {
        indexesOnly: true,
      });
    });
}

type Act = (database: Database, webhook: OwnedWebhook) => Promise<void>;

/** @throws UsageError */
function parseAct(options: Options, io: Io): Act {
  const { since, until, types = [], only = 'undelivered', rate, dryRun, stop, json } = options;
  const given = OPTIONS_OF_A_START.filter((name) => options[name] !== undefined);
  const how = { by: actorOf(io, options), json };
  if (stop === true) {
    if (given.length > 0) throw new UsageError('--stop goes alone');
    return async (database, webhook) => stopRecovery(io, database, webhook, how);
  }
  if (given.length === 0) return async (database, webhook) => showRecovery(io, database, webhook, json);
  if (since === undefined) throw new UsageError('--since is missing: from when on events are sent again');
  if (until !== undefined && until <= since) throw new UsageError('--until is not after --since');
  const request = { since, until, types, only, rate: rate ?? LIMITS.recoveryRateDefault };
  return async (database, webhook) =>
    dryRun === true
      ? count(io, database, webhook, request, json)
      : runRecovery(io, database, webhook, request, how);
}

async function count(
  io: Io,
  database: Database,
  webhook: OwnedWebhook,
  request: NewRecovery,
  json?: true,
): Promise<void> {
  const { id, accountId } = webhook;
  const counted = await createRecoveryStore(database, io.clock).count(accountId, id, request);
  if (counted === null) throw new Failure(`no webhook ${id}`);
  printAnswer(io, json, countObject(webhook, request, counted), dryRunInWords(request, counted));
}
