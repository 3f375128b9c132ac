import { Command } from 'commander';
import { addAccountCreate } from './commands/account-create.ts';
import { addAccountErase } from './commands/account-erase.ts';
import { addAccountFind } from './commands/account-find.ts';
import { addAccountLimit } from './commands/account-limit.ts';
import { addAccountList } from './commands/account-list.ts';
import { addAccountShow } from './commands/account-show.ts';
import { addAccountResume, addAccountSuspend } from './commands/account-suspend.ts';
import { addAccountUpdate } from './commands/account-update.ts';
import { addAuditList } from './commands/audit-list.ts';
import { addDeadLettersList } from './commands/dead-letters-list.ts';
import { addDeadLettersReplay } from './commands/dead-letters-replay.ts';
import { addEmailsFind } from './commands/emails-find.ts';
import { addEmailsShow } from './commands/emails-show.ts';
import { addEventsFind } from './commands/events-find.ts';
import { addEventsReplay } from './commands/events-replay.ts';
import { addEventsShow } from './commands/events-show.ts';
import { addInboundFind } from './commands/inbound-find.ts';
import { addInboundRelease } from './commands/inbound-release.ts';
import { addInboundShow } from './commands/inbound-show.ts';
import { addInstallationSet } from './commands/installation-set.ts';
import { addDomainRelease } from './commands/domain-release.ts';
import { addKeyCreate } from './commands/key-create.ts';
import { addKeyList } from './commands/key-list.ts';
import { addKeyRevoke } from './commands/key-revoke.ts';
import { addMigrate } from './commands/migrate.ts';
import { addRecover } from './commands/recover.ts';
import { addSecretsReseal } from './commands/secrets-reseal.ts';
import { addStatus } from './commands/status.ts';
import { addSuppressionsRemove } from './commands/suppressions-remove.ts';
import { addTop } from './commands/top.ts';
import { addWebhooksList } from './commands/webhooks-list.ts';
import { addWebhooksShow } from './commands/webhooks-show.ts';
import type { Io } from './io.ts';

/** The version in package.json, which a bundle does not contain. */
const VERSION = '0.1.0';

/** The commands and their options. Commander throws instead of exiting; `runCli` writes the errors. */
export function createProgram(io: Io): Command {
  const program = new Command('postrider')
    .description("the operator's command line: accounts, keys, webhooks, dead letters, status")
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: () => undefined,
    });
  addMigrate(program, io);
  addStatus(program, io);
  addTop(program, io);
  const account = program.command('account').description('customers');
  addAccountCreate(account, io);
  addAccountErase(account, io);
  addAccountFind(account, io);
  addAccountLimit(account, io);
  addAccountList(account, io);
  addAccountResume(account, io);
  addAccountShow(account, io);
  addAccountSuspend(account, io);
  addAccountUpdate(account, io);
  const key = program.command('key').description('API keys of an account');
  addKeyCreate(key, io);
  addKeyList(key, io);
  addKeyRevoke(key, io);
  const installation = program.command('installation').description('what holds for every process');
  addInstallationSet(installation, io);
  const inbound = program.command('inbound').description('received mail');
  addInboundFind(inbound, io);
  addInboundRelease(inbound, io);
  addInboundShow(inbound, io);
  addDomainRelease(program.command('domain').description('sending domains'), io);
  addSuppressionsRemove(program.command('suppressions').description('addresses that get no mail'), io);
  const webhooks = program.command('webhooks').description('endpoints that get events');
  addWebhooksList(webhooks, io);
  addWebhooksShow(webhooks, io);
  const deadLetters = program.command('dead-letters').description('events that could not be delivered');
  addDeadLettersList(deadLetters, io);
  addDeadLettersReplay(deadLetters, io);
  addRecover(program, io);
  const emails = program.command('emails').description('sent mail of every account, without its text');
  addEmailsFind(emails, io);
  addEmailsShow(emails, io);
  const events = program.command('events').description('what became of an event');
  addEventsFind(events, io);
  addEventsReplay(events, io);
  addEventsShow(events, io);
  addSecretsReseal(program.command('secrets').description('what SECRETS_KEY encrypts'), io);
  addAuditList(program.command('audit').description('who did what'), io);
  for (const command of commandsOf(program)) command.option('--json', 'print one JSON document');
  return program;
}

/** The commands with an action. The others, such as `account`, only group them. */
export function commandsOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(commandsOf);
}
