import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmailId, ProviderResult } from '@postrider/domain';
import { messageIdOf, withComposed } from './compose.ts';
import type { MailTransport } from './mail-provider.ts';
import { sandboxRecipients } from './sandbox-recipients.ts';

/** Mail is private: only the owner of the process may read the stored files. */
const OWNER_DIRECTORY = 0o700;
const OWNER_FILE = 0o600;

/**
 * A provider that sends nothing. It accepts every message and stores it as `<directory>/<email id>.eml`. The
 * name of a recipient at `sandbox.postrider.example` chooses what the sandbox reports (see
 * `sandboxRecipients`). Other recipients get no report. A refused or deferred message is not stored.
 *
 * @param directory is created with the first message. Only its owner may open it.
 */
export function createSandboxTransport(directory: string): MailTransport {
  const folder = new MessageFolder(directory);
  return {
    async send(message) {
      const { refused, deferred, notifications } = sandboxRecipients(message);
      if (refused.length > 0) {
        return {
          kind: 'refused',
          error: `550 5.7.1 message refused by the sandbox for <${refused.join('>, <')}>`,
        };
      }
      if (deferred.length > 0) {
        return {
          kind: 'deferred',
          error: `451 4.3.2 the sandbox is not available for <${deferred.join('>, <')}>`,
        };
      }
      return withComposed(message, async ({ bytes }) => {
        const fault = await writeMessage(folder, message.emailId, bytes);
        return fault ?? { kind: 'accepted', providerMessageId: messageIdOf(message), notifications };
      });
    },
    close: () => undefined,
  };
}

/** The folder of stored messages. It is created before the first file, and again if it was removed. */
class MessageFolder {
  readonly path: string;
  #creation: Promise<void> | null = null;

  constructor(path: string) {
    this.path = path;
  }

  /** Runs `write` while the folder exists. @throws the error of `write` or of the creation. */
  async withFolder(write: () => Promise<void>): Promise<void> {
    await this.#createOnce();
    try {
      await write();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      this.#creation = null;
      await this.#createOnce();
      await write();
    }
  }

  async #createOnce(): Promise<void> {
    const creation = (this.#creation ??= this.#create());
    await creation.catch((error: unknown) => {
      this.#creation = null;
      throw error;
    });
  }

  async #create(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: OWNER_DIRECTORY });
    await chmod(this.path, OWNER_DIRECTORY); // an existing folder may have other permissions
  }
}

/** Writes to a temporary file and renames it, so that no reader of the folder sees half a message. */
async function writeMessage(
  folder: MessageFolder,
  emailId: EmailId,
  bytes: Buffer,
): Promise<ProviderResult | null> {
  const temporary = join(folder.path, `.${emailId}.${randomBytes(6).toString('hex')}`);
  try {
    await folder.withFolder(async () => {
      await writeFile(temporary, bytes, { flag: 'wx', mode: OWNER_FILE });
      await rename(temporary, join(folder.path, `${emailId}.eml`));
    });
    return null;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // the folder itself may be the problem
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { kind: 'deferred', error: 'the sandbox cannot keep the message', code };
  }
}
