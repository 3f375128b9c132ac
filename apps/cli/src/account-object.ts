import type { Account } from '@postrider/store';
import type { Io } from './io.ts';
import { printList } from './print.ts';

/** An account in the output of `--json`. Times are ISO 8601 UTC. */
export function accountObject({ id, name, createdAt }: Account) {
  return { id, name, created_at: createdAt.toISOString() };
}

export function printAccounts(io: Io, json: boolean | undefined, accounts: readonly Account[]): void {
  const data = accounts.map(accountObject);
  const rows = data.map((one) => [one.id, one.created_at, one.name]);
  printList(io, json, data, { head: ['ID', 'MADE', 'NAME'], rows, none: 'no accounts' });
}
