import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProviderResult } from '@postrider/domain';
import { composeMessage, messageIdOf } from './compose.ts';
import type { AddressedMessage, MailTransport } from './mail-provider.ts';
import { sandboxRecipients } from './sandbox-recipients.ts';

/** Mail holds what was meant for its recipients: nobody else on the machine may read it. */
const OWNER_DIRECTORY = 0o700;
const OWNER_FILE = 0o600;

/**
 * A provider that sends nothing: it accepts every message and keeps it as `<directory>/<email id>.eml`.
 * Recipients at `sandbox.postrider.example` act by name (see `sandboxRecipients`); about all others it reports
 * nothing beyond acceptance. A refused or deferred message is not kept.
 *
 * @param directory made when the first message is kept; only its owner may look into it.
 */
export function createSandboxTransport(directory: string): MailTransport {
  const folder = createFolder(directory);
  return {
    name: 'sandbox',
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
      const fault = await writeMessage(folder, message);
      return fault ?? { kind: 'accepted', providerMessageId: messageIdOf(message), notifications };
    },
    close: () => Promise.resolve(),
  };
}

/** A folder that is made before the first file is written, and again when somebody has removed it. */
interface Folder {
  readonly path: string;
  /** @throws whatever `write` does, or what keeps the folder from being made */
  during(write: () => Promise<void>): Promise<void>;
}

function createFolder(path: string): Folder {
  let made: Promise<void> | null = null;

  async function make(): Promise<void> {
    await mkdir(path, { recursive: true, mode: OWNER_DIRECTORY });
    await chmod(path, OWNER_DIRECTORY); // it may have been there, with other rights
  }

  async function madeOnce(): Promise<void> {
    const making = (made ??= make());
    await making.catch((error: unknown) => {
      made = null;
      throw error;
    });
  }

  return {
    path,
    async during(write) {
      await madeOnce();
      try {
        await write();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        made = null;
        await madeOnce();
        await write();
      }
    },
  };
}

/** Writes the whole file or none: whoever looks at the folder never sees half a message. */
async function writeMessage(folder: Folder, message: AddressedMessage): Promise<ProviderResult | null> {
  const { bytes } = await composeMessage(message);
  const temporary = join(folder.path, `.${message.emailId}.${randomBytes(6).toString('hex')}`);
  try {
    await folder.during(async () => {
      await writeFile(temporary, bytes, { flag: 'wx', mode: OWNER_FILE });
      await rename(temporary, join(folder.path, `${message.emailId}.eml`));
    });
    return null;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // the folder itself may be what is wrong
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { kind: 'deferred', error: 'the sandbox cannot keep the message', code };
  }
}
