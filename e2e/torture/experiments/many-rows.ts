import type { World } from '../harness/world/world.ts';

const WEBHOOKS = 20;
/** Days of attempts, each a partition. */
const DAYS = 4;

/**
 * Fills the large tables for an account: `rows` deliveries that are due in an hour and later, as many events
 * and attempts, a tenth as many dead letters and messages.
 *
 * @returns a function that removes the rows. The checker would take them for losses.
 */
export async function fillLargeTables(
  world: World,
  { accountId, rows }: { readonly accountId: string; readonly rows: number },
): Promise<() => Promise<void>> {
  const [tenth, aDay] = [Math.ceil(rows / 10), Math.ceil(rows / DAYS)];
  const webhook = `'wh_many_' || n % ${WEBHOOKS}`;
  const numbers = (count: number): string => `from generate_series(1, ${count}) n`;
  const days = Array.from({ length: DAYS }, (_, day) => ({
    name: `attempts_many_${day}`,
    from: `date_trunc('day', now(), 'UTC') - interval '${day + 1} days'`,
  }));
  const fills = [
    `insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
     select 'wh_many_' || n - 1, '${accountId}', 'https://many.example', 'none', '' ${numbers(WEBHOOKS)}`,
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_many_' || n, '${accountId}', 'email.sent', now() - n * interval '1 s',
            '{"email_id":"em_many","from":"a@example.com","subject":"many","error":null}' ${numbers(rows)}`,
    `insert into deliveries (event_id, webhook_id, due_at, attempts)
     select 'evt_many_' || n, ${webhook}, now() + interval '1 hour' + n * interval '1 ms', 1 ${numbers(rows)}`,
    ...days.flatMap(({ name, from }) => [
      `do $$ begin execute format('create table ${name} partition of attempts for values from (%L) to (%L)',
         ${from}, ${from} + interval '1 day'); end $$`,
      `insert into ${name} (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       select ${from} + n * interval '10 ms', n, 'evt_many_' || n, ${webhook}, 1, 20, 503 ${numbers(aDay)}`,
    ]),
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error)
     select 'dl_many_' || n, '${accountId}', ${webhook}, 'evt_many_' || n, 'email.sent', now(), '{}', 8,
            'attempts_exhausted', 'HTTP 503' ${numbers(tenth)}`,
    `insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
                         reply_to_addresses, subject, text, headers, last_event, created_at)
     select 'em_many_' || n, '${accountId}', 'live', 'sent', 'a@example.com', '{b@example.com}', '{}', '{}', '{}', 'many',
            'many', '[]', 'sent', now() - n * interval '1 s' ${numbers(tenth)}`,
    'vacuum analyze events, deliveries, attempts, dead_letters, emails',
  ];
  const removals = [
    `delete from deliveries where event_id like 'evt_many_%'`,
    `delete from events where account_id = '${accountId}'`,
    `delete from dead_letters where account_id = '${accountId}'`,
    `delete from emails where account_id = '${accountId}'`,
    `delete from webhooks where account_id = '${accountId}'`,
    ...days.map(({ name }) => `drop table ${name}`),
  ];
  const all = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await world.query(statement);
  };
  await all(fills);
  return () => all(removals);
}
