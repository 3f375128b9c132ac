import { join } from 'node:path';
import { readIfThere, writePrivate } from './private-file.ts';

/** What the demonstration keeps from one start to the next; the key and the secret cannot be read back from the API. */
export interface Kept {
  readonly accountId?: string;
  readonly key?: string;
  readonly receiverPort?: number;
  readonly webhook?: KeptWebhook;
}

export interface KeptWebhook {
  readonly id: string;
  readonly endpoint: string;
  readonly signingSecret: string;
  /** Tells which SECRETS_KEY sealed the secret in the database: another cannot open it. */
  readonly sealedWith: string;
}

export interface DemonstrationFile {
  read(): Kept;
  keep(news: Kept): void;
}

/** @param database each database has an account of its own. */
export function demonstrationFile(dataDir: string, database: string): DemonstrationFile {
  const file = join(dataDir, `quickstart-${database}.json`);
  const read = (): Kept => {
    const text = readIfThere(file);
    try {
      return text === null ? {} : (JSON.parse(text) as Kept);
    } catch {
      return {}; // damaged: a new account is made
    }
  };
  return {
    read,
    keep: (news) => writePrivate(file, `${JSON.stringify({ ...read(), ...news }, null, 2)}\n`),
  };
}
