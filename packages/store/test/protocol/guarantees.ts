import type { TestDatabase } from '@postrider/testing';
import type { State } from './state.ts';

const ATTEMPTS_MAX = 8;

interface SetRow {
  id: string;
  answers: (number | null)[];
  numbers: number[];
}

/**
 * What must hold of every delivery that ever was, read from what Postgres has recorded and without the model: the
 * model could be wrong too.
 *
 * @throws Error that names what was broken, and where.
 */
export async function checkGuarantees(database: TestDatabase, state: State): Promise<void> {
  const sets = await database.query<SetRow>(
    `select m.id::text, coalesce(json_agg(a.status order by a.attempt, a.started_at) filter (where a.attempt is not null), '[]') as answers,
            coalesce(json_agg(a.attempt order by a.attempt, a.started_at) filter (where a.attempt is not null), '[]') as numbers
     from deliveries_made m left join attempts a on a.delivery_id = m.id
     group by m.id order by m.id`,
  );
  const broken = sets.flatMap((set) => faultsOf(set, state.ends.get(set.id)));
  const letters = await database.query<{ id: string }>(
    `select l.id from dead_letters l
     where not exists (select from webhooks w where w.id = l.webhook_id and w.account_id = l.account_id)`,
  );
  broken.push(...letters.map(({ id }) => `${id} is of a webhook that is gone`));
  if (broken.length > 0) throw new Error(broken.join('\n'));
}

function faultsOf({ id, answers, numbers }: SetRow, end: string | undefined): string[] {
  const faults: string[] = [];
  const ends = (status: number | null) =>
    status !== null && ((status >= 200 && status <= 299) || status === 410);
  if (end === undefined) faults.push('was lost: it ended neither done nor dead nor dropped');
  if (numbers.some((number, index) => number !== index + 1))
    faults.push(`has attempts ${numbers.join(', ')}`);
  if (numbers.length > ATTEMPTS_MAX) faults.push(`was attempted ${numbers.length} times`);
  if (answers.slice(0, -1).some(ends))
    faults.push(`was attempted again after its end: ${answers.join(', ')}`);
  const last = answers.at(-1) ?? null;
  const done = last !== null && last >= 200 && last <= 299;
  if (done !== (end === 'done')) faults.push(`ended ${end ?? 'nowhere'} with ${last ?? 'no answer'}`);
  return faults.map((fault) => `delivery ${id} ${fault}`);
}
