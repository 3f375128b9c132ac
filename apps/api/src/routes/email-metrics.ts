import { idPattern, LIMITS, listPattern, parseId } from '@postrider/domain';
import type { Clock, EventType, Id, Noun } from '@postrider/domain';
import type { EventCount, EventCountStore } from '@postrider/store';
import { z } from 'zod';
import { AccountSlots } from '../http/account-slots.ts';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { strictFields } from '../http/fields.ts';
import { inSlot } from '../http/in-slot.ts';
import { parsedText, requestedMoment } from '../http/parsed-text.ts';
import { parseQuery } from '../http/query-fields.ts';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

/** A count reads up to 50,000 events. So the API does few counts at a time. */
const COUNT_SLOTS = { inFlightMax: 1, waitingMax: Infinity, waitMs: 10_000, totalInFlightMax: 2 };
const DAY_MS = 24 * 60 * 60 * 1000;
/** The range without `start_date`, as at Resend. */
const DAYS_DEFAULT = 6;
/** Postgres has no year 0. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');

const DEFINITIONS = {
  sent: { types: ['email.sent'] },
  delivered: { types: ['email.delivered'] },
  delivery_delayed: { types: ['email.delivery_delayed'] },
  bounced: { types: ['email.bounced', 'email.soft_bounced'] },
  bounced_permanent: { types: ['email.bounced'] },
  bounced_transient: { types: ['email.soft_bounced'] },
  complained: { types: ['email.complained'] },
  failed: { types: ['email.failed', 'email.rejected'] },
  opened: { types: ['email.opened'] },
  clicked: { types: ['email.clicked'] },
  unique_opened: { types: ['email.opened'], unique: true },
  unique_clicked: { types: ['email.clicked'], unique: true },
  unsubscribed: { types: ['email.unsubscribed'] },
  delivery_rate: { part: 'delivered', whole: 'sent' },
  open_rate: { part: 'unique_opened', whole: 'delivered' },
  click_rate: { part: 'unique_clicked', whole: 'delivered' },
  bounce_rate: { part: 'bounced', whole: 'sent' },
  complaint_rate: { part: 'complained', whole: 'delivered' },
  unsubscribe_rate: { part: 'unsubscribed', whole: 'delivered' },
} as const;

type MetricName = keyof typeof DEFINITIONS;
/** The events that a metric counts, or the two numbers that a rate divides. */
type Metric =
  | { readonly types: readonly EventType[]; readonly unique?: true }
  | { readonly part: MetricName; readonly whole: MetricName };

const METRICS: Readonly<Record<MetricName, Metric>> = DEFINITIONS;
const METRIC_NAMES = Object.keys(DEFINITIONS) as MetricName[];

const DIMENSIONS = ['period', 'domain', 'email'] as const;
const PERIODS = { hourly: 'hour', daily: 'day', weekly: 'week', monthly: 'month' } as const;
const GRANULARITIES = Object.keys(PERIODS) as (keyof typeof PERIODS)[];

/**
 * A list that Resend's SDK joins with commas. Of equal entries, the result has one.
 *
 * @param pattern of an entry, without anchors
 */
function commaList<Entry>(
  read: (written: string) => Entry | null,
  pattern: string,
  fault: string,
  description: string,
) {
  return parsedText((written): Entry[] | null => {
    const entries = written.split(',').map(read);
    if (entries.length > LIMITS.metricListEntries || entries.includes(null)) return null;
    return [...new Set(entries as Entry[])];
  }, fault)
    .optional()
    .meta({
      pattern: listPattern(pattern, LIMITS.metricListEntries),
      description: `Comma-separated. ${description}`,
    });
}

const oneOf =
  <const Names extends readonly string[]>(names: Names) =>
  (written: string): Names[number] | null =>
    names.find((name) => name === written) ?? null;
const idsOf = <N extends Noun>(noun: N) =>
  commaList(
    (written): Id<N> | null => parseId(noun, written),
    idPattern(noun).slice(1, -1),
    `is not a list of at most ${LIMITS.metricListEntries} ids`,
    'Counts only these.',
  );

/** A name of the tz database. Intl also takes offsets such as `+02:00`, which do not match. */
const ZONE_NAME = /^[A-Za-z][\w+-]*(?:[/][A-Za-z][\w+-]*){0,2}$/;
/**
 * The tz database's names of three letters, and the zones to which it links them. Postgres reads such a name
 * as an abbreviation, and its CET has no summer time. Intl also takes other names: its AST is Alaska's time.
 */
