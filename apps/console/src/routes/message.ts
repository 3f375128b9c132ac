import type { Clock } from '@postrider/domain';
import { createAccountStore, createMessageStore, findMessage, readNewestEvents } from '@postrider/store';
import type { Database } from '@postrider/store';
import { note, readFields } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { FormHandler } from '../http/serve-form.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { messagePage } from '../pages/message.ts';
import type { Settings } from '../settings.ts';
import { idOf, noSuch } from './ids.ts';

/** `/messages/:id` */
export function showMessage(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  const messages = createMessageStore(db, clock);
  return async (visit) => {
    const id = idOf('message', visit);
    readFields({}, visit.query); // refuses every field
    // `found` has the account and the kind of key with which the store reads the whole message.
    const found = await findMessage(db, id);
    const message = found === null ? null : await messages.find(found, id);
    if (message === null) {
      throw noSuch(
        'message',
        id,
        visit.now,
        `Postrider keeps received mail for ${settings.inboundRetentionDays} days.`,
      );
    }
    const parts = {
      message,
      account: await accounts.find(message.accountId),
      newestEvent: (await readNewestEvents(db, [id])).get(id) ?? null,
    };
    return messagePage(parts, settings, visit);
  };
}

/** `POST /messages/:id/release` */
export function releaseMessage(db: Database, clock: Clock): FormHandler {
  const messages = createMessageStore(db, clock);
  return async ({ params, fields, visitor, now }) => {
    const id = idOf('message', { params, now });
    const { note: why } = readFields({ note: note.optional() }, fields);
    const found = await findMessage(db, id);
    if (found === null) throw noSuch('message', id, now);
    if (found.heldReason === 'virus' && why === undefined) {
      throw badRequest(['Note is required to release a message with a virus.']);
    }
    const by = { kind: 'console', name: visitor.name, note: why } as const;
    const result = await messages.release(found, id, by);
    if (result === 'missing') throw noSuch('message', id, now);
    const location = `/messages/${id}`;
    if (result === 'not-held') return { location, outcome: 'Nothing changed. The message is not held.' };
    return {
      location: '/held',
      outcome: `1 message is released. The event message.received is recorded. The audit records the release by ${visitor.name}.`,
    };
  };
}
