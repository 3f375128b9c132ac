import { join } from 'node:path';
import { readOrNull, replaceFile } from '@postrider/embedded';

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

export class DemonstrationFile {
  readonly #file: string;

  /** @param database the name of the database: each database has its own account. */
  constructor(dataDir: string, database: string) {
    this.#file = join(dataDir, `quickstart-${database}.json`);
  }

  read(): Kept {
    const text = readOrNull(this.#file);
    try {
      return text === null ? {} : (JSON.parse(text) as Kept);
    } catch {
      return {}; // damaged: the caller makes a new account
    }
  }

  keep(changes: Kept): void {
    replaceFile(this.#file, `${JSON.stringify({ ...this.read(), ...changes }, null, 2)}\n`, 0o600);
  }
}
