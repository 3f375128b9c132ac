import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { addSuspension } from './account-suspend.ts';

/** `account resume`: from its return on, every API process serves the account's keys again. */
export function addAccountResume(account: Command, io: Io): void {
  addSuspension(account, io, {
    name: 'resume',
    description: 'serve the requests of a suspended account again; takes a second',
    at: () => null,
    done: (id) => `${id} is served again`,
  });
}
