import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmailId, ProviderResult } from '@postrider/domain';
import { messageIdOf, withComposed } from './compose.ts';
import type { MailTransport } from './mail-provider.ts';
import { sandboxRecipients } from './sandbox-recipients.ts';

/** Mail is private: only the user of the process may read the stored files. */
const OWNER_DIRECTORY = 0o700;
const OWNER_FILE = 0o600;

/**
 * A provider that sends nothing. It accepts every message and stores it as `<directory>/<email id>.eml`. The
 * name of a recipient at `sandbox.postrider.example` chooses what the sandbox reports (see
 * `sandboxRecipients`). Other recipients get no report. A refused or deferred message is not stored.
 *
 * @param directory is created with the first message. Only the user of the process may open it.
 */
export function createSandboxTransport(directory: string): MailTransport {
  const store = messageFolder(directory);
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
        const fault = await store(message.emailId, bytes);
        return fault ?? { kind: 'accepted', providerMessageId: messageIdOf(message), notifications };
      });
    },
    close: () => undefined,
  };
}

/**
 * @returns a function that stores a message, and resolves to a fault or null. It creates the folder before
 *   the first message, and again if the folder was removed.
 */
function messageFolder(directory: string) {
  let isCreated = false;

  async function create(): Promise<void> {
    await mkdir(directory, { recursive: true, mode: OWNER_DIRECTORY });
    await chmod(directory, OWNER_DIRECTORY); // an existing folder may have other permissions
    isCreated = true;
  }

  return async (emailId: EmailId, bytes: Buffer): Promise<ProviderResult | null> => {
    const temporary = join(directory, `.${emailId}.${randomBytes(6).toString('hex')}`);
    // No reader of the folder sees half a message.
    const write = async () => {
      await writeFile(temporary, bytes, { flag: 'wx', mode: OWNER_FILE });
      await rename(temporary, join(directory, `${emailId}.eml`));
    };
    try {
      if (!isCreated) await create();
      await write().catch(async (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        await create();
        await write();
      });
      return null;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined); // the folder itself may be the problem
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      return { kind: 'deferred', error: 'the sandbox cannot keep the message', code };
    }
  };
}
