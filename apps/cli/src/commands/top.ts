import { pause } from '@postrider/limits';
import { readBusiestWebhooks, readFailingWebhooks } from '@postrider/store';
import type { BusyWebhook, Database, FailingWebhook } from '@postrider/store';
import type { Command } from 'commander';
import { UsageError } from '../failure.ts';
import { withInterrupt } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { isTerminal, printAnswer, table } from '../print.ts';
import { withDatabase } from '../session.ts';
import { endpointObject, failingObject } from '../webhook-object.ts';

/** The table shows the sums of these last minutes. */
const MINUTES = 5;
const WEBHOOKS_SHOWN = 20;
const EVERY_SECONDS_DEFAULT = '5';
/** A day. Over 2^31 ms, a timer fires at once. */
const EVERY_MAX_MS = 86_400_000;
/** Clears the screen, and goes to its upper left corner. */
const CLEAR = '\u001b[2J\u001b[H';

interface Options {
  readonly every: string;
  readonly once?: true;
  readonly json?: true;
}

interface Top {
  /** The end of the last minute that is shown. Null: no relay has added up attempts yet. */
  readonly until: Date | null;
  readonly busiest: readonly BusyWebhook[];
  readonly failing: readonly FailingWebhook[];
}

/** `top`: shows the failing and the busiest webhooks of all accounts, again and again on a terminal. */
export function addTop(program: Command, io: Io): void {
  program
    .command('top')
    .description(`the failing webhooks, and the busiest of the last ${MINUTES} minutes, until Ctrl+C`)
    .option('--every <seconds>', 'how often a terminal shows it again', EVERY_SECONDS_DEFAULT)
    .option('--once', 'show it once')
    .action(async ({ every, once, json }: Options) => {
      const everyMs = Number(every) * 1_000;
      const isInRange = everyMs >= 1_000 && everyMs <= EVERY_MAX_MS;
      if (!isInRange)
        throw new UsageError(`--every ${every} is not a number of seconds from 1 to ${EVERY_MAX_MS / 1_000}`);
      await withDatabase(io, async ({ database }) => {
        const goesOn = once !== true && json !== true && isTerminal(io.stdout);
        if (goesOn) return showUntilInterrupt(io, database, everyMs);
        const top = await readTop(database);
        printAnswer(io, json, topObject(top), inWords(top));
      });
    });
}

/** Resolves after Ctrl+C, or when the terminal has gone. */
async function showUntilInterrupt(io: Io, database: Database, everyMs: number): Promise<void> {
  let isShown = true;
  io.stdout.once('error', () => (isShown = false));
  await withInterrupt(async (interrupt) => {
    while (isShown && !interrupt.aborted) {
      const lines = inWords(await readTop(database));
      io.stdout.write(`${CLEAR}${lines.join('\n')}\n`);
      await pause(everyMs, interrupt);
    }
  });
}

async function readTop({ pool }: Database): Promise<Top> {
  const { until, webhooks } = await readBusiestWebhooks(pool, { minutes: MINUTES, limit: WEBHOOKS_SHOWN });
  return { until, busiest: webhooks, failing: await readFailingWebhooks(pool, WEBHOOKS_SHOWN) };
}

function topObject({ until, busiest, failing }: Top) {
  return {
    until: until?.toISOString() ?? null,
    minutes: MINUTES,
    failing: failing.map(failingObject),
    busiest: busiest.map((webhook) => ({
      ...endpointObject(webhook),
      attempts: webhook.attempts,
      successes: webhook.successes,
      /** 95 of 100 attempts took no longer. */
      p95_ms: webhook.p95Ms,
      failing_since: webhook.failingSince?.toISOString() ?? null,
    })),
  };
}

function inWords(top: Top): string[] {
  const { until, failing, busiest } = topObject(top);
  return [
    ...(failing.length === 0
      ? ['no webhook is failing']
      : table(
          ['FAILING SINCE', 'WEBHOOK', 'ACCOUNT', 'HOST'],
          failing.map((each) => [each.failing_since, each.webhook, each.account, each.host]),
        )),
    '',
    until === null
      ? 'no sums: no relay has added up attempts yet'
      : `the ${MINUTES} minutes before ${until}${busiest.length === 0 ? ': no attempt' : ''}`,
    ...(busiest.length === 0
      ? []
      : table(
          ['ATTEMPTS/MIN', '2XX', 'P95', 'WEBHOOK', 'ACCOUNT', 'HOST'],
          busiest.map((each) => [
            (each.attempts / MINUTES).toFixed(1),
            `${((100 * each.successes) / each.attempts).toFixed(1)} %`,
            `${each.p95_ms ?? '-'} ms`,
            each.webhook,
            each.account,
            `${each.host}${each.failing_since === null ? '' : ' (failing)'}`,
          ]),
        )),
  ];
}