const ZONES_OF_SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ['CET', 'Europe/Brussels'],
  ['EET', 'Europe/Athens'],
  ['EST', 'America/Panama'],
  ['GMT', 'UTC'],
  ['HST', 'Pacific/Honolulu'],
  ['MET', 'Europe/Brussels'],
  ['MST', 'America/Phoenix'],
  ['PRC', 'Asia/Shanghai'],
  ['ROC', 'Asia/Taipei'],
  ['ROK', 'Asia/Seoul'],
  ['UCT', 'UTC'],
  ['UTC', 'UTC'],
  ['WET', 'Europe/Lisbon'],
]);

/** Returns the name of a zone as Postgres knows it, or null. */
function parseTimeZone(name: string): string | null {
  if (name.length === 3) return ZONES_OF_SHORT_NAMES.get(name.toUpperCase()) ?? null;
  try {
    Intl.DateTimeFormat('en', { timeZone: name }); // throws for an unknown zone
    return ZONE_NAME.test(name) ? name : null;
  } catch {
    return null;
  }
}

const metricsQuery = strictFields(
  {
    start_date: requestedMoment
      .optional()
      .meta({ description: 'Recorded at this time or later. Absent: 6 days before `end_date`.' }),
    end_date: requestedMoment.optional().meta({ description: 'Recorded before this time. Absent: now.' }),
    timezone: parsedText(parseTimeZone, 'is not a name of a time zone', { pattern: ZONE_NAME.source })
      .prefault('UTC')
      .meta({ description: 'A name of the tz database, in which periods begin.' }),
    granularity: z
      .enum(GRANULARITIES, { error: 'is not hourly, daily, weekly or monthly' })
      .default('daily')
      .meta({ description: 'The length of a `period`.' }),
    metrics: commaList(oneOf(METRIC_NAMES), METRIC_NAMES.join('|'), 'has an unknown metric', 'Absent: all.'),
    dimensions: commaList(
      oneOf(DIMENSIONS),
      DIMENSIONS.join('|'),
      'has an unknown dimension',
      'What `data` is grouped by.',
    ),
    domain_id: idsOf('domain'),
    email_id: idsOf('email'),
  },
  'parameter',
);

const metricFields = Object.fromEntries(
  METRIC_NAMES.map((name) => [name, z.number().min(0).exactOptional()] as const),
) as Record<MetricName, z.ZodExactOptional<z.ZodNumber>>;
const emailMetrics = z
  .object({
    object: z.literal('metrics'),
    start_date: time,
    end_date: time,
    metrics: z.array(z.enum(METRIC_NAMES)),
    dimensions: z.array(z.enum(DIMENSIONS)),
    granularity: z.enum(GRANULARITIES),
    totals: z
      .object(metricFields)
      .meta({ description: 'A rate is from 0 to 1. It is 0 when its divisor is 0.' }),
    data: z
      .array(
        z.object({
          period: text.exactOptional(),
          domain_id: text.nullable().exactOptional(),
          domain_name: text.nullable().exactOptional(),
          email_id: text.nullable().exactOptional(),
          ...metricFields,
        }),
      )
      .exactOptional()
      .meta({ description: 'Only with `dimensions`.' }),
  })
  .meta({ id: 'EmailMetrics' });

export function getEmailMetrics(store: EventCountStore, clock: Clock): Documented<KeyedRoute> {
  const slots = new AccountSlots(COUNT_SLOTS, null);
  return {
    scope: 'emails:read',
    limited: true,
    method: 'get',
    path: '/v1/emails/metrics',
    docs: {
      operationId: 'getEmailMetrics',
      summary: 'Count what happened to the account’s mail',
      description:
        `Counts events by the time at which they were recorded: at most ${LIMITS.metricEvents} events in at most ` +
        `${LIMITS.metricDays} days, with at most ${LIMITS.metricEntries} entries in \`data\`, else 422. ` +
        `Mail of test keys has no events. An account’s requests are counted one after the other, and few accounts at ` +
        `a time. A request that waits over ${COUNT_SLOTS.waitMs / 1_000} s for other counts is answered with 503.`,
      query: metricsQuery,
      success: { status: 200, body: emailMetrics },
      refusals: ['validation-failed'],
    },
    async handle(request) {
      const { key, query } = request;
      const parsed = parseQuery(query, metricsQuery);
      if (!parsed.ok) return parsed.refusal;
      const until = parsed.fields.end_date ?? clock.now();
      const firstMs = Math.max(FIRST_MS, until.getTime() - DAYS_DEFAULT * DAY_MS);
      const since = parsed.fields.start_date ?? new Date(firstMs);
      const asked = { ...parsed.fields, since, until };
      const days = (until.getTime() - since.getTime()) / DAY_MS;
      if (days < 0) return invalid('start_date is after end_date.');
      if (days > LIMITS.metricDays) return invalid(`The range is longer than ${LIMITS.metricDays} days.`);
      if (key.kind === 'test') return metricsAnswer(asked, []);
      return inSlot(slots, request, async () => {
        const counted = await store.count(key.accountId, requestOf(asked));
        switch (counted.kind) {
          case 'counted':
            return metricsAnswer(asked, counted.counts);
          case 'too-many':
            return invalid(`The range has more than ${LIMITS.metricEvents} events. Ask for a shorter one.`);
          case 'unknown-time-zone':
            return invalid(`timezone ${quoted(asked.timezone)} is not a name of a time zone.`);
        }
      });
    },
  };
}

