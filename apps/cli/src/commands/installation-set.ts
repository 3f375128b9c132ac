import { MAIL_PROVIDERS, setMailProvider, setPostmaster } from '@postrider/store';
import type { MailProviderName } from '@postrider/store';
import { Argument } from 'commander';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure, UsageError } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

const RESTART =
  'restart every API, worker and inbound process: until then they use what they found at their start';

interface Options extends ActorOptions {
  readonly json?: true;
}

const SETTINGS = { 'mail-provider': changeMailProvider, postmaster: changePostmaster };

/** `installation set`: stores a value that holds for every process. */
export function addInstallationSet(installation: Command, io: Io): void {
  withActor(installation.command('set'))
    .description('change what holds for the whole installation')
    .addArgument(new Argument('<setting>', 'what to change').choices(Object.keys(SETTINGS)))
    .argument('<value>', `${MAIL_PROVIDERS.join(', ')}; for postmaster the id of an inbox`)
    .action(async (setting: keyof typeof SETTINGS, value: string, options: Options) =>
      SETTINGS[setting](io, value, options),
    );
}

async function changeMailProvider(io: Io, value: string, options: Options): Promise<void> {
  if (!isMailProvider(value))
    throw new UsageError(`the mail provider is one of ${MAIL_PROVIDERS.join(', ')}`);
  await withDatabase(io, async ({ database }) => {
    const before = await setMailProvider(database, value, actorOf(io, options));
    printAnswer(io, options.json, { mail_provider: value, was: before }, [
      `the mail provider is ${value} (was: ${before ?? 'not set'})`,
      RESTART,
    ]);
  });
}

async function changePostmaster(io: Io, value: string, options: Options): Promise<void> {
  const id = requireId('inbox', value);
  await withDatabase(io, async ({ database }) => {
    const address = await setPostmaster(database, id, actorOf(io, options));
    if (address === null) throw new Failure(`no inbox ${id}`);
    printAnswer(io, options.json, { postmaster: id, email_address: address }, [
      `mail to postmaster goes to ${address} from now on`,
    ]);
  });
}

function isMailProvider(value: string): value is MailProviderName {
  return (MAIL_PROVIDERS as readonly string[]).includes(value);
}
