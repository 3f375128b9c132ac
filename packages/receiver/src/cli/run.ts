import { parseArgs } from 'node:util';
import type { Arguments, Options } from './arguments.ts';
import { escapeUnprintable, messageOf, UsageError } from './io.ts';
import type { Io } from './io.ts';
import { LISTEN_OPTIONS, listen } from './listen.ts';
import { SAMPLES } from './samples.ts';
import { send, SEND_OPTIONS } from './send.ts';

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

const HELP = `Try a handler of Postrider's webhooks on this machine. Without --key, no account, tunnel or network is needed.

npx --no -- @postrider/receiver send --type TYPE --to URL --secret SECRET
  Posts a signed sample of an event, as Postrider would, and says what follows from the answer.
  --type TYPE          the event type: see below
  --to URL             the handler, as http://localhost:3000/hooks
  --secret SECRET      the signing secret of the handler (whsec_…); else POSTRIDER_WEBHOOK_SECRET
  --wrong-signature    signs with another secret: the handler has to refuse
  --late               signs with a time ten minutes ago: the handler has to refuse
  --twice              posts the event twice, with the same id: the handler has to act once

npx --no -- @postrider/receiver listen
  Verifies and prints what arrives at http://127.0.0.1:8787.
  --forward URL        passes each verified event on to a handler, and answers what it answers
  --port PORT          another port; 0 is any free one
  --secret SECRET      the signing secret; else POSTRIDER_WEBHOOK_SECRET; else a new one, which is printed
  --api URL --key KEY  opens no port: asks the API for the account's new events instead, and signs what it
                       forwards; the key needs the scope webhooks:manage, and may be in POSTRIDER_API_KEY

Both take --header-prefix PREFIX: the first part of the header names, Service by default.

Event types: ${SAMPLES.map(({ type }) => type).join(', ')}

Exit codes: 0 done; 1 it failed (a wrong answer, no answer, a taken port); 2 wrong usage.`;

/** Runs the command that `args` names. @returns the exit code. Never rejects. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  try {
    return await run(args, io);
  } catch (error) {
    const fault = escapeUnprintable(messageOf(error)).replace(/\s+/g, ' ').trim();
    const hint = error instanceof UsageError ? ' (see npx --no -- @postrider/receiver --help)' : '';
    io.complain(`postrider-receiver: ${fault}${hint}`);
    return error instanceof UsageError ? WRONG_USAGE : FAILED;
  }
}

async function run([command, ...args]: readonly string[], io: Io): Promise<number> {
  if ([command, ...args].some((each) => each === '--help' || each === '-h')) {
    io.print(HELP);
    return DONE;
  }
  switch (command) {
    case 'send':
      return (await send(parsed(args, SEND_OPTIONS), io)) ? DONE : FAILED;
    case 'listen':
      await listen(parsed(args, LISTEN_OPTIONS), io);
      return DONE;
    case undefined:
      throw new UsageError('a command is missing: send or listen');
    default:
      throw new UsageError(`unknown command ${command}: there are send and listen`);
  }
}

/** @throws UsageError for an unknown option, a missing value, a repeated option, or a word without `--`. */
function parsed<O extends Options>(args: readonly string[], options: O): Arguments<O> {
  try {
    const { tokens, values } = parseArgs({ args: [...args], options, tokens: true });
    const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined) throw new UsageError(`--${repeated} is given twice`);
    return values;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const [sentence = ''] = messageOf(error).split(/\. |\n/); // the later ones explain how to pass dashes
    throw new UsageError(sentence.replace(/\.$/, ''));
  }
}
