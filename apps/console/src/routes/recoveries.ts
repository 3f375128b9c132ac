import type { Clock } from '@postrider/domain';
import { createRecoveryLookUps, createRecoveryStore, pageOf, readFreshEvents } from '@postrider/store';
import type { Database } from '@postrider/store';
import { z } from 'zod';
import { idField, readFields } from '../http/fields.ts';
import type { FormHandler } from '../http/serve-form.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { counted } from '../html/words.ts';
import { isSettled, recoveriesPage } from '../pages/recoveries.ts';
import { recoveryPage } from '../pages/recovery.ts';
import { idOf, noSuch } from './ids.ts';

const PAGE_RECOVERIES = 50;
const KEPT = 'Postrider keeps one for 90 days after its end, or until its webhook is deleted.';

const filterFields = {
  webhook: idField('webhook', 'a webhook').optional(),
  after: idField('recovery', 'a recovery').optional(),
};

/** `/recoveries` */
export function listRecoveries(db: Database): PageHandler {
  const lookUps = createRecoveryLookUps(db);
  return async (visit) => {
    const { webhook: webhookId, after } = readFields(filterFields, visit.query);
    const found = await lookUps.list({ webhookId, after }, PAGE_RECOVERIES + 1);
    const page = pageOf(found, PAGE_RECOVERIES);
    return recoveriesPage({ page, webhookId, isFirst: after === undefined }, visit);
  };
}

/** `/recoveries/:id` */
export function showRecovery(db: Database): PageHandler {
  const lookUps = createRecoveryLookUps(db);
  return async (visit) => {
    const id = idOf('recovery', visit);
    const { live } = readFields({ live: z.literal('5', { error: 'is not 5' }).optional() }, visit.query);
    const recovery = await lookUps.find(id);
    if (recovery === null) throw noSuch('recovery', id, visit.now, KEPT);
    const isRunning = recovery.status === 'running';
    const { accountId, webhookId, startedAt: at } = recovery;
    const fresh = isRunning ? await readFreshEvents(db, { accountId, webhookId, at }) : null;
    const page = recoveryPage({ recovery, fresh, isLive: live !== undefined }, visit);
    return live === undefined || isSettled(recovery) ? page : { ...page, refreshSeconds: 5 };
  };
}

/** `POST /recoveries/:id/stop` */
export function stopRecovery(db: Database, clock: Clock): FormHandler {
  const lookUps = createRecoveryLookUps(db);
  const recoveries = createRecoveryStore(db, clock);
  return async ({ params, fields, visitor, now }) => {
    const id = idOf('recovery', { params, now });
    readFields({}, fields);
    const found = await lookUps.find(id);
    if (found === null) throw noSuch('recovery', id, now, KEPT);
    const location = `/recoveries/${id}`;
    if (found.status !== 'running')
      return { location, outcome: 'Nothing changed. The recovery had already ended.' };
    const by = { kind: 'console', name: visitor.name } as const;
    const stopped = await recoveries.stop(found.accountId, found.webhookId, id, by);
    if (stopped === null) throw noSuch('recovery', id, now);
    const rest = stopped.hasMore
      ? `It queued ${counted(stopped.queued, 'event')}. How many remain is unknown: the count was cut.`
      : `${counted(stopped.left, 'event')} of it ${stopped.left === 1 ? 'is' : 'are'} not queued.`;
    const sent = 'Postrider still sends what is queued.';
    return { location, outcome: `The recovery is stopped. ${rest} ${sent}` };
  };
}