type Fields = z.output<typeof metricsQuery>;
interface Asked extends Fields {
  readonly since: Date;
  readonly until: Date;
}

function requestOf(asked: Asked): Parameters<EventCountStore['count']>[1] {
  const { metrics = METRIC_NAMES, dimensions = [] } = asked;
  return {
    types: [...new Set(metrics.flatMap(typesOf))],
    since: asked.since,
    until: asked.until,
    period: dimensions.includes('period') ? PERIODS[asked.granularity] : null,
    timeZone: asked.timezone,
    byDomain: dimensions.includes('domain'),
    byEmail: dimensions.includes('email'),
    domainIds: asked.domain_id ?? null,
    emailIds: asked.email_id ?? null,
  };
}

function typesOf(name: MetricName): readonly EventType[] {
  const metric = METRICS[name];
  return 'types' in metric ? metric.types : [...typesOf(metric.part), ...typesOf(metric.whole)];
}

function metricsAnswer(asked: Asked, counts: readonly EventCount[]): Answer {
  const { metrics = METRIC_NAMES, dimensions = [] } = asked;
  const answer: AnswerOf<typeof emailMetrics> = {
    object: 'metrics',
    start_date: asked.since.toISOString(),
    end_date: asked.until.toISOString(),
    metrics,
    dimensions,
    granularity: asked.granularity,
    totals: valuesOf(
      metrics,
      counts.filter(({ isTotal }) => isTotal),
    ),
  };
  if (dimensions.length === 0) return json(200, answer);
  const groups = Map.groupBy(
    counts.filter(({ isTotal }) => !isTotal),
    ({ period, domainId, emailId }) => JSON.stringify([period, domainId, emailId]),
  );
  if (groups.size > LIMITS.metricEntries) {
    return invalid(
      `data has more than ${LIMITS.metricEntries} entries. Ask for a shorter range, or for fewer dimensions.`,
    );
  }
  const data = [...groups.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, group]) => ({ ...dimensionsOf(group, asked), ...valuesOf(metrics, group) }));
  return json<AnswerOf<typeof emailMetrics>>(200, { ...answer, data });
}

function dimensionsOf([first]: readonly EventCount[], { dimensions = [], granularity }: Fields) {
  if (first === undefined) throw new Error('a group has no count');
  const { period, domainId, domainName, emailId } = first;
  return {
    ...(period === null ? {} : { period: granularity === 'hourly' ? period : period.slice(0, 10) }),
    ...(dimensions.includes('domain') ? { domain_id: domainId, domain_name: domainName } : {}),
    ...(dimensions.includes('email') ? { email_id: emailId } : {}),
  };
}

function valuesOf(
  names: readonly MetricName[],
  counts: readonly EventCount[],
): Partial<Record<MetricName, number>> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name, counts)]));
}

function valueOf(name: MetricName, counts: readonly EventCount[]): number {
  const metric = METRICS[name];
  if ('types' in metric) return sumOf(metric.types, metric.unique === true ? 'emails' : 'events', counts);
  const whole = messagesOf(metric.whole, counts);
  // A message that was sent before the range may have reports within it.
  return whole === 0 ? 0 : Math.min(1, messagesOf(metric.part, counts) / whole);
}

/**
 * The number of different messages, for a rate. An unsubscribe names no message, so each unsubscribe counts.
 * A message may have bounces of both kinds: `any_bounce` counts the message once.
 */
function messagesOf(name: MetricName, counts: readonly EventCount[]): number {
  if (name === 'unsubscribed') return valueOf(name, counts);
  return sumOf(name === 'bounced' ? ['any_bounce'] : typesOf(name), 'emails', counts);
}

function sumOf(
  types: readonly EventCount['type'][],
  what: 'events' | 'emails',
  counts: readonly EventCount[],
): number {
  return counts.reduce((sum, count) => sum + (types.includes(count.type) ? count[what] : 0), 0);
}
