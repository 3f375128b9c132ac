import { parseId } from '@postrider/domain';
import type { Clock, RecoveryId, WebhookId } from '@postrider/domain';
import { createRecoveryLookUps, createRecoveryStore } from '@postrider/store';
import type { Database } from '@postrider/store';
import { z } from 'zod';
import { freeText, readFields } from '../http/fields.ts';
import type { FormHandler } from '../http/serve-form.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { counted } from '../html/words.ts';
import { recoveriesPage } from '../pages/recoveries.ts';
import { recoveryPage } from '../pages/recovery.ts';
import { idOf, noSuch } from './ids.ts';

const PAGE_RECOVERIES = 50;

const filterFields = {
  webhook: freeText
    .refine((text) => parseId('webhook', text) !== null, { error: 'is not the id of a webhook' })
    .transform((text) => text as WebhookId)
    .optional(),
  after: freeText
    .refine((text) => parseId('recovery', text) !== null, { error: 'is not the id of a recovery' })
    .transform((text) => text as RecoveryId)
    .optional(),
};

/** `/recoveries` */
export function listRecoveries(db: Database): PageHandler {
  const recoveries = createRecoveryLookUps(db);
  return async (visit) => {
    const { webhook: webhookId, after } = readFields(filterFields, visit.query);
    const found = await recoveries.list({ webhookId, after }, PAGE_RECOVERIES + 1);
    const parts = {
      recoveries: found.slice(0, PAGE_RECOVERIES),
      hasMore: found.length > PAGE_RECOVERIES,
      webhookId,
      isFirst: after === undefined,
    };
    return recoveriesPage(parts, visit);
  };
}

/** `/recoveries/:id` */
export function showRecovery(db: Database): PageHandler {
  const recoveries = createRecoveryLookUps(db);
  return async (visit) => {
    const id = idOf('recovery', 'recovery', visit);
    const { live } = readFields({ live: z.literal('5', { error: 'is not 5' }).optional() }, visit.query);
    const recovery = await recoveries.find(id);
    if (recovery === null)
      throw noSuch('recovery', id, visit.now, 'Postrider keeps one for 90 days after its end.');
    const page = recoveryPage(recovery, live !== undefined, visit);
    return live === undefined || recovery.status !== 'running' ? page : { ...page, refreshSeconds: 5 };
  };
}

/** `POST /recoveries/:id/stop` */
export function stopRecovery(db: Database, clock: Clock): FormHandler {
  const lookUps = createRecoveryLookUps(db);
  const recoveries = createRecoveryStore(db, clock);
  return async ({ params, fields, visitor, now }) => {
    const id = idOf('recovery', 'recovery', { params, now });
    readFields({}, fields);
    const found = await lookUps.find(id);
    if (found === null) throw noSuch('recovery', id, now);
    const location = `/recoveries/${id}`;
    if (found.status !== 'running')
      return { location, outcome: 'Nothing changed. The recovery has ended before.' };
    const by = { kind: 'console', name: visitor.name } as const;
    const stopped = await recoveries.stop(found.accountId, found.webhookId, id, by);
    if (stopped === null) throw noSuch('recovery', id, now);
    return {
      location,
      outcome: `The recovery is stopped. ${counted(stopped.left, 'event')} of it ${stopped.left === 1 ? 'is' : 'are'} not queued. Postrider still sends what is queued.`,
    };
  };
}
