import { join } from 'node:path';
import { readIfThere, writePrivate } from './private-file.ts';

/**
 * The state that the demonstration keeps between starts. The API does not return the key and the secret
 * again.
 */
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
  /** Identifies the SECRETS_KEY that encrypted the secret in the database. Another key cannot decrypt it. */
  readonly sealedWith: string;
}

export interface DemonstrationFile {
  read(): Kept;
  keep(news: Kept): void;
}

/** @param database the name of the database: each database has its own account. */
export function demonstrationFile(dataDir: string, database: string): DemonstrationFile {
  const file = join(dataDir, `quickstart-${database}.json`);
  const read = (): Kept => {
    const text = readIfThere(file);
    try {
      return text === null ? {} : (JSON.parse(text) as Kept);
    } catch {
      return {}; // damaged: the caller makes a new account
    }
  };
  return {
    read,
    keep: (news) => writePrivate(file, `${JSON.stringify({ ...read(), ...news }, null, 2)}\n`),
  };
}
