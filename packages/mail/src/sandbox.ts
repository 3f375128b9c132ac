import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HandOver } from '@postrider/domain';
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
 * @param directory made when the first message is kept; only its owner may look into it from then on.
 */
export function createSandboxTransport(directory: string): MailTransport {
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
      const fault = await keep(directory, message);
      return fault ?? { kind: 'accepted', providerMessageId: messageIdOf(message), notifications };
    },
    close: () => Promise.resolve(),
  };
}

/** Writes the whole file or none: whoever looks at the folder never sees half a message. */
async function keep(directory: string, message: AddressedMessage): Promise<HandOver | null> {
  const { bytes } = await composeMessage(message);
  const temporary = join(directory, `.${message.emailId}.${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(directory, { recursive: true, mode: OWNER_DIRECTORY });
    await chmod(directory, OWNER_DIRECTORY); // it may have been there, with other rights
    await writeFile(temporary, bytes, { flag: 'wx', mode: OWNER_FILE });
    await rename(temporary, join(directory, `${message.emailId}.eml`));
    return null;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // the folder itself may be what is wrong
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { kind: 'deferred', error: `the sandbox cannot keep the message (${code})` };
  }
}
