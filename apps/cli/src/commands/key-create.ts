import { canHave, isScope, KEY_KINDS, SCOPES } from '@postrider/domain';
import type { KeyKind, Scope } from '@postrider/domain';
import { createApiKeyStore } from '@postrider/store';
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { actorOf, parseName, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { parseTime } from '../dead-letter-options.ts';
import { UsageError } from '../failure.ts';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { keyObject } from '../key-object.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';
import { wholeNumber } from '../whole-number.ts';

interface Options extends ActorOptions {
  readonly account: string;
  readonly scopes: Scope[];
  readonly kind: KeyKind;
  readonly rateLimit?: number;
  readonly name?: string;
  readonly expires?: Date;
  readonly json?: true;
}

/** The setting KEY_RATE_LIMIT_PER_MINUTE has the same maximum. */
const RATE_LIMIT_MAX = 1_000_000;

/** `key create`: prints a key once. Only its SHA-256 is stored. */
export function addKeyCreate(key: Command, io: Io): void {
  withActor(key.command('create'))
    .description('make an API key; it is shown this once')
    .requiredOption('--account <id>', 'the account it belongs to')
    .requiredOption('--scopes <list>', `comma-separated: ${SCOPES.join(', ')}`, parseScopes)
    .addOption(
      new Option('--kind <kind>', 'mail of a test key never leaves').choices(KEY_KINDS).default('live'),
    )
    .option('--rate-limit <number>', "requests per minute instead of the deployment's limit", parseRateLimit)
    .option('--name <name>', 'what you call it, such as the program that uses it', parseName)
    .option('--expires <time>', 'when it stops working (ISO 8601)', parseTime)
    .action(async (options: Options) => {
      const accountId = requireId('account', options.account);
      const { kind, scopes, rateLimit, name, expires } = options;
      requireScopesOf(kind, scopes);
      if (expires !== undefined && expires <= io.clock.now())
        throw new UsageError('--expires is in the past');
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const store = createApiKeyStore(database, io.clock);
        const request = {
          accountId,
          kind,
          scopes,
          rateLimitPerMinute: rateLimit ?? null,
          name,
          expiresAt: expires,
        };
        const made = await store.create(request, actorOf(io, options));
        const { id, ...rest } = keyObject(made.apiKey);
        const lines = [`made key ${id}; it is shown this once:`, made.key];
        printAnswer(io, options.json, { id, key: made.key, ...rest }, lines);
      });
    });
}

function parseScopes(text: string): Scope[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0) {
    throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. Scopes are ${SCOPES.join(', ')}.`);
  }
  if (names.length === 0) throw new InvalidArgumentError(`At least one of ${SCOPES.join(', ')} is needed.`);
  return names.filter(isScope);
}

/** @throws UsageError when this kind of key cannot have one of the scopes. */
function requireScopesOf(kind: KeyKind, scopes: readonly Scope[]): void {
  const refused = scopes.filter((scope) => !canHave(kind, scope));
  if (refused.length === 0) return;
  const possible = SCOPES.filter((scope) => canHave(kind, scope));
  throw new UsageError(`a ${kind} key cannot have ${refused.join(', ')}: only ${possible.join(', ')}`);
}

function parseRateLimit(text: string): number {
  return wholeNumber(text, { min: 1, max: RATE_LIMIT_MAX, what: 'limit' });
}
