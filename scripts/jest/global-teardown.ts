import { stopAll } from './running.ts';

/** Stops the servers of the global setup and removes their files. */
export default async function globalTeardown(): Promise<void> {
  await stopAll();
}
