import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { READ_OFF_BYTES_MAX } from '../apps/api/src/http/unread-body.ts';
import { quickLimit } from '../apps/relay/src/delivery/fair-shares.ts';
import { FIRST_LIMIT } from '../apps/relay/src/delivery/webhook-state.ts';
import { CONTRACT_RETRY_DELAYS_SECONDS } from '../packages/domain/src/index.ts';
import { announcedSlots } from '../packages/runtime/src/config/settings/delivery.ts';
import { metricCatalogue } from '../packages/runtime/src/metrics/catalogue.ts';

/* The docs name numbers, metrics and settings of the code. These tests compare each with the code. */

const ROOT = new URL('..', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

const SOURCES = {
  console: 'apps/console/src/server.ts',
  batches: 'packages/queue/src/batches.ts',
  consumer: 'packages/queue/src/consumer.ts',
  worker: 'apps/worker/src/worker.ts',
  waiting: 'packages/queue/src/waiting-max.ts',
  pass: 'apps/relay/src/delivery/delivery-pass.ts',
  webhookState: 'apps/relay/src/delivery/webhook-state.ts',
  webhookEvents: 'packages/store/src/events/webhook-events.ts',
  flightTime: 'apps/relay/src/delivery/flight-time.ts',
  delivery: 'packages/runtime/src/config/settings/delivery.ts',
  domain: 'packages/domain/src/limits.ts',
  http: 'packages/runtime/src/config/settings/http.ts',
  bodyRules: 'apps/api/src/http/body-rules.ts',
  operations: 'packages/runtime/src/config/settings/operations.ts',
  mailPass: 'apps/relay/src/mail-pass.ts',
  server: 'apps/api/src/server.ts',
  slots: 'apps/api/src/http/account-slots.ts',
  threads: 'packages/sandboxed-threads/src/thread-pool.ts',
} as const;

/**
 * The value of a constant, a property or the default of a setting, as the source writes it.
 *
 * @throws Error when the source has no such name.
 */
function valueIn(source: keyof typeof SOURCES, name: string): number {
  const text = read(SOURCES[source]);
  const written =
    new RegExp(`\\b${name}(?: =|:) ([\\d_]+(?: \\* [\\d_]+)*)[;,\\n ]`).exec(text)?.[1] ??
    new RegExp(`key: '${name}'[^]*?default: '(\\d+)'`).exec(text)?.[1];
  if (written === undefined) throw new Error(`${SOURCES[source]} has no ${name}`);
  return written
    .split('*')
    .map((factor) => Number(factor.replaceAll('_', '')))
    .reduce((product, factor) => product * factor);
}

/** A stop of a consumer has three steps after its last job. */
const CONSUMER_CLOSES_MS = 3 * valueIn('consumer', 'CLOSE_TIMEOUT_MS');

const FAIRNESS = 'docs/decisions/0003-fairness-is-the-relays-work.md';
const SCALE = 'docs/operations/scale.md';
const GUIDE = 'docs/guide.md';
const KIB = 1024;
const MIB = 1024 * 1024;
/** The default of DELIVERY_CONCURRENCY, and of SLOW_LANE_CONCURRENCY. */
const CONCURRENCY = valueIn('delivery', 'CONCURRENCY_DEFAULT');
const SLOTS = announcedSlots({ deliveryConcurrency: CONCURRENCY, slowLaneConcurrency: CONCURRENCY });

/** Each expression finds one number of a page. It must be the number in the third column. */
const STATED_NUMBERS: readonly (readonly [page: string, words: RegExp, number: number])[] = [
  [FAIRNESS, /claims for (\d+) webhooks of each lane/, valueIn('pass', 'WEBHOOKS_PER_LANE')],
  [FAIRNESS, /holds at most ([\d,]+) waiting jobs/, valueIn('waiting', 'WAITING_MAX')],
  [FAIRNESS, /due within (\d+) s\s+becomes a delayed job/, valueIn('webhookState', 'LOOK_AHEAD_MS') / 1000],
  [FAIRNESS, /together hold at most ([\d,]+) of these/, valueIn('pass', 'DELAYED_MAX')],
  [SCALE, /holds about ([\d,]+) waiting deliveries/, valueIn('waiting', 'WAITING_MAX')],
  [SCALE, /some ([\d,]+) deliveries and some [\d,]+ messages are delayed/, valueIn('pass', 'DELAYED_MAX')],
  [
    SCALE,
    /some [\d,]+ deliveries and some ([\d,]+) messages are delayed/,
    valueIn('mailPass', 'MAIL_DELAYED_MAX'),
  ],
  ['docs/api.md', /A body of more than ([\d,]+) JSON values/, valueIn('bodyRules', 'JSON_VALUES_MAX')],
  ['docs/api.md', /an account has (\d+) such requests at work/, valueIn('slots', 'inFlightMax')],
  ['docs/api.md', /and (\d+) more of the account wait/, valueIn('slots', 'waitingMax')],
  ['docs/api.md', /wait their turn for up to (\d+) s/, valueIn('slots', 'waitMs') / 1_000],
  ['docs/api.md', /reads nothing of its answer for (\d+) s/, valueIn('server', 'unreadTimeoutMs') / 1_000],
  ['docs/api.md', /or takes over (\d+) s is refused/, valueIn('server', 'requestTimeout') / 1_000],
  [
    'docs/operations/deploy.md',
    /an idle connection open for (\d+) s/,
    valueIn('server', 'keepAliveTimeout') / 1_000,
  ],
  ['docs/operations/deploy.md', /Pass bodies of up to (\d+) MiB/, READ_OFF_BYTES_MAX / MIB],
  ['docs/operations/deploy.md', /each customer has (\d+) s/, valueIn('server', 'requestTimeout') / 1_000],
  ['apps/api/ARCHITECTURE.md', /drops up to (\d+) MiB/, READ_OFF_BYTES_MAX / MIB],
  ['docs/operations/deploy.md', /without mail end after (\d+) s/, valueIn('threads', 'IDLE_MS') / 1_000],
  [GUIDE, /An account may have (\d+) webhooks/, valueIn('http', 'WEBHOOKS_PER_ACCOUNT_MAX')],
  [GUIDE, /webhooks of an account +\| (\d+)/, valueIn('http', 'WEBHOOKS_PER_ACCOUNT_MAX')],
  [GUIDE, /requests of a key +\| (\d+) a minute/, valueIn('http', 'KEY_RATE_LIMIT_PER_MINUTE')],
  [
    GUIDE,
    /reads up to ([\d,]+) events a minute/,
    valueIn('http', 'KEY_RATE_LIMIT_PER_MINUTE') * valueIn('domain', 'pageEntries'),
  ],
  [GUIDE, /An attempt has (\d+) s/, valueIn('delivery', 'DELIVERY_TIMEOUT_DEFAULT_MS') / 1_000],
  [GUIDE, /an attempt +\| (\d+) s/, valueIn('delivery', 'DELIVERY_TIMEOUT_DEFAULT_MS') / 1_000],
  [GUIDE, /attempts +\| (\d+), in about/, CONTRACT_RETRY_DELAYS_SECONDS.length + 1],
  [GUIDE, /again after (\d+) s, then/, CONTRACT_RETRY_DELAYS_SECONDS[0] ?? 0],
  [GUIDE, /and (\d+) minutes after each/, (CONTRACT_RETRY_DELAYS_SECONDS.at(-1) ?? 0) / 60],
  [GUIDE, /dead letters stay for (\d+) days/, valueIn('operations', 'DEAD_LETTER_RETENTION_DAYS')],
  [GUIDE, /you replay it, or for (\d+) days/, valueIn('operations', 'DEAD_LETTER_RETENTION_DAYS')],
  [GUIDE, /A webhook keeps ([\d,]+):/, valueIn('operations', 'DEAD_LETTERS_PER_WEBHOOK_MAX')],
  [GUIDE, /\| ([\d,]+) a webhook, 100, 1,000/, valueIn('operations', 'DEAD_LETTERS_PER_WEBHOOK_MAX')],
  [GUIDE, /The list has the newest (\d+),/, valueIn('domain', 'deadLettersListed')],
  [GUIDE, /A replay sends at most ([\d,]+)/, valueIn('domain', 'deadLettersReplayed')],
  [GUIDE, /keeps, usually (\d+) days/, valueIn('operations', 'EVENT_RETENTION_DAYS')],
  [GUIDE, /the first (\d+) KiB of text/, valueIn('domain', 'recordTextBytes') / KIB],
  [GUIDE, /the first (\d+) entries of a list/, valueIn('domain', 'recordEntries')],
  [GUIDE, /One request looks at (\d+) events/, valueIn('webhookEvents', 'EVENTS_LOOKED_AT_MAX')],
  [GUIDE, /requests at once to an endpoint +\| (\d+) at first/, FIRST_LIMIT],
  [GUIDE, /at first, (\d+) more for each attempt that ends/, valueIn('webhookState', 'GROWTH')],
  [GUIDE, /ends, up to (\d+) for each worker/, SLOTS],
  [GUIDE, /of the operator; (\d+) while it fails/, FIRST_LIMIT],
  [GUIDE, /an endpoint that answers within (\d+) ms/, valueIn('flightTime', 'QUICK_MS')],
  [GUIDE, /gets up to (\d+) for each worker/, quickLimit(SLOTS)],
  ['docs/suppressions.md', /has\s+(\d+) such requests at work/, valueIn('slots', 'inFlightMax')],
  ['docs/api.md', /(\d+) requests per minute and key/, valueIn('http', 'KEY_RATE_LIMIT_PER_MINUTE')],
  ['docs/api.md', /An account may have (\d+) webhooks/, valueIn('http', 'WEBHOOKS_PER_ACCOUNT_MAX')],
  ['docs/api.md', /URL of at most ([\d,]+) characters/, valueIn('domain', 'endpointLength')],
  ['docs/api.md', /answers at most (\d+) entries, the newest first/, valueIn('domain', 'deadLettersListed')],
  [
    'docs/api.md',
    /at most ([\d,]+) a request\. `webhook` is required/,
    valueIn('domain', 'deadLettersReplayed'),
  ],
  ['docs/api.md', /At most (\d+) recipients in/, valueIn('domain', 'recipients')],
  ['docs/api.md', /`reply_to`; at most (\d+) headers/, valueIn('domain', 'headers')],
  ['docs/api.md', /header's value at most (\d+) characters/, valueIn('domain', 'headerLength')],
  ['docs/api.md', /`attachments`: at most (\d+)/, valueIn('domain', 'attachments')],
  ['docs/api.md', /`filename` \(at most (\d+) characters/, valueIn('domain', 'filenameLength')],
  ['docs/api.md', /`content_id` \(at most (\d+)/, valueIn('domain', 'contentIdLength')],
  ['docs/api.md', /attachments' base64 at most (\d+) MiB/, valueIn('domain', 'messageBytes') / MIB],
  ['docs/api.md', /`tags`: at most (\d+)/, valueIn('domain', 'tags')],
  ['docs/api.md', /of 1 to (\d+) ASCII letters/, valueIn('domain', 'tagLength')],
  ['docs/api.md', /JSON array of 1 to (\d+) such messages/, valueIn('domain', 'batchMessages')],
  ['docs/api.md', /`Idempotency-Key` \(1 to (\d+) characters\)/, valueIn('domain', 'idempotencyKeyLength')],
  ['docs/api.md', /`POST \/v1\/emails` +\| (\d+) MiB/, valueIn('domain', 'emailBodyBytes') / MIB],
  ['docs/api.md', /`POST \/v1\/emails\/batch` +\| (\d+) MiB/, valueIn('domain', 'batchBodyBytes') / MIB],
  ['docs/api.md', /`POST \/internal\/ses\/sns` +\| (\d+) KiB/, valueIn('domain', 'snsBodyBytes') / KIB],
  ['docs/api.md', /a reply, a forward +\| (\d+) MiB/, valueIn('domain', 'replyBodyBytes') / MIB],
  ['docs/inbound.md', /An account may block ([\d,]+)/, valueIn('domain', 'blockedSenders')],
  ['docs/inbound.md', /or a rule has at most (\d+)\s+characters/, valueIn('domain', 'inboundNameLength')],
  ['docs/api.md', /every other route +\| (\d+) KiB/, valueIn('domain', 'bodyBytes') / KIB],
  ['docs/api.md', /at most `limit` entries, 1 to (\d+)/, valueIn('domain', 'pageEntries')],
  [
    'docs/api.md',
    /1 to \d+, (\d+) when left out\. `after` is the id/,
    valueIn('domain', 'pageEntriesDefault'),
  ],
  ['docs/suppressions.md', /A batch has 1 to (\d+) addresses/, valueIn('domain', 'suppressionsBatch')],
  [
    'docs/suppressions.md',
    /\(at most (\d+) characters, not\s+blank\)/,
    valueIn('domain', 'suppressionReasonLength'),
  ],
  ['docs/suppressions.md', /`name` has 1 to (\d+) characters/, valueIn('domain', 'topicNameLength')],
  [
    'docs/suppressions.md',
    /`description` at most (\d+) or null/,
    valueIn('domain', 'topicDescriptionLength'),
  ],
  ['docs/console.md', /takes (\d+) KiB of headers/, valueIn('console', 'HEADER_BYTES_MAX') / KIB],
  [
    'docs/operations/deploy.md',
    /While Redis is away, the exit takes up to ([\d.]+) s longer/,
    CONSUMER_CLOSES_MS / 1_000,
  ],
  ['docs/configuration.md', /Up to (\d+) more may run/, valueIn('batches', 'BATCH_MAX') - 1],
  ['bench/notes/drain.md', /carries up to (\d+) deliveries/, valueIn('batches', 'BATCH_MAX')],
  [
    'docs/api.md',
    /writes ([\d,]+) deliveries a second/,
    valueIn('http', 'DELIVERIES_PER_ACCOUNT_PER_SECOND'),
  ],
  // Base64 has 4 characters for 3 bytes.
  ['docs/api.md', /a body may have ([\d,]+) of them/, (valueIn('domain', 'messageBytes') / 4) * 3],
  ['docs/benchmark-method.md', /with (\d+) webhooks makes/, valueIn('http', 'WEBHOOKS_PER_ACCOUNT_MAX')],
];

test.each(STATED_NUMBERS)('%s, %s: the code has %d', (page, words, number) => {
  const found = [...read(page).matchAll(new RegExp(words, 'g'))].map(([, written = '']) => written);
  expect([...new Set(found)]).toEqual([number.toLocaleString('en')]);
});

test('a client that reads as slowly as api.md allows shows its progress before the API closes its connection', () => {
  const [, step = ''] = /in steps of up to ([\d.]+) MB/.exec(read('docs/api.md')) ?? [];
  const [, rate = ''] = /read at least (\d+) KiB a second/.exec(read('docs/api.md')) ?? [];
  for (const limit of ['unreadTimeoutMs', 'stalledTimeout'])
    expect((valueIn('server', limit) / 1_000) * Number(rate) * KIB).toBeGreaterThan(Number(step) * 1e6);
});

test('the consumers of a worker close within the part of the stop that running jobs do not get', () => {
  expect(CONSUMER_CLOSES_MS).toBeLessThan(valueIn('worker', 'STOP_RESERVE_MS'));
});

const PAGES = ['README.md', ...globSync('{docs,bench/notes}/**/*.md', { cwd: ROOT })];

/** The matches on every page. */
function namedIn(pattern: RegExp): { page: string; match: RegExpMatchArray }[] {
  return PAGES.flatMap((page) => [...read(page).matchAll(pattern)].map((match) => ({ page, match })));
}

describe('what the pages name exists', () => {
  const metrics = new Map(Object.values(metricCatalogue).map((metric) => [metric.name as string, metric]));

  test('metrics, with their labels and the values of these', () => {
    const unknown = namedIn(/\b(postrider_[a-z_]+?)(?:_bucket|_sum|_count)?\b(?:\{([^{}]*)\})?/g).filter(
      ({ page, match: [, name = '', selector = ''] }) => {
        const metric = metrics.get(name);
        // Database roles and the network of compose have such names, too.
        if (metric === undefined) return !new RegExp(` (role|network) \`?${name}`).test(read(page));
        const known = metric.help + JSON.stringify('startingLabels' in metric ? metric.startingLabels : []);
        return [...selector.matchAll(/(\w+)[=~!]+"([^"]*)"/g)].some(
          ([, label = '', value = '']) =>
            !(metric.labels as readonly string[]).includes(label) ||
            (/^[a-z_]+$/.test(value) && !known.includes(value)),
        );
      },
    );
    expect(unknown.map(({ page, match: [text] }) => `${page}: ${text}`)).toEqual([]);
  });

  test('settings and constants', () => {
    const sources = globSync('{apps,packages,e2e,bench,scripts}/**/*.{ts,mjs}', {
      cwd: ROOT,
      exclude: ['**/node_modules/**', '**/dist/**'],
    });
    const code = [...sources, 'docker/compose.yaml', 'package.json'].map(read).join('\n');
    const names = new Set(code.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g));
    const unknown = namedIn(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`/g).filter(
      ({ match: [, name = ''] }) => !names.has(name),
    );
    expect(unknown.map(({ page, match: [, name] }) => `${page}: ${name}`)).toEqual([]);
  });

  test('HTTP routes in the commands of the guide', () => {
    const { paths } = JSON.parse(read('docs/openapi.json')) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const known = Object.keys(paths).map((path) => path.replaceAll(/\{\w+\}/g, '\\$\\w+'));
    const called = [...read(GUIDE).matchAll(/(?:\$API|process\.env\.API\})(\/v1\/[^\s"?]+)/g)].map(
      ([, path = '']) => path,
    );
    expect(called.length).toBeGreaterThan(4);
    expect(called.filter((path) => !known.some((each) => new RegExp(`^${each}$`).test(path)))).toEqual([]);
  });

  test('files', () => {
    const paths = namedIn(/`((?:apps|packages|e2e|bench|scripts|docker|prisma|docs)\/[\w./-]+\.\w+)`/g);
    const missing = paths.filter(({ match: [, path = ''] }) => globSync(path, { cwd: ROOT }).length === 0);
    expect(missing.map(({ page, match: [, path] }) => `${page}: ${path}`)).toEqual([]);
  });
});
