import { MAIL_PROVIDERS, setMailProvider } from '@postrider/store';
import type { MailProviderName } from '@postrider/store';
import { Argument } from 'commander';
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { printJson, printLines } from '../print.ts';
import { withDatabase } from '../session.ts';

const RESTART = 'restart every API and worker: until then they go on with what they found at their start';

/** `installation set`: stores a value that holds for every process. */
export function addInstallationSet(installation: Command, io: Io): void {
  installation
    .command('set')
    .description('change what holds for the whole installation')
    .addArgument(new Argument('<setting>', 'what to change').choices(['mail-provider']))
    .addArgument(new Argument('<value>', 'its new value').choices(MAIL_PROVIDERS))
    .option('--json', 'print one JSON document')
    .action(async (_setting: string, value: MailProviderName, { json }: { json?: true }) => {
      await withDatabase(io, async ({ database }) => {
        const before = await setMailProvider(database, value);
        if (json === true) printJson(io, { mail_provider: value, was: before });
        else printLines(io, [`the mail provider is ${value} (was: ${before ?? 'not set'})`, RESTART]);
      });
    });
}
