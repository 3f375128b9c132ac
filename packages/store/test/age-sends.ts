import type { TestStore } from './open-store.ts';

/** Moves the mail that inboxes sent into the past. @param interval as Postgres writes it. */
export async function ageSends({ outside }: TestStore, interval: string): Promise<void> {
  await outside.query('update counted_sends set counted_at = counted_at - $1::interval', [interval]);
  await outside.query('update inbox_sends set created_at = created_at - $1::interval', [interval]);
}
